"""What to measure next: what the value of a missing cell is expected to be worth."""

import copy
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import entr
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from torch import Tensor

from lacunet._text import list_names
from lacunet._validation import check_positive_int
from lacunet.estimators import EncodedModel

_GROUPS = 16  # of draws of a number
_POINTS = 8  # that stand for these draws, where each takes a prediction
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

    Values of a cell are drawn from the density of the model, given what is observed
    (up to eight values of a number, all categories). For each of them the model
    predicts with that cell filled in and the others missing. Rows that the model
    predicts from draws (``propagate``) are completed ``n_draws`` times instead: the
    networks predict each completed row once, and the mean over those that agree in a
    cell is what would be predicted with it measured; what groups of finite size differ
    by chance is subtracted.

    Indicators of missing values stay as they are when a cell is filled: its value is
    what the number or category tells, not what its being known tells. For classes no
    cell is worth more than the present entropy of the row.

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
        Number of draws for each row: a multiple of 16, at least 64, and best a power
        of two.
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
    A column without one observed value in training has the value 0, and no cost.

    Values are of one cell at a time. Where two cells matter only together, as in an
    exclusive or, both have the value 0: no greedy policy finds such pairs. Values below
    about 0.01 nats may be cut to 0, as the correction for groups of finite size is
    coarse there.

    They are what the model expects of its own predictions. If rows begin with little,
    fit it on such rows: ``mask_augmentation=0.5`` with ``propagate="expectation"``. In
    a wide table its predictions from one or two cells are cautious all the same, and
    their values too low.

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
    missing = (~drawn.encoded.observed(x)).any(0).cpu().numpy()
    prices = drawn.check_costs(costs, missing & ~drawn.encoded.empty)
    values = drawn.values(x)
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
        Number of completions of the row, in each scenario; as for
        :func:`acquisition_values`.
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
    row = drawn.encoded.encode(x)
    if len(row) != 1:
        msg = f"Got {len(row)} rows, but expected one. Plan for each row by itself."
        raise ValueError(msg)
    missing = (~drawn.encoded.observed(row)).any(0).cpu().numpy()
    missing &= ~drawn.encoded.empty
    prices = drawn.check_costs(costs, missing)
    return drawn.plan(row, missing, prices, n_steps, n_scenarios)


