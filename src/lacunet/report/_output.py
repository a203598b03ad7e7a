"""Reports as files that are whole or not there, and that replace no other unasked."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lacunet._output import check_target, open_output

if TYPE_CHECKING:
    from lacunet.report._blocks import Page

__all__ = ["check_target", "write_page", "write_text"]


def write_page(
    path: str | PathLike[str], make: "Callable[[], Page]", *, force: bool
) -> Path:
    """Write a page as HTML; what is in the way is said before it is made.

    Parameters
    ----------
    path : str or PathLike
        Its folder is made.
    make : callable
        Returns the page.
    force : bool
        Whether a file that is there may be replaced.

    Returns
    -------
    Path
    """
    target = Path(path)
    check_target(target, force=force)
    # Drawings and templates are loaded only by those who write a report.
    from lacunet.report._blocks_page import import_extra, render_page

    for package in ("jinja2", "matplotlib"):
        import_extra(package)
    write_text(target, render_page(make()), force=force)
    return target


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file under another name, and rename it when all is on the disk.

    Parameters
    ----------
    path : Path
        Its folder is made.
    text : str
    force : bool
        Whether a file that is there may be replaced.
    """
    with open_output(path, force=force) as stream:
        stream.write(text.encode("utf-8"))
