"""A model evaluated on held-out rows, with two others beside it."""

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import confusion_matrix

from lacunet._versions import find_versions
from lacunet.baselines import METHODS
from lacunet.estimators import EncodedModel
from lacunet.evaluation._findings import Finding, describe_hold_out
from lacunet.evaluation._scores import (
    METRICS,
    Metric,
    choose_format,
    predict,
    score,
    trivial_model,
)
from lacunet.evaluation._target import Task, check_table, split_rows
from lacunet.exceptions import LacunetError
from lacunet.inspection import (
    Estimate,
    Importance,
    compare_losses,
    importance,
    prediction_interval,
    prediction_set,
    row_losses,
)
from lacunet.tables import Schema

_TITLES = {
    "lacunet": "lacunet",
    "hgb": METHODS["hgb"].title,
    "trivial": "trivial model",
}
_MOST_CONFUSED = 20  # classes in a confusion matrix
# Bins by prediction, for calibration.
_MOST_BINS = 10
_ROWS_PER_BIN = 15
_N_SIMULATED = 200
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Bins by the number of missing values in a row.
_MOST_MISSING_BINS = 6
_ROWS_PER_MISSING_BIN = 20
# Of intervals and sets, and the rows that they are checked on.
COVERAGE = 0.9
_MOST_COVERED = 300
_FIRST_COLUMNS = 3  # the most important, measured given the others, too


@dataclass(frozen=True)
class ClassRows:
    """A class and its number of rows.

    Attributes
    ----------
    name : str, int, float or bool
        The class.
    n_train, n_test : int
        Its training rows and its held-out rows.
    """

    name: str | int | float | bool
    n_train: int
    n_test: int


@dataclass(frozen=True)
class LearningStep:
    """One epoch of training.

    Attributes
    ----------
    epoch : int
        Counted from one.
    train_loss, valid_loss : float
        Training loss, with values hidden at random and the density's own term, and loss
        on the validation rows; means over the views that were still in training.
    best : bool
        Whether a view had its lowest validation loss so far.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    best: bool


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with similar predicted probabilities.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    predicted : float
        Mean predicted probability.
    observed : float
        Fraction of the rows in which the event happened.
    low, high : float
        95% confidence interval of that fraction (Wilson).
    """

    n_rows: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """Predicted probabilities against observed frequencies.

    Attributes
    ----------
    bins : tuple of CalibrationBin
        Bins of about equally many rows, by probability.
    calibration_error : float
        Mean absolute gap between probability and frequency, weighted by rows.
    by_chance : float
        Mean calibration error of perfectly calibrated probabilities on as many rows.
    p_value : float
        Probability that theirs would be as large.
    """

    bins: tuple[CalibrationBin, ...]
    calibration_error: float
    by_chance: float
    p_value: float


@dataclass(frozen=True)
class AgreementBin:
    """Rows with similar predicted numbers.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    predicted, observed : float
        Mean prediction and mean target.
    quantiles : tuple of float
        Quantiles of the target: 5, 25, 50, 75 and 95%.
    """

    n_rows: int
    predicted: float
    observed: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class Agreement:
    """Predicted numbers against observed ones.

    Attributes
    ----------
    bins : tuple of AgreementBin
        Bins of about equally many rows, by prediction.
    bias : float
        Mean residual, observed minus predicted.
    residuals : tuple of float
        Quantiles of the residuals: 5, 25, 50, 75 and 95%.
    """

    bins: tuple[AgreementBin, ...]
    bias: float
    residuals: tuple[float, ...]


@dataclass(frozen=True)
class MissingBin:
    """Rows with a similar number of missing values.

    Attributes
    ----------
    fewest, most : int
        Range of missing values in a row.
    n_rows : int
        Number of rows.
    losses : mapping of str to Estimate
        First score of each model on these rows.
    """

    fewest: int
    most: int
    n_rows: int
    losses: Mapping[str, Estimate]

    @property
    def label(self) -> str:
        """The range of missing values, for people."""
        return _show_range(self.fewest, self.most)


@dataclass(frozen=True)
class CoverageBin:
    """How often targets are where the model expects them.

    Attributes
    ----------
    fewest, most : int
        Range of missing values in a row.
    n_rows : int
        Number of rows.
    covered : float
        Fraction of the targets in their 90% prediction interval or set.
    low, high : float
        95% confidence interval of that fraction (Wilson).
    width : float
        Mean width of the intervals, or number of classes in the sets.
    """

    fewest: int
    most: int
    n_rows: int
    covered: float
    low: float
    high: float
    width: float

    @property
    def label(self) -> str:
        """The range of missing values, for people."""
        return _show_range(self.fewest, self.most)


