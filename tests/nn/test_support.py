"""What of torch works with the layers, and the table in docs/torch.md of it.

A feature is a function of the covariance type; it compares with eager code, or with
ordinary autograd, at ``prune=0``. Where its cell of the table is not "yes", it asserts
that the layer is refused.
"""

import copy
import io
import pickle
import shutil
from functools import cache
from pathlib import Path

import pytest
import torch
from oracle import make_components, make_mixed, mixed_batch, mixed_rows
from torch import nn
from torch.autograd.functional import hessian as autograd_hessian
from torch.autograd.functional import jacobian as autograd_jacobian
from torch.export import Dim
from torch.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vmap,
)
from two_processes import largest_differences

from lacunet.density import (
    GaussianMixtureDensity,
    MixedMixtureDensity,
    MixtureDensity,
    bin_gaussians,
)
from lacunet.functional import condition, log_likelihood
from lacunet.functional._ops import LARGEST_IN_ONNX, LARGEST_UNROLLED
from lacunet.nn import ExpectedBins, ExpectedConv2d, ExpectedLinear, ExpectedRBF
from lacunet.nn._activation import _NAMES, ExpectedActivation

pytestmark = [
    # Of torch's own modules, when it imports its compiler and exporters.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    # Of the comparison of shapes, which are constants.
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]

PAGE = Path(__file__).parents[2] / "docs/torch.md"
TYPES = ("diag", "factor", "full", "mixed")
FEATURES = {}  # title: (function, tolerance, cells)


def feature(title, tolerance, **cells):
    """Make a row of the table, with what stands in its cells instead of "yes"."""

    def register(check):
        FEATURES[title] = (check, tolerance, cells)
        return check

    return register


def make_density(kind, dtype=torch.float64, n_features=4):
    if kind == "mixed":
        components = make_mixed("diag", dtype=dtype)
        return MixedMixtureDensity.from_components(components, gamma=0.3)
    components = make_components(kind, n_features=n_features, dtype=dtype)
    return GaussianMixtureDensity.from_components(components, gamma=0.3)


def make_layer(kind, dtype=torch.float64, *, activation="relu", n_features=4, seed=0):
    density = make_density(kind, dtype, n_features)
    generator = torch.Generator().manual_seed(seed)
    layer = ExpectedLinear(
        density.n_features,
        5,
        density,
        activation=activation,
        indicator=True,
        prune=0.0,
        generator=generator,
        dtype=dtype,
    )
    with torch.no_grad():
        layer.indicator_weight.normal_(generator=generator)
    return layer


def make_layers(kind, dtype=torch.float64, *, seed=0):
    """Every kind of layer that takes the density."""
    density = make_density(kind, dtype)
    options = {"generator": torch.Generator().manual_seed(seed), "dtype": dtype}
    layers = [
        make_layer(kind, dtype, seed=seed),
        ExpectedRBF(density.n_features, 5, density, **options),
    ]
    if kind in ("diag", "factor"):
        options |= {"kernel_size": 2, "prune": 0.0}
        layers.append(ExpectedConv2d(1, 3, density, **options))
    return layers


