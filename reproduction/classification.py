"""Accuracy of a classifier on a fold, with parameters chosen by inner folds."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import MinMaxScaler

from lacunet.baselines import set_nested
from lacunet.exceptions import LacunetError
from reproduction.methods import METHODS, Grid, make_model
from reproduction.protocols import PROTOCOLS, Table, load_table, make_folds, split_rows
from reproduction.tables import Experiment, Job

# Of the authors' command: the best of those that they try.
AUTHORS_UNITS = 25


class CannotRunError(LacunetError):
    """A cell that a method can't fill, for a reason that is known."""


def measure_accuracy(
    experiment: Experiment, job: Job
) -> tuple[dict[str, float], dict[str, Any], None]:
    """Fit a method on the training rows of a fold, and test it on the others.

    Returns
    -------
    values : dict of str to float
        By metric.
    params : dict
        What was chosen, and the numbers of rows.
    images : None
        There are none, unlike for an autoencoder.
    """
    protocol = PROTOCOLS[job.protocol]
    budget = experiment.budget(job.protocol, job.data)
    table = load_table(job.dataset, job.rate, job.seed, budget.n_rows)
    train, test = split_rows(table, job.fold, job.seed, shuffle=protocol.shuffle)
    model = make_model(experiment, job.method, job.seed)
    set_nested(model, **budget.parameters_of(job.method))
    X = table.X
    chosen: dict[str, Any] = {}
    if protocol.all_rows:
        # As the authors' code does: scale and density see the test rows as well.
        X = MinMaxScaler((-1, 1)).fit_transform(table.X)
        model.set_params(scale="none", n_units=AUTHORS_UNITS)
        fitted = model.fit(X[train], table.y[train], X_unlabelled=X[test])
    else:
        is_chosen = protocol.search and experiment.cross_validated
        fitted, chosen = search(
            model,
            METHODS[job.method].grid_for(experiment.body) if is_chosen else {},
            X[train],
            table.y[train],
            seed=job.seed,
            groups=None if table.groups is None else table.groups[train],
            **_complete_rows(job.method, table, train),
        )
    value = accuracy_score(table.y[test], fitted.predict(X[test]))
    sizes = {"n_train": len(train), "n_test": len(test)}
    return {"accuracy": float(value)}, {**chosen, **sizes}, None


def search(
    model: Any,
    grid: Grid,
    X: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    groups: np.ndarray | None = None,
    **options: np.ndarray,
) -> tuple[Any, dict[str, Any]]:
    """Fit a model with the parameters of a grid that are best in five inner folds.

    Returns the model, fitted on all rows, and what was chosen. ``options`` are handed
    to ``fit``, row by row. Without a grid there is nothing to choose.
    """
    if not grid:
        return clone(model).fit(X, y, **options), {}
    folds = list(make_folds(groups is not None, seed).split(X, y, groups))
    found = GridSearchCV(model, dict(grid), cv=folds, error_score="raise")
    found.fit(X, y, **options)
    return found.best_estimator_, found.best_params_


def _complete_rows(
    method: str, table: Table, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the complete rows for a method that learns from them alone."""
    if not METHODS[method].needs_complete:
        return {}
    if table.complete is not None:
        return {"X_complete": table.complete[rows]}
    if np.isnan(table.X[rows]).any(1).all():
        msg = (
            "Got no complete row among the training rows, but the method learns from "
            "such rows alone."
        )
        raise CannotRunError(msg)
    return {}
