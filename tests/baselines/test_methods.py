from lacunet.baselines import METHODS


def test_models_of_a_method_share_nothing_that_can_be_set():
    METHODS["paper"]().set_params(density__strategy="em", density__n_components=7)
    density = METHODS["paper"]().density
    assert (density.strategy, density.n_components) == ("mean", 3)
    name = "mixtureimputer__mixture__n_components"
    METHODS["gmm"]().set_params(**{name: 7})
    assert METHODS["gmm"]().get_params()[name] == 3
