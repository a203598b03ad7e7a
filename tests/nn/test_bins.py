"""The laws of the layer over bins, against all completions of a row."""

import itertools

import pytest
import torch
from oracle import make_mixed
from torch.func import functional_call

from lacunet.density import GaussianMixtureDensity, MixedMixtureDensity
from lacunet.functional import DiagComponents, MixedComponents
from lacunet.nn import ExpectedBins

# Three numbers, the second of one bin, then categories of two and three values.
EDGES = [[-0.5, 0.3, 1.0], [], [0.2]]
CENTRES = [[-1.0, 0.1, 0.6, 1.5], [0.3], [-0.4, 0.9]]
N_EDGES, SIZES = (3, 0, 1), (2, 3)
ALL_SIZES = (4, 1, 2, *SIZES)
NAN = torch.nan
# Complete, partly observed and empty rows, in no order.
ROWS = [
    [0.7, NAN, -1.3, NAN, NAN, 0.0, 0.0, 1.0],
    [-2.0, 0.4, 0.1, 1.0, 0.0, 0.0, 1.0, 0.0],
    [NAN, 1.1, NAN, 0.0, 1.0, NAN, NAN, NAN],
    [NAN] * 8,
    [1.2, -0.8, 2.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    [0.4, -0.2, NAN, 1.0, 0.0, 0.0, 0.0, 1.0],
]


def batch(dtype=torch.float64):
    return torch.tensor(ROWS, dtype=dtype)


def make_layer(activation="gelu", dtype=torch.float64, density=None, **options):
    if density is None:
        components = make_mixed("diag", 0, ALL_SIZES, dtype=dtype)
        density = MixedMixtureDensity.from_components(components, gamma=0.0)
    layer = ExpectedBins(
        N_EDGES,
        SIZES,
        5,
        density,
        activation=activation,
        generator=torch.Generator().manual_seed(0),
        dtype=dtype,
        **{"prune": 0.0, **options},
    )
    layer.set_bins(EDGES, CENTRES)
    return layer


def test_parameters_and_buffers_are_made_on_the_device():
    layer = make_layer(device="cpu")
    elsewhere = ExpectedBins(N_EDGES, SIZES, 5, layer.density, device="meta")
    tensors = [*elsewhere.parameters(recurse=False), *elsewhere.buffers(recurse=False)]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert layer.density.level_logits.device.type == "cpu"


def pre_activation(layer, row):
    """Return what a complete row is mapped to, from the definition."""
    out = layer.bias + row[:3] @ layer.value_weight
    start = 0
    for value, edges in zip(row, EDGES, strict=False):
        for place, edge in enumerate(edges):
            # The first weight of a number is not in use: it has no edge below it.
            out = out + layer.weight[start + place + 1] * (value > edge)
        start += len(edges) + 1
    return out + row[3:] @ layer.weight[start:]


def completions(layer, row):
    """Return all completions of a row, and their probabilities by Bayes' rule."""
    columns = []  # for each, the possible cells and their places among all bins
    starts = [0, 4, 5, 7, 9]
    for column, start in enumerate(starts[:3]):
        edges, centres = torch.tensor(EDGES[column]), CENTRES[column]
        if row[column].isnan():
            options = [([centre], start + i) for i, centre in enumerate(centres)]
        else:
            place = start + int((row[column] > edges).sum())
            options = [([float(row[column])], place)]
        columns.append(options)
    for cells, size, start in zip(row[3:].split(SIZES), SIZES, starts[3:], strict=True):
        values = range(size) if cells.isnan().any() else [int(cells.argmax())]
        one_hot = torch.eye(size).tolist()
        columns.append([(one_hot[value], start + value) for value in values])
    rows, joint = [], []
    for combination in itertools.product(*columns):
        rows.append([cell for cells, _ in combination for cell in cells])
        places = [place for _, place in combination]
        of_classes = layer.density.probabilities[:, places].prod(1)
        joint.append(of_classes @ layer.density.weights)
    joint = torch.stack(joint).detach()
    return torch.tensor(rows, dtype=row.dtype), joint / joint.sum()


# --- against completions


@pytest.mark.parametrize("activation", ["identity", torch.square])
def test_mean_and_variance_of_the_pre_activation_are_exact(activation):
    """Both activations see no more than these, whatever the distribution."""
    layer, x = make_layer(activation), batch()
    with torch.no_grad():
        out = layer(x)
        for row, found in zip(x, out, strict=True):
            rows, probabilities = completions(layer, row)
            mapped = torch.stack([pre_activation(layer, each) for each in rows])
            known = layer.activation.known(mapped)
            torch.testing.assert_close(found, probabilities @ known, rtol=1e-6, atol=0)


@pytest.mark.parametrize(("n_missing", "bound"), [(1, 0.025), (4, 0.01)])
def test_the_error_of_relu_is_as_stated(n_missing, bound):
    """By draws of the bins, with one class and a standard deviation of 0.6."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 8 * n_missing, generator=generator)
    none = torch.empty(1, 0)
    log_probabilities = logits.view(-1, 8).log_softmax(1).view(1, -1)
    components = MixedComponents(
        DiagComponents(torch.zeros(1), none, none), log_probabilities, (8,) * n_missing
    )
    density = MixedMixtureDensity.from_components(components)
    edges, centres = torch.arange(-3.0, 4.0) / 2, torch.linspace(-1.75, 1.75, 8)
    layers = []
    for activation in ("identity", "relu", torch.square):
        layer = ExpectedBins(
            [7] * n_missing, [], 500, density, activation=activation, generator=source()
        )
        layer.set_bins([edges.tolist()] * n_missing, [centres.tolist()] * n_missing)
        layers.append(layer)
    nothing = torch.full((1, n_missing), NAN)
    with torch.no_grad():
        mean, square = layers[0](nothing), layers[2](nothing)
        scale = (0.6 / (square - mean**2).sqrt())[0]
        for layer in layers:
            layer.weight.mul_(scale)
            layer.value_weight.mul_(scale)
            layer.bias.mul_(scale)
        probabilities = density.probabilities.view(n_missing, 8)
        drawn = probabilities.multinomial(40_000, replacement=True, generator=generator)
        rows = centres[drawn.T]  # (draws, columns)
        error = (layers[1](nothing) - layers[1](rows).mean(0)).abs().mean()
    assert error < bound


def source():
    return torch.Generator().manual_seed(0)


def test_complete_rows_are_a_line_with_steps():
    layer, x = make_layer("relu"), batch()
    complete = [1, 4]
    plain = torch.stack([pre_activation(layer, x[row]).relu() for row in complete])
    torch.testing.assert_close(layer(x)[complete], plain)
    torch.testing.assert_close(layer(x[complete]), plain)
    torch.testing.assert_close(layer.complete(*layer.bins(x[complete])), plain)


def test_a_value_on_an_edge_is_in_the_bin_below():
    x = torch.tensor([[edge, 0.0, 0.0] for edge in EDGES[0]], dtype=torch.float64)
    x = torch.cat((x, batch()[1, 3:].expand(3, -1)), 1)
    above = x.clone()
    above[:, 0] += 1e-9
    known, beyond = make_layer().bins(torch.cat((x, above)))
    assert known[:, :4].argmax(1).tolist() == [0, 1, 2, 1, 2, 3]
    centres = torch.tensor(CENTRES[0], dtype=torch.float64)
    torch.testing.assert_close(beyond[:3, 0], x[:, 0] - centres[:3])


def test_rows_do_not_depend_on_order_or_neighbours():
    layer, x = make_layer(), batch()
    out = layer(x)
    order = torch.tensor([5, 2, 0, 3, 1, 4])
    torch.testing.assert_close(layer(x[order]), out[order])
    for row in range(len(x)):
        torch.testing.assert_close(layer(x[row : row + 1])[0], out[row])


def test_a_layer_may_be_without_numbers_or_without_categories():
    for n_edges, sizes, x in (
        ([], [2], [[NAN, NAN], [0.0, 1.0]]),
        ([1], [], [[NAN], [0.5]]),
        ([0], [], [[NAN], [0.5]]),
    ):
        all_sizes = (*(n + 1 for n in n_edges), *sizes)
        layer = ExpectedBins(n_edges, sizes, 3, MixedMixtureDensity(2, 0, all_sizes))
        layer.set_bins([[0.0] * n for n in n_edges], [[1.0] * (n + 1) for n in n_edges])
        assert torch.isfinite(layer(torch.tensor(x))).all()


def test_bins_are_saved_with_the_weights():
    layer = make_layer()
    other = ExpectedBins(N_EDGES, SIZES, 5, layer.density, dtype=torch.float64)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.edges, layer.edges)
    assert torch.equal(other.centres, layer.centres)


# --- gradients


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_gradients_are_those_of_differences(activation):
    layer, x = make_layer(activation), batch()
    parameters = dict(layer.named_parameters())
    assert "density.level_logits" in parameters

    def forward(*tensors):
        named = dict(zip(parameters, tensors, strict=True))
        return functional_call(layer, named, (x,))

    assert torch.autograd.gradcheck(forward, tuple(parameters.values()))


def gradients(layer, x):
    layer.zero_grad()
    layer(x).square().sum().backward()
    return [layer.weight.grad, layer.value_weight.grad, layer.bias.grad]


def test_without_gradients_of_variances_outputs_and_those_of_means_are_the_same():
    x = batch()
    with_them, without = (
        make_layer("relu", variance_gradient=given) for given in (True, False)
    )
    torch.testing.assert_close(without(x), with_them(x))
    complete = x[[1, 4]]
    torch.testing.assert_close(
        gradients(without, complete), gradients(with_them, complete)
    )
    one, other = gradients(without, x)[0], gradients(with_them, x)[0]
    assert not torch.allclose(one, other)
    lines = (make_layer("identity", variance_gradient=given) for given in (True, False))
    torch.testing.assert_close(*(gradients(line, x) for line in lines))


@pytest.mark.parametrize("variance_gradient", [True, False])
@pytest.mark.parametrize("prune", [0.0, 1e-3])
@pytest.mark.parametrize("activation", ["relu", "gelu", "tanh"])
def test_gradients_are_numbers_also_where_nothing_is_uncertain(
    activation, prune, variance_gradient
):
    """A class that knows its bin has variance 0, whose root has no slope."""
    components = make_mixed("diag", 0, ALL_SIZES, dtype=torch.float32)
    certain = torch.full((3, 12), -torch.inf)
    certain[:, [0, 4, 5, 7, 9]] = 0.0
    sure = components._replace(log_probabilities=certain)
    for each in (components, sure):
        density = MixedMixtureDensity.from_components(each)
        layer = make_layer(
            activation,
            torch.float32,
            density,
            prune=prune,
            variance_gradient=variance_gradient,
        )
        layer(batch(torch.float32)).square().sum().backward()
        for name, parameter in layer.named_parameters():
            if parameter.grad is not None:
                assert torch.isfinite(parameter.grad).all(), name


# --- errors


@pytest.mark.parametrize(
    ("edges", "centres", "match"),
    [
        ([[0.0], [], [0.2]], CENTRES, "Got 1 edges and 4 centres.* 3 and 4"),
        (EDGES, [[0.0] * 3, [0.3], [0.0] * 2], "Got 3 edges and 3 centres.* 3 and 4"),
        (EDGES[:2], CENTRES, "edges of 2 columns and centres of 3.* expected 3"),
        ([[1.0, 0.3, 2.0], [], [0.2]], CENTRES, "finite.* increasing"),
        ([[0.1, 0.3, torch.inf], [], [0.2]], CENTRES, "finite.* increasing"),
    ],
)
def test_other_bins_than_announced_are_refused(edges, centres, match):
    with pytest.raises(ValueError, match=match):
        make_layer().set_bins(edges, centres)


def test_other_densities_than_latent_classes_over_the_bins_are_refused():
    with pytest.raises(TypeError, match="GaussianMixtureDensity.*bin_gaussians"):
        make_layer(density=GaussianMixtureDensity(2, 8))
    with pytest.raises(ValueError, match="over 3 numbers.* expected no numbers"):
        make_layer(density=MixedMixtureDensity(2, 3, SIZES))
    with pytest.raises(ValueError, match=r"expected no numbers and sizes \(4, 1, 2"):
        make_layer(density=MixedMixtureDensity(2, 0, (4, 2, *SIZES)))


def test_other_shapes_and_dtypes_are_refused():
    layer = make_layer()
    for x in (batch()[:, :7], batch()[None]):
        with pytest.raises(ValueError, match=r"Got x of shape .* 8\)"):
            layer(x)
    with pytest.raises(TypeError, match="Got x of dtype torch.float32"):
        layer(batch(torch.float32))


def test_autocast_leaves_the_layer_in_full_precision():
    layer, x = make_layer(dtype=torch.float32), batch(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(x)
    torch.testing.assert_close(out, layer(x))
