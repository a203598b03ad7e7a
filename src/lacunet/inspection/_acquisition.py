"""What to measure next: what the value of a missing cell is expected to be worth."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import entr
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from torch import Tensor

from lacunet._text import list_names
from lacunet._validation import check_positive_int
from lacunet.estimators import EncodedModel

_GROUPS = 16  # of draws of a number, by its quantiles
_NUMBERS_AT_ONCE = 2**22  # of completed rows
_TINY = 1e-12  # of a probability


@dataclass(frozen=True)
class Measurement:
    """A step of a plan of measurements.

    Attributes
    ----------
    column : str
        Name of the column to measure; ``"x0"``, ``"x1"``, … in an array.
    value : float
        Expected reduction of the uncertainty by this step, after those before it; not
        divided by the cost.
    cost : float or None
        Its cost, if costs were given.
    before, after : float
        Expected uncertainty before and after this step: entropy in nats of the
        predicted classes, or the variance of the predicted number over what is missing.
    """

    column: str
    value: float
    cost: float | None
    before: float
    after: float


def acquisition_values(
    model: Any,
    X: Any,
    costs: Any = None,
    *,
    n_draws: int = 256,
    random_state: Any = 0,
) -> np.ndarray:
    """Return how much each missing cell is expected to reduce the loss if measured.

    For classes it is the expected reduction of the entropy of the prediction, which is
    that of the log-loss if the model is calibrated: the mutual information of the cell
    and the class, given what is observed of the row. For numbers it is the expected
    reduction of the variance, that of the squared error:
    ``Var(E[y | observed, cell] | observed)``.

    Rows are completed ``n_draws`` times from the density of the model, and the networks
    predict each completed row once. Draws are then grouped by their value of a cell
    (16 quantile groups of a number, the categories of a category), and the mean
    prediction of a group is what the model would predict with the cell measured. What
    finite groups differ by chance is subtracted.

    Parameters
    ----------
    model : classifier or regressor of lacunet
        Fitted. If rows are incomplete because nothing was measured yet, rather than for
        the reasons that values were missing for in training, fit it with
        ``indicator=False``: missingness is no sign of the target then.
    X : array-like or frame of shape (n_samples, n_features)
        Rows with missing values. A category that training has not seen counts as
        missing.
    costs : mapping or array-like of shape (n_features,), default=None
        Cost of measuring a column, positive, by its name (``"x0"`` and so on in an
        array) or in the order of the columns. Values are divided by it. A mapping may
        lack columns that no row misses.
    n_draws : int, default=256
        Number of completions of each row, best a power of two.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws. All rows have the same, so that a row's values do not depend
        on the others.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        In nats, or in squared units of the target (summed if there are several), per
        cost if given; not negative, and NaN where a cell is observed.

    Notes
    -----
    Values are of one cell at a time. Where two cells matter only together, as in an
    exclusive or, both have the value 0: no greedy policy finds such pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetClassifier
    >>> from lacunet.inspection import acquisition_values
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = X[:, 1] > 0
    >>> model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0)
    >>> values = acquisition_values(model.fit(X, y), [[0.5, np.nan, np.nan]])
    >>> [f"{value:.1f}" for value in values[0]]
    ['nan', '0.6', '0.0']
    """
    drawn = Completions(model, n_draws, random_state)
    x = drawn.encoded.encode(X)
    values = drawn.values(x).values
    prices = drawn.check_costs(costs, ~np.isnan(values).all(0))
    return values if prices is None else values / prices


def plan_measurements(
    model: Any,
    x: Any,
    costs: Any = None,
    *,
    n_steps: int = 5,
    n_draws: int = 256,
    n_scenarios: int = 32,
    random_state: Any = 0,
) -> list[Measurement]:
    """Plan several measurements of one row, before any of them is made.

    The first is the missing cell of the highest value, per cost if costs are given.
    What it will turn out to be is unknown, so the value of each other cell is averaged
    over draws of it, and so on: the values add up to the expected reduction by all
    cells of the plan together. Where measurements can be made one after the other, it
    is better to ask :func:`acquisition_values` again after each, as the next cell may
    depend on the result.

    Parameters
    ----------
    model : classifier or regressor of lacunet
        Fitted, see :func:`acquisition_values`.
    x : array-like or frame of shape (1, n_features)
        The row.
    costs : mapping or array-like of shape (n_features,), default=None
        As for :func:`acquisition_values`.
    n_steps : int, default=5
        Largest number of measurements; there are fewer if the row misses fewer cells.
    n_draws : int, default=256
        Number of completions of the row, in each scenario.
    n_scenarios : int, default=32
        Number of draws of the cells that were chosen before.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    list of Measurement
        In the order of the plan.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.inspection import plan_measurements
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = X[:, 0] + 3 * X[:, 2]
    >>> model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    >>> plan = plan_measurements(model.fit(X, y), [[np.nan] * 3], n_steps=2)
    >>> [step.column for step in plan]
    ['x2', 'x0']
    """
    check_positive_int(n_steps, "n_steps")
    check_positive_int(n_scenarios, "n_scenarios")
    drawn = Completions(model, n_draws, random_state)
    encoded = drawn.encoded
    row = encoded.encode(x)
    if len(row) != 1:
        msg = f"Got {len(row)} rows, but expected one. Plan for each row by itself."
        raise ValueError(msg)
    missing = ~encoded.observed(row)[0]
    prices = drawn.check_costs(costs, missing.cpu().numpy())
    scenarios = encoded.draw_in_bins(row, n_scenarios, drawn.seed + 1)[:, 0]
    plan: list[Measurement] = []
    rows = row
    for _ in range(min(n_steps, int(missing.sum()))):
        found = drawn.values(rows)
        values = found.values.mean(0)
        per_cost = values if prices is None else values / prices
        place = int(np.nanargmax(per_cost))
        before = plan[-1].after if plan else float(found.uncertainty.mean())
        value = min(float(values[place]), before)
        cost = None if prices is None else float(prices[place])
        name = encoded.names[place]
        plan.append(Measurement(name, value, cost, before, before - value))
        missing[place] = False
        rows = encoded.mark(encoded.hide(scenarios, missing))
    return plan


class RowValues(NamedTuple):
    """What cells are worth, and how uncertain predictions are without them."""

    values: np.ndarray  # (rows, columns), NaN where observed
    uncertainty: np.ndarray  # (rows,): entropy, or variance over what is missing


class Completions:
    """Draws of the missing cells of encoded rows, and what a model predicts for them.

    It does not warn of missing values where training had none, as ``encoded`` is a
    model that does not: whatever it predicts from here is complete.
    """

    def __init__(self, model: Any, n_draws: int = 256, random_state: Any = 0) -> None:
        self.n_draws = check_positive_int(n_draws, "n_draws")
        if n_draws < 2 * _GROUPS:
            msg = f"Got n_draws={n_draws}, but expected at least {2 * _GROUPS}."
            raise ValueError(msg)
        quiet = EncodedModel(model).model
        # Draws of complete rows would all be the same.
        settings = {"propagate": "expectation"}
        if quiet.on_unseen_missing == "warn":
            settings["on_unseen_missing"] = "use"
        self.encoded = EncodedModel(copy.copy(quiet).set_params(**settings))
        self.is_classes = is_classifier(model)
        self.seed = int(check_random_state(random_state).randint(2**30))

    def check_costs(self, costs: Any, needed: np.ndarray) -> np.ndarray | None:
        """Return the cost of each column, of those that are needed at least."""
        if costs is None:
            return None
        names = self.encoded.names
        if hasattr(costs, "keys"):
            by_name = {str(key): costs[key] for key in costs.keys()}  # noqa: SIM118
            if unknown := [name for name in by_name if name not in set(names)]:
                msg = (
                    f"Got costs of {list_names(unknown)}, but expected columns of the "
                    f"model: {list_names(names)}."
                )
                raise ValueError(msg)
            lacking = [
                name
                for name, is_needed in zip(names, needed, strict=True)
                if is_needed and name not in by_name
            ]
            if lacking:
                msg = (
                    f"Got costs without {list_names(lacking)}, but expected one of "
                    f"each column with missing values. Add what it costs to measure."
                )
                raise ValueError(msg)
            found = np.array([by_name.get(name, 1.0) for name in names], dtype=float)
        else:
            found = np.asarray(costs, dtype=np.float64)
            if found.shape != (len(names),):
                msg = (
                    f"Got costs of shape {found.shape}, but expected ({len(names)},): "
                    f"one of each column."
                )
                raise ValueError(msg)
        wrong = ~((found > 0) & np.isfinite(found))
        if wrong.any():
            name = names[int(wrong.argmax())]
            msg = (
                f"Got a cost of {found[wrong][0]:g} for {name!r}, but expected a "
                f"positive number."
            )
            raise ValueError(msg)
        return found

    def values(self, x: Tensor) -> RowValues:
        """Return the values of all missing cells of encoded rows."""
        size = max(1, _NUMBERS_AT_ONCE // (self.n_draws * x.shape[1]))
        parts = [self._values_of(block) for block in x.split(size)]
        return RowValues(*map(np.concatenate, zip(*parts, strict=True)))

    def _values_of(self, x: Tensor) -> RowValues:
        encoded, n = self.encoded, self.n_draws
        draws = encoded.draw_in_bins(x, n, self.seed)  # (n, rows, width)
        with torch.inference_mode():
            complete = encoded.mark(draws.flatten(0, 1))
        predicted = encoded.predict(complete).reshape(n, len(x), -1)
        cells = draws.cpu().numpy()
        missing = ~encoded.observed(x).cpu().numpy()
        values = np.full(missing.shape, np.nan)
        sources = encoded.sources.numpy()
        for place in np.flatnonzero(missing.any(0)):
            rows = np.flatnonzero(missing[:, place])
            drawn = cells[:, rows][:, :, sources == place]
            if drawn.shape[2] > 1:  # a category
                groups = drawn > 0.5
            else:
                ranks = drawn.argsort(0, kind="stable").argsort(0, kind="stable")
                groups = ranks * _GROUPS // n == np.arange(_GROUPS)
            reduction = self._reduction(groups.astype(np.float64), predicted[:, rows])
            values[rows, place] = np.maximum(reduction, 0.0)
        uncertainty, rest = predicted.var(0).sum(1), np.zeros(len(x))
        if self.is_classes:
            uncertainty = _entropy(predicted.mean(0))
            rest = _entropy(predicted).mean(0)
        # With its only missing cell measured, a row is complete.
        only = missing & (missing.sum(1) == 1)[:, None]
        values = np.where(only, (uncertainty - rest)[:, None], values)
        return RowValues(values, uncertainty)

    def _reduction(self, groups: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return by how much groups (n, rows, groups) reduce the uncertainty.

        Of predictions (n, rows, out). The mean of a group of size m has a variance of
        its own, s² / m, which adds to the variance between groups, and takes from their
        entropies, to second order, half of the sum of s² / (m p) over classes.
        """
        n = len(predicted)
        counts = groups.sum(0)  # (rows, groups)
        members = groups.transpose(1, 2, 0)  # (rows, groups, n)
        total = predicted.mean(0)  # (rows, out)
        apart = (predicted - total).transpose(1, 0, 2)  # (rows, n, out)
        sizes = np.maximum(counts, 1)[..., None]
        shifts = members @ apart / sizes  # of the means of groups, (rows, groups, out)
        squares = np.maximum(members @ apart**2 - sizes * shifts**2, 0)
        if not self.is_classes:
            n_groups = (counts > 0).sum(1)[:, None]
            between = (sizes * shifts**2).sum(1) / n
            within = squares.sum(1) / np.maximum(n - n_groups, 1)
            return np.asarray((between - within * (n_groups - 1) / n).sum(1))
        means = (total[:, None] + shifts).clip(_TINY)
        varied = squares / np.maximum(sizes - 1, 1) / means
        of_groups = counts * _entropy(means) + varied.sum(2) / 2
        before = _entropy(total) + ((apart**2).mean(1) / total.clip(_TINY)).sum(1) / (
            2 * n
        )
        # A category that was drawn once shows nothing.
        of_groups = np.where(counts == 1, before[:, None], of_groups)
        return np.asarray(before - of_groups.sum(1) / n)


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy of the last axis, in nats."""
    return np.asarray(entr(probabilities).sum(-1))
