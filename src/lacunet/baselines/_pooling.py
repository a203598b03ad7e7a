"""Multiple imputation: several completed tables, a model on each, the mean of all."""

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lacunet._validation import check_choice, check_positive_int
from lacunet.baselines._pipelines import (
    TASKS,
    IncompleteEstimator,
    TableNumbers,
    find_two_classes,
    plain_network,
    read_numbers,
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
        What is to be predicted.
    estimator : estimator, default=None
        The model that is fitted to each table; ``plain_network(task)`` by default.
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
        Seed of the draws.

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
            Numbers, with missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        drawing = copy(self)  # so that the generator of the fitted one stays
        drawing.random_state_ = check_random_state(self.random_state)
        filled: np.ndarray = IterativeImputer.transform(drawing, X)
        return filled


class PooledEstimator(IncompleteEstimator):
    """Base of the two pooled models."""

    imputers_: list[Any]
    estimators_: list[Any]
    classes_: np.ndarray  # of a classifier

    def __init__(
        self,
        imputer: Any = None,
        estimator: Any = None,
        *,
        n_imputations: int = 5,
        random_state: Any = None,
    ) -> None:
        self.imputer = imputer
        self.estimator = estimator
        self.n_imputations = n_imputations
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the tables, and fit a model to each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with missing values.
        y : array-like of shape (n_samples,)
            Classes, or numbers of a regressor.

        Returns
        -------
        self
        """
        classify = is_classifier(self)
        X, y = read_numbers(self, X, reset=True, y=y, y_numeric=not classify)
        if classify:
            check_classification_targets(y)
            self.classes_ = find_two_classes(y)
        check_positive_int(self.n_imputations, "n_imputations")
        imputer = ChainedImputer() if self.imputer is None else self.imputer
        estimator = self.estimator
        if estimator is None:
            estimator = plain_network("classification" if classify else "regression")
        random_state = check_random_state(self.random_state)
        self.imputers_, self.estimators_ = [], []
        for seed in random_state.randint(2**31 - 1, size=self.n_imputations):
            drawing, model = (_seeded(each, int(seed)) for each in (imputer, estimator))
            self.estimators_.append(model.fit(drawing.fit_transform(X), y))
            self.imputers_.append(drawing)
        return self

    def _predictions(self, method: str, X: Any) -> list[np.ndarray]:
        """Return the predictions of each model for its own completed table."""
        check_is_fitted(self)
        rows = read_numbers(self, X, reset=False)
        pairs = zip(self.imputers_, self.estimators_, strict=True)
        return [getattr(model, method)(draw.transform(rows)) for draw, model in pairs]


def _seeded(estimator: Any, seed: int) -> Any:
    """Return a copy with a seed for every ``random_state``, however deep."""
    copied = clone(estimator)
    names = [n for n in copied.get_params() if n.rpartition("__")[2] == "random_state"]
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=len(names))
    return copied.set_params(**dict(zip(sorted(names), seeds.tolist(), strict=True)))


def _has_probabilities(model: PooledEstimator) -> bool:
    return model.estimator is None or hasattr(model.estimator, "predict_proba")


class PooledClassifier(ClassifierMixin, PooledEstimator):
    """Classify by the mean of models on several completed tables.

    Multiple imputation for prediction: imputer ``j`` is fitted to the training rows
    (never to their classes) and draws table ``j``, on which a copy of ``estimator`` is
    fitted; probabilities are averaged over the tables. The paper does not define how it
    pools its *mice*; this is our reading. What is drawn for a row depends on the rows
    that it comes with, though not from call to call.

    Parameters
    ----------
    imputer : transformer, default=None
        It should draw at random; ``ChainedImputer`` by default.
    estimator : classifier with ``predict_proba``, default=None
        The model that is fitted to each table; ``plain_network()`` by default.
    n_imputations : int, default=5
        Number of tables.
    random_state : int, RandomState instance or None, default=None
        Seed of all imputers and estimators.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    imputers_ : list of transformers
        One for each completed table.
    estimators_ : list of classifiers
        One for each completed table.
    n_features_in_ : int
        Number of columns of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from lacunet.baselines import PooledClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = X[:, 0] > 0
    >>> X[rng.rand(200, 2) < 0.2] = np.nan
    >>> model = PooledClassifier(estimator=LogisticRegression(), random_state=0)
    >>> model.fit(X, y).predict([[1.5, np.nan], [-1.5, 0.0]])
    array([ True, False])
    """

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        mean: np.ndarray = np.mean(self._predictions("predict_proba", X), axis=0)
        return mean

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the highest mean probability, or of most votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with missing values.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if _has_probabilities(self):
            scores = self._predictions("predict_proba", X)
        else:
            votes = self._predictions("predict", X)
            scores = [labels[:, None] == self.classes_ for labels in votes]
        chosen: np.ndarray = self.classes_[np.mean(scores, axis=0).argmax(1)]
        return chosen


class PooledRegressor(RegressorMixin, PooledEstimator):
    """Predict numbers by the mean of models on several completed tables.

    As `PooledClassifier`, with predictions averaged.

    Parameters
    ----------
    imputer : transformer, default=None
        It should draw at random; ``ChainedImputer`` by default.
    estimator : regressor, default=None
        The model that is fitted to each table; ``plain_network("regression")`` by
        default.
    n_imputations : int, default=5
        Number of tables.
    random_state : int, RandomState instance or None, default=None
        Seed of all imputers and estimators.

    Attributes
    ----------
    imputers_ : list of transformers
        One for each completed table.
    estimators_ : list of regressors
        One for each completed table.
    n_features_in_ : int
        Number of columns of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from lacunet.baselines import PooledRegressor
    >>> x = np.arange(50.0)
    >>> X = np.column_stack([x, 2 * x])
    >>> X[::7, 1] = np.nan
    >>> model = PooledRegressor(estimator=Ridge(), random_state=0).fit(X, 3 * x)
    >>> model.predict([[10.0, np.nan]]).round()
    array([30.])
    """

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with missing values.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mean: np.ndarray = np.mean(self._predictions("predict", X), axis=0)
        return mean
