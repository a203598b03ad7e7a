"""The module of an estimator: networks over one or more views of the encoded table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from lacunet.density import (
    GaussianMixtureDensity,
    MixedMixtureDensity,
    MixtureDensity,
)
from lacunet.functional import MixedComponents
from lacunet.nn import ExpectedLinear, ExpectedRBF
from lacunet.nn._activation import ActivationLike
from lacunet.nn._ensemble import LinearEnsemble, NetworkEnsemble
from lacunet.nn._levels import Levels

# Of all that is learned, whatever torch's default is at the moment.
DTYPE = torch.float32
# Of the rows that networks take at once, where nothing is learned from them.
NUMBERS_AT_ONCE = 2**20


@dataclass(frozen=True)
class BranchShape:
    """What must be known of a branch to make room for it.

    Attributes
    ----------
    n_networks : int
    n_components : int
        Of the density.
    n_numeric : int
        Numeric columns of the density.
    sizes : tuple of int
        Levels of each category of the density.
    covariance_type : {"diag", "factor", "full"}
    rank : int or None
    n_edges : tuple of int or None
        If numbers are seen as levels: number of edges between the levels of each.
    """

    n_networks: int
    n_components: int
    n_numeric: int
    sizes: tuple[int, ...]
    covariance_type: Literal["diag", "factor", "full"] = "diag"
    rank: int | None = None
    n_edges: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls,
        density: MixtureDensity,
        n_networks: int = 0,
        view: nn.Module | None = None,
    ) -> Self:
        """Describe a branch with this density and view."""
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
            tuple(n - 1 for n in view.sizes) if isinstance(view, Levels) else None,
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
        """Return the number of columns that the density sees."""
        return self.n_numeric + sum(self.sizes)

    def fewest_numbers(self, sizes: Sequence[int]) -> int:
        """Return how many numbers it takes at least, with layers of these sizes."""
        ranks = {"diag": 0, "factor": self.rank or 0, "full": self.n_numeric}
        gaussian = self.n_numeric * (1 + ranks[self.covariance_type])
        pairs = zip((self.width, *sizes), sizes, strict=False)
        of_network = sum(before * after for before, after in pairs)
        edges = len(self.n_edges or ()) * max(self.n_edges or (0,))
        of_density = self.n_components * (gaussian + sum(self.sizes))
        return of_density + self.n_networks * of_network + edges

    def numbers_a_row(self, widest: int) -> int:
        """Return how many numbers a row becomes, about, in layers of this width."""
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

    def build_view(self) -> nn.Module:
        """Make the view, whose edges are to be loaded."""
        return (
            nn.Identity() if self.n_edges is None else Levels(self.n_edges, dtype=DTYPE)
        )


@dataclass(frozen=True)
class BodyShape:
    """What is the same in all networks of an estimator.

    Attributes
    ----------
    hidden_sizes : tuple of int
    out_features : int
    activation : str, torch.nn.Module or callable
        Of the first layer.
    later_activation : str, torch.nn.Module or callable
        Of the hidden layers behind it.
    out_activation : str, torch.nn.Module or callable
    dropout : float
    normalise : bool or None
        Of radial units in the first layer; None for an expected linear layer.
    """

    hidden_sizes: tuple[int, ...]
    out_features: int
    activation: ActivationLike = "gelu"
    later_activation: ActivationLike = "gelu"
    out_activation: ActivationLike = "identity"
    dropout: float = 0.0
    normalise: bool | None = None

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a shape of its fields."""
        sizes = tuple(int(size) for size in state["hidden_sizes"])
        return cls(**{**state, "hidden_sizes": sizes})

    def build(
        self, density: MixtureDensity, n_networks: int, generator: torch.Generator
    ) -> NetworkEnsemble:
        """Make the networks, over a density."""
        width = density.n_features
        first: nn.Module
        if self.normalise is None:
            first = ExpectedLinear(
                width,
                n_networks * self.hidden_sizes[0],
                density,
                activation=self.activation,
                generator=generator,
                dtype=DTYPE,
            )
        else:
            first = ExpectedRBF(
                width,
                n_networks * self.hidden_sizes[0],
                density,
                normalise=self.normalise,
                generator=generator,
                dtype=DTYPE,
            )
        return NetworkEnsemble(
            first,
            n_networks,
            self.hidden_sizes,
            self.out_features,
            activation=self.later_activation,
            out_activation=self.out_activation,
            dropout=self.dropout,
            generator=generator,
            dtype=DTYPE,
        )


