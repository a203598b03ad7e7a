import pytest
from reproduction.experiments.methods import METHODS
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid
from small import numbers

KEYS = [
    "mean",
    "mean+indicator",
    "knn",
    "mice",
    "gmm",
    "dropout",
    "ce",
    "geom",
    "karma",
    "neumiss",
    "hgb",
    "lightgbm",
    "xgboost",
    "catboost",
    "paper",
    "lacunet",
]
every = pytest.mark.parametrize("key", KEYS)


SMALL = {"hidden_layer_sizes": (8,), "max_epochs": 2, "n_networks": 1, "n_units": 5}


def shrunk(model):
    """Return the model with whatever is a network in it made small."""
    names = [name for name in model.get_params() if name.split("__")[-1] in SMALL]
    return model.set_params(**{name: SMALL[name.split("__")[-1]] for name in names})


def test_all_methods_of_the_paper_and_of_today_are_there():
    assert list(METHODS) == KEYS
    assert all(METHODS[key].key == key for key in KEYS)


@every
def test_a_method_is_an_unfitted_classifier(key):
    assert is_classifier(METHODS[key](random_state=0))


@every
@pytest.mark.parametrize("body", ["mlp", "rbf"])
def test_grids_name_parameters_that_are_there(key, body):
    model = METHODS[key](body=body)
    known = model.get_params()
    for setting in list(ParameterGrid(dict(METHODS[key].grid(body))))[:3]:
        assert set(setting) <= set(known)
        model.set_params(**setting)


def test_grids_are_those_of_the_paper():
    karma = METHODS["karma"].grid("mlp")
    assert karma["C"] == karma["g"] == (2**-5, 2**-3, 0.5, 2, 8, 32, 128, 512)
    assert karma["gamma"] == (1, 2)
    paper = METHODS["paper"].grid("rbf")
    assert paper == {"density__n_components": (2, 3, 5), "n_units": (25, 50, 75, 100)}


def test_the_paper_is_the_method_as_published():
    told = METHODS["paper"]().get_params()
    assert told["density__strategy"] == "mean"
    assert (told["gamma"], told["density_loss_weight"]) == (1.0, 0.0)
    assert (told["indicator"], told["mask_augmentation"]) == (False, 0.0)
    assert (told["train_density"], told["propagate"]) == (True, "expectation")


@pytest.mark.parametrize("body", ["mlp", "rbf"])
@pytest.mark.parametrize("key", ["mean", "gmm", "dropout", "ce", "paper", "karma"])
def test_methods_fit_tables_with_holes(key, body):
    X, y = numbers(60)
    model = shrunk(METHODS[key](body=body)).fit(X, y)
    assert model.predict(X).shape == (60,)


def test_the_network_behind_is_the_same_for_all():
    bodies = {
        repr(METHODS["mean"]()[-1]),
        repr(METHODS["knn"]()[-1]),
        repr(METHODS["gmm"]()[-1]),
        repr(METHODS["mice"]()[-1].estimator),
        repr(METHODS["dropout"]().network),
        repr(METHODS["ce"]().network),
    }
    assert len(bodies) == 1
