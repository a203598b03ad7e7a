"""Whole models made to take missing values."""

import copy

import pytest
import torch
from torch import fx, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

import lacunet
from lacunet.density import GaussianMixtureDensity
from lacunet.exceptions import AdaptError, LacunetError
from lacunet.nn import ExpectedConv1d, ExpectedConv2d, ExpectedLinear


class Net(nn.Module):
    """A model whose forward is given with its parts."""

    def __init__(self, call, **parts):
        super().__init__()
        self.call = call
        for name, part in parts.items():
            if isinstance(part, torch.Tensor):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, x):
        return self.call(self, x)


class TwoInputs(nn.Module):
    """Numbers and a category, each with a way of its own, or one for both."""

    def __init__(self, joined):
        super().__init__()
        self.joined = joined
        self.embed = nn.Embedding(5, 3)
        self.numbers = nn.Linear(7 if joined else 4, 8)
        self.head = nn.Linear(8 if joined else 11, 2)

    def forward(self, x, kind):
        embedded = self.embed(kind)
        if self.joined:
            return self.head(torch.relu(self.numbers(torch.cat([x, embedded], 1))))
        return self.head(torch.cat([torch.relu(self.numbers(x)), embedded], 1))


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


class Choosing(nn.Module):
    """A part that torch.fx can't trace."""

    def forward(self, x):
        return x if x.sum() > 0 else 2 * x


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


def shared_tail():
    tail = nn.Sequential(nn.Tanh(), nn.Identity())
    return nn.Sequential(nn.Linear(4, 8), tail, nn.Linear(8, 8), tail)


def switching(m, x):
    h = torch.relu(m.a(x))
    return 2 * h if m.training else h


def aliased():
    first, act = nn.Linear(4, 8), nn.Tanh()
    net = nn.Sequential(first, act, nn.Linear(8, 2))
    return Net(lambda m, x: m.net(x), first=first, act=act, net=net)


def trained(model):
    """Give norms statistics and weights that are not those of the start."""
    generator = torch.Generator().manual_seed(3)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            for tensor in (module.running_mean, module.weight, module.bias):
                if tensor is not None:
                    tensor.data.normal_(generator=generator)
            module.running_var.uniform_(0.5, 2, generator=generator)
    return model.eval()


def batch(*shape):
    """Return a complete batch, and the same with missing values."""
    generator = torch.Generator().manual_seed(0)
    complete = 2 * torch.randn(*shape, generator=generator) + 1
    missing = torch.rand(*shape, generator=generator) < 0.3
    missing[1], missing[2] = True, False
    return complete, complete.masked_fill(missing, torch.nan)


def density_of(n_features, covariance_type="diag"):
    generator = torch.Generator().manual_seed(1)
    return GaussianMixtureDensity(
        2, n_features, covariance_type=covariance_type, generator=generator
    )


@pytest.fixture
def density():
    return density_of(4)


