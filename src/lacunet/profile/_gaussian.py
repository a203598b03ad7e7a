"""One Gaussian, fitted to rows with holes to as many digits as there are.

The steps are those of ``IncompleteGaussianMixture(covariance_type="full")``. EM slows
down the more is missing, so it is accelerated: from two steps a third is extrapolated
(SQUAREM, Varadhan and Roland 2008), and kept if it is likelier.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.profile._holes import Floats

if TYPE_CHECKING:
    from torch import Tensor

# Of means and covariances of standardised columns, from one step of EM to the next.
_SETTLED = 1e-11
_MOST_CYCLES = 200
# Of an eigenvalue of the correlations: below, a column follows from the others.
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """Where EM has come to.

    Attributes
    ----------
    mean : ndarray of shape (features,)
    covariance : ndarray of shape (features, features)
    converged : bool
    combination : ndarray of shape (features,) or None
        Weights of standardised columns whose sum does not vary, if there are any: then
        the likelihood has no maximum.
    """

    mean: Floats
    covariance: Floats
    converged: bool
    combination: Floats | None = None


def fit_gaussian(X: Floats) -> GaussianFit:
    """Find the mean and covariance that are likeliest given the observed cells.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
        NaN where missing. Each row and column has an observed cell, and no column is
        constant.

    Returns
    -------
    GaussianFit

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._gaussian import fit_gaussian
    >>> fit = fit_gaussian(np.array([[0, 0], [1, 1], [2, 4], [3, np.nan]]))
    >>> fit.mean.round(4)
    array([1.5   , 2.6667])
    """
    import torch

    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    with torch.no_grad(), torch.device("cpu"):
        theta = torch.eye(X.shape[1] + 1, dtype=torch.float64)[:, 1:]
        climb = _make_step((X - centre) / spread)
        theta, converged = _climb(climb, theta)
    mean, covariance = theta[0].numpy(), theta[1:].numpy()
    scale = np.outer(spread, spread)
    return GaussianFit(
        centre + spread * mean, covariance * scale, converged, _find_combination(theta)
    )


# A point is the mean above the covariance: (1 + features, features).
_Step = Callable[["Tensor"], tuple[float, "Tensor"]]


def _make_step(X: Floats) -> _Step:
    """Return what gives the log likelihood of a point, and the point EM goes to."""
    import torch

    from lacunet.density._em import STEPS, expect_all, split_blocks
    from lacunet.functional import FullComponents
    from lacunet.functional._ops import split_cells

    full = STEPS["full"]
    blocks = split_blocks(split_cells(torch.from_numpy(X)), "full", size=X.shape[1])
    alone = torch.zeros(1, dtype=torch.float64)  # log weight of the only component

    def step(theta: "Tensor") -> tuple[float, "Tensor"]:
        components = FullComponents(alone, theta[None, 0], theta[None, 1:])
        log_likelihood, sums = expect_all(full, blocks, components)
        moved = full.maximise(sums, components, 0.0)
        return log_likelihood, torch.cat([moved.means, moved.covariances[0]])

    return step


def _climb(step: _Step, theta: "Tensor") -> tuple["Tensor", bool]:
    """Climb to the top, or until a combination of columns has no variance left."""
    for _ in range(_MOST_CYCLES):
        points = [theta]
        for _ in range(2):
            log_likelihood, moved = step(points[-1])
            points.append(moved)
            if _find_combination(moved) is not None:
                return moved, False
        change = float((points[2] - points[1]).abs().max())
        if change < _SETTLED:
            return points[2], True
        theta = _leap(step, points, log_likelihood)
    return theta, False


def _leap(step: _Step, points: "list[Tensor]", reached: float) -> "Tensor":
    """Go on from an extrapolated point if it is likelier than that of one step."""
    first = points[1] - points[0]
    second = points[2] - points[1] - first
    length = -max(1.0, float(first.norm() / second.norm()))
    trial = points[0] - 2.0 * length * first + length**2 * second
    if not _is_positive(trial):
        return points[2]
    log_likelihood, moved = step(trial)
    return moved if log_likelihood >= reached else points[2]


def _is_positive(theta: "Tensor") -> bool:
    values = _eigen(theta)[0]
    return bool(np.isfinite(values).all() and values[0] > _SINGULAR)


def _find_combination(theta: "Tensor") -> Floats | None:
    values, vectors = _eigen(theta)
    return None if values[0] > _SINGULAR else vectors[:, 0]


def _eigen(theta: "Tensor") -> Any:
    """Return eigenvalues and vectors of the correlations, the smallest first."""
    covariance = theta[1:].numpy()
    variance = covariance.diagonal()
    if not (variance > 0).all():
        return np.zeros(1), np.eye(len(variance))[:, [int(variance.argmin())]]
    spread = np.sqrt(variance)
    return np.linalg.eigh(covariance / np.outer(spread, spread))
