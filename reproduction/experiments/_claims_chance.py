"""Is one method better than others beyond chance? The same answer for all claims."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from reproduction.experiments._claims_record import (
    DOES_NOT,
    HOLDS,
    OPEN,
    LackingError,
    Outcome,
)
from reproduction.experiments._claims_words import (
    join_titles,
    join_words,
    tell_count,
    title_of,
)
from reproduction.experiments._protocols import N_FOLDS
from reproduction.statistics import (
    Cell,
    PairTests,
    Scores,
    compare_pairs,
    corrected_t,
    holm,
    mean_table,
    paired_differences,
    scores_by_dataset,
)

ALPHA = 0.05
# Of errors that were measured once. On the stand-ins another seed changes the ratio of
# two errors by 5 to 7 per cent, in standard deviation.
MARGIN = 0.10
FEWEST_SEEDS = 3  # for a test in place of the margin


class Comparison(NamedTuple):
    """A method against a rival.

    Attributes
    ----------
    rival : str
    gain : float
        Positive if the method is better.
    p : float
        Corrected for the number of rivals; NaN without a test.
    side : {1, 0, -1}
        Whether the method is better or worse beyond chance.
    """

    rival: str
    gain: float
    p: float
    side: int


@dataclass(frozen=True, eq=False)
class Common:
    """What a method and its rivals have in common.

    Attributes
    ----------
    cells : tuple of Cell
        On the splits that all of them have values on.
    ours : str
    rivals : tuple of str
        Those that have any.
    missing : tuple of str
        Those that have none.
    """

    cells: tuple[Cell, ...]
    ours: str
    rivals: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The method and its rivals."""
        return (self.ours, *self.rivals)

    @property
    def n_splits(self) -> int:
        """Number of folds and seeds, over all rows."""
        return len(self.cells) // len(self.methods)

    def scores(self) -> Scores:
        """Return one number for each data set and method.

        Returns
        -------
        Scores
        """
        return scores_by_dataset(mean_table(self.cells, self.cells[0].metric))

    def means(self) -> dict[str, float]:
        """Return the mean of each method over the data sets.

        Returns
        -------
        dict of str to float
        """
        return means_of(self.scores(), self.methods)


def find_common(cells: Iterable[Cell], ours: str, rivals: Sequence[str]) -> Common:
    """Choose what methods can be compared on.

    Parameters
    ----------
    cells : iterable of Cell
        With values, of one metric.
    ours : str
    rivals : sequence of str

    Returns
    -------
    Common
    """
    splits: dict[str, dict[object, Cell]] = defaultdict(dict)
    for cell in cells:
        place = (cell.dataset, cell.rate, cell.seed, cell.fold)
        splits[cell.method][place] = cell
    present = [key for key in rivals if key in splits]
    if ours not in splits or not present:
        wanted = rivals if ours in splits else [ours]
        msg = f"no results of {join_titles(wanted)}"
        raise LackingError(msg, partial=bool(splits))
    kept = [splits[key] for key in (ours, *present)]
    shared = set.intersection(*map(set, kept))
    if not shared:
        msg = f"no results of {join_titles([ours, *present])} on the same rows"
        raise LackingError(msg, partial=True)
    return Common(
        tuple(each[place] for each in kept for place in each if place in shared),
        ours,
        tuple(present),
        tuple(key for key in rivals if key not in splits),
    )


def means_of(scores: Scores, methods: Sequence[str]) -> dict[str, float]:
    """Return the mean of some methods over the data sets.

    Parameters
    ----------
    scores : Scores
    methods : sequence of str

    Returns
    -------
    dict of str to float
    """
    return {key: float(scores.values[:, scores.column(key)].mean()) for key in methods}


def average_rates(cells: Iterable[Cell]) -> list[Cell]:
    """Average cells over rates, on the splits that all rates have.

    Parameters
    ----------
    cells : iterable of Cell
        Of one data set, whatever the rates.

    Returns
    -------
    list of Cell
        Without a rate.
    """
    groups: dict[object, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.method, cell.seed, cell.fold].append(cell)
    n_rates = len({cell.rate for group in groups.values() for cell in group})
    return [
        replace(group[0], rate=None, value=fmean(_values(group)))
        for group in groups.values()
        if len(group) == n_rates
    ]


def _values(cells: Iterable[Cell]) -> list[float]:
    return [cell.value for cell in cells if cell.value is not None]


# --- three measures of chance


def over_rows(
    scores: Scores, pairs: Sequence[tuple[str, str]], *, higher_is_better: bool
) -> list[Comparison]:
    """Compare by Wilcoxon's test over data sets, or whatever the rows are, with Holm.

    Parameters
    ----------
    scores : Scores
    pairs : sequence of (str, str)
        Method and rival.
    higher_is_better : bool

    Returns
    -------
    list of Comparison
    """
    sign = 1 if higher_is_better else -1
    gains = [sign * scores.differences(*pair) for pair in pairs]
    p_values = holm([_p_over_rows(scores, pair) for pair in pairs])
    return [
        Comparison(rival, float(gain.mean()), float(p), _side(np.median(gain), p))
        for (_, rival), gain, p in zip(pairs, gains, p_values, strict=True)
    ]


def _p_over_rows(scores: Scores, pair: tuple[str, str]) -> float:
    columns = [scores.column(key) for key in pair]
    two = Scores(scores.datasets, pair, scores.values[:, columns])
    return compare_pairs(two).pairs[0].p


