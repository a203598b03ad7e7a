"""The profile of a table as a page."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lacunet.report._output import write_page

if TYPE_CHECKING:
    from lacunet.profile import Profile
    from lacunet.report._blocks import Page, Section


def write_profile(
    profile: "Profile",
    path: str | PathLike[str],
    *,
    title: str = "What is missing",
    force: bool = False,
) -> Path:
    """Write a profile of a table as HTML.

    It is one file that needs no other and no network: a map of the holes, shares of
    columns and rows, patterns, what is missing together, what it depends on, and tests
    in words. The same profile gives the same file. It is written whole or not at all.

    Parameters
    ----------
    profile : Profile
        What :func:`lacunet.profile.profile_table` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="What is missing"
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
    >>> from lacunet.report import write_profile
    >>> from lacunet.profile import profile_table
    >>> profile = profile_table(np.array([[1.0, np.nan], [2.0, 3.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_profile(profile, Path(folder) / "profile.html")
    ...     "25% of the cells are missing" in path.read_text("utf-8")
    True
    """
    return write_page(path, lambda: make_page(profile, title), force=force)


def make_page(profile: "Profile", title: str) -> "Page":
    """Return a profile as a page.

    Parameters
    ----------
    profile : Profile
    title : str

    Returns
    -------
    Page
    """
    from lacunet.report._blocks import Page
    from lacunet.report._profile_sections import make_summary, tell_size

    return Page(
        title, tell_size(profile), make_summary(profile), tuple(_sections(profile))
    )


def _sections(profile: "Profile") -> "Iterator[Section]":
    from lacunet.report import _profile_sections as sections

    if profile.n_missing:
        yield sections.make_map_section(profile)
    if profile.n_columns:
        yield sections.make_counts_section(profile)
    if profile.n_missing:
        yield sections.make_patterns_section(profile)
        yield sections.make_tests_section(profile)
        if profile.target is not None:
            yield sections.make_target_section(profile.target)
