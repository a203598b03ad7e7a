"""The densities that networks start from, found by EM on the encoded rows."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lacunet.density import IncompleteGaussianMixture, fit_mixed
from lacunet.functional import MixedComponents, log_likelihood

Candidate = tuple[Literal["diag", "factor"], int, int | None]

# What is chosen here is where to start from: it takes no more rows than these. A
# mixture that somebody asked for takes all.
_MOST_ROWS = 20_000
_MOST_ROWS_OF_FACTORS = 5_000
# Quantiles of a number that become edges between its levels.
_MOST_LEVELS = 8
# What "auto" chooses among (covariances, components, rank), in front of networks and to
# fill tables. More factors are for signals and images; their EM takes long.
_FOR_NETWORKS: tuple[Candidate, ...] = (("diag", 3, None), ("factor", 3, None))
_FOR_TABLES: tuple[Candidate, ...] = (
    *(("diag", k, None) for k in (1, 3, 6)),
    *(("factor", k, None) for k in (1, 3, 6)),
)
_MORE_FACTORS: Candidate = ("factor", 3, 20)
# Where there are categories, components are their classes too.
_MORE_CLASSES: tuple[Candidate, ...] = (("diag", 12, None), ("diag", 24, None))
_MANY_COLUMNS = 60
# Gain in log likelihood of a cell that another candidate than the first must bring.
_MARGIN_FOR_NETWORKS = 0.1
_MARGIN_FOR_TABLES = 0.01
_ROWS_TO_CHOOSE = 2_500
_FEWEST_HELD_BACK = 20
_N_FOLDS = 5
_FEWEST_ROWS = 10
_N_CLASSES = 4
_ITERATIONS = {"diag": 100, "factor": 30}
# On the scale of the encoded numbers, whose variance is one: what a network trains
# further should not be sure of anything; what fills a table should follow the data.
_REG_FOR_NETWORKS = 1e-2
_REG_FOR_TABLES = 1e-4


def fit_density(
    density: Any,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    *,
    for_network: bool,
) -> MixedComponents:
    """Fit the mixture that was asked for, or that is chosen for the table.

    A network trains its density further and sees what it is unsure of: it does best
    with few diagonal components, unless the columns depend on each other so much that
    the likelihood of rows held back shows it plainly. To fill a table, a small gain in
    likelihood is enough.

    Parameters
    ----------
    density : "auto" or IncompleteGaussianMixture
    encoded : ndarray of shape (rows, width)
    sizes : sequence of int
        Levels of each category.
    seed : int
        For a mixture without a random state of its own.
    for_network : bool

    Returns
    -------
    MixedComponents
    """
    if isinstance(density, IncompleteGaussianMixture):
        return _fit(clone(density), encoded, sizes, seed)
    if for_network:
        many = encoded.shape[1] - sum(sizes) >= _MANY_COLUMNS
        chosen = choose_mixture(
            (*_FOR_NETWORKS, *([_MORE_FACTORS] if many else [])),
            encoded,
            sizes,
            seed,
            folds=_one_of_five(encoded, sizes, seed),
            margin=_MARGIN_FOR_NETWORKS,
            reg_covar=_REG_FOR_NETWORKS,
        )
    else:
        chosen = choose_mixture(
            _candidates_for_tables(encoded.shape[1] - sum(sizes), len(sizes)),
            encoded,
            sizes,
            seed,
            folds=_all_of_five(encoded, seed),
            margin=_MARGIN_FOR_TABLES,
            reg_covar=_REG_FOR_TABLES,
        )
    return _fit_some(chosen, encoded, sizes, seed)


def fit_independent(
    encoded: np.ndarray, sizes: Sequence[int], seed: int
) -> MixedComponents:
    """Fit the mixture in front of networks that knows of no dependence."""
    (covariance_type, n_components, _), *_ = _FOR_NETWORKS
    mixture = IncompleteGaussianMixture(
        _few_enough(n_components, len(encoded), encoded),
        covariance_type=covariance_type,
        reg_covar=_REG_FOR_NETWORKS,
    )
    return _fit_some(mixture, encoded, sizes, seed)


def fit_levels(encoded: np.ndarray, sizes: Sequence[int], seed: int) -> MixedComponents:
    """Fit latent classes to a table of levels alone."""
    n_classes = _few_enough(_N_CLASSES, len(encoded), encoded)
    mixture = IncompleteGaussianMixture(n_classes)
    return _fit_some(mixture, encoded, sizes, seed)


def find_edges(numbers: np.ndarray) -> list[list[float]]:
    """Return the edges between the levels of each number, as quantiles of it.

    Where a number has few values, each is a level.

    Parameters
    ----------
    numbers : ndarray of shape (rows, numbers)

    Returns
    -------
    list of list of float
    """
    return [_edges_of(column[~np.isnan(column)]) for column in numbers.T]


def _edges_of(values: np.ndarray) -> list[float]:
    distinct = np.unique(values)
    if len(distinct) <= _MOST_LEVELS:
        edges = (distinct[1:] + distinct[:-1]) / 2
    else:
        shares = np.linspace(0, 1, _MOST_LEVELS + 1)[1:-1]
        edges = np.unique(np.quantile(values, shares))
    return [float(edge) for edge in edges]


def some_rows(rows: np.ndarray, seed: int, most: int = _MOST_ROWS) -> np.ndarray:
    """Return at most so many rows, in their order."""
    if len(rows) <= most:
        return rows
    chosen = np.random.RandomState(seed).permutation(len(rows))[:most]
    some: np.ndarray = rows[np.sort(chosen)]
    return some


def _fit_some(
    mixture: IncompleteGaussianMixture,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
) -> MixedComponents:
    """Fit a mixture to no more rows than it takes to start well."""
    factor = mixture.covariance_type == "factor"
    most = _MOST_ROWS_OF_FACTORS if factor else _MOST_ROWS
    return _fit(mixture, some_rows(encoded, seed, most), sizes, seed)


def _fit(
    mixture: IncompleteGaussianMixture,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
) -> MixedComponents:
    if mixture.random_state is None:
        mixture.set_params(random_state=seed)
    with warnings.catch_warnings():
        # It is a start: it need not be at the top. Columns without a value have been
        # spoken of by the encoder.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Got (columns|categories) without")
        return fit_mixed(mixture, encoded, sizes).components


def _candidates_for_tables(n_numbers: int, n_categories: int) -> list[Candidate]:
    found = [each for each in _FOR_TABLES if each[0] == "diag" or n_numbers >= 2]
    return [*found, *(_MORE_CLASSES if n_categories else ())]


Fold = tuple[np.ndarray, np.ndarray]


def _one_of_five(encoded: np.ndarray, sizes: Sequence[int], seed: int) -> list[Fold]:
    """Hold a fifth of the rows back, where that is enough to tell covariances apart."""
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    n_held_back = len(shuffled) // 5
    if n_held_back < _FEWEST_HELD_BACK or encoded.shape[1] - sum(sizes) < 2:
        return []
    return [(shuffled[n_held_back:], shuffled[:n_held_back])]


def _all_of_five(encoded: np.ndarray, seed: int) -> list[Fold]:
    """Hold each row back once, of a large table only a fifth of them."""
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    if len(shuffled) < _FEWEST_ROWS:
        return []
    parts = np.array_split(shuffled, _N_FOLDS)
    enough = len(parts[0]) >= _N_FOLDS * _FEWEST_HELD_BACK
    return [
        (np.concatenate([*parts[:number], *parts[number + 1 :]]), part)
        for number, part in enumerate(parts[: 1 if enough else None])
    ]


def choose_mixture(
    candidates: Sequence[Candidate],
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    *,
    folds: Sequence[Fold],
    margin: float,
    reg_covar: float,
) -> IncompleteGaussianMixture:
    """Choose covariances and number of components by rows held back.

    Parameters
    ----------
    candidates : sequence of (covariance_type, n_components, rank)
        The first is taken unless another is better by the margin.
    encoded : ndarray of shape (rows, width)
    sizes : sequence of int
    seed : int
    folds : sequence of (ndarray of int, ndarray of int)
        Numbers of the rows to fit and of those held back. Without any, the first
        candidate is taken.
    margin : float
        In log likelihood of an observed cell.
    reg_covar : float

    Returns
    -------
    IncompleteGaussianMixture
        Not fitted.
    """
    # As many components as the fit to each of the folds can have.
    fitted = [encoded[rows] for rows, _ in folds] or [encoded]
    mixtures = [
        IncompleteGaussianMixture(
            min(_few_enough(n_components, len(encoded), rows) for rows in fitted),
            covariance_type=covariance_type,
            rank=rank,
            reg_covar=reg_covar,
            max_iter=_ITERATIONS[covariance_type],
        )
        for covariance_type, n_components, rank in candidates
    ]
    if not folds:
        return mixtures[0]
    scores = [_held_out_scores(m, encoded, folds, sizes, seed) for m in mixtures]
    # Of most rows, not in the mean: a few wild ones would decide alone.
    gains = [float(np.median(score - scores[0])) for score in scores]
    gains[0] += margin
    return mixtures[int(np.argmax(gains))]


def _held_out_scores(
    mixture: IncompleteGaussianMixture,
    encoded: np.ndarray,
    folds: Sequence[Fold],
    sizes: Sequence[int],
    seed: int,
) -> np.ndarray:
    """Return the log likelihood of a cell in each of the rows held back: (rows,)."""
    scores = []
    for fitted, held_back in folds:
        components = _fit(clone(mixture), encoded[fitted], sizes, seed)
        rows = encoded[held_back]
        with torch.inference_mode():
            of_rows = log_likelihood(torch.from_numpy(rows), components).numpy()
        scores.append(of_rows / np.maximum((~np.isnan(rows)).sum(1), 1))
    return np.concatenate(scores)


def _few_enough(n_components: int, n_rows: int, encoded: np.ndarray) -> int:
    """Return at most a component for ten rows, and for each row that is distinct."""
    few = max(1, min(n_components, n_rows // 10))
    missing = np.isnan(encoded)
    columns = np.argsort(missing.sum(0), kind="stable")
    # Rows that differ in some columns, all of them observed there, are distinct.
    most, width = 1, 1
    while most < few and width < 2 * len(columns):
        chosen = columns[:width]
        rows = encoded[:, chosen][~missing[:, chosen].any(1)]
        most = max(most, len(np.unique(rows, axis=0)))
        width *= 2
    return min(few, most)
