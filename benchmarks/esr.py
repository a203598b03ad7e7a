"""Epileptic seizure recognition with values removed, split by recordings or by rows."""

from collections.abc import Sequence

from reproduction.datasets import load_dataset
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

from benchmarks.cells import Comparison, Split
from benchmarks.uci import remove

PERCENTAGES = (25, 50, 75, 90)
SETS = tuple(
    f"esr-{kind}-{percentage}"
    for kind in ("recordings", "rows")
    for percentage in PERCENTAGES
)
METHODS = ("lacunet", "lacunet-diag3", "mlp", "hgb")
TEST_SHARE = 0.2
QUICK_ROWS = 500


def comparisons(names: Sequence[str], *, quick: bool = False) -> list[Comparison]:
    return [
        Comparison(name, 1, lambda name=name: [make_split(name, quick=quick)])
        for name in names
    ]


def make_split(name: str, *, quick: bool) -> Split:
    _, kind, percentage = name.split("-")
    data = load_dataset("esr")
    kept = slice(QUICK_ROWS if quick else None)
    X, y = remove(data.X, int(percentage) / 100)[kept], data.y[kept]
    if kind == "recordings":
        splitter = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=0)
        rows = next(splitter.split(X, y, data.groups[kept]))
    else:
        splitter = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=0)
        rows = next(splitter.split(X, y))
    return Split(X, y, *rows)
