import re
from dataclasses import replace

import pytest
from held_out import EVIL, make_classification, make_regression
from own_comparisons import make_comparison

from lacunet._text import show_score
from lacunet.evaluation import METRICS, Estimate
from lacunet.evaluation._findings import describe_comparison
from lacunet.evaluation._hold_out import (
    ClassRows,
    ColumnLoss,
    Importance,
    LearningStep,
    MissingBin,
)
from lacunet.evaluation._scores import choose_format


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
        "Its probabilities are calibrated, as far as 120 rows can show",
        f"It relies most on {EVIL!r}",
    ]


def test_a_good_regressor_has_no_weakness():
    found = make_regression()
    assert heads(found, weak=True) == []
    first = found.findings[0]
    assert first.head == "Explains 50% of the variance on 120 held-out rows"
    assert first.text == (
        "RMSE 50.00 ± 3.00; predicting the mean for every row gives 70.00."
    )


@pytest.mark.parametrize(
    ("lead", "head", "weak", "shown"),
    [
        (Estimate(0.1, 0.02), "Better than Hist", False, "0.100 ± 0.020"),
        (Estimate(-0.1, 0.02), "HistGradientBoosting is better", True, "0.100 ± 0.020"),
        (Estimate(-0.1, 0.08), "Neither clearly", False, "0.100 ± 0.080"),
        (Estimate(0.1, None), "Neither clearly", False, "0.100"),
    ],
)
def test_a_difference_within_two_standard_errors_may_be_chance(lead, head, weak, shown):
    leads = {"hgb": lead, "trivial": Estimate(0.3, 0.01)}
    finding = make_classification(leads=leads).findings[1]
    assert finding.head.startswith(head)
    assert finding.weak is weak
    assert finding.text == (
        "Log-loss 0.300 against 0.400. The difference, paired by row, is " + shown + "."
    )


@pytest.mark.parametrize(
    ("make", "constant"),
    [(make_classification, "class frequencies"), (make_regression, "mean")],
)
@pytest.mark.parametrize("lead", [0.1, -0.1])
def test_a_model_that_is_no_better_than_the_trivial_one_is_weak(make, constant, lead):
    leads = {"hgb": Estimate(0.1, 0.02), "trivial": Estimate(lead, 0.08)}
    first = make(leads=leads).findings[0]
    assert first.head.endswith(f"not clearly better than predicting the {constant}")
    assert first.weak


def test_few_held_out_rows_are_a_weakness():
    assert one(make_classification(n_test=99), "scores", "Few held-out").weak
    assert not any("Few held-out" in head for head in heads(make_classification()))


def change_calibration(found, **changes):
    ours = replace(found.calibration["lacunet"], **changes)
    return {**found.calibration, "lacunet": ours}


@pytest.mark.parametrize(
    ("said", "mood"), [(0.97, "overconfident"), (0.8, "underconfident")], ids=str
)
def test_miscalibrated_probabilities_are_a_weakness(said, mood):
    found = make_classification()
    calibration = change_calibration(found, p_value=0.01, calibration_error=0.12)
    found = make_classification(calibration=calibration, mean_confidence=said)
    finding = one(found, "calibration")
    assert finding.head == f"Its probabilities are not calibrated, but {mood}"
    assert "The calibration error is 0.120;" in finding.text
    assert finding.weak


def with_columns(*lost):
    columns = tuple(ColumnLoss(f"c{i}", each) for i, each in enumerate(lost))
    return make_classification(importance=Importance(columns, 9, 120, "all columns"))


def test_columns_are_named_if_they_matter_beyond_chance():
    sure, doubt, bad = Estimate(0.2, 0.02), Estimate(0.3, 0.2), Estimate(-0.2, 0.02)
    finding = one(with_columns(doubt, sure, sure, bad), "columns")
    assert finding.head == "It relies most on 'c1' and 'c2'"
    assert ": 0.200 ± 0.020, 0.200 ± 0.020." in finding.text
    assert finding.text.endswith("beyond chance: 2 of 4.")
    many = one(with_columns(*[sure] * 5), "columns")
    assert many.head == "It relies most on 'c0', 'c1' and 'c2'"
    assert one(with_columns(doubt, bad), "columns").head.startswith("No single column")


