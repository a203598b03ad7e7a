"""A comparison of methods as a page."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lacunet.report._output import write_page

if TYPE_CHECKING:
    from lacunet.evaluation import Comparison
    from lacunet.report._blocks import Page, Section


def write_comparison(
    comparison: "Comparison",
    path: str | PathLike[str],
    *,
    title: str = "Methods compared",
    force: bool = False,
) -> Path:
    """Write a comparison of methods as HTML.

    It is one file that needs no other and no network: who is best and whether that is
    more than chance, all scores with their errors, folds as drawings, time, what
    becomes of the methods without a column, and how it was done. The same comparison
    gives the same file. It is written whole or not at all.

    Parameters
    ----------
    comparison : Comparison
        What :func:`lacunet.evaluation.compare_methods` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="Methods compared"
    force : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    Path
        That of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from lacunet.evaluation import compare_methods
    >>> from lacunet.report import write_comparison
    >>> X = pd.DataFrame({"age": [40, None, 50] * 20})
    >>> found = compare_methods(
    ...     X, [1, 0, 1] * 20, task="classification", methods=["hgb"], n_folds=2
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_comparison(found, Path(folder) / "comparison.html")
    ...     "HistGradientBoosting has the lowest log-loss" in path.read_text("utf-8")
    True
    """
    return write_page(path, lambda: make_page(comparison, title), force=force)


def make_page(comparison: "Comparison", title: str) -> "Page":
    """Return a comparison as a page.

    Parameters
    ----------
    comparison : Comparison
    title : str

    Returns
    -------
    Page
    """
    from lacunet.report._blocks import Page
    from lacunet.report._compare_sections import make_summary, tell_size

    sections = tuple(_sections(comparison))
    summary = make_summary(comparison, {section.anchor for section in sections})
    return Page(title, tell_size(comparison), summary, sections)


def _sections(comparison: "Comparison") -> "Iterator[Section]":
    from lacunet.report import _compare_missing, _compare_protocol, _compare_sections

    yield _compare_sections.make_scores_section(comparison)
    if comparison.tests_of(comparison.metrics[0]):
        yield _compare_sections.make_rivals_section(comparison)
    if _compare_sections.time_tells(comparison):
        yield _compare_sections.make_time_section(comparison)
    if comparison.drop_at_test:
        yield _compare_missing.make_missing_section(comparison)
    yield _compare_protocol.make_protocol_section(comparison)
