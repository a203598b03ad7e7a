import pytest
from reproduction.report._folder import Folder
from reproduction.report._summary import make_summary

VALUES = {
    "knn": (0.5, 0.8, 0.72),
    "mean": (0.45, 0.75, 0.7),
    "paper": (0.6, 0.78, 0.71),
    "lacunet": (0.65, 0.9, 0.75),
    "hgb": (0.7, 0.85, 0.74),
}
SETS_6 = ("australian", "bank", "heart")


@pytest.fixture
def tell(tmp_path, verdicts):
    """Return the summary of cells: a warning or none, and statements by their lead."""

    def make(cells):
        *warning, points = make_summary(Folder(tmp_path, tuple(cells), {}), verdicts)
        return (
            " ".join(block.text for block in warning),
            {point.lead: point.text for point in points.points},
        )

    return make


def test_first_place_and_the_papers_place_are_told(tell, cells_of):
    warning, told = tell(cells_of(VALUES, n_folds=1))
    assert warning == ""
    text = told["Table 4 (protocol paper)"]
    # lacunet: 2, 1, 1; hgb: 1, 2, 2; paper: 3, 4, 4; knn: 4, 3, 3; mean: 5, 5, 5.
    assert text.startswith(
        "lacunet has the best mean rank of 5 methods over 3 data sets (1.33), before "
        "HistGradientBoosting (1.67)."
    )
    assert "method is 4th (3.67), before mean, but not before k-nn." in text


def test_rivals_that_win_are_named_with_where_they_win(tell, cells_of):
    _, told = tell(cells_of(VALUES, n_folds=1))
    text = told["Table 4 (protocol paper)"]
    assert "lacunet on horse and pima; HistGradientBoosting on bands" in text


def test_the_distance_to_what_the_paper_reports_is_told(tell, cells_of):
    _, told = tell(cells_of(VALUES, n_folds=1))
    # 0.6 - 0.598, 0.78 - 0.864 and 0.71 - 0.747 on bands, horse and pima.
    assert (
        "reports of it in 1 of 3 rows, on average −0.040."
        in told["Table 4 (protocol paper)"]
    )


def test_ours_is_placed_where_it_is_not_first(tell, cells_of):
    values = {**VALUES, "lacunet": (0.1, 0.1, 0.1)}
    _, told = tell(cells_of(values, n_folds=1))
    assert "; lacunet is 5th (5.00)." in told["Table 4 (protocol paper)"]


def test_equal_methods_share_the_first_place(tell, cells_of):
    values = {"knn": (0.5, 0.6, 0.7), "hgb": (0.5, 0.6, 0.7), "mean": (0.1, 0.1, 0.1)}
    _, told = tell(cells_of(values, n_folds=1))
    text = told["Table 4 (protocol paper)"]
    assert text.startswith("HistGradientBoosting and k-nn share the best mean rank")
    assert "The paper's method has no mean rank here." in text


def test_what_is_not_proven_is_not_told_as_proven(tell, cells_of):
    _, told = tell(cells_of(VALUES, n_folds=1))
    text = told["Table 4 (protocol paper)"]
    assert "With 3 data sets no difference between lacunet and 4 rivals can be" in text
    mixed = {
        "lacunet": (0.1, 0.9, 0.5),
        "knn": (0.9, 0.1, 0.4),
        "mean": (0.5, 0.5, 0.6),
    }
    _, told = tell(cells_of(mixed, n_folds=1))
    text = told["Table 4 (protocol paper)"]
    assert "Friedman's test does not tell the methods apart (p = " in text


def test_stand_ins_are_no_evidence(tell, cells_of):
    cells = cells_of({"knn": (0.5,)}, sets=("iris",), rate=0.2, protocol="quick")
    warning, told = tell(cells)
    assert "stand-in data" in warning
    assert "Table 4 (protocol quick, stand-in data)" in told


def test_a_first_look_is_no_comparison(tell, cells_of):
    warning, _ = tell(cells_of({"knn": (0.5, 0.5, 0.5)}, protocol="quick"))
    assert "Nothing here is measured by the paper's protocol" in warning


def test_both_tables_together_are_told(tell, cells_of):
    other = {"experiment": "table-6", "sets": SETS_6, "rate": 0.5}
    _, told = tell([*cells_of(VALUES), *cells_of(VALUES, **other)])
    assert "over 6 data sets" in told["Tables 4 and 6 together (protocol paper)"]


def test_claims_are_counted(tell, cells_of):
    _, told = tell(cells_of(VALUES))
    assert "Of 4 claims" in told["Claims"]
    assert "confirm 1, deny 1, and can't decide 2." in told["Claims"]


def test_gaps_are_told(tell, cells_of, make_cell):
    cells = [
        *cells_of(VALUES),
        make_cell(method="gmm", value=None),
        make_cell(method="gmm", fold=1, commit="fedcba9876543210-dirty"),
        make_cell(method="gmm", fold=2, versions={"lacunet": "0.2.0"}),
    ]
    _, told = tell(cells)
    text = told["What is missing"]
    assert "Not run yet: Table 1, Table 2, Table 6, Figure 2," in text
    assert "Table 4 (protocol paper) is not finished: " in text
    assert "1 cell without a value, of gmm;" in text
    assert "The cells are of 2 commits and several versions of lacunet." in text


def test_of_errors_the_papers_figure_is_told(tell, cells_of):
    mnist = {"experiment": "table-1", "metric": "mse", "sets": ("mnist",), "n_folds": 1}
    _, told = tell(cells_of({"paper": (0.02,), "knn": (0.03,)}, **mnist))
    text = told["Table 1 (protocol paper)"]
    assert text.startswith(
        "paper (as published) has the best figure of 2 methods, before k-nn. The "
        "paper's method is 1st, before k-nn."
    )
    assert "The paper reports 0.01056 for its method, here it has 0.02000." in text


def test_of_errors_it_is_told_by_which_ours_is_lower(tell, cells_of):
    def mnist(metric, **values):
        row = {"experiment": "table-1", "sets": ("mnist",), "n_folds": 1}
        each = {method: (value,) for method, value in values.items()}
        return cells_of(each, metric=metric, **row)

    _, told = tell(
        [
            *mnist("mse", lacunet=0.02, knn=0.03, mean=0.04),
            *mnist("mse_inside", lacunet=0.02, knn=0.02, mean=0.01),
            *mnist("mse_outside", lacunet=0.002, knn=0.001, mean=0.003),
        ]
    )
    assert (
        "The error of lacunet: total lower than of k-nn and mean; inside not lower "
        "than of k-nn and mean; outside lower than of mean, not lower than of k-nn. "
        "Within 10% of it, which may be chance with 1 seed: inside of k-nn."
        in told["Table 1 (protocol paper)"]
    )
