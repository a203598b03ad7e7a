"""Components of small weight are left out, and that is all that changes."""

import pytest
import torch
from oracle import KINDS, make_components, make_mixed, mixed_batch, mixed_rows
from torch import nn

from lacunet.density import GaussianMixtureDensity, MixedMixtureDensity
from lacunet.nn import ExpectedConv1d, ExpectedLinear

CASES = [*KINDS, "mixed"]


def density_and_rows(kind, spread=2.0):
    """Components that some rows belong to and others do not."""
    if kind == "mixed":
        components = make_mixed("diag")
        numbers = components.gaussian
        numbers = numbers._replace(means=spread * numbers.means)
        density = MixedMixtureDensity.from_components(
            components._replace(gaussian=numbers), gamma=0.1
        )
        return density, mixed_rows()
    components = make_components(kind)
    components = components._replace(means=spread * components.means)
    density = GaussianMixtureDensity.from_components(components, gamma=0.1)
    return density, mixed_batch()


def make_layer(kind, prune, activation="relu"):
    density, x = density_and_rows(kind)
    layer = ExpectedLinear(
        x.shape[1],
        5,
        density,
        activation=activation,
        indicator=True,
        prune=prune,
        generator=torch.Generator().manual_seed(0),
        dtype=torch.float64,
    )
    nn.init.normal_(layer.indicator_weight, generator=torch.Generator().manual_seed(1))
    return layer, x


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("kind", CASES)
def test_output_is_the_mean_over_the_components_that_are_kept(kind, activation):
    prune = 0.05
    layer, x = make_layer(kind, prune, activation)
    weights = layer.density.condition(x).weights
    kept = weights >= prune
    assert 0 < (~kept).sum() < kept.numel()
    truth = torch.zeros(len(x), 5, dtype=torch.float64)
    for k in range(weights.shape[1]):
        alone, _ = make_layer(kind, 0.0, activation)
        gaussian = getattr(alone.density, "gaussian", alone.density)
        with torch.no_grad():  # one component, as if all rows were its own
            gaussian.logits.fill_(-1e6)
            gaussian.logits[k] = 0.0
        truth += (weights * kept)[:, k : k + 1] * alone(x)
    truth /= (weights * kept).sum(1, keepdim=True)
    torch.testing.assert_close(layer(x), truth)


@pytest.mark.parametrize("kind", CASES)
def test_error_is_within_the_weight_that_is_left_out(kind):
    (pruned, x), (exact, _) = make_layer(kind, 1e-3), make_layer(kind, 0.0)
    error = (pruned(x) - exact(x)).abs().max()
    assert 0.0 < error < 3 * 1e-3 * exact(x).abs().max()


@pytest.mark.parametrize("kind", CASES)
def test_rows_do_not_depend_on_each_other(kind):
    layer, x = make_layer(kind, 0.05)
    alone = torch.cat([layer(row[None]) for row in x])
    torch.testing.assert_close(layer(x), alone)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(layer(x[order]), alone[order])


@pytest.mark.parametrize("kind", CASES)
def test_gradients_match_finite_differences(kind):
    layer, x = make_layer(kind, 0.05)
    names, values = zip(*layer.named_parameters(), strict=True)
    inputs = [value.detach().clone().requires_grad_() for value in values]

    def respond(*inputs):
        parameters = dict(zip(names, inputs, strict=True))
        # Not functional_call, under which nothing is pruned away from this test.
        for name, value in parameters.items():
            module, _, last = name.rpartition(".")
            owner = layer.get_submodule(module)
            owner._parameters.pop(last, None)
            object.__setattr__(owner, last, value)
        return layer(x)

    assert torch.autograd.gradcheck(respond, inputs)


@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_convolution_leaves_out_the_same(kind):
    density, x = density_and_rows(kind)
    options = {"kernel_size": 2, "dtype": torch.float64}
    layers = [
        ExpectedConv1d(
            1,
            3,
            density,
            prune=prune,
            generator=torch.Generator().manual_seed(0),
            **options,
        )
        for prune in (1e-3, 0.0)
    ]
    pruned, exact = (layer(x[:, None]) for layer in layers)
    assert 0.0 < (pruned - exact).abs().max() < 1e-2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n_components", [2, 10, 100, 1080])
def test_a_row_keeps_at_least_one_component(n_components, dtype):
    # Of equal weights none is the largest by more than rounding.
    density = GaussianMixtureDensity(n_components, 2, dtype=dtype)
    layer = ExpectedLinear(2, 3, density, prune=0.9, dtype=dtype)
    exact = ExpectedLinear.from_linear(
        nn.Linear(2, 3, dtype=dtype), layer.density, prune=0.0
    )
    exact.load_state_dict(layer.state_dict())
    nothing = torch.full((1, 2), torch.nan, dtype=dtype)
    weights = density.condition(nothing).pairs(0.9)[1]
    torch.testing.assert_close(weights.sum(), torch.ones((), dtype=dtype))
    torch.testing.assert_close(layer(nothing), exact(nothing))


@pytest.mark.parametrize("prune", [-0.1, 1.0, float("nan"), "no", True])
def test_bad_threshold_is_refused(prune):
    with pytest.raises(ValueError, match="Got prune="):
        ExpectedLinear(2, 3, GaussianMixtureDensity(1, 2), prune=prune)