@pytest.mark.parametrize(("last", "harder"), [(0.6, True), (0.05, False), (0.3, False)])
def test_rows_with_more_missing_values_are_reported_if_they_are_harder(last, harder):
    bins = (
        MissingBin(0, 0, 70, {"lacunet": Estimate(0.28, 0.05)}),
        MissingBin(1, 3, 50, {"lacunet": Estimate(last, 0.05)}),
    )
    found = make_classification(by_missing=bins)
    if harder:
        finding = one(found, "missing", "Rows with more missing values are harder")
        assert finding.weak
        assert "0.280 ± 0.050 in rows with 0 missing values" in finding.text
        assert finding.text.endswith("in rows with 1–3.")
    else:
        assert not [each for each in found.findings if each.about == "missing"]


def test_rows_with_as_many_missing_values_are_not_compared():
    bins = (MissingBin(2, 2, 120, {"lacunet": Estimate(0.28, 0.05)}),)
    found = make_classification(by_missing=bins)
    assert not [each for each in found.findings if each.about == "missing"]


def test_classes_with_few_rows_and_without_held_out_rows_are_named():
    rare = tuple(ClassRows(f"rare{i}", 1 + i, 0) for i in range(5))
    found = make_classification(classes=(ClassRows("a", 400, 120), *rare), confusion=())
    few = one(found, "classes", "Classes with few rows")
    assert few.text.startswith("'rare0', 'rare1', ")
    assert few.weak


def test_classes_that_are_often_missed_are_named():
    found = make_classification(confusion=((10, 40), (0, 70)))
    finding = one(found, "classes")
    assert finding.head == "Some classes are often missed"
    assert finding.text == "Recognised were 10 of 50 rows of 'ill'."
    few = make_classification(confusion=((1, 3), (0, 116)))
    assert not [each for each in few.findings if each.about == "classes"]


def test_columns_that_were_never_missing_are_named():
    found = make_classification(never_missing=("a", "b"))
    finding = one(found, "columns", "Never missing in training: 2 columns")
    assert finding.text.startswith("'a', 'b'.")
    assert finding.weak


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"time_limit": 10.0}, "--time-limit"),
        ({"time_limit": 60.0}, None),
        ({"max_epochs": 34}, None),
        ({"max_epochs": None}, None),
        ({"max_epochs": None, "time_limit": 10.0}, "--time-limit"),
        (
            {
                "max_epochs": 5,
                "learning": tuple(LearningStep(i, 1.0, 1.0, True) for i in range(1, 6)),
            },
            "--max-epochs",
        ),
    ],
)
def test_training_that_was_cut_short_is_a_weakness(changes, advice):
    found = make_classification(**changes)
    if advice:
        assert advice in one(found, "learning", "Training ended too early").text
    else:
        assert not [each for each in found.findings if each.about == "learning"]


# --- comparisons

OURS = [0.50, 0.52, 0.48, 0.51]
WORSE = [0.60, 0.63, 0.57, 0.62]
BETTER = [0.40, 0.41, 0.39, 0.40]
LIKE = [0.49, 0.53, 0.47, 0.52]


def findings_of(about, values, **options):
    made = make_comparison(values, **options)
    return [finding for finding in made.findings if finding.about == about]


# --- the best


def test_the_best_is_named_with_those_after_it():
    values = {"hgb": BETTER, "lacunet": OURS, "knn": WORSE, "mean": [0.9] * 4}
    (best,) = findings_of("best", values)
    assert best.head == "HistGradientBoosting has the lowest RMSE"
    assert best.text.startswith(
        "HistGradientBoosting 0.4000 ± 0.0041, lacunet 0.5025 ± 0.0085, k-nn 0.6050 ± "
        "0.0132 (mean over 4 folds, ± standard error)."
    )


