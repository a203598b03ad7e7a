"""Make a model take missing values: its first layer becomes an expected one."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from lacunet.density import MixtureDensity
from lacunet.exceptions import AdaptError
from lacunet.nn._activation import (
    ELEMENTWISE_FUNCTIONS,
    ELEMENTWISE_METHODS,
    ELEMENTWISE_MODULES,
)
from lacunet.nn._conv import ExpectedConv1d, ExpectedConv2d
from lacunet.nn._expected import check_density, check_gaussian_density
from lacunet.nn._linear import ExpectedLinear

Model = TypeVar("Model", bound=nn.Module)
Counterpart = ExpectedLinear | ExpectedConv1d | ExpectedConv2d

_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
# These pass values on as they are, missing ones too.
_SHAPE_MODULES = (nn.Identity, nn.Flatten, nn.Unflatten)
_SHAPE_FUNCTIONS: tuple[Any, ...] = (torch.flatten, torch.reshape, torch.squeeze)
_SHAPE_METHODS = ("flatten", "reshape", "view", "squeeze", "unsqueeze", "contiguous")
_BETWEEN = (
    nn.modules.batchnorm._NormBase,
    nn.LayerNorm,
    nn.GroupNorm,
    nn.LocalResponseNorm,
    nn.modules.dropout._DropoutNd,
)
_BETWEEN_FUNCTIONS: tuple[Any, ...] = (
    functional.batch_norm,
    functional.layer_norm,
    functional.group_norm,
    functional.instance_norm,
    functional.dropout,
)


def adapt(model: nn.Module, density: MixtureDensity) -> nn.Module:
    """Return a copy of a model that takes batches with missing values.

    The first ``Linear``, ``Conv1d`` or ``Conv2d`` and the activation after it become
    their expected counterpart, with the same weights; all else stays. On complete
    batches the copy gives what the model gives.

    Parameters
    ----------
    model : torch.nn.Module
        A ``Sequential`` (nested ones too), or any model that ``torch.fx`` can trace.
    density : GaussianMixtureDensity or MixedMixtureDensity
        Over the features of the input, flattened if it is a signal or an image. It is
        not copied: the copy trains it.

    Returns
    -------
    torch.nn.Module
        Of the model's own class where the layer and its activation are modules used
        once, else a ``torch.fx.GraphModule``.

    Raises
    ------
    AdaptError
        If it is not clear which layer comes first, if a norm or dropout stands between
        the layer and its activation, or if what follows has no expectation.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import lacunet
    >>> from lacunet.density import GaussianMixtureDensity
    >>> model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    >>> adapted = lacunet.adapt(model, GaussianMixtureDensity(2, 3))
    >>> adapted(torch.tensor([[1.0, torch.nan, 2.0]])).shape
    torch.Size([1, 1])
    """
    if not isinstance(model, nn.Module):
        msg = (
            f"Got model of type {type(model).__name__}, but expected a torch.nn.Module."
        )
        raise TypeError(msg)
    check_density(density, None)
    try:
        adapted = copy.deepcopy(model)
    except RuntimeError as error:  # torch's, for weights made by a hook
        msg = f"Got a model that can't be copied ({error}), but expected one that can."
        raise AdaptError(msg) from error
    if isinstance(adapted, _LAYERS):
        return _counterpart(adapted, density, "identity")
    if type(adapted) is nn.Sequential:
        return _adapt_sequential(adapted, density)
    return _adapt_traced(adapted, density)


class _Place(NamedTuple):
    """A module and where it hangs."""

    parent: nn.Module
    name: str
    module: nn.Module


def _adapt_sequential(model: nn.Sequential, density: MixtureDensity) -> nn.Module:
    places = list(_walk(model))
    first = _next_place(places)
    if first is None:
        raise AdaptError(_no_first_layer(None))
    if not isinstance(first.module, _LAYERS):
        if not _is_leaf(first.module):
            return _adapt_traced(model, density)
        raise AdaptError(_no_first_layer(first.module))
    after = _next_place(places[places.index(first) + 1 :])
    if after is not None and (not _is_leaf(after.module) or places.count(after) > 1):
        return _adapt_traced(model, density)
    activation = None if after is None else _activation_module(after.module)
    _check_uses(model, first.module, [place.module for place in places])
    _check_axis(activation, places, first, after)
    counterpart = _counterpart(first.module, density, activation or "identity")
    _replace_everywhere(model, first.module, counterpart)
    if after is not None and activation is not None:
        setattr(after.parent, after.name, nn.Identity())
    return model


def _next_place(places: list[_Place]) -> _Place | None:
    """Return the first place that does more than change the shape."""
    others = (p for p in places if not isinstance(p.module, _SHAPE_MODULES))
    return next(others, None)


def _check_axis(
    activation: nn.Module | None,
    places: list[_Place],
    first: _Place,
    after: _Place | None,
) -> None:
    """Refuse slopes by channel behind a change of shape: their axis is another one."""
    if after is None or not _has_channels(activation):
        return
    if places.index(after) != places.index(first) + 1:
        raise AdaptError(_CHANNELS_MOVED)


def _has_channels(activation: object) -> bool:
    return isinstance(activation, nn.PReLU) and activation.num_parameters > 1


def _replace_everywhere(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Put a module in the place of another, under every name that has it."""
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child is old:
                setattr(parent, name, new)