def make_rows(kind, n_rows=8, dtype=torch.float64, n_features=4):
    """Complete, partly and wholly missing rows."""
    blocks = [
        mixed_rows(seed=seed, dtype=dtype)
        if kind == "mixed"
        else mixed_batch(n_features, seed=seed, dtype=dtype)
        for seed in range(-(-n_rows // 8))
    ]
    return torch.cat(blocks)[:n_rows]


def shaped_for(layer, rows):
    return rows.view(-1, 1, 2, 2) if isinstance(layer, ExpectedConv2d) else rows


def parameters_of(layer):
    return {name: p.detach().clone() for name, p in layer.named_parameters()}


def loss_of(layer):
    return lambda parameters, x: functional_call(layer, parameters, (x,)).square().sum()


def gradients_of(layer, x):
    """By ordinary autograd, 0 where a complete batch needs none."""
    layer.zero_grad()
    layer(x).square().sum().backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in layer.named_parameters()
    }


def assert_close(got, expected, tolerance):
    torch.testing.assert_close(got, expected, atol=tolerance, rtol=tolerance)


def assert_close_gradients(got, expected, tolerance):
    """In units of the largest of them."""
    size = max(gradient.abs().max() for gradient in expected)
    for one, other in zip(got, expected, strict=True):
        assert (one.to(other.dtype) - other).abs().max() < tolerance * size


def assert_same_map(function, layer, kind, tolerance, *, n_features=4):
    """Compare on single rows of each kind, and on a batch of another size."""
    with torch.no_grad():
        for x in (
            *make_rows(kind, 8, torch.float32, n_features).split(1),
            make_rows(kind, 33, torch.float32, n_features),
        ):
            batch = shaped_for(layer, x)
            assert_close(function(batch), layer(batch), tolerance)


@feature("`torch.func`: `grad`, `jacrev`, `jacfwd`, `jvp`, `hessian`", 1e-10)
def derivatives(kind, tolerance):
    for layer in make_layers(kind):
        check_derivatives(layer, shaped_for(layer, make_rows(kind)), tolerance)


def check_derivatives(layer, x, tolerance):
    parameters, loss = parameters_of(layer), loss_of(layer)
    expected = gradients_of(layer, x)
    assert_close(grad(loss)(parameters, x), expected, tolerance)
    generator = torch.Generator().manual_seed(0)
    tangents = {
        name: torch.randn(p.shape, generator=generator, dtype=p.dtype)
        for name, p in parameters.items()
    }
    _, tangent = jvp(lambda p: loss(p, x), (parameters,), (tangents,))
    along = sum((expected[name] * tangents[name]).sum() for name in expected)
    assert_close(tangent, along, tolerance)

    ends = ("weight", "centres", ".means")
    names = [name for name in parameters if name.endswith(ends)]
    values = tuple(parameters[name] for name in names)

    def respond(*values):
        given = parameters | dict(zip(names, values, strict=True))
        return functional_call(layer, given, (x,))

    def total(*values):
        return respond(*values).square().sum()

    every = tuple(range(len(names)))
    first = autograd_jacobian(respond, values)
    batched = autograd_jacobian(respond, values, vectorize=True)
    for got in (batched, *(d(respond, every)(*values) for d in (jacrev, jacfwd))):
        assert_close(got, first, tolerance)
    second = autograd_hessian(total, values)
    assert_close(hessian(total, every)(*values), second, tolerance)


@feature("`vmap`, gradients of each row", 1e-10)
def rows_apart(kind, tolerance):
    for layer in make_layers(kind):
        x = shaped_for(layer, make_rows(kind))
        got = vmap(lambda row, layer=layer: layer(row[None])[0])(x)
        assert_close(got, layer(x), tolerance)
        loss = loss_of(layer)
        got = vmap(
            grad(lambda parameters, row, loss=loss: loss(parameters, row[None])),
            in_dims=(None, 0),
        )(parameters_of(layer), x)
        each = [gradients_of(layer, row) for row in x.split(1)]
        expected = {name: torch.stack([one[name] for one in each]) for name in got}
        assert_close(got, expected, tolerance)
        x.view(-1)[0] = torch.inf
        with pytest.raises(ValueError, match="Got an infinite value in x at index"):
            vmap(layer)(x[:, None])


@feature("`functional_call`, `stack_module_state`", 1e-10)
def stacked(kind, tolerance):
    for layers in zip(
        *(make_layers(kind, seed=seed) for seed in range(3)), strict=True
    ):
        parameters, _ = stack_module_state(layers)
        bare = copy.deepcopy(layers[0]).to("meta")
        x = shaped_for(bare, make_rows(kind))
        got = vmap(lambda p, bare=bare, x=x: functional_call(bare, p, (x,)))(parameters)
        assert_close(got, torch.stack([layer(x) for layer in layers]), tolerance)


@cache
def differences():
    """Of two processes to one; the rows of the second process are all complete."""
    cases = {}
    for kind in TYPES:
        x = make_rows(kind, 32)
        incomplete = torch.isnan(x).any(1)
        for i, layer in enumerate(make_layers(kind)):
            halves = (x[incomplete][:4], x[~incomplete][:4])
            cases[f"{kind} {i}"] = (layer, *(shaped_for(layer, h) for h in halves))
    return largest_differences(cases)


def check_processes(way, kind, tolerance):
    found = {n: d for n, d in differences()[way].items() if n.startswith(kind)}
    assert len(found) == len(make_layers(kind))
    assert max(found.values()) < tolerance


@feature("`DistributedDataParallel`, also where a process has complete rows", 1e-10)
def ddp(kind, tolerance):
    check_processes("ddp", kind, tolerance)


@feature("FSDP2 (`fully_shard`), the same", 1e-10)
def fsdp(kind, tolerance):
    check_processes("fsdp", kind, tolerance)


def check_compiled(layer, kind, tolerance, sizes=(8,), **options):
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, **options)
    for n_rows in sizes:
        x = shaped_for(layer, make_rows(kind, n_rows, torch.float32))
        assert_close(compiled(x), layer(x), tolerance)
        got, expected = (gradients_of(model, x).values() for model in (compiled, layer))
        assert_close_gradients(got, expected, tolerance)
    x.view(-1)[0] = -torch.inf
    with pytest.raises(RuntimeError, match="Got an infinite value in x"):
        compiled(x)


