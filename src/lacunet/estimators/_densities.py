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

# A start for training takes no more rows than these; a mixture that was given by the
# user takes all.
_MOST_ROWS = 20_000
_MOST_ROWS_OF_FACTORS = 5_000
# What "auto" chooses among: covariances and rank. More factors are for signals and
# images; their EM takes long.
Candidate = tuple[Literal["diag", "factor"], int | None]
_CANDIDATES: tuple[Candidate, ...] = (("diag", None), ("factor", None))
_MORE_FACTORS: Candidate = ("factor", 20)
_N_COMPONENTS = 3
# Gain in log likelihood of a cell that another candidate than the first must bring.
_MARGIN = 0.1
_ROWS_TO_CHOOSE = 2_500
_FEWEST_VALIDATION_ROWS = 20
_ITERATIONS = {"diag": 100, "factor": 30}
# Added to variances, on the scale of the encoded numbers, whose variance is one: a
# density that is trained further starts wide.
_REG_COVAR = 1e-2


def fit_density(
    density: Any,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    stop: Stop | None = None,
) -> MixedComponents:
    """Fit the mixture that was given, or with "auto" one that is chosen for the table.

    Networks do best with few diagonal components, unless the likelihood of a fifth of
    the rows shows plainly that columns depend on each other. ``sizes`` are the numbers
    of categories.
    """
    if isinstance(density, IncompleteGaussianMixture):
        return _fit(clone(density), encoded, sizes, seed, stop)
    n_numbers = encoded.shape[1] - sum(sizes)
    many = n_numbers >= RECIPE.many_columns
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    n_valid = len(shuffled) // 5
    compare = (many or len(encoded) < RECIPE.most_rows_of_factors) and (
        n_valid >= _FEWEST_VALIDATION_ROWS and n_numbers >= 2
    )
    fitted = encoded[shuffled[n_valid:]] if compare else encoded
    n_components = _few_enough(_N_COMPONENTS, len(encoded), fitted)
    mixtures = [
        IncompleteGaussianMixture(
            n_components,
            covariance_type=covariance_type,
            rank=rank,
            reg_covar=_REG_COVAR,
            max_iter=_ITERATIONS[covariance_type],
        )
        for covariance_type, rank in (*_CANDIDATES, *([_MORE_FACTORS] if many else []))
    ]
    chosen = mixtures[0]
    if compare:
        valid = encoded[shuffled[:n_valid]]
        n_cells = np.maximum((~np.isnan(valid)).sum(1), 1)
        scores = []  # log likelihood of a cell, for each of the validation rows
        for mixture in mixtures:
            components = _fit(clone(mixture), fitted, sizes, seed, stop)
            with torch.inference_mode():
                of_rows = log_likelihood(torch.from_numpy(valid), components)
            scores.append(of_rows.numpy() / n_cells)
        # The median, not the mean: a few outliers would decide alone.
        gains = [float(np.median(score - scores[0])) for score in scores]
        gains[0] += _MARGIN
        chosen = mixtures[int(np.argmax(gains))]
    factor = chosen.covariance_type == "factor"
    some = some_rows(encoded, seed, _MOST_ROWS_OF_FACTORS if factor else _MOST_ROWS)
    return _fit(chosen, some, sizes, seed, stop)


def fit_classes(
    encoded: np.ndarray, sizes: Sequence[int], seed: int, stop: Stop | None = None
) -> MixedComponents:
    """Fit latent classes to a table of categories and bins alone."""
    n_classes = _few_enough(RECIPE.classes, len(encoded), encoded)
    mixture = IncompleteGaussianMixture(n_classes, max_iter=50)
    return _fit(mixture, encoded, sizes, seed, stop)


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
