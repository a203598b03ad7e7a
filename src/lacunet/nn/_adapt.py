"""Make a model take missing values: its first layer becomes an expected one.

The model is traced with ``torch.fx``. The way goes from its input to the first layers,
and from each of them on to its activation. Affine maps of single units on the way, such
as BatchNorm in evaluation mode, are folded into the weights.
"""

import copy
import operator
from collections.abc import Callable
from typing import Any

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

Counterpart = ExpectedLinear | ExpectedConv1d | ExpectedConv2d

_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)
_NEVER_FALLING = (nn.Hardtanh, nn.ReLU, nn.SELU, nn.Sigmoid, nn.Softplus, nn.Tanh)
# What is done to uncertain values, by the name of a method, function or module.
_NAMES = {
    "same": "contiguous clone float to Identity",
    "sum": "add add_ sub sub_",
    "product": "mul mul_",
    "quotient": "div div_",
    "dropout": "dropout dropout1d dropout2d Dropout Dropout1d Dropout2d AlphaDropout",
    "batch norm": "BatchNorm1d BatchNorm2d SyncBatchNorm",
    # Changes the axes, and not the order of the values.
    "shape": "flatten unflatten reshape view squeeze unsqueeze Flatten Unflatten",
    # Picks the same value before as after an activation that never falls.
    "maximum": "max_pool1d max_pool2d MaxPool1d MaxPool2d",
    # Takes the mean for the values: it is affine, or a norm, without an expectation.
    "mean": "transpose permute cat stack mean sum chunk split unbind expand repeat pad "
    "avg_pool1d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d AvgPool1d AvgPool2d "
    "AdaptiveAvgPool1d AdaptiveAvgPool2d layer_norm group_norm batch_norm LayerNorm "
    "GroupNorm RMSNorm InstanceNorm1d InstanceNorm2d",
    # Begins with a linear map, so that the next activation is not of this layer.
    "linear": "linear Linear Conv1d Conv2d Conv3d RNN LSTM GRU MultiheadAttention "
    "TransformerEncoderLayer TransformerEncoder Transformer",
    "end": "output",
}
_ROLES: dict[Any, str] = {
    operator.add: "sum",
    operator.sub: "sum",
    operator.mul: "product",
    operator.truediv: "quotient",
    operator.getitem: "mean",
    getattr: "mean",
} | {
    target: role
    for role, names in _NAMES.items()
    for name in names.split()
    for target in (name, *(getattr(m, name, name) for m in (torch, functional, nn)))
}


def adapt(
    model: nn.Module,
    density: MixtureDensity,
    *,
    layer: str | None = None,
    input: str | None = None,
) -> nn.Module:
    """Return a copy of a model that takes batches with missing values.

    The first ``Linear``, ``Conv1d`` or ``Conv2d`` and the activation after it become
    their expected counterpart, with the same weights; all else stays. If the input goes
    to several such layers, all are replaced. On complete batches the copy gives what
    the model gives in evaluation mode.

    ``BatchNorm`` in evaluation mode and arithmetic with constants, before the layer or
    between it and its activation, are folded into the weights and so stay fixed.
    Dropout in evaluation mode is left out before the layer; between the two it acts
    behind the activation from then on. Where no activation follows the layer but a
    linear map, a norm or attention, perhaps after a positional embedding, these see
    the mean of its output.

    Parameters
    ----------
    model : torch.nn.Module
        Any model that ``torch.fx`` can trace as far as the first activation.
    density : GaussianMixtureDensity or MixedMixtureDensity
        Over the input's features that the layer takes in, before any normalisation in
        the model: those of a row or token, or a flattened signal or image. It is not
        copied: the copy trains it.
    layer : str, optional
        Name of the layer to replace, such as ``"stem.0"``, where it is not the first
        thing that the input meets. What comes before it stays as it is, and the density
        is over what this layer takes in. Whether missing values go elsewhere too is not
        checked.
    input : str, optional
        Argument of ``forward`` that holds missing values, for models with several.

    Returns
    -------
    torch.nn.Module
        Of the model's own class where all that is taken out are modules used once, else
        a ``torch.fx.GraphModule``.

    Raises
    ------
    AdaptError
        If the input meets something else than such a layer, or if what follows has no
        expectation. The message describes what to do.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import lacunet
    >>> from lacunet.density import GaussianMixtureDensity
    >>> model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh()).eval()
    >>> adapted = lacunet.adapt(model, GaussianMixtureDensity(2, 3))
    >>> adapted(torch.tensor([[1.0, torch.nan, 2.0]])).shape
    torch.Size([1, 8])
    """
    if not isinstance(model, nn.Module):
        msg = (
            f"Got model of type {type(model).__name__}, but expected a torch.nn.Module."
        )
        raise TypeError(msg)
    check_density(density, None)
    # The density of a layer that is adapted already stays shared with it.
    kept = {id(m): m for m in model.modules() if isinstance(m, MixtureDensity)}
    try:
        adapted = copy.deepcopy(model, kept)
    except RuntimeError as error:  # torch's, for weights made by a hook
        msg = f"Got a model that can't be copied ({error}), but expected one that can."
        raise AdaptError(msg) from error
    if isinstance(adapted, _LAYERS) and layer is None:
        return _counterpart(adapted, density, "identity")
    graph = _trace(adapted)
    counterparts: dict[Any, nn.Module] = {}
    absorbed: list[fx.Node] = []
    for call, before in _find_layers(adapted, graph, layer, input):
        _check_uses(adapted, graph, call.meta["module"])
        counterparts[call.meta["module"]], taken = _absorb(call, before, density)
        absorbed += [node for node in taken if node not in absorbed]
    return _replace(adapted, graph, counterparts, absorbed)


