"""What rows held out have shown, in words."""

import dataclasses

import pytest
from held_out import EVIL, make_classification, make_regression

from lacunet.evaluation._hold_out_findings import Numbers
from lacunet.evaluation._hold_out_record import ClassRows, LearningStep
from lacunet.evaluation._holes_and_error import HoleBin
from lacunet.evaluation._importance import ColumnLoss, Importance
from lacunet.evaluation._losses import Estimate


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


def test_a_good_classifier_has_nothing_to_beware_of():
    found = make_classification()
    assert heads(found, weak=True) == []
    assert heads(found) == [
        "Right in 90% of 120 rows that it has not seen",
        "Better than HistGradientBoosting on these rows",
        "Its probabilities fit what happens",
        f"It relies most on {EVIL!r}",
        "Rows that lack more are not clearly harder",
    ]


def test_a_good_regressor_has_nothing_to_beware_of():
    found = make_regression()
    assert heads(found, weak=True) == []
    first = found.findings[0]
    assert first.head == "Explains 50% of the variance in 120 rows that it has not seen"
    assert "RMSE 50.00 ± 3.00; the mean alone has 70.00" in first.text
    assert "between −10.00 and 12.00" in first.text


@pytest.mark.parametrize(
    ("lead", "head", "weak", "words"),
    [
        (Estimate(0.1, 0.02), "Better than Hist", False, "the lead is 0.100 ± 0.020"),
        (
            Estimate(-0.1, 0.02),
            "HistGradientBoosting is better",
            True,
            "ahead by 0.100",
        ),
        (Estimate(0.1, 0.08), "Neither clearly", False, "0.100 ± 0.080, which may be"),
        (Estimate(-0.1, 0.08), "Neither clearly", False, "0.100 ± 0.080, which may be"),
        (Estimate(0.1, None), "Neither clearly", False, "difference is 0.100, which"),
    ],
)
def test_who_is_better_is_said_as_far_as_it_is_known(lead, head, weak, words):
    leads = {"hgb": lead, "trivial": Estimate(0.3, 0.01)}
    finding = make_classification(leads=leads).findings[1]
    assert finding.head.startswith(head)
    assert finding.weak is weak
    assert words in finding.text
    assert "Log-loss 0.300 to 0.400, accuracy 0.900 to 0.850" in finding.text


@pytest.mark.parametrize(
    ("make", "lead", "head"),
    [
        (make_classification, 0.1, "Not clearly better than a guess on 120 rows"),
        (make_classification, -0.1, "Not better than a guess on 120 rows"),
        (make_regression, 0.1, "Not clearly better than the mean on 120 rows"),
    ],
)
def test_a_model_that_is_no_better_than_a_guess_is_said_to_be_so(make, lead, head):
    leads = {"hgb": Estimate(0.1, 0.02), "trivial": Estimate(lead, 0.08)}
    first = make(leads=leads).findings[0]
    assert (first.head, first.weak) == (head, True)


def test_few_rows_are_few():
    assert one(make_classification(n_test=99), "scores", "Few rows").weak
    assert not any("Few rows" in head for head in heads(make_classification()))


def change_reliability(found, **changes):
    ours = dataclasses.replace(found.reliability["lacunet"], **changes)
    return {**found.reliability, "lacunet": ours}


@pytest.mark.parametrize(
    ("said", "mood"), [(0.97, "too sure"), (0.8, "too modest")], ids=str
)
def test_probabilities_that_are_off_are_told_of(said, mood):
    found = make_classification()
    reliability = change_reliability(found, p_value=0.01, calibration_error=0.12)
    found = make_classification(reliability=reliability, mean_confidence=said)
    finding = one(found, "reliability")
    assert finding.head == "Its probabilities are 0.120 off on average"
    assert f"It is {mood}" in finding.text
    assert finding.weak


@pytest.mark.parametrize(("bias", "where"), [(12.0, "low"), (-12.0, "high")])
def test_predictions_that_are_off_on_average_are_told_of(bias, where):
    found = make_regression()
    ours = dataclasses.replace(found.agreement["lacunet"], bias=bias)
    found = make_regression(agreement={**found.agreement, "lacunet": ours})
    finding = one(found, "reliability")
    assert finding.head == f"Its predictions are too {where}"
    assert "12.00 ± 4.43" in finding.text  # sqrt(50² - 12²) / sqrt(120)


