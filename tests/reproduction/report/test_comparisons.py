import pytest
from reproduction.report import _comparisons
from reproduction.report._comparisons import (
    compare_all,
    friedman_p,
    make_rivals_sheet,
    make_within_sheet,
    tell_differences,
    tell_friedman,
    tell_power,
)
from reproduction.report._standing import Standing
from reproduction.statistics import Scores, compare_pairs, rank_methods

METHODS = ("lacunet", "knn", "mean")


def standing_of(n_sets, *, higher_is_better=True, independent=True, methods=METHODS):
    """Return a standing in which the first method is the best everywhere."""
    values = [
        [1 - 0.1 * j - 0.013 * (i + 1) * (j + 1) / n_sets for j in range(len(methods))]
        for i in range(n_sets)
    ]
    scores = Scores([f"s{i}" for i in range(n_sets)], methods, values)
    ranks = rank_methods(scores, higher_is_better=higher_is_better)
    return Standing(scores, ranks, higher_is_better, "accuracy", independent)


def test_friedmans_test_is_told_with_what_it_means():
    told = tell_friedman(standing_of(8))
    assert "8 data sets and 3 methods: p < 0.001" in told
    assert told.endswith("the methods differ.")


def test_methods_that_are_alike_are_for_orientation_only():
    scores = Scores(list("pq"), METHODS, [[1, 2, 3], [3, 2, 1]])
    ranks = rank_methods(scores, higher_is_better=True)
    told = tell_friedman(Standing(scores, ranks, True, "accuracy", True))
    assert "p = 1.000" in told
    assert "orientation only" in told


@pytest.mark.parametrize(
    "standing",
    [standing_of(8, independent=False), standing_of(8, methods=METHODS[:2])],
)
def test_without_sets_or_methods_enough_there_is_no_test(standing):
    assert friedman_p(standing) is None
    assert "p " not in tell_friedman(standing)


def test_all_pairs_are_compared_from_eleven_sets_on():
    assert compare_all(standing_of(10)) is None
    assert len(compare_all(standing_of(11)).pairs) == 3
    assert compare_all(standing_of(11, independent=False)) is None


def test_all_pairs_of_many_methods_need_more_sets():
    methods = [f"m{i}" for i in range(12)]  # 66 pairs: 66 * 2 / 2**11 > 0.05
    assert compare_all(standing_of(11, methods=methods)) is None
    assert compare_all(standing_of(13, methods=methods)) is not None


def test_the_power_is_told():
    few = compare_pairs(standing_of(5).scores, control="lacunet")
    assert "below 0.062" in tell_power(few)
    assert "2 pairs asks for 0.025" in tell_power(few)
    assert "no difference can be proven" in tell_power(few)
    many = compare_pairs(standing_of(8).scores, control="lacunet")
    assert tell_power(many).endswith("can be proven.")
    assert "no difference" not in tell_power(many)


def test_rivals_are_told_with_wins_losses_and_tests():
    sheet = make_rivals_sheet(standing_of(8), "knn")
    assert [line.title for line in sheet.lines] == ["lacunet", "mean"]
    first, second = ([e.text for e in line.entries] for line in sheet.lines)
    assert first[:3] == ["0", "8", "0"]
    assert second[:3] == ["8", "0", "0"]
    assert (first[-1], second[-1]) == ("different", "different")
    assert [line.entries[3].tone for line in sheet.lines] == ["worse", "better"]
    assert sheet.lines[0].entries[4].text == "0.008"  # 2 / 2**8
    assert sheet.lines[0].entries[5].text == "0.016"  # twice, after Holm


def test_of_errors_a_negative_difference_is_better():
    sheet = make_rivals_sheet(standing_of(8, higher_is_better=False), "mean")
    assert {line.entries[3].tone for line in sheet.lines} == {"better"}
    assert all(line.entries[3].text.startswith("−") for line in sheet.lines)


def test_differences_are_told_in_words():
    assert tell_differences(standing_of(8), "lacunet").endswith(
        "better than all 2 rivals."
    )
    both = tell_differences(standing_of(8), "knn")
    assert both.endswith("k-nn is better than mean and worse than lacunet.")
    assert "no difference" in tell_differences(standing_of(3), "lacunet")


def test_with_enough_data_sets_differences_are_those_among_all_pairs():
    told = tell_differences(standing_of(11), "mean")
    assert told.startswith("After Holm's correction for 3 pairs mean is worse than")
    assert tell_differences(standing_of(10), "mean").startswith(
        "After Holm's correction for 2 pairs"
    )


def test_all_rivals_but_a_few_are_named_by_the_few():
    standing = standing_of(10, methods=("lacunet", "knn", "mean", "gmm"))
    values = standing.scores.values.copy()
    values[::2, 3] = 2.0
    scores = Scores(standing.scores.datasets, standing.scores.methods, values)
    ranks = rank_methods(scores, higher_is_better=True)
    mixed = Standing(scores, ranks, True, "accuracy", True)
    assert tell_differences(mixed, "lacunet").endswith("all rivals but gmm.")


# --- within one data set


def test_the_corrected_t_test_marks_what_differs_within_a_set(slice_of):
    values = {"lacunet": (0.8, 0.7), "hgb": (0.5, 0.7), "knn": (0.81, 0.9)}
    part = slice_of(values, sets=("bands", "horse"), n_folds=3)
    sheet = make_within_sheet(part, "lacunet")
    lines = {line.title: line.entries for line in sheet.lines}
    wins, level = lines["HistGradientBoosting"]
    assert (wins.text[-1], wins.tone) == ("▲", "better")
    assert (level.text[-1] in "▲▼", level.tone) == (False, "")
    assert lines["k-nn"][1].text[-1] == "▼"
    assert "4 tests, not corrected" in sheet.caption
    assert "2 marked" in sheet.caption


def test_rows_of_training_and_test_are_those_of_the_cells(slice_of, monkeypatch):
    asked = []

    def ask(differences, *, n_train, n_test):
        asked.append((len(differences), n_train, n_test))
        return real(differences, n_train=n_train, n_test=n_test)

    real = _comparisons.corrected_t
    monkeypatch.setattr(_comparisons, "corrected_t", ask)
    values = {"lacunet": (0.8,), "hgb": (0.5,)}
    make_within_sheet(slice_of(values, sets=("bands",), n_folds=3), "lacunet")
    unknown = slice_of(values, sets=("bands",), n_folds=3, params={})
    make_within_sheet(unknown, "lacunet")
    assert asked == [(3, 80, 20), (3, 4, 1)]


def test_one_split_is_no_ground_for_a_test(slice_of):
    values = {"lacunet": (0.8,), "hgb": (0.5,)}
    assert (
        make_within_sheet(slice_of(values, sets=("bands",), n_folds=1), "hgb") is None
    )
    assert make_within_sheet(slice_of(values, sets=("bands",)), "gmm") is None


def test_seeds_of_one_split_are_no_cross_validation(slice_of):
    values = {"lacunet": (0.02,), "knn": (0.03,)}
    part = slice_of(values, experiment="table-1", metric="mse", sets=("mnist",))
    assert make_within_sheet(part, "lacunet") is None