def _show_range(fewest: int, most: int) -> str:
    return f"{fewest}\N{EN DASH}{most}" if fewest < most else f"{most}"


@dataclass(frozen=True, eq=False)
class HoldOut:
    """A model evaluated on held-out rows, with two others beside it.

    The models are named ``"lacunet"``, ``"hgb"`` and ``"trivial"``.

    Attributes
    ----------
    task : {"classification", "regression"}
        What is predicted.
    n_train, n_test, n_unlabelled, n_columns : int
        Training rows, held-out rows, training rows without a target, and columns.
    test_size : float
        Fraction of rows that was held out.
    random_state : int
        Seed of the split.
    classes : tuple of ClassRows
        In the order of the probabilities; empty for a regression.
    scores : mapping of str to mapping of str to float or None
        All scores of each model, by the key of the metric.
    estimates : mapping of str to Estimate
        First score of each model, with its standard error.
    leads : mapping of str to Estimate
        First score of each other model minus ours, paired by row: positive if ours is
        better.
    seconds : mapping of str to float
        Time to fit each model.
    max_epochs : int or None
        Limit on the epochs of our model; None if it was left to the model.
    time_limit : float or None
        Limit on its seconds.
    timed_out : bool
        Whether that limit cut its training.
    learning : tuple of LearningStep
        Its epochs.
    calibration : mapping of str to Calibration
        Of the probabilities of our model and HistGradientBoosting: of the second class
        if there are two, else of the predicted class. Empty for a regression.
    agreement : mapping of str to Agreement
        Of their predictions; empty for a classification.
    mean_confidence : float or None
        Mean probability of the class that our model predicts.
    by_missing : tuple of MissingBin
        Their first scores by the number of missing values in a row.
    coverage : tuple of CoverageBin
        Coverage of our model's 90% prediction intervals, or sets of classes, by the
        number of missing values in a row, in at most 300 rows. Empty if the model has
        no calibration rows.
    importance : Importance
        Which columns our model relies on, by permutation.
    conditional : Importance
        The same of the first three that matter, by draws given the other columns: what
        they add to these.
    confusion : tuple of tuple of int
        Confusion matrix of our model, true classes in rows. Empty for a regression, and
        beyond 20 classes.
    never_missing : tuple of str
        Columns without a missing value in the training rows.
    empty : tuple of str
        Columns without an observed value in the training rows.
    versions : mapping of str to str
        Versions of Python and of the packages.
    refit_cut : bool
        Whether the model was trained again on all rows, and a time limit cut that.
    n_sample : int or None
        Training rows that the other two models were fitted to, if not to all.
    y_test : ndarray of shape (n_test,)
        Targets of the held-out rows.
    predicted : mapping of str to ndarray
        What each model predicts for them: probabilities of the classes, or numbers.
    model : estimator
        Our model, fitted on the training rows.
    """

    task: Task
    n_train: int
    n_test: int
    n_unlabelled: int
    n_columns: int
    test_size: float
    random_state: int
    scores: Mapping[str, Mapping[str, float | None]]
    estimates: Mapping[str, Estimate]
    leads: Mapping[str, Estimate]
    seconds: Mapping[str, float]
    max_epochs: int | None
    time_limit: float | None
    timed_out: bool
    learning: tuple[LearningStep, ...]
    by_missing: tuple[MissingBin, ...]
    importance: Importance
    conditional: Importance
    never_missing: tuple[str, ...]
    empty: tuple[str, ...]
    versions: Mapping[str, str]
    coverage: tuple[CoverageBin, ...] = ()
    classes: tuple[ClassRows, ...] = ()
    calibration: Mapping[str, Calibration] = field(default_factory=dict)
    confusion: tuple[tuple[int, ...], ...] = ()
    mean_confidence: float | None = None
    agreement: Mapping[str, Agreement] = field(default_factory=dict)
    refit_cut: bool = False
    n_sample: int | None = None
    y_test: Any = field(default=None, repr=False)
    predicted: Mapping[str, Any] = field(default_factory=dict, repr=False)
    model: Any = field(default=None, repr=False)

    @property
    def titles(self) -> Mapping[str, str]:
        """Names of the models for people."""
        if self.n_sample is None:
            return _TITLES
        return {**_TITLES, "hgb": f"{_TITLES['hgb']} (on {self.n_sample:,} rows)"}

    @property
    def n_epochs(self) -> int:
        """Number of epochs of training."""
        return len(self.learning)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics of the task; models are compared by the first."""
        return METRICS[self.task]

    @property
    def score_format(self) -> str:
        """Format of Python that suits the values of the first metric."""
        values = [estimate.value for estimate in self.estimates.values()]
        return choose_format(self.metrics[0], values)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the held-out rows show, in sentences; the most important first."""
        return tuple(describe_hold_out(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all but the model and single predictions as plain data, for JSON.

        Returns
        -------
        dict
        """
        plain = asdict(replace(self, model=None, y_test=None, predicted={}))
        for name in ("model", "y_test", "predicted"):
            del plain[name]
        findings = [asdict(finding) for finding in self.findings]
        return {**plain, "n_epochs": self.n_epochs, "findings": findings}


def hold_out(
    model: Any,
    X: pd.DataFrame,
    y: Any,
    *,
    task: Task,
    X_unlabelled: pd.DataFrame | None = None,
    test_size: float = 0.2,
    random_state: int = 0,
    on_step: Callable[[str], object] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    lower: pd.DataFrame | None = None,
    upper: pd.DataFrame | None = None,
) -> HoldOut:
    """Fit a model on some of the rows, and evaluate it on the others.

    HistGradientBoosting and a trivial model, which predicts the class frequencies or
    the mean for every row, are fitted and evaluated on the same rows.

    Parameters
    ----------
    model : LacunetClassifier or LacunetRegressor
        The model to evaluate. It is cloned, and stays as it is.
    X : DataFrame of shape (n_samples, n_features)
        Numbers, categories, dates and booleans; values may be missing.
    y : array-like of shape (n_samples,)
        Targets, none of them missing.
    task : {"classification", "regression"}
        What the targets are.
    X_unlabelled : DataFrame, default=None
        Rows without a target, which our density is fitted to as well.
    test_size : float, default=0.2
        Fraction of the rows to hold out. The split is stratified if each class has two
        rows; one row of each class is trained on in any case.
    random_state : int, default=0
        Seed of the split.
    on_step : callable, default=None
        Called before each step with a few words that describe it.
    checkpoint : str or PathLike, default=None
        File for the state of training: our model goes on from it if there is one.
    lower, upper : DataFrame of the shape of ``X``, default=None
        Bounds of missing values, which our model uses; the importance of columns is
        measured without them.

    Returns
    -------
    HoldOut
        The fitted model is ``.model``.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lacunet import LacunetClassifier
    >>> from lacunet.evaluation import hold_out
    >>> rng = np.random.RandomState(0)
    >>> X = pd.DataFrame(rng.randn(200, 2), columns=["a", "b"])
    >>> y = np.where(X["a"] > 0, "yes", "no")
    >>> X = X.mask(rng.rand(200, 2) < 0.2)
    >>> model = LacunetClassifier(n_networks=1, max_epochs=10, random_state=0)
    >>> found = hold_out(model, X, y, task="classification")
    >>> found.n_train, found.n_test, found.importance.columns[0].name
    (160, 40, 'a')
    >>> found.scores["lacunet"]["accuracy"] > found.scores["trivial"]["accuracy"]
    True
    """
    classifies = task == "classification"
    if not (is_classifier(model) if classifies else is_regressor(model)):
        msg = f"Got task={task!r}, but expected that of a {type(model).__name__}."
        raise ValueError(msg)
    labels = check_table(X, y, task)
    train, test = split_rows(
        labels, task, test_size=test_size, random_state=random_state
    )
    ours = clone(model)
    if on_step is not None:
        on_step(f"fitting lacunet on {len(train):,} rows")
    began = time.perf_counter()
    given = {"lower": lower, "upper": upper}
    bounds = {name: end for name, end in given.items() if end is not None}
    ours.fit(
        X.iloc[train],
        labels[train],
        X_unlabelled=X_unlabelled,
        checkpoint=checkpoint,
        **{name: end.iloc[train] for name, end in bounds.items()},
    )
    return score_model(
        ours,
        (X.iloc[test], labels[test]),
        (X.iloc[train], labels[train]),
        task=task,
        seconds=time.perf_counter() - began,
        n_unlabelled=0 if X_unlabelled is None else len(X_unlabelled),
        test_size=test_size,
        random_state=random_state,
        on_step=on_step,
        bounds={name: end.iloc[test] for name, end in bounds.items()},
    )


def score_model(
    model: Any,
    test: tuple[pd.DataFrame, np.ndarray],
    train: tuple[pd.DataFrame, np.ndarray],
    *,
    task: Task,
    seconds: float,
    n_unlabelled: int,
    test_size: float,
    random_state: int,
    on_step: Callable[[str], object] | None = None,
    n_train: int | None = None,
    class_counts: Mapping[Any, int] | None = None,
    bounds: Mapping[str, pd.DataFrame] | None = None,
) -> HoldOut:
    """Evaluate a model that is fitted already, and others that are fitted now.

    Parameters
    ----------
    model : LacunetClassifier or LacunetRegressor
        Fitted, in so many ``seconds``.
    test : tuple of DataFrame and ndarray
        The held-out rows: columns and targets, none of which is missing or of a class
        that the model does not know.
    train : tuple of DataFrame and ndarray
        The training rows, or a sample of them, which the others are fitted to.
    task : {"classification", "regression"}
        What the targets are.
    seconds, n_unlabelled, test_size : float, int, float
        As in ``HoldOut``.
    random_state : int
        Seed of HistGradientBoosting and of the permutations.
    on_step : callable, default=None
        Called before each step with a few words that describe it.
    n_train : int, default=None
        Number of training rows, if ``train`` is a sample of them.
    class_counts : mapping, default=None
        Of a sample, how many training rows each class has.
    bounds : mapping of str to DataFrame, default=None
        ``lower`` and ``upper`` bounds of missing values of the held-out rows.

    Returns
    -------
    HoldOut
    """
    report = on_step or (lambda text: None)
    (X_test, y_test), (X_train, y_train) = test, train
    classes, codes_train, codes_test = np.array([]), y_train, y_test
    if task == "classification":
        classes = model.classes_
        codes_train, codes_test = (
            np.searchsorted(classes, y) for y in (y_train, y_test)
        )
    times = {"lacunet": seconds}
    # Values missing where none was in training are part of the evaluation.
    ours = copy.copy(model).set_params(on_unseen_missing="use")
    models = {"lacunet": ours, "hgb": METHODS["hgb"](task, random_state)}
    models["trivial"] = trivial_model(task)
    for name in ("hgb", "trivial"):
        report(f"fitting {_TITLES[name]} on {len(y_train):,} rows")
        began = time.perf_counter()
        models[name].fit(X_train, y_train)
        times[name] = time.perf_counter() - began

    report(f"scoring on {len(y_test):,} held-out rows")
    ends = {"lacunet": bounds or {}}
    predicted = {
        name: predict(each, X_test, classes, **ends.get(name, {}))
        for name, each in models.items()
    }
    losses = {k: row_losses(task, codes_test, p) for k, p in predicted.items()}
    pair = {name: predicted[name] for name in ("lacunet", "hgb")}
    by_task: dict[str, Any] = {}
    if task == "classification":
        counts = np.bincount(codes_train, minlength=len(classes)).tolist()
        if class_counts is not None:
            counts = [class_counts.get(name, 0) for name in classes.tolist()]
        by_task = _evaluate_classes(classes, counts, codes_test, pair)
    else:
        by_task["agreement"] = {k: find_agreement(y_test, p) for k, p in pair.items()}
    n_missing = X_test.isna().sum(axis=1).to_numpy()
    by_missing = compare_by_missing(task, n_missing, {k: losses[k] for k in pair})
    report(f"checking intervals of {min(len(y_test), _MOST_COVERED):,} rows")
    shuffled = np.random.RandomState(random_state).permutation(len(y_test))
    some = np.sort(shuffled[:_MOST_COVERED])
    of_some = {name: end.iloc[some] for name, end in (bounds or {}).items()}
    coverage = find_coverage(ours, X_test.iloc[some], codes_test[some], **of_some)
    if n_train is None:
        n_in_training = X_train.isna().sum()
        never_missing = tuple(map(str, X_train.columns[n_in_training == 0]))
        empty = tuple(map(str, X_train.columns[n_in_training == len(X_train)]))
    else:
        schema = Schema.of_model(model)
        never_missing = tuple(x.name for x in schema.columns if not x.had_missing)
        empty = schema.empty

    report("permuting one column after the other")
    measure = partial(
        importance, ours, X_test, y_test, n_repeats=1, random_state=random_state
    )
    columns = measure()
    needed = [each.name for each in columns.columns if each.matters][:_FIRST_COLUMNS]
    return HoldOut(
        task=task,
        n_train=len(y_train) if n_train is None else n_train,
        n_test=len(y_test),
        n_unlabelled=n_unlabelled,
        n_columns=X_test.shape[1],
        test_size=test_size,
        random_state=random_state,
        scores={k: score(task, y_test, p, classes) for k, p in predicted.items()},
        estimates={k: compare_losses(task, each) for k, each in losses.items()},
        leads={
            name: compare_losses(task, losses[name], losses["lacunet"])
            for name in ("hgb", "trivial")
        },
        seconds=times,
        max_epochs=None if model.max_epochs == "auto" else int(model.max_epochs),
        time_limit=None if model.time_limit is None else float(model.time_limit),
        timed_out=model.timed_out_,
        learning=tuple(LearningStep(*each[:4]) for each in model.history_),
        by_missing=by_missing,
        coverage=coverage,
        importance=columns,
        conditional=measure(columns=needed, conditional=True),
        never_missing=never_missing,
        empty=empty,
        versions=find_versions(),
        n_sample=None if n_train in (None, len(y_train)) else len(y_train),
        y_test=y_test,
        predicted=predicted,
        model=model,
        **by_task,
    )


def _evaluate_classes(
    classes: np.ndarray,
    n_train: Sequence[int],
    test: np.ndarray,
    predicted: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Return what only a classification has, as fields of HoldOut."""
    two, places, calibration = len(classes) == 2, np.arange(len(classes)), {}
    for name, each in predicted.items():
        event = np.ones_like(test) if two else each.argmax(1)
        probability = each[np.arange(len(test)), event]
        calibration[name] = find_calibration(probability, test == event)
    ours, counts = predicted["lacunet"], np.zeros((0, 0), dtype=int)
    if len(classes) <= _MOST_CONFUSED:
        counts = confusion_matrix(test, ours.argmax(1), labels=places)
    n_test = np.bincount(test, minlength=len(classes)).tolist()
    rows = zip(classes.tolist(), n_train, n_test, strict=True)
    return {
        "classes": tuple(ClassRows(*each) for each in rows),
        "calibration": calibration,
        "mean_confidence": float(ours.max(1).mean()),
        "confusion": tuple(map(tuple, counts.tolist())),
    }


# --- calibration


def find_calibration(
    probabilities: np.ndarray, happened: np.ndarray, *, random_state: int = 0
) -> Calibration:
    """Compare probabilities of an event with how often it happened.

    Examples
    --------
    >>> always = find_calibration(np.full(20, 0.5), np.ones(20, dtype=bool))
    >>> always.calibration_error, always.p_value < 0.05
    (0.5, True)
    """
    codes = equal_bins(probabilities)
    bins = []
    for rows in _rows_of(codes):
        n_rows, n_events = int(rows.sum()), int(happened[rows].sum())
        ends = map(float, binomtest(n_events, n_rows).proportion_ci(method="wilson"))
        mean = float(probabilities[rows].mean())
        bins.append(CalibrationBin(n_rows, mean, n_events / n_rows, *ends))

    def error_of(events: np.ndarray) -> float:
        gaps = np.abs(np.bincount(codes, events - probabilities))
        return float(gaps.sum() / len(codes))

    error, stream = error_of(happened), np.random.RandomState(random_state)
    simulated = [
        error_of(stream.rand(len(codes)) < probabilities) for _ in range(_N_SIMULATED)
    ]
    n_larger = sum(each >= error - 1e-12 for each in simulated)  # but for rounding
    p_value = (1 + n_larger) / (1 + _N_SIMULATED)
    return Calibration(tuple(bins), error, float(np.mean(simulated)), p_value)


def find_agreement(y: np.ndarray, predicted: np.ndarray) -> Agreement:
    """Compare predicted numbers with observed ones.

    Examples
    --------
    >>> find_agreement(np.arange(5.0), np.ones(5)).residuals
    (-0.8, 0.0, 1.0, 2.0, 2.8)
    """
    bins = [
        AgreementBin(
            int(rows.sum()),
            float(predicted[rows].mean()),
            float(y[rows].mean()),
            tuple(np.quantile(y[rows], _QUANTILES).tolist()),
        )
        for rows in _rows_of(equal_bins(predicted))
    ]
    residuals = y - predicted
    quantiles = tuple(np.quantile(residuals, _QUANTILES).tolist())
    return Agreement(tuple(bins), float(residuals.mean()), quantiles)


def equal_bins(values: np.ndarray) -> np.ndarray:
    """Assign values to bins of about equally many; equal values share a bin.

    Unlike the bins of ``sklearn.calibration.calibration_curve``, they never have few
    rows, and are counted.

    Examples
    --------
    >>> np.bincount(equal_bins(np.arange(50.0)))
    array([17, 16, 17])
    """
    n_bins = max(1, min(_MOST_BINS, len(values) // _ROWS_PER_BIN))
    edges = np.quantile(values, np.linspace(0, 1, n_bins + 1)[1:-1])
    _, codes = np.unique(np.searchsorted(edges, values, "right"), return_inverse=True)
    found: np.ndarray = codes
    return found


def _rows_of(codes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for each bin which rows are in it."""
    for code in range(codes.max() + 1):
        yield codes == code


# --- missing values


def compare_by_missing(
    task: Task, n_missing: np.ndarray, losses: Mapping[str, np.ndarray]
) -> tuple[MissingBin, ...]:
    """Return the first score of models on rows with ever more missing values.

    Numbers of missing values are joined until enough rows have them; a small rest at
    the end joins the last bin.

    Examples
    --------
    >>> n_missing = np.repeat([0, 1, 2], 20)
    >>> bins = compare_by_missing("regression", n_missing, {"ours": np.ones(60)})
    >>> [(each.fewest, each.most, each.n_rows) for each in bins]
    [(0, 0, 20), (1, 1, 20), (2, 2, 20)]
    """
    bins = []
    for rows in _rows_of(_bins_by_missing(n_missing)):
        fewest, most = int(n_missing[rows].min()), int(n_missing[rows].max())
        of_rows = {k: compare_losses(task, each[rows]) for k, each in losses.items()}
        bins.append(MissingBin(fewest, most, int(rows.sum()), of_rows))
    return tuple(bins)


def find_coverage(
    model: Any, X: pd.DataFrame, y: np.ndarray, **bounds: pd.DataFrame
) -> tuple[CoverageBin, ...]:
    """Return how often targets, classes as codes, are in their interval or set.

    Nothing if there are too few calibration rows.
    """
    try:
        if EncodedModel(model).n_calibration * (1 - COVERAGE) < 1:
            return ()
        if is_classifier(model):
            inside = prediction_set(model, X, COVERAGE, **bounds)
            covered, widths = inside[np.arange(len(y)), y], inside.sum(1)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                low, high = prediction_interval(model, X, COVERAGE, **bounds)
            covered, widths = (low <= y) & (y <= high), high - low
    except LacunetError:
        return ()
    if not np.isfinite(widths).all():
        return ()
    n_missing = X.isna().sum(axis=1).to_numpy()
    bins = []
    for rows in _rows_of(_bins_by_missing(n_missing)):
        n_rows, n_covered = int(rows.sum()), int(covered[rows].sum())
        ends = binomtest(n_covered, n_rows).proportion_ci(method="wilson")
        bins.append(
            CoverageBin(
                int(n_missing[rows].min()),
                int(n_missing[rows].max()),
                n_rows,
                n_covered / n_rows,
                float(ends.low),
                float(ends.high),
                float(widths[rows].mean()),
            )
        )
    return tuple(bins)


def _bins_by_missing(n_missing: np.ndarray) -> np.ndarray:
    """Join numbers of missing values until enough rows have them: (rows,).

    A small rest at the end joins the last bin.
    """
    enough = max(_ROWS_PER_MISSING_BIN, len(n_missing) / _MOST_MISSING_BINS / 1.5)
    starts, n_rows = [], np.inf
    numbers, counts = np.unique(n_missing, return_counts=True)
    for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        if n_rows >= enough:
            starts.append(number)
            n_rows = 0
        n_rows += count
    if n_rows < enough and len(starts) > 1:
        starts.pop()
    codes: np.ndarray = np.searchsorted(starts, n_missing, "right") - 1
    return codes
