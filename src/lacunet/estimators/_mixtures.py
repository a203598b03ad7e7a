"""The mixtures of the imputer: how they are fitted, what they fill in and draw."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.special import ndtr
from torch import Tensor
from torch.nn import functional

from lacunet.density import (
    GaussianMixtureDensity,
    IncompleteGaussianMixture,
    MixtureDensity,
)
from lacunet.estimators._densities import split_bounds
from lacunet.estimators._encoding import InputEncoder, Quantiles, Scaling
from lacunet.estimators._fit import to_tensor
from lacunet.functional import ConditionalMixture, group_starts


class Candidate(NamedTuple):
    """A mixture that "auto" may give a weight."""

    covariance_type: Literal["diag", "factor", "full"]
    n_components: int
    reg_covar: float  # on the scale of the encoded numbers, whose variance is one
    # Whether categories are one-hot numbers of the Gaussians, which see how they depend
    # on each other and on numbers; else they depend on the component alone.
    one_hot: bool = True
    # Whether numbers are mapped to quantiles of the normal distribution first, which
    # fills skewed columns with medians rather than means.
    quantiles: bool = False


# The cheap ones first: a time limit cuts the others.
CANDIDATES = (
    Candidate("full", 1, 1e-3),
    Candidate("full", 1, 1e-3, quantiles=True),
    Candidate("diag", 12, 1e-2, one_hot=False),
    Candidate("factor", 1, 1e-3),
    Candidate("full", 2, 1e-2),
    Candidate("full", 2, 1e-2, quantiles=True),
    Candidate("full", 4, 1e-2),
    Candidate("full", 4, 1e-2, quantiles=True),
)
# For a few rows, and as a description of a mixture that was given.
PLAIN = Candidate("diag", 1, 1e-2, one_hot=False)
# Components x columns² beyond which covariances are of factors instead of full.
_LARGEST_FULL = 20_000
_ITERATIONS = 15
_TOLERANCE = 2e-2
# To choose by: rows, cells that are hidden, and how often, until there are enough.
_ROWS_TO_CHOOSE = 1_000
_HIDDEN = 0.15
_ENOUGH_CELLS = 300
_MOST_ROUNDS = 3
# In standard deviations: a few outliers would decide alone.
_OUTLIER = 4.0
# To measure the slope of the map to quantiles, relative to the largest value.
_STEP = 1e-7
_MOST_SLOPES = {"diag": 0, "factor": 10}  # of a regression; of "full", all
_LEAST_CHANCE = 1e-6  # of a category: means of one-hot numbers may be negative
_DRAWS_OF_BOUNDED = 32  # for the mean of one on quantiles
_BLOCK = 1024  # rows that are drawn so at once


def list_candidates(width: int, *, quantiles: bool) -> list[Candidate]:
    """Return the candidates for encoded rows of this width, each once."""
    affordable = [
        candidate._replace(covariance_type="factor")
        if candidate.covariance_type == "full"
        and candidate.n_components * width**2 > _LARGEST_FULL
        else candidate
        for candidate in CANDIDATES
        if quantiles or not candidate.quantiles
    ]
    return list(dict.fromkeys(affordable))


def make_mixture(
    candidate: Candidate, rows: np.ndarray, seed: int
) -> IncompleteGaussianMixture:
    """Return a mixture that goes on where its last fit has ended."""
    n_distinct = len(np.unique(np.where(np.isnan(rows), np.inf, rows), axis=0))
    return IncompleteGaussianMixture(
        max(1, min(candidate.n_components, n_distinct // 10)),
        covariance_type=candidate.covariance_type,
        reg_covar=candidate.reg_covar,
        max_iter=_ITERATIONS,
        tol=_TOLERANCE,
        warm_start=True,
        random_state=seed,
    )


class HiddenCells:
    """Observed cells that are hidden, to see how well mixtures know them."""

    def __init__(
        self, inputs: InputEncoder, rows: np.ndarray, random_state: Any
    ) -> None:
        """Hide cells of some rows, categories as a whole."""
        some = rows[random_state.permutation(len(rows))[:_ROWS_TO_CHOOSE]]
        some, self._bounds = np.hsplit(some, [len(inputs.sources)])
        missing = np.isnan(some)
        n_hidden = max(1.0, _HIDDEN * np.count_nonzero(~missing))
        self._masks = []
        for _ in range(min(_MOST_ROUNDS, int(np.ceil(_ENOUGH_CELLS / n_hidden)))):
            hidden = random_state.rand(len(some), len(inputs.table.columns))
            mask = (hidden < _HIDDEN)[:, inputs.sources] & ~missing
            # A row with nothing left in it is filled alike by all mixtures.
            mask[(mask | missing).all(1)] = False
            self._masks.append(mask)
        # Numbers, and categories as a whole, have variance one.
        counts = np.maximum((~missing).sum(0), 1)
        means = np.nansum(some, axis=0) / counts
        variances = np.nansum(np.square(some - means), axis=0) / counts
        totals = np.bincount(inputs.sources, variances)[inputs.sources]
        self._scale = np.sqrt(np.where(totals > 0, totals, 1.0))
        self.rows = some
        #: What was hidden, and in which columns of the encoded rows: (cells,).
        self.values = np.concatenate([self.pick(some, mask) for mask in self._masks])
        self.columns = np.concatenate([np.nonzero(mask)[1] for mask in self._masks])
        self.has_bounds = self._bounds.size > 0

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield masks, (rows, width), and rows without their cells."""
        for mask in self._masks:
            hidden = np.where(mask, np.nan, self.rows)
            yield mask, np.hstack([hidden, self._bounds])

    def pick(self, encoded: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return cells of rows, (*, rows, width), on the scale of ``values``."""
        return (encoded / self._scale)[..., mask].clip(-_OUTLIER, _OUTLIER)


@dataclass(frozen=True, eq=False)
class Member:
    """A mixture that was fitted to encoded rows."""

    inputs: InputEncoder
    density: MixtureDensity
    quantiles: Scaling | None = None  # the map of numbers, if they are mapped first
    # Of a bootstrap sample: what was fitted, and the observed cells of its columns.
    mixture: IncompleteGaussianMixture | None = None
    n_observed: np.ndarray | None = None

    def _widen(self, x: Tensor) -> np.ndarray | float:
        """Return what deviations from means are multiplied by in draws, (rows, width).

        Residuals of a regression with k coefficients have a variance of (n - k) / n
        times that of the noise, and residuals in a bootstrap sample that of these. A
        row's cells are regressed on those that it has.
        """
        if self.mixture is None or self.n_observed is None:
            return 1.0
        n_slopes = (~torch.isnan(x[:, : len(self.n_observed)])).sum(1).cpu().numpy()
        most = _MOST_SLOPES.get(self.mixture.covariance_type, len(self.n_observed))
        n_slopes = n_slopes.clip(max=most)
        n_coefficients = self.mixture.n_components * (1 + n_slopes[:, None])
        n = np.maximum(self.n_observed, 1)
        return np.asarray(n / np.maximum(n - n_coefficients, n / 2))

    def means(self, encoded: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Fill encoded rows with conditional means, between the ends of the numbers.

        The ends (2, numbers) do not concern cells that have bounds of their own.
        """
        n_numeric = self.inputs.n_numeric
        x = to_tensor(encoded, self.device)
        means = self._to_values(self._condition(x).mean())
        numbers = means[:, :n_numeric]
        bounded = find_bounded(self.inputs, encoded)
        numbers[:] = np.where(bounded, numbers, numbers.clip(*ends))
        rows = np.flatnonzero(bounded.any(1))
        rows = rows if self.quantiles is not None else rows[:0]
        for some in np.split(rows, range(_BLOCK, len(rows), _BLOCK)):
            # A mean of quantiles is a median of values: below a limit, where a column
            # is all of its tail, not of the same mean.
            draws = self._condition(x[some]).quasi_sample(_DRAWS_OF_BOUNDED)
            of_draws = self._to_values(draws).mean(0)[:, :n_numeric]
            numbers[some] = np.where(bounded[some], of_draws, numbers[some])
        return means

    def draw(
        self, x: Tensor, n: int, generator: torch.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw rows ``n`` times, (n, rows, width).

        Returns the draws, the means of what they are drawn from, (rows, width), and
        where they lie in its distribution: uniform in 0 to 1.
        """
        n_numeric, sizes = self.inputs.n_numeric, self.inputs.sizes
        row = self._condition(x)
        drawn = row.sample(n, generator)
        tensors = (drawn, row.mean(), row.weights, *row.component_moments())
        draws, means, weights, *moments = (t.cpu().double().numpy() for t in tensors)
        places = np.zeros_like(draws)
        for k, weight in enumerate(weights.T):
            mean, variance = (each[:, k] for each in moments)
            deviations = (draws - mean) / np.sqrt(np.maximum(variance, 1e-12))
            places += weight[:, None] * ndtr(deviations)
        wider = means + self._widen(x) * (draws - means)
        bounded = find_bounded(self.inputs, x.cpu().numpy())
        numbers = np.where(bounded, draws[..., :n_numeric], wider[..., :n_numeric])
        draws = np.concatenate([numbers, wider[..., n_numeric:]], -1)
        if self.quantiles is not None:
            draws = map_numbers(self.quantiles.inverse, self.inputs, draws)
            means = map_numbers(self.quantiles.inverse, self.inputs, means)
        if sizes and isinstance(self.density, GaussianMixtureDensity):
            draws = self._draw_categories(x, draws, generator)
        return draws, means, places

    def _draw_categories(
        self, x: Tensor, draws: np.ndarray, generator: torch.Generator
    ) -> np.ndarray:
        """Draw categories one after the other, given numbers and those before.

        They are one-hot numbers here, whose means are probabilities.
        """
        n_numeric, sizes = self.inputs.n_numeric, self.inputs.sizes
        rows = x[:, : draws.shape[-1]].repeat(len(draws), 1)  # (n * rows, width)
        flat = to_tensor(draws.reshape(rows.shape), x.device)
        rows[:, :n_numeric] = flat[:, :n_numeric]
        for start, size in zip(group_starts(sizes), sizes, strict=True):
            group = slice(n_numeric + start, n_numeric + start + size)
            unknown = torch.isnan(rows[:, group]).any(1)
            if unknown.any():
                means = self._condition(rows[unknown]).mean()[:, group]
                index = torch.multinomial(
                    means.clamp_min(_LEAST_CHANCE), 1, generator=generator
                )
                rows[unknown, group] = functional.one_hot(index[:, 0], size).to(rows)
        return np.asarray(rows.cpu().double().numpy().reshape(draws.shape))

    def log_prob(self, x: Tensor) -> Tensor:
        """Return the log-likelihood of encoded rows, in double precision."""
        n_numeric, sizes = self.inputs.n_numeric, self.inputs.sizes
        score = torch.zeros(len(x), dtype=torch.float64)
        if self.quantiles is not None:
            numbers = x[:, :n_numeric].numpy()
            assert isinstance(self.quantiles, Quantiles)
            mapping = self.quantiles.transform
            x = torch.from_numpy(map_numbers(mapping, self.inputs, x.numpy()))
            # The map is of straight lines: at a knot, the mean of both slopes.
            step = _STEP * np.fmax(self.quantiles.unit, np.abs(numbers))
            slopes = (mapping(numbers + step) - mapping(numbers - step)) / 2 / step
            logs = np.log(np.maximum(slopes, np.finfo(np.float64).tiny))
            score = torch.from_numpy(np.nansum(logs, axis=1))
        density = copy.deepcopy(self.density).cpu().double()
        if not sizes or not isinstance(density, GaussianMixtureDensity):
            return score + density.log_prob(x)
        # Numbers, and then categories one after the other, as they are drawn.
        rows = x.clone()
        rows[:, n_numeric:] = torch.nan
        score = score + density.log_prob(rows)
        for start, size in zip(group_starts(sizes), sizes, strict=True):
            group = slice(n_numeric + start, n_numeric + start + size)
            seen = ~torch.isnan(x[:, group]).any(1)
            if seen.any():
                means = density.condition(rows[seen]).mean()[:, group]
                chances = means.clamp_min(_LEAST_CHANCE)
                of_seen = (chances * x[seen, group]).sum(1) / chances.sum(1)
                score[seen] += of_seen.log()
                rows[seen, group] = x[seen, group]
        return score

    @property
    def device(self) -> torch.device:
        """Where the density is."""
        return next(self.density.parameters()).device

    def _condition(self, x: Tensor) -> ConditionalMixture:
        """Return what missing values may be, numbers mapped to quantiles if need be."""
        if self.quantiles is not None:
            encoded = x.cpu().double().numpy()
            mapped = map_numbers(self.quantiles.transform, self.inputs, encoded)
            x = to_tensor(mapped, x.device)
        rows, lower, upper = split_bounds(x, len(self.inputs.sources))
        return self.density.condition(rows, lower=lower, upper=upper)

    def _to_values(self, filled: Tensor) -> np.ndarray:
        """Return filled rows, (*, width), numbers mapped back from quantiles."""
        encoded: np.ndarray = filled.cpu().double().numpy()
        if self.quantiles is None:
            return encoded
        return map_numbers(self.quantiles.inverse, self.inputs, encoded)


def map_numbers(
    function: Callable[[np.ndarray], np.ndarray],
    inputs: InputEncoder,
    encoded: np.ndarray,
) -> np.ndarray:
    """Apply a function to the numbers of encoded rows, (*, width), and their bounds."""
    mapped = encoded.reshape(-1, encoded.shape[-1]).copy()
    n_numeric, width = inputs.n_numeric, len(inputs.sources)
    for start in (0, *range(width, mapped.shape[1], max(1, n_numeric))):
        block = mapped[:, start : start + n_numeric]
        block[:] = function(block)
    return mapped.reshape(encoded.shape)


def find_bounded(inputs: InputEncoder, encoded: np.ndarray) -> np.ndarray:
    """Return which numbers of encoded rows have bounds, (rows, numbers)."""
    bounds = encoded[:, len(inputs.sources) :]
    if not bounds.size:
        return np.zeros((len(encoded), inputs.n_numeric), dtype=bool)
    lower, upper = np.hsplit(bounds, 2)
    return np.asarray(~(np.isnan(lower) & np.isnan(upper)))
