import dataclasses

import pytest
from held_out import EVIL, make_classification, make_regression

from lacunet.evaluation import Estimate
from lacunet.evaluation._hold_out import (
    ClassRows,
    ColumnLoss,
    Importance,
    LearningStep,
    MissingBin,
)


def heads(found, weak=None):
    return [each.head for each in found.findings if weak in (None, each.weak)]


def one(found, about, start=""):
    """Return the only finding about something that begins so."""
    (finding,) = (
        each
        for each in found.findings
        if each.about == about and each.head.startswith(start)
    )
    return finding


def test_a_good_classifier_has_no_weakness():
    found = make_classification()
    assert heads(found, weak=True) == []
    assert heads(found) == [
        "Accuracy 90% on 120 held-out rows",
        "Better than HistGradientBoosting",
        "Its probabilities are calibrated",
        f"It relies most on {EVIL!r}",
        "Rows with more missing values are not clearly harder",
    ]


def test_a_good_regressor_has_no_weakness():
    found = make_regression()
    assert heads(found, weak=True) == []
    first = found.findings[0]
    assert first.head == "Explains 50% of the variance on 120 held-out rows"
    assert (
        "RMSE 50.00 ± 3.00; predicting the mean for every row gives 70.00" in first.text
    )
    assert "between −10.00 and 12.00" in first.text


@pytest.mark.parametrize(
    ("lead", "head", "weak", "words"),
    [
        (Estimate(0.1, 0.02), "Better than Hist", False, "row, is 0.100 ± 0.020."),
        (
            Estimate(-0.1, 0.02),
            "HistGradientBoosting is better",
            True,
            "0.100 ± 0.020. Consider",
        ),
        (Estimate(0.1, 0.08), "Neither clearly", False, "0.100 ± 0.080, which may be"),
        (Estimate(-0.1, 0.08), "Neither clearly", False, "0.100 ± 0.080, which may be"),
        (Estimate(0.1, None), "Neither clearly", False, "row, is 0.100, which"),
    ],
)
def test_a_difference_within_two_standard_errors_may_be_chance(lead, head, weak, words):
    leads = {"hgb": lead, "trivial": Estimate(0.3, 0.01)}
    finding = make_classification(leads=leads).findings[1]
    assert finding.head.startswith(head)
    assert finding.weak is weak
    assert words in finding.text
    assert "Log-loss 0.300 against 0.400, accuracy 0.900 against 0.850" in finding.text


@pytest.mark.parametrize(
    ("make", "lead", "head"),
    [
        (
            make_classification,
            0.1,
            "Not clearly better than predicting the class frequencies",
        ),
        (make_classification, -0.1, "Not better than predicting the class frequencies"),
        (make_regression, 0.1, "Not clearly better than predicting the mean"),
    ],
)
def test_a_model_that_is_no_better_than_the_trivial_one_is_weak(make, lead, head):
    leads = {"hgb": Estimate(0.1, 0.02), "trivial": Estimate(lead, 0.08)}
    first = make(leads=leads).findings[0]
    assert (first.head, first.weak) == (head, True)


def test_few_held_out_rows_are_a_weakness():
    assert one(make_classification(n_test=99), "scores", "Few held-out").weak
    assert not any("Few held-out" in head for head in heads(make_classification()))


def change_calibration(found, **changes):
    ours = dataclasses.replace(found.calibration["lacunet"], **changes)
    return {**found.calibration, "lacunet": ours}


@pytest.mark.parametrize(
    ("said", "mood"), [(0.97, "overconfident"), (0.8, "underconfident")], ids=str
)
def test_miscalibrated_probabilities_are_a_weakness(said, mood):
    found = make_classification()
    calibration = change_calibration(found, p_value=0.01, calibration_error=0.12)
    found = make_classification(calibration=calibration, mean_confidence=said)
    finding = one(found, "calibration")
    assert finding.head == "Its probabilities are not calibrated"
    assert "The calibration error is 0.120 on" in finding.text
    assert f"It is {mood}" in finding.text
    assert finding.weak


@pytest.mark.parametrize(("bias", "where"), [(12.0, "low"), (-12.0, "high")])
def test_biased_predictions_are_a_weakness(bias, where):
    found = make_regression()
    ours = dataclasses.replace(found.agreement["lacunet"], bias=bias)
    found = make_regression(agreement={**found.agreement, "lacunet": ours})
    finding = one(found, "calibration")
    assert finding.head == f"Its predictions are too {where} on average"
    assert "12.00 ± 4.43" in finding.text  # sqrt(50² - 12²) / sqrt(120)


