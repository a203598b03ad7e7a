"""Comparisons of methods that were never run."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from lacunet.evaluation._comparison import Outcome, Problem, gather

N_ROWS = 40


def make_comparison(values, *, task="regression", hidden=None, seconds=None, **changes):
    """Make a comparison of made-up scores.

    ``values`` has a list a method: one number a fold, None if it failed there; other
    scores follow from the first. ``hidden`` has the same for columns that were hidden.
    """
    n_folds = len(next(iter(values.values())))
    classes = ("no", "yes") if task == "classification" else ()
    y = np.arange(N_ROWS) % 2 if classes else np.arange(N_ROWS) / 10
    hidden = hidden or {}
    X = pd.DataFrame({column: range(N_ROWS) for column in ("a", *hidden)})
    tables, took = {None: values, **hidden}, seconds or {}
    splits = list(KFold(n_folds).split(y))
    outcomes = {
        method: [
            _make_outcome(task, method, fold, tables, len(test), took.get(method, 1))
            for fold, (_, test) in enumerate(splits)
        ]
        for method in values
    }
    made = gather(
        Problem(task, X, y, classes, tuple(hidden)),
        outcomes,
        splits,
        n_repeats=1,
        stratified=bool(classes),
        seed=0,
    )
    return replace(made, versions={"lacunet": "1.2.3"}, **changes)


def _make_outcome(task, method, fold, tables, n_rows, seconds):
    found = {column: table[method][fold] for column, table in tables.items()}
    scores = {
        column: _all_scores(task, value, n_rows)
        for column, value in found.items()
        if value is not None
    }
    failures = {
        column: "ValueError: too bad"
        for column, value in found.items()
        if value is None
    }
    took = None if found[None] is None else seconds
    return Outcome(method, fold, scores, failures, took)


def _all_scores(task, value, n_rows):
    scores = {"rmse": value, "r2": 1 - value}
    if task == "classification":
        scores = {"log_loss": value, "accuracy": 1 - value / 2, "auc": 1 - value / 3}
    return {key: np.full(n_rows, each) for key, each in scores.items()}
