"""One method on one fold, whatever happens on the way."""

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lacunet._text import shorten
from lacunet.baselines import METHODS, set_nested
from lacunet.evaluation._comparison_folds import Split
from lacunet.evaluation._hold_out import hide_column
from lacunet.evaluation._scores import METRICS, align_probabilities, score
from lacunet.evaluation._target import Task

Scores = Mapping[str, float | None]

_LONGEST = 300  # letters of a reason or a warning that are kept


@dataclass(frozen=True, eq=False)
class Problem:
    """What all methods are given.

    Attributes
    ----------
    task : {"classification", "regression"}
    X : DataFrame
    y : ndarray of shape (n_rows,)
        Numbers, or classes from 0 on.
    n_classes : int
        0 for a regression.
    drop_at_test : tuple of str
    n_nearest : int or None
        So many other columns take part in a regression of chained equations.
    """

    task: Task
    X: pd.DataFrame
    y: np.ndarray
    n_classes: int
    drop_at_test: tuple[str, ...]
    n_nearest: int | None


@dataclass(frozen=True, eq=False)
class Job:
    """A method on a fold.

    Attributes
    ----------
    method : str
    place : int
        Of the split among all.
    split : Split
    seed : int
        The same for all methods.
    """

    method: str
    place: int
    split: Split
    seed: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a job has left.

    Attributes
    ----------
    method : str
    place : int
    scores : mapping of str or None to mapping of str to float or None
        By the column that was missing, None for none; not there if that failed.
    failures : mapping of str or None to str
        Why, in its place.
    seconds : float or None
        None if it failed with all columns.
    warnings : tuple of str
    """

    method: str
    place: int
    scores: Mapping[str | None, Scores]
    failures: Mapping[str | None, str]
    seconds: float | None
    warnings: tuple[str, ...]


def run_job(problem: Problem, job: Job) -> Outcome:
    """Fit a method to the training rows of a fold, and score it on the others.

    Parameters
    ----------
    problem : Problem
    job : Job

    Returns
    -------
    Outcome
    """
    scores: dict[str | None, Scores] = {}
    failures: dict[str | None, str] = {}
    seconds = None
    with collect_warnings() as said:
        start = time.perf_counter()
        with _failing(failures, None):
            model = _fit(problem, job)
            scores[None] = _score(problem, job, model, _test_rows(problem, job))
            seconds = time.perf_counter() - start
    with warnings.catch_warnings(action="ignore"):  # of holes: they are the point
        for column in problem.drop_at_test if None in scores else ():
            with _failing(failures, column):
                rows = _test_rows(problem, job)
                rows = hide_column(rows, rows.columns.get_loc(column))
                scores[column] = _score(problem, job, model, rows)
    return Outcome(job.method, job.place, scores, failures, seconds, tuple(said))


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Keep warnings, each text once, instead of showing them in the midst.

    Yields
    ------
    list of str
        Filled at the end.
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    texts = [" ".join(str(each.message).split()) for each in caught]
    said.extend(dict.fromkeys(shorten(text, _LONGEST) for text in texts))


def _fit(problem: Problem, job: Job) -> Any:
    model = METHODS[job.method](problem.task, job.seed)
    set_nested(model, n_jobs=1, n_nearest_features=problem.n_nearest)
    rows = job.split.train
    return model.fit(problem.X.iloc[rows], problem.y[rows])


def _test_rows(problem: Problem, job: Job) -> pd.DataFrame:
    return problem.X.iloc[job.split.test]


def _score(problem: Problem, job: Job, model: Any, X: pd.DataFrame) -> Scores:
    y = problem.y[job.split.test]
    classes = np.arange(problem.n_classes)
    if problem.task == "regression":
        found = score(problem.task, y, model.predict(X))
    elif hasattr(model, "predict_proba"):
        said = model.predict_proba(X)
        shares = align_probabilities(said, model.classes_, classes)
        found = score(problem.task, y, shares, classes)
    else:
        # Without probabilities only the chosen classes can be scored.
        certain = np.eye(problem.n_classes)[model.predict(X)]
        accuracy = score(problem.task, y, certain, classes)["accuracy"]
        found = {metric.key: None for metric in METRICS[problem.task]}
        found["accuracy"] = accuracy
    values = [value for value in found.values() if value is not None]
    if not np.isfinite(values).all():
        msg = f"Got scores {found}, but expected finite numbers."
        raise ValueError(msg)
    return found


@contextmanager
def _failing(failures: dict[str | None, str], what: str | None) -> Iterator[None]:
    """Keep the reason of a failure: one method must not end the comparison."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        failures[what] = shorten(f"{type(error).__name__}: {reason}", _LONGEST)