@feature("`torch.compile(fullgraph=True)`", 1e-5)
def compiled(kind, tolerance):
    # The graphs of inductor, without its machine code.
    check_compiled(
        make_layer(kind, torch.float32), kind, tolerance, backend="aot_eager"
    )


def export(layer, kind, *, strict, n_features=4):
    x = shaped_for(layer, make_rows(kind, 5, torch.float32, n_features))
    shapes = ({0: Dim("batch")},)
    program = torch.export.export(layer, (x,), dynamic_shapes=shapes, strict=strict)
    return program.module()


@feature("`torch.export`, `strict=True`, any batch", 1e-5)
def exported_strictly(kind, tolerance):
    layer = make_layer(kind, torch.float32)
    assert_same_map(export(layer, kind, strict=True), layer, kind, tolerance)


@feature("`torch.export`, `strict=False`, any batch", 1e-5)
def exported(kind, tolerance):
    layer = make_layer(kind, torch.float32)
    program = export(layer, kind, strict=False)
    assert_same_map(program, layer, kind, tolerance)
    x = make_rows(kind, 5, torch.float32)
    x[2, 0] = torch.inf  # no check, but no number either
    assert torch.isfinite(program(x)).all(1).tolist() == [True, True, False, True, True]


def onnx_session(layer, kind, *, n_features=4, **options):
    import onnxruntime

    x = shaped_for(layer.eval(), make_rows(kind, 5, torch.float32, n_features))
    file = io.BytesIO()
    if options:
        torch.onnx.export(layer, (x,), file, input_names=["x"], **options)
    else:
        shapes = ({0: Dim("batch")},)
        program = torch.onnx.export(
            layer, (x,), dynamo=True, dynamic_shapes=shapes, verbose=False
        )
        program.save(file)
    session = onnxruntime.InferenceSession(
        file.getvalue(), providers=["CPUExecutionProvider"]
    )
    (name,) = (node.name for node in session.get_inputs())
    return lambda x: torch.from_numpy(session.run(None, {name: x.numpy()})[0])


