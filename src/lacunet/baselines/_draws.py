"""Imputers that draw what is missing, the same for the same seed."""

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lacunet.density import IncompleteGaussianMixture


class ChainedImputer(IterativeImputer):
    """Draw what is missing by chained equations, as mice does.

    ``sklearn.impute.IterativeImputer`` with ``sample_posterior=True``: column after
    column, a Bayesian ridge regression on the others, from whose predictive normal
    each missing cell is drawn. With a seed, ``transform`` draws the same for the same
    table each time, which scikit-learn's own does not: it goes on with its generator.

    Parameters
    ----------
    max_iter : int, default=5
        Rounds over all columns; that of R's mice.
    n_nearest_features : int, default=None
        Number of other columns to regress on, for wide tables.
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import ChainedImputer
    >>> x = np.arange(50.0)
    >>> X = np.column_stack([x, 2 * x])
    >>> X[20, 1] = np.nan
    >>> ChainedImputer(random_state=0).fit_transform(X)[20].round()
    array([20., 40.])
    """

    def __init__(
        self,
        max_iter: int = 5,
        *,
        n_nearest_features: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            sample_posterior=True,
            keep_empty_features=True,
            max_iter=max_iter,
            n_nearest_features=n_nearest_features,
            random_state=random_state,
        )

    def transform(self, X: Any) -> np.ndarray:
        """Draw what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        drawing = copy(self)  # so that the generator of the fitted one stays
        drawing.random_state_ = check_random_state(self.random_state)
        filled: np.ndarray = IterativeImputer.transform(drawing, X)
        return filled


class MixtureImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Draw what is missing from a mixture of Gaussians, fitted by EM.

    The paper's *gmm*.

    Parameters
    ----------
    mixture : IncompleteGaussianMixture, default=None
        With the parameters that you want; five diagonal components by default.
    random_state : int, RandomState instance or None, default=None
        Seed of EM and of the draws.

    Attributes
    ----------
    mixture_ : IncompleteGaussianMixture
        Fitted.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import IncompleteGaussianMixture
    >>> from lacunet.baselines import MixtureImputer
    >>> x = np.arange(50.0)
    >>> X = np.column_stack([x, 2 * x])
    >>> X[20, 1] = np.nan
    >>> full = IncompleteGaussianMixture(covariance_type="full")
    >>> MixtureImputer(full, random_state=0).fit_transform(X)[20].round()
    array([20., 40.])
    """

    mixture_: IncompleteGaussianMixture

    def __init__(
        self,
        mixture: IncompleteGaussianMixture | None = None,
        *,
        random_state: Any = None,
    ) -> None:
        self.mixture = mixture
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixture to the observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        rows = self._validate(X, reset=True)
        given = self.mixture
        mixture = IncompleteGaussianMixture(5) if given is None else clone(given)
        most = min(int(mixture.n_components), len(rows))
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        mixture.set_params(n_components=most, random_state=seed)
        self.mixture_ = mixture.fit(rows)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Draw what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        filled: np.ndarray = self.mixture_.sample_imputations(rows, 1)[0]
        return filled

    def _validate(self, X: Any, *, reset: bool) -> np.ndarray:
        rows: np.ndarray = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return rows