PLAIN = {
    "functional": Net(
        lambda m, x: m.head(functional.leaky_relu(m.body(x), 0.3)),
        body=nn.Linear(4, 8),
        head=nn.Linear(8, 2),
    ),
    "shared activation": Net(
        lambda m, x: m.act(m.second(m.act(m.first(x)))),
        act=nn.Tanh(),
        first=nn.Linear(4, 8),
        second=nn.Linear(8, 8),
    ),
    "method": Net(
        lambda m, x: m.conv(x.view(-1, 1, 2, 2)).relu().flatten(1),
        conv=nn.Conv2d(1, 3, 2),
    ),
    "activation behind a reshaping": Net(
        lambda m, x: torch.relu(torch.flatten(m.conv(x.view(-1, 1, 2, 2)), 1)),
        conv=nn.Conv2d(1, 3, 2),
    ),
    "view by size": Net(
        lambda m, x: m.body(x.view(x.size(0), -1)).tanh(), body=nn.Linear(4, 8)
    ),
    "no module of torch's": Net(
        lambda m, x: m.drop(torch.sin(m.body(x))),
        body=nn.Linear(4, 8),
        drop=nn.Dropout(0.5),
    ),
    "two branches": Net(
        lambda m, x: torch.relu(m.a(x)) + m.b(x), a=nn.Linear(4, 2), b=nn.Linear(4, 2)
    ),
    "norm of two branches": Net(
        lambda m, x: torch.cat([m.a(y := m.norm(x)).relu(), m.b(y)], 1),
        a=nn.Linear(4, 2),
        b=nn.Linear(4, 2),
        norm=nn.BatchNorm1d(4),
    ),
    "untraceable later": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), Choosing()),
    "one norm": nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2)),
    "self attention": Net(
        lambda m, x: (h := m.embed(x.unsqueeze(1))) + m.attend(m.norm(h), h, h)[0],
        embed=nn.Linear(4, 8),
        attend=nn.MultiheadAttention(8, 2, batch_first=True),
        norm=nn.LayerNorm(8),
    ),
    "own class": Modules(),
    "aliases": aliased(),
    "shared tail": shared_tail(),
    "layer": nn.Linear(4, 3),
    "sequential": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
    "nested": nn.Sequential(nn.Sequential(nn.Flatten(), nn.Linear(4, 8)), nn.GELU()),
    "later norm": nn.Sequential(nn.Linear(4, 8), nn.PReLU(), nn.BatchNorm1d(8)),
    "linear twice": nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)),
    "quadrature": nn.Sequential(nn.Linear(4, 8), nn.Mish(), nn.Linear(8, 2)),
    "conv1d": nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2), nn.ELU()),
    "conv2d": nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.ReLU6()),
    "own class inside": nn.Sequential(Modules(), nn.ReLU()),
    "slopes": nn.Sequential(nn.Linear(4, 8), nn.PReLU(8)),
}


@pytest.mark.parametrize("model", PLAIN.values(), ids=PLAIN)
def test_complete_input_gives_the_same_and_missing_values_are_taken(model, density):
    model = trained(model)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    adapted = lacunet.adapt(model, density)
    complete, x = batch(6, 4)
    torch.testing.assert_close(adapted(complete), model(complete))
    kinds = (ExpectedLinear, ExpectedConv1d, ExpectedConv2d)
    assert any(isinstance(m, kinds) for m in adapted.modules())
    assert torch.isfinite(adapted(x)).all()
    assert torch.isnan(model(x)).any()  # the model itself is as it was
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name])


# The 21 models that were refused once: those that work now, each with the same made by
# hand, and those that are still refused, each with the advice of the message.


def expect(layer, density, activation="relu"):
    kind = {nn.Linear: ExpectedLinear, nn.Conv2d: ExpectedConv2d}[type(layer)]
    make = kind.from_linear if kind is ExpectedLinear else kind.from_conv
    return make(layer, density, activation)


def normalised(layer, mean, scale):
    """Return a linear layer for raw values in place of one for normalised ones."""
    raw = copy.deepcopy(layer)
    raw.weight.data = layer.weight / scale
    raw.bias.data = layer.bias - (layer.weight / scale) @ mean
    return raw


def resnet():
    def call(m, x):
        h = m.act(m.norm(m.conv(x)))
        h = functional.relu(h + m.block(h))
        return m.head(h.mean((2, 3)))

    block = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.BatchNorm2d(6))
    return Net(
        call,
        conv=nn.Conv2d(2, 6, 3, padding=1, bias=False),
        norm=nn.BatchNorm2d(6),
        act=nn.ReLU(),
        block=block,
        head=nn.Linear(6, 2),
    )


def resnet_by_hand(m, density, x):
    stem = expect(fuse_conv_bn_eval(m.conv, m.norm), density)
    h = stem(x)
    return m.head(torch.relu(h + m.block(h)).mean((2, 3)))


def transformer():
    return Net(
        lambda m, x: m.head(m.encoder(m.embed(x) + m.position[: x.shape[1]]).mean(1)),
        embed=nn.Linear(4, 8),
        position=nn.Parameter(torch.randn(9, 8)),
        encoder=nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        head=nn.Linear(8, 2),
    )


