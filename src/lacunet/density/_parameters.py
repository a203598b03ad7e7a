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

_DEFAULT_RANK = 10


def check_at_least(value: Any, least: float, name: str) -> None:
    """Refuse what is not an integer (a number, if ``least`` is a float) so large."""
    kind = numbers.Integral if isinstance(least, int) else numbers.Real
    wanted = "an integer" if isinstance(least, int) else "a finite number"
    fine = isinstance(value, kind) and not isinstance(value, bool)
    if not fine or not math.isfinite(value) or value < least:
        msg = f"Got {name}={value!r}, but expected {wanted} of at least {least}."
        raise ValueError(msg)


def check_parameters(estimator: Any, n_rows: int, n_features: int) -> None:
    """Check the parameters of a mixture against the table it is fitted to."""
    check_at_least(estimator.n_components, 1, "n_components")
    check_at_least(estimator.max_iter, 1, "max_iter")
    check_at_least(estimator.n_init, 1, "n_init")
    check_at_least(estimator.tol, 0.0, "tol")
    check_at_least(estimator.reg_covar, 0.0, "reg_covar")
    check_choice(
        estimator.covariance_type, ("diag", "factor", "full"), "covariance_type"
    )
    check_choice(estimator.strategy, ("em", "mean"), "strategy")
    check_choice(estimator.init_params, ("kmeans", "random"), "init_params")
    if estimator.rank is not None:
        _check_rank(estimator.rank, estimator.covariance_type, n_features)
    if n_rows < estimator.n_components:
        msg = (
            f"Got n_components={estimator.n_components} and X with n_samples={n_rows}, "
            f"but expected at least one row for each component."
        )
        raise ValueError(msg)
    _check_start(estimator, n_features)


def _check_rank(rank: Any, covariance_type: str, n_features: int) -> None:
    check_at_least(rank, 1, "rank")
    if covariance_type != "factor":
        msg = f"Got rank={rank!r}, but expected None: {covariance_type!r} has no rank."
        raise ValueError(msg)
    if 0 < n_features < rank:  # without a column, there is nothing to explain
        msg = (
            f"Got rank={rank!r}, but expected at most {n_features}, the number of "
            f"features."
        )
        raise ValueError(msg)


def _check_start(estimator: Any, n_features: int) -> None:
    shape = (estimator.n_components, n_features)
    weights, means = estimator.weights_init, estimator.means_init
    precisions = estimator.precisions_init
    if weights is not None:
        weights = _check_array(weights, shape[:1], "weights_init")
        if (weights < 0).any() or not np.isclose(weights.sum(), 1.0):
            msg = (
                f"Got weights_init={weights}, but expected weights of at least 0 "
                f"that sum to 1."
            )
            raise ValueError(msg)
    if means is not None:
        _check_array(means, shape, "means_init")
    if precisions is not None:
        _check_precisions(precisions, estimator.covariance_type, shape)


def _check_precisions(
    precisions: Any, covariance_type: str, shape: tuple[int, int]
) -> None:
    if covariance_type == "factor":
        msg = (
            "Got precisions_init, but expected None: factor covariances start from "
            "their own decomposition. Give means_init, or use warm_start."
        )
        raise ValueError(msg)
    if covariance_type == "full":
        matrices = _check_array(precisions, (*shape, shape[1]), "precisions_init")
        positive = bool((np.linalg.eigvalsh(matrices) > 0).all())
    else:
        positive = bool((_check_array(precisions, shape, "precisions_init") > 0).all())
    if not positive:
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
    if rank is not None:
        return rank
    return max(1, min(_DEFAULT_RANK, n_features - 1))


def row_size(estimator: Any, n_features: int) -> int:
    """Return how many numbers a row takes while it is being looked at."""
    rank = effective_rank(estimator.rank, n_features) + 1
    each = {"diag": 1, "factor": rank**2, "full": n_features}
    return int(estimator.n_components * each[estimator.covariance_type])


def given_start(estimator: Any, shift: np.ndarray) -> GaussianComponents | None:
    """Return the start that the user gave, None if a part of it is missing."""
    parts = ("weights_init", "means_init", "precisions_init")
    if any(getattr(estimator, part) is None for part in parts):
        return None
    shape = np.shape(estimator.means_init)
    record = FullComponents if estimator.covariance_type == "full" else DiagComponents
    blank = record(*(torch.empty(shape) for _ in range(3)))
    return override_start(estimator, blank, shift)


