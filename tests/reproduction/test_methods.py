import pytest
from reproduction.methods import METHODS, make_model
from reproduction.tables import TABLES
from sklearn.base import is_classifier
from sklearn.model_selection import ParameterGrid
from small import numbers

from lacunet import LacunetClassifier
from lacunet.baselines import set_nested

BODIES = pytest.mark.parametrize("body", ["mlp", "rbf"])
TABLE_2 = TABLES["table-2"]
SMALL = {"hidden_layer_sizes": (8,), "max_epochs": 2, "n_networks": 1, "n_units": 5}
NETWORKS = {
    "mean": "lacunetclassifier__",
    "mice": "pooledclassifier__estimator__",
    "dropout": "network__",
    "paper": "",
    "em-joint": "",
    "complete": "lacunetclassifier__",
}


def difference(first, second):
    one, other = first.get_params(), second.get_params()
    return {name: other[name] for name in one if repr(one[name]) != repr(other[name])}


@BODIES
@pytest.mark.parametrize("key", METHODS)
def test_a_method_is_an_unfitted_classifier_that_has_the_parameters_of_its_grid(
    key, body
):
    model = METHODS[key].make(0, body)
    assert is_classifier(model)
    for point in list(ParameterGrid(dict(METHODS[key].grid_for(body))))[:3]:
        assert set(point) <= set(model.get_params())


def test_grids_are_those_of_the_paper():
    karma = METHODS["karma"].grid_for("rbf")
    assert karma["C"] == karma["g"] == (2**-5, 2**-3, 0.5, 2, 8, 32, 128, 512)
    assert karma["gamma"] == (1, 2)
    mixture = {"density__n_components": (2, 3, 5)}
    assert METHODS["paper"].grid_for("mlp") == mixture
    for key in ("paper", "em-frozen", "em-joint"):
        units = {"n_units": (25, 50, 75, 100)}
        assert METHODS[key].grid_for("rbf") == {**mixture, **units}
    assert METHODS["lacunet"].grid_for("rbf") == {}


@BODIES
def test_the_paper_is_the_method_as_published(body):
    given = METHODS["paper"].make(0, body).get_params()
    assert (given["density__strategy"], given["density__n_components"]) == ("mean", 3)
    assert (given["gamma"], given["density_loss_weight"]) == (1.0, 0.0)
    assert (given["indicator"], given["mask_augmentation"]) == (False, 0.0)
    assert given["train_density"]
    assert body == "rbf" or given["propagate"] == "expectation"


@BODIES
def test_em_columns_differ_from_the_paper_in_the_density_alone(body):
    paper, frozen, joint = (
        METHODS[key].make(0, body) for key in ("paper", "em-frozen", "em-joint")
    )
    changed = difference(paper, joint)
    assert changed.pop("density").strategy == "em"
    assert changed == {"density__strategy": "em"}
    assert difference(joint, frozen) == {"train_density": False}


def test_training_on_complete_rows_changes_the_rows_alone():
    paper, other = (METHODS[k].make(3, "rbf") for k in ("paper", "paper-complete"))
    assert difference(paper, other.network) == {"on_unseen_missing": "use"}
    assert METHODS["paper-complete"].needs_complete


def test_the_network_behind_is_the_same_for_all():
    models = {key: method.make(0, "rbf") for key, method in METHODS.items()}
    networks = {
        *(repr(models[key][-1]) for key in ("mean", "knn", "gmm", "complete")),
        repr(models["mice"][-1].estimator),
        repr(models["dropout"].network),
        repr(models["ce"].network),
    }
    assert len(networks) == 1


@BODIES
@pytest.mark.parametrize("key", ["mean", "dropout", "ce", "paper"])
def test_methods_fit_tables_with_missing_values(key, body):
    X, y = numbers(60)
    model = set_nested(METHODS[key].make(0, body), **SMALL).fit(X, y)
    assert model.predict(X).shape == (60,)


@pytest.mark.parametrize("method", NETWORKS)
def test_table_2_has_three_layers_of_89_in_every_network(method):
    given = make_model(TABLE_2, method, 3).get_params()
    place = NETWORKS[method]
    assert given[f"{place}hidden_layer_sizes"] == (89, 89, 89)
    assert given[f"{place}activation"] == "relu"
    assert given[f"{place}n_networks"] == 1
    assert given[f"{place}random_state"] == 3


def test_our_method_has_its_own_defaults_in_every_table():
    ours = LacunetClassifier(random_state=0)
    assert repr(make_model(TABLE_2, "lacunet", 0)) == repr(ours)


def test_boosted_trees_grow_on_one_core():
    assert make_model(TABLE_2, "lightgbm", 0).n_jobs == 1
