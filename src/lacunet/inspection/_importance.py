"""Which columns a model relies on: on their values, and on their being missing."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_consistent_length, check_random_state

from lacunet._text import list_names, show_error, show_score
from lacunet._validation import check_positive_int
from lacunet.estimators import check_labels, check_numbers
from lacunet.missingness import (
    Table,
    as_table,
    find_observed,
    read_columns,
    without_cells,
)

# Of wide tables, columns are chosen by a few rows, and the others have fewer rows.
_FEW_ROWS = 100
_CELLS = 250_000  # predicted at once
_CELLS_TO_CHOOSE = 10_000_000  # predicted to choose the columns
_ROUNDS = 50  # to remove a mean shift; it becomes smaller by a factor in each


@dataclass(frozen=True)
class Estimate:
    """A loss, or a difference of losses, with its standard error over rows.

    Attributes
    ----------
    value : float
        The estimate.
    error : float or None
        Its standard error; None if there is only one row.
    """

    value: float
    error: float | None

    @property
    def is_sure(self) -> bool:
        """Whether it is more than two standard errors away from 0."""
        return self.error is not None and abs(self.value) > 2 * self.error

    def show(self, form: str) -> str:
        """Return the value and its standard error in a format of Python."""
        return f"{show_score(self.value, form)} {show_error(self.error, form)}".rstrip()


@dataclass(frozen=True)
class ColumnImportance:
    """What a model loses without the values of a column, and by its missing values.

    Attributes
    ----------
    name : str
        Name of the column; ``"x0"``, ``"x1"``, … in an array.
    value : Estimate
        Increase of the loss, log-loss or RMSE, when the observed values are permuted
        among the rows in which the column is observed. Missing values stay where they
        are. With ``conditional=True``, observed values are replaced by draws given
        the other columns instead.
    missingness : Estimate or None
        What it costs that the model takes the column's being missing for a sign, where
        it is none: the column is hidden in the rows in which it is observed, and this
        is the loss there minus the loss of the same predictions after their mean shift
        is removed. None if it is missing nowhere, or everywhere.
    shift : Estimate or None
        That mean shift: by how much predictions change, in the mean over these rows,
        when the column is hidden. It is 0 for a model to which a missing value is an
        unknown value and no more, however much the value matters.
    towards : object
        The class whose probability ``shift`` is about, that which rises most; None for
        a regressor.
    n_missing : int
        Number of rows in which the column is missing.
    """

    name: str
    value: Estimate
    missingness: Estimate | None = None
    shift: Estimate | None = None
    towards: Any = None
    n_missing: int = 0

    @property
    def matters(self) -> bool:
        """Whether permuting its values costs more than chance."""
        return self.value.is_sure and self.value.value > 0


@dataclass(frozen=True)
class Importance:
    """Which columns a model relies on.

    Attributes
    ----------
    columns : tuple of ColumnImportance
        The most important first, by their values.
    n_columns : int
        Number of columns of the table.
    n_rows : int
        Number of rows that were used.
    rule : str
        Which columns were tried, in words.
    """

    columns: tuple[ColumnImportance, ...]
    n_columns: int
    n_rows: int
    rule: str


def importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    columns: Sequence[Any] | None = None,
    conditional: Any = False,
    n_repeats: int = 3,
    max_columns: int = 50,
    max_rows: int = 2000,
    random_state: Any = 0,
) -> Importance:
    """Measure how much a fitted model relies on each column, by permutation.

    The values of a column and their being missing are measured apart. A column is never
    hidden to find out what its values are worth: a model may have learned that missing
    values mean something, and would then react to that.

    Parameters
    ----------
    model : classifier or regressor
        A fitted model that takes missing values. It is not changed.
    X : array-like or frame of shape (n_samples, n_features)
        Rows that the model was not trained on, with missing values.
    y : array-like of shape (n_samples,)
        Their targets.
    columns : sequence, default=None
        Names of the columns to try, or their indices in an array; None tries all.
    conditional : bool or imputer, default=False
        Whether values are drawn given the other columns of the row, instead of
        permuted. Permutation makes rows that cannot be where columns are collinear, and
        finds all of them important if the model uses all; a conditional draw shows what
        a column adds to the others. True draws from the model's own density, which must
        know that columns are collinear: with ``density="auto"`` it does so coarsely,
        and importances are too high rather than too low. A fitted
        :class:`lacunet.LacunetImputer` draws more closely.
    n_repeats : int, default=3
        Number of permutations, or of draws, over which losses are averaged.
    max_columns : int, default=50
        Of more columns than this, those are taken that cost the most in 100 rows; of
        very many, only the most complete are tried there.
    max_rows : int, default=2000
        Of more rows, as many are drawn; of wide tables, fewer.
    random_state : int, RandomState instance or None, default=0
        Seed of permutations and draws.

    Returns
    -------
    Importance
        With standard errors over rows, paired: both losses are of the same row.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetClassifier
    >>> from lacunet.inspection import importance
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = X[:, 1] > 0
    >>> X[rng.rand(300, 3) < 0.2] = np.nan
    >>> model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0)
    >>> model = model.fit(X[:200], y[:200])
    >>> found = importance(model, X[200:], y[200:], random_state=0)
    >>> first = found.columns[0]
    >>> first.name, first.value.is_sure, first.n_missing
    ('x1', True, 24)
    """
    check_positive_int(n_repeats, "n_repeats")
    if not (is_classifier(model) or is_regressor(model)):
        msg = f"Got a {type(model).__name__}, but expected a classifier or a regressor."
        raise TypeError(msg)
    source = model if conditional is True else conditional or None
    if source is not None and not hasattr(source, "sample_imputations"):
        msg = (
            f"Got conditional={conditional!r} and a {type(model).__name__}, but "
            f"expected one that can draw: a model of lacunet, or a LacunetImputer."
        )
        raise TypeError(msg)
    table, targets = as_table(X), _check_targets(model, y)
    check_consistent_length(X, targets)
    random = check_random_state(random_state)
    n_rows, n_columns = table.shape
    most = min(max_rows, max(_FEW_ROWS, _CELLS // n_columns))
    if n_rows > most:
        rows = np.sort(random.permutation(n_rows)[:most])
        table, targets = table[rows], targets[rows]
    trial = _Trial(_quiet(model), table, targets, _quiet(source), random)

    places, rule = trial.find_places(columns), "all columns"
    if columns is not None:
        rule = "the columns that were named"
    elif n_columns > max_columns:
        n_tried = _CELLS_TO_CHOOSE // (_FEW_ROWS * n_columns)
        n_tried = min(n_columns, max(max_columns, n_tried))
        n_missing = (~trial.observed).sum(0)
        places = np.sort(np.argsort(n_missing, kind="stable")[:n_tried]).tolist()
        among = "all" if n_tried == n_columns else f"the {n_tried:,} most complete"
        rule = f"{among} of {n_columns:,} columns"
        if n_tried > max_columns:
            few = _Trial(
                trial.model, table[:_FEW_ROWS], targets[:_FEW_ROWS], None, random
            )
            costs = [few.permute(place, 1).value for place in places]
            ranked = np.argsort(np.negative(costs), kind="stable")[:max_columns]
            places = np.sort(np.take(places, ranked)).tolist()
            rule = (
                f"the {max_columns} that cost the most in {len(few.targets)} rows, "
                f"among {rule}"
            )
    found = [trial.measure(place, n_repeats) for place in places]
    found.sort(key=lambda each: -each.value.value)
    return Importance(tuple(found), n_columns, len(targets), rule)


def _quiet(model: Any) -> Any:
    """Return a copy that does not warn of missing values where training had none."""
    if "on_unseen_missing" in getattr(model, "get_params", dict)():
        return copy.copy(model).set_params(on_unseen_missing="use")
    return model


def _check_targets(model: Any, y: Any) -> np.ndarray:
    """Return the indices of classes, or numbers."""
    if is_regressor(model):
        values = check_numbers(y)
        if values.ndim != 1:
            msg = (
                f"Got y of shape {values.shape}, but expected one target for each row."
            )
            raise ValueError(msg)
        return values
    labels = check_labels(np.asarray(y))
    codes = np.searchsorted(model.classes_, labels)
    known = np.take(model.classes_, codes, mode="clip") == labels
    if not known.all():
        other = np.unique(labels[~known]).tolist()
        msg = f"Got y with the classes {other}, but expected those of the model."
        raise ValueError(msg)
    return np.asarray(codes)


class _Trial:
    """A model, rows, and what it predicts for them as they are."""

    def __init__(
        self,
        model: Any,
        table: Table,
        targets: np.ndarray,
        source: Any,
        random: np.random.RandomState,
    ) -> None:
        self.model = model
        self.table = table
        self.targets = targets
        self.source = source  # of conditional draws; None permutes
        self.random = random
        self.task = "classification" if is_classifier(model) else "regression"
        self.observed = np.stack([find_observed(c) for c in read_columns(table)], 1)
        self.predicted = self.predict(table)
        self.losses = row_losses(self.task, targets, self.predicted)

    def find_places(self, columns: Sequence[Any] | None) -> list[int]:
        """Return where columns stand, by their names or, in an array, their indices."""
        labels: Sequence[Any] = range(self.table.shape[1])
        if not isinstance(self.table, np.ndarray):
            labels = self.table.columns
        known = {label: place for place, label in enumerate(labels)}
        known |= {name: place for place, name in enumerate(self.names)}
        for column in columns or ():
            if column not in known:
                names = list_names(self.names)
                msg = f"Got the column {column!r}, but expected one of {names}."
                raise ValueError(msg)
        return [known[column] for column in (labels if columns is None else columns)]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if isinstance(self.table, np.ndarray):
            return [f"x{place}" for place in range(self.table.shape[1])]
        return [str(name) for name in self.table.columns]

    def predict(self, table: Table) -> np.ndarray:
        """Return probabilities or numbers."""
        native = table if isinstance(table, np.ndarray) else table.to_native()
        if self.task == "regression":
            numbers = np.asarray(self.model.predict(native))
            if numbers.size != len(table):
                msg = (
                    f"Got a model with {numbers.shape[-1]} outputs, but expected one. "
                    f"Fit a model to each target."
                )
                raise ValueError(msg)
            return numbers.ravel()
        return np.asarray(self.model.predict_proba(native))

    def measure(self, place: int, n_repeats: int) -> ColumnImportance:
        """Return the importance of a column."""
        seen = np.flatnonzero(self.observed[:, place])
        n_missing = len(self.targets) - len(seen)
        value = self.permute(place, n_repeats)
        if not n_missing or not len(seen):
            return ColumnImportance(self.names[place], value, n_missing=n_missing)
        rows, y = self.table[seen], self.targets[seen]
        hidden = self.predict(_hide(rows, place))
        shifts = hidden - self.predicted[seen]  # (rows,) or (rows, classes)
        towards = None
        if self.task == "regression":
            centred = hidden - shifts.mean()
        else:
            rising = int(shifts.mean(0).argmax())
            towards = self.model.classes_[[rising]].tolist()[0]
            shifts = shifts[:, rising]
            wanted, centred = self.predicted[seen].mean(0), hidden
            # Odds of classes are multiplied until the mean is what it was.
            for _ in range(_ROUNDS):
                factors = wanted / np.maximum(centred.mean(0), np.finfo(float).tiny)
                centred = centred * factors
                centred /= centred.sum(1, keepdims=True)
        losses = [row_losses(self.task, y, each) for each in (hidden, centred)]
        return ColumnImportance(
            self.names[place],
            value,
            compare_losses(self.task, *losses),
            _mean(shifts),
            towards,
            n_missing,
        )

    def permute(self, place: int, n_repeats: int) -> Estimate:
        """Return what is lost without the values that are observed."""
        seen = np.flatnonzero(self.observed[:, place])
        losses = self.losses.copy()
        if len(seen):
            rows, y = self.table[seen], self.targets[seen]
            others = self._draw(rows, place, n_repeats)
            losses[seen] = np.mean(
                [row_losses(self.task, y, self.predict(each)) for each in others], 0
            )
        return compare_losses(self.task, losses, self.losses)

    def _draw(self, rows: Table, place: int, n_repeats: int) -> list[Table]:
        """Return rows with other values of a column."""
        if self.source is None:
            orders = [self.random.permutation(len(rows)) for _ in range(n_repeats)]
            return [_replace(rows, place, rows[order]) for order in orders]
        seed = self.random.randint(2**31 - 1)
        source = copy.copy(self.source).set_params(random_state=seed)
        hidden = _hide(rows, place)
        native = hidden if isinstance(hidden, np.ndarray) else hidden.to_native()
        draws = source.sample_imputations(native, n_repeats)
        return [_replace(rows, place, as_table(draw)) for draw in draws]


def _hide(table: Table, place: int) -> Table:
    """Return the table with a column missing in all rows."""
    hidden = np.zeros(table.shape, dtype=bool)
    hidden[:, place] = True
    return as_table(without_cells(table, hidden))


def _replace(table: Table, place: int, other: Table) -> Table:
    """Return the table with a column of another."""
    if isinstance(table, np.ndarray) or isinstance(other, np.ndarray):
        replaced: np.ndarray = np.array(table)
        replaced[:, place] = np.asarray(other)[:, place]
        return replaced
    return table.with_columns(other.get_column(table.columns[place]))


# --- losses of rows


def row_losses(task: str, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the log-loss of each row, given indices of classes, or the squared error.

    Examples
    --------
    >>> row_losses("regression", np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array([0., 4.])
    """
    if task == "regression":
        return np.asarray(np.square(y - predicted))
    chosen = predicted[np.arange(len(y)), y] / predicted.sum(1)
    # Clipped like scikit-learn's: a class with probability 0 has a finite loss.
    return np.asarray(-np.log(np.clip(chosen, np.finfo(np.float64).eps, 1.0)))


def compare_losses(
    task: str, losses: np.ndarray, others: np.ndarray | float = 0.0
) -> Estimate:
    """Return the difference of the log-loss, or of the RMSE, of the same rows.

    Without ``others`` it is the log-loss or RMSE itself.
    """
    if task == "classification":
        return _mean(losses - others)
    roots = [math.sqrt(np.mean(each)) for each in (losses, others)]
    slopes = [0.5 / root if root else 0.0 for root in roots]  # the delta method
    error = _mean(losses * slopes[0] - others * slopes[1]).error
    return Estimate(roots[0] - roots[1], error)


def _mean(values: np.ndarray) -> Estimate:
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
    return Estimate(float(values.mean()), None if error is None else float(error))