def with_columns(*lost):
    columns = tuple(ColumnLoss(f"c{i}", each) for i, each in enumerate(lost))
    return make_classification(importance=Importance(columns, 9, 120, "all columns"))


def test_columns_are_named_if_they_matter_for_sure():
    sure, doubt, bad = Estimate(0.2, 0.02), Estimate(0.3, 0.2), Estimate(-0.2, 0.02)
    finding = one(with_columns(doubt, sure, sure, bad), "columns")
    assert finding.head == "It relies most on 'c1' and 'c2'"
    assert "worse by 0.200 ± 0.020 and 0.200 ± 0.020" in finding.text
    assert "Of 4 columns 2 matter" in finding.text
    many = one(with_columns(*[sure] * 5), "columns")
    assert many.head == "It relies most on 'c0', 'c1' and 'c2'"
    assert one(with_columns(doubt, bad), "columns").head.startswith("No column alone")


@pytest.mark.parametrize(
    ("last", "head", "weak"),
    [
        (0.6, "Rows that lack more are harder", True),
        (0.05, "Rows that lack more are easier", False),
        (0.3, "Rows that lack more are not clearly harder", False),
    ],
)
def test_rows_that_lack_more_are_compared(last, head, weak):
    bins = (
        HoleBin(0, 0, 70, {"lacunet": Estimate(0.28, 0.05)}),
        HoleBin(1, 3, 50, {"lacunet": Estimate(last, 0.05)}),
    )
    finding = one(make_classification(by_holes=bins), "holes")
    assert (finding.head, finding.weak) == (head, weak)
    assert "0.280 ± 0.050 with 0 missing values" in finding.text
    assert "with 1 to 3 missing values" in finding.text


def test_rows_that_lack_as_many_are_not_compared():
    bins = (HoleBin(2, 2, 120, {"lacunet": Estimate(0.28, 0.05)}),)
    found = make_classification(by_holes=bins)
    assert not [each for each in found.findings if each.about == "holes"]


def test_classes_with_few_rows_and_without_judgement_are_named():
    rare = tuple(ClassRows(f"rare{i}", 1 + i, 0) for i in range(5))
    found = make_classification(classes=(ClassRows("a", 400, 120), *rare), confusion=())
    few = one(found, "classes", "Classes with few")
    assert "1 row of 'rare0', 2 rows of 'rare1', 3 rows of 'rare2'" in few.text
    assert "2 more" in few.text
    assert "'rare0'" in one(found, "classes", "Classes that were not").text


def test_a_class_that_is_often_missed_is_named():
    found = make_classification(confusion=((10, 40), (0, 70)))
    finding = one(found, "classes")
    assert finding.head == "The class 'ill' is often missed"
    assert "Of 50 rows of it, 10 were recognised, and 40 were taken for" in finding.text
    few = make_classification(confusion=((1, 3), (0, 116)))
    assert not [each for each in few.findings if each.about == "classes"]


def test_columns_that_were_never_missing_or_never_there_are_named():
    found = make_classification(never_missing=("a", "b"), empty=("c",))
    assert one(found, "columns", "Never missing in training: 2").text.startswith("'a'")
    assert one(found, "columns", "Columns without a value").weak
    complete = make_classification(never_missing=("a", "b", "c"))
    assert one(complete, "columns", "Nothing was missing").weak


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({"time_limit": 10.0}, "Training was ended by its time limit"),
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
def test_training_that_was_cut_short_is_told_of(changes, head):
    findings = make_classification(**changes).findings
    found = [each.head for each in findings if each.about == "learning"]
    assert found == ([head] if head else [])


def test_few_rows_do_not_show_that_probabilities_fit():
    found = make_classification(n_test=99)
    assert one(found, "reliability", "Too few rows to tell whether its probabilities")


def test_nothing_has_no_sign():
    numbers = Numbers(make_classification())
    assert numbers.show(-0.0001) == "0.000"
    assert numbers.show(-0.01) == "−0.010"
    assert numbers.tell(Estimate(0.5, None)) == "0.500"
