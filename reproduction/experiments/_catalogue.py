"""The experiments by name."""

import difflib
from collections.abc import Mapping
from functools import cache

from reproduction.experiments import (
    _figure_2,
    _figure_cost,
    _figure_density,
    _figure_gamma,
    _table_1,
    _table_2,
    _table_4,
    _table_6,
)
from reproduction.experiments._record import Experiment


@cache
def _experiments() -> Mapping[str, Experiment]:
    from reproduction.claim_experiments import EXPERIMENTS  # imports this package

    modules = (
        _table_1,
        _table_2,
        _table_4,
        _table_6,
        _figure_2,
        _figure_gamma,
        _figure_density,
        _figure_cost,
    )
    every = (*(module.EXPERIMENT for module in modules), *EXPERIMENTS)
    return {each.name: each for each in every}


def list_experiments() -> list[str]:
    """List the experiments of the paper, by its own numbers.

    Those that have none are about a statement in its text.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from reproduction.experiments import list_experiments
    >>> list_experiments()[:4]
    ['table-1', 'table-2', 'table-4', 'table-6']
    """
    return list(_experiments())


def load_experiment(name: str) -> Experiment:
    """Return what is run in an experiment, and what the paper reports of it.

    Parameters
    ----------
    name : str
        One of ``list_experiments()``.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> from reproduction.experiments import load_experiment
    >>> load_experiment("table-1").reported["mse"]["mnist", None]["paper"]
    0.01056
    """
    known = _experiments()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name), known)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    msg = f"Got name={name!r}, but expected one of {', '.join(known)}.{hint}"
    raise ValueError(msg)