def _walk(module: nn.Sequential) -> Iterator[_Place]:
    """Yield the modules of nested Sequentials in the order they are called."""
    # Not named_children, which leaves out a module that is called a second time.
    for name, child in module._modules.items():
        if child is None:
            continue
        if type(child) is nn.Sequential:
            yield from _walk(child)
        else:
            yield _Place(module, name, child)


def _is_leaf(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torch.nn")


def _activation_module(module: nn.Module) -> nn.Module | None:
    """Return the activation to absorb, None for a map that takes means as they are."""
    if isinstance(module, ELEMENTWISE_MODULES):
        return module
    if isinstance(module, _LAYERS):
        return None  # linear: the mean is all it needs
    raise AdaptError(_bad_follower(type(module).__name__, isinstance(module, _BETWEEN)))


def _adapt_traced(model: nn.Module, density: MixtureDensity) -> nn.Module:
    traced = _trace(model)
    layer = _first_layer_node(traced)
    follower, moved = _follower(layer, traced)
    module = traced.get_submodule(str(layer.target))
    _check_uses(model, module, _called(traced))
    activation = None if follower is None else _activation_of(follower, traced)
    if moved and _has_channels(activation):
        raise AdaptError(_CHANNELS_MOVED)
    counterpart = _counterpart(module, density, activation or "identity")
    if follower is None or activation is None:
        _replace_everywhere(model, module, counterpart)
        return model
    if follower.op == "call_module":
        absorbed = traced.get_submodule(str(follower.target))
        if sum(called is absorbed for called in _called(traced)) == 1:
            # In this order: the counterpart holds the activation that is taken out.
            _replace_everywhere(model, absorbed, nn.Identity())
            _replace_everywhere(model, module, counterpart)
            return model
    _check_fixed_graph(model, traced)
    _replace_everywhere(traced, module, counterpart)
    follower.replace_all_uses_with(follower.all_input_nodes[0])
    traced.graph.erase_node(follower)
    traced.recompile()
    return traced


def _trace(model: nn.Module) -> fx.GraphModule:
    try:
        return fx.symbolic_trace(model)
    except (fx.proxy.TraceError, TypeError, AttributeError, RuntimeError) as error:
        msg = (
            f"Cannot find the first layer of {type(model).__name__}: torch.fx "
            f"could not trace it ({error}). Put ExpectedLinear or ExpectedConv2d in "
            f"its place by hand: their from_linear and from_conv take the weights over."
        )
        raise AdaptError(msg) from error


def _check_fixed_graph(model: nn.Module, traced: fx.GraphModule) -> None:
    """Refuse to freeze what is decided anew in every call.

    The graph replaces the model's own forward, and with it ``if self.training``, the
    ``training=self.training`` of a dropout, and tensors made on the way.
    """
    training = model.training
    other = _trace(model.train(not training))
    model.train(training)
    own = any(str(n.target).startswith("_tensor_constant") for n in traced.graph.nodes)
    if own or other.code != traced.code:
        what = "makes tensors of its own" if own else "differs in train and eval mode"
        msg = (
            f"Got a {type(model).__name__} whose forward {what}, but expected one that "
            f"can be traced once, as its activation is a call in forward. Make the "
            f"activation a module of the model (such as nn.ReLU), and dropout too."
        )
        raise AdaptError(msg)


def _called(traced: fx.GraphModule) -> list[nn.Module]:
    """Return the modules of a graph in the order they are called, with repeats."""
    calls = (node for node in traced.graph.nodes if node.op == "call_module")
    return [traced.get_submodule(str(node.target)) for node in calls]


def _first_layer_node(traced: fx.GraphModule) -> fx.Node:
    inputs = [n for n in traced.graph.nodes if n.op == "placeholder" and n.users]
    if len(inputs) != 1:
        names = ", ".join(node.name for node in inputs) or "none"
        msg = (
            f"Got a model that uses the inputs {names}, but expected one input: it "
            f"is unclear which holds the missing values."
        )
        raise AdaptError(msg)
    node: fx.Node = inputs[0]
    while True:
        users = _value_users(node)
        if len(users) != 1:
            names = ", ".join(sorted(user.name for user in users))
            msg = (
                f"Cannot find the first layer: {node.name} goes to several "
                f"places ({names}), but expected one layer to meet the missing values."
            )
            raise AdaptError(msg)
        (node,) = users
        if _calls(node, traced, _LAYERS):
            return node
        if not _is_shape(node, traced):
            raise AdaptError(_no_first_layer(node.name))


def _value_users(node: fx.Node) -> list[fx.Node]:
    """Return the users of a node's values, not those that only ask for its size."""
    return [
        user
        for user in node.users
        if not (user.op == "call_method" and user.target in ("size", "dim"))
        and not (user.op == "call_function" and user.target is getattr)
    ]


def _follower(layer: fx.Node, traced: fx.GraphModule) -> tuple[fx.Node | None, bool]:
    """Return what follows the layer, and whether behind a change of shape."""
    node, moved = layer, False
    while True:
        users = _value_users(node)
        if len(users) > 1:
            names = ", ".join(sorted(user.name for user in users))
            msg = (
                f"Cannot determine the activation of {layer.name}: its output goes to "
                f"several places ({names}), but expected one activation."
            )
            raise AdaptError(msg)
        if not users or users[0].op == "output":
            return None, moved
        node = users[0]
        if not _is_shape(node, traced):
            return node, moved
        moved = True


def _activation_of(
    node: fx.Node, traced: fx.GraphModule
) -> nn.Module | Callable[[Tensor], Tensor] | None:
    if node.op == "call_module":
        return _activation_module(traced.get_submodule(str(node.target)))
    known: Any = None
    if node.op == "call_function":
        known = ELEMENTWISE_FUNCTIONS.get(node.target)
    elif node.op == "call_method":
        known = ELEMENTWISE_METHODS.get(str(node.target))
    if known is None:
        between = node.target in _BETWEEN_FUNCTIONS
        raise AdaptError(_bad_follower(node.name, between))
    arguments = [a for a in node.args[1:] if a is not None]
    options = {k: v for k, v in node.kwargs.items() if k not in ("inplace", "input")}
    activation: nn.Module = known(*arguments, **options)
    return activation


def _calls(node: fx.Node, traced: fx.GraphModule, kinds: Any) -> bool:
    return node.op == "call_module" and isinstance(
        traced.get_submodule(str(node.target)), kinds
    )


def _is_shape(node: fx.Node, traced: fx.GraphModule) -> bool:
    return (
        _calls(node, traced, _SHAPE_MODULES)
        or (node.op == "call_function" and node.target in _SHAPE_FUNCTIONS)
        or (node.op == "call_method" and node.target in _SHAPE_METHODS)
    )


def _counterpart(
    module: nn.Module, density: MixtureDensity, activation: Any
) -> Counterpart:
    try:
        if isinstance(module, nn.Linear):
            return ExpectedLinear.from_linear(module, density, activation)
        of_images = check_gaussian_density(density)
        if isinstance(module, nn.Conv1d):
            return ExpectedConv1d.from_conv(module, of_images, activation)
        assert isinstance(module, nn.Conv2d)
        return ExpectedConv2d.from_conv(module, of_images, activation)
    except ValueError as error:
        raise AdaptError(str(error)) from error


def _check_uses(model: nn.Module, layer: nn.Module, called: list[nn.Module]) -> None:
    """Refuse a layer whose weights, or which itself, are used elsewhere too."""
    uses = sum(module is layer for module in called)
    mine = {id(parameter) for parameter in layer.parameters()}
    own = set(layer.modules())
    tied = any(
        id(parameter) in mine
        for module in model.modules()
        if module not in own
        for parameter in module._parameters.values()
    )
    if uses != 1 or tied:
        how = "whose weights are tied to another's" if tied else f"used {uses} times"
        msg = (
            f"Got a first {type(layer).__name__} {how}, but expected one with weights "
            f"of its own that is used once: its counterpart would part them."
        )
        raise AdaptError(msg)


_CHANNELS_MOVED = (
    "Got an activation with a slope for each channel behind a change of shape, but "
    "expected it behind the first layer at once: there the channels have another axis."
)


def _no_first_layer(found: object) -> str:
    what = "nothing" if found is None else found
    name = type(what).__name__ if isinstance(what, nn.Module) else what
    return (
        f"Got {name} as the first thing that meets the input, but expected a Linear, "
        f"Conv1d or Conv2d. Norms and embeddings can't take missing values: move them "
        f"behind the first layer."
    )


def _bad_follower(name: str, between: bool) -> str:
    if between:
        return (
            f"Got {name} between the first layer and its activation, but expected the "
            f"activation at once: the expectation is over both together. Move {name} "
            f"behind the activation."
        )
    return (
        f"Got {name} after the first layer, but expected an activation that acts "
        f"element by element, or another linear layer."
    )
