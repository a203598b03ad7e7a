"""Tests over data sets and within them, as sheets and sentences."""

from collections.abc import Sequence
from statistics import fmean

from reproduction.experiments import PROTOCOLS
from reproduction.report._blocks import Column, Entry, Line, Lines, Sheet, Tone
from reproduction.report._slices import OURS, PAPER, Row, Slice, name_method, name_row
from reproduction.report._standing import Standing
from reproduction.report._words import (
    DASH,
    show_count,
    show_difference,
    show_list,
    show_p,
    show_small,
    tell_p,
)
from reproduction.statistics import (
    Cell,
    CorrectedT,
    Pair,
    PairTests,
    WinCount,
    compare_pairs,
    corrected_t,
    count_wins,
    friedman,
    paired_differences,
)

ALPHA = 0.05
# With fewer data sets no pair of many could come out different.
FEWEST_FOR_ALL_PAIRS = 11

BETTER, WORSE = "\N{BLACK UP-POINTING TRIANGLE}", "\N{BLACK DOWN-POINTING TRIANGLE}"


# --- over data sets


def friedman_p(standing: Standing) -> float | None:
    """Return the p-value of Friedman's test, None if there is nothing to test."""
    if not standing.independent or len(standing.scores.methods) < 3:
        return None
    return friedman(standing.scores).f_p


def tell_friedman(standing: Standing) -> str:
    """Return what Friedman's test says of a standing.

    Parameters
    ----------
    standing : Standing

    Returns
    -------
    str
    """
    if not standing.independent:
        return "All is of one data set, so there is no test over data sets."
    p = friedman_p(standing)
    if p is None:
        return "Two methods only: Friedman's test needs three."
    told = (
        f"Friedman's test over {standing.over} and {len(standing.scores.methods)} "
        f"methods: {tell_p(p)} (Iman and Davenport's F)"
    )
    if p > ALPHA:
        return (
            f"{told}. It does not tell the methods apart, so single pairs below are "
            f"for orientation only."
        )
    return f"{told}: the methods differ."


def compare_all(standing: Standing) -> PairTests | None:
    """Compare all pairs of methods, if there are data sets enough for that.

    Parameters
    ----------
    standing : Standing

    Returns
    -------
    PairTests or None
    """
    if not standing.independent:
        return None
    if len(standing.scores.datasets) < FEWEST_FOR_ALL_PAIRS:
        return None
    tests = compare_pairs(standing.scores, alpha=ALPHA)
    return tests if tests.enough else None


def compare_with(standing: Standing, control: str) -> PairTests:
    """Compare one method with all others."""
    return compare_pairs(standing.scores, control=control, alpha=ALPHA)


def tell_power(tests: PairTests) -> str:
    """Return what the number of data sets allows.

    Parameters
    ----------
    tests : PairTests
        Of one control.

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.report._comparisons import tell_power
    >>> from reproduction.statistics import Scores, compare_pairs
    >>> tests = compare_pairs(Scores(["p", "q"], ["a", "b"], [[1, 2], [2, 3]]))
    >>> print(tell_power(tests))
    With 2 data sets no p-value can be below 0.50, and Holm's correction for 1 pair
    asks for 0.050: no difference can be proven here, however large it is.
    """
    n_pairs = len(tests.pairs)
    told = (
        f"With {show_count(tests.n_datasets, 'data set')} no p-value can be below "
        f"{show_small(tests.smallest_p)}, and Holm's correction for "
        f"{show_count(n_pairs, 'pair')} asks for {show_small(tests.alpha / n_pairs)}: "
    )
    if tests.enough:
        return f"{told}differences that go the same way everywhere can be proven."
    return f"{told}no difference can be proven here, however large it is."


def make_rivals_sheet(standing: Standing, control: str) -> Sheet:
    """Return a method against each rival, over data sets.

    Parameters
    ----------
    standing : Standing
    control : str

    Returns
    -------
    Sheet
    """
    tests = compare_with(standing, control)
    wins = count_wins(
        standing.scores, control, higher_is_better=standing.higher_is_better
    )
    pairs = {pair.second: pair for pair in tests.pairs}
    lines = [_rival_line(standing, won, pairs[won.rival]) for won in wins]
    ranks = dict(standing.ranks)
    by_rank = sorted(
        zip(wins, lines, strict=True), key=lambda each: ranks[each[0].rival]
    )
    titles = ("wins", "losses", "ties", "median difference", "p", "p after Holm", "")
    return Sheet(
        corner=f"{name_method(control)} against",
        columns=tuple(map(Column, titles)),
        groups=(Lines(tuple(line for _, line in by_rank)),),
        caption=(
            f"Data sets on which {name_method(control)} is better or worse, the median "
            f"of its score minus the rival's, and Wilcoxon's signed-rank test. "
            f"{tell_power(tests)}"
        ),
    )


def _rival_line(standing: Standing, won: WinCount, pair: Pair) -> Line:
    gain = pair.median_difference * (1 if standing.higher_is_better else -1)
    tone: Tone = "better" if gain > 0 else "worse" if gain < 0 else ""
    return Line(
        name_method(won.rival),
        (
            Entry(str(won.wins)),
            Entry(str(won.losses)),
            Entry(str(won.ties)),
            Entry(show_difference(pair.median_difference, standing.metric), tone=tone),
            Entry(show_p(pair.p)),
            Entry(show_p(pair.p_holm), strong=pair.different),
            Entry("different" if pair.different else "not told apart"),
        ),
        accent=won.rival in (OURS, PAPER),
    )


