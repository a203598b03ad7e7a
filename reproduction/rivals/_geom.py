"""Max-margin classification of data with absent features, by Chechik and others."""

import itertools
import numbers
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from lacunet._validation import check_choice, check_positive_int
from reproduction.rivals._kernels import (
    ColumnwiseKernel,
    LinearKernel,
    PolynomialKernel,
    ProductKernel,
    RadialKernel,
)
from reproduction.rivals._machines import KernelClassifier, Training, check_positive
from reproduction.rivals._margin_problems import Plane, Sides
from reproduction.rivals._margins import (
    Algorithm,
    MarginLearner,
    choose_iterate,
)
from reproduction.rivals._zero_filled import ZeroFilled

_ALGORITHMS = ("iterated", "exact", "average")
# The least ratio of norms by kernel. The RBF kernel on fewer columns is no projection,
# and its ratios are no more than a hint.
_LEAST_RATIO = {"rbf": 0.1, "product": 1e-3, "poly": 1e-3, "linear": 1e-3}
_HELD_BACK = 0.2


class GeometricMarginSVC(KernelClassifier):
    r"""Support vector machine with margins in the columns that each row has (*geom*).

    A row of which the columns :math:`o_i` are observed lies in the subspace of these,
    so its distance to the plane is divided by the norm of :math:`w^{(i)}`, which is
    :math:`w` restricted to them:

    .. math:: \max_{w, b} \min_i y_i (w \cdot x_i + b) / \|w^{(i)}\|.

    With ``algorithm="iterated"``, :math:`s_i = \|w^{(i)}\| / \|w\|` is held fixed, at
    first at one, while a machine is fitted to rows divided by it,

    .. math::

        \min \tfrac{1}{2} \|w\|^2 + C \sum_i \xi_i, \qquad
        y_i (w \cdot x_i / s_i + b) \ge 1 - \xi_i,

    and is then computed again from the new :math:`w`; a new row gets the sign of
    :math:`w \cdot x / s(x) + b`. With ``algorithm="exact"`` the intercept is divided by
    :math:`s_i` too, as the margin says, and a new row gets the sign of
    :math:`w \cdot x + b`. With ``algorithm="average"`` one norm, the mean of
    :math:`\|w^{(i)}\|^2` over all rows, stands for all: that is the ordinary machine on
    columns divided by :math:`\sqrt{p_l}`, where :math:`p_l` is the share of the rows
    that have column :math:`l`. On complete rows all three are the ordinary machine.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    kernel : {"rbf", "product", "poly", "linear"}, default="rbf"
        "rbf" is :math:`\exp(-g \|x - x'\|^2)` of rows that are filled with zeros,
        "product" :math:`\prod_l (1 + m_l m'_l \exp(-g (x_l - x'_l)^2)) / 2` with the
        masks :math:`m`, "poly" :math:`(g\, x \cdot x' + c)^{degree}` and "linear"
        :math:`x \cdot x'`, both over common columns.
    g : float or "scale", default="scale"
        Of the kernel's formula; "scale" is one over the number of columns.
    degree : int, default=2
        Of "poly".
    coef0 : float, default=1.0
        The :math:`c` of "poly", at least 0.
    algorithm : {"iterated", "exact", "average"}, default="iterated"
    n_iter : int, default=4
        Most problems to solve; fewer if no :math:`s_i` changes by more than 0.001.
        Usual are 2 to 5.
    validation_fraction : float, "auto" or None, default="auto"
        Share of the rows of each class to hold back, to choose among the iterates from
        the second on: the first of the best. The machine itself is fitted to all rows.
        With None, and where there are too few rows, the last is taken. "auto" is 0.2
        for "rbf", whose iterates may swing, and None for the others, which settle.
    class_weight : dict or "balanced", default=None
        Weights of the classes: factors of ``C``.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=10000000
        Most steps of the solver for each problem; -1 for no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows that are held back.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    planes_ : list of tuple
        For each pair of classes, (0, 1), (0, 2) and so on, the support rows, their
        coefficients and the intercept.
    n_iter_ : ndarray of int of shape (n_pairs,)
        The number of problems solved for each.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    See Also
    --------
    KarmaSVC : A kernel that counts the columns that two rows share.

    Notes
    -----
    The margins and the algorithms are those of Chechik, Heitz, Elidan, Abbeel and
    Koller (2008, "Max-margin classification of data with absent features"). They admit
    kernels of the inner product over common columns. The RBF is our reading of the
    paper that we compare with, which gives no formula. On common columns it would not
    be positive semi-definite (see ``KarmaSVC``); filled with zeros it is, but to leave
    columns out is no projection, so :math:`s_i` is brought to [0.1, 1]. With
    "product" it is one, but on complete rows that is not the RBF kernel. The other
    kernels have :math:`s_i` in [0.001, 1]. "average" is exact for "linear"; that the
    others are taken of the divided columns is our reading too.

    Columns are standardised over the observed cells of the training rows. A column with
    nothing observed there is left out. A row with nothing observed has no margin: it is
    left out of training, and the intercept decides on it. More than two classes are
    told apart one against one.

    There is no ``predict_proba``: use ``CalibratedClassifierCV`` around this classifier
    for probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import GeometricMarginSVC
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 3)
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> X[rng.rand(200, 3) < 0.2] = np.nan
    >>> model = GeometricMarginSVC(kernel="linear").fit(X, y)
    >>> model.predict([[2.0, 2.0, np.nan], [np.nan, -2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    planes_: list[Plane]
    n_iter_: np.ndarray
    _learner: MarginLearner
    _norm: np.ndarray  # (features,), what columns are divided by

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Literal["rbf", "product", "poly", "linear"] = "rbf",
        g: float | Literal["scale"] = "scale",
        degree: int = 2,
        coef0: float = 1.0,
        algorithm: Algorithm = "iterated",
        n_iter: int = 4,
        validation_fraction: float | Literal["auto"] | None = "auto",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.g = g
        self.degree = degree
        self.coef0 = coef0
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a machine to each pair of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with NaN where values are missing; ``TableNumbers`` makes numbers
            of other tables.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of ``C``; a row of weight two is two rows.

        Returns
        -------
        self
        """
        check_choice(self.algorithm, _ALGORITHMS, "algorithm")
        fraction = self._find_fraction()
        training = self._keep_observed(self._prepare(X, y, sample_weight))
        self._learner = MarginLearner(
            self._find_kernel(),
            self.algorithm,
            check_positive_int(self.n_iter, "n_iter"),
            _LEAST_RATIO[self.kernel],
            self._find_solver(),
        )
        self._norm = self._find_norm(training)
        random_state = check_random_state(self.random_state)
        chosen = [
            self._fit_sides(sides, fraction, random_state)
            for sides in self._split(training)
        ]
        self.planes_ = [plane for plane, _ in chosen]
        self.n_iter_ = np.array([count for _, count in chosen])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With NaN where values are missing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes one score, above zero for the second. Of more the number of
            pairs that a class has won, and a fraction that breaks ties.
        """
        rows = self._divide(self._read(X))
        scores = [self._learner.decide(plane, rows) for plane in self.planes_]
        if len(scores) == 1:
            return scores[0]
        return _count_votes(scores, len(self.classes_))

    def _find_kernel(self) -> ColumnwiseKernel:
        check_choice(self.kernel, tuple(_LEAST_RATIO), "kernel")
        g, degree = self._find_g(), check_positive_int(self.degree, "degree")
        fine = isinstance(self.coef0, numbers.Real) and 0 <= self.coef0 < np.inf
        if not fine:
            msg = f"Got coef0={self.coef0!r}, but expected a finite number >= 0."
            raise ValueError(msg)
        kernels: dict[str, ColumnwiseKernel] = {
            "rbf": RadialKernel(g),
            "product": ProductKernel(g, int(self._scale.seen.sum())),
            "poly": PolynomialKernel(g, float(self.coef0), degree),
            "linear": LinearKernel(),
        }
        return kernels[self.kernel]

    def _find_fraction(self) -> float:
        """Return the share of rows to hold back, 0 for none."""
        fraction = self.validation_fraction
        if fraction is None:
            return 0.0
        if isinstance(fraction, str) and fraction == "auto":
            return _HELD_BACK if self.kernel == "rbf" else 0.0
        if not isinstance(fraction, numbers.Real) or not 0 < fraction < 1:
            msg = (
                f"Got validation_fraction={fraction!r}, but expected a number between "
                f"0 and 1, 'auto' or None."
            )
            raise ValueError(msg)
        return float(fraction)

    def _keep_observed(self, training: Training) -> Training:
        """Leave out rows with nothing observed, and refuse to lose a class by it."""
        kept = training.take(np.flatnonzero(training.rows.observed.any(1)))
        lost = np.setdiff1d(np.arange(len(self.classes_)), kept.codes)
        if len(lost):
            msg = (
                f"Got no row with an observed value of {self.classes_[lost].tolist()}, "
                f"but expected one at least of each class. Leave these classes out."
            )
            raise ValueError(msg)
        return kept

    def _find_norm(self, training: Training) -> np.ndarray:
        observed = training.rows.observed
        if self.algorithm != "average":
            return np.ones(observed.shape[1])
        shares = training.weights @ observed / training.weights.sum()
        norm: np.ndarray = np.sqrt(shares)
        return norm

    def _divide(self, rows: ZeroFilled) -> ZeroFilled:
        return rows._replace(values=rows.values / self._norm)

    def _split(self, training: Training) -> list[Sides]:
        """Return the rows of each pair of classes."""
        rows = self._divide(training.rows)
        costs = check_positive(self.C, "C") * training.weights * training.factors
        pairs = itertools.combinations(range(len(self.classes_)), 2)
        return [
            Sides(rows, np.where(training.codes == high, 1.0, -1.0), costs).take(
                np.isin(training.codes, (low, high))
            )
            for low, high in pairs
        ]

    def _fit_sides(
        self, sides: Sides, fraction: float, random_state: np.random.RandomState
    ) -> tuple[Plane, int]:
        """Return the chosen plane of a pair of classes, and its place, from one."""
        learner = self._learner
        if fraction > 0 and not sides.rows.observed.all():
            count = choose_iterate(learner, sides, fraction, random_state)
            learner = replace(learner, n_iter=count)
        planes = learner.fit(sides)
        return planes[-1], len(planes)


def _count_votes(scores: list[np.ndarray], n_classes: int) -> np.ndarray:
    """Join the scores of pairs of classes, (samples, classes)."""
    votes, margins = np.zeros((2, len(scores[0]), n_classes))
    pairs = itertools.combinations(range(n_classes), 2)
    for score, (low, high) in zip(scores, pairs, strict=True):
        votes[:, low] += score <= 0
        votes[:, high] += score > 0
        margins[:, low] -= score
        margins[:, high] += score
    # Less than half a vote either way, whatever the margins are.
    joined: np.ndarray = votes + margins / (3.0 * (np.abs(margins) + 1.0))
    return joined
