"""The density with categories as a module: what goes in comes out, and it trains."""

import copy

import pytest
import torch
from oracle import KINDS, draw_mixed, make_mixed, mixed_rows, standard_errors
from torch import nn

from lacunet import adapt
from lacunet.density import (
    GaussianMixtureDensity,
    MixedMixtureDensity,
    bin_gaussians,
)
from lacunet.exceptions import AdaptError
from lacunet.functional import condition, log_likelihood
from lacunet.nn import ExpectedConv1d, ExpectedLinear, ExpectedRBF

SHAPES = [(3, (2, 3)), (0, (3, 2, 4)), (2, ())]


@pytest.fixture(params=[(kind, *shape) for kind in KINDS for shape in SHAPES], ids=str)
def case(request):
    """Components, their density and a batch."""
    kind, n_numeric, sizes = request.param
    components = make_mixed(kind, n_numeric, sizes)
    density = MixedMixtureDensity.from_components(components, gamma=0.3)
    return components, density, mixed_rows(n_numeric, sizes)


def rank_of(kind):
    return 2 if kind == "factor" else None


def test_properties_give_back_the_components(case):
    components, density, _ = case
    torch.testing.assert_close(density.weights, components.log_weights.exp())
    torch.testing.assert_close(density.means, components.means)
    torch.testing.assert_close(density.probabilities, components.probabilities)
    assert density.gamma.item() == pytest.approx(0.3)
    assert density.n_components == 3
    assert density.n_features == components.means.shape[1]


def test_condition_and_log_prob_are_the_functional_ones(case):
    components, density, x = case
    ours, plain = density.condition(x), condition(x, components, gamma=0.3)
    torch.testing.assert_close(ours.weights, plain.weights)
    torch.testing.assert_close(ours.mean(), plain.mean())
    torch.testing.assert_close(density.log_prob(x), log_likelihood(x, components))


def test_layers_take_it_and_gradients_are_finite(case):
    _, density, x = case
    for layer in (
        ExpectedLinear(x.shape[1], 4, density, indicator=True, dtype=x.dtype),
        ExpectedRBF(x.shape[1], 4, density, dtype=x.dtype),
    ):
        layer.zero_grad()
        out = layer(x)
        assert torch.isfinite(out).all()
        (out.square().sum() + density.log_prob(x).sum()).backward()
        for name, parameter in layer.named_parameters():
            assert torch.isfinite(parameter.grad).all(), name


def test_layer_is_that_of_the_row_where_the_row_is_complete(case):
    _, density, x = case
    layer = ExpectedLinear(x.shape[1], 4, density, dtype=x.dtype)
    plain = torch.relu(x[1] @ layer.weight.T + layer.bias)
    torch.testing.assert_close(layer(x)[1], plain)


@pytest.mark.parametrize("kind", KINDS)
def test_identity_layer_is_the_mean_over_completions(kind):
    components = make_mixed(kind)
    density = MixedMixtureDensity.from_components(components, gamma=0.3)
    layer = ExpectedLinear(8, 3, density, activation="identity", dtype=torch.float64)
    x = mixed_rows()
    for i in (0, 2, 3):
        draws, _ = draw_mixed(x[i].numpy(), components, 0.3, 20_000)
        with torch.no_grad():
            assert (standard_errors(layer(draws), layer(x)[i]) < 4.5).all()


