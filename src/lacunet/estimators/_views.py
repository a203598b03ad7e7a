"""What networks see of a row, values or bins, and the networks that see it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from lacunet.density import (
    GaussianMixtureDensity,
    MixedMixtureDensity,
    MixtureDensity,
)
from lacunet.estimators._densities import DTYPE, split_bounds
from lacunet.estimators._recipe import RECIPE
from lacunet.functional import place_bounds
from lacunet.nn import (
    PRUNE,
    ActivationLike,
    ExpectedBins,
    ExpectedLinear,
    ExpectedRBF,
    LinearEnsemble,
    NetworkEnsemble,
    PartlyLinear,
    RowGenerator,
)

# Of the rows that networks take at once, where nothing is learned from them.
NUMBERS_AT_ONCE = 2**22


@dataclass(frozen=True)
class ViewShape:
    """What must be known of a view to allocate it; the fields are saved with models."""

    n_networks: int
    n_components: int  # of the density
    n_numeric: int  # columns of the density
    sizes: tuple[int, ...]  # categories of each categorical column of the density
    covariance_type: Literal["diag", "factor", "full"] = "diag"
    rank: int | None = None
    n_edges: tuple[int, ...] | None = None  # between the bins of each number, if binned

    @classmethod
    def of(
        cls,
        density: MixtureDensity,
        n_networks: int = 0,
        n_edges: tuple[int, ...] | None = None,
    ) -> Self:
        """Describe a view with this density."""
        mixed = isinstance(density, MixedMixtureDensity)
        gaussian: Any = density.gaussian if mixed else density
        factor = gaussian.covariance_type == "factor"
        return cls(
            int(n_networks),
            len(gaussian.means),
            int(gaussian.n_features),
            tuple(getattr(density, "sizes", ())),
            gaussian.covariance_type,
            gaussian.loadings.shape[-1] if factor else None,
            n_edges,
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a shape of what ``to_state`` returned."""
        sizes, n_edges = state["sizes"], state["n_edges"]
        edges = None if n_edges is None else tuple(n_edges)
        return cls(**{**state, "sizes": tuple(sizes), "n_edges": edges})

    def to_state(self) -> dict[str, Any]:
        """Return the shape as JSON-able values."""
        return asdict(self)

    @property
    def width(self) -> int:
        """Number of columns of the density."""
        return self.n_numeric + sum(self.sizes)

    def fewest_numbers(self, sizes: Sequence[int]) -> int:
        """Return a lower bound of the number of parameters, with these layer sizes."""
        ranks = {"diag": 0, "factor": self.rank or 0, "full": self.n_numeric}
        gaussian = self.n_numeric * (1 + ranks[self.covariance_type])
        pairs = zip((self.width, *sizes), sizes, strict=False)
        of_network = sum(before * after for before, after in pairs)
        edges = len(self.n_edges or ()) * max(self.n_edges or (0,))
        of_density = self.n_components * (gaussian + sum(self.sizes))
        return of_density + self.n_networks * of_network + edges

    def numbers_a_row(self, widest: int) -> int:
        """Return about how many numbers a row becomes in layers of this width."""
        of_unit = self.n_components * (1 + (self.rank or 0))
        return self.n_networks * of_unit * widest + self.width

    def build_density(self) -> MixtureDensity:
        """Make a density of this shape, whose values are to be loaded."""
        # What is drawn here is overwritten: from a generator of its own.
        generator = torch.Generator()
        if not self.sizes:
            return GaussianMixtureDensity(
                self.n_components,
                self.n_numeric,
                covariance_type=self.covariance_type,
                rank=self.rank,
                generator=generator,
                dtype=DTYPE,
            )
        return MixedMixtureDensity(
            self.n_components,
            self.n_numeric,
            self.sizes,
            covariance_type=self.covariance_type,
            rank=self.rank,
            generator=generator,
            dtype=DTYPE,
        )


