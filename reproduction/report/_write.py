"""The report as a file."""

from os import PathLike
from pathlib import Path
from typing import Literal

from reproduction.report._output import check_target, write_text

FORMATS = ("html", "md")


def write_report(
    results: str | PathLike[str],
    path: str | PathLike[str],
    *,
    format: Literal["html", "md"] = "html",
    force: bool = False,
) -> Path:
    """Write a report of the paper's experiments.

    As HTML it is one file that needs no other and no network: each table and figure of
    the paper with ours beside it, ranks and tests, the paper's claims and what has
    become of them, protocols and versions. As Markdown it is the tables alone.

    The same results give the same file. It is written whole or not at all.

    Parameters
    ----------
    results : str or PathLike
        Folder that ``run_experiment(out=...)`` has written to.
    path : str or PathLike
        The file to write; its folder is made.
    format : {"html", "md"}, default="html"
        HTML needs the packages of ``lacunet[report]``.
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
    >>> from reproduction.report import write_report
    >>> from reproduction.statistics import Cell, ResultFile
    >>> cell = Cell(
    ...     "table-4", "pima", None, "paper", fold=0, seed=0, protocol="paper",
    ...     metric="accuracy", value=0.75, params={}, seconds=2.5, versions={},
    ...     commit=None,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ResultFile(Path(folder) / "table-4.jsonl").append([cell])  # as a run does
    ...     path = write_report(folder, Path(folder) / "tables.md", format="md")
    ...     "| *paper (as published)* | 0.750" in path.read_text("utf-8")
    True
    """
    from lacunet._validation import check_choice  # loads torch

    check_choice(format, FORMATS, "format")
    target = Path(path)
    check_target(target, force=force)
    write_text(target, _make_text(Path(results), format), force=force)
    return target


def _make_text(results: Path, format: str) -> str:
    # Drawings, templates and torch are loaded only by those who write a report.
    from reproduction.report._experiments import make_markdown, make_page
    from reproduction.report._folder import read_folder

    if format == "md":
        return make_markdown(read_folder(results))
    from reproduction.report._page import import_extra, render_page

    for package in ("jinja2", "matplotlib"):
        import_extra(package, ", or take format='md', which needs nothing")
    return render_page(make_page(read_folder(results)))
