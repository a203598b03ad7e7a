"""What the support vector machines for incomplete rows share."""

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lacunet._validation import check_positive_int
from lacunet.estimators import check_weights, class_factors
from reproduction.rivals._margin_problems import Solver
from reproduction.rivals._zero_filled import ColumnScale, ZeroFilled, merge_copies


class Training(NamedTuple):
    """The distinct training rows."""

    rows: ZeroFilled
    codes: np.ndarray  # (rows,), the index of each row's class
    weights: np.ndarray  # (rows,)
    factors: np.ndarray  # (rows,), the weight of each row's class

    def take(self, rows: np.ndarray) -> "Training":
        """Return some of the rows."""
        arrays = (array[rows] for array in self[1:])
        return Training(self.rows.take(rows), *arrays)


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """Tables in, classes out; what is between is left to the kernel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    """

    classes_: np.ndarray
    _scale: ColumnScale

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether the last step of ``fit`` was taken."""
        return hasattr(self, "n_iter_")

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Check and standardise training rows, and set what is known of them."""
        # A fit that fails leaves no mixture of an old model and a new one.
        self.__dict__.pop("n_iter_", None)
        table, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        check_classification_targets(labels)
        weights = check_weights(sample_weight, labels, table)
        counted = weights > 0
        self.classes_, codes = np.unique(labels[counted], return_inverse=True)
        if len(self.classes_) < 2:
            msg = (
                f"Got y with one class only, {self.classes_.tolist()}, but expected at "
                f"least two classes, each with a row of positive weight."
            )
            raise ValueError(msg)
        index, sums = merge_copies(table[counted], codes, weights[counted])
        distinct = table[counted][index]
        self._scale = ColumnScale.of(distinct, sums)
        factors = self._find_factors(self.classes_[codes[index]], sums)
        return Training(self._scale.fill(distinct), codes[index], sums, factors)

    def _find_factors(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        factors = class_factors(self.class_weight, labels, weights)
        if not factors.all():
            msg = (
                f"Got class_weight={self.class_weight!r}, but expected weights above "
                f"0. Leave out the rows of classes that don't count."
            )
            raise ValueError(msg)
        return factors

    def _read(self, X: Any) -> ZeroFilled:
        """Check rows to be classified, and standardise them like the training rows."""
        check_is_fitted(self)
        table = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return self._scale.fill(table)

    def _find_g(self) -> float:
        """Return the width of the kernel; "scale" is one over the number of columns."""
        if isinstance(self.g, str) and self.g == "scale":
            return 1.0 / int(self._scale.seen.sum())
        return check_positive(self.g, "g")

    def _find_solver(self) -> Solver:
        """Return when the solver stops."""
        limit = self.max_iter
        if limit != -1:
            check_positive_int(limit, "max_iter")
        return Solver(check_positive(self.tol, "tol"), limit)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With NaN where values are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        codes = scores.argmax(1) if scores.ndim == 2 else (scores > 0).astype(int)
        chosen: np.ndarray = self.classes_[codes]
        return chosen


def check_positive(value: Any, name: str) -> float:
    """Return ``value`` if it is a finite number above zero."""
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not fine or not 0 < value < math.inf:
        msg = f"Got {name}={value!r}, but expected a finite number above 0."
        raise ValueError(msg)
    return float(value)
