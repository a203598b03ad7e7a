"""What a fit by EM is made of, whether or not the table has categories."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from lacunet.density import _parameters
from lacunet.density._em import EMResult, run_em
from lacunet.density._start import (
    cluster_rows,
    random_shares,
    refine_shares,
    start_components,
)
from lacunet.density._steps import Parts, Step
from lacunet.functional import GaussianComponents
from lacunet.functional._cells import Cells, WideCells


def column_means(X: np.ndarray) -> np.ndarray:
    """Return the means of the observed cells, 0 for a column without any."""
    observed = ~np.isnan(X)
    count = np.maximum(observed.sum(0), 1)
    means: np.ndarray = np.where(observed, X, 0.0).sum(0) / count
    return means


def relative_to(X: np.ndarray, shift: np.ndarray, strategy: str) -> np.ndarray:
    """Return the table relative to its column means; "mean" fills its holes."""
    relative: np.ndarray = X - shift
    if strategy == "mean":
        return np.where(np.isnan(relative), 0.0, relative)
    return relative


def first_shares(
    estimator: Any, cells: WideCells, random_state: np.random.RandomState
) -> Tensor:
    """Return the responsibilities (rows, components) that EM starts from."""
    if estimator.init_params == "kmeans":
        shares = cluster_rows(cells, estimator.n_components, random_state)
        factor = estimator.covariance_type == "factor"
        return refine_shares(cells, shares) if factor else shares
    return random_shares(len(cells.values), estimator.n_components, random_state)


def first_components(
    estimator: Any,
    cells: WideCells,
    shares: Tensor,
    shift: np.ndarray,
    random_state: np.random.RandomState,
) -> GaussianComponents:
    """Return the Gaussian components of a start, with what the user gave of them."""
    start = start_components(
        estimator.covariance_type,
        cells,
        shares,
        rank=_parameters.effective_rank(estimator.rank, cells.values.shape[1]),
        reg_covar=estimator.reg_covar,
        random_state=random_state,
    )
    return _parameters.override_start(estimator, start, shift)


def best_of_starts(
    estimator: Any,
    step: Step[Any, Parts, Any],
    blocks: list[Cells],
    starts: Iterable[Parts],
) -> EMResult[Parts]:
    """Climb from every start as the estimator says, and keep the best result."""
    results = (
        run_em(
            step,
            blocks,
            start,
            tol=estimator.tol,
            max_iter=estimator.max_iter,
            reg_covar=estimator.reg_covar,
            progress=_printer(estimator.verbose) if estimator.verbose else None,
        )
        for start in starts
    )
    return max(results, key=lambda result: result.lower_bound)


def _printer(every: int) -> Callable[[int, float], None]:
    def report(iteration: int, bound: float) -> None:
        if iteration % every == 0:
            print(f"iteration {iteration}: log likelihood {bound:.6f}")  # noqa: T201

    return report


def warn_unless_converged(converged: bool, max_iter: int) -> None:
    """Say to the caller's caller that EM stopped early."""
    if converged:
        return
    msg = (
        f"EM did not converge in max_iter={max_iter} iterations. Raise "
        f"max_iter or tol, or try another init_params or covariance_type."
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=3)


def warn_of_empty_columns(X: np.ndarray, *, stacklevel: int) -> None:
    """Name the numeric columns without one observed value."""
    warn_of_empty(X, "columns", "mean 0 and variance 1", stacklevel=stacklevel + 1)


def warn_of_empty(X: np.ndarray, what: str, kept: str, *, stacklevel: int) -> None:
    """Name the columns without one observed value, and what they are ``kept`` with."""
    empty = np.flatnonzero(np.isnan(X).all(0))
    if len(empty):
        msg = (
            f"Got {what} without one observed value: {empty.tolist()}. They are kept "
            f"with {kept}, as nothing is known of them."
        )
        warnings.warn(msg, UserWarning, stacklevel=stacklevel)
