"""Methods compared on one's own table by cross-validation."""

import importlib.util
import itertools
import json
import numbers
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lacunet._text import list_names, shorten
from lacunet._validation import check_choice, check_positive_int
from lacunet._versions import find_versions
from lacunet.baselines import METHODS, TableNumbers, set_nested
from lacunet.evaluation._findings import Finding, describe_comparison
from lacunet.evaluation._scores import (
    METRICS,
    Metric,
    RowScores,
    choose_format,
    predict,
    row_scores,
    trivial_model,
)
from lacunet.evaluation._statistics import (
    OURS,
    Against,
    Summary,
    compare_with_ours,
    summarize,
)
from lacunet.evaluation._target import Task, check_table
from lacunet.exceptions import LacunetError
from lacunet.inspection import Estimate

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
# Chained equations on wide tables: each column is regressed on this many others. On 500
# rows with 25 of 120 columns the error is 6% larger than with all, in 40% of the time;
# with 10 of them it is 29% larger, and hardly faster.
WIDE, N_NEAREST = 30, 25
_FEWEST_ROWS = 2  # of a fold: R² needs two
_LONGEST = 300  # characters of an error message or a warning that are kept

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
) -> "Comparison":
    """Compare methods on a table with missing values by cross-validation.

    All methods are fitted to the same training rows and scored on the same test rows,
    with their default parameters. Everything that is learned, such as means to impute
    with, is learned from the training rows alone. Folds are shuffled, and stratified
    for classes.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_features)
        The table, with missing values.
    y : array-like of shape (n_samples,)
        The target, without missing values.
    task : {"classification", "regression"}
        What is predicted.
    methods : sequence of str, default=COMPARED
        Keys of ``lacunet.baselines.METHODS``. Those whose library is not installed, or
        that can't do the task, are left out with a note.
    n_folds, n_repeats : int, default=5 and 1
        Number of folds, and of cross-validations with other folds. Fewer folds are made
        if a class has fewer rows, with a note.
    drop_at_test : sequence of str, default=()
        Columns. For each of them, the fitted methods are scored once more on the test
        rows with this column missing.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the methods.
    n_jobs : int, default=1
        Number of processes. A method computes on one core in any case, so that times
        can be compared.
    on_fold : callable, default=None
        Called after each method on each fold as ``on_fold(done, total, method, fold,
        scores)``, in this process. The scores are empty if the method failed.

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
    values = check_table(X, y, task)
    classes: tuple[str, ...] = ()
    if task == "classification":
        labels, values = np.unique(values, return_inverse=True)
        classes = tuple(str(each) for each in labels.tolist())
    check_positive_int(n_repeats, "n_repeats")
    check_positive_int(n_jobs, "n_jobs")
    check_positive_int(n_folds, "n_folds")
    if n_folds < 2:
        msg = f"Got n_folds={n_folds}, but expected at least 2."
        raise ValueError(msg)
    for name, given in {"methods": methods, "drop_at_test": drop_at_test}.items():
        if isinstance(given, str):
            msg = f"Got {name}={given!r}, but expected a list: [{given!r}]."
            raise TypeError(msg)
    hidden = tuple(dict.fromkeys(drop_at_test))
    if absent := [column for column in hidden if column not in X.columns]:
        names = list_names([str(each) for each in X.columns])
        msg = f"Got drop_at_test={absent}, but expected columns of X: {names}."
        raise ValueError(msg)
    notes: list[str] = []
    chosen = _choose_methods(methods, task, notes)
    n_folds, stratified = _choose_folds(values, classes, n_folds, notes)
    n_nearest = _limit_columns(X, chosen, notes)
    if always := [column for column in hidden if X[column].notna().all()]:
        notes.append(
            f"Never missing in the table: {list_names(always)}. No method could learn "
            f"what to do without."
        )
    problem = Problem(task, X, values, classes, hidden, n_nearest)

    # A stream of its own: a table that was made with the same seed must not decide on
    # the folds.
    stream = np.random.RandomState(check_random_state(random_state).randint(2**31 - 1))
    kind = RepeatedStratifiedKFold if stratified else RepeatedKFold
    folds = kind(n_splits=n_folds, n_repeats=n_repeats, random_state=stream)
    splits = list(folds.split(np.zeros(len(X)), values))
    seeds = stream.randint(2**31 - 1, size=len(splits)).tolist()
    jobs = [
        delayed(_run_fold)(problem, method, fold, *split, seed)
        for fold, (split, seed) in enumerate(zip(splits, seeds, strict=True))
        for method in chosen
    ]
    outcomes = sorted(_run_all(jobs, n_jobs, on_fold), key=lambda each: each.fold)
    return gather(
        problem,
        {key: [each for each in outcomes if each.method == key] for key in chosen},
        splits,
        n_repeats=n_repeats,
        stratified=stratified,
        seed=int(random_state) if isinstance(random_state, numbers.Integral) else None,
        notes=notes,
    )


# --- the result


@dataclass(frozen=True)
class Failure:
    """Why a method has no value on a fold.

    Attributes
    ----------
    fold : int
        Which fold, from 0; those of the first repeat come first.
    without : str or None
        The column that was missing; None if it failed with all columns.
    why : str
        The type of the error and its message.
    """

    fold: int
    without: str | None
    why: str


@dataclass(frozen=True)
class MethodResult:
    """The scores of one method.

    Attributes
    ----------
    key : str
        Of ``lacunet.baselines.METHODS``.
    title : str
        Its name in tables and pages.
    scores : mapping of str to Summary
        By the key of the metric.
    without : mapping of str to mapping of str to Summary
        The same for each column that was hidden in the test rows.
    seconds_by_fold : tuple of float or None
        Time to fit and predict, on one core.
    seconds : float or None
        Their median.
    failures : tuple of Failure
        Where it failed, and why.
    warnings : tuple of str
        What it warned of; each text once.
    """

    key: str
    title: str
    scores: Mapping[str, Summary]
    without: Mapping[str, Mapping[str, Summary]]
    seconds_by_fold: tuple[float | None, ...]
    seconds: float | None
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]

    def at(self, without: str | None) -> Mapping[str, Summary]:
        """Return the scores with all columns, or without one."""
        return self.scores if without is None else self.without[without]


@dataclass(frozen=True)
class Comparison:
    """Methods compared on one table by cross-validation, as plain data.

    Attributes
    ----------
    task : {"classification", "regression"}
        What was predicted.
    metrics : tuple of Metric
        The first is what methods are ordered by.
    n_rows, n_columns : int
        Size of the table without the target.
    fraction_missing : float
        Of the cells of the table.
    classes : tuple of str
        Empty for a regression.
    n_folds, n_repeats : int
        Number of folds, and of cross-validations.
    stratified : bool
        Whether each fold has about the same fraction of each class.
    n_train, n_test : int
        Rows of a fold, on average.
    seed : int or None
        None if a random state was given, or none at all.
    drop_at_test : tuple of str
        Columns that were hidden in the test rows, one at a time.
    methods : tuple of MethodResult
        In the order in which they were given.
    trivial : mapping of str to Summary
        Scores of a constant prediction: the class frequencies, or the mean.
    tests : tuple of Against
        lacunet against each other method, by each metric.
    notes : tuple of str
        What was done otherwise than asked, and what failed.
    versions : mapping of str to str
        Of the packages that took part.
    """

    task: Task
    metrics: tuple[Metric, ...]
    n_rows: int
    n_columns: int
    fraction_missing: float
    classes: tuple[str, ...]
    n_folds: int
    n_repeats: int
    stratified: bool
    n_train: int
    n_test: int
    seed: int | None
    drop_at_test: tuple[str, ...]
    methods: tuple[MethodResult, ...]
    trivial: Mapping[str, Summary]
    tests: tuple[Against, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What follows from the numbers, in sentences."""
        return tuple(describe_comparison(self))

    @property
    def ours(self) -> MethodResult | None:
        """The result of lacunet, if it took part."""
        return next((each for each in self.methods if each.key == OURS), None)

    def title_of(self, key: str) -> str:
        """Return the title of a method."""
        return next(each.title for each in self.methods if each.key == key)

    def ordered(
        self, metric: Metric, without: str | None = None
    ) -> list[tuple[MethodResult, Summary]]:
        """Return the methods with a score, the best first.

        Those that failed on some folds come last: their means are over other rows.

        Parameters
        ----------
        metric : Metric
            The score to order by.
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        list of (MethodResult, Summary)
        """
        sign = -1 if metric.higher_is_better else 1
        found = [
            (not summary.complete, sign * summary.mean, place, method, summary)
            for place, method in enumerate(self.methods)
            if (summary := method.at(without)[metric.key]).mean is not None
        ]
        return [(method, summary) for *_, method, summary in sorted(found)]

    def completed(
        self, metric: Metric, without: str | None = None
    ) -> list[tuple[MethodResult, Estimate]]:
        """Return the methods with a score on every fold, the best first.

        Parameters
        ----------
        metric : Metric
            The score to order by.
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        list of (MethodResult, Estimate)
        """
        return [
            (method, Estimate(summary.mean, summary.stderr))
            for method, summary in self.ordered(metric, without)
            if summary.complete and summary.mean is not None
        ]

    def tests_of(self, metric: Metric, without: str | None = None) -> list[Against]:
        """Return lacunet against each other method.

        Parameters
        ----------
        metric : Metric
            The score that is compared.
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        list of Against
        """
        asked = (metric.key, without)
        return [each for each in self.tests if (each.metric, each.without) == asked]

    def score_format(self, metric: Metric, without: str | None = None) -> str:
        """Return the format of Python in which all values of a metric are shown."""
        means = [summary.mean for _, summary in self.ordered(metric, without)]
        return choose_format(metric, means or [self.trivial[metric.key].mean])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, strings and numbers, for JSON."""
        everything = {**asdict(self), "findings": [asdict(e) for e in self.findings]}
        plain: dict[str, Any] = json.loads(json.dumps(everything, allow_nan=False))
        return plain


# --- checks and choices


def _choose_methods(methods: Sequence[str], task: str, notes: list[str]) -> list[str]:
    """Return the methods that can run, and note why others can't."""
    chosen = []
    for key in dict.fromkeys(methods):
        check_choice(key, tuple(METHODS), "a method")
        title, package = METHODS[key].title, METHODS[key].package
        if task not in METHODS[key].tasks:
            notes.append(f"{title} is left out: it does no {task}.")
        elif package and importlib.util.find_spec(package) is None:
            notes.append(
                f"{title} is left out: it is not installed. Get it with pip install "
                f"'lacunet[boosting]'."
            )
        else:
            chosen.append(key)
    if not chosen:
        msg = (
            f"Got methods={list(methods)!r}, but expected at least one that can run. "
            f"{' '.join(notes) or 'There are none.'}"
        )
        raise ValueError(msg)
    return chosen


