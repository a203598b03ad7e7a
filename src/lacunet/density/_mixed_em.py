"""EM on tables with numeric and categorical columns, both with missing values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils import check_array, check_random_state
from torch import Tensor

from lacunet._device import on_cpu
from lacunet._validation import check_levels, check_sizes
from lacunet.density._em import (
    STEPS,
    DiagStatistics,
    EMResult,
    Expectation,
    Step,
    Stop,
    best_of_starts,
    combine,
    expect_all,
    normalise,
    run_em,
    split_blocks,
)
from lacunet.density._incomplete import IncompleteGaussianMixture
from lacunet.density._parameters import check_parameters
from lacunet.density._start import (
    at_bounds,
    column_means,
    gaussian_starts,
    read_bounds,
    relative_to,
    standardise,
    warn_of_empty,
    warn_unless_converged,
)
from lacunet.functional import (
    Cells,
    GaussianComponents,
    MixedComponents,
    Restriction,
    find_restrictions,
    group_starts,
    split_at,
    split_cells,
    widen,
)

# Rows that every component is taken to have seen, spread evenly over the levels of a
# category: no probability becomes zero.
_PSEUDO_ROWS = 1.0


def fit_mixed(
    mixture: IncompleteGaussianMixture,
    X: Any,
    sizes: Sequence[int],
    *,
    lower: Any = None,
    upper: Any = None,
    stop: Stop | None = None,
) -> EMResult[MixedComponents]:
    """Fit a mixture over numeric and categorical columns by EM to the observed cells.

    Parameters
    ----------
    mixture : IncompleteGaussianMixture
        Its parameters are used, ``warm_start`` excepted, and what it gives to
        start from is of the numeric columns. It is neither fitted nor changed.
    X : array-like of shape (rows, columns)
        Numeric columns, then a one-hot group of columns for each category. NaN marks a
        missing value; a missing category is NaN in its whole group.
    sizes : sequence of int
        Number of levels of each categorical column.
    lower, upper : array-like of shape (rows, columns), optional
        Bounds of missing cells, NaN or infinite where there is none. In the columns of
        a category an upper bound of 0 rules a level out.
    stop : callable, optional
        Called with the mean log likelihood of a row after each iteration, to show
        progress, or to end EM there by returning True.

    Returns
    -------
    EMResult
        With ``components``, a MixedComponents in float64 on the scale of ``X``,
        ``converged`` and ``lower_bounds``: before every step, the mean log likelihood
        of a row, plus its part of that of the pseudo-rows which keep every probability
        above zero.

    Examples
    --------
    One number, and a category of two levels that goes with its sign.

    >>> import numpy as np
    >>> import torch
    >>> from lacunet.density import (
    ...     IncompleteGaussianMixture,
    ...     MixedMixtureDensity,
    ...     fit_mixed,
    ... )
    >>> rng = np.random.RandomState(0)
    >>> number = rng.randn(200, 1) + np.repeat([[-5.0], [5.0]], 100, axis=0)
    >>> level = np.hstack([number < 0, number > 0]).astype(float)
    >>> level[rng.rand(200) < 0.5] = np.nan
    >>> mixture = IncompleteGaussianMixture(2, random_state=0)
    >>> result = fit_mixed(mixture, np.hstack([number, level]), sizes=(2,))
    >>> density = MixedMixtureDensity.from_components(result.components)
    >>> row = torch.tensor([[4.0, torch.nan, torch.nan]], dtype=torch.float64)
    >>> density.condition(row).mean().detach().round(decimals=1)
    tensor([[4., 0., 1.]], dtype=torch.float64)
    """
    sizes = check_sizes(sizes)
    X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    n_numeric = X.shape[1] - sum(sizes)
    if n_numeric < 0:
        msg = (
            f"Got X with {X.shape[1]} columns and sizes={sizes}, but expected at least "
            f"{sum(sizes)} columns, one for each level."
        )
        raise ValueError(msg)
    check_levels(torch.tensor(X, device="cpu"), n_numeric, sizes)
    check_parameters(mixture, len(X), n_numeric)
    numeric, levels = X[:, :n_numeric], X[:, n_numeric:]
    warn_of_empty(numeric)
    warn_of_empty(levels[:, group_starts(sizes)], "categories", "equal probabilities")
    shift = column_means(numeric)
    bounds = read_bounds(mixture, X, np.pad(shift, (0, sum(sizes))), lower, upper)
    numeric = relative_to(numeric, shift, mixture.strategy)
    if mixture.strategy == "mean":
        levels = _fill_levels(levels, sizes)
    step = MixedStep(STEPS[mixture.covariance_type], n_numeric, sizes)
    with torch.no_grad(), on_cpu():
        cells = split_cells(torch.from_numpy(np.hstack([numeric, levels])), *bounds)
        blocks = split_blocks(mixture, cells, n_numeric)
        starts = _starts(mixture, step, cells, blocks, shift)
        result = best_of_starts(mixture, step, blocks, starts, stop)
        gaussian = result.components.gaussian
        gaussian = gaussian._replace(means=gaussian.means + torch.from_numpy(shift))
    warn_unless_converged(result.converged, mixture.max_iter)
    components = result.components._replace(gaussian=gaussian)
    return replace(result, components=components, statistics=None)


# --- EM over rows that are not in memory


def refine_mixed(
    mixture: IncompleteGaussianMixture,
    components: MixedComponents,
    expect: Callable[[MixedComponents], tuple[float, Any]],
    n_rows: int,
    *,
    stop: Stop | None = None,
) -> EMResult[MixedComponents]:
    """Go on with EM from ``components``, over blocks of rows that are anywhere.

    ``expect`` returns the sums, over all blocks, of what ``expect_rows`` returns for
    each. If they are summed in an order of their own, the result does not depend on who
    computes them.
    """
    n_numeric = components.gaussian.means.shape[1]
    step = MixedStep(STEPS[mixture.covariance_type], n_numeric, components.sizes)
    with torch.no_grad(), on_cpu():
        return run_em(mixture, step, expect, n_rows, components, stop=stop)


def expect_rows(
    mixture: IncompleteGaussianMixture,
    x: np.ndarray,
    components: MixedComponents | GaussianComponents,
) -> tuple[float, Any]:
    """Return the log likelihood of a block of rows, and the sums of their statistics.

    ``x`` is (rows, columns) as in ``fit_mixed``, on the scale of the components.
    """
    step: Step[Any] = STEPS[mixture.covariance_type]
    n_numeric = x.shape[1]
    if isinstance(components, MixedComponents):
        n_numeric -= sum(components.sizes)
        step = MixedStep(step, n_numeric, components.sizes)
    with torch.no_grad(), on_cpu():
        cells = split_cells(torch.from_numpy(x.astype(np.float64)))
        blocks = split_blocks(mixture, cells, n_numeric)
        prepared = [step.prepare(block) for block in blocks]
        return expect_all(step, prepared, components)


def expect_codes(
    codes: np.ndarray, components: MixedComponents
) -> tuple[float, "MixedStatistics"]:
    """Return the same as ``expect_rows`` for rows of categories alone, by their places.

    ``codes`` (rows, categories) are columns of the one-hot table that ``expect_rows``
    takes, and its width where a value is missing: there may be many columns, of which a
    row has few.
    """
    width, n_components = sum(components.sizes), len(components.log_weights)
    index = torch.from_numpy(codes)
    with torch.no_grad(), on_cpu():
        table = torch.zeros(width + 1, n_components, dtype=torch.float64)
        table[:width] = components.log_probabilities.T
        evidence = torch.nn.functional.embedding_bag(index, table, mode="sum")
        total, responsibilities = normalise(components.log_weights + evidence)
        of_cells = responsibilities.repeat_interleave(index.shape[1], 0)
        counts = torch.zeros_like(table).index_add_(0, index.flatten(), of_cells)
        nothing = torch.zeros(n_components, 0, dtype=torch.float64)
        of_numbers = DiagStatistics(responsibilities.sum(0), nothing, nothing, nothing)
        counted = counts[:width].T.contiguous()
        return float(total.sum()), MixedStatistics(of_numbers, counted)


def add_expectations(
    one: tuple[float, Any], two: tuple[float, Any]
) -> tuple[float, Any]:
    """Add what ``expect_rows`` has returned for two blocks."""
    return one[0] + two[0], combine(torch.add, one[1], two[1])


# --- the steps


class MixedStatistics(NamedTuple):
    """Sums over rows, weighted by the responsibilities."""

    gaussian: Any
    counts: Tensor  # of the observed levels, (components, levels)


class MixedStep(Step[MixedComponents]):
    """A Gaussian step, with level probabilities beside it.

    Given the component, a missing category is independent of all else: it drops out,
    and probabilities are frequencies of the observed levels.
    """

    def __init__(
        self, gaussian: Step[Any], n_numeric: int, sizes: tuple[int, ...]
    ) -> None:
        self.gaussian = gaussian
        self.n_numeric = n_numeric
        self.sizes = sizes

    def prepare(self, cells: Cells) -> tuple[Any, Tensor, list[Restriction]]:
        """Prepare the numbers, and keep the levels: one-hot, 0 where missing."""
        numeric, levels = split_at(cells, self.n_numeric)
        restrictions = find_restrictions(levels, self.sizes)
        return self.gaussian.prepare(numeric), levels.values, restrictions

    def expect(
        self,
        data: tuple[Any, Tensor, list[Restriction]],
        components: MixedComponents,
    ) -> Expectation:
        """Weigh the numbers, with the levels as each row's own prior."""
        numeric, levels, restrictions = data
        evidence = levels @ components.log_probabilities.T
        restricted = components.restrict(restrictions, levels.new_zeros(()))
        for group in restricted:
            evidence.index_add_(0, group.rows, group.evidence[group.of_row])
        prior = components.gaussian._replace(
            log_weights=components.log_weights + evidence
        )
        given = self.gaussian.expect(numeric, prior)
        counts = given.responsibilities.T @ levels
        for group in restricted:  # by the chances of levels that are possible
            mass = torch.zeros_like(group.evidence)
            mass.index_add_(0, group.of_row, given.responsibilities[group.rows])
            here = slice(group.start, group.start + group.chances.shape[-1])
            counts[:, here] += (mass[..., None] * group.chances).sum(0)
        return given._replace(statistics=MixedStatistics(given.statistics, counts))

    def maximise(
        self, statistics: MixedStatistics, components: MixedComponents, reg_covar: float
    ) -> MixedComponents:
        """Maximise each part by itself."""
        gaussian = self.gaussian.maximise(
            statistics.gaussian, components.gaussian, reg_covar
        )
        log_probabilities = self.log_probabilities(statistics.counts)
        return MixedComponents(gaussian, log_probabilities, self.sizes)

    def recentre(
        self, statistics: MixedStatistics, old: MixedComponents, new: MixedComponents
    ) -> MixedStatistics:
        """Recentre the numbers; counts have no centre."""
        gaussian = self.gaussian.recentre(
            statistics.gaussian, old.gaussian, new.gaussian
        )
        return MixedStatistics(gaussian, statistics.counts)

    def leap(
        self, zero: MixedComponents, one: MixedComponents, two: MixedComponents
    ) -> MixedComponents:
        """Extrapolate the numbers; probabilities take their step."""
        leapt = self.gaussian.leap(zero.gaussian, one.gaussian, two.gaussian)
        return two._replace(gaussian=leapt)

    def log_prior(self, components: MixedComponents) -> float:
        """Return the log likelihood of the pseudo-rows."""
        groups = components.log_probabilities.split(self.sizes, 1)
        return _PSEUDO_ROWS * sum(float(group.mean(1).sum()) for group in groups)

    def log_probabilities(self, counts: Tensor) -> Tensor:
        """Return log frequencies of counted levels (components, levels), smoothed."""
        frequencies = [counts[:, :0]]
        for group in counts.split(self.sizes, 1):
            raised = group + _PSEUDO_ROWS / group.shape[1]
            frequencies.append((raised / raised.sum(1, keepdim=True)).log())
        return torch.cat(frequencies, 1)


