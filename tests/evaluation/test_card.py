import re

import numpy as np
import pytest
from held_out import EVIL, make_classification, make_facts, make_regression

from lacunet import IncompleteGaussianMixture, LacunetRegressor
from lacunet.evaluation import describe_model, list_parameters
from lacunet.evaluation._hold_out import ClassRows
from lacunet.inspection import Estimate
from lacunet.tables import ColumnInfo


@pytest.fixture(scope="module")
def card():
    return describe_model(make_classification(), make_facts(), date="2026-07-30")


def rows_of(card):
    """Return the rows of all tables as lists of cells."""
    lines = [line for line in card.splitlines() if line.startswith("|")]
    return [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in lines]


def test_it_says_what_the_model_is_for(card):
    assert card.startswith("# Model card: out come\n")
    assert "It predicts **out come**, one of 2 classes, from 3 columns" in card
    assert "`LacunetClassifier`" in card
    assert ["ill", "200", "50"] in rows_of(card)


def test_it_says_what_the_table_was(card):
    assert "has 630 rows, 30 of them without a target, to which its density" in card
    assert "The model was trained on 480 rows with a target" in card
    rows = rows_of(card)
    assert ["a\\|b", "category", "0", "0%"] in rows
    assert ["\\$c_1\\$", "date", "1", "0.2%"] in rows
    assert not any("out come" in cell for row in rows for cell in row)


def test_it_says_how_it_was_evaluated(card):
    assert "120 rows were held out at random (seed 7)" in card
    rows = rows_of(card)
    assert ["**lacunet**", "0.300 ± 0.030", "0.950", "0.900"] in rows
    assert ["HistGradientBoosting", "0.400 ± 0.040", "0.900", "0.850"] in rows
    assert ["trivial model", "0.680 ± 0.010", "0.500", "0.580"] in rows
    assert "- **Better than HistGradientBoosting.**" in card


def test_names_are_text_and_paths_are_left_out(card):
    assert "<" not in card
    assert "&lt;script&gt;" in card
    assert "pa\\|tients.csv" in card
    assert "/home" not in card
    assert "me/data" not in card
    for part in card.split("\n\n"):  # no cell has become two
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in part.splitlines()}
        assert len(bars) == 1, part


def test_weaknesses_are_those_of_the_findings(card):
    weak = card.partition("## Known weaknesses")[2].partition("##")[0]
    assert "show none" in weak
    leads = {"hgb": Estimate(-0.1, 0.02), "trivial": Estimate(0.3, 0.01)}
    found = make_classification(leads=leads, never_missing=(EVIL,), n_test=50)
    worse = describe_model(found, make_facts(), date="today")
    weak = worse.partition("## Known weaknesses")[2].partition("##")[0]
    assert weak.count("\n- **") == 3
    assert "HistGradientBoosting is better" in weak
    assert "HistGradientBoosting is better" not in worse.partition("## Known")[0]


def test_parameters_and_versions_are_listed(card):
    rows = rows_of(card)
    assert ["`n_networks`", "**3**"] in rows
    assert ["`activation`", "'gelu'"] in rows
    assert "Made on 2026-07-30 with lacunet 0.1.0, python 3.11.7." in card


def test_a_model_that_was_trained_again_has_all_rows(card):
    assert "once more" not in card
    again = describe_model(make_classification(), make_facts(), date="x", refitted=True)
    assert "trained once more, on all of them" in again
    assert "The model was trained on 600 rows with a target" in again


def test_a_regression_has_no_classes():
    card = describe_model(make_regression(), make_facts(), date="x")
    assert "It predicts **out come**, a number, from" in card
    assert ["**lacunet**", "50.00 ± 3.00", "0.500"] in rows_of(card)
    assert "| class |" not in card


def test_long_tables_are_cut():
    columns = tuple(ColumnInfo(f"c{i}", "number", 0, 5) for i in range(501))
    classes = tuple(ClassRows(i, 10, 5) for i in range(103))
    found = make_classification(classes=classes, confusion=())
    card = describe_model(found, make_facts(columns=columns), date="x")
    assert "And 1 more." in card
    assert "And 3 more." in card
    assert "| c499 |" in card
    assert "| c500 |" not in card


def test_a_score_without_a_value_is_a_dash():
    found = make_classification()
    scores = {name: {**each, "auc": None} for name, each in found.scores.items()}
    card = describe_model(make_classification(scores=scores), make_facts(), date="x")
    assert ["trivial model", "0.680 ± 0.010", "–", "0.580"] in rows_of(card)


def test_values_that_have_only_an_address_are_shown_by_their_class():
    model = LacunetRegressor(
        density=IncompleteGaussianMixture(2), random_state=np.random.RandomState(0)
    )
    found = {name: (value, chosen) for name, value, chosen in list_parameters(model)}
    assert found["random_state"] == ("a RandomState", True)
    assert found["density"] == ("IncompleteGaussianMixture(n_components=2)", True)
    assert found["validation_fraction"] == ("0.2", False)
    assert list(found)[:2] == ["density", "random_state"]
