"""Pages: data and drawings put into a template, and written whole or not at all."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from lacunet._output import check_target, open_output
from lacunet._text import join_words, show_count, show_p, show_percent, show_seconds


def write_page(
    path: str | PathLike[str],
    template: str,
    make_context: Callable[[], Mapping[str, Any]],
    *,
    force: bool,
    package: str = "lacunet.report",
) -> Path:
    """Write an HTML page that needs no other file and no network.

    What is in the way of the file is reported before anything is computed.

    Parameters
    ----------
    path : str or PathLike
        The file to write; its folder is made.
    template : str
        Name of the template, in the folder ``templates`` of ``package``.
    make_context : callable
        Returns what the template shows. All of it is escaped but drawings.
    force : bool
        Whether a file that is there may be replaced.
    package : str, default="lacunet.report"
        The package whose templates are used, before those of ``lacunet.report``.

    Returns
    -------
    Path
    """
    target = Path(path)
    check_target(target, force=force)
    jinja2 = import_extra("jinja2")
    import_extra("matplotlib")
    loaders = [jinja2.PackageLoader(each) for each in (package, "lacunet.report")]
    options = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(loader=jinja2.ChoiceLoader(loaders), **options)
    environment.filters.update(
        anchor=lambda title: title.lower().replace(" ", "-"),
        count=show_count,
        join_words=join_words,
        p_value=show_p,
        percent=show_percent,
        seconds=show_seconds,
    )
    script = environment.loader.get_source(environment, "page.js")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The page's policy lets the browser run this script, and no other.
    environment.globals.update(script=script, script_hash=digest)
    text = environment.get_template(template).render(make_context())
    with open_output(target, force=force) as stream:
        stream.write(f"{text}\n".encode())
    return target


def import_extra(name: str) -> Any:
    """Import a package that only pages need, or raise an error that says how."""
    try:
        return import_module(name)
    except ImportError as error:
        msg = (
            f"Got no package {name}, but expected it, to write HTML. Install it with "
            f"pip install 'lacunet[report]'."
        )
        raise ImportError(msg) from error