def over_splits(
    common: Common, *, higher_is_better: bool, allowance: float = 0.0
) -> list[Comparison]:
    """Compare by the corrected t-test over folds and seeds, with Holm.

    Parameters
    ----------
    common : Common
        Of one row.
    higher_is_better : bool
    allowance : float, default=0.0
        So much is given to the method beforehand.

    Returns
    -------
    list of Comparison
        Without p-values if there is one split alone: nothing tells the chance.
    """
    sign = 1 if higher_is_better else -1
    metric = common.cells[0].metric
    gains = [
        sign * paired_differences(common.cells, common.ours, rival, metric=metric)
        for rival in common.rivals
    ]
    p_values = [_p_over_splits(gain + allowance) for gain in gains]
    corrected = p_values if np.isnan(p_values).any() else holm(p_values)
    return [
        Comparison(
            rival, float(gain.mean()), float(p), _side(gain.mean() + allowance, p)
        )
        for rival, gain, p in zip(common.rivals, gains, corrected, strict=True)
    ]


def _p_over_splits(gain: np.ndarray) -> float:
    if len(gain) < 2:
        return math.nan
    return corrected_t(gain, n_train=N_FOLDS - 1, n_test=1).p


def by_margin(means: Mapping[str, float], ours: str) -> list[Comparison]:
    """Compare errors that were measured once: by a tenth.

    Parameters
    ----------
    means : mapping of str to float
    ours : str

    Returns
    -------
    list of Comparison
        Without p-values.
    """
    rivals = {key: value for key, value in means.items() if key != ours}
    return [
        Comparison(
            rival, error - means[ours], math.nan, _side_of_ratio(means[ours] / error)
        )
        for rival, error in rivals.items()
    ]


def _side(gain: float, p: float) -> int:
    """Return the sign of a gain that is beyond chance; NaN is no such p-value."""
    return int(np.sign(gain)) if p <= ALPHA else 0


def _side_of_ratio(ratio: float) -> int:
    return int(ratio <= 1 - MARGIN) - int(ratio >= 1 + MARGIN)


# --- what follows


def require(missing: Sequence[str]) -> None:
    """Refuse to go on without the results of some methods.

    Parameters
    ----------
    missing : sequence of str
    """
    if missing:
        msg = f"no results of {join_titles(missing)}"
        raise LackingError(msg, partial=True)


def settle(comparisons: Sequence[Comparison], missing: Sequence[str] = ()) -> Outcome:
    """Return what comparisons say of a method that is said to be better than all.

    Parameters
    ----------
    comparisons : sequence of Comparison
    missing : sequence of str, default=()
        Rivals without results. A single better rival is enough to deny, but to agree
        takes all of them.

    Returns
    -------
    str
    """
    if any(each.side < 0 for each in comparisons):
        return DOES_NOT
    require(missing)
    return HOLDS if all(each.side > 0 for each in comparisons) else OPEN


def tell_comparisons(comparisons: Sequence[Comparison], ours: str = "paper") -> str:
    """Return comparisons in words.

    Parameters
    ----------
    comparisons : sequence of Comparison
    ours : str, default="paper"

    Returns
    -------
    str

    Examples
    --------
    >>> import math
    >>> from reproduction.experiments._claims_chance import Comparison, tell_comparisons
    >>> knn, mean = Comparison("knn", 0.1, 0.02, 1), Comparison("mean", 0.01, 0.4, 0)
    >>> tell_comparisons([knn, mean])
    'paper is better than k-nn (p = 0.02), within chance of mean (p = 0.4).'
    """
    kinds = ((1, "better than"), (-1, "worse than"), (0, "within chance of"))
    parts = []
    for side, words in kinds:
        rivals = [_tell_rival(each) for each in comparisons if each.side == side]
        if rivals:
            parts.append(f"{words} {join_words(rivals)}")
    return f"{title_of(ours)} is {', '.join(parts)}."


def _tell_rival(each: Comparison) -> str:
    p = "" if math.isnan(each.p) else f" (p = {each.p:.2g})"
    return f"{title_of(each.rival)}{p}"


def are_enough(n_rows: int, n_pairs: int = 1) -> bool:
    """Return whether so many rows can show anything beyond chance, by Wilcoxon's test.

    Parameters
    ----------
    n_rows : int
    n_pairs : int, default=1
        Number of comparisons.

    Returns
    -------
    bool

    Examples
    --------
    >>> from reproduction.experiments._claims_chance import are_enough
    >>> are_enough(5), are_enough(6), are_enough(6, 2)
    (False, True, False)
    """
    return PairTests((), n_rows, ALPHA).smallest_p * n_pairs <= ALPHA


def tell_power(n_rows: int, n_pairs: int, thing: str) -> str:
    """Say so if there are too few rows for anything to be beyond chance.

    Parameters
    ----------
    n_rows, n_pairs : int
    thing : str
        What a row is.

    Returns
    -------
    str
        Empty if there are enough.

    Examples
    --------
    >>> from reproduction.experiments._claims_chance import tell_power
    >>> tell_power(3, 1, "data set")
    '3 data sets are too few for p = 0.05.'
    """
    if are_enough(n_rows, n_pairs):
        return ""
    verb = "are" if n_rows > 1 else "is"
    return f"{tell_count(n_rows, thing)} {verb} too few for p = {ALPHA}."
