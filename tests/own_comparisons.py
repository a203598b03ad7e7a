"""Comparisons of methods that were never run."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from lacunet.baselines import METHODS
from lacunet.evaluation import METRICS, Comparison
from lacunet.evaluation._statistics import compare_scores

N_ROWS = 40
_SCORES = {
    "rmse": lambda first: first,
    "r2": lambda first: 1 - first,
    "log_loss": lambda first: first,
    "auc": lambda first: 1 - first / 3,
    "accuracy": lambda first: 1 - first / 2,
}


def make_comparison(values, *, task="regression", hidden=None, seconds=None, **changes):
    """Make a comparison of made-up scores.

    ``values`` has a list a method: one number a fold, None if it failed there; other
    scores follow from the first. ``hidden`` has the same for columns that were hidden.
    """
    tables = {None: values, **(hidden or {})}
    n_folds = len(next(iter(values.values())))
    classifies = task == "classification"
    n_test = round(N_ROWS / n_folds)
    sizes = {"n_train": N_ROWS - n_test, "n_test": n_test}
    folds = np.arange(N_ROWS) * n_folds // N_ROWS
    scores = []
    for column, table in tables.items():
        by_fold = pd.DataFrame(table, columns=list(values), dtype=float)
        rows = by_fold.loc[folds].set_axis([folds, np.arange(N_ROWS)])
        for metric in METRICS[task]:
            of_metric = _SCORES[metric.key](rows)
            scores.append(compare_scores(of_metric, metric, column, **sizes))
    failures = [
        (method, fold, column, "ValueError: too bad")
        for method in values
        for fold in range(n_folds)
        for column, table in tables.items()
        if table[method][fold] is None
    ]
    took = dict.fromkeys(values, 1) | (seconds or {})
    took |= {method: None for method, each in values.items() if not any(each)}
    made = Comparison(
        task=task,
        metrics=METRICS[task],
        n_rows=N_ROWS,
        n_columns=len(tables),
        fraction_missing=0.0,
        classes=("no", "yes") if classifies else (),
        n_folds=n_folds,
        n_repeats=1,
        stratified=classifies,
        seed=0,
        drop_at_test=tuple(hidden or ()),
        methods=pd.DataFrame(
            [(key, METHODS[key].title, took[key], [], []) for key in values],
            columns=["key", "title", "seconds", "seconds_by_fold", "warnings"],
            dtype=object,
        ),
        scores=pd.concat(scores, ignore_index=True),
        failures=pd.DataFrame(
            failures, columns=["method", "fold", "without", "why"], dtype=object
        ),
        trivial={"log_loss": math.log(2), "auc": 0.5, "accuracy": 0.5}
        | {"rmse": 1.5, "r2": 0.0},
        notes=(),
        versions={"lacunet": "1.2.3"},
        **sizes,
    )
    return replace(made, **changes)
