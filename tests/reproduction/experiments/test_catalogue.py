import pytest
from reproduction.datasets import list_datasets
from reproduction.experiments import list_experiments, load_experiment
from reproduction.experiments._autoencoders import AUTOENCODERS
from reproduction.experiments._columns import COLUMNS
from reproduction.experiments._protocols import PROTOCOLS
from reproduction.experiments._toy import TOY

BUNDLED = ("digits", "wine", "iris", "breast_cancer_wdbc", TOY)
every = pytest.mark.parametrize("name", list_experiments())


def test_the_experiments_have_the_numbers_of_the_paper():
    assert list_experiments() == [
        "table-1",
        "table-2",
        "table-4",
        "table-6",
        "figure-2",
        "figure-gamma",
        "figure-density",
        "figure-cost",
        "claim-rows",
        "claim-mnist",
        "claim-information",
    ]


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="name='table-5'.*Did you mean 'table-"):
        load_experiment("table-5")


@every
def test_what_is_reported_has_a_place_in_the_table(name):
    experiment = load_experiment(name)
    rows = {(row.dataset, row.rate) for row in experiment.settings}
    for metric, table in experiment.reported.items():
        assert metric in experiment.metrics
        assert set(table) <= rows
        assert all(set(line) <= set(experiment.methods) for line in table.values())


@every
def test_columns_protocols_and_data_are_known(name):
    experiment = load_experiment(name)
    known = AUTOENCODERS if experiment.body == "autoencoder" else COLUMNS
    assert set(experiment.methods) <= set(known)
    assert set(experiment.protocols) <= set(PROTOCOLS)
    names = {row.dataset.partition("-")[0] for row in experiment.settings}
    assert names <= {*list_datasets(), TOY.partition("-")[0]}
    assert {row.dataset for row in experiment.stand_ins} <= set(BUNDLED)


def test_figures_are_those_of_the_paper():
    tables = [load_experiment(f"table-{number}") for number in (4, 6, 2)]
    ours = [
        [
            round(line["paper"], 3)
            for line in table.reported["accuracy"].values()
            if "paper" in line
        ]
        for table in tables
    ]
    assert ours == [
        [0.598, 0.993, 0.846, 0.864, 0.831, 0.747, 0.970],
        [0.833, 0.795, 0.951, 0.920, 0.690, 0.737, 0.770, 0.608],
        [0.815, 0.817, 0.787, 0.760],
    ]
    assert tables[0].reported["accuracy"]["horse", None]["karma"] == 0.826
    assert tables[1].reported["accuracy"]["heart", 0.5]["mice"] == 0.751
    assert tables[2].reported["accuracy"]["esr", 0.9]["ce"] == 0.771
    assert tables[2].reported["accuracy"]["esr", 0.0] == {"complete": 0.836}


def test_errors_inside_and_outside_add_up_in_the_paper():
    reported = load_experiment("table-1").reported
    total, inside, outside = (
        reported[metric]["mnist", None]
        for metric in ("mse", "mse_inside", "mse_outside")
    )
    for method, value in total.items():
        assert value == pytest.approx(inside[method] + outside[method], abs=1.1e-5)


def test_other_patches_are_for_the_columns_of_the_paper():
    table = load_experiment("table-1")
    main, *others = table.settings
    assert main.methods == ()
    assert table.methods == tuple(AUTOENCODERS)
    for row in others:
        reported = table.reported["mse"]["mnist", None]
        assert set(row.methods) == set(reported)


def test_errors_are_better_if_small_and_accuracies_if_large():
    assert load_experiment("table-4").higher_is_better
    assert not load_experiment("table-1").higher_is_better


def test_stand_ins_have_their_own_budget_on_top_of_the_protocol():
    table = load_experiment("table-4")
    assert table.budget("quick", None).parameters["max_epochs"] == 50
    small = table.budget("quick", "digits")
    assert (small.parameters["max_epochs"], small.n_rows) == (20, 250)
    assert small.parameters["n_networks"] == 1
    assert dict(table.budget("paper", None).parameters) == {}
    few = small.parameters_of("catboost")["parameters"]
    assert few == {"iterations": 100}
    assert "parameters" not in small.parameters_of("hgb")