@feature(
    "ONNX, any batch",
    1e-5,
    full=f"up to {LARGEST_IN_ONNX} columns",
    mixed="with a number",
)
def onnx(kind, tolerance):
    layer = make_layer(kind, torch.float32)
    assert_same_map(onnx_session(layer, kind), layer, kind, tolerance)
    refused = torch.onnx.errors.OnnxExporterError
    if kind == "full":
        wide = make_layer(kind, torch.float32, n_features=LARGEST_IN_ONNX + 1)
        with pytest.raises(refused, match=f"at most {LARGEST_IN_ONNX}"):
            onnx_session(wide, kind, n_features=LARGEST_IN_ONNX + 1)
    if kind == "mixed":
        bare = ExpectedLinear(8, 5, MixedMixtureDensity(2, 0, (3, 5)))
        with pytest.raises(refused, match="without numeric columns"):
            onnx_session(bare, kind)


NO_OPERATORS = "no: it lacks operators"


@feature(
    'ONNX with `dynamo=False`, but for "identity", "sin" and "cos"',
    None,
    **dict.fromkeys(TYPES, NO_OPERATORS),
)
def onnx_by_tracing(kind, tolerance):
    options = {"dynamo": False, "dynamic_axes": {"x": {0: "batch"}}}
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError):
        onnx_session(make_layer(kind, torch.float32), kind, **options)


@feature("`torch.jit.trace`", 1e-5)
def traced(kind, tolerance):
    for layer in make_layers(kind, torch.float32):
        x = shaped_for(layer, make_rows(kind, 5, torch.float32))
        trace = torch.jit.trace(layer, x)
        assert_same_map(trace, layer, kind, tolerance)


@feature("`torch.jit.script`", None, **dict.fromkeys(TYPES, "no: use `torch.export`"))
def scripted(kind, tolerance):
    with pytest.raises((RuntimeError, torch.jit.frontend.NotSupportedError)):
        torch.jit.script(make_layer(kind))


def check_dtype(kind, dtype, tolerance):
    """Compare outputs and gradients with those of double precision."""
    for layer in make_layers(kind, dtype):
        x = shaped_for(layer, make_rows(kind, 32, dtype))
        out, got = layer(x), gradients_of(layer, x)
        assert out.dtype == dtype
        wide = copy.deepcopy(layer).double()
        assert_close(out.double(), wide(x.double()), tolerance)
        expected = gradients_of(wide, x.double())
        assert_close_gradients(got.values(), expected.values(), tolerance)


@feature("float32 (and float64)", 1e-5)
def single_precision(kind, tolerance):
    check_dtype(kind, torch.float32, tolerance)


@feature("float16", 5e-3)
def half_precision(kind, tolerance):
    check_dtype(kind, torch.float16, tolerance)


@feature("bfloat16", 5e-2)
def brain_precision(kind, tolerance):
    check_dtype(kind, torch.bfloat16, tolerance)


@feature("autocast: moments stay in the dtype of the parameters", 1e-5)
def autocast(kind, tolerance):
    for layer in make_layers(kind, torch.float32):
        x = shaped_for(layer, make_rows(kind, 8, torch.bfloat16))
        expected = layer(x.float())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert nn.Linear(2, 2)(torch.zeros(2)).dtype == torch.bfloat16
            got = layer(x.float())
            from_half = layer(x)
        assert_close(got, expected, tolerance)
        assert_close(from_half, expected, tolerance)
        got.sum().backward()
        assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


@feature("a batch without rows", None)
def empty_batch(kind, tolerance):
    nothing = make_rows(kind)[:0]
    for layer in make_layers(kind):
        out = layer(shaped_for(layer, nothing))
        assert out.shape == (0, *layer(shaped_for(layer, make_rows(kind))).shape[1:])
        out.sum().backward()
    layer = make_layer(kind)
    mean, variance = layer.mean_and_variance(nothing[None])
    assert mean.shape == variance.shape == (1, 0, 5)
    assert layer.density.log_prob(nothing).shape == (0,)
    assert layer.density.condition(nothing).mean().shape == nothing.shape