def test_ours_is_named_wherever_it_stands():
    values = {"hgb": BETTER, "mean": LIKE, "mice": LIKE, "lacunet": WORSE}
    (best,) = findings_of("best", values)
    assert ", lacunet 0.6050 ± 0.0132 on rank 4 of 4 (mean" in best.text


def test_equal_methods_tie():
    (best,) = findings_of("best", {"hgb": OURS, "lacunet": OURS, "knn": WORSE})
    assert best.head == "HistGradientBoosting and lacunet tie for the lowest RMSE"


def test_methods_may_be_no_better_than_a_constant_prediction():
    (best,) = findings_of("best", {"lacunet": [5.0] * 4, "hgb": [6.0] * 4})
    assert best.head == "No method is better than a constant prediction"
    assert re.search(
        r"Predicting the mean of the target for every row gives 1\.\d+\.$", best.text
    )
    values = {"lacunet": [0.8, 0.9, 0.8, 0.9]}
    (best,) = findings_of("best", values, task="classification")
    assert best.head == "No method is better than a constant prediction"
    assert best.text.endswith("the class frequencies for every row gives 0.693.")


def test_a_method_that_failed_somewhere_is_never_the_best():
    values = {"lacunet": OURS, "hgb": [0.1, 0.1, None, 0.1]}
    made = make_comparison(values)
    assert made.findings[0].head == "lacunet has the lowest RMSE"
    assert made.notes == (
        "HistGradientBoosting failed on 1 of 4 folds: ValueError: too bad",
    )


@pytest.mark.parametrize(
    "values",
    [
        {"lacunet": [None] * 4, "hgb": [None] * 4},
        {"lacunet": [0.1, None, 0.1, None], "hgb": [None, 0.1, None, 0.1]},
    ],
    ids=["never", "sometimes"],
)
def test_no_method_completed_every_fold(values):
    made = make_comparison(values)
    assert made.findings[0].head == "No method completed every fold"
    assert {finding.about for finding in made.findings} <= {"best", "time"}


# --- ours


def test_ours_better_than_some_and_worse_than_others():
    values = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER, "mice": LIKE}
    (ours,) = findings_of("ours", values)
    assert ours.head == (
        "lacunet is significantly better than k-nn and significantly worse than "
        "HistGradientBoosting"
    )
    assert re.fullmatch(
        r"Difference, positive where lacunet is better: k-nn \+0.1025 \(p = 0.\d+\), "
        r"mice .0.\d+ \(p = 1\), HistGradientBoosting −0.1025 \(p = 0.\d+\). p-values "
        r"of the corrected resampled t-test over folds, with Holm's correction.",
        ours.text,
    )


def test_a_method_that_wins_is_named():
    (ours,) = findings_of("ours", {"lacunet": OURS, "hgb": BETTER})
    assert ours.head == "lacunet is significantly worse than HistGradientBoosting"


def test_methods_are_counted():
    values = {"lacunet": OURS, "knn": WORSE, "hgb": WORSE, "mice": WORSE}
    (ours,) = findings_of("ours", values)
    assert ours.head == "lacunet is significantly better than 3 of 3 other methods"
    (ours,) = findings_of("ours", values | {"mean": LIKE})
    assert ours.head == "lacunet is significantly better than 3 of 4 other methods"


def test_what_may_be_chance_is_not_significant():
    (ours,) = findings_of("ours", {"lacunet": OURS, "hgb": LIKE})
    assert ours.head == "lacunet does not differ significantly from any other method"


def test_without_ours_there_are_no_tests():
    made = make_comparison({"hgb": OURS, "knn": WORSE})
    assert {finding.about for finding in made.findings} == {"best", "time"}
    assert made.ours is None


# --- the rest


