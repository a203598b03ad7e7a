"""Where EM starts: clusters of incomplete rows, and components that fit them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd
from torch import Tensor

from lacunet.density._em import diag_statistics, log_fractions, normalise
from lacunet.density._parameters import effective_rank, override_start
from lacunet.exceptions import warn_user
from lacunet.functional import (
    Cells,
    DiagComponents,
    FactorComponents,
    FullComponents,
    GaussianComponents,
    WideCells,
    diag_log_likelihood,
    place_bounds,
)

_ROWS_FOR_CENTRES = 20_000


def warn_unless_converged(converged: bool, max_iter: int) -> None:
    """Warn that EM stopped early."""
    if not converged:
        msg = (
            f"EM did not converge in max_iter={max_iter} iterations. Raise "
            f"max_iter or tol, or try another init_params or covariance_type."
        )
        warn_user(msg, ConvergenceWarning)


def warn_of_empty(
    X: np.ndarray, what: str = "columns", kept: str = "mean 0 and variance 1"
) -> None:
    """Name the columns without one observed value, and what they are ``kept`` with."""
    empty = np.flatnonzero(np.isnan(X).all(0))
    if len(empty):
        msg = (
            f"Got {what} without one observed value: {empty.tolist()}. They are kept "
            f"with {kept}, as nothing is known of them."
        )
        warn_user(msg)


def column_means(X: np.ndarray) -> np.ndarray:
    """Return the means of the observed cells, 0 for a column without any."""
    count = np.maximum((~np.isnan(X)).sum(0), 1)
    means: np.ndarray = np.nansum(X, axis=0) / count
    return means


def relative_to(X: np.ndarray, shift: np.ndarray, strategy: str) -> np.ndarray:
    """Return the table relative to its column means; "mean" fills what is missing."""
    relative: np.ndarray = X - shift
    return np.where(np.isnan(X), 0.0, relative) if strategy == "mean" else relative


def read_bounds(
    mixture: Any, X: np.ndarray, shift: np.ndarray, lower: Any, upper: Any
) -> list[Tensor | None]:
    """Return bounds relative to column means, checked against the cells of ``X``."""
    if lower is None and upper is None:
        return [None, None]
    if mixture.strategy == "mean":
        msg = (
            "Got strategy='mean' and bounds, but expected strategy='em' with bounds: "
            "means would fill cells from outside of them."
        )
        raise ValueError(msg)
    ends = []
    for name, end in (("lower", lower), ("upper", upper)):
        columns = getattr(end, "columns", None)
        if columns is not None and hasattr(mixture, "feature_names_in_"):
            names = mixture.feature_names_in_.tolist()
            if sorted(map(str, columns)) != sorted(names):
                msg = f"Got {name} of {list(columns)}, but expected columns {names}."
                raise ValueError(msg)
            end = end[names]
        array = None if end is None else np.asarray(end, dtype=np.float64)
        ends.append(None if array is None else torch.from_numpy(array))
    _, *placed = place_bounds(torch.from_numpy(X), *ends)
    return [end - torch.from_numpy(shift) for end in placed]


def at_bounds(cells: Cells, n_numeric: int) -> Cells:
    """Return cells with bounded numbers observed, at the bound nearest to the mean.

    EM starts from them: the numbers, which come first, are relative to column means.
    """
    if cells.lower is None or cells.upper is None:
        return cells
    bounded = cells.bounded
    bounded[:, n_numeric:] = False
    nearest = torch.zeros_like(cells.values).maximum(cells.lower).minimum(cells.upper)
    values = torch.where(bounded, nearest, cells.values)
    missing = cells.missing.masked_fill(bounded, 0.0)
    return Cells(values, cells.observed | bounded, missing)


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


def gaussian_starts(
    estimator: Any,
    cells: WideCells,
    scaled: WideCells,
    shift: np.ndarray,
    random_state: np.random.RandomState,
) -> Iterator[tuple[Tensor, GaussianComponents]]:
    """Yield responsibilities (rows, components) and the components that fit them.

    Rows are clustered as they are in ``scaled``; components are those of ``cells``,
    but for what the user gave of them.
    """
    n_components, kind = estimator.n_components, estimator.covariance_type
    rank = effective_rank(estimator.rank, cells.values.shape[1])
    for _ in range(estimator.n_init):
        if estimator.init_params == "kmeans":
            responsibilities = cluster_rows(scaled, n_components, random_state)
            if kind == "factor":
                responsibilities = refine_responsibilities(scaled, responsibilities)
        else:  # as scikit-learn does
            size = (len(cells.values), n_components)
            responsibilities = torch.from_numpy(random_state.uniform(size=size))
            responsibilities /= responsibilities.sum(1, keepdim=True)
        start: GaussianComponents
        start = diag = _diag_start(cells, responsibilities, estimator.reg_covar)
        if kind == "factor":
            start = _factor_start(cells, responsibilities, diag, rank, random_state)
        elif kind == "full":
            start = FullComponents(*diag[:2], diag.variances.diag_embed())
        yield responsibilities, override_start(estimator, start, shift)


def cluster_rows(
    cells: WideCells, n_clusters: int, random_state: np.random.RandomState
) -> Tensor:
    """Return one-hot clusters (rows, clusters) by k-means over the observed cells.

    Columns should be of equal variance, see :func:`standardise`. The distance of a row
    to a centre is the mean over the row's observed cells, so that rows with many
    missing values are not closer to everything.
    """
    some, n_rows = cells, len(cells.values)
    if n_rows > _ROWS_FOR_CENTRES:  # enough to find centres by: EM sees all rows
        rows = random_state.choice(n_rows, _ROWS_FOR_CENTRES, replace=False)
        some = WideCells(cells.values[rows], cells.squares[rows], cells.present[rows])
    centres = _distant_centres(some, n_clusters, random_state)
    labels = _distances(some, centres).argmin(1)
    for _ in range(30):
        responsibilities = _one_hot(labels, n_clusters)
        present = responsibilities.T @ some.present
        means = (responsibilities.T @ some.values) / present.clamp_min(1.0)
        centres = torch.where(present > 0, means, centres)
        new_labels = _distances(some, centres).argmin(1)
        if torch.equal(new_labels, labels):
            break
        labels = new_labels
    return _one_hot(_distances(cells, centres).argmin(1), n_clusters)


def _distant_centres(
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


def _distances(cells: WideCells, centres: Tensor) -> Tensor:
    squared = (
        cells.squares.sum(1, keepdim=True)
        - 2.0 * cells.values @ centres.T
        + cells.present @ centres.square().T
    )
    return squared.clamp_min(0.0) / cells.present.sum(1, keepdim=True).clamp_min(1.0)


def _one_hot(labels: Tensor, n_clusters: int) -> Tensor:
    return torch.nn.functional.one_hot(labels, n_clusters).to(torch.float64)


def refine_responsibilities(cells: WideCells, responsibilities: Tensor) -> Tensor:
    """Go on from clusters of standardised rows by EM with diagonal covariances.

    Clusters by distance cannot separate rows that differ in their variance, such as
    signals of other amplitudes. Diagonal components can, and cost little beside those
    with factors, which would not leave a poor start. Unlike in ``run_em``, every M-step
    smooths small clusters by the whole.
    """
    for _ in range(30):
        log_weights, means, variances = _diag_start(cells, responsibilities, 1e-3)
        log_likelihood = diag_log_likelihood(cells, means, variances)
        _, refined = normalise(log_weights + log_likelihood)
        change = float((refined - responsibilities).abs().max())
        responsibilities = refined
        if change < 1e-3:
            break
    return responsibilities


def _diag_start(
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
        log_fractions(mass),
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


def _factor_start(
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
    weights = responsibilities.T[..., None]
    for mean, variance, weight in zip(
        start.means, start.variances, weights, strict=True
    ):
        # Missing values filled by the mean and the rest standardised: 0 is the mean.
        scale = torch.where(variance > 0, variance, 1.0).sqrt()
        centred = (cells.values - mean * cells.present) / scale
        centred = centred * (weight / weight.sum().clamp_min(1e-10)).sqrt()
        _, singular, directions = randomized_svd(
            centred.numpy(), rank, random_state=random_state
        )
        length = torch.from_numpy(np.minimum(singular, 0.95 * np.sqrt(len(mean))))
        columns = torch.from_numpy(directions.copy()).T * length  # (features, <= rank)
        padded = torch.nn.functional.pad(columns, (0, rank - columns.shape[1]))
        loadings.append(padded * scale[:, None])
    stacked = torch.stack(loadings)
    explained = stacked.square().sum(-1)
    noise = torch.maximum(start.variances - explained, 0.1 * start.variances)
    return FactorComponents(start.log_weights, start.means, stacked, noise)
