"""Whether what a model says is what happens, on rows that it has not seen."""

from dataclasses import dataclass

import numpy as np

_MOST_BINS = 10
_ROWS_PER_BIN = 15
_N_CHANCES = 200
# Of residuals, and of what was observed in a bin.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows that were given about the same probability.

    Attributes
    ----------
    n_rows : int
    predicted : float
        Mean probability.
    observed : float
        Share of the rows in which it happened.
    low, high : float
        Where the true share is, with a confidence of 95% (Wilson's interval).
    """

    n_rows: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True)
class Reliability:
    """Probabilities beside what happened.

    Attributes
    ----------
    bins : tuple of ReliabilityBin
        Of about as many rows each, by probability.
    calibration_error : float
        Mean gap between probability and share, weighted by rows.
    by_chance : float
        The mean gap that probabilities without fault would have, on as many rows.
    p_value : float
        How often it would be as large as it is.
    """

    bins: tuple[ReliabilityBin, ...]
    calibration_error: float
    by_chance: float
    p_value: float


def find_reliability(
    probabilities: np.ndarray, happened: np.ndarray, *, random_state: int = 0
) -> Reliability:
    """Compare the probability of something with how often it happened.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples,)
    happened : ndarray of bool of shape (n_samples,)
    random_state : int, default=0
        Of the draws that tell what chance would do.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._reliability import find_reliability
    >>> always = find_reliability(np.full(20, 0.5), np.ones(20, dtype=bool))
    >>> always.calibration_error, always.p_value < 0.05
    (0.5, True)
    """
    codes = equal_bins(probabilities)
    gap = _calibration_error(codes, probabilities, happened)
    stream = np.random.RandomState(random_state)
    chances = np.array(
        [
            _calibration_error(
                codes, probabilities, stream.rand(len(codes)) < probabilities
            )
            for _ in range(_N_CHANCES)
        ]
    )
    # The one that was found is one of them; but for rounding.
    n_larger = int((chances >= gap - 1e-12).sum())
    return Reliability(
        tuple(
            _describe(probabilities[codes == code], happened[codes == code])
            for code in range(codes.max() + 1)
        ),
        gap,
        float(chances.mean()),
        (1 + n_larger) / (1 + _N_CHANCES),
    )


def equal_bins(values: np.ndarray) -> np.ndarray:
    """Put values into bins of about as many each; equal ones are not parted.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of int of shape (n_samples,)
        Which bin each is in, from 0 on without gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._reliability import equal_bins
    >>> np.bincount(equal_bins(np.arange(50.0)))
    array([17, 16, 17])
    """
    n_bins = max(1, min(_MOST_BINS, len(values) // _ROWS_PER_BIN))
    edges = np.quantile(values, np.linspace(0, 1, n_bins + 1)[1:-1])
    _, codes = np.unique(np.searchsorted(edges, values, "right"), return_inverse=True)
    found: np.ndarray = codes
    return found


def _calibration_error(
    codes: np.ndarray, probabilities: np.ndarray, happened: np.ndarray
) -> float:
    sums = np.bincount(codes, happened - probabilities)
    return float(np.abs(sums).sum() / len(codes))


def _describe(probabilities: np.ndarray, happened: np.ndarray) -> ReliabilityBin:
    from scipy.stats import binomtest

    n_rows, n_happened = len(happened), int(happened.sum())
    bounds = binomtest(n_happened, n_rows).proportion_ci(method="wilson")
    return ReliabilityBin(
        n_rows,
        float(probabilities.mean()),
        n_happened / n_rows,
        float(bounds.low),
        float(bounds.high),
    )


@dataclass(frozen=True)
class AgreementBin:
    """Rows that were given about the same number.

    Attributes
    ----------
    n_rows : int
    predicted : float
        Mean prediction.
    observed : float
        Mean of what was observed.
    quantiles : tuple of float
        Of what was observed: at 5, 25, 50, 75 and 95%.
    """

    n_rows: int
    predicted: float
    observed: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class Agreement:
    """Predicted numbers beside observed ones.

    Attributes
    ----------
    bins : tuple of AgreementBin
        Of about as many rows each, by prediction.
    bias : float
        Mean of what was observed less what was predicted.
    residuals : tuple of float
        Quantiles of that, at 5, 25, 50, 75 and 95%.
    """

    bins: tuple[AgreementBin, ...]
    bias: float
    residuals: tuple[float, ...]


def find_agreement(y: np.ndarray, predicted: np.ndarray) -> Agreement:
    """Compare numbers with what was predicted.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._reliability import find_agreement
    >>> find_agreement(np.arange(5.0), np.ones(5)).residuals
    (-0.8, 0.0, 1.0, 2.0, 2.8)
    """
    codes = equal_bins(predicted)
    residuals = y - predicted
    return Agreement(
        tuple(
            AgreementBin(
                int((codes == code).sum()),
                float(predicted[codes == code].mean()),
                float(y[codes == code].mean()),
                _quantiles(y[codes == code]),
            )
            for code in range(codes.max() + 1)
        ),
        float(residuals.mean()),
        _quantiles(residuals),
    )


def _quantiles(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.quantile(values, QUANTILES).tolist())