class Completions:
    """Draws of the missing cells of encoded rows, and what a model predicts for them.

    It does not warn of missing values where training had none: rows that begin with
    nothing have them everywhere.
    """

    def __init__(self, model: Any, n_draws: int = 256, random_state: Any = 0) -> None:
        self.n_draws = check_positive_int(n_draws, "n_draws")
        if n_draws % _GROUPS or n_draws < 4 * _GROUPS:
            msg = (
                f"Got n_draws={n_draws}, but expected a multiple of {_GROUPS}, of at "
                f"least {4 * _GROUPS}. Take 256."
            )
            raise ValueError(msg)
        quiet = copy.copy(EncodedModel(model).model)
        if quiet.on_unseen_missing == "warn":
            quiet.set_params(on_unseen_missing="use")
        self.encoded = EncodedModel(quiet)
        # For rows that are complete, or predicted by expectation in any case.
        by_expectation = copy.copy(quiet).set_params(propagate="expectation")
        self._by_expectation = EncodedModel(by_expectation)
        self.is_classes = is_classifier(model)
        self.seed = int(check_random_state(random_state).randint(2**30))

    def check_costs(self, costs: Any, needed: np.ndarray) -> np.ndarray | None:
        """Return the cost of each column, of those that are needed at least."""
        if costs is None:
            return None
        names = self.encoded.names
        given = costs
        if hasattr(costs, "items"):
            pairs = [
                (key if isinstance(key, str) else f"x{key}", cost)
                for key, cost in costs.items()
            ]
            counts = Counter(key for key, _ in pairs)
            lacking = [names[place] for place in np.flatnonzero(needed)]
            for what, names_of in (
                ("costs of", [key for key in counts if key not in names]),
                ("several costs of", [key for key, n in counts.items() if n > 1]),
                ("costs without", [key for key in lacking if key not in counts]),
            ):
                if names_of:
                    msg = (
                        f"Got {what} {list_names(names_of)}, but expected one of each "
                        f"column with missing values, of the model's columns "
                        f"{list_names(names)}."
                    )
                    raise ValueError(msg)
            given = [dict(pairs).get(name, 1.0) for name in names]
        try:
            found = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = (
                "Got costs that are no numbers, but expected a positive number of each "
                "column. Convert them."
            )
            raise ValueError(msg) from error
        if found.shape != (len(names),):
            msg = (
                f"Got costs of shape {found.shape}, but expected ({len(names)},): one "
                f"of each column. Give a mapping, or an array of one dimension."
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

    def values(self, x: Tensor) -> np.ndarray:
        """Return the values of all missing cells of encoded rows, (rows, columns)."""
        missing = ~self.encoded.observed(x).cpu().numpy()
        # With its only missing cell measured, a row is complete: as draws are.
        drawn = self.encoded.needs_draws(x).cpu().numpy() | (missing.sum(1) == 1)
        values = np.full(missing.shape, np.nan)
        for chosen, find in ((~drawn, self._fill_cells), (drawn, self._by_draws)):
            rows = np.flatnonzero(chosen & missing.any(1))
            for start in range(0, len(rows), self._size(x)):
                block = rows[start : start + self._size(x)]
                values[block] = find(x[block], missing[block])
        values[:, self.encoded.empty] = 0.0
        return np.where(missing, np.maximum(values, 0.0), np.nan)

    def plan(
        self,
        row: Tensor,
        choice: np.ndarray,
        prices: np.ndarray | None,
        n_steps: int,
        n_scenarios: int = 32,
    ) -> list[Measurement]:
        """Return what to measure of an encoded row, of a choice of its missing cells.

        See :func:`plan_measurements`.
        """
        encoded = self.encoded
        hidden, left = ~encoded.observed(row)[0], choice.copy()
        scenarios = encoded.draw(row, n_scenarios, self.seed + 1)[:, 0]
        steps: list[Measurement] = []
        rows = row
        for _ in range(min(n_steps, int(left.sum()))):
            values = self.values(rows).mean(0)
            per_cost = values if prices is None else values / prices
            place = int(np.where(left, per_cost, -1.0).argmax())
            before = steps[-1].after if steps else float(self.uncertainty(row)[0])
            value = min(float(values[place]), before)
            cost = None if prices is None else float(prices[place])
            name = encoded.names[place]
            steps.append(Measurement(name, value, cost, before, before - value))
            hidden[place] = left[place] = False
            rows = encoded.hide(scenarios, hidden)
        return steps

    def uncertainty(self, x: Tensor) -> np.ndarray:
        """Return entropies of predictions, or their variances over what is missing."""
        if self.is_classes:
            return _entropy(self.encoded.predict(x))
        blocks = x.split(self._size(x))
        return np.concatenate([self._complete(b)[1].var(0).sum(1) for b in blocks])

    def _size(self, x: Tensor) -> int:
        """Return how many rows may be completed, and filled cell by cell, at once."""
        n_out = self.encoded.model.module_.out_features
        widths = torch.bincount(self.encoded.sources.clamp_min(0))  # of the columns
        n_filled = max(_POINTS, int(widths.max()))
        each = max(self.n_draws * max(x.shape[1], n_out), n_filled * x.shape[1] ** 2)
        return max(1, _NUMBERS_AT_ONCE // each)

    def _complete(self, x: Tensor) -> tuple[Tensor, np.ndarray]:
        """Return draws (n, rows, width), and their predictions (n, rows, out)."""
        draws = self.encoded.draw(x, self.n_draws, self.seed)
        return draws, self._predict_draws(draws)

    def _predict_draws(self, draws: Tensor) -> np.ndarray:
        predicted = self._by_expectation.predict(draws.flatten(0, 1))
        return predicted.reshape(*draws.shape[:2], -1)

    def _fill_cells(self, x: Tensor, missing: np.ndarray) -> np.ndarray:
        """Return values by predictions with one cell more, and the rest missing."""
        draws = self.encoded.draw(x, self.n_draws, self.seed)
        filled, weights, cells = [], [], []
        for place in np.flatnonzero(missing.any(0)):
            rows = torch.as_tensor(np.flatnonzero(missing[:, place]), device=x.device)
            own = torch.eq(self.encoded.sources, int(place)).nonzero()[:, 0].to(rows)
            drawn = draws[:, rows][..., own]  # (n, rows, own)
            if len(own) > 1:  # each category, by how often it is drawn
                points = torch.eye(len(own)).to(x)[:, None].expand(-1, len(rows), -1)
                each = drawn.mean(0).T
            else:  # the means of groups, stretched to the variance of draws
                numbers = drawn[..., 0].cpu().double().numpy()
                groups = _group_numbers(numbers, _POINTS) * 1.0
                sizes = groups.sum(0)  # (rows, points)
                sums = (groups * numbers[..., None]).sum(0)
                centre = numbers.mean(0)[:, None]
                apart = sums / np.maximum(sizes, 1) - centre
                wide = np.sqrt((sizes * apart**2).sum(1) / self.n_draws)
                stretch = numbers.std(0) / np.maximum(wide, _TINY)
                means = centre + apart * stretch[:, None]
                points = torch.as_tensor(means.T[..., None]).to(x)
                each = torch.as_tensor(sizes.T / self.n_draws).to(x)
            number, row = each.nonzero(as_tuple=True)
            some = x[rows[row]]
            some[:, own] = points[number, row]
            filled.append(some)
            weights.append(each[number, row].cpu().double().numpy())
            cells.append(rows[row].cpu().numpy() * missing.shape[1] + place)
        predicted = self._by_expectation.predict(torch.cat(filled))
        weight, cell = np.concatenate(weights), np.concatenate(cells)

        def mean(each: np.ndarray) -> np.ndarray:
            """Return means over the values of each cell, (cells, out)."""
            sums = [np.bincount(cell, weight * of, missing.size) for of in each.T]
            return np.stack(sums, 1)

        if self.is_classes:
            after = mean(_entropy(predicted)[:, None])[:, 0]
            before = _entropy(mean(predicted)).reshape(missing.shape)
            values = before - after.reshape(missing.shape)
            return np.asarray(values * self._certainty(x, before))
        variances = mean((predicted - mean(predicted)[cell]) ** 2)
        values = np.reshape(variances.sum(1), missing.shape)
        # Beside what completed rows have left of their variance, so that both together
        # are no more than all of it.
        completed = self._predict_draws(draws)
        whole = completed.var(0).sum(1)[:, None]
        left = (whole - self._group_draws(draws, completed, missing)).clip(min=0.0)
        return np.asarray(values * whole / np.maximum(whole, values + left + _TINY))

    def _by_draws(self, x: Tensor, missing: np.ndarray) -> np.ndarray:
        """Return values by completed rows alone."""
        draws, predicted = self._complete(x)
        values = self._group_draws(draws, predicted, missing)
        if self.is_classes:
            values *= self._certainty(x, _entropy(predicted.mean(0))[:, None])
        return values

    def _group_draws(
        self, draws: Tensor, predicted: np.ndarray, missing: np.ndarray
    ) -> np.ndarray:
        """Return values by groups of completed rows that agree in a cell."""
        drawn = draws.cpu().numpy()
        sources = self.encoded.sources.numpy()
        values = np.full(missing.shape, np.nan)
        for place in np.flatnonzero(missing.any(0)):
            rows = np.flatnonzero(missing[:, place])
            own = drawn[:, rows][:, :, sources == place]
            if own.shape[2] > 1:  # a category
                groups = own > 0.5
            else:
                groups = _group_numbers(own[..., 0], _GROUPS)
            values[rows, place] = self._reduction(groups * 1.0, predicted[:, rows])
        whole = predicted.var(0).sum(1)
        if self.is_classes:
            whole = _entropy(predicted.mean(0)) - _entropy(predicted).mean(0)
        only = missing & (missing.sum(1) == 1)[:, None]
        return np.where(only, whole[:, None], values)

    def _certainty(self, x: Tensor, entropy: np.ndarray) -> np.ndarray:
        """Return the entropy of predictions in units of that of means over draws.

        At most 1. A prediction may be the surer one, and can't lose more than it has.
        """
        present = _entropy(self.encoded.predict(x))[:, None]
        return np.asarray(np.minimum(present / np.maximum(entropy, _TINY), 1.0))

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


def _group_numbers(draws: np.ndarray, n_groups: int) -> np.ndarray:
    """Return draws (n, rows) by value if few, else by quantile: (n, rows, groups)."""
    order = draws.argsort(0, kind="stable")
    ordered = np.take_along_axis(draws, order, 0)
    distinct = (np.diff(ordered, axis=0, prepend=ordered[:1]) > 0).cumsum(0)
    quantile = np.arange(len(draws))[:, None] * n_groups // len(draws)
    group = np.where(distinct[-1] < n_groups, distinct, quantile)
    of_draw = np.empty_like(group)
    np.put_along_axis(of_draw, order, group, 0)
    return np.asarray(of_draw[..., None] == np.arange(n_groups))


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy of the last axis, in nats."""
    return np.asarray(entr(probabilities).sum(-1))