def _choose_folds(
    y: np.ndarray, classes: Sequence[str], n_folds: int, notes: list[str]
) -> tuple[int, bool]:
    """Return the number of folds, and whether they are stratified."""
    most, why = len(y) // _FEWEST_ROWS, f"there are {len(y)} rows"
    smallest = min(np.bincount(y)) if classes else 0
    if smallest > 1:
        name = shorten(classes[int(np.bincount(y).argmin())])
        most, why = int(smallest), f"the class {name!r} has {smallest} rows"
    elif classes:
        notes.append(
            "Some class has one row only, so the folds are not stratified. A class "
            "that is not among the training rows counts against all methods alike."
        )
    if n_folds > most:
        notes.append(f"{most} folds instead of {n_folds}, as {why}.")
    return min(n_folds, most), bool(smallest > 1)


def _limit_columns(
    X: pd.DataFrame, chosen: Sequence[str], notes: list[str]
) -> int | None:
    """Return on how many columns mice regresses; refuse what no method can take."""
    with _collect_warnings(notes):
        n_encoded = len(TableNumbers().fit(X).get_feature_names_out())
    if n_encoded <= WIDE or "mice" not in chosen:
        return None
    notes.append(
        f"mice regresses each column on {N_NEAREST} others, drawn by correlation: the "
        f"table has {n_encoded:,} numeric columns after one-hot encoding."
    )
    return N_NEAREST