class Branch(nn.Module):
    """Networks over one view of the table, with the density of that view.

    Parameters
    ----------
    view : nn.Module
        From the encoded table to what the density is over.
    networks : NetworkEnsemble
    """

    def __init__(self, view: nn.Module, networks: NetworkEnsemble) -> None:
        super().__init__()
        self.view = view
        self.networks = networks

    @property
    def density(self) -> MixtureDensity:
        """Return the density of the view."""
        density = self.networks.first.density
        assert isinstance(density, MixtureDensity)
        return density

    @property
    def shape(self) -> BranchShape:
        """Return what must be known to make room for this branch."""
        return BranchShape.of(self.density, self.networks.n_networks, self.view)

    @property
    def numbers_a_row(self) -> int:
        """Return how many numbers a row becomes on its way, about."""
        return self.shape.numbers_a_row(max(self.networks.hidden_sizes))

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the outputs of every network, (networks, batch, out)."""
        out: Tensor = self.networks(self.view(x), generator)
        return out

    def complete(self, x: Tensor, n: int) -> Tensor:
        """Draw what is missing, (n, batch, width of the view)."""
        return self.density.condition(self.view(x)).quasi_sample(n)


class Branches(nn.Module):
    """The networks of all views.

    Parameters
    ----------
    branches : sequence of Branch

    Attributes
    ----------
    shares : Tensor of shape (branches,)
        Weight of each view in the mean prediction; they sum to one.

    Shape
    -----
    - Input: (batch, width), the encoded table
    - Output: (networks, batch, out)
    """

    shares: Tensor

    def __init__(self, branches: Sequence[Branch]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        even = torch.full((len(branches),), 1.0 / len(branches), dtype=torch.float32)
        self.register_buffer("shares", even)

    @classmethod
    def from_shapes(cls, shapes: Sequence[BranchShape], body: BodyShape) -> Self:
        """Make room for branches, whose values are to be loaded."""
        generator = torch.Generator()
        return cls(
            [
                Branch(
                    shape.build_view(),
                    body.build(shape.build_density(), shape.n_networks, generator),
                )
                for shape in shapes
            ]
        )

    def __iter__(self) -> Iterator[Branch]:
        """Go through the branches."""
        for branch in self.branches:
            assert isinstance(branch, Branch)
            yield branch

    @property
    def network_shares(self) -> Tensor:
        """Weight of each network in the mean prediction, (networks,)."""
        counts = [branch.networks.n_networks for branch in self]
        repeats = torch.tensor(counts, device=self.shares.device)
        return (self.shares / repeats).repeat_interleave(repeats)

    @property
    def out_features(self) -> int:
        """Number of outputs of each network."""
        last = next(iter(self)).networks.layers[-1]
        assert isinstance(last, LinearEnsemble)
        return last.weight.shape[-1]

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of every network of every view."""
        return torch.cat([branch(x) for branch in self])

    def forward_draws(self, x: Tensor, n: int) -> Tensor:
        """Return the outputs for ``n`` completions of each row.

        Returns
        -------
        Tensor of shape (networks, n, batch, out)
        """
        outputs = []
        for branch in self:
            draws = branch.complete(x, n)
            out = branch.networks(draws.flatten(0, 1))  # (networks, n * batch, out)
            outputs.append(out.unflatten(1, (n, len(x))))
        return torch.cat(outputs)


def density_of(
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
