"""Make a model take missing values: its first layer becomes the expected twin."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from lacunet.density import GaussianMixtureDensity
from lacunet.exceptions import AdaptError
from lacunet.nn._activation import (
    ELEMENTWISE_FUNCTIONS,
    ELEMENTWISE_METHODS,
    ELEMENTWISE_MODULES,
)
from lacunet.nn._conv import ExpectedConv1d, ExpectedConv2d
from lacunet.nn._density import check_density
from lacunet.nn._linear import ExpectedLinear

Model = TypeVar("Model", bound=nn.Module)
Twin = ExpectedLinear | ExpectedConv1d | ExpectedConv2d

_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
# These pass values on as they are, holes too.
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


def adapt(model: nn.Module, density: GaussianMixtureDensity) -> nn.Module:
    """Return a copy of a model that takes batches with missing values.

    The first ``Linear``, ``Conv1d`` or ``Conv2d`` and the activation after it become
    their expected twin, with the same weights; all else stays. On complete batches the
    copy gives what the model gives.

    Parameters
    ----------
    model : torch.nn.Module
        A ``Sequential`` (nested ones too), or any model that ``torch.fx`` can trace.
    density : GaussianMixtureDensity
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
        If it can't be told which layer comes first, if a norm or dropout stands between
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
    adapted = copy.deepcopy(model)
    if isinstance(adapted, _LAYERS):
        return _twin(adapted, density, "identity")
    if isinstance(adapted, nn.Sequential):
        return _adapt_sequential(adapted, density)
    return _adapt_traced(adapted, density)


class _Place(NamedTuple):
    """A module and where it hangs."""

    parent: nn.Module
    name: str
    module: nn.Module

    def put(self, module: nn.Module) -> None:
        setattr(self.parent, self.name, module)


def _adapt_sequential(
    model: nn.Sequential, density: GaussianMixtureDensity
) -> nn.Module:
    places = list(_walk(model))
    first = next(
        (i for i, p in enumerate(places) if not isinstance(p.module, _SHAPE_MODULES)),
        None,
    )
    if first is None or not isinstance(places[first].module, _LAYERS):
        if first is not None and not _is_leaf(places[first].module):
            return _adapt_traced(model, density)
        raise AdaptError(
            _no_first_layer(None if first is None else places[first].module)
        )
    # What acts element by element may as well act before a change of shape.
    after = next(
        (p for p in places[first + 1 :] if not isinstance(p.module, _SHAPE_MODULES)),
        None,
    )
    if after is not None and not _is_leaf(after.module):
        return _adapt_traced(model, density)
    activation = None if after is None else _activation_module(after.module)
    uses = [p.module for p in places]
    _check_used_once(places[first].module, uses.count(places[first].module))
    twin = _twin(places[first].module, density, activation or "identity")
    places[first].put(twin)
    if after is not None and activation is not None:
        after.put(nn.Identity())
    return model


def _walk(module: nn.Sequential) -> Iterator[_Place]:
    """Yield the modules of nested Sequentials in the order they are called."""
    # Not named_children: a module that is called twice counts twice.
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


def _adapt_traced(model: nn.Module, density: GaussianMixtureDensity) -> nn.Module:
    try:
        graph_module = fx.symbolic_trace(model)
    except (fx.proxy.TraceError, TypeError, AttributeError, RuntimeError) as error:
        msg = (
            f"Can't tell which layer of {type(model).__name__} comes first: torch.fx "
            f"could not trace it ({error}). Put ExpectedLinear or ExpectedConv2d in "
            f"its place by hand: their from_linear and from_conv take the weights over."
        )
        raise AdaptError(msg) from error
    layer = _first_layer_node(graph_module)
    follower = _follower(layer, graph_module)
    module = graph_module.get_submodule(str(layer.target))
    calls = [n for n in graph_module.graph.nodes if n.target == layer.target]
    _check_used_once(module, len(calls))
    activation = None if follower is None else _activation_of(follower, graph_module)
    twin = _twin(module, density, activation or "identity")
    if activation is None or _is_module_used_once(follower, graph_module):
        _place(model, str(layer.target)).put(twin)
        if activation is not None and follower is not None:
            _place(model, str(follower.target)).put(nn.Identity())
        return model
    assert follower is not None
    _place(graph_module, str(layer.target)).put(twin)
    follower.replace_all_uses_with(follower.all_input_nodes[0])
    graph_module.graph.erase_node(follower)
    graph_module.recompile()
    return graph_module


