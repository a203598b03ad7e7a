"""Categorical columns: enumeration of categories, Monte Carlo, limits, refusals."""

from itertools import product

import numpy as np
import pytest
import torch
from oracle import (
    KINDS,
    draw_mixed,
    groups_of,
    make_components,
    make_mixed,
    mixed_batch,
    mixed_conditional,
    mixed_rows,
    standard_errors,
)
from scipy import stats

from lacunet.functional import (
    FullComponents,
    MixedComponents,
    affine_moments,
    condition,
    conv_moments,
    expected_rbf,
    log_likelihood,
)

GAMMA = 0.3
SHAPES = [(3, (2, 3)), (0, (3, 2, 4)), (2, ())]


@pytest.fixture(params=KINDS)
def components(request):
    return make_mixed(request.param)


@pytest.fixture(params=[(kind, *shape) for kind in KINDS for shape in SHAPES], ids=str)
def any_shape(request):
    """Components and a batch; without numbers and without categories too."""
    kind, n_numeric, sizes = request.param
    return make_mixed(kind, n_numeric, sizes), mixed_rows(n_numeric, sizes)


def completions(row, components):
    """Every way to fill the missing categories of one row, with its probabilities."""
    choices = [
        [(columns, k, group[:, k]) for k in range(group.shape[1])]
        for columns, group in groups_of(components)
        if np.isnan(row[columns]).any()
    ]
    for chosen in product(*choices):
        filled, probability = row.copy(), np.ones(len(components.log_weights))
        for columns, category, factor in chosen:
            filled[columns] = np.eye(columns.stop - columns.start)[category]
            probability = probability * factor
        yield filled, probability


def test_weights_match_oracle(any_shape):
    components, x = any_shape
    weights = condition(x, components, gamma=GAMMA).weights
    for row, weight in zip(x.numpy(), weights, strict=True):
        expected, _, _ = mixed_conditional(row, components, GAMMA)
        np.testing.assert_allclose(weight, expected, rtol=1e-9)


def test_mean_variance_and_samples_match_monte_carlo(any_shape):
    components, x = any_shape
    mixture = condition(x, components, gamma=GAMMA)
    draws = mixture.sample(20_000, torch.Generator().manual_seed(0))
    for i in (0, 3, 4):
        truth, _ = draw_mixed(x[i].numpy(), components, GAMMA, 20_000)
        assert (standard_errors(truth, mixture.mean()[i]) < 4.5).all()
        squares = (truth - mixture.mean()[i]).square()
        assert (standard_errors(squares, mixture.variance()[i]) < 4.5).all()
        torch.testing.assert_close(draws[:, i].T.cov(), truth.T.cov(), atol=0.2, rtol=0)
        assert (standard_errors(draws[:, i], mixture.mean()[i]) < 4.5).all()


def test_base_class_moments_agree_with_the_short_cuts(any_shape):
    components, x = any_shape
    mixture = condition(x, components, gamma=GAMMA)
    means, variances = mixture.component_moments()
    weights = mixture.weights[..., None]
    mean = (weights * means).sum(1)
    variance = (weights * (variances + (means - mean[:, None]).square())).sum(1)
    missing = torch.isnan(x)
    torch.testing.assert_close(mixture.mean()[missing], mean[missing])
    torch.testing.assert_close(mixture.variance()[missing], variance[missing])


def test_affine_moments_match_enumeration_of_categories(components):
    x, first = mixed_rows(), components.n_numeric
    weight = torch.tensor(np.random.RandomState(3).randn(5, x.shape[1]))
    mean, variance = affine_moments(
        condition(x, components, gamma=GAMMA), weight, torch.ones(5).double()
    )
    for i, row in enumerate(x.numpy()):
        weights, centres, covariances = mixed_conditional(row, components, GAMMA)
        missing = np.isnan(row[:first])
        w = weight.numpy()[:, :first]
        known = 1.0 + w[:, ~missing] @ row[:first][~missing]
        filled, chances = zip(*completions(row, components), strict=True)
        pushed = np.array(filled)[:, first:] @ weight.numpy()[:, first:].T
        probability = np.array(chances)  # (completions, components)
        category_mean = probability.T @ pushed
        category_variance = probability.T @ pushed**2 - category_mean**2
        np.testing.assert_allclose(
            mean[i], known + centres @ w[:, missing].T + category_mean
        )
        gauss = np.einsum("hd,kde,he->kh", w[:, missing], covariances, w[:, missing])
        np.testing.assert_allclose(variance[i], gauss + category_variance, atol=1e-12)


