"""Ours and other methods on one's own table, by cross-validation."""

import importlib.util
import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lacunet._text import list_names
from lacunet._validation import check_choice, check_positive_int
from lacunet._versions import find_versions
from lacunet.baselines import METHODS, TableNumbers
from lacunet.estimators._targets import check_labels, check_numbers
from lacunet.evaluation._comparison_findings import make_findings
from lacunet.evaluation._comparison_folds import Folds, make_folds
from lacunet.evaluation._comparison_record import Comparison
from lacunet.evaluation._comparison_results import (
    Outcomes,
    compare_all,
    gather,
    score_trivial,
    tell_failures,
)
from lacunet.evaluation._comparison_run import (
    Job,
    Outcome,
    Problem,
    collect_warnings,
    run_job,
)
from lacunet.evaluation._scores import METRICS
from lacunet.evaluation._target import Task
from lacunet.evaluation._workers import work_through
from lacunet.exceptions import LacunetError
from lacunet.missingness._stream import own_stream

COMPARED = (
    "lacunet",
    "mean+indicator",
    "knn",
    "mice",
    "hgb",
    "lightgbm",
    "xgboost",
    "catboost",
)
# Chained equations on wide tables: each column is regressed on so many others. On 500
# rows with 25 of 120 columns the error is 6% larger than with all, in 40% of the time;
# with 10 of them it is 29% larger, and hardly faster.
WIDE, N_NEAREST = 30, 25

OnFold = Callable[[int, int, str, int, Mapping[str, float | None]], object]


def compare_methods(
    X: pd.DataFrame,
    y: Any,
    *,
    task: Task,
    methods: Sequence[str] = COMPARED,
    n_folds: int = 5,
    n_repeats: int = 1,
    drop_at_test: Sequence[str] = (),
    random_state: Any = 0,
    n_jobs: int = 1,
    on_fold: OnFold | None = None,
) -> Comparison:
    """Compare methods on a table with missing values by cross-validation.

    All methods are fitted to the same training rows and scored on the same others, at
    their defaults. Everything that is learned, such as means to fill with, is learned
    from the training rows alone. Folds are shuffled, and stratified for classes.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Without holes.
    task : {"classification", "regression"}
    methods : sequence of str, default=COMPARED
        Keys of ``lacunet.baselines.METHODS``. Those whose library is not
        installed, or that can't do the task, are left out with a note.
    n_folds, n_repeats : int, default=5 and 1
        Fewer folds are made if a class has fewer rows, with a note.
    drop_at_test : sequence of str, default=()
        Columns. For each of them, the fitted methods are scored once more on the test
        rows with this column missing.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the methods.
    n_jobs : int, default=1
        Number of processes. A method computes on one core in any case, so that times
        can be compared.
    on_fold : callable, default=None
        Told of each method on each fold, as ``on_fold(done, total, method, fold,
        scores)``, in this process. The scores are empty if it failed.

    Returns
    -------
    Comparison
        A method that fails on a fold has no value there, and the reason is kept.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.evaluation import compare_methods
    >>> X = pd.DataFrame({"age": [40, None, 50] * 20, "town": ["Rome", "Bonn"] * 30})
    >>> y = ["ill", "well", "ill"] * 20
    >>> found = compare_methods(
    ...     X, y, task="classification", methods=["hgb", "mean"], n_folds=2
    ... )
    >>> [method.title for method in found.methods]
    ['HistGradientBoosting', 'mean']
    >>> print(found.findings[0].head)
    mean has the lowest log-loss
    """
    _check_options(X, task, n_folds, n_repeats, n_jobs)
    hidden = _check_columns(X, drop_at_test)
    chosen, notes = _choose_methods(methods, task)
    values, classes = _check_target(task, y, len(X))
    stream = own_stream(random_state)
    folds = make_folds(task, values, classes, n_folds, n_repeats, stream)
    nearest, odd = _limit_columns(X, chosen)
    problem = Problem(task, X, values, len(classes), hidden, nearest)
    outcomes = _run(problem, _plan(chosen, folds, stream), n_jobs, on_fold)
    found = Comparison(
        task=task,
        metrics=METRICS[task],
        n_rows=X.shape[0],
        n_columns=X.shape[1],
        share_missing=float(X.isna().to_numpy().mean()),
        classes=classes,
        n_folds=folds.n_folds,
        n_repeats=n_repeats,
        stratified=folds.stratified,
        n_train=folds.n_train,
        n_test=folds.n_test,
        seed=int(random_state) if _is_seed(random_state) else None,
        drop_at_test=hidden,
        methods=gather(chosen, problem, folds, outcomes),
        trivial=score_trivial(problem, folds),
        tests=compare_all(chosen, problem, folds, outcomes),
        notes=(
            *notes,
            *folds.notes,
            *odd,
            *_tell_always_there(X, hidden),
            *tell_failures(chosen, outcomes),
        ),
        versions=find_versions(_packages(chosen)),
    )
    return replace(found, findings=make_findings(found))


# --- checks and choices


def _packages(methods: Sequence[str]) -> list[str]:
    packages = [METHODS[key].package for key in methods]
    found = ["scipy", *(each for each in packages if each)]
    return [*found, "xgboost-cpu"] if "xgboost" in found else found


