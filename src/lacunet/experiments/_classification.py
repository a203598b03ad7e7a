"""Accuracy of a classifier on a fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import MinMaxScaler

from lacunet.exceptions import LacunetError
from lacunet.experiments._columns import COLUMNS, make_model, set_parts
from lacunet.experiments._jobs import Job
from lacunet.experiments._protocols import (
    PROTOCOLS,
    Split,
    make_folds,
    split_rows,
)
from lacunet.experiments._record import Experiment
from lacunet.experiments._sources import Table, load_table
from lacunet.experiments.methods import Grid

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
    set_parts(model, budget.parameters_of(job.method))
    fit = _fit_on_all_rows if protocol.all_rows else _fit_inside
    if protocol.search and experiment.cross_validated:
        grid = COLUMNS[job.method].grid(experiment.body)
        model = _with_search(model, grid, job.seed, grouped=table.groups is not None)
    fitted, X = fit(model, job.method, table, split)
    value = accuracy_score(table.y[split.test], fitted.predict(X[split.test]))
    chosen = getattr(fitted, "best_params_", {})
    sizes = {"n_train": len(split.train), "n_test": len(split.test)}
    return Measured({"accuracy": float(value)}, {**chosen, **sizes})


def _with_search(model: Any, grid: Grid, seed: int, *, grouped: bool) -> Any:
    """Return the model with the choice of its parameters by five inner folds."""
    if not grid:
        return model
    return GridSearchCV(
        model,
        dict(grid),
        scoring="accuracy",
        cv=make_folds(grouped, seed),
        error_score="raise",
    )


def _fit_inside(
    model: Any, method: str, table: Table, split: Split
) -> tuple[Any, np.ndarray]:
    """Fit on the training rows alone, and return also what rows are told as."""
    rows = split.train
    options = _complete_rows(method, table, rows)
    if table.groups is not None and isinstance(model, GridSearchCV):
        options["groups"] = table.groups[rows]
    return model.fit(table.X[rows], table.y[rows], **options), table.X


def _complete_rows(method: str, table: Table, rows: np.ndarray) -> dict[str, Any]:
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


def _fit_on_all_rows(
    model: Any, method: str, table: Table, split: Split
) -> tuple[Any, np.ndarray]:
    """Fit as the authors' code does: scale and density see the test rows as well."""
    X = MinMaxScaler((-1, 1)).fit_transform(table.X)
    model.set_params(scale="none", n_units=AUTHORS_UNITS)
    fitted = model.fit(X[split.train], table.y[split.train], X_unlabelled=X[split.test])
    return fitted, X