def transformer_by_hand(m, density, x):
    embedded = expect(m.embed, density, "identity")(x)
    return m.head(m.encoder(embedded + m.position[: x.shape[1]]).mean(1))


def vit():
    def call(m, x):
        tokens = m.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([m.token.expand(x.shape[0], -1, -1), tokens], 1) + m.position
        normed = m.norm(tokens)
        tokens = tokens + m.attend(normed, normed, normed)[0]
        return m.head(tokens[:, 0])

    return Net(
        call,
        patches=nn.Conv2d(2, 8, 2, stride=2),
        token=nn.Parameter(torch.randn(1, 1, 8)),
        position=nn.Parameter(torch.randn(1, 5, 8)),
        norm=nn.LayerNorm(8),
        attend=nn.MultiheadAttention(8, 2, batch_first=True),
        head=nn.Linear(8, 2),
    )


def vit_by_hand(m, density, x):
    by_hand = copy.deepcopy(m)
    by_hand.patches = expect(m.patches, density, "identity")
    return by_hand(x)


def linear(*between, first=()):
    return nn.Sequential(*first, nn.Linear(4, 8), *between, nn.ReLU(), nn.Linear(8, 2))


MEAN, SCALE = torch.tensor([1.0, -2.0, 0.5, 3.0]), torch.tensor([0.5, 2.0, 1.0, 3.0])

WORKING = {
    "BatchNorm between": (
        linear(nn.BatchNorm1d(8)),
        lambda m, d, x: m[3](expect(fuse_linear_bn_eval(m[0], m[1]), d)(x)),
    ),
    "BatchNorm in the stem of a ResNet": (resnet(), resnet_by_hand),
    "Dropout between": (
        linear(nn.Dropout()),
        lambda m, d, x: m[3](expect(m[0], d)(x)),
    ),
    "F.dropout between": (
        Net(
            lambda m, x: torch.relu(functional.dropout(m.a(x), 0.5, m.training)),
            a=nn.Linear(4, 8),
        ),
        lambda m, d, x: expect(m.a, d)(x),
    ),
    "BatchNorm first": (
        linear(first=[nn.BatchNorm1d(4, affine=False)]),
        lambda m, d, x: m[3](
            expect(
                normalised(
                    m[1], m[0].running_mean, (m[0].running_var + m[0].eps).sqrt()
                ),
                d,
            )(x)
        ),
    ),
    "Dropout first": (
        linear(first=[nn.Dropout()]),
        lambda m, d, x: m[3](expect(m[1], d)(x)),
    ),
    "normalisation first": (
        Net(
            lambda m, x: m.net((x - m.mean) / m.scale),
            net=linear(),
            mean=MEAN,
            scale=SCALE,
        ),
        lambda m, d, x: m.net[2](expect(normalised(m.net[0], MEAN, SCALE), d)(x)),
    ),
    "max pooling between": (
        Net(
            lambda m, x: functional.relu(functional.max_pool2d(m.conv(x), 2)),
            conv=nn.Conv2d(2, 6, 3, padding=1),
        ),
        lambda m, d, x: functional.max_pool2d(expect(m.conv, d)(x), 2),
    ),
    "Transformer": (transformer(), transformer_by_hand),
    "ViT": (vit(), vit_by_hand),
}
SHAPES = {"Transformer": (6, 5, 4)}
IMAGES = ("BatchNorm in the stem of a ResNet", "max pooling between", "ViT")