def with_columns(*lost):
    columns = tuple(ColumnLoss(f"c{i}", each) for i, each in enumerate(lost))
    return make_classification(importance=Importance(columns, 9, 120, "all columns"))


def test_columns_are_named_if_they_matter_beyond_chance():
    sure, doubt, bad = Estimate(0.2, 0.02), Estimate(0.3, 0.2), Estimate(-0.2, 0.02)
    finding = one(with_columns(doubt, sure, sure, bad), "columns")
    assert finding.head == "It relies most on 'c1' and 'c2'"
    assert "by 0.200 ± 0.020 and 0.200 ± 0.020" in finding.text
    assert "Of 4 columns, 2 have" in finding.text
    many = one(with_columns(*[sure] * 5), "columns")
    assert many.head == "It relies most on 'c0', 'c1' and 'c2'"
    assert one(with_columns(doubt, bad), "columns").head.startswith("No single column")


@pytest.mark.parametrize(
    ("last", "head", "weak"),
    [
        (0.6, "Rows with more missing values are harder", True),
        (0.05, "Rows with more missing values are easier", False),
        (0.3, "Rows with more missing values are not clearly harder", False),
    ],
)
def test_rows_with_more_missing_values_are_compared(last, head, weak):
    bins = (
        MissingBin(0, 0, 70, {"lacunet": Estimate(0.28, 0.05)}),
        MissingBin(1, 3, 50, {"lacunet": Estimate(last, 0.05)}),
    )
    finding = one(make_classification(by_missing=bins), "missing")
    assert (finding.head, finding.weak) == (head, weak)
    assert "0.280 ± 0.050 in rows with 0 missing values" in finding.text
    assert "with 1 to 3 missing values" in finding.text


def test_rows_with_as_many_missing_values_are_not_compared():
    bins = (MissingBin(2, 2, 120, {"lacunet": Estimate(0.28, 0.05)}),)
    found = make_classification(by_missing=bins)
    assert not [each for each in found.findings if each.about == "missing"]


def test_classes_with_few_rows_and_without_held_out_rows_are_named():
    rare = tuple(ClassRows(f"rare{i}", 1 + i, 0) for i in range(5))
    found = make_classification(classes=(ClassRows("a", 400, 120), *rare), confusion=())
    few = one(found, "classes", "Classes with few")
    assert "1 row of 'rare0', 2 rows of 'rare1', 3 rows of 'rare2'" in few.text
    assert "and 2 more" in few.text
    assert "'rare0'" in one(found, "classes", "Classes without held-out").text


def test_a_class_that_is_often_missed_is_named():
    found = make_classification(confusion=((10, 40), (0, 70)))
    finding = one(found, "classes")
    assert finding.head == "The class 'ill' is often missed"
    assert "Of 50 rows of this class, 10 were recognised, and 40 were" in finding.text
    few = make_classification(confusion=((1, 3), (0, 116)))
    assert not [each for each in few.findings if each.about == "classes"]


def test_columns_that_were_never_missing_or_never_observed_are_named():
    found = make_classification(never_missing=("a", "b"), empty=("c",))
    assert one(found, "columns", "Never missing in training: 2").text.startswith("'a'")
    assert one(found, "columns", "Columns without a value").weak
    complete = make_classification(never_missing=("a", "b", "c"))
    assert one(complete, "columns", "Nothing was missing").weak


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({"time_limit": 10.0}, "Training ended at its time limit"),
        ({"time_limit": 60.0}, None),
        ({"max_epochs": 34}, None),
        (
            {
                "max_epochs": 5,
                "learning": tuple(LearningStep(i, 1.0, 1.0, True) for i in range(1, 6)),
            },
            "Training ended too early",
        ),
    ],
)
def test_training_that_was_cut_short_is_a_weakness(changes, head):
    findings = make_classification(**changes).findings
    found = [each.head for each in findings if each.about == "learning"]
    assert found == ([head] if head else [])


def test_few_rows_do_not_show_that_probabilities_are_calibrated():
    found = make_classification(n_test=99)
    assert one(found, "calibration", "Too few rows to assess")
