import re

import pytest
from own_comparisons import make_comparison

from lacunet._text import show_p as tell_p
from lacunet.evaluation import METRICS, choose_format, show_score

OURS = [0.50, 0.52, 0.48, 0.51]
WORSE = [0.60, 0.63, 0.57, 0.62]
BETTER = [0.40, 0.41, 0.39, 0.40]
LIKE = [0.49, 0.53, 0.47, 0.52]


def told(about, values, **options):
    made = make_comparison(values, **options)
    return [finding for finding in made.findings if finding.about == about]


# --- the best


def test_the_best_is_named_with_those_after_it():
    values = {"hgb": BETTER, "lacunet": OURS, "knn": WORSE, "mean": [0.9] * 4}
    (best,) = told("best", values)
    assert best.head == "HistGradientBoosting has the lowest RMSE"
    assert best.text.startswith(
        "HistGradientBoosting 0.4000 ± 0.0041, then lacunet 0.5025 ± 0.0085 and k-nn "
        "0.6050"
    )
    assert "(mean over 4 folds, ± standard error)." in best.text


def test_ours_is_named_wherever_it_stands():
    values = {"hgb": BETTER, "mean": LIKE, "mice": LIKE, "lacunet": WORSE}
    (best,) = told("best", values)
    assert "lacunet has 0.6050 ± 0.0132, number 4 of 4." in best.text


def test_equal_methods_share_the_first_place():
    (best,) = told("best", {"hgb": OURS, "lacunet": OURS, "knn": WORSE})
    assert best.head == "HistGradientBoosting and lacunet share the lowest RMSE"


def test_methods_that_know_nothing_are_called_so():
    values = {"lacunet": OURS, "hgb": [5.0, 6.0, 5.0, 6.0]}
    (best,) = told("best", values)
    assert re.search(
        r"the mean alone would have 1\.\d+: HistGradientBoosting is no better than "
        r"that\.$",
        best.text,
    )
    (best,) = told("best", {"lacunet": [5.0] * 4, "hgb": [6.0] * 4})
    assert best.head == "No method is better than knowing nothing"
    values = {"lacunet": [0.8, 0.9, 0.8, 0.9]}
    (best,) = told("best", values, task="classification")
    assert best.head == "No method is better than knowing nothing"
    assert best.text.endswith("the shares of the classes alone would have 0.693.")


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
def test_nobody_came_through(values):
    made = make_comparison(values)
    assert made.findings[0].head == "No method came through"
    assert {finding.about for finding in made.findings} <= {"best", "time"}


# --- ours


def test_ours_ahead_of_some_and_behind_others():
    values = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER, "mice": LIKE}
    (ours,) = told("ours", values)
    assert ours.head == (
        "lacunet is ahead of k-nn and behind HistGradientBoosting, by more than chance"
    )
    said = re.sub(r"p [=≤≥] 0\.\d+", "p", ours.text)
    assert said.startswith(
        "Ahead of k-nn by 0.1025: more than chance (p). Behind HistGradientBoosting by "
        "0.1025: more than chance (p)."
    )
    assert "mice" in said
    assert said.endswith("corrected for 3 rivals by Holm's method.")


def test_a_rival_that_wins_is_told_so():
    (ours,) = told("ours", {"lacunet": OURS, "hgb": BETTER})
    assert ours.head == "lacunet is behind HistGradientBoosting, by more than chance"
    assert "Behind HistGradientBoosting by 0.1025: more than chance" in ours.text
    assert "Ahead" not in ours.text


def test_all_rivals_are_counted():
    values = {"lacunet": OURS, "knn": WORSE, "hgb": WORSE, "mice": WORSE}
    (ours,) = told("ours", values)
    assert ours.head == "lacunet is ahead of all 3 rivals, by more than chance"
    (ours,) = told("ours", values | {"mean": LIKE})
    assert ours.head == "lacunet is ahead of 3 of 4 rivals, by more than chance"


