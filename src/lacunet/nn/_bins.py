"""A first layer that sees numbers in bins, and so can cut a column in two."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet._remember import remember
from lacunet._validation import (
    branch_free,
    check_levels,
    check_no_infinity,
    check_positive_int,
    check_rows,
)
from lacunet.density import MixedMixtureDensity
from lacunet.functional import (
    Affine,
    level_variances,
    padded_groups,
    place_bounds,
    restrict,
    without_nan,
)
from lacunet.nn._activation import ActivationLike, ExpectedActivation
from lacunet.nn._expected import (
    PRUNE,
    check_prune,
    expected_map,
    full_precision,
    touch,
)


class ExpectedBins(nn.Module):
    """A linear layer over bins with its activation, expected over what is missing.

    A number ``x`` with edges ``e_1 < ... < e_T`` has a weight for its value, and one
    for every edge that it exceeds: its part of the pre-activation is
    ``value_weight * x + sum_t weight_t * 1[x > e_t]``, a line with steps. A category
    has a weight for each of its values. The density is one of latent classes, with a
    probability for every bin: of a missing number, the mean and the variance of its
    part follow from these exactly (its value is taken at the mean of its bin). Given
    the class, the sum over columns is taken for Gaussian: an error of about 0.02 in the
    activation with one missing column, for pre-activations of a standard deviation of
    0.6, and below 0.01 from four on.

    Parameters
    ----------
    n_edges : sequence of int
        Number of edges of each numeric column, which come first in ``x``; the edges are
        set with :meth:`set_bins`. None makes a column a plain number.
    sizes : sequence of int
        Number of categories of each categorical column, one-hot in ``x``.
    out_features : int
        Number of outputs.
    density : MixedMixtureDensity
        Latent classes over the bins (one more than the edges) of every numeric column,
        then the categories: without numeric columns of its own. Make one of a mixture
        of Gaussians with :func:`lacunet.density.bin_gaussians`.
    activation : str, torch.nn.Module or callable, default="relu"
        What the layer ends with; "identity" for none.
    prune : float, default=1e-3
        Classes whose weight for a row is smaller are left out for it; 0 is exact.
    variance_gradient : bool, default=True
        Whether gradients flow through the variances of pre-activations. Without them a
        step of training is faster; what the layer returns is the same.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    weight : Parameter of shape (sum of bins and sizes, out_features)
        Of the edges, and of the categories. The first bin of a number has no edge below
        it, and no use for its weight. Rows are looked up, as those of an embedding.
    value_weight : Parameter of shape (numeric columns, out_features)
    bias : Parameter of shape (out_features,)
    edges, centres : Tensor of shape (numeric columns, most bins)
        Upper ends of the bins, the last of them infinite, and the means of what is in
        them.

    Shape
    -----
    - Input: (batch, numeric columns + sum(sizes)), NaN where a value is missing
    - Output: (batch, out_features)

    Examples
    --------
    One number with an edge at 0, and a category of two values.

    >>> import torch
    >>> from lacunet.density import MixedMixtureDensity
    >>> from lacunet.nn import ExpectedBins
    >>> layer = ExpectedBins([1], [2], 8, MixedMixtureDensity(3, 0, (2, 2)))
    >>> layer.set_bins([[0.0]], [[-1.0, 1.0]])
    >>> nan = torch.nan
    >>> layer(torch.tensor([[0.5, 1.0, 0.0], [nan, nan, nan]])).shape
    torch.Size([2, 8])
    """

    edges: Tensor
    centres: Tensor
    column: Tensor
    rank: Tensor
    places: Tensor
    starts: Tensor
    below: Tensor
    category: Tensor

    def __init__(
        self,
        n_edges: Sequence[int],
        sizes: Sequence[int],
        out_features: int,
        density: MixedMixtureDensity,
        *,
        activation: ActivationLike = "relu",
        prune: float = PRUNE,
        variance_gradient: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.n_edges = tuple(int(n) for n in n_edges)
        self.sizes = tuple(int(n) for n in sizes)
        bins = tuple(n + 1 for n in self.n_edges)
        _check_classes(density, (*bins, *self.sizes))
        self.density = density
        self.activation = ExpectedActivation(activation)
        self.prune = check_prune(prune)
        self.variance_gradient = variance_gradient
        self.out_features = check_positive_int(out_features, "out_features")
        self.in_features = len(bins) + sum(self.sizes)
        n_numeric, most = len(bins), max(bins, default=1)
        width = sum(bins) + sum(self.sizes)
        self.weight, self.value_weight, self.bias = (
            nn.Parameter(torch.empty(*more, out_features, device=device, dtype=dtype))
            for more in ((width,), (n_numeric,), ())
        )
        edges = torch.full((n_numeric, most), math.inf, dtype=dtype)
        self.register_buffer("edges", edges)
        self.register_buffer("centres", torch.zeros(n_numeric, most, dtype=dtype))
        # The table of weights has as many rows for each number, then the categories.
        counts = torch.tensor(bins, dtype=torch.long)
        column = torch.arange(n_numeric).repeat_interleave(counts)
        before = (counts.cumsum(0) - counts).repeat_interleave(counts)
        rank = torch.arange(len(column)) - before
        categories = torch.tensor(self.sizes, dtype=torch.long)
        firsts = n_numeric * most + categories.cumsum(0) - categories
        last = torch.arange(sum(self.sizes)) + n_numeric * most
        constants = {
            "column": column,  # of each bin of a number
            "rank": rank,  # of each bin among those of its number
            "places": torch.cat((column * most + rank, last)),  # in the table
            "starts": torch.cat((torch.arange(n_numeric) * most, firsts)),
            # Bin t has the steps 1 to t. Takes one-hot categories to their numbers.
            "below": torch.ones(most, most).tril().index_fill(1, torch.tensor(0), 0),
            "category": torch.block_diag(
                *(torch.arange(float(size))[:, None] for size in self.sizes)
            ),
        }
        for name, constant in constants.items():
            dtype = self.weight.dtype if constant.is_floating_point() else torch.long
            self.register_buffer(name, constant.to(dtype), persistent=False)
        for name, buffer in self.named_buffers(recurse=False):
            setattr(self, name, buffer.to(self.weight.device))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start as ``torch.nn.Linear`` does; all steps of a column make one weight."""
        n_columns = len(self.n_edges) + len(self.sizes)
        bound = 1 / math.sqrt(max(1, n_columns))
        for parameter in (self.value_weight, self.weight, self.bias):
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        counts = self.weight.new_tensor([n + 1 for n in self.n_edges])
        with torch.no_grad():
            self.weight[: len(self.column)] /= counts.sqrt()[self.column, None]

    def set_bins(
        self, edges: Sequence[Sequence[float]], centres: Sequence[Sequence[float]]
    ) -> None:
        """Set the edges of every number, as many as announced, and the bins' means.

        Parameters
        ----------
        edges : sequence of sequence of float
            Increasing, for each numeric column.
        centres : sequence of sequence of float
            One more than the edges: what a missing value is worth in each of the bins.
        """
        n_numeric = len(self.n_edges)
        if len(edges) != n_numeric or len(centres) != n_numeric:
            msg = (
                f"Got edges of {len(edges)} columns and centres of {len(centres)}, but "
                f"expected {n_numeric} of both."
            )
            raise ValueError(msg)
        for n, some, means in zip(self.n_edges, edges, centres, strict=True):
            if len(some) != n or len(means) != n + 1:
                msg = (
                    f"Got {len(some)} edges and {len(means)} centres of a column, but "
                    f"expected {n} and {n + 1}."
                )
                raise ValueError(msg)
            steps = torch.as_tensor(some, dtype=torch.float64).diff()
            if not bool((steps > 0).all()) or not all(map(math.isfinite, some)):
                msg = (
                    f"Got edges={list(some)!r} of a column, but expected finite "
                    f"numbers in increasing order."
                )
                raise ValueError(msg)
        for row, some in zip(self.edges, edges, strict=True):
            row[: len(some)] = torch.as_tensor(some, dtype=row.dtype)
        for row, means in zip(self.centres, centres, strict=True):
            row[: len(means)] = torch.as_tensor(means, dtype=row.dtype)

    def forward(
        self,
        x: Tensor,
        lower: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> Tensor:
        """Return the expected activation of each row.

        Parameters
        ----------
        x : Tensor of shape (batch, numeric columns + sum(sizes))
            NaN marks a missing value.
        lower, upper : Tensor of the same shape, optional
            Bounds of missing numbers, NaN or infinite where there is none. Bins that
            lie outside of them are ruled out; one that they cut counts as a whole.
        """
        with full_precision(check_rows(x, self.in_features), self.weight) as rows:
            if lower is not None or upper is not None:
                rows, *ends = place_bounds(rows, lower, upper)
                return self._expect(rows, *ends)
            if not branch_free():
                return self._expect(rows)
            known, beyond = self.bins(rows)
            return expected_map(
                known,
                self.density,
                Affine(self._table()[0].index_select(0, self.places).T, self.bias),
                self.activation,
                offset=beyond @ self.value_weight,
            )

    def _expect(
        self, x: Tensor, lower: Tensor | None = None, upper: Tensor | None = None
    ) -> Tensor:
        """Do the same without one-hot rows: observed bins are looked up in a table."""
        place, missing, beyond = self._locate(x)
        used = (*self.parameters(), self.centres)
        table, of_bins = remember(self, "table", used, self._table)
        # The last row of the table, of zeros, is for what is missing.
        base = functional.embedding_bag(place, table, mode="sum") + self.bias
        base = torch.addmm(base, beyond, self.value_weight)
        incomplete = missing.any(1)
        rows = incomplete.nonzero()[:, 0]
        if not len(rows):
            known: Tensor = self.activation.known(base)
            return touch(known, self.density)
        of_density = self.density.parameters()
        evidence, chances = remember(self, "classes", of_density, self._classes)
        means, variances = remember(
            self, "moments", used, lambda: self._moments(table, of_bins, chances)
        )
        seen = functional.embedding_bag(place[rows], evidence, mode="sum")
        log_weights = seen + self.density.components.log_weights
        if lower is not None and upper is not None:
            possible = self.possible_bins(lower[rows], upper[rows])
            more, moves, changes = self._restrict(
                possible, evidence, chances[0], of_bins, means, variances
            )
            log_weights = log_weights + more
        weights = self._class_weights(log_weights).to(base.dtype)
        gaps = missing[rows].to(base.dtype)
        base_of_rows = base if len(rows) == len(x) else base[rows]
        # Pairs of row and class that have a weight, class by class.
        number, row = weights.T.nonzero(as_tuple=True)
        counts = torch.bincount(number, minlength=weights.shape[1]).tolist()
        gaps_of_class = gaps.index_select(0, row).split(counts)
        mean = base_of_rows.index_select(0, row) + torch.cat(
            [g @ means[k] for k, g in enumerate(gaps_of_class)]
        )
        variance = torch.cat([g @ variances[k] for k, g in enumerate(gaps_of_class)])
        if lower is not None:
            mean = mean + moves[row, number]
            variance = (variance + changes[row, number]).clamp_min(0.0)
        expected = self.activation(mean, variance)
        weighted = weights[row, number, None] * expected
        out = torch.zeros_like(base_of_rows).index_add(0, row, weighted)
        if len(rows) == len(x):
            return out
        others = incomplete.logical_not().nonzero()[:, 0]
        whole = base.new_zeros(base.shape).index_copy(0, rows, out)
        return whole.index_copy(0, others, self.activation.known(base[others]))

    def possible_bins(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return the bins between bounds, bool of (batch, numeric columns, most bins).

        Bounds are (batch, numeric columns and more), infinite where there is none.
        """
        n_numeric = len(self.n_edges)
        low, high = (end[:, :n_numeric, None] for end in (lower, upper))
        starts = functional.pad(self.edges[:, :-1], (1, 0), value=-math.inf)
        return (starts < high) & (self.edges > low)

    def ruled_out(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return upper bounds of what ``bins`` returns: 0 for bins outside of bounds.

        Bounds are those of ``forward``.
        """
        possible = self.possible_bins(lower, upper)[:, self.column, self.rank]
        outside = torch.where(possible, math.inf, 0.0).to(lower.dtype)
        categories = outside.new_full((len(outside), sum(self.sizes)), math.inf)
        return torch.cat((outside, categories), 1)

    def _restrict(
        self,
        possible: Tensor,
        evidence: Tensor,
        chances: Tensor,
        of_bins: Tensor,
        means: Tensor,
        variances: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what bounds add to the log evidence, and to means and variances.

        Of rows and classes, and of these and the outputs.
        """
        shape, most = (len(possible), means.shape[0]), self.edges.shape[1]
        more = evidence.new_zeros(shape)
        moves, changes = (of_bins.new_zeros(*shape, self.out_features) for _ in "12")
        real = torch.isfinite(self.edges).sum(1) + 1  # bins of each column
        n_possible = possible.sum(2)
        for column in (n_possible < real).any(0).nonzero()[:, 0].tolist():
            rows = (n_possible[:, column] < real[column]).nonzero()[:, 0]
            logs = evidence[column * most : (column + 1) * most].T
            distinct, of_row = possible[rows, column].unique(dim=0, return_inverse=True)
            found, inside = restrict(distinct, logs, chances[column])
            weight = of_bins[column]  # (most bins, outputs)
            spread = weight if self.variance_gradient else weight.detach()
            move = inside @ weight - means[:, column]
            change = level_variances(inside, spread.T[None]) - variances[:, column]
            more = more.index_add(0, rows, found[of_row])
            moves = moves.index_add(0, rows, move[of_row])
            changes = changes.index_add(0, rows, change[of_row])
        return more, moves, changes

    def _classes(self) -> tuple[Tensor, list[Tensor]]:
        """Return what each place is evidence for, and the chances of each place.

        The evidence is (places + 1, classes), chances are (columns, classes, places):
        of numbers, then of categories.
        """
        components = self.density.components
        n_bins, n_places = len(self.column), self.edges.numel() + sum(self.sizes)
        evidence = components.level_evidence(self.density.gamma).T
        evidence = evidence.new_zeros(n_places + 1, evidence.shape[1]).index_copy(
            0, self.places, evidence
        )
        probabilities = components.probabilities  # (classes, bins and categories)
        padded = probabilities.new_zeros(len(probabilities), self.edges.numel())
        padded = padded.index_copy(1, self.places[:n_bins], probabilities[:, :n_bins])
        chances = [padded.view(len(probabilities), *self.edges.shape).transpose(0, 1)]
        if self.sizes:
            groups, real = padded_groups(self.sizes, padded.device)
            of_groups = probabilities[:, n_bins + groups] * real
            chances.append(of_groups.transpose(0, 1))
        return evidence, chances

    def _moments(
        self, table: Tensor, of_bins: Tensor, chances: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return mean and variance of a missing column's part given the class.

        Both are (classes, columns, outputs), of numbers, then of categories.
        """
        weights = [of_bins]  # (columns, places, outputs)
        if self.sizes:
            groups, _ = padded_groups(self.sizes, table.device)
            places = self.edges.numel() + groups.flatten()
            weights.append(table.index_select(0, places).view(*groups.shape, -1))
        means, variances = [], []
        for chance, weight in zip(chances, weights, strict=True):
            means.append(chance @ weight)
            spread = weight if self.variance_gradient else weight.detach()
            variances.append(level_variances(chance, spread.mT))
        mean, variance = (
            torch.cat(each).transpose(0, 1).contiguous() for each in (means, variances)
        )
        return mean, variance

    def _table(self) -> tuple[Tensor, Tensor]:
        """Return the weight of each bin and category, and zeros, (places + 1, outputs).

        Those of a number add up from edge to edge, and hold its value at the centre;
        once more as (numeric columns, most bins, outputs).
        """
        n_bins, shape = len(self.column), self.edges.shape
        steps = self.weight[:n_bins]
        if n_bins < shape.numel():
            steps = steps.new_zeros(shape.numel(), self.out_features).index_copy(
                0, self.places[:n_bins], steps
            )
        at_centres = self.centres[..., None] * self.value_weight[:, None]
        of_bins = torch.baddbmm(
            at_centres,
            self.below.expand(len(self.n_edges), -1, -1),
            steps.view(*shape, self.out_features),
        )
        zeros = steps.new_zeros(1, self.out_features)
        return torch.cat((of_bins.flatten(0, 1), self.weight[n_bins:], zeros)), of_bins

    def _class_weights(self, log_weights: Tensor) -> Tensor:
        """Return the weights of the classes of each row, 0 where they are left out."""
        weights = log_weights.softmax(1)
        if self.prune == 0.0 or weights.shape[1] == 1:
            return weights
        small = weights.detach() < self.prune
        small &= weights.detach() < weights.detach().amax(1, keepdim=True)
        kept = weights.masked_fill(small, 0.0)
        return kept / kept.sum(1, keepdim=True)

    def _locate(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the place of each column's bin or category, and what is missing.

        Places are rows of the table of weights, the last one for missing values:
        (batch, columns), as is the mask; and values beyond centres, as of ``bins``.
        """
        n_numeric = len(self.n_edges)
        numbers, others = x[:, :n_numeric], x[:, n_numeric:]
        check_no_infinity(without_nan(numbers))
        missing = torch.isnan(numbers)
        # Of each number the edges below it; NaN exceeds all of them.
        rank = torch.searchsorted(self.edges, numbers.T.contiguous()).T
        rank = rank.masked_fill(missing, 0)
        beyond = torch.where(missing, 0.0, numbers - self.centres.gather(1, rank.T).T)
        if self.sizes:
            check_levels(x, n_numeric, self.sizes)
            firsts = (self.starts - self.edges.numel())[n_numeric:]
            missing = torch.cat((missing, torch.isnan(others[:, firsts])), 1)
            category = (others.nan_to_num() @ self.category).round().long()
            rank = torch.cat((rank, category), 1)
        n_places = self.edges.numel() + others.shape[1]
        place = (rank + self.starts).masked_fill(missing, n_places)
        return place, missing, beyond

    def complete(self, known: Tensor, beyond: Tensor) -> Tensor:
        """Return the activation of rows of which nothing is missing, as of ``bins``."""
        weight = self._table()[0].index_select(0, self.places)
        mapped = torch.addmm(self.bias, known, weight)
        mapped = torch.addmm(mapped, beyond, self.value_weight)
        out: Tensor = self.activation.known(mapped)
        return out

    def bins(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the one-hot bins and categories of rows, and values beyond centres.

        Returns
        -------
        known : Tensor of shape (batch, sum of bins and sizes)
            NaN where a value is missing.
        beyond : Tensor of shape (batch, numeric columns)
            A value less the centre of its bin; 0 where it is missing.
        """
        n_numeric = len(self.n_edges)
        numbers, others = x[:, :n_numeric], x[:, n_numeric:]
        if not n_numeric:
            return x, numbers
        missing = torch.isnan(numbers)
        # NaN exceeds no edge: it has the first bin for now.
        rank = (numbers[..., None] > self.edges).sum(-1)  # (batch, numeric)
        one_hot = (rank[:, self.column] == self.rank).to(x.dtype)
        one_hot = one_hot.masked_fill(missing[:, self.column], math.nan)
        centre = self.centres.gather(1, rank.T).T
        beyond = torch.where(missing, 0.0, numbers - centre)
        return torch.cat((one_hot, others), 1), beyond

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"n_edges={self.n_edges}, sizes={self.sizes}, "
            f"out_features={self.out_features}"
        )


def _check_classes(density: object, sizes: tuple[int, ...]) -> None:
    """Refuse a density that is not one of latent classes over these bins."""
    if not isinstance(density, MixedMixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but expected a "
            f"MixedMixtureDensity over bins. Make one of a diagonal mixture with "
            f"lacunet.density.bin_gaussians; other covariances have no closed form."
        )
        raise TypeError(msg)
    if density.gaussian.n_features or density.sizes != sizes:
        msg = (
            f"Got a density over {density.gaussian.n_features} numbers and categories "
            f"of sizes {density.sizes}, but expected no numbers and sizes {sizes}: the "
            f"bins of every number, then the categories."
        )
        raise ValueError(msg)