# --- one method on one fold


@dataclass(frozen=True, eq=False)
class Problem:
    """What all methods are given; ``y`` has numbers, or indices into ``classes``."""

    task: Task
    X: pd.DataFrame
    y: np.ndarray
    classes: tuple[str, ...]
    drop_at_test: tuple[str, ...] = ()
    n_nearest: int | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method on one fold: scores or failures by hidden column, None for none."""

    method: str
    fold: int
    scores: Mapping[str | None, RowScores]
    failures: Mapping[str | None, str]
    seconds: float | None
    warnings: tuple[str, ...] = ()


def _run_fold(
    problem: Problem,
    method: str,
    fold: int,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> Outcome:
    """Fit a method to the training rows of a fold, and score it on the test rows."""
    scores: dict[str | None, RowScores] = {}
    failures: dict[str | None, str] = {}
    messages: list[str] = []
    seconds = None
    X, y = problem.X.iloc[test], problem.y[test]
    with _one_thread():
        with _collect_warnings(messages), _record_failure(failures, None):
            start = time.perf_counter()
            model = METHODS[method](problem.task, seed)
            set_nested(model, n_jobs=1, n_nearest_features=problem.n_nearest)
            model.fit(problem.X.iloc[train], problem.y[train])
            scores[None] = _score(problem, model, X, y)
            seconds = time.perf_counter() - start
        with warnings.catch_warnings(action="ignore"):  # a column is empty on purpose
            for column in problem.drop_at_test if None in scores else ():
                with _record_failure(failures, column):
                    hidden = X.copy(deep=False)
                    hidden[column] = np.nan
                    scores[column] = _score(problem, model, hidden, y)
    return Outcome(method, fold, scores, failures, seconds, tuple(messages))


def _score(problem: Problem, model: Any, X: Any, y: np.ndarray) -> RowScores:
    classes = np.arange(len(problem.classes))
    found = row_scores(problem.task, y, predict(model, X, classes))
    if not all(np.isfinite(_mean(each) or 0.0) for each in found.values()):
        msg = "Got scores that are not finite, but expected finite numbers."
        raise ValueError(msg)
    return found


def _mean(rows: np.ndarray | None) -> float | None:
    return None if rows is None else float(rows.mean())


@contextmanager
def _one_thread() -> Iterator[None]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(n_threads)


@contextmanager
def _collect_warnings(messages: list[str]) -> Iterator[None]:
    """Collect warnings, each text once, instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = [" ".join(str(each.message).split()) for each in caught]
    messages.extend(dict.fromkeys(shorten(text, _LONGEST) for text in texts))


