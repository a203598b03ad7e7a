"""The sections of a comparison as blocks, and the sentences in them."""

from collections.abc import Collection

from lacunet._text import show_percent
from lacunet.evaluation import Comparison, MethodResult, Metric, Summary
from lacunet.evaluation._statistics import OURS
from lacunet.evaluation._words import choose_format, show_score
from lacunet.report._blocks import (
    Block,
    Column,
    Entry,
    Fold,
    Line,
    Lines,
    Picture,
    Pictures,
    Point,
    Points,
    Section,
    Sheet,
    Text,
)
from lacunet.report._compare_entries import (
    explain_marks,
    pair_entries,
    score_entry,
    tell_direction,
)
from lacunet.report._compare_plots import (
    FoldsLine,
    GainLine,
    TimePoint,
    draw_folds,
    draw_gains,
    draw_time,
)
from lacunet.report._words import (
    DASH,
    show_count,
    show_p,
    show_seconds,
)

_ANCHORS = {
    "best": "scores",
    "ours": "against-each-rival",
    "metrics": "scores",
    "time": "time",
    "missing": "missing-at-prediction",
}
# A plot of time is worth its room if some method takes so many times as long.
_LONG = 3


def make_summary(comparison: Comparison, anchors: Collection[str]) -> tuple[Block, ...]:
    """Say the most important things first.

    Parameters
    ----------
    comparison : Comparison
    anchors : collection of str
        Of the sections that there are.

    Returns
    -------
    tuple of Block
    """
    points = tuple(
        Point(
            finding.head,
            finding.text,
            _ANCHORS[finding.about] if _ANCHORS[finding.about] in anchors else "",
        )
        for finding in comparison.findings
    )
    return (Points(points), *(Text(note, "note") for note in comparison.notes))


def tell_size(comparison: Comparison) -> str:
    """Return what was compared on what, in words."""
    methods = show_count(len(comparison.methods), "method")
    rows = show_count(comparison.n_rows, "row")
    columns = show_count(comparison.n_columns, "column")
    share = show_percent(comparison.fraction_missing)
    return f"{methods} on {rows} and {columns}, {share} of the cells missing"


# --- scores


def make_scores_section(comparison: Comparison) -> Section:
    """Show all scores, and the folds that they are means of.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Section
    """
    pictures = tuple(
        Picture(_draw_folds(comparison, metric), tell_direction(metric))
        for metric in comparison.metrics
        if comparison.ordered(metric)
    )
    blocks: list[Block] = [_scores_sheet(comparison)]
    if pictures:
        caption = (
            "Faint: single folds. Strong: their mean and its standard error, for "
            "orientation; folds go up and down together, so differences are clearer "
            "than they look here. Dotted, where it is near: what is known without any "
            "column."
        )
        blocks.append(Pictures(pictures, caption))
    blocks.append(Fold("Scores of every fold", (_folds_sheet(comparison),)))
    return Section("Scores", tuple(blocks))


def _draw_folds(comparison: Comparison, metric: Metric) -> str:
    lines = [
        FoldsLine(
            method.title,
            [value for value in summary.by_fold if value is not None],
            summary.mean,
            summary.stderr or 0.0,
            method.key == OURS,
        )
        for method, summary in comparison.ordered(metric)
        if summary.mean is not None
    ]
    trivial = comparison.trivial[metric.key].mean
    return draw_folds(f"folds-{metric.key}", lines, metric.title, trivial)


def _scores_sheet(comparison: Comparison) -> Sheet:
    metrics = comparison.metrics
    first = metrics[0]
    tests = {test.rival: test for test in comparison.tests_of(first)}
    ordered = [method for method, _ in comparison.ordered(first)]
    ordered += [method for method in comparison.methods if method not in ordered]
    against = f"lacunet against it, by {first.title}"
    columns = [
        *(Column(metric.title) for metric in metrics),
        Column("rank"),
        Column("time"),
    ]
    if tests:
        columns += [Column("difference", against), Column("p", against)]
    lines = tuple(
        Line(
            method.title,
            (
                *(score_entry(comparison, method, metric) for metric in metrics),
                _rank_entry(method.scores[first.key]),
                _time_entry(method),
                *pair_entries(comparison, first, tests, method.key),
            ),
            accent=method.key == OURS,
        )
        for method in ordered
    )
    return Sheet(
        "method",
        tuple(columns),
        (Lines(lines), Lines((_trivial_line(comparison, len(columns)),))),
        _caption_scores(comparison, first, bool(tests)),
        notes=explain_marks(lines),
    )


def _caption_scores(comparison: Comparison, metric: Metric, tested: bool) -> str:
    folds = show_count(len(comparison.trivial[metric.key].by_fold), "fold")
    caption = (
        f"Means over {folds} ± standard error; the best is bold. Rank: its mean over "
        f"folds by {metric.title}. Time: to fit and predict, median over folds, on one "
        f"core."
    )
    if tested:
        caption += (
            " Difference: how much better lacunet is, green where that is more than "
            "chance, red where it is worse by more than chance; p is that of the "
            "corrected resampled t-test, corrected for the number of rivals."
        )
    return caption


def _rank_entry(summary: Summary) -> Entry:
    return Entry(DASH if summary.rank is None else f"{summary.rank:.1f}")


def _time_entry(method: MethodResult) -> Entry:
    return Entry(DASH if method.seconds is None else show_seconds(method.seconds))


