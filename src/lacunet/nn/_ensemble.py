"""Several networks behind one first layer, trained and asked in one go."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lacunet.nn._activation import ActivationLike, ExpectedActivation

# Standard deviation of the sigmoid of a standard normal variable.
_SIGMOID_DEVIATION = 0.208
# Networks with so many layers behind the first start with responses of equal size.
_DEEP = 4
_RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU)

# A source of random numbers for all rows, or several for so many rows each.
RowGenerator = torch.Generator | Sequence[tuple[torch.Generator, int]]


class LinearEnsemble(nn.Module):
    """A linear layer for each of several networks.

    Parameters
    ----------
    n_networks, in_features, out_features : int
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    dtype : torch.dtype, optional

    Shape
    -----
    - Input: (n_networks, batch, in_features)
    - Output: (n_networks, batch, out_features)

    Examples
    --------
    >>> import torch
    >>> LinearEnsemble(8, 3, 2)(torch.zeros(8, 5, 3)).shape
    torch.Size([8, 5, 2])
    """

    def __init__(
        self,
        n_networks: int,
        in_features: int,
        out_features: int,
        *,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        shape = (n_networks, in_features, out_features)
        self.weight = nn.Parameter(torch.empty(shape, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(n_networks, 1, out_features, dtype=dtype))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start the weights as ``torch.nn.Linear`` does, and the biases at zero."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -bound, bound, generator=generator)
        nn.init.zeros_(self.bias)

    @torch.no_grad()
    def start_behind_sigmoids(self) -> None:
        """Take inputs as centred and of unit variance, which those of sigmoids aren't.

        Without it each layer of sigmoids halves what its inputs differ by, and deep
        networks start with outputs that hardly depend on anything.
        """
        self.weight.mul_(math.sqrt(3.0) / _SIGMOID_DEVIATION)
        self.bias.sub_(0.5 * self.weight.sum(1, keepdim=True))

    @torch.no_grad()
    def start_behind_rectifiers(self) -> None:
        """Keep the mean square of the responses, as He and others (2015) start.

        Without it each layer of rectifiers leaves a sixth of it.
        """
        self.weight.mul_(math.sqrt(6.0))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each network's own weights to its own rows."""
        return torch.baddbmm(self.bias, x, self.weight)

    def extra_repr(self) -> str:  # noqa: D102
        n_networks, in_features, out_features = self.weight.shape
        return f"{n_networks}, {in_features}, {out_features}"


class NetworkEnsemble(nn.Module):
    """Several multi-layer networks that share the call of their first layer.

    Their first layers stand side by side as the outputs of one expected layer, so that
    the density is conditioned once for all of them. They share no other parameter.

    Parameters
    ----------
    first : nn.Module
        From (batch, features) to (batch, n_networks * hidden_sizes[0]); the expected
        layer, with its activation. If it has n_networks * out_features more, these add
        to the outputs: a linear skip.
    n_networks : int
    hidden_sizes : sequence of int
        Widths of one network's hidden layers, that of the first layer included.
    out_features : int
    activation : str, torch.nn.Module or callable, default="relu"
        Of the hidden layers behind the first.
    out_activation : str, torch.nn.Module or callable, default="identity"
        Of the outputs.
    dropout : float, default=0.0
        Fraction of hidden units that are dropped in training, in front of each layer
        behind the first.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    dtype : torch.dtype, optional
        Of the layers behind the first.

    Shape
    -----
    - Input: (batch, features), NaN where a value is missing
    - Output: (n_networks, batch, out_features)

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> from lacunet.nn import ExpectedLinear
    >>> first = ExpectedLinear(3, 4 * 16, GaussianMixtureDensity(2, 3))
    >>> networks = NetworkEnsemble(first, 4, (16, 8), 1)
    >>> networks(torch.tensor([[1.0, torch.nan, 2.0]])).shape
    torch.Size([4, 1, 1])
    """

    def __init__(
        self,
        first: nn.Module,
        n_networks: int,
        hidden_sizes: Sequence[int],
        out_features: int,
        *,
        activation: ActivationLike = "relu",
        out_activation: ActivationLike = "identity",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.first = first
        self.n_networks = n_networks
        self.dropout = dropout
        self.activation = ExpectedActivation(activation).known
        self.out_activation = ExpectedActivation(out_activation).known
        sizes = (*hidden_sizes, out_features)
        self.hidden_sizes = tuple(hidden_sizes)
        self.layers = nn.ModuleList(
            LinearEnsemble(n_networks, before, after, generator=generator, dtype=dtype)
            for before, after in zip(sizes[:-1], sizes[1:], strict=True)
        )
        for layer in self.layers[1:]:
            assert isinstance(layer, LinearEnsemble)
            if isinstance(self.activation, nn.Sigmoid):
                layer.start_behind_sigmoids()
            elif isinstance(self.activation, _RECTIFIERS) and len(self.layers) >= _DEEP:
                layer.start_behind_rectifiers()

    def forward(self, x: Tensor, generator: RowGenerator | None = None) -> Tensor:
        """Return the outputs of every network.

        ``generator`` is the source of what is dropped in training, on the CPU; or there
        are several, each with the number of consecutive rows that it is for.
        """
        return self.behind(self.first(x), generator)

    def behind(
        self, side_by_side: Tensor, generator: RowGenerator | None = None
    ) -> Tensor:
        """Return the outputs of every network for responses of the first layer."""
        response, skip = self._split(side_by_side)
        for layer in self.layers[:-1]:
            response = self.activation(layer(self._drop(response, generator)))
        out: Tensor = self.layers[-1](self._drop(response, generator))
        return self.out_activation(out if skip is None else out + skip)

    def hidden(
        self, x: Tensor, depth: int, generator: RowGenerator | None = None
    ) -> Tensor:
        """Return the responses of the layer ``depth`` behind the first.

        Returns
        -------
        Tensor of shape (n_networks, batch, hidden_sizes[depth])
        """
        response, _ = self._split(self.first(x))
        for layer in self.layers[:depth]:
            response = self.activation(layer(self._drop(response, generator)))
        return response

    def _split(self, side_by_side: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the first responses of each network, and what it skips to its end."""
        n_units = self.n_networks * self.hidden_sizes[0]

        def by_network(columns: Tensor) -> Tensor:
            n_each = columns.shape[1] // self.n_networks
            return columns.view(-1, self.n_networks, n_each).transpose(0, 1)

        skip = side_by_side[:, n_units:]
        response = by_network(side_by_side[:, :n_units])
        return response, by_network(skip) if skip.shape[1] else None

    def _drop(self, response: Tensor, generator: RowGenerator | None) -> Tensor:
        if not self.training or self.dropout == 0.0:
            return response
        # The same units of all networks, whose units have nothing in common.
        shape, dtype = response.shape[1:], response.dtype
        if generator is None or isinstance(generator, torch.Generator):
            drawn = torch.rand(shape, generator=generator, dtype=dtype)
        else:
            parts = [
                torch.rand((n_rows, *shape[1:]), generator=source, dtype=dtype)
                for source, n_rows in generator
            ]
            drawn = torch.cat(parts)
        scale = (drawn >= self.dropout).to(response) / (1.0 - self.dropout)
        return response * scale

    def extra_repr(self) -> str:  # noqa: D102
        return f"n_networks={self.n_networks}, dropout={self.dropout}"