@contextmanager
def _record_failure(
    failures: dict[str | None, str], column: str | None
) -> Iterator[None]:
    """Keep the reason of a failure and go on."""
    try:
        yield
    # Any error: one method must not end the comparison, and the libraries behind them
    # raise errors of their own that have no other base (CatBoostError, LightGBMError).
    except Exception as error:
        message = " ".join(str(error).split())
        failures[column] = shorten(f"{type(error).__name__}: {message}", _LONGEST)


# --- all of them


def _run_all(
    jobs: Sequence[Any], n_jobs: int, on_fold: OnFold | None
) -> Iterator[Outcome]:
    """Run jobs, in this process if ``n_jobs`` is 1; yield outcomes as they come."""
    parallel = Parallel(
        n_jobs,
        backend="loky",
        return_as="generator_unordered",
        max_nbytes=None,  # no memory-mapped files that an interrupt would leave behind
    )
    try:
        # Closed when on_fold raises, too: that ends the processes, and joblib warns.
        with warnings.catch_warnings(), closing(parallel(jobs)) as results:
            warnings.filterwarnings("ignore", module="joblib")
            for done, each in enumerate(results, start=1):
                if on_fold is not None:
                    rows = each.scores.get(None, {})
                    scores = {key: _mean(values) for key, values in rows.items()}
                    on_fold(done, len(jobs), each.method, each.fold, scores)
                yield each
    except BrokenProcessPool as error:
        msg = (
            "A process of the comparison was killed, perhaps because memory ran out. "
            "Try again with fewer jobs, or with fewer rows."
        )
        raise LacunetError(msg) from error