def _check_options(
    X: pd.DataFrame, task: str, n_folds: int, n_repeats: int, n_jobs: int
) -> None:
    if not isinstance(X, pd.DataFrame):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a pandas DataFrame. "
            f"Convert it with pandas.DataFrame(X)."
        )
        raise TypeError(msg)
    check_choice(task, tuple(METRICS), "task")
    if check_positive_int(n_folds, "n_folds") < 2:
        msg = f"Got n_folds={n_folds}, but expected at least 2."
        raise ValueError(msg)
    check_positive_int(n_repeats, "n_repeats")
    check_positive_int(n_jobs, "n_jobs")


def _check_columns(X: pd.DataFrame, columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        msg = f"Got drop_at_test={columns!r}, but expected a list: [{columns!r}]."
        raise TypeError(msg)
    names = [name for name in X.columns if isinstance(name, str)]
    unknown = [each for each in columns if each not in names]
    if unknown:
        msg = (
            f"Got drop_at_test with {unknown[0]!r}, but expected columns of X: "
            f"{list_names([str(name) for name in X.columns])}."
        )
        raise ValueError(msg)
    return tuple(dict.fromkeys(columns))


def _choose_methods(methods: Sequence[str], task: str) -> tuple[list[str], list[str]]:
    """Return the methods that can run, and why others can't."""
    if isinstance(methods, str):
        msg = f"Got methods={methods!r}, but expected a list: [{methods!r}]."
        raise TypeError(msg)
    chosen, notes = [], []
    for key in dict.fromkeys(methods):
        check_choice(key, tuple(METHODS), "a method")
        title = METHODS[key].title
        if task not in METHODS[key].tasks:
            notes.append(f"{title} is left out: it can't do a {task}.")
        elif METHODS[key].package and importlib.util.find_spec(key) is None:
            notes.append(
                f"{title} is left out: it is not installed. Get it with pip install "
                f"'lacunet[boosting]'."
            )
        else:
            chosen.append(key)
    if not chosen:
        told = " ".join(notes) or "There are none."
        msg = (
            f"Got methods={list(methods)!r}, but expected at least one that can run. "
            f"{told}"
        )
        raise ValueError(msg)
    return chosen, notes


def _check_target(
    task: Task, y: Any, n_rows: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return numbers, or classes from 0 on, and the names of the classes."""
    if task == "regression":
        values, classes = check_numbers(y), np.array([])
    else:
        # Truth values and numbers among objects are what they are.
        labels = check_labels(pd.Series(np.asarray(y)).infer_objects().to_numpy())
        classes, values = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            msg = f"Got y with {len(classes)} classes, but expected at least 2."
            raise ValueError(msg)
    if values.shape != (n_rows,):
        msg = (
            f"Got y of shape {values.shape}, but expected ({n_rows},): a value for "
            f"each row of X."
        )
        raise ValueError(msg)
    return values, tuple(str(each) for each in classes.tolist())


def _limit_columns(
    X: pd.DataFrame, chosen: Sequence[str]
) -> tuple[int | None, list[str]]:
    """Return on how many columns chained equations regress, and what is odd.

    Tables that no method can take are refused here.
    """
    with collect_warnings() as notes:
        n_encoded = len(TableNumbers().fit(X).get_feature_names_out())
    if n_encoded <= WIDE or "mice" not in chosen:
        return None, notes
    notes.append(
        f"mice regresses each column on {N_NEAREST} others, which it draws by "
        f"correlation: the table has {n_encoded:,} columns of numbers, levels of "
        f"categories counted."
    )
    return N_NEAREST, notes


def _tell_always_there(X: pd.DataFrame, hidden: Sequence[str]) -> list[str]:
    always = [column for column in hidden if X[column].notna().all()]
    if not always:
        return []
    verb = "is" if len(always) == 1 else "are"
    return [
        f"{list_names(always)} {verb} never missing in the table: no method could "
        f"learn what to do then."
    ]


def _is_seed(random_state: Any) -> bool:
    return isinstance(random_state, numbers.Integral)


# --- the run


def _plan(
    chosen: Sequence[str], folds: Folds, stream: np.random.RandomState
) -> list[Job]:
    """Return all jobs, one fold after the other."""
    seeds = stream.randint(2**31 - 1, size=len(folds.splits)).tolist()
    return [
        Job(method, place, split, seed)
        for place, (split, seed) in enumerate(zip(folds.splits, seeds, strict=True))
        for method in chosen
    ]


def _run(
    problem: Problem, jobs: Sequence[Job], n_jobs: int, on_fold: OnFold | None
) -> Outcomes:
    outcomes: dict[tuple[str, int], Outcome] = {}
    n_processes = min(n_jobs, len(jobs))
    try:
        # Closed when on_fold raises, too: no process is left behind.
        with closing(
            work_through(partial(run_job, problem), jobs, n_processes)
        ) as answers:
            for outcome in answers:
                outcomes[outcome.method, outcome.place] = outcome
                if on_fold is not None:
                    scores = outcome.scores.get(None, {})
                    done = len(outcomes)
                    on_fold(done, len(jobs), outcome.method, outcome.place, scores)
    except LacunetError as error:
        if n_processes == 1:
            raise
        msg = (
            "A process of the comparison was ended from outside, perhaps because "
            "memory ran out. Try again with fewer jobs, or with fewer rows. If this "
            "comes at once, guard your script with if __name__ == '__main__'."
        )
        raise LacunetError(msg) from error
    return outcomes
