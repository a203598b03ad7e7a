"""Names that can be given to commands, and the options that several of them have."""

import functools
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import click

# Written down here, as the experiments themselves take seconds to import.
EXPERIMENTS: Mapping[str, str] = MappingProxyType(
    {
        "table-1": "autoencoders on digits with a patch removed",
        "table-2": "a perceptron on seizures, 25 to 90% of values removed",
        "table-4": "RBF networks on sets with missing values of their own",
        "table-6": "RBF networks on sets with half of all values removed",
        "figure-2": "digits given back by the autoencoders of table 1",
        "figure-gamma": "a density for gamma to 0, 1 and to infinity",
        "figure-density": "a density learned with the network, against EM",
        "figure-cost": "time of the layer against an ordinary one",
        "claim-rows": "is it needed to train on incomplete rows?",
        "claim-mnist": "are mice and EM impossible on images?",
        "claim-information": "theorem 4.1 in numbers",
    }
)
PROTOCOLS = ("quick", "paper", "authors")
STAND_INS: Final = "digits"
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