@feature("`mask=` beside NaN", 1e-12)
def masked(kind, tolerance):
    x = make_rows(kind)
    mask = ~torch.isnan(x)
    half = torch.where(mask, x, torch.inf)  # a mask hides whatever is there
    half[::2] = x[::2]  # and NaN stays missing
    for layer in make_layers(kind):
        got = layer(shaped_for(layer, half), shaped_for(layer, mask))
        assert_close(got, layer(shaped_for(layer, x)), tolerance)
        with pytest.raises(TypeError, match="expected a bool tensor"):
            layer(shaped_for(layer, x), shaped_for(layer, mask.float()))
    layer = make_layer(kind)
    expected = layer.mean_and_variance(x)
    assert_close(layer.mean_and_variance(half, mask=mask), expected, tolerance)
    expected = layer.density.condition(x).mean()
    assert_close(layer.density.condition(half, mask=mask).mean(), expected, tolerance)
    with pytest.raises(ValueError, match="Got mask of shape"):
        layer(x, mask[1:])


@feature(
    "`deepcopy`, `pickle`, `state_dict`; `meta` device, then `reset_parameters`", 0
)
def copies(kind, tolerance):
    for layer in make_layers(kind):
        x = shaped_for(layer, make_rows(kind))
        before = layer(x).detach()
        other, loaded = copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))
        assert torch.equal(loaded(x), before)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(0.5)
        assert torch.equal(layer(x), before)
        assert not torch.allclose(other(x), before)
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other(x), before)
        empty = layer.to("meta").to_empty(device="cpu")
        with torch.no_grad():
            for parameter in empty.parameters():
                parameter.fill_(torch.nan)
        for module in empty.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        assert_close(empty.density.gamma.item(), 0.3, 1e-12)
        assert all(torch.isfinite(p).all() for p in empty.parameters())


@feature(
    "`ExpectedConv1d`, `ExpectedConv2d`",
    1e-5,
    full="no: covariances of all pixels",
    mixed="no: pixels have no categories",
)
def convolution(kind, tolerance):
    if kind in ("full", "mixed"):
        with pytest.raises(ValueError, match="convolution"):
            ExpectedConv2d(1, 3, make_density(kind), kernel_size=2)
    else:
        layer = make_layers(kind, torch.float32)[2]
        assert_same_map(export(layer, kind, strict=False), layer, kind, tolerance)


@feature("`ExpectedRBF`", 1e-5)
def radial(kind, tolerance):
    layer = make_layers(kind, torch.float32)[1]
    assert_same_map(export(layer, kind, strict=False), layer, kind, tolerance)


@feature(
    "`ExpectedBins` of `bin_gaussians`",
    1e-5,
    factor="no: no closed form",
    full="no: no closed form",
)
def binned(kind, tolerance):
    density = make_density(kind, torch.float32)
    sizes = getattr(density, "sizes", ())
    edges = [[-0.5, 0.4]] * (density.n_features - sum(sizes))
    if kind in ("factor", "full"):
        with pytest.raises(ValueError, match="expected 'diag'"):
            bin_gaussians(density, edges)
        return
    n_edges, bins = [2] * len(edges), bin_gaussians(density, edges)
    layer = ExpectedBins(n_edges, sizes, 5, bins, prune=0.0, dtype=torch.float32)
    layer.set_bins(edges, [[-1.0, 0.0, 1.0]] * len(edges))
    assert_same_map(export(layer, kind, strict=False), layer, kind, tolerance)


def support_table():
    rows = [("feature", *(f'"{kind}"' for kind in TYPES), "checked to")]
    rows += [("---",) * len(rows[0])]
    for title, (_, tolerance, cells) in FEATURES.items():
        answers = [cells.get(kind, "yes") for kind in TYPES]
        rows.append((title, *answers, f"{tolerance:.0e}" if tolerance else ""))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


# One covariance type of each is in the default run.
SLOW = {
    (compiled, "diag"),
    (compiled, "full"),
    (compiled, "mixed"),
    (exported, "full"),
    (exported_strictly, "factor"),
    (exported_strictly, "full"),
    (exported_strictly, "mixed"),
    (onnx, "factor"),
    (onnx, "full"),
    (onnx, "mixed"),
    (radial, "factor"),
    (radial, "full"),
    (radial, "mixed"),
}


