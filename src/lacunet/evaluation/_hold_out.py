"""A model judged on rows that it has not seen, with others beside it."""

import copy
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from lacunet._validation import check_choice
from lacunet._versions import find_versions
from lacunet.baselines import BoostedClassifier, BoostedRegressor
from lacunet.estimators._targets import check_labels, check_numbers
from lacunet.evaluation._hold_out_record import (
    OURS,
    RIVAL,
    TITLES,
    TRIVIAL,
    ClassRows,
    HoldOut,
    LearningStep,
)
from lacunet.evaluation._holes_and_error import HoleBin, loss_by_holes
from lacunet.evaluation._importance import find_importance
from lacunet.evaluation._losses import Estimate, compare_losses, row_losses
from lacunet.evaluation._reliability import (
    Agreement,
    Reliability,
    find_agreement,
    find_reliability,
)
from lacunet.evaluation._scores import METRICS, align_probabilities, score
from lacunet.evaluation._splitting import split_rows
from lacunet.evaluation._task import Task

_MOST_CONFUSED = 20  # classes


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
) -> HoldOut:
    """Fit a model on some of the rows, and judge it by the others.

    A trivial model, which says the shares of the classes or the mean whatever the row,
    and HistGradientBoosting are fitted and judged on the same rows.

    Parameters
    ----------
    model : LacunetClassifier or LacunetRegressor
        It is cloned, and stays as it is.
    X : DataFrame of shape (n_samples, n_features)
        Numbers, categories, dates and truth values, with holes.
    y : array-like of shape (n_samples,)
        Without holes.
    task : {"classification", "regression"}
    X_unlabelled : DataFrame, default=None
        Rows without a target, which teach our density.
    test_size : float, default=0.2
        Share of the rows that are held out. Shares of classes are kept, if each class
        has two rows; one row of each is learned from in any case.
    random_state : int, default=0
        Which rows those are.
    on_step : callable, default=None
        Told in a few words what is done next.

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
    _check(model, X, y, task)
    say = on_step or _say_nothing
    targets = _read_targets(y, task)
    train, test = split_rows(
        targets, task, test_size=test_size, random_state=random_state
    )
    models, seconds = _fit_all(
        _make_models(model, task, random_state),
        X.iloc[train],
        targets[train],
        X_unlabelled,
        say,
    )
    say(f"judging by {len(test):,} rows")
    judged = _judge(models, X.iloc[test], targets[test], task, np.unique(targets))
    say("hiding one column after the other")
    ours = models[OURS]
    importance = find_importance(task, partial(judged.losses_of, ours), judged.X)
    holes = X.iloc[train].isna().sum().to_numpy()
    return HoldOut(
        task=task,
        n_train=len(train),
        n_test=len(test),
        n_unlabelled=0 if X_unlabelled is None else len(X_unlabelled),
        n_columns=X.shape[1],
        test_size=test_size,
        random_state=random_state,
        classes=judged.count_classes(targets[train]),
        scores=judged.scores(),
        estimates={name: compare_losses(task, judged.losses[name]) for name in models},
        leads={name: judged.lead_over(name) for name in (RIVAL, TRIVIAL)},
        seconds=seconds,
        max_epochs=int(ours.max_epochs),
        time_limit=None if ours.time_limit is None else float(ours.time_limit),
        learning=tuple(LearningStep(*each[:4]) for each in ours.history_),
        reliability=judged.reliability(),
        agreement=judged.agreement(),
        mean_confidence=judged.mean_confidence(),
        by_holes=judged.by_holes(),
        importance=importance,
        confusion=judged.confusion(),
        never_missing=tuple(map(str, X.columns[holes == 0])),
        empty=tuple(map(str, X.columns[holes == len(train)])),
        versions=find_versions(),
        model=ours,
    )


def _say_nothing(text: str) -> None:
    pass


# --- what is asked for


def _check(model: Any, X: Any, y: Any, task: Task) -> None:
    check_choice(task, tuple(METRICS), "task")
    fits = is_classifier(model) if task == "classification" else is_regressor(model)
    if not fits:
        msg = (
            f"Got task={task!r} and a model of class {type(model).__name__}, but "
            f"expected a LacunetClassifier for classes, a LacunetRegressor for numbers."
        )
        raise ValueError(msg)
    if not isinstance(X, pd.DataFrame):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a DataFrame of pandas: "
            f"columns are told of by their names."
        )
        raise TypeError(msg)
    check_consistent_length(X, y)


def _read_targets(y: Any, task: Task) -> np.ndarray:
    if task == "regression":
        numbers: np.ndarray = column_or_1d(check_numbers(y))
        return numbers
    # Truth values and numbers among objects are what they are.
    return check_labels(pd.Series(np.asarray(y)).infer_objects().to_numpy())


# --- fitting


def _make_models(model: Any, task: Task, random_state: int) -> dict[str, Any]:
    """Return models to be fitted, ours first."""
    if task == "regression":
        rival: Any = BoostedRegressor("hgb", random_state=random_state)
        return {OURS: clone(model), RIVAL: rival, TRIVIAL: DummyRegressor()}
    rival = BoostedClassifier("hgb", random_state=random_state)
    return {OURS: clone(model), RIVAL: rival, TRIVIAL: DummyClassifier()}


def _fit_all(
    models: dict[str, Any],
    X: pd.DataFrame,
    y: np.ndarray,
    X_unlabelled: pd.DataFrame | None,
    say: Callable[[str], object],
) -> tuple[dict[str, Any], dict[str, float]]:
    """Fit the models one after the other, and return the seconds that each took."""
    seconds = {}
    for name, model in models.items():
        say(f"fitting {TITLES[name]} on {len(y):,} rows")
        began = time.perf_counter()
        if name == OURS:
            model.fit(X, y, X_unlabelled=X_unlabelled)
        else:
            model.fit(X, y)
        seconds[name] = time.perf_counter() - began
    return models, seconds


# --- judging


@dataclass(frozen=True)
class _Judged:
    """Rows held out, and what the models say of them."""

    task: Task
    X: pd.DataFrame
    y: np.ndarray
    classes: np.ndarray
    predicted: Mapping[str, np.ndarray]
    losses: Mapping[str, np.ndarray]

    def losses_of(self, model: Any, X: pd.DataFrame) -> np.ndarray:
        """Return the losses of the first rows, with something hidden in them."""
        said = _ask(model, X, self.task, self.classes)
        return row_losses(self.task, self.y[: len(X)], said, self.classes)

    def scores(self) -> dict[str, dict[str, float | None]]:
        return {
            name: score(self.task, self.y, said, self.classes)
            for name, said in self.predicted.items()
        }

    def lead_over(self, name: str) -> Estimate:
        return compare_losses(self.task, self.losses[name], self.losses[OURS])

    def by_holes(self) -> tuple[HoleBin, ...]:
        n_missing = self.X.isna().sum(axis=1).to_numpy()
        pair = {name: self.losses[name] for name in (OURS, RIVAL)}
        return loss_by_holes(self.task, n_missing, pair)

    def agreement(self) -> dict[str, Agreement]:
        if self.task == "classification":
            return {}
        pair = (OURS, RIVAL)
        return {name: find_agreement(self.y, self.predicted[name]) for name in pair}

    def reliability(self) -> dict[str, Reliability]:
        if self.task == "regression":
            return {}
        pair = (OURS, RIVAL)
        return {name: self._reliability(self.predicted[name]) for name in pair}

    def _reliability(self, shares: np.ndarray) -> Reliability:
        if len(self.classes) == 2:
            return find_reliability(shares[:, 1], self.y == self.classes[1])
        return find_reliability(shares.max(1), self._chosen(shares) == self.y)

    def _chosen(self, shares: np.ndarray) -> np.ndarray:
        chosen: np.ndarray = self.classes[shares.argmax(1)]
        return chosen

    def mean_confidence(self) -> float | None:
        if self.task == "regression":
            return None
        return float(self.predicted[OURS].max(1).mean())

    def confusion(self) -> tuple[tuple[int, ...], ...]:
        if self.task == "regression" or len(self.classes) > _MOST_CONFUSED:
            return ()
        chosen = self._chosen(self.predicted[OURS])
        counts = confusion_matrix(self.y, chosen, labels=self.classes)
        return tuple(map(tuple, counts.tolist()))

    def count_classes(self, y_train: np.ndarray) -> tuple[ClassRows, ...]:
        if self.task == "regression":
            return ()
        n_train, n_test = Counter(y_train.tolist()), Counter(self.y.tolist())
        return tuple(
            ClassRows(label, n_train[label], n_test[label])
            for label in self.classes.tolist()
        )


def _judge(
    models: Mapping[str, Any],
    X: pd.DataFrame,
    y: np.ndarray,
    task: Task,
    classes: np.ndarray,
) -> _Judged:
    said = {name: _ask(model, X, task, classes) for name, model in models.items()}
    losses = {name: row_losses(task, y, each, classes) for name, each in said.items()}
    return _Judged(task, X, y, classes, said, losses)


def _ask(model: Any, X: pd.DataFrame, task: Task, classes: np.ndarray) -> np.ndarray:
    """Return predictions, or a probability for each of all classes."""
    if hasattr(model, "on_unseen_missing"):
        # Holes where training had none are what is asked about here.
        model = copy.copy(model).set_params(on_unseen_missing="use")
    if task == "regression":
        predicted: np.ndarray = model.predict(X)
        return predicted
    return align_probabilities(model.predict_proba(X), model.classes_, classes)
