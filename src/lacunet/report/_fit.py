"""A model that was judged on rows held out, as a page."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lacunet.report._output import write_page

if TYPE_CHECKING:
    from lacunet.evaluation import HoldOut, TableFacts
    from lacunet.report._blocks import Page, Section


def write_fit(
    found: "HoldOut",
    path: str | PathLike[str],
    *,
    table: "TableFacts | None" = None,
    title: str = "How good the model is",
    force: bool = False,
) -> Path:
    """Write what is known of a fitted model as HTML.

    It is one file that needs no other and no network: scores beside those of other
    models, reliability, columns that matter, the learning curve, errors by what is
    missing, and classes that are mistaken, each with what to make of it in words. The
    same findings give the same file. It is written whole or not at all.

    Parameters
    ----------
    found : HoldOut
        What :func:`lacunet.evaluation.hold_out` returned.
    path : str or PathLike
        The file to write; its folder is made.
    table : TableFacts, default=None
        Of the table, to be told too.
    title : str, default="How good the model is"
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
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.evaluation import hold_out
    >>> from lacunet.report import write_fit
    >>> X = pd.DataFrame({"age": np.arange(40.0)})
    >>> model = LacunetRegressor(n_networks=1, max_epochs=2, random_state=0)
    >>> found = hold_out(model, X, 2 * X["age"], task="regression")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_fit(found, Path(folder) / "fit.html")
    ...     "32 rows to learn from" in path.read_text("utf-8")
    True
    """
    return write_page(path, lambda: make_page(found, table, title), force=force)


def make_page(found: "HoldOut", table: "TableFacts | None", title: str) -> "Page":
    """Return what is known of a model as a page.

    Parameters
    ----------
    found : HoldOut
    table : TableFacts or None
    title : str

    Returns
    -------
    Page
    """
    from lacunet.report._blocks import Page
    from lacunet.report._fit_sections import make_summary, tell_size

    return Page(
        title,
        tell_size(found, table),
        make_summary(found),
        tuple(_sections(found, table)),
    )


def _sections(found: "HoldOut", table: "TableFacts | None") -> "Iterator[Section]":
    from lacunet.report import _fit_sections as sections

    yield sections.make_scores_section(found)
    yield sections.make_reliability_section(found, table)
    yield sections.make_columns_section(found)
    yield sections.make_learning_section(found)
    yield sections.make_protocol_section(found, table)