def cells():
    for title, (check, _, _) in FEATURES.items():
        for kind in TYPES:
            is_slow = check in (ddp, fsdp) or (check, kind) in SLOW
            marks = [pytest.mark.slow] if is_slow else []
            name = f"{check.__name__}-{kind}"
            yield pytest.param(title, kind, marks=marks, id=name)


@pytest.mark.parametrize(("title", "kind"), [*cells()])
def test_cell(title, kind):
    check, tolerance, _ = FEATURES[title]
    check(kind, tolerance)


def test_the_table_of_the_page_is_this_one():
    assert support_table() in PAGE.read_text("utf-8"), support_table()


def test_the_refusal_of_a_wide_full_density_stands_on_the_page():
    assert f"at most {LARGEST_IN_ONNX} columns" in PAGE.read_text("utf-8")


HAS_COMPILER = bool(shutil.which("g++") or shutil.which("clang++"))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_COMPILER, reason="inductor needs a C++ compiler")
@pytest.mark.parametrize("kind", TYPES)
def test_machine_code_for_several_batches_gives_the_same(kind):
    layer = make_layer(kind, torch.float32)
    check_compiled(layer, kind, 1e-5, sizes=(33, 8), backend="inductor")


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_other_layers_are_compiled_and_exported(kind):
    for layer in make_layers(kind, torch.float32)[1:]:
        check_compiled(layer, kind, 1e-5, backend="aot_eager")
        assert_same_map(export(layer, kind, strict=True), layer, kind, 1e-5)
        assert_same_map(onnx_session(layer, kind), layer, kind, 1e-5)


class SideBySide(nn.Module):
    """One layer for each activation, over one density."""

    def __init__(self, kind, activations):
        super().__init__()
        layers = [make_layer(kind, torch.float32, activation=a) for a in activations]
        for layer in layers:
            layer.density = layers[0].density
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return torch.cat([layer(x) for layer in self.layers], 1)


def test_layers_that_share_a_density_keep_their_activations_in_export():
    """Torch wraps shared modules, and what is in them, in classes of its own."""
    model = SideBySide("diag", ["relu", "elu", "hardtanh"])
    assert_same_map(export(model, "diag", strict=False), model, "diag", 1e-5)


