"""A column that was complete in training and is missing as a whole at prediction."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.cells import score
from benchmarks.rivals import METHODS, make_lacunet
from benchmarks.table import format_table
from benchmarks.timing import threads

N_TRAIN, N_TEST = 2000, 5000
MOST_WORSE, MOST_ON_COMPLETE = 0.03, 0.15


@dataclass(frozen=True)
class Doubt:
    """Log-losses of a model on complete rows and without the first column."""

    model: str
    complete: float | None
    missing: float | None


def make_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int64)


def log_loss_of(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return score(y, model.predict_proba(X))[0]


def doubt_of(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> Doubt:
    without = np.where([True, False], np.nan, X)
    return Doubt(name, log_loss_of(model, X, y), log_loss_of(model, without, y))


def best_possible(X: np.ndarray, y: np.ndarray) -> Doubt:
    """Return the log-loss of the true probability given the second column."""
    chance = ndtr(0.5 * X[:, 1])
    known = np.column_stack([1 - chance, chance])
    return Doubt("true probabilities", 0.0, score(y, known)[0])


def measure_missing_column(*, quick: bool) -> list[Doubt]:
    """Train on complete rows, and ask with the first column and without it."""
    X, y = make_rows(200 if quick else N_TRAIN, seed=0)
    X_test, y_test = make_rows(N_TEST, seed=1)
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_lacunet(quick, on_unseen_missing="use").fit(X, y)
        doubts = []
        for propagate in ("expectation", "sample"):
            model.set_params(propagate=propagate)
            doubts.append(doubt_of(f"lacunet, {propagate}", model, X_test, y_test))
        blind = make_lacunet(quick).fit(X[:, 1:], y)
        never = log_loss_of(blind, X_test[:, 1:], y_test)
        doubts.append(Doubt("lacunet that never had x0", None, never))
        doubts.append(best_possible(X_test, y_test))
        for method in (METHODS["hgb"], METHODS["catboost"]):
            if method.installed:
                rival = method.make(quick).fit(X, y)
                doubts.append(doubt_of(method.title, rival, X_test, y_test))
    return doubts


def reached(doubts: Sequence[Doubt]) -> dict[str, bool]:
    """Check whether sampling accounts for the uncertainty of the missing column."""
    known = {doubt.model: doubt for doubt in doubts}
    sample = known["lacunet, sample"]
    never = known["lacunet that never had x0"]
    return {
        f"within {MOST_WORSE} of never having had x0": sample.missing
        <= never.missing + MOST_WORSE,
        f"below {MOST_ON_COMPLETE} on complete rows": sample.complete
        < MOST_ON_COMPLETE,
    }


def doubts_table(doubts: Sequence[Doubt]) -> str:
    body = [
        (d.model, *("-" if v is None else f"{v:.3f}" for v in (d.complete, d.missing)))
        for d in doubts
    ]
    return format_table(("log-loss", "complete rows", "x0 missing"), body)