def _first_layer_node(graph_module: fx.GraphModule) -> fx.Node:
    inputs = [n for n in graph_module.graph.nodes if n.op == "placeholder" and n.users]
    if len(inputs) != 1:
        names = ", ".join(node.name for node in inputs) or "none"
        msg = (
            f"Got a model that uses the inputs {names}, but expected one input: it "
            f"can't be told which holds the missing values."
        )
        raise AdaptError(msg)
    node: fx.Node = inputs[0]
    while True:
        if len(node.users) != 1:
            names = ", ".join(sorted(user.name for user in node.users))
            msg = (
                f"Can't tell which layer comes first: {node.name} goes to several "
                f"places ({names}), but expected one layer to meet the missing values."
            )
            raise AdaptError(msg)
        (node,) = node.users
        if _calls(node, graph_module, _LAYERS):
            return node
        if not _is_shape(node, graph_module):
            raise AdaptError(_no_first_layer(node.name))


def _follower(layer: fx.Node, graph_module: fx.GraphModule) -> fx.Node | None:
    """Return what follows the layer behind mere changes of shape, None for nothing."""
    node = layer
    while True:
        users = list(node.users)
        if len(users) > 1:
            names = ", ".join(sorted(user.name for user in users))
            msg = (
                f"Can't tell the activation of {layer.name}: its output goes to "
                f"several places ({names}), but expected one activation."
            )
            raise AdaptError(msg)
        if not users or users[0].op == "output":
            return None
        node = users[0]
        if not _is_shape(node, graph_module):
            return node


def _activation_of(
    node: fx.Node, graph_module: fx.GraphModule
) -> nn.Module | Callable[[Tensor], Tensor] | None:
    if node.op == "call_module":
        return _activation_module(graph_module.get_submodule(str(node.target)))
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


def _is_module_used_once(node: fx.Node | None, graph_module: fx.GraphModule) -> bool:
    if node is None or node.op != "call_module":
        return False
    return [n.target for n in graph_module.graph.nodes].count(node.target) == 1


def _calls(node: fx.Node, graph_module: fx.GraphModule, kinds: Any) -> bool:
    return node.op == "call_module" and isinstance(
        graph_module.get_submodule(str(node.target)), kinds
    )


def _is_shape(node: fx.Node, graph_module: fx.GraphModule) -> bool:
    return (
        _calls(node, graph_module, _SHAPE_MODULES)
        or (node.op == "call_function" and node.target in _SHAPE_FUNCTIONS)
        or (node.op == "call_method" and node.target in _SHAPE_METHODS)
    )


def _place(model: nn.Module, target: str) -> _Place:
    parent, _, name = target.rpartition(".")
    return _Place(model.get_submodule(parent), name, model.get_submodule(target))


def _twin(module: nn.Module, density: GaussianMixtureDensity, activation: Any) -> Twin:
    if isinstance(module, nn.Linear):
        return ExpectedLinear.from_linear(module, density, activation)
    if isinstance(module, nn.Conv1d):
        return ExpectedConv1d.from_conv(module, density, activation)
    assert isinstance(module, nn.Conv2d)
    return ExpectedConv2d.from_conv(module, density, activation)


def _check_used_once(module: nn.Module, uses: int) -> None:
    if uses != 1:
        msg = (
            f"Got a first {type(module).__name__} that is used {uses} times, but "
            f"expected once: its other uses would change too."
        )
        raise AdaptError(msg)


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
