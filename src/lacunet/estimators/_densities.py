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
from torch import Tensor
from torch.nn import functional

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
from lacunet.functional import MixedComponents, draw_truncated, log_likelihood

# Of all that is learned, whatever torch's default is at the moment.
DTYPE = torch.float32

# A start for training takes no more rows than these; a mixture that was given by the
# user takes all.
_MOST_ROWS = 20_000
_MOST_ROWS_OF_FACTORS = 5_000
_ROWS_OF_COLUMN = 2_000
_GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples fill an interval evenly
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
    *,
    width: int | None = None,
) -> tuple[IncompleteGaussianMixture, MixedComponents]:
    """Fit the mixture that was given, or with "auto" one that is chosen for the table.

    Networks have few diagonal components, unless there are many columns, as those of a
    signal, and the likelihood of a fifth of the rows shows plainly that these depend on
    each other. ``sizes`` are the numbers of categories; behind the ``width`` columns of
    a row may be the bounds of its numbers. Returns the mixture that was chosen,
    unfitted, with its components.
    """
    width = encoded.shape[1] if width is None else width
    if isinstance(density, IncompleteGaussianMixture):
        given = clone(density)
        return given, _fit(given, encoded, sizes, seed, watch, width)
    n_numbers = width - sum(sizes)
    shuffled = np.random.RandomState(seed).permutation(len(encoded))[:_ROWS_TO_CHOOSE]
    n_valid = len(shuffled) // 5
    many = n_numbers >= RECIPE.many_columns
    compare = many and n_valid >= _FEWEST_VALIDATION_ROWS
    fitted = encoded[shuffled[n_valid:]] if compare else encoded
    n_components = _few_enough(_N_COMPONENTS, len(encoded), fitted[:, :width])
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
        n_cells = np.maximum((~np.isnan(valid[:, :width])).sum(1), 1)
        found = []
        scores = []  # log likelihood of a cell, for each of the validation rows
        for mixture in mixtures:
            found.append(_fit(clone(mixture), fitted, sizes, seed, watch, width))
            with torch.inference_mode():
                rows, lower, upper = split_bounds(torch.from_numpy(valid), width)
                of_rows = log_likelihood(rows, found[-1], lower=lower, upper=upper)
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
    return chosen, _fit(chosen, some, sizes, seed, watch, width)


def split_bounds(x: Tensor, width: int) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Split encoded rows from the bounds behind them, which get the shape of the rows.

    They are lower and upper bounds of the numbers, the first columns; None if there are
    none.
    """
    if x.shape[1] == width:
        return x, None, None
    n_numeric = (x.shape[1] - width) // 2
    rows, *ends = x.split((width, n_numeric, n_numeric), 1)
    # Categories have no bounds.
    more = (0, width - n_numeric)
    lower, upper = (functional.pad(end, more, value=torch.nan) for end in ends)
    return rows, lower, upper


def fill_bounded(
    numbers: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Fill bounded cells of (rows, columns) as a column's distribution has them.

    With quantiles, between their bounds, of a normal or (if that is likelier, and the
    column positive) log-normal distribution that is fitted to column and bounds: for
    whatever measures a column, and not as guesses of single cells.
    """
    filled = numbers.copy()
    for place in np.flatnonzero(~np.isnan([lower, upper]).all((0, 1))):
        column = filled[:, place]
        rows = np.flatnonzero(~np.isnan([lower[:, place], upper[:, place]]).all(0))
        # Sorted, so that the order of the rows has no influence.
        rows = rows[np.lexsort((upper[rows, place], lower[rows, place]))]
        known = np.sort(column[~np.isnan(column)])
        unit = np.abs(known).max(initial=0.0) or 1.0
        few = slice(None, None, -(-(len(known) + len(rows)) // _ROWS_OF_COLUMN))
        low, high = (end[rows, place] / unit for end in (lower, upper))
        values = np.concatenate([known[few] / unit, np.full(len(rows[few]), np.nan)])
        ends = [
            np.concatenate([np.full(len(known[few]), np.nan), x[few]])
            for x in (low, high)
        ]
        positive = len(known) and known[0] > 0
        positive = positive and not (low < 0).any() and not (high <= 0).any()
        fits = []
        for logarithm in (False, True) if positive else (False,):
            some = [values, *ends]
            if logarithm:
                with np.errstate(divide="ignore"):
                    some = [np.log(x) for x in some]
            normal = IncompleteGaussianMixture(tol=1e-5, reg_covar=1e-9, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it has measured what there is
                x, below, above = (each[:, None] for each in some)
                normal.fit(x, lower=below, upper=above)
            # Of the values, not of their logarithms.
            slope = np.nansum(some[0]) if logarithm else 0.0
            fits.append((normal.lower_bound_ * len(x) - slope, logarithm, normal))
        _, logarithm, normal = max(fits, key=lambda fit: fit[0])
        with np.errstate(divide="ignore"):
            low, high = (np.log(x) if logarithm else x for x in (low, high))
        between = np.arange(1, len(rows) + 1) * _GOLDEN % 1
        ends = [
            np.nan_to_num(low, nan=-np.inf, neginf=-np.inf),
            np.nan_to_num(high, nan=np.inf, posinf=np.inf),
        ]
        given = (normal.means_[0], normal.covariances_[0], *ends, between)
        drawn = draw_truncated(*map(torch.from_numpy, given)).numpy()
        column[rows] = unit * (np.exp(drawn) if logarithm else drawn)
    return filled


def fit_classes(
    encoded: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    watch: Watch,
    ruled_out: np.ndarray | None = None,
) -> tuple[IncompleteGaussianMixture, MixedComponents]:
    """Fit latent classes to a table of categories and bins alone.

    Of missing ones some may be ruled out: (rows, bins and categories), bool.
    """
    n_classes = _few_enough(RECIPE.classes, len(encoded), encoded)
    mixture = IncompleteGaussianMixture(n_classes, max_iter=50)
    upper = None if ruled_out is None else np.where(ruled_out, 0.0, np.nan)
    return mixture, _fit(mixture, encoded, sizes, seed, watch, upper=upper)


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
    width: int | None = None,
    upper: Any = None,
) -> MixedComponents:
    if mixture.random_state is None:
        mixture.set_params(random_state=seed)
    lower = None
    if width is not None and width < encoded.shape[1]:
        _, lower, upper = split_bounds(torch.from_numpy(encoded), width)
        encoded = encoded[:, :width]
    with warnings.catch_warnings():
        # It is a start: it need not have converged. The encoder has warned of columns
        # without a value.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Got (columns|categories) without")
        found = fit_mixed(mixture, encoded, sizes, lower=lower, upper=upper, stop=watch)
    return found.components


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