def test_relu_layer_over_many_categories_is_close_to_monte_carlo():
    """Moment matching: the sum over a dozen categories is nearly Gaussian."""
    sizes = (3, 4, 2) * 4
    components = make_mixed("diag", 2, sizes)
    density = MixedMixtureDensity.from_components(components, gamma=0.3)
    generator = torch.Generator().manual_seed(0)
    layer = ExpectedLinear(38, 16, density, dtype=torch.float64, generator=generator)
    x = torch.full((1, 38), torch.nan, dtype=torch.float64)
    draws, _ = draw_mixed(x[0].numpy(), components, 0.3, 40_000)
    with torch.no_grad():
        truth, out = layer(draws), layer(x)[0]
    deviation = truth.std(0).clamp_min(1e-3)
    assert ((truth.mean(0) - out).abs() / deviation).max() < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_log_prob_passes_gradcheck(kind):
    density = MixedMixtureDensity.from_components(make_mixed(kind), gamma=0.3)
    names = [n for n, _ in density.named_parameters() if "gamma" not in n]
    start = tuple(
        density.get_parameter(name).detach().requires_grad_() for name in names
    )

    def log_prob(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(density, given, (mixed_rows(),))

    assert torch.autograd.gradcheck(log_prob, start)


@pytest.mark.parametrize(
    ("trainable", "expected"),
    [
        (
            True,
            {"gaussian.logits", "gaussian.means", "gaussian.log_variances"}
            | {"gaussian.log_gamma", "level_logits"},
        ),
        (False, set()),
        ("probabilities", {"level_logits"}),
        (("means", "gamma"), {"gaussian.means", "gaussian.log_gamma"}),
    ],
)
def test_trainable_parts_take_gradients(trainable, expected):
    density = MixedMixtureDensity(2, 3, (2, 3), trainable=trainable)
    got = {name for name, p in density.named_parameters() if p.requires_grad}
    assert got == expected


def test_gamma_per_feature_is_kept_per_category():
    noise = torch.tensor([0.1, 0.2, 0.3, 0.5, 0.5, 1.0, 2.0, 3.0]).double()
    components = make_mixed("diag")
    density = MixedMixtureDensity.from_components(components, gamma=noise)
    shared = torch.cat((noise[:5], torch.full((3,), 2.0).double()))
    torch.testing.assert_close(density.gamma, shared)
    x = mixed_rows()
    truth = condition(x, components, gamma=noise).weights
    torch.testing.assert_close(density.condition(x).weights, truth)
    density.set_trainable("gamma")
    density.condition(x).mean().sum().backward()
    assert density.log_level_gamma.grad.abs().min() > 0


def test_state_dict_and_deepcopy_give_the_same_density(case):
    _, density, x = case
    copied = copy.deepcopy(density)
    torch.testing.assert_close(copied.log_prob(x), density.log_prob(x))
    empty = MixedMixtureDensity(
        3,
        density.gaussian.n_features,
        density.sizes,
        covariance_type=density.covariance_type,
        rank=rank_of(density.covariance_type),
        dtype=torch.float64,
    )
    empty.load_state_dict(density.state_dict())
    torch.testing.assert_close(empty.log_prob(x), density.log_prob(x))


def test_random_start_comes_from_the_generator():
    state = torch.get_rng_state()
    first, second = (
        MixedMixtureDensity(2, 1, (3,), generator=torch.Generator().manual_seed(7))
        for _ in range(2)
    )
    assert torch.equal(first.means, second.means)
    first.reset_parameters(torch.Generator().manual_seed(7))
    assert torch.equal(first.means, second.means)
    MixedMixtureDensity.from_components(make_mixed("diag"))
    assert torch.equal(torch.get_rng_state(), state)


def test_training_learns_a_category_from_the_others():
    """Two binary categories that agree, and no numbers at all."""
    labels = torch.randint(2, (200,), generator=torch.Generator().manual_seed(0))
    x = nn.functional.one_hot(labels, 2).repeat(1, 2).float()
    density = MixedMixtureDensity(2, 0, (2, 2), generator=torch.Generator())
    optimiser = torch.optim.Adam(density.parameters(), lr=0.1)
    for _ in range(150):
        optimiser.zero_grad()
        (-density.log_prob(x).mean()).backward()
        optimiser.step()
    x[:, 2:] = torch.nan
    guess = density.condition(x).mean()[:, 2:].argmax(1)
    assert torch.equal(guess, labels)


def test_representation_names_the_columns():
    text = repr(MixedMixtureDensity(2, 3, (2, 3)))
    assert text.startswith("MixedMixtureDensity(\n  2, 3, sizes=(2, 3)")


def test_float32_and_dtype_are_kept():
    density = MixedMixtureDensity.from_components(
        make_mixed("full"), dtype=torch.float32
    )
    x = mixed_rows(dtype=torch.float32)
    assert density.log_prob(x).dtype == torch.float32
    assert density.condition(x).mean().dtype == torch.float32
    with pytest.raises(TypeError, match=r"expected torch\.float32"):
        density.log_prob(x.double())


def test_exported_layer_takes_nan_and_any_batch():
    density = MixedMixtureDensity(2, 3, (2, 3))
    layer = ExpectedLinear(8, 4, density, prune=0.0)
    x = mixed_rows(dtype=torch.float32)
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(layer, (x[:5],), dynamic_shapes=({0: batch},))
    torch.testing.assert_close(program.module()(x), layer(x))


def test_adapt_takes_it_for_linear_layers_alone():
    density = MixedMixtureDensity(2, 3, (2, 3))
    model = adapt(nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1)), density)
    assert torch.isfinite(model(mixed_rows(dtype=torch.float32))).all()
    with pytest.raises(AdaptError, match="categories have no place"):
        adapt(nn.Conv1d(1, 2, 3), density)
    with pytest.raises(ValueError, match="categories have no place"):
        ExpectedConv1d(1, 2, density, kernel_size=3)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((0, 3, (2,)), {}, ValueError, "n_components=0"),
        ((2, -1, (2,)), {}, ValueError, "n_numeric=-1"),
        ((2, 0, ()), {}, ValueError, "at least one column"),
        ((2, 3, (0,)), {}, ValueError, "an entry of sizes=0"),
        ((2, 3, (1.5,)), {}, TypeError, "an entry of sizes=1.5"),
        ((2, 3, 4), {}, TypeError, "sizes=4"),
        ((2, 3, (2,)), {"gamma": torch.ones(3)}, ValueError, "gamma of shape"),
        ((2, 3, (2,)), {"rank": 2}, ValueError, "rank=2"),
        ((2, 3, (2,)), {"trainable": "levels"}, ValueError, "trainable='levels'"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, error, match):
    with pytest.raises(error, match=match):
        MixedMixtureDensity(*arguments, **options)