REFUSED = {
    "LayerNorm between": (linear(nn.LayerNorm(8)), "Move the activation to the front"),
    "input skip": (
        Net(
            lambda m, x: m.b(torch.cat([x, m.a(x)], 1)), a=nn.Linear(4, 8), b=nn.ReLU()
        ),
        "Got cat .* Put a Linear before it",
    ),
    "gate": (
        Net(lambda m, x: (h := m.a(x)) * torch.sigmoid(h), a=nn.Linear(4, 8)),
        "Got sigmoid, mul after .* as nn.SiLU",
    ),
    "GLU": (nn.Sequential(nn.Linear(4, 8), nn.GLU()), "Got GLU after .* by hand"),
    "Conv3d": (
        nn.Sequential(nn.Unflatten(1, (1, 1, 2, 2)), nn.Conv3d(1, 2, 1)),
        "Got Conv3d as the first .* Put a Linear before it",
    ),
    "reflect padding": (
        nn.Sequential(
            nn.Unflatten(1, (1, 2, 2)),
            nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"),
        ),
        "padding_mode='reflect', but expected 'zeros'",
    ),
    "full covariances": (
        nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 2, 2)),
        "full covariances, but expected 'diag' or 'factor'",
    ),
    "LSTM first": (
        Net(
            lambda m, x: m.head(m.lstm(x)[0]), lstm=nn.LSTM(4, 8), head=nn.Linear(8, 2)
        ),
        "Got LSTM as the first .* Put a Linear before it",
    ),
    "Embedding and cat": (TwoInputs(joined=True), "Got cat .* name the layer behind"),
    "LazyLinear": (nn.Sequential(nn.LazyLinear(4), nn.ReLU()), "call it once on a"),
    "data-dependent flow": (
        Net(lambda m, x: m.a(x) if x.sum() > 0 else m.a(-x), a=nn.Linear(4, 2)),
        "could not trace .* by hand",
    ),
}


@pytest.mark.parametrize("name", WORKING)
def test_models_that_were_refused_once_equal_what_is_made_by_hand(name):
    model, by_hand = WORKING[name]
    model = trained(model)
    shape = (6, 2, 4, 4) if name in IMAGES else SHAPES.get(name, (6, 4))
    density = density_of(32 if name in IMAGES else 4)
    complete, x = batch(*shape)
    adapted = lacunet.adapt(model, density)
    torch.testing.assert_close(adapted(complete), model(complete))
    torch.testing.assert_close(adapted(x), by_hand(model, density, x))
    assert torch.isfinite(adapted(x)).all()


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_still_refused_come_with_advice(name):
    model, match = REFUSED[name]
    density = density_of(4, "full" if name == "full covariances" else "diag")
    with pytest.raises(AdaptError, match=match) as caught:
        lacunet.adapt(model.eval(), density, input="x" if "cat" in name else None)
    assert isinstance(caught.value, LacunetError)
    assert isinstance(caught.value, ValueError)


STEMS = {
    "scalars": (Net(lambda m, x: m.a(x * 2 + 1), a=nn.Linear(4, 3)), (4,)),
    "methods": (
        Net(
            lambda m, x: m.a(x.sub(m.mean.to(x.device)).div_(3)),
            a=nn.Linear(4, 3),
            mean=MEAN,
        ),
        (4,),
    ),
    "reversed": (
        Net(lambda m, x: m.a(m.mean - 2 * x), a=nn.Linear(4, 3, bias=False), mean=MEAN),
        (4,),
    ),
    "computed constants": (
        Net(
            lambda m, x: m.a((x - m.mean[None]) / (m.scale.square() + 1).sqrt()),
            a=nn.Linear(4, 3),
            mean=MEAN,
            scale=nn.Parameter(SCALE),
        ),
        (4,),
    ),
    "scalar before a reshaping": (
        Net(lambda m, x: m.a(((x - 0.13) / 0.31).flatten(1)), a=nn.Linear(8, 3)),
        (2, 2, 2),
    ),
    "channels in groups": (
        Net(
            lambda m, x: m.a((x - m.mean) / m.scale),
            a=nn.Conv2d(4, 6, 2, groups=2),
            mean=MEAN.view(4, 1, 1),
            scale=SCALE.view(1, 4, 1, 1),
        ),
        (4, 3, 3),
    ),
    "scale before a padding": (
        Net(lambda m, x: m.a(x / 255), a=nn.Conv2d(1, 2, 3, padding=1)),
        (1, 3, 3),
    ),
    "BatchNorm2d first": (
        nn.Sequential(nn.BatchNorm2d(2), nn.Conv2d(2, 3, 2, bias=False)),
        (2, 3, 3),
    ),
    "BatchNorm1d around Conv1d": (
        nn.Sequential(nn.BatchNorm1d(2), nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3)),
        (2, 5),
    ),
    "constants behind": (
        Net(
            lambda m, x: 2 - m.gain * m.drop(m.a(x)),
            a=nn.Conv2d(2, 4, 2),
            drop=nn.Dropout(),
            gain=SCALE.view(4, 1, 1),
        ),
        (2, 3, 3),
    ),
}


