"""Fifteen small tables of two classes: incomplete, or half of the values removed."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from reproduction.datasets import load_dataset
from sklearn.model_selection import StratifiedKFold

from benchmarks.cells import Comparison, Split

NATURAL = (
    "bands",
    "kidney_disease",
    "hepatitis",
    "horse",
    "mammographics",
    "pima",
    "winconsin",
)
COMPLETE = (
    "australian",
    "bank",
    "breast_cancer",
    "crashes",
    "diabetes",
    "fourclass",
    "heart",
    "liver_disorders",
)
SETS = (*NATURAL, *COMPLETE)
# The same rows twice, or nearly: one vote each in a test of significance.
PAIRS = (("pima", "diabetes"), ("winconsin", "breast_cancer"))
METHODS = (
    "lacunet",
    "catboost",
    "hgb",
    "lightgbm",
    "xgboost",
    "mlp",
    "logistic",
    "knn-svc",
    "forest",
)
N_FOLDS = 5
REMOVED = 0.5


def remove(X: np.ndarray, fraction: float) -> np.ndarray:
    """Return a copy that lacks a fraction of its values, always the same ones."""
    hidden = np.random.default_rng(0).random(X.shape) < fraction
    return np.where(hidden, np.nan, X)


def comparisons(names: Sequence[str], *, n_folds: int = N_FOLDS) -> list[Comparison]:
    """Return the sets, of whose five folds the first ``n_folds`` are used."""
    return [Comparison(name, n_folds, partial(make_splits, name)) for name in names]


def make_splits(name: str) -> list[Split]:
    X, y = load_dataset(name, return_X_y=True)
    if name in COMPLETE:
        X = remove(X, REMOVED)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return [Split(X, y, *rows) for rows in folds.split(X, y)]
