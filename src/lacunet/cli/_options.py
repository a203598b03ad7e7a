"""Names that can be given to commands, and the options that several of them have."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import click

_MOST_CORES = 8


def split_names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Return the names of a text that has commas between them.

    Parameters
    ----------
    context : Context
    parameter : Parameter
    value : str or None

    Returns
    -------
    tuple of str or None
    """
    if value is None:
        return None
    names = tuple(part.strip() for part in value.split(",") if part.strip())
    if not names:
        msg = f"Got {value!r}, but expected names, as in a,b."
        raise click.BadParameter(msg, context, parameter)
    return names


def gathered(
    command: Callable[..., Any],
    argument: str,
    options: Mapping[str, Mapping[str, Any]],
    build: Callable[[dict[str, Any]], Any],
) -> Callable[..., Any]:
    """Add options that a command gets as one argument.

    Parameters
    ----------
    command : callable
    argument : str
    options : mapping of str to mapping
        What ``click.option`` is told of each, by its name, in the order of the help.
    build : callable
        From the values of the options, by their names in Python, to the argument.

    Returns
    -------
    callable
    """
    fields = [name.removeprefix("--").replace("-", "_") for name in options]

    @functools.wraps(command)
    def call(*given: Any, **values: Any) -> Any:
        chosen = {field: values.pop(field) for field in fields}
        return command(*given, **{argument: build(chosen)}, **values)

    decorated: Callable[..., Any] = call
    for name, told in reversed(list(options.items())):
        decorated = click.option(name, **told)(decorated)
    return decorated


def jobs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--jobs``.

    Parameters
    ----------
    command : callable

    Returns
    -------
    callable
    """
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=count_cores,
        show_default=f"one for each core, at most {_MOST_CORES}",
        help="Number of processes, one core each.",
    )(command)


def count_cores() -> int:
    """Return how many processes are of use here, and do not ask for much memory.

    Returns
    -------
    int
    """
    if hasattr(os, "sched_getaffinity"):
        n_cores = len(os.sched_getaffinity(0))
    else:
        n_cores = os.cpu_count() or 1
    return min(n_cores, _MOST_CORES)
