"""Accuracy of a classifier on a fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import MinMaxScaler

from lacunet.baselines import set_nested
from lacunet.exceptions import LacunetError
from reproduction.experiments._columns import COLUMNS, make_model
from reproduction.experiments._jobs import Job
from reproduction.experiments._protocols import PROTOCOLS, Split, split_rows
from reproduction.experiments._record import Experiment
from reproduction.experiments._search import search
from reproduction.experiments._sources import Table, load_table
from reproduction.experiments.methods import Grid

# Of the authors' command: so many units are the best of those that they try.
AUTHORS_UNITS = 25


class CannotRunError(LacunetError):
    """A cell that a method can't fill, for a reason that is known."""


@dataclass(frozen=True)
class Measured:
    """What a job has found.

    Attributes
    ----------
    values : mapping of str to float
        By metric.
    params : mapping
        What was chosen, and what else is worth keeping.
    images : ndarray or None
        Reconstructions of the first test images.
    """

    values: Mapping[str, float]
    params: Mapping[str, Any] = field(default_factory=dict)
    images: np.ndarray | None = None


def measure_accuracy(experiment: Experiment, job: Job) -> Measured:
    """Fit a method on a fold's training rows, and test it on the others.

    Parameters
    ----------
    experiment : Experiment
    job : Job

    Returns
    -------
    Measured
    """
    protocol = PROTOCOLS[job.protocol]
    budget = experiment.budget(job.protocol, job.data)
    table = load_table(job.dataset, job.rate, job.seed, budget.n_rows)
    split = split_rows(
        table.y, table.groups, job.fold, job.seed, shuffle=protocol.shuffle
    )
    model = make_model(experiment, job.method, job.seed)
    set_nested(model, **budget.parameters_of(job.method))
    grid: Grid = {}
    if protocol.search and experiment.cross_validated:
        grid = COLUMNS[job.method].grid(experiment.body)
    chosen: dict[str, Any] = {}
    if protocol.all_rows:
        fitted, X = _fit_on_all_rows(model, table, split)
    else:
        fitted, chosen = _fit_inside(model, grid, job, table, split)
        X = table.X
    value = accuracy_score(table.y[split.test], fitted.predict(X[split.test]))
    sizes = {"n_train": len(split.train), "n_test": len(split.test)}
    return Measured({"accuracy": float(value)}, {**chosen, **sizes})


def _fit_inside(
    model: Any, grid: Grid, job: Job, table: Table, split: Split
) -> tuple[Any, dict[str, Any]]:
    """Fit on the training rows alone, and return also what was chosen there."""
    rows = split.train
    return search(
        model,
        grid,
        table.X[rows],
        table.y[rows],
        seed=job.seed,
        groups=None if table.groups is None else table.groups[rows],
        options=_complete_rows(job.method, table, rows),
    )


def _complete_rows(
    method: str, table: Table, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the complete rows for the method that is shown them."""
    if not COLUMNS[method].needs_complete:
        return {}
    if table.complete is not None:
        return {"X_complete": table.complete[rows]}
    if np.isnan(table.X[rows]).any(1).all():
        msg = (
            "Got no complete row in the training part, but the method learns from "
            "such rows alone."
        )
        raise CannotRunError(msg)
    return {}


def _fit_on_all_rows(model: Any, table: Table, split: Split) -> tuple[Any, np.ndarray]:
    """Fit as the authors' code does: scale and density see the test rows as well.

    What rows are told as is returned too.
    """
    X = MinMaxScaler((-1, 1)).fit_transform(table.X)
    model.set_params(scale="none", n_units=AUTHORS_UNITS)
    fitted = model.fit(X[split.train], table.y[split.train], X_unlabelled=X[split.test])
    return fitted, X