@pytest.mark.parametrize("name", STEMS)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_affine_stems_equal_one_dense_layer_over_the_input(name, activation):
    """What is folded is one affine map, whose matrix the unit vectors give."""
    stem, shape = STEMS[name]
    stem = trained(stem)
    model = Net(lambda m, x: getattr(torch, activation)(m.stem(x)), stem=stem).eval()
    complete, x = batch(6, *shape)
    n = x[0].numel()
    dense = nn.Linear(n, len(stem(complete)[0].flatten()))
    with torch.no_grad():
        dense.bias.copy_(stem(torch.zeros(1, *shape)).flatten())
        outputs = stem(torch.eye(n).view(n, *shape)).flatten(1)
        dense.weight.copy_((outputs - dense.bias).T)
    density = density_of(n)
    adapted = lacunet.adapt(model, density)
    torch.testing.assert_close(adapted(complete), model(complete))
    expected = ExpectedLinear.from_linear(dense, density, activation)(x.flatten(1))
    torch.testing.assert_close(adapted(x).flatten(1), expected, atol=1e-5, rtol=1e-4)


MORE_REFUSED = {
    "norm in training": (linear(nn.BatchNorm1d(8)).train(), r"model\.eval\(\)"),
    "first norm in training": (
        linear(first=[nn.BatchNorm1d(4)]).train(),
        r"Got BatchNorm1d as the first .* model\.eval\(\)",
    ),
    "dropout in training": (linear(nn.Dropout()).train(), r"model\.eval\(\)"),
    "dropout always": (
        Net(lambda m, x: torch.relu(functional.dropout(m.a(x))), a=nn.Linear(4, 4)),
        "training=self.training",
    ),
    "softmax": (nn.Sequential(nn.Linear(4, 8), nn.Softmax(1)), "Got Softmax after"),
    "embedding": (nn.Sequential(nn.Embedding(4, 8)), "Embedding as the first"),
    "nothing": (nn.Sequential(), "Got output as the first"),
    "activation alone": (nn.Sequential(nn.ReLU()), "ReLU as the first"),
    "two inputs": (TwoInputs(joined=False), "Got input=None .* inputs x, kind"),
    "order of features": (
        Net(lambda m, x: m.a(x.view(-1, 2, 2).transpose(1, 2)), a=nn.Linear(2, 2)),
        "Got transpose .* name the layer behind it",
    ),
    "untraceable first": (
        nn.Sequential(Choosing(), nn.Linear(4, 2)),
        "As torch.fx could not trace Choosing .* by hand",
    ),
    "untraceable next": (
        nn.Sequential(nn.Linear(4, 2), Choosing()),
        "Got Choosing after .* could not trace",
    ),
    "used twice": (
        Net(lambda m, x: m.a(m.a(x).relu()).relu(), a=nn.Linear(4, 4)),
        "used 2 times.* a copy",
    ),
    "used in a part": (
        Net(
            lambda m, x: m.b(m.a(x).relu()),
            a=(shared := nn.Linear(4, 4)),
            b=nn.Sequential(shared, Choosing()),
        ),
        "used 2 times",
    ),
    "own forward": (nn.Sequential(Scaled(4, 4), nn.ReLU()), "a forward of its own"),
    "own forward alone": (Scaled(4, 4), "a forward of its own"),
    "residual": (Residual(nn.Linear(4, 4), nn.ReLU()), "Got add as the first"),
    "hooks": (nn.Sequential(hooked(), nn.ReLU()), "with hooks"),
    "weight norm": (
        nn.Sequential(
            nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.ReLU()
        ),
        "computed from other",
    ),
    "tied": (tied(), "tied to another"),
    "two modes": (Net(switching, a=nn.Linear(4, 4)), "differs in train and eval mode"),
    "noise": (
        Net(lambda m, x: torch.relu(m.a(x)) + torch.randn(4), a=nn.Linear(4, 4)),
        "makes tensors of its own",
    ),
    "slopes elsewhere": (
        nn.Sequential(nn.Linear(4, 8), nn.Unflatten(1, (2, 4)), nn.PReLU(2)),
        "Got Unflatten, PReLU after",
    ),
    "skip": (
        Net(lambda m, x: torch.relu(h := m.a(x)) + h, a=nn.Linear(4, 4)),
        "Got relu, add after .* expected one activation",
    ),
    "square": (Net(lambda m, x: (h := m.a(x)) * h, a=nn.Linear(4, 4)), "Got mul after"),
    "reciprocal": (
        Net(lambda m, x: 1 / m.a(x), a=nn.Linear(4, 4)),
        "Got truediv after",
    ),
    "other constants": (
        Net(
            lambda m, x: torch.relu(m.a(x.view(-1, 1, 4)) + m.b),
            a=nn.Linear(4, 2),
            b=torch.ones(2, 1),
        ),
        "Got add, relu after",
    ),
    "pooling of what falls": (
        nn.Sequential(
            nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 1), nn.MaxPool1d(2), nn.GELU()
        ),
        "Got MaxPool1d, GELU after",
    ),
    "map behind a pooling": (
        Net(
            lambda m, x: torch.relu(
                -2 * functional.max_pool1d(m.a(x.view(-1, 1, 4)), 2)
            ),
            a=nn.Conv1d(1, 3, 1),
        ),
        "Got max_pool1d",
    ),
    "shift before a padding": (
        Net(lambda m, x: m.a(x.view(-1, 1, 4) - 1), a=nn.Conv1d(1, 3, 3, padding=1)),
        "shifted. Normalise the batches .*layer='a'",
    ),
    "features of an image": (
        Net(
            lambda m, x: m.a((x - m.mean).view(-1, 1, 4)),
            a=nn.Conv1d(1, 3, 3),
            mean=MEAN,
        ),
        "Got sub, view before the first layer .*layer='a'",
    ),
}


