"""The laws of the expected linear layer, over covariance types and activations."""

import numpy as np
import pytest
import torch
from oracle import KINDS, draw_rows, make_components, mixed_batch, standard_errors
from torch import nn

from lacunet.density import GaussianMixtureDensity
from lacunet.functional import DiagComponents
from lacunet.nn import ExpectedLinear

GAMMA = 0.3
NAMES = (
    "cos",
    "elu",
    "erf",
    "gelu",
    "hardtanh",
    "identity",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "sin",
    "softplus",
    "tanh",
)


def make_layer(
    kind="diag", activation="relu", hidden=6, dtype=torch.float64, **options
):
    components = make_components(kind, dtype=dtype)
    density = GaussianMixtureDensity.from_components(components, gamma=GAMMA)
    return ExpectedLinear(
        4,
        hidden,
        density,
        activation=activation,
        generator=torch.Generator().manual_seed(0),
        dtype=dtype,
        **options,
    )


@pytest.fixture(params=KINDS)
def layer(request):
    return make_layer(request.param)


def monte_carlo_errors(layer, row, n):
    draws, _ = draw_rows(row.numpy(), layer.density.components, GAMMA, n)
    with torch.no_grad():
        return standard_errors(layer(draws), layer(row[None])[0])


@pytest.mark.parametrize("activation", ["relu", "tanh", "gelu"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", [7, 0, 3])  # one missing, some missing, all missing
def test_matches_monte_carlo(kind, activation, row):
    errors = monte_carlo_errors(
        make_layer(kind, activation), mixed_batch()[row], 40_000
    )
    assert (errors < 4).all()


@pytest.mark.slow
@pytest.mark.parametrize("activation", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_matches_a_million_draws(kind, activation):
    errors = monte_carlo_errors(make_layer(kind, activation), mixed_batch()[0], 10**6)
    assert (errors < 4).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", NAMES)
def test_complete_rows_are_the_plain_layer(activation, kind):
    layer = make_layer(kind, activation)
    x = mixed_batch()
    complete = [1, 5]
    plain = layer.activation.known(nn.functional.linear(x, layer.weight, layer.bias))
    torch.testing.assert_close(layer(x)[complete], plain[complete], atol=1e-6, rtol=0)
    torch.testing.assert_close(layer(x[complete]), plain[complete])


def test_dense_way_agrees_on_complete_rows(layer, monkeypatch):
    """Compiled code takes the expected way for all rows: it must be the plain one."""
    x = mixed_batch()
    plain = layer(x)
    monkeypatch.setattr("lacunet.nn._expected.incomplete_rows", lambda x: (None, None))
    torch.testing.assert_close(layer(x), plain)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "identity", "tanh"])
def test_variance_matches_monte_carlo_and_is_0_where_nothing_is_missing(activation):
    for kind in KINDS:
        layer, x = make_layer(kind, activation, prune=0.0), mixed_batch()
        with torch.no_grad():
            mean, variance = layer.mean_and_variance(x)
            torch.testing.assert_close(mean, layer(x))
            assert (variance[[1, 5]] < 1e-12).all()
            rows = draw_rows(x[0].numpy(), layer.density.components, GAMMA, 40_000)[0]
            squares = (layer(rows) - mean[0]).square()
            assert (standard_errors(squares, variance[0]) < 4).all()


def test_output_does_not_depend_on_order_or_neighbours(layer):
    x = mixed_batch()
    out = layer(x)
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    torch.testing.assert_close(layer(x[order]), out[order])
    for i in range(len(x)):
        torch.testing.assert_close(layer(x[i : i + 1])[0], out[i])


def test_any_leading_shape_is_taken(layer):
    x = mixed_batch()
    out = layer(x)
    torch.testing.assert_close(layer(x.view(2, 1, 4, 4)), out.view(2, 1, 4, 6))
    torch.testing.assert_close(layer(x[0]), out[0])


def test_zero_variance_is_imputation_by_the_mean():
    components = make_components("diag")
    components = components._replace(variances=torch.full_like(components.means, 1e-32))
    one = DiagComponents(torch.zeros(1).double(), *(t[:1] for t in components[1:]))
    density = GaussianMixtureDensity.from_components(one, gamma=GAMMA)
    layer = ExpectedLinear(4, 6, density, dtype=torch.float64)
    x = mixed_batch()
    filled = torch.where(torch.isnan(x), one.means, x)
    torch.testing.assert_close(layer(x), layer(filled))


def test_gamma_to_zero_is_the_conditional_density(layer):
    x = mixed_batch()
    with torch.no_grad():
        outs = []
        for log_gamma in (-1e4, -25.0):
            layer.density.log_gamma.fill_(log_gamma)
            outs.append(layer(x))
        torch.testing.assert_close(outs[1], outs[0], atol=1e-6, rtol=1e-6)
        draws, _ = draw_rows(x[0].numpy(), layer.density.components, 0.0, 40_000)
        assert (standard_errors(layer(draws), outs[0][0]) < 4).all()


def test_gamma_to_infinity_is_the_marginal_density(layer):
    x = mixed_batch()
    with torch.no_grad():
        layer.density.log_gamma.fill_(35.0)
        draws, _ = draw_rows(x[0].numpy(), layer.density.components, 1e15, 40_000)
        assert (standard_errors(layer(draws), layer(x)[0]) < 4).all()


@pytest.mark.parametrize("indicator", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck_on_batches_that_mix_complete_partial_and_empty_rows(kind, indicator):
    layer = make_layer(kind, hidden=2, indicator=indicator)
    names = [name for name, _ in layer.named_parameters()]
    start = tuple(p.detach().clone().requires_grad_() for p in layer.parameters())

    def forward(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, given, (mixed_batch(),))

    assert torch.autograd.gradcheck(forward, start)


@pytest.mark.parametrize("activation", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_finite_on_mixed_batches(kind, activation):
    layer = make_layer(kind, activation, dtype=torch.float32)
    x = mixed_batch(dtype=torch.float32).requires_grad_()
    layer(x).sum().backward()
    for parameter in layer.parameters():
        assert torch.isfinite(parameter.grad).all()
    assert torch.isfinite(x.grad).all()
    assert (x.grad[torch.isnan(x)] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck_of_the_input_where_it_is_observed(kind):
    layer = make_layer(kind, "gelu", hidden=2)
    missing = torch.isnan(mixed_batch())
    x = mixed_batch().nan_to_num().requires_grad_()

    def forward(values):
        return layer(values.masked_fill(missing, torch.nan))

    assert torch.autograd.gradcheck(forward, (x,))


def test_gradients_are_finite_where_weights_are_zero(layer):
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    layer(mixed_batch()).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


def test_nan_never_reaches_another_row(layer):
    x = torch.randn(6, 4, dtype=torch.float64)
    before = layer(x)
    x[2, 1] = torch.nan
    x[4] = torch.nan
    after = layer(x)
    same = [0, 1, 3, 5]
    torch.testing.assert_close(after[same], before[same])
    assert torch.isfinite(after).all()


def test_equal_components_equal_one():
    components = make_components("diag")
    one = DiagComponents(torch.zeros(1).double(), *(t[:1] for t in components[1:]))
    three = DiagComponents(
        torch.tensor([0.2, 0.3, 0.5]).double().log(),
        *(t[[0, 0, 0]] for t in components[1:]),
    )
    weight = nn.Linear(4, 6, dtype=torch.float64)
    outs = [
        ExpectedLinear.from_linear(
            weight, GaussianMixtureDensity.from_components(c, gamma=GAMMA)
        )(mixed_batch())
        for c in (one, three)
    ]
    torch.testing.assert_close(*outs)


def test_factor_and_full_layers_agree_on_the_same_covariance():
    factor = make_layer("factor")
    full = make_layer("full")
    full.load_state_dict({"weight": factor.weight, "bias": factor.bias}, strict=False)
    torch.testing.assert_close(full(mixed_batch()), factor(mixed_batch()))


def test_second_difference_of_relu_is_the_density():
    """Theorem 4.1's core: responses of ReLU units identify the distribution."""
    density = GaussianMixtureDensity.from_components(make_components("full"), gamma=0.3)
    direction = torch.randn(4, generator=torch.Generator().manual_seed(1)).double()
    step = 1e-3
    offsets = torch.linspace(-4, 4, 17).double()
    shifts = torch.stack([offsets - step, offsets, offsets + step])
    layer = ExpectedLinear(4, shifts.numel(), density, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(direction.expand(shifts.numel(), -1))
        layer.bias.copy_(shifts.flatten())
        out = layer(torch.full((1, 4), torch.nan).double()).view(3, -1)
        second = (out[0] - 2 * out[1] + out[2]) / step**2
        mean = density.means @ direction
        std = torch.einsum(
            "d,kde,e->k", direction, density.covariances, direction
        ).sqrt()
        normal = torch.distributions.Normal(mean[:, None], std[:, None])
        truth = density.weights @ normal.log_prob(-offsets).exp()
    np.testing.assert_allclose(second, truth, atol=1e-4)


def test_equal_moments_do_not_mean_equal_relu_responses():
    one = DiagComponents(torch.zeros(1), torch.zeros(1, 1), torch.ones(1, 1))
    two = DiagComponents(
        torch.tensor([0.5, 0.5]).log(),
        torch.tensor([[-0.8], [0.8]]),
        torch.full((2, 1), 1 - 0.8**2),
    )
    linear = nn.Linear(1, 1)
    nn.init.ones_(linear.weight)
    nn.init.zeros_(linear.bias)
    x = torch.full((1, 1), torch.nan)
    first, second = (
        ExpectedLinear.from_linear(linear, GaussianMixtureDensity.from_components(c))(x)
        for c in (one, two)
    )
    assert (first - second).abs().item() > 0.01


def test_indicator_starts_silent_and_learns_of_the_mask_alone():
    plain, speaking = make_layer(), make_layer(indicator=True)
    x = mixed_batch()
    torch.testing.assert_close(speaking(x), plain(x))
    speaking(x).sum().backward()
    assert speaking.indicator_weight.grad.abs().sum() > 0
    with torch.no_grad():
        speaking.indicator_weight.fill_(0.7)
    complete = [1, 5]
    torch.testing.assert_close(speaking(x)[complete], plain(x)[complete])
    assert not torch.allclose(speaking(x)[0], plain(x)[0])


def test_from_linear_takes_the_weights_over_and_leaves_the_global_rng_alone():
    linear = nn.Linear(4, 3, bias=False)
    density = GaussianMixtureDensity(2, 4)
    state = torch.get_rng_state()
    layer = ExpectedLinear.from_linear(linear, density, "tanh")
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(layer.weight, linear.weight)
    assert layer.weight is not linear.weight
    assert layer.bias is None
    assert (layer.in_features, layer.out_features) == (4, 3)
    x = torch.randn(5, 4)
    torch.testing.assert_close(layer(x), torch.tanh(linear(x)))


def test_slopes_a_unit_meet_their_own_units():
    """PReLU has a slope a unit; the components stand on the axis in between."""
    layer = make_layer(activation=nn.PReLU(6).double())
    with torch.no_grad():
        layer.activation.known.weight.copy_(torch.linspace(0, 1, 6))
    x = mixed_batch()
    linear = nn.Linear(4, 6, dtype=torch.float64)
    linear.load_state_dict({"weight": layer.weight, "bias": layer.bias})
    layers = [
        ExpectedLinear.from_linear(linear, layer.density, nn.LeakyReLU(slope))
        for slope in torch.linspace(0, 1, 6).tolist()
    ]
    truth = [each(x)[:, unit] for unit, each in enumerate(layers)]
    torch.testing.assert_close(layer(x), torch.stack(truth, 1))


def test_large_values_overflow_nothing_and_are_no_infinity(layer):
    layer = layer.float()
    x = torch.full((2, 4), 3e38)  # their sum is infinite, they are not
    x[1, 0] = torch.nan
    assert layer(x).shape == (2, 6)


@pytest.mark.parametrize(
    ("x", "error", "match"),
    [
        (torch.tensor([[1.0, torch.inf, 0.0, 0.0]]), ValueError, "infinite value"),
        (torch.tensor([[1.0, -torch.inf, torch.nan, 0.0]]), ValueError, "infinite"),
        (
            torch.tensor([[torch.inf] * 4, [torch.nan] * 4]),
            ValueError,
            "infinite value",
        ),
        (
            torch.tensor([[0.0] * 4, [0.0] * 4, [0.0, torch.inf, 0.0, 0.0]]),
            ValueError,
            r"at index \(2, 1\)",
        ),
        (torch.zeros(2, 5), ValueError, r"expected \(\*, 4\)"),
        (torch.zeros(()), ValueError, r"expected \(\*, 4\)"),
        (torch.zeros(2, 4, dtype=torch.int64), TypeError, "torch.int64"),
        (torch.zeros(2, 4, dtype=torch.bool), TypeError, "torch.bool"),
        (np.zeros((2, 4)), TypeError, "ndarray"),
        ([[None] * 4], TypeError, "list"),
        (torch.zeros(2, 4, dtype=torch.float64), TypeError, "layer.to"),
    ],
)
def test_bad_input_is_refused(x, error, match):
    layer = make_layer(dtype=torch.float32)
    with pytest.raises(error, match=match):
        layer(x)


def test_bad_arguments_are_refused():
    density = GaussianMixtureDensity(2, 4)
    with pytest.raises(ValueError, match="density over 4 features"):
        ExpectedLinear(5, 3, density)
    with pytest.raises(TypeError, match="GaussianMixtureDensity"):
        ExpectedLinear(4, 3, "density")
    with pytest.raises(ValueError, match="out_features=0"):
        ExpectedLinear(4, 0, density)
    with pytest.raises(ValueError, match="activation='rleu'"):
        ExpectedLinear(4, 3, density, activation="rleu")
    with pytest.raises(TypeError, match="activation of type int"):
        ExpectedLinear(4, 3, density, activation=3)
    with pytest.raises(TypeError, match="Got Conv1d"):
        ExpectedLinear.from_linear(nn.Conv1d(1, 1, 1), density)
    with pytest.raises(ValueError, match="activation Softmax"):
        ExpectedLinear(4, 3, density, activation=nn.Softmax(1))
    with pytest.raises(ValueError, match="activation Dropout"):
        ExpectedLinear(4, 3, density, activation=nn.Dropout())


def test_slopes_a_unit_are_refused_where_the_second_axis_is_another():
    layer = make_layer(activation=nn.PReLU(6).double())
    with pytest.raises(ValueError, match="6 slopes"):
        layer(mixed_batch().view(2, 4, 4))


def test_from_linear_keeps_frozen_weights_frozen():
    linear = nn.Linear(4, 3).requires_grad_(False)
    layer = ExpectedLinear.from_linear(linear, GaussianMixtureDensity(2, 4))
    assert not layer.weight.requires_grad
    assert not layer.bias.requires_grad


@pytest.mark.parametrize(
    "activation", [nn.Hardtanh(0.0, torch.inf), nn.Hardtanh(-torch.inf, 1.0)]
)
def test_one_sided_clipping_matches_monte_carlo(activation):
    layer = make_layer(activation=activation)
    assert (monte_carlo_errors(layer, mixed_batch()[0], 40_000) < 4).all()


@pytest.mark.parametrize("activation", ["relu", "tanh", "silu"])
def test_variance_of_a_complete_row_among_incomplete_ones_is_zero(activation):
    layer = make_layer("diag", activation, dtype=torch.float32)
    x = torch.full((64, 4), torch.nan)
    x[5] = torch.tensor([0.3, -1.2, 0.7, 2.0])
    _, variance = layer.mean_and_variance(x)
    assert not variance[5].any()
    assert (variance[:5].sum(1) > 0).all()