def test_bad_batches_and_components_are_refused():
    density = MixedMixtureDensity(2, 3, (2, 3), dtype=torch.float64)
    x = mixed_rows()
    x[1, 3] = torch.nan
    for method in (density.condition, density.log_prob):
        with pytest.raises(ValueError, match="in columns 3 to 4 of row 1 of x"):
            method(x)
        with pytest.raises(ValueError, match=r"\(\*, 8\)"):
            method(x[:, 1:])
    with pytest.raises(TypeError, match="expected MixedComponents"):
        MixedMixtureDensity.from_components(make_mixed("diag").gaussian)
    changed = make_mixed("diag")._replace(sizes=(3, 2))
    with pytest.raises(ValueError, match="sum to 1"):
        MixedMixtureDensity.from_components(changed)
    with pytest.raises(TypeError, match="or FullComponents"):
        GaussianMixtureDensity.from_components(make_mixed("diag"))


# --- bins of Gaussians


EDGES = [[-0.5, 0.3, 1.0], [], [0.2]]


def bins_of(numbers):
    """Return one-hot bins of numbers."""
    groups = []
    for column, edges in zip(numbers.T, EDGES, strict=True):
        rank = (column[:, None] > torch.tensor(edges)).sum(1)
        groups.append(nn.functional.one_hot(rank, len(edges) + 1))
    return torch.cat(groups, 1)


@pytest.mark.parametrize("sizes", [(2, 3), ()])
def test_bins_of_gaussians_match_monte_carlo(sizes):
    components = make_mixed("diag", 3, sizes)
    density = MixedMixtureDensity.from_components(components, gamma=0.0)
    gaussians = density if sizes else density.gaussian
    binned = bin_gaussians(gaussians, EDGES, gamma=0.0)
    assert binned.sizes == (4, 1, 2, *sizes)
    assert binned.gaussian.n_features == 0
    nothing = torch.full((1, 3 + sum(sizes)), torch.nan, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    rows = density.condition(nothing).sample(100_000, generator)[:, 0]
    rows = torch.cat((bins_of(rows[:, :3]), rows[:, 3:]), 1)
    missing = torch.full((2, rows.shape[1]), torch.nan, dtype=torch.float64)
    missing[1, :4] = torch.tensor([0.0, 0.0, 1.0, 0.0])  # the bin of the first number
    with torch.no_grad():
        marginal, given = binned.condition(missing).mean()
    certain = (rows == rows[0]).all(0)  # the only bin of the second number
    errors = standard_errors(rows, marginal)
    assert (errors[~certain] < 4).all()
    in_bin = rows[rows[:, 2] == 1]
    errors = standard_errors(in_bin, given)
    assert (errors[(in_bin != in_bin[0]).any(0)] < 4).all()


def test_bins_in_the_tails_have_their_tiny_probabilities():
    one = GaussianMixtureDensity(1, 1, dtype=torch.float64)
    with torch.no_grad():
        one.means.zero_()
    far = [[-12.0, -11.0, 11.0, 12.0]]
    found = bin_gaussians(one, far).components.log_probabilities[0].detach()
    torch.testing.assert_close(found, found.flip(0))
    expected = torch.special.log_ndtr(torch.tensor(-12.0, dtype=torch.float64))
    torch.testing.assert_close(found[0], expected)
    edge = bin_gaussians(one, [[1e6]]).probabilities  # of which nothing is beyond
    torch.testing.assert_close(edge.detach()[0], torch.tensor([1.0, 0.0]).double())


def test_bins_keep_dtype_and_what_is_trainable():
    binned = bin_gaussians(GaussianMixtureDensity(2, 1), [[0.0]], trainable=False)
    assert binned.level_logits.dtype == torch.float32
    assert not any(p.requires_grad for p in binned.parameters())


@pytest.mark.parametrize(
    ("density", "edges", "match"),
    [
        (GaussianMixtureDensity(2, 1, covariance_type="full"), [[0.0]], "'full'.*diag"),
        (MixedMixtureDensity(2, 2, (2,)), [[0.0]], "edges of 1 columns.* of 2"),
        (GaussianMixtureDensity(2, 1), [[1.0, 0.0]], r"edges\[0\].*increasing"),
        (GaussianMixtureDensity(2, 1), [[0.0, torch.inf]], r"edges\[0\].*finite"),
    ],
)
def test_other_densities_and_edges_are_refused(density, edges, match):
    with pytest.raises(ValueError, match=match):
        bin_gaussians(density, edges)


def test_what_is_no_density_has_no_bins():
    with pytest.raises(TypeError, match="Got density of type Linear"):
        bin_gaussians(nn.Linear(1, 1), [[0.0]])
