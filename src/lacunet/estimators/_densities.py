"""The mixtures that networks start from, fitted by EM to the encoded rows."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lacunet.density import (
    GaussianMixtureDensity,
    IncompleteGaussianMixture,
    MixedMixtureDensity,
    MixtureDensity,
    Stop,
    fit_mixed,
)
from lacunet.estimators._recipe import RECIPE
from lacunet.functional import MixedComponents, log_likelihood

# Of all that is learned, whatever torch's default is at the moment.
DTYPE = torch.float32

Fold = tuple[np.ndarray, np.ndarray]  # rows to fit, and rows to validate on
# Covariances, components, rank.
Candidate = tuple[Literal["diag", "factor"], int, int | None]

# A start for training takes no more rows than these; a mixture that was given by the
# user takes all.
_MOST_ROWS = 20_000
_MOST_ROWS_OF_FACTORS = 5_000
# What "auto" chooses among. More factors are for signals and images; their EM takes
# long.
_FOR_NETWORKS: tuple[Candidate, ...] = (("diag", 3, None), ("factor", 3, None))
_MORE_FACTORS: Candidate = ("factor", 3, 20)
# Gain in log likelihood of a cell that another candidate than the first must bring.
_MARGIN_FOR_NETWORKS = 0.1
_ROWS_TO_CHOOSE = 2_500
_FEWEST_VALIDATION_ROWS = 20
_ITERATIONS = {"diag": 100, "factor": 30}
# Added to variances, on the scale of the encoded numbers, whose variance is one: a
# density that is trained further starts wide.
_REG_FOR_NETWORKS = 1e-2


def fit_density(
    density: Any,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    stop: Stop | None = None,
) -> MixedComponents:
    """Fit the mixture that was given, or with "auto" one that is chosen for the table.

    A network trains its density further: it does best with few diagonal components,
    unless the likelihood of validation rows shows plainly that columns depend on each
    other. ``sizes`` are the numbers of categories.
    """
    if isinstance(density, IncompleteGaussianMixture):
        return _fit(clone(density), encoded, sizes, seed, stop)
    n_numbers = encoded.shape[1] - sum(sizes)
    many = n_numbers >= RECIPE.many_columns
    few = many or len(encoded) < RECIPE.most_rows_of_factors
    chosen = choose_mixture(
        (*_FOR_NETWORKS, *([_MORE_FACTORS] if many else [])),
        encoded,
        sizes,
        seed,
        folds=_one_of_five(encoded, sizes, seed) if few else [],
        margin=_MARGIN_FOR_NETWORKS,
        reg_covar=_REG_FOR_NETWORKS,
        stop=stop,
    )
    return _fit_some(chosen, encoded, sizes, seed, stop)


def fit_classes(
    encoded: np.ndarray, sizes: Sequence[int], seed: int, stop: Stop | None = None
) -> MixedComponents:
    """Fit latent classes to a table of categories and bins alone."""
    n_classes = _few_enough(RECIPE.classes, len(encoded), encoded)
    mixture = IncompleteGaussianMixture(n_classes, max_iter=50)
    return _fit_some(mixture, encoded, sizes, seed, stop)


def build_density(
    components: MixedComponents, *, gamma: float, trainable: bool | tuple[str, ...]
) -> MixtureDensity:
    """Make a density in single precision of what EM has found."""
    if components.sizes:
        return MixedMixtureDensity.from_components(
            components, gamma=gamma, trainable=trainable, dtype=DTYPE
        )
    return GaussianMixtureDensity.from_components(
        components.gaussian, gamma=gamma, trainable=trainable, dtype=DTYPE
    )


def some_rows(rows: np.ndarray, seed: int, most: int = _MOST_ROWS) -> np.ndarray:
    """Return at most ``most`` rows, in their order."""
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
    stop: Stop | None,
) -> MixedComponents:
    """Fit a mixture to no more rows than a good start takes."""
    factor = mixture.covariance_type == "factor"
    most = _MOST_ROWS_OF_FACTORS if factor else _MOST_ROWS
    return _fit(mixture, some_rows(encoded, seed, most), sizes, seed, stop)


def _fit(
    mixture: IncompleteGaussianMixture,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    stop: Stop | None,
) -> MixedComponents:
    if mixture.random_state is None:
        mixture.set_params(random_state=seed)
    with warnings.catch_warnings():
        # It is a start: it need not have converged. The encoder has warned of columns
        # without a value.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Got (columns|categories) without")
        return fit_mixed(mixture, encoded, sizes, stop=stop).components


def _one_of_five(encoded: np.ndarray, sizes: Sequence[int], seed: int) -> list[Fold]:
    """Validate on a fifth of the rows, where that is enough to compare covariances."""
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    n_valid = len(shuffled) // 5
    if n_valid < _FEWEST_VALIDATION_ROWS or encoded.shape[1] - sum(sizes) < 2:
        return []
    return [(shuffled[n_valid:], shuffled[:n_valid])]


def choose_mixture(
    candidates: Sequence[Candidate],
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    *,
    folds: Sequence[Fold],
    margin: float,
    reg_covar: float,
    stop: Stop | None = None,
) -> IncompleteGaussianMixture:
    """Choose covariances and number of components by the likelihood of validation rows.

    The first candidate is taken unless another is better by the margin, in log
    likelihood of an observed cell, or if there are no folds. The result is not fitted.
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
    scores = [
        _validation_scores(m, encoded, folds, sizes, seed, stop) for m in mixtures
    ]
    # The median, not the mean: a few outliers would decide alone.
    gains = [float(np.median(score - scores[0])) for score in scores]
    gains[0] += margin
    return mixtures[int(np.argmax(gains))]


def _validation_scores(
    mixture: IncompleteGaussianMixture,
    encoded: np.ndarray,
    folds: Sequence[Fold],
    sizes: Sequence[int],
    seed: int,
    stop: Stop | None,
) -> np.ndarray:
    """Return the log likelihood of a cell in each of the validation rows: (rows,)."""
    scores = []
    for fitted, validation in folds:
        components = _fit(clone(mixture), encoded[fitted], sizes, seed, stop)
        rows = encoded[validation]
        with torch.inference_mode():
            of_rows = log_likelihood(torch.from_numpy(rows), components).numpy()
        scores.append(of_rows / np.maximum((~np.isnan(rows)).sum(1), 1))
    return np.concatenate(scores)


def _few_enough(n_components: int, n_rows: int, encoded: np.ndarray) -> int:
    """Return at most a component for ten rows, and for each distinct row."""
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