def _fill_levels(levels: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Fill missing categories with their most frequent level."""
    filled = levels.copy()
    for start, size in zip(group_starts(sizes), sizes, strict=True):
        group = filled[:, start : start + size]
        counts = np.nansum(group, axis=0)
        if counts.any():  # else there is nothing to fill with
            group[np.isnan(group[:, 0])] = np.eye(size)[counts.argmax()]
    return filled


def _starts(
    mixture: IncompleteGaussianMixture,
    step: MixedStep,
    cells: Cells,
    blocks: list[Cells],
    shift: np.ndarray,
) -> Iterator[MixedComponents]:
    cells = at_bounds(cells, step.n_numeric)
    scaled = standardise(widen(cells), step.sizes)
    numeric, levels = split_at(cells, step.n_numeric)
    random_state = check_random_state(mixture.random_state)
    for responsibilities, gaussian in gaussian_starts(
        mixture, widen(numeric), scaled, shift, random_state
    ):
        counts = responsibilities.T @ levels.values
        if mixture.means_init is not None:  # whose clusters have an order of their own
            even = step.log_probabilities(torch.zeros_like(counts))
            start = MixedComponents(gaussian, even, step.sizes)
            prepared = [step.prepare(block) for block in blocks]
            counts = expect_all(step, prepared, start)[1].counts
        yield MixedComponents(gaussian, step.log_probabilities(counts), step.sizes)
