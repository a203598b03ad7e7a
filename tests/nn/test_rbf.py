import pytest
import torch
from oracle import KINDS, make_components, mixed_batch

from lacunet.density import GaussianMixtureDensity
from lacunet.functional import condition, expected_rbf
from lacunet.nn import ExpectedRBF


def make_layer(kind="diag", **options):
    components = make_components(kind)
    density = GaussianMixtureDensity.from_components(components, gamma=0.3)
    return ExpectedRBF(4, 5, density, dtype=torch.float64, **options)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_layer_is_the_functional_response(kind, normalise):
    layer = make_layer(kind, normalise=normalise)
    x = mixed_batch()
    mixture = condition(x, make_components(kind), gamma=0.3)
    truth = expected_rbf(mixture, layer.centres, layer.variances, normalise=normalise)
    torch.testing.assert_close(layer(x), truth)
    torch.testing.assert_close(layer(x.view(2, 4, 4)), truth.view(2, 4, 5))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_finite_and_reach_everything(kind):
    layer = make_layer(kind)
    layer(mixed_batch())[:, 0].sum().backward()
    for parameter in layer.parameters():
        assert torch.isfinite(parameter.grad).all()
        assert parameter.grad.abs().sum() > 0


def test_bad_input_is_refused():
    layer = make_layer()
    with pytest.raises(ValueError, match=r"expected \(\*, 4\)"):
        layer(torch.zeros(2, 3).double())
    with pytest.raises(ValueError, match="units=0"):
        ExpectedRBF(4, 0, layer.density)
    with pytest.raises(ValueError, match="density over 4 features"):
        ExpectedRBF(3, 2, layer.density)
