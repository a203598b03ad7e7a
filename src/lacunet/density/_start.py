"""Where EM starts: clusters of incomplete rows, first components, several starts."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from lacunet.density import _parameters
from lacunet.density._em import (
    EMResult,
    Parts,
    Step,
    diag_statistics,
    log_shares,
    run_em,
)
from lacunet.functional import (
    Cells,
    DiagComponents,
    FactorComponents,
    FullComponents,
    GaussianComponents,
    WideCells,
)

_LLOYD_ITERATIONS = 30
_REFINING_ITERATIONS = 30
_SETTLED = 1e-3  # largest change of a responsibility
_REG_OF_REFINING = 1e-3  # on the standardised scale
_ROWS_FOR_CENTRES = 20_000


def cluster_rows(
    cells: WideCells, n_clusters: int, random_state: np.random.RandomState
) -> Tensor:
    """Assign rows to clusters by k-means over the observed cells.

    Columns should be of equal spread, see :func:`standardise`. The distance of a row to
    a centre is the mean over the row's observed cells, so that rows with many missing
    values are not closer to everything.

    Returns
    -------
    Tensor of shape (rows, clusters)
        One in the row's cluster, else zero.
    """
    some = _some_rows(cells, random_state)
    centres = _spread_centres(some, n_clusters, random_state)
    labels = _distances(some, centres).argmin(1)
    for _ in range(_LLOYD_ITERATIONS):
        responsibilities = _one_hot(labels, n_clusters)
        present = responsibilities.T @ some.present
        means = (responsibilities.T @ some.values) / present.clamp_min(1.0)
        centres = torch.where(present > 0, means, centres)
        new_labels = _distances(some, centres).argmin(1)
        if torch.equal(new_labels, labels):
            break
        labels = new_labels
    return _one_hot(_distances(cells, centres).argmin(1), n_clusters)


def _some_rows(cells: WideCells, random_state: np.random.RandomState) -> WideCells:
    """Return rows enough to find centres by: EM itself sees all of them."""
    n_rows = len(cells.values)
    if n_rows <= _ROWS_FOR_CENTRES:
        return cells
    chosen = random_state.choice(n_rows, _ROWS_FOR_CENTRES, replace=False)
    rows = torch.from_numpy(chosen)
    return WideCells(cells.values[rows], cells.squares[rows], cells.present[rows])


def random_shares(
    n_rows: int, n_clusters: int, random_state: np.random.RandomState
) -> Tensor:
    """Draw responsibilities at random, as scikit-learn's ``init_params="random"``."""
    responsibilities = torch.from_numpy(random_state.uniform(size=(n_rows, n_clusters)))
    return responsibilities / responsibilities.sum(1, keepdim=True)


def refine_responsibilities(cells: WideCells, responsibilities: Tensor) -> Tensor:
    """Go on from clusters by EM with diagonal covariances.

    Clusters by distance cannot separate rows that differ in their variance, such as
    signals of other amplitudes. Diagonal components can, and cost little beside those
    with factors, which would not leave a poor start.

    Parameters
    ----------
    cells : WideCells
        Standardised.
    responsibilities : Tensor of shape (rows, clusters)

    Returns
    -------
    Tensor of shape (rows, clusters)
    """
    for _ in range(_REFINING_ITERATIONS):
        start = diag_start(cells, responsibilities, _REG_OF_REFINING)
        precisions = start.variances.reciprocal()
        constant = start.variances.log() + start.means.square() * precisions
        distances = (
            cells.present @ constant.T
            + cells.squares @ precisions.T
            - 2.0 * cells.values @ (start.means * precisions).T
        )
        refined = (start.log_weights - 0.5 * distances).softmax(1)
        change = float((refined - responsibilities).abs().max())
        responsibilities = refined
        if change < _SETTLED:
            break
    return responsibilities


def standardise(cells: WideCells, sizes: tuple[int, ...] = ()) -> WideCells:
    """Bring columns to mean 0 and variance 1 over the observed cells.

    The last columns may be groups of levels of categories, of these ``sizes``: a whole
    group has the variance of one numeric column.
    """
    count = cells.present.sum(0).clamp_min(1.0)
    centre = cells.values.sum(0) / count
    variance = (cells.squares.sum(0) / count - centre.square()).clamp_min(0.0)
    numeric, *groups = variance.split((len(variance) - sum(sizes), *sizes))
    spread = torch.cat((numeric, *(group.sum().expand(len(group)) for group in groups)))
    scale = torch.where(spread > 0, spread, 1.0).sqrt()
    values = (cells.values - centre) / scale * cells.present
    return WideCells(values, values.square(), cells.present)


def _distances(cells: WideCells, centres: Tensor) -> Tensor:
    squared = (
        cells.squares.sum(1, keepdim=True)
        - 2.0 * cells.values @ centres.T
        + cells.present @ centres.square().T
    )
    return squared.clamp_min(0.0) / cells.present.sum(1, keepdim=True).clamp_min(1.0)


def _spread_centres(
    cells: WideCells, n_clusters: int, random_state: np.random.RandomState
) -> Tensor:
    """Choose distinct rows far from each other (k-means++), 0 where missing."""
    n_rows = len(cells.values)
    chosen = [int(random_state.randint(n_rows))]
    nearest = _distance_to(cells, chosen[0])
    while len(chosen) < n_clusters:
        total = float(nearest.sum())
        if total == 0.0:
            msg = (
                f"Got n_components={n_clusters}, but expected at most {len(chosen)}: "
                f"X has no more distinct rows. Ask for fewer components."
            )
            raise ValueError(msg)
        draw = random_state.choice(n_rows, p=(nearest / total).numpy())
        chosen.append(int(draw))
        nearest = torch.minimum(nearest, _distance_to(cells, chosen[-1]))
    return cells.values[chosen]