@pytest.mark.parametrize("name", MORE_REFUSED)
def test_other_models_are_refused_with_what_was_found(name, density):
    model, match = MORE_REFUSED[name]
    with pytest.raises(AdaptError, match=match):
        lacunet.adapt(model, density)


def test_layer_is_replaced_with_a_density_over_what_it_takes_in():
    model = Net(
        lambda m, x: m.a((x - 3) / 2).relu(), a=nn.Conv2d(1, 3, 3, padding=1)
    ).eval()
    complete, x = batch(6, 1, 3, 3)
    density = density_of(9)
    adapted = lacunet.adapt(model, density, layer="a", input="x")
    torch.testing.assert_close(adapted(complete), model(complete))
    torch.testing.assert_close(adapted(x), expect(model.a, density)((x - 3) / 2))


def test_layers_named_one_after_the_other_share_the_density(density):
    model = PLAIN["two branches"]
    first = lacunet.adapt(model, density, layer="a")
    both = lacunet.adapt(first, density, layer="b")
    _, x = batch(6, 4)
    torch.testing.assert_close(both(x), lacunet.adapt(model, density)(x))
    assert both.a.density is both.b.density is density


def test_several_inputs_need_the_name_of_the_incomplete_one(density):
    (complete, x), kind = batch(6, 4), torch.arange(6) % 5
    model = TwoInputs(joined=False).eval()
    adapted = lacunet.adapt(model, density, input="x")
    torch.testing.assert_close(adapted(complete, kind), model(complete, kind))
    joined = TwoInputs(joined=True).eval()
    over_both = density_of(7)
    adapted = lacunet.adapt(joined, over_both, layer="numbers")
    torch.testing.assert_close(adapted(complete, kind), joined(complete, kind))
    both = torch.cat([x, joined.embed(kind)], 1)
    by_hand = joined.head(expect(joined.numbers, over_both)(both))
    torch.testing.assert_close(adapted(x, kind), by_hand)


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ({"input": "z"}, "Got input='z' .* inputs x, kind"),
        ({"layer": "first"}, "Got layer='first', .* calls: numbers, head"),
        ({"layer": "embed"}, "Got layer='embed'"),
        ({"layer": "numbers", "input": "z"}, "Got input='z'"),
    ],
)
def test_names_that_the_model_does_not_have_are_refused(names, match, density):
    with pytest.raises(AdaptError, match=match):
        lacunet.adapt(TwoInputs(joined=False), density, **names)


