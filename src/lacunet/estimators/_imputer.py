"""Imputation: the density alone, for tables without a target."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state

from lacunet.estimators._base import DensityEstimator
from lacunet.estimators._checks import find_device, read_table
from lacunet.estimators._densities import build_density, fit_density
from lacunet.estimators._encoding import FOR_TABLES, InputEncoder, TableEncoder
from lacunet.estimators._sampling import canonical_order
from lacunet.estimators._scaling import Method


class LacunetImputer(OneToOneFeatureMixin, TransformerMixin, DensityEstimator):
    """Fill tables of numbers, categories and dates from a mixture fitted by EM.

    Parameters
    ----------
    density : "auto" or IncompleteGaussianMixture, default="auto"
        The mixture; with "auto" its covariances and the number of its components are
        chosen by the likelihood of validation rows.
    gamma : float, default=0.0
        The paper's regulariser: the variance of a noise on observed values, on the
        standardised scale. The larger, the less the observed cells count.
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all.
    on_unseen_missing : {"warn", "use", "raise"}, default="use"
        What to do about missing values in a column that had none in training: warn and
        fill them, fill them, or raise an error.
    missing_columns : {"raise", "use"}, default="raise"
        What to do about frames, after training, that lack a column: raise an error, or
        use them, the column missing in each row. Columns are found by name.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        Where to compute; "auto" for the best device that torch finds.
    random_state : int, RandomState instance or None, default=None
        Seed of EM and of the draws.

    Attributes
    ----------
    density_ : GaussianMixtureDensity or MixedMixtureDensity
        The density of the encoded table.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetImputer
    >>> x = np.linspace(-1, 1, 100)
    >>> X = np.column_stack([x, 2 * x])
    >>> X[::3, 1] = np.nan
    >>> LacunetImputer(random_state=0).fit_transform(X)[99].round(1)
    array([1., 2.])
    """

    def __init__(
        self,
        *,
        density: Any = "auto",
        gamma: float = 0.0,
        max_categories: int = 32,
        scale: Method = "standard",
        on_unseen_missing: Literal["warn", "use", "raise"] = "use",
        missing_columns: Literal["raise", "use"] = "raise",
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.gamma = gamma
        self.max_categories = max_categories
        self.scale = scale
        self.on_unseen_missing = on_unseen_missing
        self.missing_columns = missing_columns
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixture to the observed cells.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : Ignored
            Not used; for scikit-learn's API.

        Returns
        -------
        self
        """
        self._begin()
        table = read_table(self, X, reset=True)
        encoder = TableEncoder(max_categories=self.max_categories, scale=self.scale)
        encoded = encoder.fit_transform(table)
        self._inputs = InputEncoder(encoder, np.empty(0))
        rows = self._inputs.add_marks(encoded, farthest=FOR_TABLES)
        rows = rows[canonical_order(rows)]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        components = fit_density(
            self.density, rows, encoder.sizes, seed, for_network=False
        )
        density = build_density(components, gamma=self.gamma, trainable=False)
        self.density_ = density.to(find_device(self.device))
        return self

    def transform(self, X: Any) -> Any:
        """Fill missing values with conditional means, categories with their mode.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        return self.impute(X)