def test_other_scores_are_reported_if_they_have_another_winner():
    values = {"lacunet": OURS, "hgb": BETTER}
    assert findings_of("metrics", values, task="classification") == []
    made = make_comparison(values, task="classification")
    ours, other = made.methods
    swapped = {**ours.scores, "auc": other.scores["auc"]}
    theirs = {**other.scores, "auc": ours.scores["auc"]}
    methods = replace(ours, scores=swapped), replace(other, scores=theirs)
    (metric,) = (
        each
        for each in describe_comparison(replace(made, methods=methods))
        if each.about == "metrics"
    )
    assert metric.head == "lacunet has the highest AUC"
    assert metric.text.startswith("lacunet 0.867 ± 0.001, HistGradientBoosting 0.8")


def test_time_is_given_from_the_fastest_to_the_slowest():
    values = {"lacunet": OURS, "hgb": OURS, "mice": OURS}
    took = {"lacunet": 3.0, "hgb": 0.25, "mice": 21.4}
    (time,) = findings_of("time", values, seconds=took)
    assert time.head == (
        "HistGradientBoosting is the fastest; lacunet takes 12 times as long"
    )
    assert time.text == (
        "Median time to fit and predict on one core: HistGradientBoosting 0.25 s, "
        "lacunet 3.00 s, mice 21 s."
    )
    assert findings_of("time", {"lacunet": OURS}) == []


def test_a_hidden_column_is_described_with_what_it_costs():
    values = {"lacunet": OURS, "hgb": BETTER, "knn": WORSE}
    without = {"lacunet": OURS, "hgb": [v + 0.5 for v in BETTER], "knn": WORSE}
    (missing,) = findings_of("missing", values, hidden={"age": without})
    assert missing.head == (
        "With 'age' missing at prediction, lacunet has the lowest RMSE"
    )
    assert missing.text.startswith(
        "lacunet 0.5025 ± 0.0085 (0.5025 with the column), k-nn 0.6050 ± 0.0132 "
        "(0.6050 with the column), HistGradientBoosting 0.9000 ± 0.0041 (0.4000 "
        "with the column). lacunet is"
    )
    assert missing.text.endswith("better than HistGradientBoosting and k-nn.")


def test_equal_methods_tie_without_a_column():
    values = {"lacunet": OURS, "hgb": BETTER, "knn": WORSE}
    hidden = {"age": {"lacunet": OURS, "hgb": OURS, "knn": WORSE}}
    (missing,) = findings_of("missing", values, hidden=hidden)
    assert missing.head == (
        "With 'age' missing at prediction, lacunet and HistGradientBoosting tie for "
        "the lowest RMSE"
    )


def test_a_method_that_wins_without_a_column_is_named():
    values = {"lacunet": OURS, "hgb": OURS}
    without = {"lacunet": WORSE, "hgb": OURS}
    (missing,) = findings_of("missing", values, hidden={"age": without})
    assert "HistGradientBoosting has the lowest RMSE" in missing.head
    assert "lacunet 0.6050 ± 0.0132 (0.5025 with the column)" in missing.text
    assert missing.text.endswith("significantly worse than HistGradientBoosting.")


# --- numbers

RMSE = METRICS["regression"][0]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.123456], "0.1235"),
        ([58.1234, 1.0], "58.12"),
        ([12345.6], "12,346"),
        ([3e-9], "3e-09"),
        ([2.5e12], "2.5e+12"),
        ([0.0, None], "0.000"),
    ],
)
def test_errors_have_four_digits_whatever_their_unit(values, shown):
    assert show_score(values[0], choose_format(RMSE, values)) == shown.replace("-", "−")


def test_tiny_errors_have_differences_too():
    values = {"lacunet": [2e-9, 3e-9, 2e-9], "hgb": [4e-9, 5e-9, 4e-9]}
    (ours,) = findings_of("ours", values)
    assert "HistGradientBoosting +2e−09" in ours.text