@dataclass(frozen=True)
class BodyShape:
    """The networks of an estimator, all alike; the fields are saved with models."""

    hidden_sizes: tuple[int, ...]
    out_features: int
    activation: ActivationLike = "gelu"  # of the first layer
    later_activation: ActivationLike = "gelu"  # of the other hidden layers
    out_activation: ActivationLike = "identity"
    dropout: float = 0.0
    normalise: bool | None = None  # radial units; None for an expected linear layer
    prune: float = PRUNE  # of the expected linear layer
    skip: bool = False  # whether the outputs have a linear part of the inputs

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a shape of its fields."""
        sizes = tuple(int(size) for size in state["hidden_sizes"])
        # Models of format 1 left no component out.
        return cls(**{"prune": 0.0, **state, "hidden_sizes": sizes})

    def build(self, shape: ViewShape, generator: torch.Generator) -> NetworkEnsemble:
        """Make the networks of a view, over a density whose values are to be loaded."""
        return self.build_over(
            shape.build_density(), shape.n_networks, generator, shape.n_edges
        )

    def build_over(
        self,
        density: MixtureDensity,
        n_networks: int,
        generator: torch.Generator,
        n_edges: tuple[int, ...] | None = None,
    ) -> NetworkEnsemble:
        """Make networks over a density; ``n_edges`` if it is one of bins."""
        n_units = n_networks * self.hidden_sizes[0]
        n_skip = n_networks * self.out_features if self.skip else 0
        activation = self.activation
        if n_skip:
            activation = PartlyLinear(activation, n_skip)
        factory: Any = {"generator": generator, "dtype": DTYPE}
        first: nn.Module
        if self.normalise is not None:
            first = ExpectedRBF(
                density.n_features,
                n_units,
                density,
                normalise=self.normalise,
                **factory,
            )
        elif n_edges is not None:
            assert isinstance(density, MixedMixtureDensity)
            first = ExpectedBins(
                n_edges,
                density.sizes[len(n_edges) :],
                n_units + n_skip,
                density,
                activation=activation,
                prune=self.prune,
                variance_gradient=not self.skip,
                **factory,
            )
        else:
            first = ExpectedLinear(
                density.n_features,
                n_units + n_skip,
                density,
                activation=activation,
                prune=self.prune,
                variance_gradient=not self.skip,
                **factory,
            )
        if n_skip:
            with torch.no_grad():
                for parameter in first.parameters(recurse=False):
                    axis = 0 if n_edges is None else -1
                    parameter.narrow(axis, n_units, n_skip).zero_()
        return NetworkEnsemble(
            first,
            n_networks,
            self.hidden_sizes,
            self.out_features,
            activation=self.later_activation,
            out_activation=self.out_activation,
            dropout=self.dropout,
            **factory,
        )


class View(nn.Module):
    """What some networks see of the table: values or bins, with a density of these.

    The names of the attributes here and in ``ViewEnsemble`` are those of tensors in
    saved models.
    """

    def __init__(self, networks: NetworkEnsemble) -> None:
        super().__init__()
        self.networks = networks

    @property
    def density(self) -> MixtureDensity:
        """The density that is conditioned on what is observed."""
        density = self.networks.first.density
        assert isinstance(density, MixtureDensity)
        return density

    @property
    def sees_bins(self) -> bool:
        """Whether numbers are seen in bins."""
        return isinstance(self.networks.first, ExpectedBins)

    @property
    def shape(self) -> ViewShape:
        """What must be known to allocate this view."""
        first = self.networks.first
        n_edges = first.n_edges if isinstance(first, ExpectedBins) else None
        return ViewShape.of(self.density, self.networks.n_networks, n_edges)

    @property
    def numbers_a_row(self) -> int:
        """About how many numbers a row becomes on its way."""
        return self.shape.numbers_a_row(max(self.networks.hidden_sizes))

    def forward(self, x: Tensor, generator: RowGenerator | None = None) -> Tensor:
        """Return the outputs of every network, (networks, batch, out)."""
        first: Any = self.networks.first
        rows, lower, upper = split_bounds(x, first.in_features)
        return self.networks.behind(first(rows, lower=lower, upper=upper), generator)

    def forward_draws(self, x: Tensor, n: int) -> Tensor:
        """Return the outputs for draws of each row, (networks, n, batch, out)."""
        first: Any = self.networks.first
        x, lower, upper = split_bounds(x, first.in_features)
        if lower is not None:
            x, lower, upper = place_bounds(x, lower, upper)
        if isinstance(first, ExpectedBins):
            known, beyond = first.bins(x)
            if lower is not None and upper is not None:
                upper = first.ruled_out(lower, upper)
            draws = self.density.condition(known, upper=upper).quasi_sample(n)
            responses = first.complete(draws.flatten(0, 1), beyond.repeat(n, 1))
        else:
            draws = self.density.condition(x, lower=lower, upper=upper).quasi_sample(n)
            responses = first(draws.flatten(0, 1))
        out: Tensor = self.networks.behind(responses)  # (networks, n * batch, out)
        return out.view(out.shape[0], n, len(x), out.shape[-1])

    def draw_rows(self, x: Tensor, n: int, seed: int = 0) -> Tensor:
        """Complete encoded rows ``n`` times, (n, batch, width), from a view of bins.

        A number is the mean of the bin that is drawn.
        """
        first = self.networks.first
        assert isinstance(first, ExpectedBins)
        drawn = self.density.condition(first.bins(x)[0]).quasi_sample(n, seed)
        one_hot, categories = drawn.tensor_split([len(first.column)], -1)
        values = one_hot * first.centres[first.column, first.rank]
        numbers = values.new_zeros(n, len(x), len(first.n_edges))
        numbers.index_add_(-1, first.column, values)
        rows = torch.cat((numbers, categories), -1)
        return torch.where(torch.isnan(x), rows, x)


class ViewEnsemble(nn.Module):
    """All views: from the encoded table (batch, width) to (networks, batch, out)."""

    shares: Tensor

    def __init__(self, views: Sequence[View]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(views)
        even = torch.full((len(views),), 1.0 / len(views), dtype=torch.float32)
        self.register_buffer("shares", even)

    @classmethod
    def from_shapes(cls, shapes: Sequence[ViewShape], body: BodyShape) -> Self:
        """Allocate views, whose values are to be loaded."""
        generator = torch.Generator()
        return cls([View(body.build(shape, generator)) for shape in shapes])

    def __iter__(self) -> Iterator[View]:
        """Iterate over the views."""
        for view in self.branches:
            assert isinstance(view, View)
            yield view

    @property
    def view_weights(self) -> Tensor:
        """Weight of each view in the mean prediction, (views,); they sum to one."""
        return self.shares

    @property
    def out_features(self) -> int:
        """Number of outputs of each network."""
        last = next(iter(self)).networks.layers[-1]
        assert isinstance(last, LinearEnsemble)
        return last.weight.shape[-1]

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of every network of every view."""
        return torch.cat([view(x) for view in self])


