"""Classification with low rank and missing data, by Hazan, Livni and Mansour."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from lacunet._validation import check_choice, check_positive_int
from reproduction.rivals._kernels import karma_distances, karma_kernel, power_sum
from reproduction.rivals._machines import KernelClassifier, check_positive
from reproduction.rivals._zero_filled import ZeroFilled

# Numbers of a Gram matrix that are computed at once in a prediction.
_BLOCK_BUDGET = 2**22


class KarmaSVC(KernelClassifier):
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
        Number of terms, at least one. The paper that we compare with chooses from 1
        and 2.
    kernel : {"rbf", "linear"}, default="rbf"
    g : float or "scale", default="scale"
        Of the RBF's formula; "scale" is one over the number of columns.
    class_weight : dict or "balanced", default=None
        Weights of the classes: factors of ``C``.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=10000000
        Most steps of the solver for each pair of classes; -1 for no limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    machine_ : sklearn.svm.SVC
        Fitted to the precomputed kernel of the distinct training rows.
    n_iter_ : ndarray of int of shape (n_pairs,)
        Steps of the solver for each pair of classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    See Also
    --------
    GeometricMarginSVC : Margins in the columns that each row has.

    Notes
    -----
    The kernel is Hazan, Livni and Mansour's (2015, "Classification with low rank and
    missing data"). Three things are our reading: the division above; the RBF, of which
    the paper that we compare with gives no formula; and the solver. They learn by
    stochastic gradient descent on the hinge loss, whose minimum is what is found here.

    An RBF of the distance on common columns would not do: it is not positive
    semi-definite. The smallest proof is the column (0, 2, NaN) with ``g=0.5``, whose
    matrix [[1, 0.1353, 1], [0.1353, 1, 1], [1, 1, 1]] has the eigenvalue -0.3482.

    Columns are standardised over the observed cells of the training rows. A column with
    nothing observed there is left out. A row with nothing observed is the origin of the
    feature space. More than two classes are told apart one against one.

    There is no ``predict_proba``: use ``CalibratedClassifierCV`` around this classifier
    for probabilities.

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
    n_iter_: np.ndarray
    _training: ZeroFilled
    _g: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: int = 2,
        kernel: Literal["rbf", "linear"] = "rbf",
        g: float | Literal["scale"] = "scale",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.kernel = kernel
        self.g = g
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

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
        check_positive_int(self.gamma, "gamma")
        check_choice(self.kernel, ("rbf", "linear"), "kernel")
        training = self._prepare(X, y, sample_weight)
        self._training = training.rows
        self._g = self._find_g()
        cost, solver = check_positive(self.C, "C"), self._find_solver()
        # Its seed is of no use to libsvm, but drawn from the global generator by None.
        self.machine_ = SVC(
            C=cost, kernel="precomputed", random_state=0, **solver._asdict()
        )
        weights = training.weights * training.factors
        self.machine_.fit(self._gram(training.rows), training.codes, weights)
        self.n_iter_ = self.machine_.n_iter_
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
            Of two classes one score, above zero for the second.
        """
        rows = self._read(X)
        step = max(1, _BLOCK_BUDGET // len(self._training.values))
        blocks = gen_batches(len(rows.values), step)
        scores = [
            self.machine_.decision_function(self._gram(rows.take(block)))
            for block in blocks
        ]
        joined: np.ndarray = np.concatenate(scores)
        return joined

    def _gram(self, rows: ZeroFilled) -> np.ndarray:
        """Return the kernel of rows with the training rows."""
        whole = float(power_sum(rows.values.shape[1], self.gamma))
        if self.kernel == "linear":
            return karma_kernel(rows, self._training, self.gamma) / whole
        distances = karma_distances(rows, self._training, self.gamma)
        return np.exp(-self._g / whole * distances)
