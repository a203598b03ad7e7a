"""Support vector machines for rows with missing values: karma and geom.

Both take standardised rows, over whose observed columns their kernels are.
"""

import itertools
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state, check_scalar, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from reproduction.rivals._base import NaNEstimator

Kernel = Literal["rbf", "linear"]

# Steps of the solver for each pair of classes.
_MOST_STEPS = 10_000_000
# Numbers of restricted norms that are computed at once: 4 MB, which stay near the
# processor; and the most sets of columns.
_NORM_BUDGET, _MOST_PATTERNS = 2**19, 512
# Ratios of norms: the least by kernel, and what counts as no change. The RBF kernel on
# fewer columns is no projection, and its ratios are no more than a hint.
_LEAST_RATIO = {"rbf": 0.1, "linear": 1e-3}
_SETTLED = 1e-3


class _KernelClassifier(ClassifierMixin, NaNEstimator):
    """Tables in, classes out; the kernel and its machine are the subclass's."""

    classes_: np.ndarray
    _known: np.ndarray  # of bool: columns with an observed value in training
    _scaler: StandardScaler

    def _prepare(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return distinct standardised rows, codes of their classes, and counts.

        To a support vector machine copies of a row are one row with a weight; no rows
        are chosen by where they stand in the table.
        """
        check_scalar(self.C, "C", Real, min_val=0, include_boundaries="neither")
        if self.kernel not in _LEAST_RATIO:
            msg = f"Got kernel={self.kernel!r}, but expected one of rbf, linear."
            raise ValueError(msg)
        table, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            msg = (
                f"Got y with one class only, {self.classes_.tolist()}, but expected at "
                f"least two."
            )
            raise ValueError(msg)
        cells = np.column_stack([np.nan_to_num(table), ~np.isnan(table), codes])
        _, index, counts = np.unique(
            cells, axis=0, return_index=True, return_counts=True
        )
        table = table[index]
        self._known = ~np.isnan(table).all(0)
        if not self._known.any():
            msg = "Got X without a single observed value, but expected some."
            raise ValueError(msg)
        weights = counts.astype(np.float64)
        known = table[:, self._known]
        self._scaler = StandardScaler().fit(known, sample_weight=weights)
        return self._scaler.transform(known), codes[index], weights

    def _read_new(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        table = self._read(X, reset=False).astype(np.float64)
        scaled: np.ndarray = self._scaler.transform(table[:, self._known])
        return scaled

    def _find_g(self) -> float:
        if isinstance(self.g, str) and self.g == "scale":
            return 1.0 / int(self._known.sum())
        check_scalar(self.g, "g", Real, min_val=0, include_boundaries="neither")
        return float(self.g)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        scores = self.decision_function(X)
        codes = scores.argmax(1) if scores.ndim == 2 else (scores > 0).astype(int)
        chosen: np.ndarray = self.classes_[codes]
        return chosen


def _machine(C: float = 1.0) -> SVC:
    # Its seed is of no use to libsvm, but drawn from the global generator by None.
    return SVC(C=C, kernel="precomputed", max_iter=_MOST_STEPS, random_state=0)


# --- karma


class KarmaSVC(_KernelClassifier):
    r"""Support vector machine with karma's kernel on what two rows both have.

    If complete rows lie near a subspace, the best linear rule on a row of which the
    columns :math:`o` are observed is :math:`w_o^T (A_{oo})^{-1} x_o` for some matrix.
    Cut after ``gamma`` terms, the series of that inverse is linear in features whose
    inner product is

    .. math::

        k(x, x') = (1 + n + \dots + n^{\gamma - 1}) \sum_{i \in o \cap o'} x_i x'_i,
        \qquad n = |o \cap o'|.

    With ``gamma=1`` it is the linear kernel of rows filled with zeros. Here it is
    divided by its factor at complete rows, so that these have the ordinary linear
    kernel; that changes the meaning of ``C`` and nothing else. With ``kernel="rbf"``
    it is an RBF kernel in the same feature space, by the distance there:

    .. math:: K(x, x') = \exp(-g [k(x, x) + k(x', x') - 2 k(x, x')]).

    On complete rows that is the ordinary RBF kernel, for any ``gamma``.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    gamma : int, default=2
        Number of terms, at least one. The paper chooses from 1 and 2.
    kernel : {"rbf", "linear"}, default="rbf"
        Of the feature space.
    g : float or "scale", default="scale"
        Of the RBF's formula; "scale" is one over the number of columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In the order of the scores.
    machine_ : sklearn.svm.SVC
        Fitted to the precomputed kernel of the distinct training rows.

    Notes
    -----
    The kernel is Hazan, Livni and Mansour's (2015, "Classification with low rank and
    missing data"). Three things are our reading: the division above; the RBF, of which
    the paper gives no formula; and the solver. They learn by stochastic gradient
    descent on the hinge loss, whose minimum is what is found here.

    An RBF of the distance on common columns would not do: it is not positive
    semi-definite. The smallest proof is the column (0, 2, NaN) with ``g=0.5``, whose
    matrix [[1, 0.1353, 1], [0.1353, 1, 1], [1, 1, 1]] has the eigenvalue -0.3482.

    Columns are standardised over the observed cells of the training rows; those with
    nothing observed there are left out. A row with nothing observed is the origin of
    the feature space.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import KarmaSVC
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 3)
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> X[rng.rand(200, 3) < 0.2] = np.nan
    >>> KarmaSVC().fit(X, y).predict([[2.0, 2.0, np.nan], [np.nan, -2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    machine_: SVC

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: int = 2,
        kernel: Kernel = "rbf",
        g: float | Literal["scale"] = "scale",
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.kernel = kernel
        self.g = g

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine."""
        check_scalar(self.gamma, "gamma", Integral, min_val=1)
        self._rows, codes, counts = self._prepare(X, y)
        self._g = self._find_g()
        self.machine_ = _machine(self.C).fit(self._gram(self._rows), codes, counts)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores of the classes; of two, one score, above 0 for the second."""
        gram = self._gram(self._read_new(X))
        scores: np.ndarray = self.machine_.decision_function(gram)
        return scores

    def _gram(self, rows: np.ndarray) -> np.ndarray:
        """Return the kernel of rows with the training rows."""
        complete = float(power_sum(rows.shape[1], self.gamma))
        if self.kernel == "linear":
            return karma_kernel(rows, self._rows, self.gamma) / complete
        distances = karma_distances(rows, self._rows, self.gamma)
        return np.exp(-self._g / complete * distances)


def karma_kernel(rows: np.ndarray, others: np.ndarray, gamma: int) -> np.ndarray:
    """Compute ``(1 + n + ... + n**(gamma - 1)) * x.x'`` over ``n`` common columns."""
    common = (~np.isnan(rows)).astype(np.float64) @ ~np.isnan(others).T
    product = np.nan_to_num(rows) @ np.nan_to_num(others).T
    kernel: np.ndarray = power_sum(common, gamma) * product
    return kernel


def karma_distances(rows: np.ndarray, others: np.ndarray, gamma: int) -> np.ndarray:
    """Compute squared distances in the feature space of karma's kernel."""
    squares, others_squares = (
        power_sum((~np.isnan(x)).sum(1), gamma) * np.nansum(x**2, 1)
        for x in (rows, others)
    )
    crossed = karma_kernel(rows, others, gamma)
    distances = squares[:, None] + others_squares - 2.0 * crossed
    nearest: np.ndarray = np.maximum(distances, 0.0)  # not below, but for rounding
    return nearest


def power_sum(count: Any, gamma: int) -> Any:
    """Compute ``1 + count + ... + count**(gamma - 1)``, which is right at 0 and 1."""
    total = np.ones_like(count, dtype=np.float64)
    for _ in range(gamma - 1):
        total = total * count + 1.0
    return total


# --- geom


class Plane(NamedTuple):
    """A plane ``w = sum_j coef_j K(x_j, .)`` and its intercept."""

    support: np.ndarray  # (support, features), NaN where a value is missing
    coef: np.ndarray  # (support,)
    intercept: float


class GeometricMarginSVC(_KernelClassifier):
    r"""Support vector machine with margins in the columns that each row has (*geom*).

    A row of which the columns :math:`o_i` are observed lies in the subspace of these,
    so its distance to the plane is divided by the norm of :math:`w^{(i)}`, which is
    :math:`w` restricted to them:

    .. math:: \max_{w, b} \min_i y_i (w \cdot x_i + b) / \|w^{(i)}\|.

    :math:`s_i = \|w^{(i)}\| / \|w\|` is held fixed, at first at one, while a machine is
    fitted to rows divided by it,

    .. math::

        \min \tfrac{1}{2} \|w\|^2 + C \sum_i \xi_i, \qquad
        y_i (w \cdot x_i / s_i + b) \ge 1 - \xi_i,

    and is then computed again from the new :math:`w`; a new row gets the sign of
    :math:`w \cdot x / s(x) + b`. On complete rows that is the ordinary machine.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    kernel : {"rbf", "linear"}, default="rbf"
        "rbf" is :math:`\exp(-g \|x - x'\|^2)` of rows that are filled with zeros,
        "linear" :math:`x \cdot x'` over common columns.
    g : float or "scale", default="scale"
        Of the RBF's formula; "scale" is one over the number of columns.
    n_iter : int, default=4
        Most problems to solve; fewer if no :math:`s_i` changes by more than 0.001.
    validation_fraction : float or None, default=0.2
        Fraction of the rows of each class on which the iterates from the second on
        are compared: the first of the best is taken. The machine itself is fitted to
        all rows. With None, and where there are too few rows, the last is taken.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of these rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In the order of the scores.
    planes_ : list of Plane
        For each pair of classes, (0, 1), (0, 2) and so on.
    n_iter_ : ndarray of int of shape (n_pairs,)
        The number of problems solved for each.

    Notes
    -----
    The margins and the algorithm are those of Chechik, Heitz, Elidan, Abbeel and Koller
    (2008, "Max-margin classification of data with absent features"), who admit kernels
    of the inner product over common columns. The RBF is our reading of the paper, which
    gives no formula. On common columns it would not be positive semi-definite (see
    ``KarmaSVC``); filled with zeros it is, but to leave columns out is no projection,
    so :math:`s_i` is brought to [0.1, 1], and its iterates may swing.

    Columns are standardised over the observed cells of the training rows; those with
    nothing observed there are left out. A row with nothing observed has no margin: it
    is left out of training, and the intercept decides on it. More than two classes are
    separated one against one.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import GeometricMarginSVC
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 3)
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> X[rng.rand(200, 3) < 0.2] = np.nan
    >>> model = GeometricMarginSVC(kernel="linear", random_state=0).fit(X, y)
    >>> model.predict([[2.0, 2.0, np.nan], [np.nan, -2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    planes_: list[Plane]
    n_iter_: np.ndarray

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        g: float | Literal["scale"] = "scale",
        n_iter: int = 4,
        validation_fraction: float | None = 0.2,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.g = g
        self.n_iter = n_iter
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a machine to each pair of classes."""
        check_scalar(self.n_iter, "n_iter", Integral, min_val=1)
        state = check_random_state(self.random_state)
        rows, codes, counts = self._prepare(X, y)
        kept = ~np.isnan(rows).all(1)
        lost = np.setdiff1d(codes, codes[kept])
        if len(lost):
            msg = (
                f"Got no row with an observed value of {self.classes_[lost].tolist()}, "
                f"but expected one at least of each class. Leave these classes out."
            )
            raise ValueError(msg)
        rows, codes, costs = rows[kept], codes[kept], self.C * counts[kept]
        self._g = self._find_g() if self.kernel == "rbf" else None
        self.planes_, n_iter = [], []
        for pair in itertools.combinations(range(len(self.classes_)), 2):
            ours = np.isin(codes, pair)
            sides = rows[ours], np.where(codes[ours] == pair[1], 1.0, -1.0), costs[ours]
            planes = self._fit_planes(*sides, self._choose_iterate(*sides, state))
            self.planes_.append(planes[-1])
            n_iter.append(len(planes))
        self.n_iter_ = np.array(n_iter)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores of the classes.

        Of two classes one score, above zero for the second. Of more the number of pairs
        that a class has won, and a fraction that breaks ties.
        """
        rows = self._read_new(X)
        scores = [self._decide(plane, rows) for plane in self.planes_]
        if len(scores) == 1:
            return scores[0]
        votes, margins = np.zeros((2, len(rows), len(self.classes_)))
        pairs = itertools.combinations(range(len(self.classes_)), 2)
        for score, (low, high) in zip(scores, pairs, strict=True):
            votes[:, low] += score <= 0
            votes[:, high] += score > 0
            margins[:, low] -= score
            margins[:, high] += score
        # Less than half a vote either way, whatever the margins are.
        joined: np.ndarray = votes + margins / (3.0 * (np.abs(margins) + 1.0))
        return joined

    def _gram(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        filled = np.nan_to_num(rows), np.nan_to_num(others)
        gram: np.ndarray = (
            linear_kernel(*filled) if self._g is None else rbf_kernel(*filled, self._g)
        )
        return gram

    def _fit_planes(
        self, rows: np.ndarray, signs: np.ndarray, costs: np.ndarray, n_iter: int
    ) -> list[Plane]:
        """Return the planes of all iterations, until the ratios settle."""
        gram = self._gram(rows, rows)
        ratios = np.ones(len(rows))
        planes: list[Plane] = []
        while len(planes) < n_iter:
            if planes:
                earlier, ratios = ratios, self._find_ratios(planes[-1], rows)
                if np.abs(ratios - earlier).max() < _SETTLED:
                    break
            machine = _machine().fit(gram / np.outer(ratios, ratios), signs, costs)
            support = machine.support_
            coef = machine.dual_coef_[0] / ratios[support]
            planes.append(Plane(rows[support], coef, float(machine.intercept_[0])))
        return planes

    def _find_ratios(self, plane: Plane, rows: np.ndarray) -> np.ndarray:
        """Compute ``|w restricted to o| / |w|`` for the columns that each row has."""
        patterns, group = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        every = np.ones_like(patterns[:1])
        total, *squares = squared_norms(
            plane.support, plane.coef, np.vstack([every, patterns]), self._g
        )
        if total <= 0:
            return np.ones(len(rows))
        fractions = np.maximum(squares, 0.0) / total  # not below, but for rounding
        ratios = np.sqrt(fractions).clip(_LEAST_RATIO[self.kernel], 1.0)
        of_rows: np.ndarray = ratios[group.ravel()]
        return of_rows

    def _decide(self, plane: Plane, rows: np.ndarray) -> np.ndarray:
        """Return on which side of a plane rows are, and how far from it."""
        products = self._gram(rows, plane.support) @ plane.coef
        scores = np.where(np.isnan(rows).all(1), 0.0, products)
        decided: np.ndarray = scores / self._find_ratios(plane, rows) + plane.intercept
        return decided

    def _choose_iterate(
        self,
        rows: np.ndarray,
        signs: np.ndarray,
        costs: np.ndarray,
        state: np.random.RandomState,
    ) -> int:
        """Return the place, from one, of the iterate with the best validation score.

        The first is none of them if there are others: it takes all rows as complete.
        """
        fraction = self.validation_fraction
        if fraction is None or not np.isnan(rows).any():
            return self.n_iter
        validation = np.zeros(len(signs), dtype=bool)
        for sign in (-1.0, 1.0):
            places = state.permutation(np.flatnonzero(signs == sign))
            validation[places[: int(fraction * len(places))]] = True
        if not validation.any():
            return self.n_iter
        training = ~validation
        scores = [
            costs[validation]
            @ (self._decide(plane, rows[validation]) * signs[validation] > 0)
            for plane in self._fit_planes(
                rows[training], signs[training], costs[training], self.n_iter
            )
        ]
        return 1 if len(scores) == 1 else 2 + int(np.argmax(scores[1:]))


def squared_norms(
    rows: np.ndarray, coef: np.ndarray, patterns: np.ndarray, g: float | None
) -> np.ndarray:
    """Compute ``|w restricted to o|**2`` for each set ``o`` of columns.

    ``w = sum_j coef_j K(x_j, .)`` with the RBF kernel, or the linear one without ``g``.
    Takes as many steps as patterns times pairs of rows, in blocks of bounded size.
    """
    filled = np.nan_to_num(rows)
    if g is None:
        linear: np.ndarray = patterns @ (coef @ filled) ** 2
        return linear
    squares = np.zeros(len(patterns))
    for some in gen_batches(len(patterns), _MOST_PATTERNS):
        masks = patterns[some].astype(np.float64)
        step = max(1, _NORM_BUDGET // (max(1, len(coef)) * sum(masks.shape)))
        for start in range(0, len(coef), step):
            block = slice(start, start + step)
            exponents = filled[block].T[:, :, None] - filled[start:].T[:, None, :]
            exponents = -g * np.square(exponents, out=exponents)
            weights = np.outer(coef[block], coef[start:])
            weights[:, step:] *= 2.0  # these pairs don't come again the other way round
            kernel = masks @ exponents.reshape(len(exponents), -1)
            # In less than half of numpy's time, but slow where few digits are left.
            torch.from_numpy(kernel).clamp_(min=-300.0).exp_()
            squares[some] += (
                kernel @ weights.ravel()
            )  # (patterns, pairs) -> (patterns,)
    return squares