# --- bins: edges where the target changes, and at quantiles


class Bins(NamedTuple):
    """Edges of one column, and the means of its bins, of which there is one more."""

    edges: np.ndarray
    centres: np.ndarray


class Histogram(NamedTuple):
    """What bins of a column are found from; it adds up over the blocks of a table."""

    grid: np.ndarray  # edges between fine bins
    counts: np.ndarray  # of the observed values in each of them, one more
    totals: np.ndarray  # of these values
    sums: np.ndarray  # of the targets, (fine bins, outputs)

    @classmethod
    def of_column(
        cls, column: np.ndarray, targets: np.ndarray, grid: np.ndarray
    ) -> Self:
        """Count a column (rows,), NaN where missing, and sum up (rows, outputs)."""
        observed = ~np.isnan(column)
        values = column[observed]
        bin_of, n = np.searchsorted(grid, values), len(grid) + 1
        sums = [np.bincount(bin_of, y, minlength=n) for y in targets[observed].T]
        counts = np.bincount(bin_of, minlength=n)
        totals = np.bincount(bin_of, values, minlength=n)
        return cls(grid, counts, totals, np.stack(sums, axis=1))

    def __add__(self, other: Any) -> "Histogram":
        """Add up two histograms over the same grid."""
        pairs = zip(self[1:], other[1:], strict=True)
        return Histogram(self.grid, *(one + two for one, two in pairs))