def test_class_and_methods_are_kept_where_modules_are_used_once(density):
    adapted = lacunet.adapt(Modules(), density)
    assert isinstance(adapted, Modules)
    assert adapted.describe() == "modules"
    assert isinstance(lacunet.adapt(resnet().eval(), density_of(32)), Net)


def test_functional_dropout_follows_the_mode_of_the_copy(density):
    model = Net(
        lambda m, x: functional.dropout(functional.relu(m.a(x)), 0.5, m.training),
        a=nn.Linear(4, 50),
    )
    adapted = lacunet.adapt(model, density)
    assert isinstance(adapted, fx.GraphModule)
    complete, _ = batch(6, 4)
    plain = torch.relu(model.a(complete))
    torch.testing.assert_close(adapted.eval()(complete), plain)
    kept = adapted.train()(complete)
    assert 0.3 < (kept[plain > 0] == 0).float().mean() < 0.7
    again = lacunet.adapt(model.eval(), density)
    torch.testing.assert_close(again(complete), plain)


def test_modes_of_modules_are_kept(density):
    model = Net(
        lambda m, x: m.drop(torch.relu(m.norm(m.a(x)))),
        a=nn.Linear(4, 8),
        norm=nn.BatchNorm1d(8).eval(),
        drop=nn.Dropout(),
    )
    model.other = nn.Sequential(nn.Dropout().eval())
    adapted = lacunet.adapt(model, density)
    assert adapted.training
    assert adapted.drop.training


def test_folded_norm_refuses_input_with_another_second_axis():
    """With as many rows as units, BatchNorm1d would act on the rows."""
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()).eval()
    adapted = lacunet.adapt(model, density_of(4))
    with pytest.raises(ValueError, match=r"expected \(batch, features\)"):
        adapted(torch.randn(2, 8, 4))


def test_adapted_model_trains_weights_and_density(density):
    adapted = lacunet.adapt(PLAIN["functional"], density)
    names = {name for name, _ in adapted.named_parameters()}
    assert any("density" in name for name in names)
    _, x = batch(6, 4)
    adapted(x).square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in adapted.parameters())
    assert density.means.grad.abs().sum() > 0


def test_frozen_layers_stay_frozen(density):
    model = trained(linear(nn.BatchNorm1d(8))).requires_grad_(False)
    model[0].bias = None
    adapted = lacunet.adapt(model, density)
    own = [p for n, p in adapted.named_parameters() if "density" not in n]
    assert adapted[0].bias is not None
    assert not any(parameter.requires_grad for parameter in own)


def test_wrong_types_and_widths_are_refused(density):
    with pytest.raises(TypeError, match="Got model of type str"):
        lacunet.adapt("model", density)
    with pytest.raises(TypeError, match="Got density of type Linear"):
        lacunet.adapt(nn.Linear(4, 2), nn.Linear(4, 2))
    with pytest.raises(ValueError, match="density over 4 features"):
        lacunet.adapt(nn.Sequential(nn.Linear(5, 2), nn.ReLU()), density)
