"""The experiments by name."""

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from reproduction.experiments import (
    _claim_information,
    _claim_mnist,
    _claim_rows,
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

_EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        module.EXPERIMENT.name: module.EXPERIMENT
        for module in (
            _table_1,
            _table_2,
            _table_4,
            _table_6,
            _figure_2,
            _figure_gamma,
            _figure_density,
            _figure_cost,
            _claim_rows,
            _claim_mnist,
            _claim_information,
        )
    }
)


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
    return list(_EXPERIMENTS)


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
    if name in _EXPERIMENTS:
        return _EXPERIMENTS[name]
    near = difflib.get_close_matches(str(name), _EXPERIMENTS)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    msg = f"Got name={name!r}, but expected one of {', '.join(_EXPERIMENTS)}.{hint}"
    raise ValueError(msg)