def test_a_subclass_has_the_expectation_of_what_it_computes():
    class Renamed(nn.ReLU):
        pass

    class Raised(nn.ReLU):
        def forward(self, x):
            return super().forward(x) + 1.0

    mean, variance = torch.tensor([0.3, -1.0]), torch.tensor([1.0, 0.5])
    plain = ExpectedActivation("relu")(mean, variance)
    assert_close(ExpectedActivation(Renamed())(mean, variance), plain, 1e-6)
    raised = ExpectedActivation(Raised())  # by quadrature
    assert_close(raised(mean, variance), plain + 1.0, 0.02)
    square = ExpectedActivation("relu").second_moment(mean, variance)
    expected = square + 2.0 * plain + 1.0
    assert_close(raised.second_moment(mean, variance), expected, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_every_activation_in_onnx(kind):
    assert len(_NAMES) == 15
    model = SideBySide(kind, _NAMES)
    assert_same_map(onnx_session(model, kind), model, kind, 1e-5)


@pytest.mark.parametrize("activation", ["identity", "sin", "cos"])
def test_traced_onnx_is_right_on_new_patterns_where_it_has_the_operators(activation):
    layer = make_layer("diag", torch.float32, activation=activation)
    options = {"dynamo": False, "dynamic_axes": {"x": {0: "batch"}}}
    assert_same_map(onnx_session(layer, "diag", **options), layer, "diag", 1e-5)


def test_full_covariances_beyond_the_unrolled_size():
    n_features = LARGEST_UNROLLED + 2
    options = {"n_features": n_features}
    layer = make_layer("full", torch.float32, **options)
    program = export(layer, "full", strict=True, **options)
    for function in (program, vmap(layer)):
        assert_same_map(function, layer, "full", 1e-5, **options)


def test_an_exported_layer_takes_a_mask():
    layer, x = make_layer("diag", torch.float32), make_rows("diag", 5, torch.float32)
    mask, batch = ~torch.isnan(x), {0: Dim("batch")}
    program = torch.export.export(
        layer, (x.nan_to_num(), mask), dynamic_shapes=(batch, batch)
    ).module()
    x = make_rows("diag", 33, torch.float32)
    assert_close(program(x.nan_to_num(), ~torch.isnan(x)), layer(x), 1e-5)


@pytest.mark.parametrize("kind", TYPES)
def test_functions_under_vmap_agree(kind):
    """The checks of components look at values; under a transform they must not."""
    components, x = make_density(kind).components, make_rows(kind)
    got = vmap(lambda row: log_likelihood(row[None], components, gamma=0.1)[0])(x)
    assert_close(got, log_likelihood(x, components, gamma=0.1), 1e-10)
    got = vmap(lambda row: condition(row[None], components, gamma=0.1).mean()[0])(x)
    assert_close(got, condition(x, components, gamma=0.1).mean(), 1e-10)


def test_a_number_for_gamma_as_saved_by_0_1_loads():
    layer = make_layer("diag")
    state = layer.state_dict()
    state["density.log_gamma"] = state["density.log_gamma"].squeeze()
    other = ExpectedLinear(4, 5, GaussianMixtureDensity(3, 4), indicator=True).double()
    other.prune = 0.0
    other.load_state_dict(state)
    assert torch.equal(other(make_rows("diag")), layer(make_rows("diag")))


def test_a_gamma_for_each_column_survives_the_meta_device():
    gamma = torch.arange(1.0, 9.0)
    gamma[3:5], gamma[5:] = 4.5, 7.0  # the columns of a category share theirs
    density = MixedMixtureDensity(2, 3, (2, 3), gamma=gamma, device="meta")
    density.to_empty(device="cpu").reset_parameters()
    assert_close(density.gamma, gamma, 1e-6)


def test_a_density_without_its_methods_is_abstract():
    class Half(MixtureDensity):
        n_features = 2

    with pytest.raises(TypeError, match="abstract"):
        Half()


@pytest.mark.filterwarnings("ignore:.*prototype stage:UserWarning")
def test_other_kinds_of_tensors_are_refused():
    nested = torch.nested.nested_tensor([torch.zeros(2, 4)])
    mask = torch.ones(2, 4, dtype=torch.bool)
    hidden = torch.masked.masked_tensor(torch.zeros(2, 4), mask)
    layer, radial, _ = make_layers("diag", torch.float32)
    for tensor, name in ((nested, "NestedTensor"), (hidden, "MaskedTensor")):
        for function in (layer, radial, layer.density.condition, layer.density):
            with pytest.raises(TypeError, match=f"Got x of type {name}"):
                function(tensor)


@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
@pytest.mark.parametrize("kind", ["diag", "factor", "full"])
def test_large_values_leave_gradients_finite(kind, size):
    """In single precision, and in standard deviations: the range of the page."""
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        rank = 2 if kind == "factor" else None
        density = GaussianMixtureDensity(
            3, 6, covariance_type=kind, rank=rank, generator=generator
        )
        x = size * torch.randn(16, 6, generator=generator)
        x[torch.rand(16, 6, generator=generator) < 0.3] = torch.nan
        for activation in ("relu", "elu", "tanh", "gelu"):
            layer = ExpectedLinear(
                6, 5, density, activation=activation, generator=generator
            )
            out = layer(x)
            out.mean().backward()
            assert torch.isfinite(out).all()
            assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


@pytest.mark.parametrize("kind", ["diag", "factor", "full"])
def test_outputs_stay_finite_however_large_the_values(kind):
    layer = make_layer(kind, torch.float32)
    assert torch.isfinite(layer(1e37 * make_rows(kind, 33, torch.float32))).all()
