"""The layers inside torch: sharing, second derivatives, numbers at the edges."""

import numpy as np
import pytest
import torch
from oracle import KINDS, make_components, mixed_batch
from torch import nn

from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture
from lacunet.nn import ExpectedConv2d, ExpectedLinear, ExpectedRBF


def test_a_shared_density_is_trained_by_both_layers():
    density = GaussianMixtureDensity(3, 4)
    first, second = ExpectedLinear(4, 2, density), ExpectedLinear(4, 3, density)
    model = nn.ModuleList([first, second])
    assert first.density is second.density
    assert sum(p is density.means for p in model.parameters()) == 1
    x = mixed_batch(dtype=torch.float32)
    gradients = []
    for layers in ((first,), (second,), (first, second)):
        model.zero_grad()
        sum(layer(x).sum() for layer in layers).backward()
        gradients.append(density.means.grad.clone())
    torch.testing.assert_close(gradients[0] + gradients[1], gradients[2])


@pytest.mark.parametrize("activation", ["relu", "elu", "gelu"])
@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_match_finite_differences(kind, activation):
    density = GaussianMixtureDensity.from_components(make_components(kind), gamma=0.3)
    layer = ExpectedLinear(4, 2, density, activation=activation, dtype=torch.float64)
    start = (layer.weight, density.means)
    weight, means = (t.detach().clone().requires_grad_() for t in start)

    def forward(weight, means):
        given = {"weight": weight, "density.means": means}
        return torch.func.functional_call(layer, given, (mixed_batch()[[0, 1, 6]],))

    assert torch.autograd.gradgradcheck(forward, (weight, means))


def test_full_density_in_single_precision_stays_positive():
    column = torch.randn(200, 1, generator=torch.Generator().manual_seed(0)).numpy()
    X = 10 * np.hstack([column, column, 0.1 * column])  # as good as singular
    mixture = IncompleteGaussianMixture(covariance_type="full").fit(X)
    x = torch.tensor(X, dtype=torch.float32)
    density = GaussianMixtureDensity.from_estimator(mixture)
    x[0, 1] = torch.nan
    assert torch.isfinite(density.log_prob(x)).all()
    assert torch.isfinite(ExpectedLinear(3, 2, density)(x)).all()


@pytest.mark.parametrize("optimiser", [torch.optim.Adam, torch.optim.AdamW])
def test_zero_gamma_survives_weight_decay(optimiser):
    density = GaussianMixtureDensity(2, 4, gamma=0.0)
    layer = ExpectedLinear(4, 3, density)
    step = optimiser(layer.parameters(), weight_decay=1e-2)
    x = mixed_batch(dtype=torch.float32)
    for _ in range(3):
        step.zero_grad()
        layer(x).sum().backward()
        step.step()
    assert torch.isfinite(layer(x)).all()
    assert density.gamma.item() == 0.0


def test_logarithms_that_run_off_stay_finite():
    density = GaussianMixtureDensity(2, 4)
    with torch.no_grad():
        density.log_variances.fill_(1e3)
        density.log_gamma.fill_(1e3)
    assert torch.isfinite(density.condition(mixed_batch().float()).weights).all()


def test_channels_last_images_are_taken():
    density = GaussianMixtureDensity.from_components(
        make_components("diag", dtype=torch.float32), gamma=0.3
    )
    layer = ExpectedConv2d(1, 3, density, kernel_size=2)
    x = mixed_batch(dtype=torch.float32).view(8, 1, 2, 2)
    truth = layer(x)
    layer = layer.to(memory_format=torch.channels_last)
    out = layer(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(out, truth)


@pytest.mark.parametrize("kind", ["diag", "factor"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_wide_layer_stays_finite_in_single_precision(kind, scale):
    components = make_components(kind, 3, 784, dtype=torch.float32)
    components = components._replace(variances=torch.full((3, 784), scale))
    density = GaussianMixtureDensity.from_components(components, gamma=1e-8)
    layer = ExpectedLinear(784, 8, density)
    x = 1e4 * torch.randn(6, 784, generator=torch.Generator().manual_seed(0))
    x[0, :300] = x[1] = torch.nan
    out = layer(x)
    out.mean().backward()
    assert torch.isfinite(out).all()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


def test_non_floating_parameters_are_refused():
    density = GaussianMixtureDensity(2, 4)
    for make in (
        lambda: GaussianMixtureDensity(2, 4, dtype=torch.int64),
        lambda: ExpectedLinear(4, 2, density, dtype=torch.int64),
        lambda: ExpectedRBF(4, 2, density, dtype=torch.int64),
        lambda: ExpectedConv2d(1, 2, density, kernel_size=1, dtype=torch.complex64),
    ):
        with pytest.raises(TypeError, match="expected a floating-point dtype"):
            make()


def test_layer_learns_from_rows_that_are_all_incomplete():
    """No complete row, and still: the sum of what is missing and what is not."""
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(512, 1, generator=rng)
    complete = z + 0.1 * torch.randn(512, 4, generator=rng)
    target = complete.sum(1, keepdim=True)
    x = complete.clone()
    x[torch.arange(512), torch.randint(4, (512,), generator=rng)] = torch.nan
    density = GaussianMixtureDensity(3, 4, generator=rng)
    model = nn.Sequential(
        ExpectedLinear(4, 16, density, generator=rng), nn.Linear(16, 1)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(150):
        loss = nn.functional.mse_loss(model(x), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]
