"""How sure a prediction is, given what is missing in its row."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from lacunet.estimators import (
    OF_PIPELINES,
    EncodedModel,
    LacunetRegressor,
    find_p_values,
)
from lacunet.exceptions import warn_user


class Interval(NamedTuple):
    """Ends of the intervals of a target.

    Attributes
    ----------
    low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """

    low: np.ndarray
    high: np.ndarray


def prediction_interval(
    model: Any, X: Any, coverage: float = 0.9, *, lower: Any = None, upper: Any = None
) -> Interval:
    """Return intervals that targets are in with a given probability.

    Whichever values a row lacks: intervals are calibrated on the rows that the model
    keeps, after the same values were hidden in these (conformal prediction by missing
    data augmentation). So they are wider for rows that lack what matters.

    The promise is one for rows like those of training, in the mean over those with the
    same values missing, not for each row by itself. If 400 calibration rows lack just
    the same, it holds whatever makes values missing; else for values that are missing
    completely at random, or on account of what errors do not depend on.

    Parameters
    ----------
    model : LacunetRegressor
        A fitted model with calibration rows.
    X : array-like or frame of shape (n_samples, n_features)
        A table with the columns of training, and missing values.
    coverage : float, default=0.9
        Probability that the target is inside, as often below as above.
    lower, upper : array-like or frame of the shape of ``X``, default=None
        Bounds of missing numbers, as in ``fit``. Where fewer than 50 calibration rows
        have bounds of the same columns, intervals are as wide as if nothing were known.

    Returns
    -------
    Interval
        ``low`` and ``high``, of the shape of predictions. Infinite, with a warning, if
        there are too few calibration rows for ``coverage``.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.inspection import prediction_interval
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = X[:, 0] + 0.1 * rng.randn(300)
    >>> X[rng.rand(300, 3) < 0.1] = np.nan
    >>> model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    >>> rows = [[1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]
    >>> low, high = prediction_interval(model.fit(X, y), rows)
    >>> known, unknown = high - low
    >>> bool(3 * known < unknown)
    True
    """
    if not isinstance(model, LacunetRegressor):
        msg = (
            f"Got a {type(model).__name__}, but expected a LacunetRegressor. For a "
            f"classifier there is prediction_set. {OF_PIPELINES}"
        )
        raise TypeError(msg)
    rest = 0.5 * (1.0 - _check_coverage(coverage))
    ends = model.predict_quantiles(X, [rest, 1.0 - rest], lower=lower, upper=upper)
    return Interval(ends[..., 0], ends[..., 1])


def prediction_set(
    model: Any, X: Any, coverage: float = 0.9, *, lower: Any = None, upper: Any = None
) -> np.ndarray:
    """Return sets of classes that the class is in with a given probability.

    Calibrated as :func:`prediction_interval` is: a row that lacks what matters has a
    larger set. A class is in it if no fewer than ``1 - coverage`` of the calibration
    rows had as small a probability of their own class. A model that is right more often
    than that leaves some sets empty: no class is credible enough there.

    Parameters
    ----------
    model : LacunetClassifier or LacunetRBFClassifier
        A fitted model with calibration rows.
    X : array-like or frame of shape (n_samples, n_features)
        A table with the columns of training, and missing values.
    coverage : float, default=0.9
        Probability that the class is in the set, or more.
    lower, upper : array-like or frame of the shape of ``X``, default=None
        Bounds of missing numbers, as in ``fit``.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_classes)
        Whether each class is in the set, in the order of ``model.classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetClassifier
    >>> from lacunet.inspection import prediction_set
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> X[rng.rand(300, 3) < 0.1] = np.nan
    >>> model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0)
    >>> prediction_set(model.fit(X, y), [[2.0, 0.0, 0.0], [np.nan, 1.0, 1.0]])
    array([[False,  True],
           [ True,  True]])
    """
    encoded = EncodedModel(model)
    if isinstance(model, LacunetRegressor):
        msg = "Got a LacunetRegressor, but expected a classifier: use "
        msg += "prediction_interval."
        raise TypeError(msg)
    rest = 1.0 - _check_coverage(coverage)
    # Rounded: 1 - 0.9 is not quite a tenth.
    p_values = find_p_values(model, encoded.encode(X, lower, upper))
    inside = p_values > round(rest, 12)
    if inside.size and rest * (1 + encoded.n_calibration) < 1:
        msg = (
            f"Got {encoded.n_calibration} calibration rows, too few for "
            f"coverage={coverage}: each set has all classes. Ask for a smaller "
            f"coverage, or fit to more rows."
        )
        warn_user(msg)
    return np.asarray(inside)


def _check_coverage(coverage: float) -> float:
    if not isinstance(coverage, Real) or not 0.0 < coverage < 1.0:
        msg = (
            f"Got coverage={coverage!r}, but expected a number between 0 and 1, such "
            f"as 0.9."
        )
        raise ValueError(msg)
    return float(coverage)