def _distance_to(cells: WideCells, row: int) -> Tensor:
    """Return the distances to one row, exactly zero for its equals."""
    gaps = cells.values - cells.present * cells.values[row]
    return gaps.square().sum(1) / cells.present.sum(1).clamp_min(1.0)


def _one_hot(labels: Tensor, n_clusters: int) -> Tensor:
    return torch.nn.functional.one_hot(labels, n_clusters).to(torch.float64)


def diag_start(
    cells: WideCells, responsibilities: Tensor, reg_covar: float
) -> DiagComponents:
    """Take moments of the observed cells of each cluster, smoothed by the whole."""
    _, whole, centre, spread = _moments(cells, torch.ones_like(responsibilities[:, :1]))
    # A column that was never observed is standard: nothing contradicts it.
    spread = torch.where(whole > 0, spread, 1.0)
    mass, present, means, variances = _moments(cells, responsibilities)
    seen = present > 0
    # One cell has no variance, two have hardly one: as much weight as a single cell
    # goes to the whole column.
    variances = (present * variances + spread) / (present + 1.0)
    return DiagComponents(
        log_shares(mass),
        torch.where(seen, means, centre),
        torch.where(seen, variances, spread) + reg_covar,
    )


def _moments(
    cells: WideCells, responsibilities: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return mass, observed mass, means and variances of every cluster."""
    present = responsibilities.T @ cells.present
    weight = torch.where(present > 0, present, 1.0)
    means = (responsibilities.T @ cells.values) / weight
    # About the means themselves, by a variance of zero: digits matter more than time.
    sums = diag_statistics(cells, responsibilities, means, torch.zeros_like(means))
    return sums.mass, present, means, sums.second / weight


def factor_start(
    cells: WideCells,
    responsibilities: Tensor,
    start: DiagComponents,
    rank: int,
    random_state: np.random.RandomState,
) -> FactorComponents:
    """Take the leading directions of each cluster's filled rows as loadings."""
    if start.means.shape[1] == 0:
        empty = start.means[..., None].expand(-1, -1, rank)
        return FactorComponents(start.log_weights, start.means, empty, start.variances)
    loadings = []
    for component, (mean, variance) in enumerate(
        zip(start.means, start.variances, strict=True)
    ):
        weight = responsibilities[:, component, None]
        # Missing values filled by the mean and the rest standardised: 0 is the mean.
        scale = torch.where(variance > 0, variance, 1.0).sqrt()
        centred = (cells.values - mean * cells.present) / scale
        centred = centred * (weight / weight.sum().clamp_min(1e-10)).sqrt()
        _, singular, directions = randomized_svd(
            centred.numpy(), rank, random_state=random_state
        )
        length = torch.from_numpy(np.minimum(singular, 0.95 * np.sqrt(len(mean))))
        columns = torch.from_numpy(directions.copy()).T * length  # (features, <= rank)
        padded = torch.zeros(len(mean), rank, dtype=torch.float64)
        padded[:, : columns.shape[1]] = columns
        loadings.append(padded * scale[:, None])
    stacked = torch.stack(loadings)
    explained = stacked.square().sum(-1)
    noise = torch.maximum(start.variances - explained, 0.1 * start.variances)
    return FactorComponents(start.log_weights, start.means, stacked, noise)


def start_components(
    covariance_type: str,
    cells: WideCells,
    responsibilities: Tensor,
    *,
    rank: int,
    reg_covar: float,
    random_state: np.random.RandomState,
) -> GaussianComponents:
    """Make the first components of any type from clusters of rows."""
    start = diag_start(cells, responsibilities, reg_covar)
    if covariance_type == "factor":
        return factor_start(cells, responsibilities, start, rank, random_state)
    if covariance_type == "full":
        return FullComponents(
            start.log_weights, start.means, start.variances.diag_embed()
        )
    return start


def column_means(X: np.ndarray) -> np.ndarray:
    """Return the means of the observed cells, 0 for a column without any."""
    observed = ~np.isnan(X)
    count = np.maximum(observed.sum(0), 1)
    means: np.ndarray = np.where(observed, X, 0.0).sum(0) / count
    return means


def relative_to(X: np.ndarray, shift: np.ndarray, strategy: str) -> np.ndarray:
    """Return the table relative to its column means; "mean" fills what is missing."""
    relative: np.ndarray = X - shift
    if strategy == "mean":
        return np.where(np.isnan(relative), 0.0, relative)
    return relative


def first_responsibilities(
    estimator: Any, cells: WideCells, random_state: np.random.RandomState
) -> Tensor:
    """Return the responsibilities (rows, components) that EM starts from."""
    if estimator.init_params == "kmeans":
        responsibilities = cluster_rows(cells, estimator.n_components, random_state)
        factor = estimator.covariance_type == "factor"
        return (
            refine_responsibilities(cells, responsibilities)
            if factor
            else responsibilities
        )
    return random_shares(len(cells.values), estimator.n_components, random_state)


def first_components(
    estimator: Any,
    cells: WideCells,
    responsibilities: Tensor,
    shift: np.ndarray,
    random_state: np.random.RandomState,
) -> GaussianComponents:
    """Return the Gaussian components of a start, with what the user gave of them."""
    start = start_components(
        estimator.covariance_type,
        cells,
        responsibilities,
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
    """Run EM from every start, and keep the best result."""
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
    """Warn, at the caller's caller, that EM stopped early."""
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
