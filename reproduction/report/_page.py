"""From records to HTML."""

from importlib import import_module
from typing import Any

from reproduction.report._blocks import Page


def render_page(page: Page) -> str:
    """Return a page as one HTML file that needs no other.

    Parameters
    ----------
    page : Page

    Returns
    -------
    str
        All texts of the page are escaped; only drawings are markup.
    """
    template = _environment().get_template("page.html")
    return f"{template.render(page=page)}\n"


def _environment() -> Any:
    jinja2 = import_extra("jinja2")
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader(each)
                for each in ("reproduction.report", "lacunet.report")
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def import_extra(name: str, otherwise: str = "") -> Any:
    """Import a package that only HTML needs, or say how to get it.

    Parameters
    ----------
    name : str
    otherwise : str, default=""
        What to do without, if anything.

    Returns
    -------
    module
    """
    try:
        return import_module(name)
    except ImportError as error:
        msg = (
            f"Got no package {name}, but expected it, to write HTML. Install it with "
            f"pip install 'lacunet[report]'{otherwise}."
        )
        raise ImportError(msg) from error
