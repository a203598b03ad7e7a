"""Whole models made to take missing values."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import lacunet
from lacunet.density import GaussianMixtureDensity
from lacunet.exceptions import AdaptError, LacunetError
from lacunet.nn import ExpectedConv1d, ExpectedConv2d, ExpectedLinear


class Functional(nn.Module):
    """Its activation is a call in forward, with an argument."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(functional.leaky_relu(self.body(x), 0.3))


class SharedActivation(nn.Module):
    """One activation module after two layers."""

    def __init__(self):
        super().__init__()
        self.act = nn.Tanh()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.act(self.second(self.act(self.first(x))))


class Modules(nn.Module):
    """A class of its own, with everything in modules and an extra method."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.SiLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x))

    def describe(self):
        return "modules"


class Reshaped(nn.Module):
    """The activation comes behind a change of shape."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 2)

    def forward(self, x):
        return torch.relu(torch.flatten(self.conv(x.view(-1, 1, 2, 2)), 1))


class Method(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 2)

    def forward(self, x):
        return self.conv(x.view(-1, 1, 2, 2)).relu().flatten(1)


class SizedView(nn.Module):
    """The everyday reshaping by a size asked of the input."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)

    def forward(self, x):
        return self.body(x.view(x.size(0), -1)).tanh()


class Aliased(nn.Module):
    """One module under two names."""

    def __init__(self):
        super().__init__()
        self.first, self.act = nn.Linear(4, 8), nn.Tanh()
        self.net = nn.Sequential(self.first, self.act, nn.Linear(8, 2))

    def forward(self, x):
        return self.net(x)


def SharedTail():  # noqa: N802 - reads as a model in the list
    tail = nn.Sequential(nn.Tanh(), nn.Identity())
    return nn.Sequential(nn.Linear(4, 8), tail, nn.Linear(8, 8), tail)


class Sine(nn.Module):
    """A call in forward for which torch has no module."""

    def __init__(self):
        super().__init__()
        self.body, self.drop = nn.Linear(4, 8), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(torch.sin(self.body(x)))


MODELS = [
    nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
    nn.Sequential(nn.Sequential(nn.Flatten(), nn.Linear(4, 8)), nn.GELU()),
    nn.Sequential(nn.Linear(4, 8), nn.PReLU(), nn.BatchNorm1d(8), nn.Dropout(0.5)),
    nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)),
    nn.Sequential(nn.Linear(4, 8), nn.Mish(), nn.Linear(8, 2)),
    nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2), nn.ELU(), nn.Flatten()),
    nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.Hardtanh(-2, 2)),
    nn.Sequential(Modules(), nn.ReLU()),
    nn.Linear(4, 3),
    Functional(),
    SharedActivation(),
    Modules(),
    Method(),
    Reshaped(),
    nn.Sequential(nn.Linear(4, 8), nn.PReLU(8)),
    SizedView(),
    Aliased(),
    SharedTail(),
    Sine(),
]


@pytest.fixture
def density():
    return GaussianMixtureDensity(2, 4)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_complete_input_gives_the_same_and_holes_are_taken(model, density):
    model = model.eval()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    adapted = lacunet.adapt(model, density)
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(adapted(x), model(x), atol=1e-6, rtol=1e-6)
    kinds = (ExpectedLinear, ExpectedConv1d, ExpectedConv2d)
    assert sum(isinstance(m, kinds) for m in adapted.modules()) == 1
    x[0, 1] = x[3] = torch.nan
    assert torch.isfinite(adapted(x)).all()
    assert torch.isnan(model(x)).any()  # the model itself is as it was
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name])


def test_the_activation_is_inside_the_expectation(density):
    """Not E[linear] and then the activation: the layer absorbs both, with settings."""
    model = Functional()
    adapted = lacunet.adapt(model, density)
    expected = ExpectedLinear.from_linear(model.body, density, nn.LeakyReLU(0.3))
    x = torch.tensor([[0.5, torch.nan, -1.0, torch.nan]])
    torch.testing.assert_close(adapted(x), model.head(expected(x)))


@pytest.mark.parametrize(
    "model",
    [Reshaped(), nn.Sequential(nn.Linear(4, 8), nn.Unflatten(1, (2, 4)), nn.Tanh())],
)
def test_activation_behind_a_change_of_shape_is_found(model, density):
    adapted = lacunet.adapt(model, density)
    (expected,) = (m for m in adapted.modules() if hasattr(m, "density"))
    assert isinstance(expected.activation.known, (nn.ReLU, nn.Tanh))


def test_class_and_methods_are_kept_where_modules_are_used_once(density):
    adapted = lacunet.adapt(Modules(), density)
    assert isinstance(adapted, Modules)
    assert adapted.describe() == "modules"


def test_adapted_model_trains_weights_and_density(density):
    adapted = lacunet.adapt(Functional(), density)
    names = {name for name, _ in adapted.named_parameters()}
    assert any("density" in name for name in names)
    x = torch.randn(6, 4)
    x[0, 1] = torch.nan
    adapted(x).square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in adapted.parameters())
    assert density.means.grad.abs().sum() > 0


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x, y):
        return self.a(x) + self.b(y)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return torch.relu(self.a(x)) + self.b(x)


class Untraceable(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 2)

    def forward(self, x):
        return self.a(x) if x.sum() > 0 else self.a(-x)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.a(torch.relu(self.a(x))))


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def hooked():
    linear = nn.Linear(4, 4)
    linear.register_forward_hook(lambda module, inputs, output: 2 * output)
    return linear


def tied():
    first, last = nn.Linear(4, 4), nn.Linear(4, 4)
    last.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), last)


class SwitchedDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)

    def forward(self, x):
        hidden = functional.relu(self.body(x))
        return functional.dropout(hidden, 0.5, training=self.training)


class Noise(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)

    def forward(self, x):
        return torch.relu(self.body(x)) + torch.randn(8)


class SkipConnection(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        hidden = self.a(x)
        return torch.relu(hidden) + hidden


class FunctionalDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(functional.dropout(self.a(x), 0.5))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (
            nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()),
            "BatchNorm1d be",
        ),
        (
            nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU()),
            "LayerNorm between",
        ),
        (nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.ReLU()), "Dropout between"),
        (nn.Sequential(nn.Linear(4, 8), nn.Softmax(1)), "Got Softmax after"),
        (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8)), "BatchNorm1d as the first"),
        (nn.Sequential(nn.Embedding(4, 8)), "Embedding as the first"),
        (nn.Sequential(), "Got nothing as the first"),
        (TwoInputs(), "inputs x, y"),
        (Branches(), "several places"),
        (Untraceable(), "could not trace"),
        (Twice(), "used 2 times"),
        (nn.Sequential(linear := nn.Linear(4, 4), nn.ReLU(), linear), "used 2 times"),
        (nn.Sequential(Scaled(4, 4), nn.ReLU()), "a forward of its own"),
        (Scaled(4, 4), "a forward of its own"),
        (Residual(nn.Linear(4, 4), nn.ReLU()), "several places"),
        (nn.Sequential(hooked(), nn.ReLU()), "with hooks"),
        (
            nn.Sequential(
                nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.ReLU()
            ),
            "computed from other",
        ),
        (nn.Sequential(nn.LazyLinear(4), nn.ReLU()), "no weights yet"),
        (tied(), "tied to another"),
        (SwitchedDropout(), "differs in train and eval mode"),
        (Noise(), "makes tensors of its own"),
        (
            nn.Sequential(nn.Linear(4, 8), nn.Unflatten(1, (2, 4)), nn.PReLU(2)),
            "slope for each channel",
        ),
        (SkipConnection(), "Cannot determine the activation"),
        (FunctionalDropout(), "dropout between"),
        (nn.ReLU(), "relu as the first|ReLU as the first"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_models_without_a_clear_first_layer_are_refused(model, match, density):
    with pytest.raises(AdaptError, match=match) as caught:
        lacunet.adapt(model, density)
    assert isinstance(caught.value, LacunetError)
    assert isinstance(caught.value, ValueError)


def test_wrong_types_and_widths_are_refused(density):
    with pytest.raises(TypeError, match="Got model of type str"):
        lacunet.adapt("model", density)
    with pytest.raises(TypeError, match="Got density of type Linear"):
        lacunet.adapt(nn.Linear(4, 2), nn.Linear(4, 2))
    with pytest.raises(ValueError, match="density over 4 features"):
        lacunet.adapt(nn.Sequential(nn.Linear(5, 2), nn.ReLU()), density)
