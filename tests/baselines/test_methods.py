import pytest
from sklearn.base import is_classifier, is_regressor

from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.baselines import METHODS, set_nested


@pytest.mark.parametrize("key", METHODS)
def test_a_method_is_an_unfitted_estimator_of_its_task(key):
    assert METHODS[key].key == key
    assert is_classifier(METHODS[key]("classification"))
    assert is_regressor(METHODS[key]("regression"))


@pytest.mark.parametrize(
    ("task", "ours"),
    [("classification", LacunetClassifier), ("regression", LacunetRegressor)],
)
def test_lacunet_is_at_its_defaults(task, ours):
    assert repr(METHODS["lacunet"](task)) == repr(ours(random_state=0))


def test_the_paper_is_the_method_as_published():
    given = METHODS["paper"]().get_params()
    assert given["density__strategy"] == "mean"
    assert (given["gamma"], given["density_loss_weight"]) == (1.0, 0.0)
    assert (given["indicator"], given["mask_augmentation"]) == (False, 0.0)
    assert (given["train_density"], given["propagate"]) == (True, "expectation")


@pytest.mark.parametrize("key", ["paper", "gmm"])
def test_models_share_nothing_that_can_be_set(key):
    first, second = METHODS[key](), METHODS[key]()
    names = ("density__n_components", "mixtureimputer__mixture__n_components")
    name = next(name for name in names if name in first.get_params())
    first.set_params(**{name: 17})
    assert second.get_params()[name] != 17


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="task='clustering'"):
        METHODS["mean"]("clustering")


def test_nested_parameters_are_set_wherever_they_have_that_name():
    model = set_nested(METHODS["mean"](), max_epochs=3, nothing=1)
    assert model[-1].max_epochs == 3