def override_start(
    estimator: Any, start: GaussianComponents, shift: np.ndarray
) -> GaussianComponents:
    """Put the weights, means and precisions that the user gave into the start."""
    given: dict[str, Tensor] = {}
    if estimator.weights_init is not None:
        weights = np.asarray(estimator.weights_init, dtype=np.float64)
        given["log_weights"] = _tensor(np.log(np.maximum(weights, 1e-300)))
    if estimator.means_init is not None:
        given["means"] = _tensor(np.asarray(estimator.means_init) - shift)
    if estimator.precisions_init is not None:
        precisions = np.asarray(estimator.precisions_init, dtype=np.float64)
        if estimator.covariance_type == "full":
            given["covariances"] = _tensor(np.linalg.inv(precisions))
        else:
            given["variances"] = _tensor(1.0 / precisions)
    return start._replace(**given)


def to_components(estimator: Any, shift: np.ndarray | float) -> GaussianComponents:
    """Read the fitted attributes, with means relative to ``shift``."""
    # A weight of exactly zero has no logarithm.
    log_weights = _tensor(np.log(np.maximum(estimator.weights_, 1e-300)))
    means = _tensor(estimator.means_ - shift)
    if estimator.covariance_type == "diag":
        return DiagComponents(log_weights, means, _tensor(estimator.covariances_))
    if estimator.covariance_type == "full":
        return FullComponents(log_weights, means, _tensor(estimator.covariances_))
    loadings = _tensor(estimator.loadings_)
    return FactorComponents(
        log_weights, means, loadings, _tensor(estimator.noise_variances_)
    )


def from_components(
    components: GaussianComponents, shift: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the fitted attributes of components relative to ``shift``."""
    attributes = {
        "weights_": components.log_weights.exp().numpy(),
        "means_": components.means.numpy() + shift,
    }
    if isinstance(components, FactorComponents):
        return attributes | {
            "loadings_": components.loadings.numpy(),
            "noise_variances_": components.variances.numpy(),
        }
    if isinstance(components, FullComponents):
        return attributes | {"covariances_": components.covariances.numpy()}
    return attributes | {"covariances_": components.variances.numpy()}


def count_parameters(estimator: Any) -> int:
    """Count the free parameters of a fitted mixture."""
    n_components, n_features = estimator.means_.shape
    if estimator.covariance_type == "diag":
        each = n_features
    elif estimator.covariance_type == "full":
        each = n_features * (n_features + 1) // 2
    else:
        rank = estimator.loadings_.shape[-1]
        # Loadings count up to a rotation of the factors, and never more than a full
        # covariance has.
        each = n_features * (rank + 1) - rank * (rank - 1) // 2
        each = min(each, n_features * (n_features + 1) // 2)
    return int(n_components * (n_features + each) + n_components - 1)


def covariance_roots(estimator: Any) -> list[np.ndarray]:
    """Return a matrix R for each component with R @ R.T its covariance."""
    if estimator.covariance_type == "diag":
        return [np.diag(np.sqrt(variances)) for variances in estimator.covariances_]
    if estimator.covariance_type == "full":
        return [np.linalg.cholesky(matrix) for matrix in estimator.covariances_]
    pairs = zip(estimator.loadings_, estimator.noise_variances_, strict=True)
    return [np.hstack([loadings, np.diag(np.sqrt(v))]) for loadings, v in pairs]


def check_continues(estimator: Any) -> None:
    """Refuse to go on from a fit with other parameters."""
    n_components, n_features = estimator.means_.shape
    check_parameters(estimator, estimator.n_components, estimator.n_features_in_)
    if hasattr(estimator, "loadings_"):
        fitted = "factor"
    else:
        fitted = "diag" if estimator.covariances_.ndim == 2 else "full"
    before = {"n_components": n_components, "covariance_type": fitted}
    now = {name: getattr(estimator, name) for name in before}
    if fitted == "factor":
        before["rank"] = estimator.loadings_.shape[-1]
        now["rank"] = effective_rank(estimator.rank, n_features)
    if estimator.n_features_in_ != n_features:
        before["n_features"], now["n_features"] = n_features, estimator.n_features_in_
    if before != now:
        msg = (
            f"Got {now}, but expected {before}, as it was fitted before. Set "
            f"warm_start=False and call fit, to begin anew."
        )
        raise ValueError(msg)


def _tensor(array: np.ndarray) -> Tensor:
    return torch.tensor(array, dtype=torch.float64)
