import numpy as np
import pytest
from reproduction.statistics import Scores, mean_table, scores_by_dataset


@pytest.fixture
def table_of(make_cell):
    """Make a table from values by method and by data set, with a rate or without."""

    def table(values):
        cells = [
            make_cell(dataset=name, rate=rate, method=method, value=value, **why(value))
            for method, by_set in values.items()
            for (name, rate), value in by_set.items()
        ]
        return mean_table(cells, "accuracy")

    def why(value):
        return {"params": {"why": "no rows"}} if value is None else {}

    return table


def test_rates_of_a_data_set_are_averaged(table_of):
    table = table_of({"m": {("a", 0.1): 1, ("a", 0.5): 2, ("b", 0.1): 7}})
    scores = scores_by_dataset(table)
    assert scores.datasets == ("a", "b")
    assert scores.values.tolist() == [[1.5], [7]]


def test_near_identical_sets_count_once_and_each_as_much_as_the_other(table_of):
    values = {("pima", 0.1): 1, ("pima", 0.5): 3, ("diabetes", 0.1): 6, ("heart", 0): 9}
    table = table_of({"m": values})
    scores = scores_by_dataset(table)
    assert scores.datasets == ("diabetes+pima", "heart")
    assert scores.values.tolist() == [[4], [9]]  # (6 + (1 + 3) / 2) / 2
    apart = scores_by_dataset(table, same=())
    assert apart.datasets == ("diabetes", "heart", "pima")


def test_breast_cancer_and_winconsin_count_once_too(table_of):
    table = table_of({"m": {("breast_cancer", None): 1, ("winconsin", None): 3}})
    assert scores_by_dataset(table).values.tolist() == [[2]]


def test_a_group_with_one_member_in_the_table_is_that_member(table_of):
    table = table_of({"m": {("pima", None): 1, ("a", None): 2}})
    assert scores_by_dataset(table, same=[["pima", "x"]]).datasets == ("a", "pima")


GAPS = {
    "ce": {("a", None): 1, ("b", None): None, ("c", None): None},
    "m": {("a", None): 4, ("b", None): 5, ("c", None): None},
}


def test_methods_with_a_gap_are_left_out_by_default(table_of):
    scores = scores_by_dataset(table_of(GAPS))
    assert (scores.methods, scores.datasets) == (("m",), ("a", "b"))
    assert scores.left_out == ("ce", "c")
    assert scores.values.tolist() == [[4], [5]]


def test_data_sets_with_a_gap_can_be_left_out_instead(table_of):
    scores = scores_by_dataset(table_of(GAPS), incomplete="datasets")
    assert (scores.methods, scores.datasets) == (("ce", "m"), ("a",))
    assert scores.left_out == ("b", "c")
    assert scores.values.tolist() == [[1, 4]]


def test_a_mean_over_fewer_splits_than_others_have_is_a_gap(make_cell):
    cells = [make_cell(fold=fold, method=m) for m in "ab" for fold in range(3)]
    scores = scores_by_dataset(mean_table(cells[:-1], "accuracy"))
    assert (scores.methods, scores.left_out) == (("a",), ("b",))


def test_nothing_without_a_gap_is_an_error(table_of):
    table = table_of({"m": {("a", None): 1}, "k": {("b", None): 1}})
    with pytest.raises(ValueError, match="gaps in all methods"):
        scores_by_dataset(table)
    with pytest.raises(ValueError, match="gaps in all datasets"):
        scores_by_dataset(table, incomplete="datasets")


def test_numbers_that_differ_by_rounding_are_equal():
    assert 0.1 + 0.2 != 0.3
    values = [[0.1 + 0.2, 0.3], [1e6 * (0.1 + 0.2), 3e5], [0, 0], [1, 1 + 1e-10]]
    scores = Scores(list("abcd"), ["x", "y"], values)
    equal = scores.values[:, 0] == scores.values[:, 1]
    assert equal.tolist() == [True, True, True, False]


def test_a_small_number_beside_large_ones_in_other_rows_keeps_its_digits():
    scores = Scores(["a", "b"], ["x", "y"], [[1e9, 2e9], [1e-9, 1.00001e-9]])
    assert scores.values[1].tolist() == [1e-9, 1.00001e-9]


def test_differences_are_first_minus_second_and_rounded_alike():
    scores = Scores(["a", "b"], ["x", "y"], [[0.8, 0.7], [0.9, 0.8]])
    assert 0.8 - 0.7 != 0.9 - 0.8
    assert scores.differences("x", "y").tolist() == [0.1, 0.1]
    assert scores.differences("y", "x").tolist() == [-0.1, -0.1]


def test_values_are_a_copy_that_can_not_be_changed():
    values = np.ones((1, 2))
    scores = Scores(["a"], ["x", "y"], values)
    values[:] = 5
    assert scores.values.tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((["a", "a"], ["x"], [[1], [2]]), "datasets=.*expected different names"),
        ((["a"], [], np.ones((1, 0))), "methods=.*at least one"),
        (("ab", ["x"], [[1], [2]]), "datasets='ab'"),
        ((["a"], ["x", "y"], [[1], [2]]), r"shape \(2, 1\), but expected \(1, 2\)"),
        ((["a"], ["x"], [[np.nan]]), "not finite"),
    ],
)
def test_scores_with_wrong_names_or_gaps_are_refused(args, message):
    with pytest.raises(ValueError, match=message):
        Scores(*args)


def test_an_unknown_method_is_refused_with_the_known_ones():
    scores = Scores(["a"], ["x", "y"], [[1, 2]], left_out=["ce"])
    with pytest.raises(ValueError, match=r"'z', but .* x, y \(left out: ce\)"):
        scores.differences("x", "z")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"same": ["pima", "diabetes"]}, TypeError, "expected groups"),
        ({"same": [["a", "b"], ["a", "c"]]}, ValueError, "in one group only"),
        ({"incomplete": "rows"}, ValueError, "'methods' or 'datasets'"),
    ],
)
def test_wrong_options_are_refused(table_of, options, error, message):
    table = table_of({"m": {("a", None): 1}})
    with pytest.raises(error, match=message):
        scores_by_dataset(table, **options)
