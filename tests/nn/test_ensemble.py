"""Networks behind one first layer are what they are alone."""

import pytest
import torch
from torch import nn

from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedActivation, ExpectedLinear, PartlyLinear
from lacunet.nn._ensemble import LinearEnsemble, NetworkEnsemble

NAN = torch.nan


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def make_ensemble(n_networks=3, sizes=(5, 4), out=2, dropout=0.0, **options):
    density = GaussianMixtureDensity(2, 3, generator=seeded())
    first = ExpectedLinear(3, n_networks * sizes[0], density, generator=seeded(1))
    return NetworkEnsemble(
        first, n_networks, sizes, out, dropout=dropout, generator=seeded(2), **options
    )


def rows(n=6):
    x = torch.randn(n, 3, generator=seeded(3))
    return x.masked_fill(torch.rand(n, 3, generator=seeded(4)) < 0.3, NAN)


def test_each_layer_of_an_ensemble_is_a_linear_layer():
    layer = LinearEnsemble(3, 4, 2, generator=seeded())
    nn.init.normal_(layer.bias)
    x = torch.randn(3, 5, 4)
    for network, out in enumerate(layer(x)):
        expected = nn.functional.linear(
            x[network], layer.weight[network].T, layer.bias[network, 0]
        )
        torch.testing.assert_close(out, expected)


def test_weights_start_as_those_of_a_linear_layer_and_biases_at_zero():
    layer = LinearEnsemble(50, 16, 20, generator=seeded())
    assert layer.weight.abs().max() <= 0.25
    assert float(layer.weight.detach().std()) == pytest.approx(0.25 / 3**0.5, rel=0.02)
    assert not layer.bias.any()
    assert "50, 16, 20" in repr(layer)


def test_each_network_is_a_network_of_its_own():
    """By hand: its units of the first layer, then its own weights."""
    ensemble, x = make_ensemble(), rows()
    responses = ensemble.first(x).split(5, 1)
    for network, out in enumerate(ensemble(x)):
        middle, last = ensemble.layers
        hidden = torch.relu(
            responses[network] @ middle.weight[network] + middle.bias[network]
        )
        expected = hidden @ last.weight[network] + last.bias[network]
        torch.testing.assert_close(out, expected)


def test_the_gradient_of_one_network_does_not_reach_another():
    ensemble = make_ensemble()
    ensemble(rows())[1].sum().backward()
    of_first = ensemble.first.weight.grad.view(3, 5, 3)
    for grad in (of_first, *(layer.weight.grad for layer in ensemble.layers)):
        assert grad[1].any()
        assert not grad[0].any()
        assert not grad[2].any()


def test_hidden_is_what_a_depth_responds():
    ensemble, x = make_ensemble(sizes=(5, 4)), rows()
    assert ensemble.hidden(x, 0).shape == (3, 6, 5)
    assert ensemble.hidden(x, 1).shape == (3, 6, 4)
    torch.testing.assert_close(ensemble.layers[-1](ensemble.hidden(x, 1)), ensemble(x))


def test_the_out_activation_is_applied_to_the_outputs():
    plain, bounded = make_ensemble(), make_ensemble(out_activation="sigmoid")
    torch.testing.assert_close(bounded(rows()), plain(rows()).sigmoid())


# --- dropout


def test_nothing_is_dropped_in_evaluation_mode():
    ensemble = make_ensemble(dropout=0.5).eval()
    torch.testing.assert_close(ensemble(rows()), make_ensemble()(rows()))


