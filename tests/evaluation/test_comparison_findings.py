import re

import pytest
from own_comparisons import make_comparison

from lacunet.evaluation import METRICS
from lacunet.evaluation._scores import choose_format, show_score

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


def test_methods_no_better_than_a_constant_prediction_are_named():
    values = {"lacunet": OURS, "hgb": [5.0, 6.0, 5.0, 6.0]}
    (best,) = findings_of("best", values)
    assert re.search(
        r"Predicting the mean of the target for every row gives 1\.\d+; "
        r"HistGradientBoosting is no better than that\.$",
        best.text,
    )
    (best,) = findings_of("best", {"lacunet": [5.0] * 4, "hgb": [6.0] * 4})
    assert best.head == "No method is better than a constant prediction"
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
    assert ours.head == "lacunet is significantly better than all 3 other methods"
    (ours,) = findings_of("ours", values | {"mean": LIKE})
    assert ours.head == "lacunet is significantly better than 3 of 4 other methods"


@pytest.mark.parametrize(
    ("others", "whom"),
    [(("hgb",), "HistGradientBoosting"), (("hgb", "knn"), "any other method")],
)
def test_what_may_be_chance_is_not_significant(others, whom):
    (ours,) = findings_of("ours", {"lacunet": OURS, **dict.fromkeys(others, LIKE)})
    assert ours.head == f"lacunet does not differ significantly from {whom}"


def test_without_ours_there_are_no_tests():
    made = make_comparison({"hgb": OURS, "knn": WORSE})
    assert {finding.about for finding in made.findings} == {"best", "metrics", "time"}
    assert made.ours is None


# --- the rest


def test_other_scores_have_their_own_winners():
    values = {"lacunet": OURS, "hgb": BETTER}
    (other,) = findings_of("metrics", values, task="classification")
    assert other.head == (
        "Best by other scores: HistGradientBoosting by accuracy and AUC"
    )
    assert "Accuracy: HistGradientBoosting 0.800 ± 0.002, lacunet 0.749" in other.text
    assert other.text.endswith(
        "on rank 2 of 2; lacunet differs significantly from HistGradientBoosting."
    )


def test_time_is_given_for_the_fastest_the_slowest_and_ours():
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
    assert missing.text.endswith("better than all 2 other methods.")


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
