"""What all rivals share: tables of numbers with NaN where a value is missing."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import FLOAT_DTYPES, validate_data


class NaNEstimator(BaseEstimator):
    """An estimator that takes NaN, and leaves single precision single."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        rows: np.ndarray = validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )
        return rows