def _trivial_line(comparison: Comparison, n_columns: int) -> Line:
    entries = []
    for metric in comparison.metrics:
        summary = comparison.trivial[metric.key]
        means = [each.mean for _, each in comparison.ordered(metric)]
        form = choose_format(metric, means or [summary.mean])
        shown = DASH if summary.mean is None else show_score(summary.mean, form)
        entries.append(Entry(shown))
    entries += [Entry()] * (n_columns - len(entries))
    what = "shares of the classes" if comparison.classes else "mean of the target"
    return Line(f"no columns: {what}", tuple(entries))


def _folds_sheet(comparison: Comparison) -> Sheet:
    n_splits = comparison.n_folds * comparison.n_repeats
    repeats = comparison.n_repeats > 1
    columns = tuple(
        Column(
            f"fold {place % comparison.n_folds + 1}",
            f"repeat {place // comparison.n_folds + 1}" if repeats else "",
        )
        for place in range(n_splits)
    )
    groups = tuple(
        Lines(
            tuple(
                _folds_line(comparison, method, metric) for method in comparison.methods
            ),
            metric.title,
        )
        for metric in comparison.metrics
    )
    return Sheet("method", columns, groups)


def _folds_line(comparison: Comparison, method: MethodResult, metric: Metric) -> Line:
    means = [each.mean for _, each in comparison.ordered(metric)]
    form = choose_format(metric, means)
    entries = tuple(
        Entry(DASH if value is None else show_score(value, form))
        for value in method.scores[metric.key].by_fold
    )
    return Line(method.title, entries, accent=method.key == OURS)


# --- ours against the others


def make_rivals_section(comparison: Comparison) -> Section:
    """Show how much better or worse ours is than each rival.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Section
    """
    pictures = tuple(
        Picture(_draw_gains(comparison, metric), f"By {metric.title}")
        for metric in comparison.metrics
        if comparison.tests_of(metric)
    )
    caption = (
        "Faint: the difference on single folds. Line: where their mean may well be "
        "(95%, by the corrected resampled t-test, which knows that folds share rows). "
        "Filled, in colour: more than chance after Holm's correction for the number of "
        "rivals; hollow: it may be chance."
    )
    sheet = _tests_sheet(comparison)
    return Section(
        "Against each rival",
        (Pictures(pictures, caption), Fold("Tests in figures", (sheet,))),
        "The same rows for both, fold by fold.",
    )


def _draw_gains(comparison: Comparison, metric: Metric) -> str:
    ours = comparison.ours
    assert ours is not None
    titles = {method.key: method.title for method in comparison.methods}
    tests = sorted(comparison.tests_of(metric), key=lambda test: test.gain)
    lines = [
        GainLine(
            titles[test.rival],
            _find_gains(comparison, metric, ours, test.rival),
            test.gain,
            test.low,
            test.high,
            test.different,
        )
        for test in tests
    ]
    return draw_gains(f"gains-{metric.key}", lines, metric.title, ours.title)


def _find_gains(
    comparison: Comparison, metric: Metric, ours: MethodResult, rival: str
) -> list[float]:
    sign = 1 if metric.higher_is_better else -1
    other = next(each for each in comparison.methods if each.key == rival)
    pairs = zip(
        ours.scores[metric.key].by_fold, other.scores[metric.key].by_fold, strict=True
    )
    return [sign * (a - b) for a, b in pairs if a is not None and b is not None]


def _tests_sheet(comparison: Comparison) -> Sheet:
    metrics = [each for each in comparison.metrics if comparison.tests_of(each)]
    lines = tuple(
        Line(
            method.title,
            tuple(
                entry
                for metric in metrics
                for entry in _full_entries(comparison, metric, method.key)
            ),
        )
        for method in comparison.methods
        if method.key != OURS
    )
    columns = tuple(
        Column(title, metric.title)
        for metric in metrics
        for title in ("difference", "p", "p after Holm")
    )
    return Sheet("lacunet against", columns, (Lines(lines),))


def _full_entries(
    comparison: Comparison, metric: Metric, rival: str
) -> tuple[Entry, ...]:
    tests = {test.rival: test for test in comparison.tests_of(metric)}
    test = tests.get(rival)
    if test is None:
        return (Entry(DASH),) * 3
    gain, p_holm = pair_entries(comparison, metric, tests, rival)
    return gain, Entry(show_p(test.p)), p_holm


# --- time


def time_tells(comparison: Comparison) -> bool:
    """Return whether a plot of scores against time has something to say.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    bool
    """
    seconds = [point.seconds for point in _time_points(comparison)]
    return len(seconds) > 2 and max(seconds) > _LONG * min(seconds)


def make_time_section(comparison: Comparison) -> Section:
    """Show what methods give for the time they take.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Section
    """
    metric = comparison.metrics[0]
    svg = draw_time(
        "time",
        _time_points(comparison),
        metric.title,
        higher_is_better=metric.higher_is_better,
    )
    caption = (
        "The better, the higher; the faster, the further to the left. Filled: no other "
        "method is both faster and better. Median over folds, on one core."
    )
    return Section("Time", (Pictures((Picture(svg),), caption),))


def _time_points(comparison: Comparison) -> list[TimePoint]:
    return [
        TimePoint(method.title, method.seconds, summary.mean, method.key == OURS)
        for method, summary in comparison.ordered(comparison.metrics[0])
        if method.seconds and summary.complete and summary.mean is not None
    ]