def find_grid(values: np.ndarray) -> np.ndarray:
    """Return edges near the quantiles of observed values, for a histogram of them."""
    if not len(values):
        return np.empty(0)
    ends = np.unique(np.quantile(values, np.linspace(0, 1, RECIPE.histogram + 1)[1:-1]))
    # Midway between neighbours, so that rounding puts no value on the other side.
    distinct = np.unique(values)
    if len(distinct) == 1:
        return np.empty(0)
    above = np.searchsorted(distinct, ends, side="right").clip(1, len(distinct) - 1)
    return np.unique((distinct[above - 1] + distinct[above]) / 2)


def find_bins(histograms: Sequence[Histogram]) -> list[Bins]:
    """Find bins of each column from its histogram, where the targets change.

    A number of few values has a bin for each of them.
    """
    # Wide tables have fewer bins a column: a network's time is that of all its inputs.
    n_bins = max(1, len(histograms)) * RECIPE.bins_of_column
    fraction = min(1.0, RECIPE.most_bins / n_bins)
    n_leaves = max(2, round(fraction * RECIPE.leaves))
    ranks = np.linspace(0, 1, max(2, round(fraction * RECIPE.quantiles)) + 1)[1:-1]
    found = []
    for grid, counts, totals, sums in histograms:
        if len(counts) > RECIPE.few_values:
            even = np.searchsorted(counts.cumsum(), ranks * counts.sum())
            even = even.clip(max=len(grid) - 1)
            cuts = np.union1d(_grow(counts, sums, n_leaves), even).astype(np.intp)
            grid, starts = grid[cuts], np.concatenate([[0], cuts + 1])
            counts, totals = (np.add.reduceat(x, starts) for x in (counts, totals))
        found.append(Bins(grid, totals / np.maximum(counts, 1)))
    return found


def put_in_bins(x: np.ndarray, bins: Sequence[Bins]) -> np.ndarray:
    """Make one-hot columns of the numbers of encoded rows, which come first."""
    one_hot = []
    for column, (edges, centres) in zip(x.T, bins, strict=False):
        places = np.searchsorted(edges, column).clip(max=len(edges))  # NaN is put last
        known = np.eye(len(centres))[places]
        one_hot.append(np.where(np.isnan(column)[:, None], np.nan, known))
    return np.hstack([*one_hot, x[:, len(bins) :]])


# In single precision.
_JUST_BELOW = 1e-6