def gather(
    problem: Problem,
    outcomes: Mapping[str, Sequence[Outcome]],
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    n_repeats: int,
    stratified: bool,
    seed: int | None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Summarize what the methods did on all folds, and test lacunet against them."""
    X, y, metrics = problem.X, problem.y, METRICS[problem.task]
    n_rows, n_folds = len(X), len(splits) // n_repeats
    n_train, n_test = round(n_rows * (n_folds - 1) / n_folds), round(n_rows / n_folds)
    dummy = trivial_model(problem.task)
    constant = [
        _score(problem, dummy.fit(train, y[train]), test, y[test])
        for train, test in splits
    ]
    trivial: dict[str, Summary] = {}
    scores: dict[str, dict[str | None, dict[str, Summary]]]
    scores = {method: {} for method in outcomes}
    tests: list[Against] = []
    for column, metric in itertools.product((None, *problem.drop_at_test), metrics):
        rows = {
            method: [each.scores.get(column, {}).get(metric.key) for each in done]
            for method, done in outcomes.items()
        }
        values = {method: list(map(_mean, each)) for method, each in rows.items()}
        for method, summary in summarize(values, metric, n_repeats).items():
            scores[method].setdefault(column, {})[metric.key] = summary
        of_constant = [_mean(each[metric.key]) for each in constant]
        trivial |= {metric.key: summarize({"": of_constant}, metric, n_repeats)[""]}
        of_folds = [test for _, test in splits]
        tests += compare_with_ours(
            rows, of_folds, metric, column, n_train=n_train, n_test=n_test
        )
    results, failed = [], []
    for method, done in outcomes.items():
        seconds = [each.seconds for each in done if each.seconds is not None]
        failures = [
            Failure(each.fold, column, why)
            for each in done
            for column, why in each.failures.items()
        ]
        if failures:
            failed.append(
                f"{METHODS[method].title} failed on {len({e.fold for e in failures})} "
                f"of {len(splits)} folds: {failures[0].why}"
            )
        results.append(
            MethodResult(
                key=method,
                title=METHODS[method].title,
                scores=scores[method][None],
                without={c: scores[method][c] for c in problem.drop_at_test},
                seconds_by_fold=tuple(each.seconds for each in done),
                seconds=median(seconds) if seconds else None,
                failures=tuple(failures),
                warnings=tuple(
                    dict.fromkeys(w for each in done for w in each.warnings)
                ),
            )
        )
    packages = [name for key in outcomes if (name := METHODS[key].package)]
    packages += ["xgboost-cpu"] if "xgboost" in packages else []
    return Comparison(
        task=problem.task,
        metrics=metrics,
        n_rows=n_rows,
        n_columns=X.shape[1],
        fraction_missing=float(X.isna().to_numpy().mean()),
        classes=problem.classes,
        n_folds=n_folds,
        n_repeats=n_repeats,
        stratified=stratified,
        n_train=n_train,
        n_test=n_test,
        seed=seed,
        drop_at_test=problem.drop_at_test,
        methods=tuple(results),
        trivial=trivial,
        tests=tuple(tests),
        notes=(*notes, *failed),
        versions=find_versions(["scipy", *packages]),
    )
