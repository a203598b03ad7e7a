"""Methods compared on one's own table by cross-validation."""

import importlib.util
import itertools
import json
import math
import numbers
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
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
    average,
    choose_format,
    predict,
    row_scores,
    trivial_model,
)
from lacunet.evaluation._statistics import compare_scores
from lacunet.evaluation._target import Task, check_table
from lacunet.exceptions import LacunetError

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
    >>> found.methods["title"].tolist()
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

    described, failures = [], []
    for key in chosen:
        done = [each for each in outcomes if each.method == key]
        failed = [(key, e.fold, *each) for e in done for each in e.failures.items()]
        if failed:
            n_failed = len({fold for _, fold, *_ in failed})
            notes.append(
                f"{METHODS[key].title} failed on {n_failed} of {len(splits)} folds: "
                f"{failed[0][-1]}"
            )
        failures += failed
        seconds = [each.seconds for each in done]
        known = [each for each in seconds if each is not None]
        texts = list(dict.fromkeys(text for each in done for text in each.warnings))
        described.append(
            {
                "key": key,
                "title": METHODS[key].title,
                "seconds": median(known) if known else None,
                "seconds_by_fold": seconds,
                "warnings": texts,
            }
        )
    sizes = {
        "n_repeats": n_repeats,
        "n_train": round(len(X) * (n_folds - 1) / n_folds),
        "n_test": round(len(X) / n_folds),
    }
    scores = []
    for without, metric in itertools.product((None, *hidden), METRICS[task]):
        rows = {
            (each.method, each.fold): pd.Series(
                each.scores.get(without, {}).get(metric.key),
                splits[each.fold][1],
                dtype=np.float64,
            )
            for each in outcomes
        }
        by_method = pd.concat(rows).unstack(level=0)[chosen]
        scores.append(compare_scores(by_method, metric, without, **sizes))
    dummy = trivial_model(task)
    constant = [
        _score(problem, dummy.fit(train, values[train]), test, values[test])
        for train, test in splits
    ]
    means = pd.DataFrame([average(each) for each in constant], dtype=np.float64).mean()
    packages = [each for key in chosen if (each := METHODS[key].package)]
    packages += ["xgboost-cpu"] if "xgboost" in packages else []
    return Comparison(
        task=task,
        metrics=METRICS[task],
        n_rows=len(X),
        n_columns=X.shape[1],
        fraction_missing=float(X.isna().to_numpy().mean()),
        classes=classes,
        n_folds=n_folds,
        stratified=stratified,
        seed=int(random_state) if isinstance(random_state, numbers.Integral) else None,
        drop_at_test=hidden,
        methods=pd.DataFrame(described, dtype=object),
        scores=pd.concat(scores, ignore_index=True),
        failures=pd.DataFrame(
            failures, columns=["method", "fold", "without", "why"], dtype=object
        ),
        trivial={k: None if math.isnan(mean) else mean for k, mean in means.items()},
        notes=tuple(notes),
        versions=find_versions(["scipy", *packages]),
        **sizes,
    )


# --- the result


@dataclass(frozen=True, eq=False)
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
    methods : DataFrame
        A row for each method, in the order in which they were given: ``key`` of
        ``lacunet.baselines.METHODS``, ``title``, ``seconds`` to fit and predict on one
        core (the median over folds), ``seconds_by_fold`` and ``warnings``, each text
        once.
    scores : DataFrame
        A row for each ``metric``, column ``without`` which test rows were scored (None:
        with all columns) and ``method``. None stands for no value.

        - ``by_fold``: the scores, None where the method failed, or where the score is
          undefined; folds of the first repeat come first. ``mean``: over the folds that
          have a value. ``stderr``: standard error of one cross-validation, for
          orientation: folds share training rows. More repeats do not make it smaller.
        - ``rank``: mean rank over folds among the methods that have a value on all; 1
          is the best. ``complete``: whether there is a value on each fold that any
          method has a value on.
        - ``gain``: how much better lacunet is in the mean over folds; negative if it is
          worse, whether the metric is to be high or low. ``low``, ``high``: its 95%
          confidence interval. ``p``: the p-value of the corrected resampled t-test over
          folds, whose standard error is at least that over rows. ``p_holm``: the same,
          corrected for the number of methods by Holm's method. ``different``: whether
          that is at most 0.05.
        - ``n_folds``, ``n_rows``: folds on which both have a value, and their rows.
          ``n_decided``: by accuracy, rows in which one of the two is right and the
          other is not.
    failures : DataFrame
        Why a ``method`` has no value on a ``fold``, counted from 0: ``without`` which
        column, and ``why``, the type of the error and its message.
    trivial : mapping of str to float or None
        Mean scores of a constant prediction: the class frequencies, or the mean.
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
    methods: pd.DataFrame
    scores: pd.DataFrame
    failures: pd.DataFrame
    trivial: Mapping[str, float | None]
    notes: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What follows from the numbers, in sentences."""
        return tuple(describe_comparison(self))

    def ranking(self, metric: Metric, without: str | None = None) -> pd.DataFrame:
        """Return one score of all methods, the best first.

        Those that failed on some folds come last: their means are over other rows.

        Parameters
        ----------
        metric : Metric
            The score to order by.
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        DataFrame
            Rows of ``scores``, with ``title`` and ``seconds`` of the method.
        """
        keys = zip(self.scores["metric"], self.scores["without"], strict=True)
        rows = self.scores[[key == (metric.key, without) for key in keys]]
        methods = self.methods.set_index("key")[["title", "seconds"]]
        order = [False, not metric.higher_is_better]
        return rows.join(methods, on="method").sort_values(
            ["complete", "mean"], ascending=order
        )

    def score_format(self, metric: Metric, without: str | None = None) -> str:
        """Return the format of Python in which all values of a metric are shown."""
        means = self.ranking(metric, without)["mean"].dropna().tolist()
        return choose_format(metric, means or [self.trivial[metric.key]])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, strings and numbers, for JSON."""
        everything = {**asdict(self), "findings": [asdict(e) for e in self.findings]}
        text = json.dumps(
            everything, default=lambda frame: frame.to_dict("records"), allow_nan=False
        )
        plain: dict[str, Any] = json.loads(text)
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
    with threadpool_limits(1), ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
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
    if not all(np.isfinite(each or 0.0) for each in average(found).values()):
        msg = "Got scores that are not finite, but expected finite numbers."
        raise ValueError(msg)
    return found


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
                    scores = average(each.scores.get(None, {}))
                    on_fold(done, len(jobs), each.method, each.fold, scores)
                yield each
    except BrokenProcessPool as error:
        msg = (
            "A process of the comparison was killed, perhaps because memory ran out. "
            "Try again with fewer jobs, or with fewer rows."
        )
        raise LacunetError(msg) from error