def add_edges(
    bins: Sequence[Bins], numbers: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> list[Bins]:
    """Put edges at the bounds of missing numbers, so that bins lie on one side of them.

    ``numbers`` are the columns with such cells filled in, for the means of the bins.
    """
    found = []
    columns = (numbers.T, lower.T, upper.T)
    for (edges, centres), column, low, high in zip(bins, *columns, strict=True):
        # A bin has its upper end: just below a lower bound, which may be a value.
        below = low - _JUST_BELOW * np.maximum(1.0, np.abs(low))
        ends = np.concatenate([below, high])
        ends = np.unique(ends[~np.isnan(ends)])
        if not len(ends):
            found.append(Bins(edges, centres))
            continue
        if len(ends) > RECIPE.quantiles:
            ranks = np.linspace(0, 1, RECIPE.quantiles)
            ends = np.unique(np.quantile(ends, ranks, method="nearest"))
        edges = np.union1d(edges, ends)
        values = column[~np.isnan(column)]
        places = np.searchsorted(edges, values)
        counts = np.bincount(places, minlength=len(edges) + 1)
        totals = np.bincount(places, values, minlength=len(edges) + 1)
        nearest = np.append(edges, edges[-1])  # of bins without a value
        centres = np.where(counts, totals / np.maximum(counts, 1), nearest)
        found.append(Bins(edges, centres))
    return found


def rule_out(
    bins: Sequence[Bins], lower: np.ndarray, upper: np.ndarray, n_more: int
) -> np.ndarray:
    """Return the bins outside of bounds, and False for ``n_more`` columns behind."""
    low, high = np.nan_to_num(lower, nan=-np.inf), np.nan_to_num(upper, nan=np.inf)
    outside = []
    for place, (edges, _) in enumerate(bins):
        starts, stops = np.append(-np.inf, edges), np.append(edges, np.inf)
        inside = (starts < high[:, place, None]) & (stops > low[:, place, None])
        outside.append(~inside)
    return np.hstack([*outside, np.zeros((len(lower), n_more), dtype=bool)])


def find_codes(x: np.ndarray, bins: Sequence[Bins], sizes: Sequence[int]) -> np.ndarray:
    """Return the places of ones in what ``put_in_bins`` makes, (rows, columns).

    The width of that stands for a missing value. ``sizes`` are those of the categories
    behind the numbers.
    """
    n_bins = [len(column.centres) for column in bins]
    starts = np.cumsum([0, *n_bins, *sizes])
    codes = np.empty((len(x), len(n_bins) + len(sizes)), dtype=np.int64)
    for place, (column, (edges, _)) in enumerate(zip(x.T, bins, strict=False)):
        found = starts[place] + np.searchsorted(edges, column)
        codes[:, place] = np.where(np.isnan(column), starts[-1], found)
    first = len(bins)
    for place, size in enumerate(sizes, start=len(n_bins)):
        group = x[:, first : first + size]
        found = starts[place] + group.argmax(1)
        codes[:, place] = np.where(np.isnan(group[:, 0]), starts[-1], found)
        first += size
    return codes


def _grow(counts: np.ndarray, sums: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return where a tree that is grown leaf by leaf cuts a histogram, ascending.

    A cut at ``i`` is behind bin ``i``. What it gains is the fall of the squared error
    of the targets, which for indicators of classes is that of Gini's impurity.
    """
    before = np.concatenate([[0], counts.cumsum()])
    summed = np.concatenate([np.zeros((1, sums.shape[1])), sums.cumsum(0)])

    def best_cut(start: int, stop: int) -> tuple[float, int]:
        n_left = before[start + 1 : stop] - before[start]
        n_right = before[stop] - before[start + 1 : stop]
        left = summed[start + 1 : stop] - summed[start]
        right = summed[stop] - summed[start + 1 : stop]
        enough = np.minimum(n_left, n_right) >= RECIPE.leaf_rows
        if not enough.any():
            return 0.0, start
        whole = summed[stop] - summed[start]
        gains = (left**2).sum(1) / np.maximum(n_left, 1)
        gains += (right**2).sum(1) / np.maximum(n_right, 1)
        gains -= (whole**2).sum() / max(1, before[stop] - before[start])
        best = int(np.where(enough, gains, -np.inf).argmax())
        return float(gains[best]), start + best

    leaves = [(0, len(counts), *best_cut(0, len(counts)))]
    cuts = []
    while len(leaves) < n_leaves:
        start, stop, gain, cut = max(leaves, key=lambda leaf: leaf[2])
        if gain <= 1e-12 * len(counts):
            break
        leaves.remove((start, stop, gain, cut))
        cuts.append(cut)
        halves = ((start, cut + 1), (cut + 1, stop))
        leaves += [(*half, *best_cut(*half)) for half in halves]
    return np.sort(np.array(cuts, dtype=np.intp))