@pytest.mark.parametrize(
    ("others", "whom"),
    [(("hgb",), "HistGradientBoosting"), (("hgb", "knn"), "any rival")],
)
def test_what_may_be_chance_is_called_so(others, whom):
    (ours,) = told("ours", {"lacunet": OURS, **dict.fromkeys(others, LIKE)})
    assert ours.head == f"lacunet can't be told from {whom}: differences may be chance"
    assert "more than chance" not in ours.text


def test_level_and_nearly_level_methods_have_their_words():
    near = [value + 1e-6 * (1 + i) for i, value in enumerate(OURS)]
    (ours,) = told("ours", {"lacunet": OURS, "hgb": OURS, "knn": near})
    assert "Level with HistGradientBoosting: that may be chance (p = 1)." in ours.text
    assert "k-nn by less than 0.0001" in ours.text


def test_without_ours_only_the_others_are_told_of():
    made = make_comparison({"hgb": OURS, "knn": WORSE})
    assert {finding.about for finding in made.findings} == {"best", "metrics", "time"}
    assert made.ours is None


# --- the rest


def test_other_scores_have_their_own_winners():
    values = {"lacunet": OURS, "hgb": BETTER}
    (other,) = told("metrics", values, task="classification")
    assert other.head == (
        "Best by other scores: HistGradientBoosting by accuracy and AUC"
    )
    assert "Accuracy: HistGradientBoosting 0.800 ± 0.002, lacunet 0.749" in other.text
    assert other.text.endswith(
        "(number 2 of 2); a difference to HistGradientBoosting that is more than "
        "chance."
    )


def test_time_is_told_for_the_fastest_the_slowest_and_ours():
    values = {"lacunet": OURS, "hgb": OURS, "mice": OURS}
    took = {"lacunet": 3.0, "hgb": 0.25, "mice": 21.4}
    (time,) = told("time", values, seconds=took)
    assert time.head == (
        "HistGradientBoosting is the fastest; lacunet takes 12 times as long"
    )
    assert time.text == (
        "To fit and to predict once, HistGradientBoosting takes 0.25 s and mice 21 s; "
        "lacunet takes 3.00 s (median over folds, one core each)."
    )
    assert told("time", {"lacunet": OURS}) == []


def test_a_hidden_column_is_told_of_with_what_it_costs():
    values = {"lacunet": OURS, "hgb": BETTER, "knn": WORSE}
    without = {"lacunet": OURS, "hgb": [v + 0.5 for v in BETTER], "knn": WORSE}
    (missing,) = told("missing", values, hidden={"age": without})
    assert missing.head == "Where 'age' is missing, lacunet has the lowest RMSE"
    assert missing.text.startswith(
        "lacunet has 0.5025 (0.5025 with it); HistGradientBoosting has 0.9000 (0.4000 "
        "with it), the last."
    )
    assert missing.text.endswith("ahead of all 2 rivals, by more than chance.")


def test_equal_methods_share_the_first_place_without_a_column():
    values = {"lacunet": OURS, "hgb": BETTER, "knn": WORSE}
    hidden = {"age": {"lacunet": OURS, "hgb": OURS, "knn": WORSE}}
    (missing,) = told("missing", values, hidden=hidden)
    assert missing.head == (
        "Where 'age' is missing, lacunet and HistGradientBoosting share the lowest RMSE"
    )


def test_a_rival_that_wins_without_a_column_is_told_so():
    values = {"lacunet": OURS, "hgb": OURS}
    without = {"lacunet": WORSE, "hgb": OURS}
    (missing,) = told("missing", values, hidden={"age": without})
    assert "HistGradientBoosting has the lowest RMSE" in missing.head
    assert "lacunet has 0.6050 (0.5025 with it), number 2 of 2" in missing.text
    assert missing.text.endswith("is behind HistGradientBoosting, by more than chance.")


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


def test_p_values_are_bounded():
    said = [tell_p(p) for p in (1e-9, 0.04, 1.0)]
    assert said == ["p < 0.001", "p = 0.040", "p = 1"]
