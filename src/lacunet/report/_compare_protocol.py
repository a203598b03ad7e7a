"""How a comparison was made, as blocks."""

from lacunet._text import list_names, shorten, show_percent
from lacunet.evaluation import Comparison
from lacunet.report._blocks import (
    Block,
    Column,
    Entry,
    Fold,
    Line,
    Lines,
    Point,
    Points,
    Section,
    Sheet,
)
from lacunet.report._words import show_count, show_list

# Methods that fill the holes, with our network behind.
_FILLED = ("mean", "mean+indicator", "knn", "mice", "gmm", "dropout")


def make_protocol_section(comparison: Comparison) -> Section:
    """Say how the numbers came about.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Section
    """
    points = (
        Point("Rows", _tell_rows(comparison)),
        Point("Folds", _tell_folds(comparison)),
        Point("Methods", _tell_methods(comparison)),
        Point("Tests", _tell_tests(comparison)),
        Point("Versions", _tell_versions(comparison)),
    )
    blocks: list[Block] = [Points(tuple(point for point in points if point.text))]
    for title, sheet in (
        ("What failed, and why", _failures_sheet(comparison)),
        ("Warnings of the methods", _warnings_sheet(comparison)),
    ):
        if sheet.lines:
            blocks.append(Fold(title, (sheet,)))
    return Section("Protocol", tuple(blocks), "How the numbers came about.")


def _tell_rows(comparison: Comparison) -> str:
    told = (
        f"{show_count(comparison.n_rows, 'row')} with a target and "
        f"{show_count(comparison.n_columns, 'column')} beside it; "
        f"{show_percent(comparison.fraction_missing)} of their cells are missing."
    )
    if comparison.classes:
        n_classes = len(comparison.classes)
        told += f" {n_classes:,} classes: {list_names(comparison.classes)}."
    return told


def _tell_folds(comparison: Comparison) -> str:
    kind = ", stratified by class" if comparison.stratified else ""
    times = f", {comparison.n_repeats} times" if comparison.n_repeats > 1 else ""
    seed = "" if comparison.seed is None else f", seed {comparison.seed}"
    return (
        f"{comparison.n_folds} folds{times}, shuffled{kind}{seed}: each time about "
        f"{show_count(comparison.n_train, 'row')} to learn from and "
        f"{show_count(comparison.n_test, 'row')} to test on, for all methods the same. "
        f"Everything that is learned, such as the means to fill with, is learned from "
        f"the former alone."
    )


def _tell_methods(comparison: Comparison) -> str:
    filled = [each.title for each in comparison.methods if each.key in _FILLED]
    told = "All at their defaults, nothing is tuned, one core each."
    if filled:
        told += (
            f" Behind {show_list(filled)} stands the same network as in lacunet, "
            f"without its way with missing values."
        )
    return told


def _tell_tests(comparison: Comparison) -> str:
    if not comparison.tests:
        return ""
    return (
        "The corrected resampled t-test of Nadeau and Bengio on the differences of the "
        "folds, two-sided, corrected by Holm's method for the number of rivals, one "
        "score at a time. With few folds and rows it misses what is small: methods "
        "that it can't tell apart need not be equal."
    )


def _tell_versions(comparison: Comparison) -> str:
    shown = [f"{name} {version}" for name, version in comparison.versions.items()]
    return f"{show_list(shown)}."


def _failures_sheet(comparison: Comparison) -> Sheet:
    lines = tuple(
        Line(
            method.title,
            (
                Entry(str(failure.fold + 1)),
                Entry(shorten(failure.without) if failure.without else ""),
                Entry(failure.why),
            ),
        )
        for method in comparison.methods
        for failure in method.failures
    )
    titles = ("split", "without", "why")
    return Sheet("method", tuple(map(Column, titles)), (Lines(lines),), prose=True)


def _warnings_sheet(comparison: Comparison) -> Sheet:
    lines = tuple(
        Line(method.title, (Entry(text),))
        for method in comparison.methods
        for text in method.warnings
    )
    return Sheet("method", (Column("warning"),), (Lines(lines),), prose=True)
