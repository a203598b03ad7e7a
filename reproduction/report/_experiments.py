"""The report of the paper's experiments, as a page and as tables of Markdown."""

from collections.abc import Iterator

from lacunet._markdown import escape
from reproduction.experiments import load_experiment
from reproduction.report._authors import find_beside, make_authors_sheet
from reproduction.report._blocks import Page
from reproduction.report._figures import FIGURES, make_figure_section
from reproduction.report._folder import Folder
from reproduction.report._markdown import to_markdown
from reproduction.report._origins import make_origins_section
from reproduction.report._slices import AUTHORS, Slice
from reproduction.report._standing import find_standing
from reproduction.report._summary import make_summary
from reproduction.report._tables import (
    TABLES,
    find_joined,
    make_ranks_sheet,
    make_table_section,
    show_slice,
    show_title,
)
from reproduction.report._verdicts import (
    find_verdicts,
    make_claims_section,
    make_claims_sheet,
)

TITLE = "Processing of missing data by neural networks, reproduced"
SUBTITLE = (
    "Every table, figure and claim of Śmieja, Struski, Tabor, Zieliński and Spurek "
    "(NeurIPS 2018), beside the paper's own numbers"
)


def make_page(folder: Folder) -> Page:
    """Return the report of a folder of results.

    Parameters
    ----------
    folder : Folder

    Returns
    -------
    Page
    """
    verdicts = find_verdicts(folder)
    sections = (
        *(make_table_section(folder, name) for name in TABLES),
        *(make_figure_section(folder, name) for name in FIGURES),
        make_claims_section(verdicts),
        make_origins_section(folder),
    )
    return Page(TITLE, SUBTITLE, make_summary(folder, verdicts), sections)


def make_markdown(folder: Folder) -> str:
    """Return the tables of a folder of results, and the claims as one more.

    Parameters
    ----------
    folder : Folder

    Returns
    -------
    str
    """
    return "\n\n".join(_paragraphs(folder)) + "\n"


def _paragraphs(folder: Folder) -> Iterator[str]:
    yield f"# {TITLE}"
    yield f"{SUBTITLE}. Made by `lacunet report FOLDER --format md`."
    for name in TABLES:
        experiment = load_experiment(name)
        slices = folder.slices(experiment)
        yield f"## {show_title(name)}"
        yield escape(f"{experiment.title}.")
        if not slices:
            yield f"Not run yet: `lacunet reproduce {name} --protocol paper`"
        for part in slices:
            tag = f" ({part.tag})" if part.tag else ""
            yield f"### {escape(part.title + tag)}"
            yield _table(part, slices)
    for part in find_joined(folder):
        standing = find_standing(part)
        if standing is not None:
            yield f"## Tables 4 and 6 together, {escape(part.title.lower())}"
            yield to_markdown(make_ranks_sheet(standing))
    yield "## Claims"
    yield to_markdown(make_claims_sheet(find_verdicts(folder)))


def _table(part: Slice, slices: list[Slice]) -> str:
    if part.protocol == AUTHORS:
        return to_markdown(make_authors_sheet(part, find_beside(part, slices)))
    return "\n\n".join(map(to_markdown, show_slice(part).sheets))
