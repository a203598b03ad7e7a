import pytest
from reproduction.autoencoders import AUTOENCODERS
from reproduction.datasets import list_datasets
from reproduction.methods import METHODS
from reproduction.protocols import PROTOCOLS
from reproduction.tables import TABLES

BUNDLED = {"digits", "wine", "iris", "breast_cancer_wdbc"}
every = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@every
def test_what_is_reported_has_a_place_in_the_table(table):
    rows = {(row.dataset, row.rate) for row in table.settings}
    for metric, reported in table.reported.items():
        assert metric in table.metrics
        assert set(reported) <= rows
        assert all(set(line) <= set(table.methods) for line in reported.values())


@every
def test_columns_protocols_and_data_are_known(table):
    known = AUTOENCODERS if table.body == "autoencoder" else METHODS
    assert set(table.methods) <= set(known)
    assert set(table.protocols) <= set(PROTOCOLS)
    names = {row.dataset.partition("-")[0] for row in table.settings}
    assert names <= set(list_datasets())
    assert {row.dataset for row in table.stand_ins} <= BUNDLED


def test_figures_are_those_of_the_paper():
    table_2, table_4, table_6 = (
        TABLES[f"table-{n}"].reported["accuracy"] for n in (2, 4, 6)
    )
    ours = [
        [line["paper"] for line in table.values() if "paper" in line]
        for table in (table_4, table_6, table_2)
    ]
    assert ours == [
        [0.598, 0.993, 0.846, 0.864, 0.831, 0.747, 0.970],
        [0.833, 0.795, 0.951, 0.920, 0.690, 0.737, 0.770, 0.608],
        [0.815, 0.817, 0.787, 0.760],
    ]
    assert table_4["horse", None]["karma"] == 0.826
    assert table_6["heart", 0.5]["mice"] == 0.751
    assert table_2["esr", 0.9]["ce"] == 0.771
    assert table_2["esr", 0.0] == {"complete": 0.836}


def test_errors_inside_and_outside_add_up_in_the_paper():
    total, inside, outside = (
        TABLES["table-1"].reported[metric]["mnist", None]
        for metric in ("mse", "mse_inside", "mse_outside")
    )
    for method, value in total.items():
        assert value == pytest.approx(inside[method] + outside[method], abs=1.1e-5)


def test_errors_are_better_if_small_and_accuracies_if_large():
    assert TABLES["table-4"].higher_is_better
    assert not TABLES["table-1"].higher_is_better


def test_stand_ins_have_their_own_budget_on_top_of_the_protocol():
    table = TABLES["table-4"]
    assert table.budget("quick", None).parameters["max_epochs"] == 50
    small = table.budget("quick", "digits")
    assert (small.parameters["max_epochs"], small.n_rows) == (20, 250)
    assert small.parameters["n_networks"] == 1
    assert dict(table.budget("paper", None).parameters) == {}
    assert small.parameters_of("catboost")["parameters"] == {"iterations": 100}
    assert "parameters" not in small.parameters_of("hgb")
