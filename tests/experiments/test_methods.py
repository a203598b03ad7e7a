import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from small import numbers

from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.experiments.methods import METHODS

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
CLASSES_ONLY = ("ce", "geom", "karma")
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
def test_a_method_is_an_unfitted_estimator_of_its_task(key):
    assert is_classifier(METHODS[key]("classification", random_state=0))
    if key not in CLASSES_ONLY:
        assert is_regressor(METHODS[key]("regression", random_state=0))


@pytest.mark.parametrize("key", CLASSES_ONLY)
def test_a_task_that_a_method_does_not_do_is_refused(key):
    with pytest.raises(ValueError, match=f"'{key}' can do classification only"):
        METHODS[key]("regression")


@every
@pytest.mark.parametrize("body", ["mlp", "rbf"])
def test_grids_name_parameters_that_are_there(key, body):
    model = METHODS[key]("classification", body=body)
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
    told = METHODS["paper"]("classification").get_params()
    assert told["density__strategy"] == "mean"
    assert (told["gamma"], told["density_loss_weight"]) == (1.0, 0.0)
    assert (told["indicator"], told["mask_augmentation"]) == (False, 0.0)
    assert (told["train_density"], told["propagate"]) == (True, "expectation")


@pytest.mark.parametrize(
    ("task", "ours"),
    [("classification", LacunetClassifier), ("regression", LacunetRegressor)],
)
def test_lacunet_is_at_its_defaults(task, ours):
    assert repr(METHODS["lacunet"](task)) == repr(ours(random_state=0))


@pytest.mark.parametrize("body", ["mlp", "rbf"])
@pytest.mark.parametrize("key", ["mean", "gmm", "dropout", "ce", "paper", "karma"])
def test_methods_fit_tables_with_holes(key, body):
    X, y = numbers(60)
    model = shrunk(METHODS[key]("classification", body=body)).fit(X, y)
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


def test_names_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="task='clustering'"):
        METHODS["mean"]("clustering")
    with pytest.raises(ValueError, match="body='tree'"):
        METHODS["mean"](body="tree")
    with pytest.raises(ValueError, match="RBF networks can do classification only"):
        METHODS["mean"]("regression", body="rbf")
