from reproduction.report._patches import tell_patches
from reproduction.report._standing import find_standing
from reproduction.report._tables import show_slice

MNIST = {"experiment": "table-1", "metric": "mse", "n_folds": 1}
# The paper reports 0.01189 and 0.01056, of patches of 13 by 13.
VALUES = {"knn": (0.0119, 0.024), "paper": (0.0105, 0.021)}


def test_the_patch_that_fits_is_named(slice_of):
    part = slice_of(VALUES, sets=("mnist-10", "mnist"), **MNIST)
    told = tell_patches(part)
    assert told.startswith("What the paper reports is nearest to mnist, patch 10 × 10:")
    assert "a factor of 1.00 from" in told
    assert "2.00 with mnist, patch 13 × 13" in told


def test_patches_that_lack_methods_are_not_compared(slice_of):
    values = {"knn": (None, 0.024), "paper": (0.0105, 0.021)}
    assert tell_patches(slice_of(values, sets=("mnist-10", "mnist"), **MNIST)) == ""
    assert tell_patches(slice_of(VALUES, sets=("mnist", "mnist-5"), **MNIST)) != ""
    tables = {"knn": (0.5, 0.8, 0.7), "paper": (0.6, 0.7, 0.8)}
    assert tell_patches(slice_of(tables)) == ""


def test_ranks_are_those_of_the_papers_own_patch(slice_of):
    values = {"knn": (0.01, 0.02), "paper": (0.02, 0.03), "lacunet": (None, 0.01)}
    part = slice_of(values, sets=("mnist-5", "mnist"), **MNIST)
    standing = find_standing(part)
    assert [key for key, _ in standing.ranks] == ["lacunet", "knn", "paper"]
    first, second = show_slice(part).sheets
    titles = [column.title for sheet in (first, second) for column in sheet.columns]
    assert "mean rank" not in titles
