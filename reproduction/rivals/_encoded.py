"""Any table as floats on one scale, for networks that have no way with tables."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lacunet.estimators import InputEncoder, TableEncoder, read_table


class TableBaseline(BaseEstimator):
    """What the baselines over tables share: how they read one.

    The same way as ``LacunetClassifier``: numbers are standardised over the observed
    cells of the training rows and bounded at five standard deviations, a category
    becomes a column for each of its levels, and what is missing is NaN.
    """

    _inputs: InputEncoder

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fit_inputs(self, X: Any) -> np.ndarray:
        """Learn the columns of a table, and return it encoded."""
        table = read_table(self, X, reset=True)
        encoder = TableEncoder()
        encoded = encoder.fit_transform(table)
        self._inputs = InputEncoder(encoder, np.empty(0))
        return self._inputs.add_marks(encoded)

    def _encode(self, X: Any) -> np.ndarray:
        """Return a table as (rows, width), NaN where a value is missing."""
        return self._inputs.transform(read_table(self, X, reset=False))


def seeded(network: Any, random_state: np.random.RandomState) -> Any:
    """Draw a seed for a network that takes one and has none.

    Parameters
    ----------
    network : estimator
    random_state : RandomState

    Returns
    -------
    estimator
        The same.
    """
    if network.get_params(deep=False).get("random_state", 0) is None:
        network.set_params(random_state=int(random_state.randint(2**31 - 1)))
    return network