def test_rbf_matches_enumeration_of_categories(any_shape):
    components, x = any_shape
    rng, first = np.random.RandomState(5), components.n_numeric
    centres, widths = rng.randn(4, x.shape[1]), rng.uniform(0.3, 2.0, (4, x.shape[1]))
    mixture = condition(x, components, gamma=GAMMA)
    out = expected_rbf(mixture, torch.tensor(centres), torch.tensor(widths))
    for i in (0, 1, 3, 4):
        row = x[i].numpy()
        weights, means, covariances = mixed_conditional(row, components, GAMMA)
        missing = np.isnan(row[:first])
        for unit, (centre, width) in enumerate(zip(centres, widths, strict=True)):
            total = 0.0
            for filled, probability in completions(row, components):
                seen = np.append(~missing, np.full(len(row) - first, True))
                known = stats.norm(centre, np.sqrt(width)).pdf(filled)[seen].prod()
                gap, extra = centre[:first][missing], np.diag(width[:first][missing])
                unknown = [
                    stats.multivariate_normal(m, c + extra).pdf(gap) if len(gap) else 1
                    for m, c in zip(means, covariances, strict=True)
                ]
                total += known * (weights * probability) @ unknown
            assert out[i, unit].item() == pytest.approx(total, rel=1e-8)


@pytest.mark.parametrize("gamma", [0.0, GAMMA])
def test_probabilities_of_all_levels_sum_to_one(components, gamma):
    row = np.full(components.means.shape[1], np.nan)
    rows = np.array([filled for filled, _ in completions(row, components)])
    out = log_likelihood(torch.tensor(rows), components, gamma=gamma)
    assert len(rows) == 6
    assert out.exp().sum().item() == pytest.approx(1.0)


def test_log_likelihood_is_that_of_the_observed_cells(components):
    x = mixed_rows()
    out = log_likelihood(x, components)
    assert out[3].item() == pytest.approx(0.0, abs=1e-12)
    x[1, : components.n_numeric] = torch.nan  # a row of categories alone: 0 and 0
    likelihood = components.probabilities[:, 0] * components.probabilities[:, 2]
    truth = (components.log_weights.exp() * likelihood).sum().log()
    assert log_likelihood(x, components)[1].item() == pytest.approx(truth.item())


def test_gamma_to_infinity_is_the_marginal_density(components):
    mixture = condition(mixed_rows(), components, gamma=1e14)
    prior = components.log_weights.exp().expand(8, -1)
    torch.testing.assert_close(mixture.weights, prior, atol=1e-9, rtol=0)


def test_gamma_to_zero_is_the_conditional_density(components):
    near, limit = (
        condition(mixed_rows(), components, gamma=gamma) for gamma in (1e-10, 0.0)
    )
    torch.testing.assert_close(near.mean(), limit.mean(), atol=1e-7, rtol=0)
    torch.testing.assert_close(near.variance(), limit.variance(), atol=1e-7, rtol=0)


def test_row_with_nothing_observed_has_the_prior(any_shape):
    components, x = any_shape
    mixture = condition(x, components, gamma=GAMMA)
    weights = components.log_weights.exp()
    torch.testing.assert_close(mixture.weights[3], weights)
    torch.testing.assert_close(mixture.mean()[3], weights @ components.means)


def test_observed_cells_are_returned_bit_for_bit(any_shape):
    components, x = any_shape
    mixture = condition(x, components, gamma=GAMMA)
    seen = ~torch.isnan(x)
    assert torch.equal(mixture.mean()[seen], x[seen])
    assert torch.equal(mixture.sample(2)[:, seen], x[seen].expand(2, -1))
    assert torch.equal(mixture.variance()[1], torch.zeros_like(x[1]))
    weight = torch.ones(2, x.shape[1]).double()
    assert not affine_moments(mixture, weight)[1][1].any()