class _Tracer(fx.Tracer):
    """Leaves a module whole if it can't see into it, as it may be a later one."""

    proxy_buffer_attributes = True  # else what is computed from them is frozen

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        plain = super().is_leaf_module(m, module_qualified_name)
        return plain or isinstance(m, _LAYERS)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        n_nodes, stack = len(self.graph.nodes), self.module_stack.copy()
        try:
            return super().call_module(m, forward, args, kwargs)
        except _UNTRACEABLE as error:
            for node in reversed(list(self.graph.nodes)[n_nodes:]):
                self.graph.erase_node(node)
            self.module_stack = stack
            name = self.path_of_module(m)
            proxy = self.create_proxy("call_module", name, args, kwargs)
            proxy.node.meta["untraceable"] = str(error)
            return proxy


_UNTRACEABLE = (ValueError, TypeError, AttributeError, LookupError, RuntimeError)


def _trace(model: nn.Module) -> fx.Graph:
    """Return the graph of a model, with its modules and tensors in the nodes."""
    try:
        graph = _Tracer().trace(model)
    except _UNTRACEABLE as error:
        msg = (
            f"Got a {type(model).__name__} that torch.fx could not trace ({error}), "
            f"but expected to find its first layer. Instead, {_BY_HAND}"
        )
        raise AdaptError(msg) from error
    for node in graph.nodes:
        if node.op == "call_module":
            node.meta["module"] = model.get_submodule(str(node.target))
        elif node.op == "get_attr":
            node.meta["value"] = operator.attrgetter(str(node.target))(model)
    return graph


def _find_layers(
    model: nn.Module, graph: fx.Graph, layer: str | None, input: str | None
) -> list[tuple[fx.Node, list[fx.Node]]]:
    """Return the calls of the first layers, or the named one, and the ways to them."""
    used = [n for n in graph.nodes if n.op == "placeholder" and n.users]
    chosen = [n for n in used if input in (None, n.target)]
    if not chosen or (len(chosen) > 1 and layer is None):
        msg = (
            f"Got input={input!r} for a model with the inputs "
            f"{', '.join(str(node.target) for node in used)}, but expected the name of "
            f"the one that holds the missing values."
        )
        raise AdaptError(msg)
    if layer is not None:
        named = dict(model.named_modules(remove_duplicate=False)).get(layer)
        calls = [n for n in graph.nodes if isinstance(n.meta.get("module"), _LAYERS)]
        for call in calls:
            if call.meta["module"] is named:
                return [(call, [])]
        msg = (
            f"Got layer={layer!r}, but expected a Linear, Conv1d or Conv2d that the "
            f"model calls: {', '.join(str(call.target) for call in calls)}."
        )
        raise AdaptError(msg)
    found, todo = [], [(chosen[0], list[fx.Node]())]
    while todo:
        node, path = todo.pop()
        for user in _value_users(node):
            if isinstance(user.meta.get("module"), _LAYERS):
                found.append((user, path))
            elif _role(user) in ("same", "shape", "map", "dropout"):
                todo.append((user, [*path, user]))
            else:
                raise _error(
                    [user],
                    "as the first thing that meets the missing values",
                    "a Linear, Conv1d or Conv2d, behind no more than constants, "
                    "BatchNorm in eval mode, and changes of shape that keep the order.",
                    "Put a Linear before it, or take it out of the model. If it leaves "
                    "missing values NaN, name the layer behind it (layer=...) and give "
                    "a density over what that layer takes in.",
                )
    return found


