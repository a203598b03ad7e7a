"""A Gaussian mixture fitted by EM to incomplete rows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from lacunet._device import on_cpu
from lacunet._random import torch_generator
from lacunet.density._em import (
    BLOCK_BUDGET,
    STEPS,
    EMResult,
    Stop,
    best_of_starts,
    run_em,
    split_blocks,
    step_towards,
)
from lacunet.density._parameters import (
    FITTED,
    RECORDS,
    check_at_least,
    check_parameters,
    effective_rank,
    override_start,
    read_components,
    row_size,
)
from lacunet.density._start import (
    at_bounds,
    column_means,
    gaussian_starts,
    read_bounds,
    relative_to,
    standardise,
    warn_of_empty,
    warn_unless_converged,
)
from lacunet.functional import (
    Cells,
    ConditionalMixture,
    GaussianComponents,
    split_cells,
    widen,
)


class IncompleteGaussianMixture(DensityMixin, BaseEstimator):
    """Gaussian mixture by EM on data with missing values.

    Fits, scores, samples and imputes tables in which ``NaN`` marks a missing value. No
    row has to be complete, and nothing is filled in beforehand: EM maximises the
    likelihood of the observed cells (Ghahramani and Jordan 1994), which is right
    wherever values are missing at random. On complete data it is scikit-learn's
    ``GaussianMixture``.

    Parameters
    ----------
    n_components : int, default=1
        Number of Gaussians.
    covariance_type : {"diag", "factor", "full"}, default="diag"
        Diagonal covariances; ``rank`` factors plus a diagonal (a mixture of factor
        analysers, the choice for many dependent columns); or full ones.
    rank : int, default=None
        Number of factors of "factor"; the smaller of 10 and the number of features
        minus one (at least 1) if not given.
    strategy : {"em", "mean"}, default="em"
        "mean" fills them by column means and fits that, as the paper starts. It
        shrinks variances and is there for comparison.
    tol : float, default=1e-3
        EM stops when a row's mean log likelihood gains less.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances.
    max_iter : int, default=100
        Most iterations of EM.
    accelerate : bool, default=False
        Extrapolate steps (SQUAREM): many times fewer iterations where much is missing
        and ``tol`` is small. The likelihood does not fall either way.
    n_init : int, default=1
        Number of starts; the best result is kept.
    init_params : {"kmeans", "random"}, default="kmeans"
        Start from clusters over the observed cells, or from random responsibilities.
    weights_init : array-like of shape (n_components,), default=None
        Weights to start from.
    means_init : array-like of shape (n_components, n_features), default=None
        Means to start from.
    precisions_init : array-like, default=None
        Inverse covariances to start from: (n_components, n_features) for "diag",
        (n_components, n_features, n_features) for "full".
    warm_start : bool, default=False
        Start from the last fit's components.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts and of the draws.
    verbose : int, default=0
        Print the log likelihood every so many iterations.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_ : ndarray
        (n_components, n_features) for "diag",
        (n_components, n_features, n_features) for "full"; "factor" has the next two.
    loadings_ : ndarray of shape (n_components, n_features, rank)
        Of "factor".
    noise_variances_ : ndarray of shape (n_components, n_features)
        Of "factor".
    converged_ : bool
    n_iter_ : int
        Iterations of the best start.
    n_batches_ : int
        Batches seen: one by ``fit``, and one by each ``partial_fit``.
    lower_bound_ : float
        Mean log likelihood of a row's observed cells, of the last batch.
    lower_bounds_ : list of float
        The same before every step of ``fit``. It does not fall, but for what
        ``reg_covar`` may cost; the best is kept.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import IncompleteGaussianMixture
    >>> rng = np.random.RandomState(0)
    >>> x = rng.randn(500, 1)
    >>> X = np.hstack([x, 2 * x + 0.1 * rng.randn(500, 1)])
    >>> X[rng.rand(500, 2) < 0.3] = np.nan
    >>> mixture = IncompleteGaussianMixture(covariance_type="full").fit(X)
    >>> mixture.impute([[1.0, np.nan]]).round(1)
    array([[1., 2.]])
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: Literal["diag", "factor", "full"] = "diag",
        rank: int | None = None,
        strategy: Literal["em", "mean"] = "em",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        accelerate: bool = False,
        n_init: int = 1,
        init_params: Literal["kmeans", "random"] = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.rank = rank
        self.strategy = strategy
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Declare that NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self, X: Any, y: Any = None, *, lower: Any = None, upper: Any = None
    ) -> Self:
        """Fit the mixture to the observed cells of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing value.
        y : Ignored
        lower, upper : array-like of shape (n_samples, n_features), default=None
            Bounds of missing values, NaN or infinite where there is none: of values
            below a detection limit, that limit as ``upper``. With "diag" EM maximises
            the likelihood of cells and bounds; with other covariances several bounded
            cells of a row are taken one after the other, an approximation.

        Returns
        -------
        IncompleteGaussianMixture
            Itself.

        Examples
        --------
        Three of ten values are known to be below -0.5.

        >>> import numpy as np
        >>> from lacunet import IncompleteGaussianMixture
        >>> x = np.random.RandomState(0).randn(1000, 1)
        >>> below = x < -0.5
        >>> X, upper = np.where(below, np.nan, x), np.where(below, -0.5, np.nan)
        >>> mixture = IncompleteGaussianMixture(tol=1e-6).fit(X, upper=upper)
        >>> bool(abs(mixture.means_[0, 0] - x.mean()) < 0.05)
        True
        """
        self._fit(X, lower, upper)
        warn_unless_converged(self.converged_, self.max_iter)
        return self

    def _fit(self, X: Any, lower: Any = None, upper: Any = None) -> None:
        X = self._validate(X, reset=True)
        check_parameters(self, *X.shape)
        warn_of_empty(X)
        shift = column_means(X)
        with torch.no_grad(), on_cpu():
            bounds = read_bounds(self, X, shift, lower, upper)
            cells = self._cells(X, shift, bounds)
            result = best_of_starts(
                self,
                STEPS[self.covariance_type],
                split_blocks(self, cells, X.shape[1]),
                self._starts(cells, shift),
            )
        self._keep_result(result, shift)

    def _keep_result(self, result: EMResult[Any], shift: np.ndarray) -> None:
        self._keep(result.components, shift)
        self._shift = shift
        self._statistics = result.statistics
        self.n_batches_ = 1
        self.converged_ = result.converged
        self.n_iter_ = len(result.lower_bounds)
        self.lower_bound_ = result.lower_bound
        self.lower_bounds_ = result.lower_bounds

    def _cells(
        self,
        X: np.ndarray,
        shift: np.ndarray,
        bounds: Sequence[Tensor | None] = (None, None),
    ) -> Cells:
        relative = relative_to(X, shift, self.strategy)
        return split_cells(torch.from_numpy(relative), *bounds)

    def _starts(self, cells: Cells, shift: np.ndarray) -> Iterator[GaussianComponents]:
        if self.warm_start and hasattr(self, "means_"):
            self._check_continues()
            yield self._components(shift)
            return
        parts = (self.weights_init, self.means_init, self.precisions_init)
        if all(part is not None for part in parts):
            blank = RECORDS[self.covariance_type](*(torch.empty(0) for _ in parts))
            yield override_start(self, blank, shift)
            return
        wide = widen(at_bounds(cells, cells.values.shape[1]))
        random_state = check_random_state(self.random_state)
        for _, start in gaussian_starts(
            self, wide, standardise(wide), shift, random_state
        ):
            yield start

    def _components(self, shift: np.ndarray) -> GaussianComponents:
        """Return the fitted components, with means relative to ``shift``."""
        components = read_components(self)
        return components._replace(means=components.means - torch.from_numpy(shift))

    def _check_continues(self) -> None:
        """Refuse to go on from a fit with other parameters."""
        n_components, n_features = self.means_.shape
        check_parameters(self, self.n_components, self.n_features_in_)
        if hasattr(self, "loadings_"):
            fitted = "factor"
        else:
            fitted = "diag" if self.covariances_.ndim == 2 else "full"
        before = {"n_components": n_components, "covariance_type": fitted}
        now = {name: getattr(self, name) for name in before}
        if fitted == "factor":
            before["rank"] = self.loadings_.shape[-1]
            now["rank"] = effective_rank(self.rank, n_features)
        if self.n_features_in_ != n_features:
            before["n_features"], now["n_features"] = n_features, self.n_features_in_
        if before != now:
            msg = (
                f"Got {now}, but expected {before}, as it was fitted before. Set "
                f"warm_start=False and call fit, to begin anew."
            )
            raise ValueError(msg)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Move the mixture towards a batch of rows (stepwise EM).

        For rows that don't fit in memory: the sufficient statistics are kept as a
        running mean over batches. The first batch is fitted as it is, unless ``fit``
        was called before, so it should have many rows for each component; batches
        should be shuffled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing value.
        y : Ignored

        Returns
        -------
        IncompleteGaussianMixture
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> from lacunet import IncompleteGaussianMixture
        >>> rng = np.random.RandomState(0)
        >>> mixture = IncompleteGaussianMixture(2, random_state=0)
        >>> for _ in range(20):
        ...     batch = rng.randn(200, 1) + 10 * rng.randint(2, size=(200, 1))
        ...     mixture = mixture.partial_fit(batch)
        >>> np.sort(mixture.means_.ravel()).round()
        array([-0., 10.])
        """
        if not hasattr(self, "means_"):
            self._fit(X)  # a start; it need not have come to the top
            return self
        X = self._validate(X, reset=False)
        self._check_continues()
        with torch.no_grad(), on_cpu():
            result = step_towards(
                self,
                STEPS[self.covariance_type],
                split_blocks(self, self._cells(X, self._shift), X.shape[1]),
                self._components(self._shift),
                self._statistics,
                # Slow enough to forget the start, fast enough to settle (Cappe and
                # Moulines 2009).
                rate=(self.n_batches_ + 2) ** -0.6,
            )
        self._keep(result.components, self._shift)
        self._statistics = result.statistics
        self.lower_bound_ = result.lower_bound
        self.n_batches_ += 1
        return self

    def predict(self, X: Any, *, lower: Any = None, upper: Any = None) -> np.ndarray:
        """Return the likeliest component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lower, upper : array-like of shape (n_samples, n_features), default=None
            Bounds of missing values, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._joint(X, lower, upper).argmax(1).numpy()

    def predict_proba(
        self, X: Any, *, lower: Any = None, upper: Any = None
    ) -> np.ndarray:
        """Return each row's probability of each component, from its observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lower, upper : array-like of shape (n_samples, n_features), default=None
            Bounds of missing values, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._joint(X, lower, upper).softmax(1).numpy()

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, then return the likeliest component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X).predict(X)

    def score_samples(
        self, X: Any, *, lower: Any = None, upper: Any = None
    ) -> np.ndarray:
        """Compute the log density of each row's observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lower, upper : array-like of shape (n_samples, n_features), default=None
            Bounds of missing values, as in ``fit``: the log probability of values
            between them is added.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 for a row with nothing observed.
        """
        return self._joint(X, lower, upper).logsumexp(1).numpy()

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log density of a row's observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Compute Bayes' information criterion on ``X``; the lower the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def aic(self, X: Any) -> float:
        """Compute Akaike's information criterion on ``X``; the lower the better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        float
        """
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def _n_parameters(self) -> int:
        """Count the free parameters."""
        n_components, n_features = self.means_.shape
        each = n_features * (n_features + 1) // 2
        if self.covariance_type == "diag":
            each = n_features
        elif self.covariance_type == "factor":
            rank = self.loadings_.shape[-1]
            # Loadings count up to a rotation of the factors, and never more than a
            # full covariance has.
            each = min(each, n_features * (rank + 1) - rank * (rank - 1) // 2)
        return int(n_components * (n_features + each) + n_components - 1)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw complete rows.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            The component of each row.
        """
        check_is_fitted(self)
        check_at_least(n_samples, 1, "n_samples")
        random_state = check_random_state(self.random_state)
        counts = random_state.multinomial(n_samples, self.weights_)
        labels = np.repeat(np.arange(len(counts)), counts)
        # Of each component, a matrix R with R @ R.T its covariance.
        if self.covariance_type == "diag":
            roots = [np.diag(np.sqrt(variances)) for variances in self.covariances_]
        elif self.covariance_type == "full":
            roots = [np.linalg.cholesky(matrix) for matrix in self.covariances_]
        else:
            pairs = zip(self.loadings_, self.noise_variances_, strict=True)
            roots = [np.hstack([a, np.diag(np.sqrt(noise))]) for a, noise in pairs]
        noise = random_state.standard_normal((n_samples, roots[0].shape[1]))
        rows = [
            self.means_[k] + noise[labels == k] @ root.T for k, root in enumerate(roots)
        ]
        return np.concatenate(rows), labels

    def impute(self, X: Any, *, lower: Any = None, upper: Any = None) -> np.ndarray:
        """Fill the missing values of ``X`` with their conditional means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        lower, upper : array-like of shape (n_samples, n_features), default=None
            Bounds of missing values, as in ``fit``; what is filled in lies between.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Observed cells are returned as they were.
        """
        X = self._validate(X, reset=False)
        bounds = read_bounds(self, X, np.zeros(X.shape[1]), lower, upper)
        filled = [mix.mean().numpy() for _, mix in self._conditionals(X, bounds)]
        return np.concatenate(filled)

    def sample_imputations(
        self,
        X: Any,
        n_samples: int = 1,
        *,
        lower: Any = None,
        upper: Any = None,
        random_state: Any = None,
    ) -> np.ndarray:
        """Fill ``X`` several times with draws given the observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_samples : int, default=1
            Number of completed tables.
        lower, upper : array-like of shape (n_rows, n_features), default=None
            Bounds of missing values, as in ``fit``; draws lie between them.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws; the estimator's own if not given.

        Returns
        -------
        ndarray of shape (n_samples, n_rows, n_features)
            Observed cells are returned as they were.
        """
        check_at_least(n_samples, 1, "n_samples")
        seed = self.random_state if random_state is None else random_state
        generator = torch_generator(check_random_state(seed))
        X = self._validate(X, reset=False)
        out = np.empty((n_samples, *X.shape))
        bounds = read_bounds(self, X, np.zeros(X.shape[1]), lower, upper)
        for rows, mixture in self._conditionals(X, bounds):
            out[:, rows] = mixture.sample(n_samples, generator).numpy()
        return out

    def _validate(self, X: Any, *, reset: bool) -> np.ndarray:
        if not reset:
            check_is_fitted(self)
        checked: np.ndarray = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return checked

    def _keep(self, components: GaussianComponents, shift: np.ndarray) -> None:
        # What another covariance_type may have left.
        for stale in ("covariances_", "loadings_", "noise_variances_"):
            self.__dict__.pop(stale, None)
        log_weights, means, *others = components
        self.weights_ = log_weights.exp().numpy()
        self.means_ = means.numpy() + shift
        for name, value in zip(FITTED[self.covariance_type], others, strict=True):
            setattr(self, name, value.numpy())

    def _joint(self, X: Any, lower: Any = None, upper: Any = None) -> Tensor:
        """Compute log weight plus log density of each component, (rows, components)."""
        X = self._validate(X, reset=False)
        bounds = read_bounds(self, X, np.zeros(X.shape[1]), lower, upper)
        with torch.no_grad(), on_cpu():
            components = read_components(self)
            gamma = torch.zeros((), dtype=torch.float64)
            joint = [
                components.log_likelihood(_some_cells(X, bounds, rows), gamma)
                for rows in self._slices(X)
            ]
            return components.log_weights + torch.cat(joint)

    def _conditionals(
        self, X: np.ndarray, bounds: Sequence[Tensor | None]
    ) -> Iterator[tuple[slice, ConditionalMixture]]:
        for rows in self._slices(X):
            with on_cpu():
                components = read_components(self)
                cells = _some_cells(X, bounds, rows)
                gamma = torch.zeros((), dtype=torch.float64)
                mixture = components.condition(cells, gamma)
            yield rows, mixture

    def _slices(self, X: np.ndarray) -> Iterator[slice]:
        n_rows, n_features = X.shape
        square = n_features if self.covariance_type == "full" else 1
        size = row_size(self, n_features) * square
        size += self.n_components * n_features
        step = max(1, BLOCK_BUDGET // size)
        return (slice(start, start + step) for start in range(0, n_rows, step))


def _some_cells(X: np.ndarray, bounds: Sequence[Tensor | None], rows: slice) -> Cells:
    ends = (None if end is None else end[rows] for end in bounds)
    return split_cells(torch.tensor(X[rows]), *ends)


def refine(
    mixture: IncompleteGaussianMixture,
    expect: Callable[[GaussianComponents], tuple[float, Any]],
    n_rows: int,
    shift: np.ndarray,
    stop: Stop | None = None,
) -> None:
    """Go on with EM from a fitted mixture, over blocks of rows that are anywhere.

    ``expect`` is the E-step over all of them, relative to ``shift`` (a number for each
    column, such as its mean).
    """
    with torch.no_grad(), on_cpu():
        start = mixture._components(shift)
        step = STEPS[mixture.covariance_type]
        result = run_em(mixture, step, expect, n_rows, start, stop=stop)
    mixture._keep_result(result, shift)
    warn_unless_converged(mixture.converged_, mixture.max_iter)