def test_samples_of_categories_are_one_hot(any_shape):
    components, x = any_shape
    draws = condition(x, components, gamma=GAMMA).sample(50)
    for columns, _ in groups_of(components):
        group = draws[..., columns]
        assert torch.equal(group.sum(-1), torch.ones_like(group[..., 0]))
        assert set(group.unique().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_without_categories_it_is_the_gaussian_mixture(kind):
    gaussian, x = make_components(kind), mixed_batch()
    mixed = MixedComponents(gaussian, torch.zeros(3, 0).double(), ())
    ours, plain = (condition(x, c, gamma=GAMMA) for c in (mixed, gaussian))
    assert torch.equal(ours.weights, plain.weights)
    assert torch.equal(ours.mean(), plain.mean())
    weight = torch.ones(2, 4).double()
    for mine, theirs in zip(
        affine_moments(ours, weight), affine_moments(plain, weight), strict=True
    ):
        assert torch.equal(mine, theirs)


def test_rows_do_not_depend_on_each_other(any_shape):
    components, x = any_shape
    whole = condition(x, components, gamma=GAMMA).mean()
    alone = [condition(row[None], components, gamma=GAMMA).mean() for row in x]
    torch.testing.assert_close(whole, torch.cat(alone))


def test_gamma_of_a_category_is_the_mean_of_its_columns(components):
    x = mixed_rows()
    noise = torch.tensor([0.1, 0.2, 0.3, 0.5, 0.5, 1.0, 2.0, 3.0]).double()
    blurred = condition(x, components, gamma=noise)
    gamma = torch.tensor([0.1, 0.2, 0.3, 0.5, 0.5, 2.0, 2.0, 2.0]).double()
    torch.testing.assert_close(
        blurred.weights, condition(x, components, gamma=gamma).weights
    )
    noise[3:5] = 1e14  # as good as missing
    without = x.clone()
    without[:, 3:5] = torch.nan
    torch.testing.assert_close(
        condition(x, components, gamma=noise).weights,
        condition(without, components, gamma=noise).weights,
    )


def test_gradients_match_finite_differences(components):
    parts = [t.clone().requires_grad_() for t in components.gaussian]
    logits = components.log_probabilities.clone().requires_grad_()
    weight = torch.tensor(np.random.RandomState(3).randn(2, 8)).requires_grad_()
    gamma = torch.tensor(GAMMA).double().requires_grad_()

    def respond(logits, weight, gamma, *parts):
        if isinstance(components.gaussian, FullComponents):
            parts = (*parts[:2], 0.5 * (parts[2] + parts[2].mT))
        groups = [g.log_softmax(1) for g in logits.split((2, 3), 1)]
        gaussian = type(components.gaussian)(*parts)
        density = MixedComponents(gaussian, torch.cat(groups, 1), (2, 3))
        mixture = condition(mixed_rows(), density, gamma=gamma)
        widths = torch.ones_like(weight)
        return (
            *affine_moments(mixture, weight),
            mixture.mean(),
            mixture.variance(),
            expected_rbf(mixture, weight, widths, normalise=True),
        )

    assert torch.autograd.gradcheck(respond, (logits, weight, gamma, *parts), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, GAMMA])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_where_a_level_is_impossible(dtype, gamma):
    components = make_mixed("diag", dtype=dtype)
    log_probabilities = components.log_probabilities.clone()
    log_probabilities[:, :2] = torch.tensor([[0.0, -torch.inf]])
    log_probabilities.requires_grad_()
    x = mixed_rows(dtype=dtype)
    x[1, 3:5] = torch.tensor([0.0, 1.0])
    noise = torch.tensor(gamma, dtype=dtype, requires_grad=True)
    density = components._replace(log_probabilities=log_probabilities)
    mixture = condition(x, density, gamma=noise)
    weight = torch.ones(2, 8, dtype=dtype)
    total = sum(t.sum() for t in affine_moments(mixture, weight))
    response = expected_rbf(mixture, weight, weight, normalise=True)[:, 0]
    (total + mixture.variance().sum() + response.sum()).backward()
    assert mixture.mean().dtype == dtype
    assert torch.isfinite(log_probabilities.grad).all()
    assert torch.isfinite(noise.grad)


def test_level_that_is_certain_adds_no_variance_in_float32():
    components = make_mixed("diag", dtype=torch.float32)
    certain = torch.tensor([[1.0, 0.0, 0.0, 1.0, 0.0]]).expand(3, -1).log()
    mixture = condition(
        mixed_rows(dtype=torch.float32),
        components._replace(log_probabilities=certain),
        gamma=GAMMA,
    )
    weight = torch.full((1, 8), 0.1)
    weight[:, :3] = 0.0
    assert not affine_moments(mixture, weight)[1].any()


def test_convolutions_are_refused(components):
    mixture = condition(mixed_rows(), components, gamma=GAMMA)
    with pytest.raises(ValueError, match="categorical columns"):
        conv_moments(mixture, torch.ones(1, 1, 3).double(), input_shape=(1, 8))


@pytest.mark.parametrize(
    "group",
    [[1.0, torch.nan, 0.0], [torch.nan, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0] * 3]
    + [[0.5, 0.5, 0.0], [2.0, -1.0, 0.0], [1.0, torch.nan, -3.0]],
)
def test_groups_that_are_not_one_hot_are_refused(group):
    x = mixed_rows()
    x[2, 5:] = torch.tensor(group)
    match = "in columns 5 to 7 of row 2 of x, but expected a category"
    with pytest.raises(ValueError, match=match):
        condition(x, make_mixed("diag"), gamma=GAMMA)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"sizes": (2, 2)}, ValueError, "log_probabilities of shape"),
        ({"sizes": (3, 2)}, ValueError, "sum to 1"),
        ({"sizes": (5, 0)}, ValueError, "an entry of sizes=0"),
        ({"sizes": 5}, TypeError, "sizes=5"),
        ({"log_probabilities": torch.zeros(3, 5)}, ValueError, "sum to 1"),
        ({"log_probabilities": [0.5]}, TypeError, "log_probabilities of type"),
        ({"gaussian": make_mixed("diag")}, TypeError, "components of type Mixed"),
        ({"gaussian": make_components("diag", 2, 3)}, ValueError, "log_probabilities"),
    ],
)
def test_bad_components_are_refused(change, error, match):
    with pytest.raises(error, match=match):
        condition(mixed_rows(), make_mixed("diag")._replace(**change), gamma=GAMMA)


def test_components_without_a_column_are_refused():
    empty = make_mixed("diag", 0, ())
    with pytest.raises(ValueError, match="without a column"):
        condition(torch.zeros(2, 0).double(), empty, gamma=GAMMA)