def test_what_is_dropped_comes_from_the_generator_alone():
    ensemble = make_ensemble(dropout=0.5)
    before = torch.get_rng_state()
    one, two, other = (ensemble(rows(), seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_leaves_the_mean_of_the_next_layer_as_it_is():
    ensemble = make_ensemble(n_networks=1, sizes=(40,), out=1, dropout=0.3)
    source = seeded()
    with torch.no_grad():
        outs = ensemble(rows(1).expand(4000, -1), source)
        expected = ensemble.eval()(rows(1))
    assert outs.std() > 0
    assert abs(outs.mean() - expected) < 4 * outs.std() / 4000**0.5


# --- precision


def test_the_dtype_is_an_argument():
    ensemble = make_ensemble(dtype=torch.float64, dropout=0.5)
    assert {p.dtype for p in ensemble.layers.parameters()} == {torch.float64}
    x = torch.randn(1, 4, 5, dtype=torch.float64).expand(3, -1, -1)
    assert ensemble.layers[0](ensemble._drop(x, None)).dtype == torch.float64


def test_a_deep_network_of_sigmoids_starts_with_responses_that_differ():
    def responses(activation):
        networks = make_ensemble(2, (64,) * 6, activation=activation)
        with torch.no_grad():
            return networks.hidden(torch.randn(200, 3, generator=seeded(5)), 5)

    of_ours = responses("sigmoid")
    assert float(of_ours.mean()) == pytest.approx(0.5, abs=0.05)
    of_others = responses(lambda x: torch.sigmoid(x))  # an activation it doesn't know
    assert of_ours.std(1).mean() > 100 * of_others.std(1).mean()


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "elu", "leaky_relu"])
def test_a_deep_network_of_rectifiers_starts_with_responses_of_one_size(activation):
    networks = make_ensemble(2, (256,) * 6, activation=activation)
    x = torch.randn(200, 3, generator=seeded(5))
    with torch.no_grad():
        sizes = [networks.hidden(x, depth).square().mean() for depth in (1, 5)]
    assert 0.02 < sizes[1] / sizes[0] < 10.0  # below that without it


def test_networks_that_are_not_deep_start_as_torch_starts_linear_layers():
    networks = make_ensemble(2, (64, 64, 64), activation="relu")
    for layer in networks.layers:
        assert float(layer.weight.detach().abs().max()) <= 1 / 64**0.5


# --- a linear skip


@pytest.mark.parametrize("activation", ["relu", "gelu", torch.tanh])
def test_a_partly_linear_activation_expects_each_part_for_itself(activation):
    mean = torch.randn(6, 5, generator=seeded())
    variance = torch.rand(6, 5, generator=seeded(1))
    plain = ExpectedActivation(activation)
    partly = ExpectedActivation(PartlyLinear(activation, 2))
    torch.testing.assert_close(
        partly(mean, variance)[:, :3], plain(mean[:, :3], variance[:, :3])
    )
    assert torch.equal(partly(mean, variance)[:, 3:], mean[:, 3:])
    torch.testing.assert_close(partly.known(mean)[:, :3], plain.known(mean[:, :3]))
    assert torch.equal(partly.known(mean)[:, 3:], mean[:, 3:])


def test_units_beyond_the_hidden_ones_add_to_the_outputs():
    density = GaussianMixtureDensity(2, 3, generator=seeded())
    activation = PartlyLinear("relu", 3 * 2)
    first = ExpectedLinear(
        3, 3 * 5 + 3 * 2, density, activation=activation, generator=seeded(1)
    )
    with_skip = NetworkEnsemble(first, 3, (5, 4), 2, generator=seeded(2))
    units = ExpectedLinear(3, 3 * 5, density)
    line = ExpectedLinear(3, 3 * 2, density, activation="identity")
    with torch.no_grad():
        for layer, part in ((units, slice(15)), (line, slice(15, None))):
            layer.weight.copy_(first.weight[part])
            layer.bias.copy_(first.bias[part])
    without = NetworkEnsemble(units, 3, (5, 4), 2, generator=seeded(2))
    x = rows()
    skip = line(x).view(len(x), 3, 2).transpose(0, 1)
    torch.testing.assert_close(with_skip(x), without(x) + skip)
    torch.testing.assert_close(with_skip.hidden(x, 1), without.hidden(x, 1))
