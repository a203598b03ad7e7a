"""Several completed tables, a model on each, and the mean of what the models say."""

from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lacunet._validation import check_positive_int
from lacunet.baselines._draws import ChainedImputer
from lacunet.baselines._plain import plain_network


class PooledEstimator(BaseEstimator):
    """What the two pooled models share.

    Attributes
    ----------
    imputers_ : list of transformers
    estimators_ : list of estimators
        One for each completed table.
    n_features_in_ : int
    """

    imputers_: list[Any]
    estimators_: list[Any]
    _task: str

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

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        check_positive_int(self.n_imputations, "n_imputations")
        imputer = ChainedImputer() if self.imputer is None else self.imputer
        estimator = self.estimator
        if estimator is None:
            estimator = plain_network(self._task)
        random_state = check_random_state(self.random_state)
        self.imputers_, self.estimators_ = [], []
        for seed in random_state.randint(2**31 - 1, size=self.n_imputations):
            drawing, model = (_seeded(part, int(seed)) for part in (imputer, estimator))
            self.estimators_.append(model.fit(drawing.fit_transform(X), y))
            self.imputers_.append(drawing)
        return self

    def _mean_of(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._validate(X)
        pairs = zip(self.imputers_, self.estimators_, strict=True)
        said = [getattr(model, method)(draw.transform(rows)) for draw, model in pairs]
        mean: np.ndarray = np.mean(said, axis=0)
        return mean

    def _validate(self, X: Any) -> np.ndarray:
        rows: np.ndarray = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return rows


def _seeded(part: Any, seed: int) -> Any:
    """Return a copy whose every random part, however deep, has a seed of its own."""
    copy = clone(part)
    names = [
        name
        for name in sorted(copy.get_params())
        if name == "random_state" or name.endswith("__random_state")
    ]
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=len(names))
    return copy.set_params(**dict(zip(names, seeds.tolist(), strict=True)))


def _says_probabilities(model: PooledEstimator) -> bool:
    estimator = model.estimator
    return estimator is None or hasattr(estimator, "predict_proba")


class PooledClassifier(ClassifierMixin, PooledEstimator):
    """Classify by the mean of models on several completed tables.

    Multiple imputation for prediction: imputer ``j`` is fitted to the training rows
    (never to their classes) and draws table ``j``, on which a copy of ``estimator`` is
    fitted; probabilities are averaged over the tables. How the paper pools its *mice*
    it does not say; this is our reading. What is drawn for a row depends on the rows
    that it comes with, though not from call to call.

    Parameters
    ----------
    imputer : transformer, default=None
        It should draw; ``ChainedImputer`` by default.
    estimator : classifier with ``predict_proba``, default=None
        The plain network that goes behind all baselines, by default.
    n_imputations : int, default=5
        Number of tables.
    random_state : int, RandomState instance or None, default=None
        Seed of all imputers and estimators.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    imputers_ : list of transformers
    estimators_ : list of classifiers
    n_features_in_ : int

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

    classes_: np.ndarray
    _task = "classification"

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the tables, and fit a classifier to each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        rows, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            msg = (
                f"Classifier can't train when only one class is present: got "
                f"{self.classes_.tolist()}, but expected at least two."
            )
            raise ValueError(msg)
        return self._fit(rows, labels)

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._mean_of("predict_proba", X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the highest mean probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probable = _says_probabilities(self)
        scores = self._mean_of("predict_proba", X) if probable else self._votes(X)
        chosen: np.ndarray = self.classes_[scores.argmax(1)]
        return chosen

    def _votes(self, X: Any) -> np.ndarray:
        """Return each class's share of the models, for those without probabilities."""
        check_is_fitted(self)
        rows = self._validate(X)
        pairs = zip(self.imputers_, self.estimators_, strict=True)
        said = [model.predict(draw.transform(rows)) for draw, model in pairs]
        votes: np.ndarray = np.mean(
            [labels[:, None] == self.classes_ for labels in said], axis=0
        )
        return votes


class PooledRegressor(RegressorMixin, PooledEstimator):
    """Predict numbers by the mean of models on several completed tables.

    As `PooledClassifier`, with predictions averaged.

    Parameters
    ----------
    imputer : transformer, default=None
        It should draw; ``ChainedImputer`` by default.
    estimator : regressor, default=None
        The plain network that goes behind all baselines, by default.
    n_imputations : int, default=5
        Number of tables.
    random_state : int, RandomState instance or None, default=None
        Seed of all imputers and estimators.

    Attributes
    ----------
    imputers_ : list of transformers
    estimators_ : list of regressors
    n_features_in_ : int

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

    _task = "regression"

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the tables, and fit a regressor to each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        rows, targets = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            y_numeric=True,
        )
        return self._fit(rows, targets)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._mean_of("predict", X)
