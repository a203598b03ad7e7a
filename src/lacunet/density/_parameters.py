"""Between the attributes of the estimator and the records that EM works on."""

import math
import numbers
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lacunet._validation import check_choice
from lacunet.functional import (
    DiagComponents,
    FactorComponents,
    FullComponents,
    GaussianComponents,
)

# Fitted attributes behind the weights and means, in the order of the records' fields.
FITTED = {
    "diag": ("covariances_",),
    "factor": ("loadings_", "noise_variances_"),
    "full": ("covariances_",),
}
RECORDS: dict[str, type[GaussianComponents]] = {
    "diag": DiagComponents,
    "factor": FactorComponents,
    "full": FullComponents,
}


def check_parameters(estimator: Any, n_rows: int, n_features: int) -> None:
    """Check the parameters of a mixture against the table it is fitted to."""
    for name in ("n_components", "max_iter", "n_init"):
        check_at_least(getattr(estimator, name), 1, name)
    for name in ("tol", "reg_covar"):
        check_at_least(getattr(estimator, name), 0.0, name)
    kind, rank = estimator.covariance_type, estimator.rank
    check_choice(kind, tuple(RECORDS), "covariance_type")
    check_choice(estimator.strategy, ("em", "mean"), "strategy")
    check_choice(estimator.init_params, ("kmeans", "random"), "init_params")
    if rank is not None:
        check_at_least(rank, 1, "rank")
        if kind != "factor":
            msg = f"Got rank={rank!r}, but expected None: {kind!r} has no rank."
            raise ValueError(msg)
        if 0 < n_features < rank:  # without a column, there is nothing to explain
            msg = (
                f"Got rank={rank!r}, but expected at most {n_features}, the number of "
                f"features."
            )
            raise ValueError(msg)
    if n_rows < estimator.n_components:
        msg = (
            f"Got n_components={estimator.n_components} and X with n_samples={n_rows}, "
            f"but expected at least one row for each component."
        )
        raise ValueError(msg)
    _check_start(estimator, n_features)


def check_at_least(value: Any, least: float, name: str) -> None:
    """Refuse what is not an integer (a number, if ``least`` is a float) so large."""
    kind = numbers.Integral if isinstance(least, int) else numbers.Real
    wanted = "an integer" if isinstance(least, int) else "a finite number"
    fine = isinstance(value, kind) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or value < least:
        msg = f"Got {name}={value!r}, but expected {wanted} of at least {least}."
        raise ValueError(msg)


def _check_start(estimator: Any, n_features: int) -> None:
    shape = (estimator.n_components, n_features)
    if estimator.weights_init is not None:
        weights = _check_array(estimator.weights_init, shape[:1], "weights_init")
        if (weights < 0).any() or not np.isclose(weights.sum(), 1.0):
            msg = (
                f"Got weights_init={weights}, but expected weights of at least 0 "
                f"that sum to 1."
            )
            raise ValueError(msg)
    if estimator.means_init is not None:
        _check_array(estimator.means_init, shape, "means_init")
    if estimator.precisions_init is None:
        return
    if estimator.covariance_type == "factor":
        msg = (
            "Got precisions_init, but expected None: factor covariances start from "
            "their own decomposition. Give means_init, or use warm_start."
        )
        raise ValueError(msg)
    full = estimator.covariance_type == "full"
    wanted = (*shape, n_features) if full else shape
    precisions = _check_array(estimator.precisions_init, wanted, "precisions_init")
    if not ((np.linalg.eigvalsh(precisions) if full else precisions) > 0).all():
        msg = "Got precisions_init that is not positive, but expected it to be."
        raise ValueError(msg)


def _check_array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        msg = (
            f"Got {name} of shape {array.shape}, but expected finite numbers of shape "
            f"{shape}."
        )
        raise ValueError(msg)
    return array


def effective_rank(rank: int | None, n_features: int) -> int:
    """Return the number of factors, as asked or by default."""
    return max(1, min(10, n_features - 1)) if rank is None else rank


def row_size(estimator: Any, n_features: int) -> int:
    """Return how many numbers a row takes while it is being looked at."""
    rank = effective_rank(estimator.rank, n_features) + 1
    each = {"diag": 1, "factor": rank**2, "full": n_features}
    return int(estimator.n_components * each[estimator.covariance_type])


def override_start(
    estimator: Any, start: GaussianComponents, shift: np.ndarray
) -> GaussianComponents:
    """Put the weights, means and precisions that the user gave into the start."""
    given: dict[str, Tensor] = {}
    if estimator.weights_init is not None:
        weights = np.asarray(estimator.weights_init, dtype=np.float64)
        given["log_weights"] = torch.from_numpy(np.log(np.maximum(weights, 1e-300)))
    if estimator.means_init is not None:
        means = np.asarray(estimator.means_init, dtype=np.float64)
        given["means"] = torch.from_numpy(means - shift)
    if estimator.precisions_init is not None:
        precisions = np.asarray(estimator.precisions_init, dtype=np.float64)
        if estimator.covariance_type == "full":
            given["covariances"] = torch.from_numpy(np.linalg.inv(precisions))
        else:
            given["variances"] = torch.from_numpy(1.0 / precisions)
    return start._replace(**given)


def read_components(
    fitted: Any, device: torch.device | str | None = None
) -> GaussianComponents:
    """Read the fitted attributes of an estimator into tensors, in double precision."""
    kind = getattr(fitted, "covariance_type", None)
    kind = check_choice(kind, tuple(RECORDS), "covariance_type of the estimator")
    names = ("weights_", "means_", *FITTED[kind])
    missing = [name for name in names if not hasattr(fitted, name)]
    if missing:
        msg = (
            f"Got an estimator without {', '.join(missing)}, but expected a fitted "
            f"one: call fit first."
        )
        raise ValueError(msg)
    weights, *others = (getattr(fitted, name) for name in names)
    # Weights that vanished in EM have no logarithm; they stay vanishingly small.
    log_weights = np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    return RECORDS[kind](
        *(
            torch.tensor(array, dtype=torch.float64, device=device)
            for array in (log_weights, *others)
        )
    )
