"""Ways to fill a table once, in front of any estimator, as pipelines."""

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import (
    LacunetClassifier,
    LacunetRegressor,
    TableEncoder,
    read_table,
)

TASKS = ("classification", "regression")


def mean(
    task: str = "classification", estimator: Any = None, *, random_state: Any = None
) -> Pipeline:
    """Fill with the means of the columns.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be predicted.
    estimator : estimator, default=None
        The model behind the imputer; ``plain_network(task)`` by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from lacunet.baselines import mean
    >>> model = mean(estimator=LogisticRegression())
    >>> model.fit([[0.0], [None], [2.0], [3.0]], [0, 0, 1, 1]).predict([[3.0]])
    array([1])
    """
    imputer = SimpleImputer(keep_empty_features=True)
    return _fill_and_predict(imputer, task, estimator, random_state)


def mean_indicator(
    task: str = "classification", estimator: Any = None, *, random_state: Any = None
) -> Pipeline:
    """Fill with the means of the columns, and add missing-value indicators.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be predicted.
    estimator : estimator, default=None
        The model behind the imputer; ``plain_network(task)`` by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return _fill_and_predict(imputer, task, estimator, random_state)


def knn(
    task: str = "classification",
    estimator: Any = None,
    *,
    n_neighbors: int = 5,
    random_state: Any = None,
) -> Pipeline:
    """Fill with the means of the nearest rows, over what both have observed.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be predicted.
    estimator : estimator, default=None
        The model behind the imputer; ``plain_network(task)`` by default.
    n_neighbors : int, default=5
        Number of nearest rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    imputer = KNNImputer(n_neighbors=n_neighbors, keep_empty_features=True)
    return _fill_and_predict(imputer, task, estimator, random_state)


def gmm(
    task: str = "classification",
    estimator: Any = None,
    *,
    mixture: IncompleteGaussianMixture | None = None,
    random_state: Any = None,
) -> Pipeline:
    """Fill with a draw from a mixture of Gaussians, fitted by EM.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be predicted.
    estimator : estimator, default=None
        The model behind the imputer; ``plain_network(task)`` by default.
    mixture : IncompleteGaussianMixture, default=None
        With the parameters that you want; five diagonal components by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the mixture and of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    imputer = MixtureImputer(mixture, random_state=random_state)
    return _fill_and_predict(imputer, task, estimator, random_state)


def _fill_and_predict(
    imputer: Any, task: str, estimator: Any, random_state: Any
) -> Pipeline:
    check_choice(task, TASKS, "task")
    if estimator is None:
        estimator = plain_network(task, random_state=random_state)
    return make_pipeline(TableNumbers(), StandardScaler(), imputer, estimator)


def plain_network(
    task: str = "classification", *, random_state: Any = None, **parameters: Any
) -> Any:
    """Return our network without our treatment of missing values.

    Body, recipe and ensemble are those of ``LacunetClassifier`` and
    ``LacunetRegressor``. On a complete table their expected layer is the ordinary one,
    so whatever goes before it fills the missing values: in a comparison nothing else
    differs.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be predicted.
    random_state : int, RandomState instance or None, default=None
        Seed of the network.
    **parameters : dict
        Other parameters of the network, such as ``hidden_layer_sizes``.

    Returns
    -------
    LacunetClassifier or LacunetRegressor
        Not fitted.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from lacunet.baselines import plain_network
    >>> model = make_pipeline(SimpleImputer(), plain_network())
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10).predict([[3.0]])
    array([1])
    """
    check_choice(task, TASKS, "task")
    network = LacunetClassifier if task == "classification" else LacunetRegressor
    for_complete_rows = {
        "density": IncompleteGaussianMixture(1),
        "train_density": False,
        "density_loss_weight": 0.0,
        "indicator": False,
        "mask_augmentation": 0.0,
    }
    return network(**{**for_complete_rows, **parameters}, random_state=random_state)


class IncompleteEstimator(BaseEstimator):
    """Base of the estimators of this room: NaN is allowed."""

    _takes_tables = False  # with categories, as strings too

    def __sklearn_tags__(self) -> Any:
        """Declare what is allowed in ``X``."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = self._takes_tables
        return tags


class TableNumbers(TransformerMixin, IncompleteEstimator):
    """Turn a table into numbers, and leave what is missing missing.

    Numbers stay as they are, dates become days since the first one, and a category
    becomes one-hot columns, all of them NaN where it is missing or was not seen in
    training. So an imputer of numbers can go behind it.

    Parameters
    ----------
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.baselines import TableNumbers
    >>> X = pd.DataFrame({"age": [40, None, 50], "town": ["Rome", "Bonn", None]})
    >>> TableNumbers().fit_transform(X)
    array([[40.,  0.,  1.],
           [nan,  1.,  0.],
           [50., nan, nan]])
    """

    _takes_tables = True

    def __init__(self, max_categories: int = 32) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kinds of the columns and their categories.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The training table.
        y : Ignored
            Not used; for scikit-learn's API.

        Returns
        -------
        self
        """
        table = read_table(self, X, reset=True)
        encoder = TableEncoder(max_categories=self.max_categories, scale="none")
        self._encoder = encoder.fit(table)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a table as numbers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training.

        Returns
        -------
        ndarray of shape (n_samples, n_encoded_features)
        """
        check_is_fitted(self, "_encoder")
        return self._encoder.transform(read_table(self, X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each number of a row.

        Parameters
        ----------
        input_features : Ignored
            Not used; for scikit-learn's API.

        Returns
        -------
        ndarray of str objects
            The column's name, or x0, x1, ..., with the category where there are
            several.
        """
        check_is_fitted(self, "_encoder")
        names, of_categories = [], []
        for column in self._encoder.columns:
            name = column.name if isinstance(column.name, str) else f"x{column.name}"
            if column.kind != "category":
                names.append(name)
            values = [*column.categories, *(["rare"] if column.pooled else [])]
            of_categories += [f"{name}_{value}" for value in values]
        return np.array(names + of_categories, dtype=object)


class MixtureImputer(OneToOneFeatureMixin, TransformerMixin, IncompleteEstimator):
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
        The fitted mixture.
    n_features_in_ : int
        Number of columns of ``X``.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the mixture to the observed cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with missing values.
        y : Ignored
            Not used; for scikit-learn's API.

        Returns
        -------
        self
        """
        rows = read_numbers(self, X, reset=True)
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
            Numbers, with missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = read_numbers(self, X, reset=False)
        filled: np.ndarray = self.mixture_.sample_imputations(rows, 1)[0]
        return filled


def read_numbers(estimator: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """Check numbers with missing values, and targets, as scikit-learn does."""
    options |= {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    return validate_data(estimator, X, reset=reset, **options)


def find_two_classes(labels: np.ndarray) -> np.ndarray:
    """Return the classes, sorted, if there are at least two."""
    classes: np.ndarray = np.unique(labels)
    if len(classes) < 2:
        msg = (
            f"Classifier can't train when only one class is present: got "
            f"{classes.tolist()}, but expected at least two."
        )
        raise ValueError(msg)
    return classes
