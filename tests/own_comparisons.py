"""Comparisons of methods that were never run."""

from dataclasses import replace

import numpy as np
import pandas as pd

from lacunet.evaluation import METRICS, Comparison
from lacunet.evaluation._comparison_findings import make_findings
from lacunet.evaluation._comparison_folds import make_folds
from lacunet.evaluation._comparison_results import (
    compare_all,
    gather,
    score_trivial,
    tell_failures,
)
from lacunet.evaluation._comparison_run import Outcome, Problem

N_ROWS = 40


def make_comparison(values, *, task="regression", hidden=None, seconds=None, **changes):
    """Make a comparison of made-up scores.

    ``values`` has a list a method: one number a fold, None if it failed there; other
    scores follow from the first. ``hidden`` has the same for columns that were hidden.
    """
    n_folds = len(next(iter(values.values())))
    classes = ("no", "yes") if task == "classification" else ()
    y = np.arange(N_ROWS) % 2 if classes else np.arange(N_ROWS) / 10
    stream = np.random.RandomState(0)
    folds = make_folds(task, y, classes, n_folds, 1, stream)
    X = pd.DataFrame({column: range(N_ROWS) for column in ("a", *(hidden or ()))})
    problem = Problem(task, X, y, len(classes), tuple(hidden or ()), None)
    outcomes = {
        (method, place): _make_outcome(
            task,
            method,
            place,
            {None: values, **(hidden or {})},
            (seconds or {}).get(method, 1.0),
        )
        for method in values
        for place in range(n_folds)
    }
    chosen = list(values)
    made = Comparison(
        task=task,
        metrics=METRICS[task],
        n_rows=N_ROWS,
        n_columns=X.shape[1],
        share_missing=0.25,
        classes=classes,
        n_folds=n_folds,
        n_repeats=1,
        stratified=folds.stratified,
        n_train=folds.n_train,
        n_test=folds.n_test,
        seed=0,
        drop_at_test=problem.drop_at_test,
        methods=gather(chosen, problem, folds, outcomes),
        trivial=score_trivial(problem, folds),
        tests=compare_all(chosen, problem, folds, outcomes),
        notes=tuple(tell_failures(chosen, outcomes)),
        versions={"lacunet": "1.2.3"},
    )
    made = replace(made, **changes)
    return replace(made, findings=make_findings(made))


def _make_outcome(task, method, place, tables, seconds):
    found = {column: table[method][place] for column, table in tables.items()}
    scores = {
        column: _all_scores(task, value)
        for column, value in found.items()
        if value is not None
    }
    failures = {
        column: "ValueError: too bad"
        for column, value in found.items()
        if value is None
    }
    took = None if found[None] is None else seconds
    return Outcome(method, place, scores, failures, took, ())


def _all_scores(task, value):
    if task == "regression":
        return {"rmse": value, "r2": 1 - value}
    return {"log_loss": value, "accuracy": 1 - value / 2, "auc": 1 - value / 3}
