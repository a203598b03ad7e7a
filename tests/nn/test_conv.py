"""Expected convolutions: the plain ones on known pixels, Monte Carlo on the others."""

import pytest
import torch
from oracle import draw_rows, make_components, standard_errors
from torch import nn

from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedConv1d, ExpectedConv2d

GAMMA = 0.3
OPTIONS = [
    {},
    {"stride": 2, "padding": 1},
    {"padding": "same", "dilation": 2},
    {"groups": 2, "bias": False},
]


def make_images(shape, seed=0):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(5, *shape, generator=rng, dtype=torch.float64)
    x[0, :, 1:3] = torch.nan
    x[2, 0, 2] = torch.nan
    x[4] = torch.nan
    return x


def make_layer(kind, shape, **options):
    n_features = int(torch.tensor(shape).prod())
    density = GaussianMixtureDensity.from_components(
        make_components(kind, 2, n_features), gamma=GAMMA
    )
    layer = ExpectedConv1d if len(shape) == 2 else ExpectedConv2d
    options = {"kernel_size": 2, "dtype": torch.float64} | options
    return layer(shape[0], 4, density, **options)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", [(2, 6), (2, 4, 3)])
@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_complete_images_are_the_plain_convolution(kind, shape, options, monkeypatch):
    layer = make_layer(kind, shape, **options)
    x = make_images(shape)
    plain = torch.relu(layer.convolution(x[[1, 3]]))
    torch.testing.assert_close(layer(x)[[1, 3]], plain)
    torch.testing.assert_close(layer(x[[1, 3]]), plain)
    monkeypatch.setattr("lacunet.nn._expected.incomplete_rows", lambda x: (None, None))
    torch.testing.assert_close(layer(x)[[1, 3]], plain)


@pytest.mark.parametrize("options", [OPTIONS[1], OPTIONS[3]])
@pytest.mark.parametrize("shape", [(2, 6), (2, 4, 3)])
@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_matches_monte_carlo(kind, shape, options):
    layer = make_layer(kind, shape, activation="tanh", **options)
    image = make_images(shape)[0]
    draws, _ = draw_rows(
        image.flatten().numpy(), layer.density.components, GAMMA, 20_000
    )
    with torch.no_grad():
        plain = torch.tanh(layer.convolution(draws.view(-1, *shape)))
        errors = standard_errors(plain, layer(image))
    certain = plain.std(0) < 1e-9
    assert (errors[~certain] < 4).all()
    torch.testing.assert_close(plain[0][certain], layer(image)[certain])


@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_gradients_are_finite_and_reach_everything(kind):
    layer = make_layer(kind, (1, 4, 4), activation="relu").float()
    x = make_images((1, 4, 4)).float()
    layer(x).square().sum().backward()
    for parameter in layer.parameters():
        assert torch.isfinite(parameter.grad).all()
        assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_passes_gradcheck(kind):
    layer = make_layer(kind, (1, 3, 2), activation="gelu")
    names = [name for name, _ in layer.named_parameters()]
    start = tuple(p.detach().clone().requires_grad_() for p in layer.parameters())

    def forward(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, given, (make_images((1, 3, 2)),))

    assert torch.autograd.gradcheck(forward, start)


def test_one_image_without_a_batch_is_taken():
    layer = make_layer("diag", (1, 4, 4))
    x = make_images((1, 4, 4))
    torch.testing.assert_close(layer(x[0]), layer(x)[0])


def test_from_conv_takes_weights_and_settings_over():
    plain = nn.Conv2d(1, 3, 3, stride=2, padding=1, bias=False)
    density = GaussianMixtureDensity(2, 25)
    state = torch.get_rng_state()
    layer = ExpectedConv2d.from_conv(plain, density, "relu")
    assert torch.equal(torch.get_rng_state(), state)
    assert layer.weight is not plain.weight
    x = torch.randn(2, 1, 5, 5)
    torch.testing.assert_close(layer(x), torch.relu(plain(x)))
    assert layer.bias is None


@pytest.mark.parametrize("layer", [ExpectedConv1d, ExpectedConv2d])
def test_start_is_torchs_own_from_the_generator(layer):
    density = GaussianMixtureDensity(2, 16)
    plain = {ExpectedConv1d: nn.Conv1d, ExpectedConv2d: nn.Conv2d}[layer]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        theirs = plain(1, 4, 3)
    state = torch.get_rng_state()
    generator = torch.Generator().manual_seed(3)
    ours = layer(1, 4, density, kernel_size=3, generator=generator)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)


def test_bad_input_is_refused():
    layer = make_layer("diag", (1, 4, 4))
    density = layer.density
    with pytest.raises(ValueError, match=r"expected \(batch, 1, height, width\)"):
        layer(torch.zeros(2, 3, 4, 4).double())
    with pytest.raises(ValueError, match="25 values each, but expected 16"):
        layer(torch.zeros(2, 1, 5, 5).double())
    with pytest.raises(TypeError, match="torch.int64"):
        layer(torch.zeros(2, 1, 4, 4).long())
    with pytest.raises(ValueError, match="infinite"):
        layer(torch.full((1, 1, 4, 4), torch.inf).double())
    full = GaussianMixtureDensity(1, 16, covariance_type="full")
    with pytest.raises(ValueError, match="'diag' or 'factor'"):
        ExpectedConv2d(1, 2, full, kernel_size=2)
    with pytest.raises(ValueError, match="padding_mode='circular'"):
        ExpectedConv2d.from_conv(nn.Conv2d(1, 2, 2, padding_mode="circular"), density)
    with pytest.raises(TypeError, match="Got Linear"):
        ExpectedConv1d.from_conv(nn.Linear(2, 2), density)
