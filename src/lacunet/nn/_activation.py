"""Activations that know their own expectation."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet import functional as expected

Expectation = Callable[[Tensor, Tensor], Tensor]

# What a name means: the function of known values. Functions, not modules, where torch
# has no module.
_NAMES: dict[str, Callable[[], Callable[[Tensor], Tensor]]] = {
    "cos": lambda: torch.cos,
    "elu": nn.ELU,
    "erf": lambda: torch.erf,
    "gelu": nn.GELU,
    "hardtanh": nn.Hardtanh,
    "identity": nn.Identity,
    "leaky_relu": nn.LeakyReLU,
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "selu": nn.SELU,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "sin": lambda: torch.sin,
    "softplus": nn.Softplus,
    "tanh": nn.Tanh,
}

# A module's expectation, with the module's own settings.
_MODULES: dict[type[nn.Module], Callable[[Any], Expectation]] = {
    nn.ELU: lambda module: partial(expected.expected_elu, alpha=module.alpha),
    nn.GELU: lambda module: (
        expected.expected_gelu
        if module.approximate == "none"
        else partial(expected.expected_function, module)
    ),
    nn.Hardtanh: lambda module: partial(
        expected.expected_hardtanh, min_val=module.min_val, max_val=module.max_val
    ),
    nn.Identity: lambda module: expected.expected_identity,
    nn.LeakyReLU: lambda module: partial(
        expected.expected_leaky_relu, negative_slope=module.negative_slope
    ),
    nn.ReLU: lambda module: expected.expected_relu,
    nn.ReLU6: lambda module: expected.expected_relu6,
    nn.SELU: lambda module: expected.expected_selu,
    nn.Sigmoid: lambda module: expected.expected_sigmoid,
    nn.SiLU: lambda module: expected.expected_silu,
    nn.Softplus: lambda module: (
        partial(expected.expected_softplus, beta=module.beta)
        if module.threshold >= 15  # above it torch takes the line itself
        else partial(expected.expected_function, module)
    ),
    nn.Tanh: lambda module: expected.expected_tanh,
}

# Acting element by element: what a traced call stands for, as a module that takes the
# call's remaining arguments.
ELEMENTWISE_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    functional.celu: nn.CELU,
    functional.elu: nn.ELU,
    functional.gelu: nn.GELU,
    functional.hardsigmoid: nn.Hardsigmoid,
    functional.hardswish: nn.Hardswish,
    functional.hardtanh: nn.Hardtanh,
    functional.leaky_relu: nn.LeakyReLU,
    functional.logsigmoid: nn.LogSigmoid,
    functional.mish: nn.Mish,
    functional.relu: nn.ReLU,
    functional.relu6: nn.ReLU6,
    functional.selu: nn.SELU,
    functional.sigmoid: nn.Sigmoid,
    functional.silu: nn.SiLU,
    functional.softplus: nn.Softplus,
    functional.softsign: nn.Softsign,
    functional.tanh: nn.Tanh,
    torch.cos: lambda: torch.cos,
    torch.erf: lambda: torch.erf,
    torch.relu: nn.ReLU,
    torch.selu: nn.SELU,
    torch.sigmoid: nn.Sigmoid,
    torch.sin: lambda: torch.sin,
    torch.tanh: nn.Tanh,
}
ELEMENTWISE_METHODS: dict[str, Callable[..., Any]] = {
    "cos": lambda: torch.cos,
    "erf": lambda: torch.erf,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    "sin": lambda: torch.sin,
    "tanh": nn.Tanh,
}
ELEMENTWISE_MODULES = (
    *_MODULES,
    nn.CELU,
    nn.Hardshrink,
    nn.Hardsigmoid,
    nn.Hardswish,
    nn.LogSigmoid,
    nn.Mish,
    nn.PReLU,
    nn.Softshrink,
    nn.Softsign,
    nn.Tanhshrink,
    nn.Threshold,
)

ActivationLike = str | nn.Module | Callable[[Tensor], Tensor]


class PartlyLinear(nn.Module):
    """An activation of all units but the last ``n_linear``, which have none.

    In front of a network these are a linear skip: their expectation is their mean.
    """

    def __init__(self, activation: ActivationLike, n_linear: int) -> None:
        super().__init__()
        self.activation = ExpectedActivation(activation)
        self.n_linear = n_linear

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of known values."""
        units, linear = x[..., : -self.n_linear], x[..., -self.n_linear :]
        return torch.cat((self.activation.known(units), linear), -1)

    def expectation(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Return the expected activation of Normal(mean, variance)."""
        n = self.n_linear
        units = self.activation(mean[..., :-n], variance[..., :-n])
        return torch.cat((units, mean[..., -n:]), -1)


class ExpectedActivation(nn.Module):
    """An activation that takes known values or the moments of unknown ones.

    Parameters
    ----------
    activation : str, torch.nn.Module or callable
        A name ("relu", "gelu", "tanh", ...), an activation module with its settings, or
        any function that acts element by element. What has no closed form is
        integrated by Gauss-Hermite quadrature.

    Shape
    -----
    - ``forward``: mean and variance (batch, *) to (batch, *)
    - ``known``: (batch, *) to (batch, *)

    Examples
    --------
    >>> activation = ExpectedActivation("relu")
    >>> activation(torch.zeros(1), torch.ones(1))
    tensor([0.3989])
    >>> activation.known(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def __init__(self, activation: ActivationLike) -> None:
        super().__init__()
        self.known = _known_values(activation)

    def forward(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Return the expected activation of Normal(mean, variance)."""
        if isinstance(self.known, nn.PReLU):
            slope: Tensor = self.known.weight
            if len(slope) > 1:
                # A slope a channel: the second axis, as in torch.
                slope = slope.view(-1, *(1,) * (mean.ndim - 2))
            return expected.expected_leaky_relu(mean, variance, negative_slope=slope)
        return expectation_of(self.known)(mean, variance)

    def second_moment(self, mean: Tensor, variance: Tensor) -> Tensor:
        """Return the expected square of the activation of Normal(mean, variance)."""
        kind = _torch_class(self.known)
        if kind is nn.ReLU:
            return expected.expected_relu_squared(mean, variance)
        if kind is nn.LeakyReLU:
            slope = self.known.negative_slope  # type: ignore[attr-defined]
            return expected.expected_leaky_relu_squared(
                mean, variance, negative_slope=slope
            )
        if kind is nn.Identity:
            return expected.expected_identity_squared(mean, variance)
        return expected.expected_function(
            lambda z: self.known(z).square(), mean, variance
        )

    def check_any_axis(self) -> None:
        """Refuse what belongs to the second axis where the units are not on it."""
        if isinstance(self.known, nn.PReLU) and len(self.known.weight) > 1:
            msg = (
                f"Got an activation with {len(self.known.weight)} slopes, which torch "
                f"lays on the second axis, but expected one slope, or input of shape "
                f"(batch, features)."
            )
            raise ValueError(msg)

    def extra_repr(self) -> str:  # noqa: D102
        is_module = isinstance(self.known, nn.Module)
        return "" if is_module else getattr(self.known, "__name__", repr(self.known))


def _known_values(activation: ActivationLike) -> Callable[[Tensor], Tensor]:
    if isinstance(activation, ExpectedActivation):
        return activation.known
    if isinstance(activation, str):
        if activation not in _NAMES:
            msg = (
                f"Got activation={activation!r}, but expected one of "
                f"{', '.join(sorted(_NAMES))}, an activation module, or a function "
                f"that acts element by element."
            )
            raise ValueError(msg)
        return _NAMES[activation]()
    if not callable(activation):
        msg = (
            f"Got activation of type {type(activation).__name__}, but expected a name, "
            f"a module or a function."
        )
        raise TypeError(msg)
    if isinstance(activation, nn.Module):
        _check_elementwise(activation)
        return activation
    module = ELEMENTWISE_FUNCTIONS.get(activation)
    return activation if module is None else module()


def _check_elementwise(module: nn.Module) -> None:
    """Refuse modules of torch's that mix elements or draw at random."""
    ours_to_judge = type(module).__module__.startswith("torch.nn")
    if ours_to_judge and not isinstance(module, ELEMENTWISE_MODULES):
        msg = (
            f"Got activation {type(module).__name__}, but expected one that acts "
            f"element by element: another has no expectation of one number."
        )
        raise ValueError(msg)


def expectation_of(known: Callable[[Tensor], Tensor]) -> Expectation:
    """Return the expectation of a function of known values."""
    if isinstance(known, PartlyLinear):
        return known.expectation
    kind = _torch_class(known)
    if kind is not None:
        return _MODULES[kind](known)
    exact: dict[Any, Expectation] = {
        torch.erf: expected.expected_erf,
        torch.sin: expected.expected_sin,
        torch.cos: expected.expected_cos,
    }
    return exact.get(known, partial(expected.expected_function, known))


def _torch_class(known: object) -> type[nn.Module] | None:
    """Return the class of torch's whose forward this is: its own, or inherited.

    Torch wraps the modules that it exports in subclasses, some of them.
    """
    for kind in type(known).__mro__:
        if kind in _MODULES:
            same = getattr(type(known), "forward", None) is kind.forward
            return kind if same else None
    return None
