"""The mixtures that networks start from, fitted by EM to the encoded rows."""

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lacunet._progress import ProgressLine, clear_line
from lacunet.density import (
    GaussianMixtureDensity,
    IncompleteGaussianMixture,
    MixedMixtureDensity,
    MixtureDensity,
    fit_mixed,
)
from lacunet.estimators._recipe import RECIPE
from lacunet.exceptions import warn_user
from lacunet.functional import MixedComponents, log_likelihood

# Of all that is learned, whatever torch's default is at the moment.
DTYPE = torch.float32

# A start for training takes no more rows than these; a mixture that was given by the
# user takes all.
_MOST_ROWS = 20_000
_MOST_ROWS_OF_FACTORS = 5_000
# What "auto" chooses among for signals and images: covariances and rank.
Candidate = tuple[Literal["diag", "factor"], int | None]
_CANDIDATES: tuple[Candidate, ...] = (("diag", None), ("factor", None), ("factor", 20))
_N_COMPONENTS = 3
# Gain in log likelihood of a cell that another candidate than the first must bring.
_MARGIN = 0.1
_ROWS_TO_CHOOSE = 2_500
_FEWEST_VALIDATION_ROWS = 20
_ITERATIONS = {"diag": 100, "factor": 30}
# Added to variances, on the scale of the encoded numbers, whose variance is one: a
# density that is trained further starts wide.
_REG_COVAR = 1e-2


class Watch:
    """Given to EM, it shows the iterations, and ends it at a time, with a warning."""

    def __init__(self, until: float | None = None, *, verbose: bool = False) -> None:
        self._until = math.inf if until is None else until
        self._line = ProgressLine(shown=verbose)
        self._n_iterations = 0
        self.is_over = False

    def __call__(self, log_likelihood: float) -> bool:
        """Return whether the time is over, after an iteration."""
        self._n_iterations += 1
        self._line.show(
            lambda: (
                f"EM, iteration {self._n_iterations}: log-likelihood "
                f"{log_likelihood:.4f}"
            )
        )
        self.is_over = time.monotonic() >= self._until
        return self.is_over

    def close(self) -> None:
        """Warn if EM was cut."""
        clear_line()
        if self.is_over:
            msg = (
                "EM was cut by time_limit, of which it may take a third: the density "
                "is what it had found until then. Allow more time for a better one."
            )
            warn_user(msg, ConvergenceWarning)


def fit_density(
    density: Any,
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    watch: Watch,
) -> tuple[IncompleteGaussianMixture, MixedComponents]:
    """Fit the mixture that was given, or with "auto" one that is chosen for the table.

    Networks have few diagonal components, unless there are many columns, as those of a
    signal, and the likelihood of a fifth of the rows shows plainly that these depend on
    each other. ``sizes`` are the numbers of categories. Returns the mixture that was
    chosen, unfitted, with its components.
    """
    if isinstance(density, IncompleteGaussianMixture):
        given = clone(density)
        return given, _fit(given, encoded, sizes, seed, watch)
    n_numbers = encoded.shape[1] - sum(sizes)
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    n_valid = len(shuffled) // 5
    many = n_numbers >= RECIPE.many_columns
    compare = many and n_valid >= _FEWEST_VALIDATION_ROWS
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
        for covariance_type, rank in _CANDIDATES
    ]
    chosen = mixtures[0]
    if compare:
        valid = encoded[shuffled[:n_valid]]
        n_cells = np.maximum((~np.isnan(valid)).sum(1), 1)
        found = []
        scores = []  # log likelihood of a cell, for each of the validation rows
        for mixture in mixtures:
            found.append(_fit(clone(mixture), fitted, sizes, seed, watch))
            with torch.inference_mode():
                of_rows = log_likelihood(torch.from_numpy(valid), found[-1])
            scores.append(of_rows.numpy() / n_cells)
            if watch.is_over:
                break
        # The median, not the mean: a few outliers would decide alone.
        gains = [float(np.median(score - scores[0])) for score in scores]
        gains[0] += _MARGIN
        best = int(np.argmax(gains))
        chosen = mixtures[best]
        if watch.is_over:
            return chosen, found[best]
    factor = chosen.covariance_type == "factor"
    some = some_rows(encoded, seed, _MOST_ROWS_OF_FACTORS if factor else _MOST_ROWS)
    return chosen, _fit(chosen, some, sizes, seed, watch)


def fit_classes(
    encoded: np.ndarray, sizes: Sequence[int], seed: int, watch: Watch
) -> tuple[IncompleteGaussianMixture, MixedComponents]:
    """Fit latent classes to a table of categories and bins alone."""
    n_classes = _few_enough(RECIPE.classes, len(encoded), encoded)
    mixture = IncompleteGaussianMixture(n_classes, max_iter=50)
    return mixture, _fit(mixture, encoded, sizes, seed, watch)


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
    watch: Watch,
) -> MixedComponents:
    if mixture.random_state is None:
        mixture.set_params(random_state=seed)
    with warnings.catch_warnings():
        # It is a start: it need not have converged. The encoder has warned of columns
        # without a value.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Got (columns|categories) without")
        return fit_mixed(mixture, encoded, sizes, stop=watch).components


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