def _value_users(node: fx.Node) -> list[fx.Node]:
    """Return the users of a node's values, not those that only ask for its size."""
    about = ("size", "dim", "shape", "ndim", "device", "dtype")
    return [
        user
        for user in node.users
        if not (user.op == "call_method" and user.target in about)
        and not (user.target is getattr and user.args[1] in about)
    ]


def _role(node: fx.Node) -> str | None:
    """Return what a node does to uncertain values, None if that is not known."""
    module = node.meta.get("module")
    if "untraceable" in node.meta:
        return None
    if _activation(node) is not None:
        return "activation"
    keys = (node.target,) if module is None else type(module).__mro__
    role = next((_ROLES[key] for key in keys if key in _ROLES), None)
    if role in ("sum", "product", "quotient"):
        unknown = [_constant(argument) is None for argument in node.args]
        divides = role == "quotient" and unknown != [True, False]
        if sum(unknown) == 1 and not node.kwargs and not divides:
            return "map"
        return "mean" if role == "sum" else None
    if role in ("dropout", "batch norm"):
        on = node.kwargs.get("training", True) if module is None else module.training
        if on:
            return "training"
    if role == "batch norm":
        return "map" if getattr(module, "track_running_stats", False) else "mean"
    return role


def _activation(node: fx.Node) -> Any:
    """Return the module or function that a node applies to each value, or None."""
    module = node.meta.get("module")
    if isinstance(module, ELEMENTWISE_MODULES) and not isinstance(module, nn.Identity):
        return module
    is_method = node.op == "call_method"
    known: Any = ELEMENTWISE_METHODS if is_method else ELEMENTWISE_FUNCTIONS
    if module is not None or node.target not in known or len(node.all_input_nodes) > 1:
        return None
    arguments = [a for a in node.args[1:] if a is not None]
    options = {k: v for k, v in node.kwargs.items() if k not in ("inplace", "input")}
    return known[node.target](*arguments, **options)


def _constant(argument: Any) -> Any:
    """Compute what depends on no input; None for what does."""
    if not isinstance(argument, fx.Node):
        return argument
    if argument.op == "get_attr":
        value = argument.meta["value"].detach().to("cpu", copy=True)
        return value.double() if value.is_floating_point() else value
    if argument.op == "call_method" and argument.target in ("to", "type_as"):
        return _constant(argument.args[0])  # whatever the device of an input
    known = {node: _constant(node) for node in argument.all_input_nodes}
    is_call = argument.op in ("call_function", "call_method")
    if not is_call or not known or any(value is None for value in known.values()):
        return None
    return _call(argument, known)


