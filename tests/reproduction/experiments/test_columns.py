import pytest
from reproduction.experiments import load_experiment
from reproduction.experiments._columns import COLUMNS, make_model
from reproduction.experiments.methods import METHODS
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from lacunet.baselines import set_nested

TABLE_2 = load_experiment("table-2")
NETWORKS = {
    "mean": "lacunetclassifier__",
    "mice": "pooledclassifier__estimator__",
    "dropout": "network__",
    "paper": "",
    "em-joint": "",
    "complete": "lacunetclassifier__",
}


def difference(first, second):
    told, other = first.get_params(), second.get_params()
    return {name: other[name] for name in told if repr(told[name]) != repr(other[name])}


@pytest.mark.parametrize("body", ["mlp", "rbf"])
def test_em_columns_differ_from_the_paper_in_the_density_alone(body):
    paper, frozen, joint = (
        COLUMNS[key].make(0, body) for key in ("paper", "em-frozen", "em-joint")
    )
    changed = difference(paper, joint)
    assert changed.pop("density").strategy == "em"
    assert changed == {"density__strategy": "em"}
    assert difference(joint, frozen) == {"train_density": False}
    assert COLUMNS["em-joint"].grid(body) == METHODS["paper"].grid(body)


def test_columns_keep_the_methods():
    assert all(COLUMNS[key] is method for key, method in METHODS.items())
    beside = {"em-frozen", "em-joint", "complete", "paper-complete"}
    assert set(COLUMNS) - set(METHODS) == beside


@pytest.mark.parametrize("method", NETWORKS)
def test_table_2_has_three_layers_of_89_in_every_network(method):
    told = make_model(TABLE_2, method, 3).get_params()
    place = NETWORKS[method]
    assert told[f"{place}hidden_layer_sizes"] == (89, 89, 89)
    assert told[f"{place}activation"] == "relu"
    assert told[f"{place}n_networks"] == 1
    assert told[f"{place}random_state"] == 3


def test_table_2_regresses_on_thirty_columns():
    told = make_model(TABLE_2, "mice", 0).get_params()
    assert told["pooledclassifier__imputer__n_nearest_features"] == 30


def test_our_method_has_its_own_defaults_in_every_table():
    assert repr(make_model(TABLE_2, "lacunet", 0)) == repr(METHODS["lacunet"]())


def test_boosted_trees_grow_on_one_core():
    assert make_model(TABLE_2, "lightgbm", 0).n_jobs == 1


def test_parts_are_found_by_the_end_of_their_names():
    model = make_pipeline(LogisticRegression(C=2.0))
    assert set_nested(model, C=5.0, n_trees=3) is model
    assert model[-1].C == 5.0