def tell_differences(standing: Standing, control: str) -> str:
    """Return which rivals a method differs from, as a sentence.

    Where all pairs are compared, it is among all of them.
    """
    tests = compare_all(standing) or compare_with(standing, control)
    pairs = [_seen_from(pair, control) for pair in tests.pairs if control in pair[:2]]
    sign = 1 if standing.higher_is_better else -1
    different = [pair for pair in pairs if pair.different]
    name = name_method(control)
    if not tests.enough:
        count = show_count(tests.n_datasets, "data set")
        return (
            f"With {count} no difference between {name} and {len(pairs)} rivals "
            f"can be proven."
        )
    corrected = f"After Holm's correction for {show_count(len(tests.pairs), 'pair')}"
    if not different:
        return f"{corrected} {name} can't be told apart from any rival."
    told = [
        f"{word} {_name_rivals(standing, some, pairs)}"
        for word, some in (
            ("better than", [p for p in different if sign * p.median_difference > 0]),
            ("worse than", [p for p in different if sign * p.median_difference < 0]),
        )
        if some
    ]
    return f"{corrected} {name} is {' and '.join(told)}."


def _seen_from(pair: Pair, control: str) -> Pair:
    """Return a pair with the control first."""
    if pair.first == control:
        return pair
    return pair._replace(
        first=pair.second,
        second=pair.first,
        median_difference=-pair.median_difference,
    )


def _name_rivals(standing: Standing, some: Sequence[Pair], pairs: list[Pair]) -> str:
    """Return rivals from the best to the worst, or all but a few."""
    chosen = {pair.second for pair in some}
    order = [key for key, _ in standing.ranks]
    others = {pair.second for pair in pairs} - chosen
    if not others:
        return f"all {len(chosen)} rivals"
    if len(others) < len(chosen):
        return f"all rivals but {show_list(_names(order, others))}"
    return show_list(_names(order, chosen))


def _names(order: Sequence[str], chosen: set[str]) -> list[str]:
    return [name_method(key) for key in order if key in chosen]


# --- within one data set


def make_within_sheet(part: Slice, control: str) -> Sheet | None:
    """Return a method against each rival within each data set.

    Parameters
    ----------
    part : Slice
    control : str

    Returns
    -------
    Sheet or None
        None without folds that both were run on.
    """
    if not part.experiment.cross_validated or control not in part.methods:
        return None
    rivals = [method for method in part.methods if method != control]
    found = {
        rival: [_test_within(part, row, control, rival) for row in part.rows]
        for rival in rivals
    }
    tests = [test for tests in found.values() for test in tests if test is not None]
    if not tests:
        return None
    lines = [
        Line(
            name_method(rival),
            tuple(_within_entry(part, test) for test in of_rival),
            accent=rival in (OURS, PAPER),
        )
        for rival, of_rival in found.items()
        if any(of_rival)
    ]
    return Sheet(
        corner=f"{name_method(control)} minus",
        columns=tuple(Column(name_row(part.experiment, row)) for row in part.rows),
        groups=(Lines(tuple(lines)),),
        caption=_tell_within(part, name_method(control), tests),
    )


def _test_within(part: Slice, row: Row, control: str, rival: str) -> CorrectedT | None:
    cells = [
        cell
        for cell in part.cells
        if (cell.dataset, cell.rate) == row
        and cell.metric == part.metric
        and cell.method in (control, rival)
        and cell.value is not None
    ]
    splits = [
        {(cell.seed, cell.fold) for cell in cells if cell.method == method}
        for method in (control, rival)
    ]
    if len(splits[0] & splits[1]) < 2:
        return None
    differences = paired_differences(cells, control, rival, metric=part.metric)
    n_train, n_test = _sizes(part, cells)
    return corrected_t(differences, n_train=n_train, n_test=n_test)


def _sizes(part: Slice, cells: Sequence[Cell]) -> tuple[float, float]:
    """Return how many rows are trained and tested on, or what stands for them."""
    known = [
        (float(cell.params["n_train"]), float(cell.params["n_test"]))
        for cell in cells
        if {"n_train", "n_test"} <= cell.params.keys()
    ]
    if known:
        return fmean(train for train, _ in known), fmean(test for _, test in known)
    n_folds = max(cell.fold for cell in cells) + 1
    if part.protocol in PROTOCOLS:
        n_folds = max(n_folds, PROTOCOLS[part.protocol].n_folds)
    return max(n_folds - 1, 1), 1


def _within_entry(part: Slice, test: CorrectedT | None) -> Entry:
    if test is None:
        return Entry(DASH)
    shown = show_difference(test.mean, part.metric)
    if test.p > ALPHA:
        return Entry(shown)
    is_better = (test.mean > 0) == part.experiment.higher_is_better
    arrow = BETTER if is_better else WORSE
    return Entry(f"{shown} {arrow}", tone="better" if is_better else "worse")


def _tell_within(part: Slice, control: str, tests: Sequence[CorrectedT]) -> str:
    n_marked = sum(test.p <= ALPHA for test in tests)
    return (
        f"Mean difference over folds. {BETTER} {control} is better, {WORSE} worse, by "
        f"the corrected resampled t-test (p ≤ {ALPHA}) within one data set. "
        f"{show_count(len(tests), 'test')}, not corrected for their number: {n_marked} "
        f"marked, where chance alone would mark about {ALPHA * len(tests):.0f}."
    )