def _call(node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    """Do what a node does, to values of one's own."""
    if node.op == "call_module":
        module = copy.deepcopy(node.meta["module"]).to("cpu", torch.float64)
        return module(values[node.all_input_nodes[0]])
    args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
    if node.op == "call_method":
        return getattr(args[0], str(node.target))(*args[1:], **kwargs)
    return node.target(*args, **kwargs)  # type: ignore[operator]


def _source(node: fx.Node) -> fx.Node:
    """Return the node whose values a node takes."""
    return next(n for n in node.all_input_nodes if _constant(n) is None)


def _path_after(call: fx.Node) -> tuple[list[fx.Node], fx.Node | None]:
    """Return what stands between a layer and its activation, and that if any."""
    path: list[fx.Node] = []
    node = call
    while len(users := _value_users(node)) == 1:
        (node,) = users
        if _role(node) == "activation":
            return path, node
        passing = {"same", "shape", "dropout", "maximum"}
        if not passing.intersection(("shape", "maximum"), map(_role, path)):
            passing.add("map")  # behind those two it is not of the layer's units
        if _role(node) not in passing:
            break
        path.append(node)
    _check_mean(call)
    return [], None


def _check_mean(call: fx.Node) -> None:
    """Refuse what can't take the mean of a layer's output, as far as other layers."""
    paths = [[call]]
    seen = {call}
    while paths:
        path = paths.pop()
        for user in _value_users(path[-1]):
            role = _role(user)
            if role in (None, "activation", "maximum"):
                raise _error_after(call, [*path[1:], *_value_users(path[-1])])
            if role not in ("linear", "end") and user not in seen:
                seen.add(user)
                paths.append([*path, user])


def _absorb(
    call: fx.Node, before: list[fx.Node], density: MixtureDensity
) -> tuple[Counterpart, list[fx.Node]]:
    """Return the counterpart of a layer, and the nodes that it stands for too."""
    after, end = _path_after(call)
    activation = "identity" if end is None else _activation(end)
    counterpart = _counterpart(call.meta["module"], density, activation)
    plain: Any = getattr(counterpart, "convolution", counterpart)
    n_out, n_in, *kernel = plain.weight.shape
    first = _unit_map(before, n_in * getattr(plain, "groups", 1), len(kernel))
    padding = getattr(plain, "padding", "valid")
    if first is None or (first[1].any() and padding not in ("valid", (0,), (0, 0))):
        raise _error(
            before,
            f"before the first layer with padding={padding}",
            "one constant, or one for each feature or channel, and no padding, whose "
            "zeros would be shifted.",
            f"Normalise the batches before the model, or name the layer "
            f"(layer={str(call.target)!r}) and give a density over what it takes in.",
        )
    maps = [node for node in after if _role(node) == "map"]
    last = _unit_map(maps, n_out, len(kernel))
    by_channel = isinstance(activation, nn.PReLU) and activation.num_parameters > 1
    barred = {"shape"} if by_channel else set()
    if not isinstance(activation, _NEVER_FALLING):
        barred.add("maximum")
    if last is None or (end is not None and barred.intersection(map(_role, after))):
        raise _error_after(call, [*after, *filter(None, [end])])
    _fold(plain, first, last)
    norms = (node.meta.get("module") for node in (*before, *maps))
    if not kernel and any(isinstance(norm, nn.BatchNorm1d) for norm in norms):
        counterpart.register_forward_pre_hook(_check_rows)
    taken = [node for node in before if _role(node) in ("map", "dropout")]
    return counterpart, [*taken, *maps, *filter(None, [end])]


def _unit_map(
    path: list[fx.Node], n_units: int, n_axes: int
) -> tuple[Tensor, Tensor] | None:
    """Return the factor and the shift of each unit on a path, None if it has none."""
    ends = []
    for end in (0.0, 1.0):
        values = torch.full((1, n_units, *(1,) * n_axes), end, dtype=torch.float64)
        for node in path:
            if _role(node) == "shape" and (values != values.flatten()[0]).any():
                return None  # the units behind it are other ones
            if _role(node) != "map":
                continue
            known = {n: _constant(n) for n in node.all_input_nodes}
            try:
                values = _call(node, known | {_source(node): values})
            except (ValueError, RuntimeError):  # constants of another size
                return None
        if values.numel() != n_units:
            return None
        ends.append(values.flatten())
    return ends[1] - ends[0], ends[0]


@torch.no_grad()
def _fold(
    layer: Any, first: tuple[Tensor, Tensor], last: tuple[Tensor, Tensor]
) -> None:
    """Fold a scale and a shift of the input, and those of the output, into a layer."""
    weight = layer.weight.to("cpu", torch.float64)
    bias = 0.0 if layer.bias is None else layer.bias.to("cpu", torch.float64)
    groups = getattr(layer, "groups", 1)
    scale, shift = (values.view(groups, 1, -1, 1) for values in first)
    blocks = weight.reshape(groups, -1, weight.shape[1], weight[0, 0].numel())
    bias = last[0] * (bias + (blocks * shift).sum((2, 3)).flatten()) + last[1]
    weight = last[0][:, None] * (blocks * scale).flatten(2).flatten(0, 1)
    layer.weight.copy_(weight.view(layer.weight.shape))
    if layer.bias is not None:
        layer.bias.copy_(bias)
    elif bias.any():
        layer.bias = nn.Parameter(bias.to(layer.weight), layer.weight.requires_grad)


def _check_rows(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Refuse input on whose second axis BatchNorm1d would not have found the units."""
    if inputs[0].ndim != 2:
        msg = (
            f"Got x of shape {tuple(inputs[0].shape)}, but expected (batch, features): "
            f"BatchNorm1d is folded into this layer."
        )
        raise ValueError(msg)


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


def _uses(graph: fx.Graph, module: Any) -> int:
    """Count the calls of a module, and of those that it is a part of."""
    calls = (n.meta["module"] for n in graph.nodes if n.op == "call_module")
    return sum(module in set(called.modules()) for called in calls)


def _check_uses(model: nn.Module, graph: fx.Graph, layer: nn.Module) -> None:
    """Refuse a layer whose weights, or which itself, are used elsewhere too."""
    mine = set(map(id, layer.parameters()))
    others = set(model.modules()) - set(layer.modules())
    tied = any(mine & set(map(id, other._parameters.values())) for other in others)
    uses = _uses(graph, layer)
    if uses != 1 or tied:
        how = "whose weights are tied to another's" if tied else f"used {uses} times"
        msg = (
            f"Got a first {type(layer).__name__} {how}, but expected one with weights "
            f"of its own that is used once. Give the other place a copy of it."
        )
        raise AdaptError(msg)


def _replace(
    model: nn.Module,
    graph: fx.Graph,
    counterparts: dict[Any, nn.Module],
    absorbed: list[fx.Node],
) -> nn.Module:
    """Put the counterparts in, and take out what they stand for too."""
    modules: dict[Any, nn.Module] = {
        n.meta.get("module"): nn.Identity() for n in absorbed
    }
    own_class = all(_uses(graph, module) == 1 for module in modules)
    if not own_class:
        modules = {}
        _check_fixed(model, graph)
        for node in absorbed:
            node.replace_all_uses_with(_source(node))
            graph.erase_node(node)
        for node in reversed(graph.nodes):
            if not node.users and _constant(node) is not None:
                graph.erase_node(node)
    # In this order: a counterpart holds the activation that is taken out.
    for old, new in (modules | counterparts).items():
        for parent in list(model.modules()):
            for name, child in parent._modules.items():
                if child is old:
                    setattr(parent, name, new)
    for node in graph.nodes:
        node.meta.clear()
    return model if own_class else fx.GraphModule(model, graph, type(model).__name__)


def _check_fixed(model: nn.Module, graph: fx.Graph) -> None:
    """Refuse to freeze what is decided anew in every call.

    The graph replaces the model's own forward, and with it ``if self.training`` and
    tensors made on the way. Dropout with ``training=self.training`` becomes a module.
    """
    modes = {module: module.training for module in model.modules()}
    other = _trace(model.train(not model.training))
    for module, training in modes.items():
        module.training = training
    for node, flipped in zip(graph.nodes, other.nodes, strict=False):
        if _ROLES.get(node.target) == "dropout" and node.kwargs != flipped.kwargs:
            kind = getattr(nn, node.target.__name__.capitalize())
            dropout = kind(node.kwargs["p"]).train(node.kwargs["training"])
            model.add_module(f"_{node.name}", dropout)
            for call in (node, flipped):
                call.op, call.target, call.kwargs = "call_module", f"_{node.name}", {}
    own = any(str(node.target).startswith("_tensor_constant") for node in graph.nodes)
    if own or graph.python_code("self").src != other.python_code("self").src:
        what = "makes tensors of its own" if own else "differs in train and eval mode"
        msg = (
            f"Got a {type(model).__name__} whose forward {what}, but expected one that "
            f"can be traced once, as not all that the layer absorbs are modules used "
            f"once. Make the activation such a module (nn.ReLU), and tensors buffers."
        )
        raise AdaptError(msg)


_BY_HAND = (
    "put ExpectedLinear.from_linear or ExpectedConv2d.from_conv in the place of the "
    "layer by hand, with its activation, or with 'identity' where the mean will do."
)


def _error(nodes: list[fx.Node], where: str, expected: str, advice: str) -> AdaptError:
    """Return the error for nodes that are in the way, and what to do about them."""
    names = []
    for node in nodes:
        module, why = node.meta.get("module"), node.meta.get("untraceable")
        names.append(node.name if module is None else type(module).__name__)
        if why is not None:
            advice = f"As torch.fx could not trace {names[-1]} ({why}), {_BY_HAND}"
        elif _role(node) == "training":
            advice = (
                "Call model.eval() first, with training=self.training in functional "
                "dropout. What is folded then stays fixed."
            )
    return AdaptError(
        f"Got {', '.join(names)} {where}, but expected {expected} {advice}"
    )


def _error_after(call: fx.Node, nodes: list[fx.Node]) -> AdaptError:
    return _error(
        nodes,
        f"after the first {type(call.meta['module']).__name__}",
        "one activation that acts element by element, behind no more than BatchNorm "
        "and dropout in eval mode and constants for each unit, or another layer.",
        f"Move the activation to the front, write a gate x * sigmoid(x) as nn.SiLU, or "
        f"{_BY_HAND}",
    )
