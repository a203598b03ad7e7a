"""The ways to fill a table, in front of any estimator."""

from typing import Any

from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from lacunet._validation import check_choice
from lacunet.baselines._draws import ChainedImputer, MixtureImputer
from lacunet.baselines._numbers import TableNumbers
from lacunet.baselines._plain import TASKS, plain_network
from lacunet.baselines._pooled import PooledClassifier, PooledRegressor
from lacunet.density import IncompleteGaussianMixture


def mean(
    task: str = "classification", estimator: Any = None, *, random_state: Any = None
) -> Pipeline:
    """Fill with the means of the columns.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    estimator : estimator, default=None
        What goes behind; ``plain_network(task)`` by default.
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
    return _behind(
        SimpleImputer(keep_empty_features=True), task, estimator, random_state
    )


def mean_indicator(
    task: str = "classification", estimator: Any = None, *, random_state: Any = None
) -> Pipeline:
    """Fill with the means of the columns, and add a column for the holes of each.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    estimator : estimator, default=None
        What goes behind; ``plain_network(task)`` by default.
    random_state : int, RandomState instance or None, default=None
        Seed of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    imputer = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return _behind(imputer, task, estimator, random_state)


def knn(
    task: str = "classification",
    estimator: Any = None,
    *,
    n_neighbors: int = 5,
    random_state: Any = None,
) -> Pipeline:
    """Fill with the means of the nearest rows, over what both have.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    estimator : estimator, default=None
        What goes behind; ``plain_network(task)`` by default.
    n_neighbors : int, default=5
    random_state : int, RandomState instance or None, default=None
        Seed of the plain network.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    return _behind(
        KNNImputer(n_neighbors=n_neighbors, keep_empty_features=True),
        task,
        estimator,
        random_state,
    )


def mice(
    task: str = "classification",
    estimator: Any = None,
    *,
    n_imputations: int = 5,
    random_state: Any = None,
) -> Pipeline:
    """Draw several tables by chained equations, and pool the predictions.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    estimator : estimator, default=None
        What goes behind; ``plain_network(task)`` by default.
    n_imputations : int, default=5
        Number of tables.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the estimators.

    Returns
    -------
    Pipeline
        Of tables with numbers, categories and dates.
    """
    check_choice(task, TASKS, "task")
    pooled = PooledClassifier if task == "classification" else PooledRegressor
    model = pooled(
        ChainedImputer(),
        estimator,
        n_imputations=n_imputations,
        random_state=random_state,
    )
    return make_pipeline(TableNumbers(), StandardScaler(), model)


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
    estimator : estimator, default=None
        What goes behind; ``plain_network(task)`` by default.
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
    return _behind(imputer, task, estimator, random_state)


def _behind(imputer: Any, task: str, estimator: Any, random_state: Any) -> Pipeline:
    """Put numbers on one scale, an imputer and an estimator behind each other."""
    check_choice(task, TASKS, "task")
    if estimator is None:
        estimator = plain_network(task, random_state=random_state)
    return make_pipeline(TableNumbers(), StandardScaler(), imputer, estimator)
