"""The density as a module: what goes in comes out, and gradients stay finite."""

import copy

import numpy as np
import pytest
import torch
from oracle import KINDS, dense_covariances, make_components, mixed_batch
from sklearn.mixture import GaussianMixture

from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture
from lacunet.functional import condition


@pytest.fixture(params=KINDS)
def components(request):
    return make_components(request.param)


@pytest.fixture
def density(components):
    return GaussianMixtureDensity.from_components(components, gamma=0.3)


def test_properties_give_back_the_components(components, density):
    torch.testing.assert_close(density.weights, components.log_weights.exp())
    torch.testing.assert_close(density.means.data, components.means)
    torch.testing.assert_close(density.gamma.item(), 0.3)
    truth = torch.tensor(dense_covariances(components))
    torch.testing.assert_close(density.covariances, truth)
    for name in ("variances", "loadings"):
        if hasattr(components, name):
            torch.testing.assert_close(
                getattr(density, name).data, getattr(components, name)
            )


def test_condition_is_the_functional_one(components, density):
    x = mixed_batch()
    ours, plain = density.condition(x), condition(x, components, gamma=0.3)
    torch.testing.assert_close(ours.weights, plain.weights)
    torch.testing.assert_close(ours.mean(), plain.mean())


@pytest.mark.parametrize("covariance_type", KINDS)
def test_from_estimator_scores_as_the_estimator(covariance_type):
    X = np.random.RandomState(0).randn(60, 4)
    X[np.random.RandomState(1).rand(60, 4) < 0.3] = np.nan
    fitted = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, tol=0.1, random_state=0
    ).fit(X)
    density = GaussianMixtureDensity.from_estimator(fitted, dtype=torch.float64)
    scores = density.log_prob(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(scores, fitted.score_samples(X), atol=1e-9)
    default = GaussianMixtureDensity.from_estimator(fitted)
    assert default.means.dtype == torch.get_default_dtype()


def test_from_estimator_takes_scikit_learns_own_mixture():
    X = np.random.RandomState(0).randn(60, 3)
    fitted = GaussianMixture(2, covariance_type="full", random_state=0).fit(X)
    density = GaussianMixtureDensity.from_estimator(fitted, dtype=torch.float64)
    scores = density.log_prob(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(scores, fitted.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_log_prob_passes_gradcheck_on_mixed_rows(kind):
    density = GaussianMixtureDensity.from_components(make_components(kind), gamma=0.3)
    names = [n for n, _ in density.named_parameters() if n != "log_gamma"]
    start = tuple(getattr(density, n).detach().requires_grad_() for n in names)

    def log_prob(*values):
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(density, given, (mixed_batch(),))

    assert torch.autograd.gradcheck(log_prob, start)


def test_gradients_are_finite_on_mixed_rows(density):
    mixture = density.condition(mixed_batch())
    total = mixture.mean().sum() + mixture.variance().sum()
    (total + density.log_prob(mixed_batch()).sum()).backward()
    for parameter in density.parameters():
        assert torch.isfinite(parameter.grad).all()
        assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("trainable", "expected"),
    [
        (True, {"logits", "means", "log_variances", "log_gamma"}),
        (False, set()),
        (("means", "gamma"), {"means", "log_gamma"}),
        ("covariances", {"log_variances"}),
    ],
)
def test_trainable_parts_take_gradients(trainable, expected):
    density = GaussianMixtureDensity(2, 3, trainable=trainable)
    got = {name for name, p in density.named_parameters() if p.requires_grad}
    assert got == expected


def test_density_stays_positive_however_far_a_step_goes():
    density = GaussianMixtureDensity(2, 3)
    with torch.no_grad():
        density.means.fill_(1.0)  # drawn means may be so far that float32 overflows
        density.log_variances.fill_(-1e4)
        density.log_gamma.fill_(-1e4)
    assert (density.variances > 0).all()
    assert torch.isfinite(density.log_prob(torch.zeros(1, 3))).all()


def test_zero_gamma_is_allowed_and_stays_finite():
    density = GaussianMixtureDensity(2, 4, gamma=0.0, dtype=torch.float64)
    density.condition(mixed_batch()).mean().sum().backward()
    assert density.gamma.item() == 0.0
    assert torch.isfinite(density.log_gamma.grad)


def test_gamma_per_feature_is_used_per_feature():
    components = make_components("diag")
    noise = torch.tensor([0.1, 1e12, 0.1, 0.1], dtype=torch.float64)
    density = GaussianMixtureDensity.from_components(components, gamma=noise)
    x = torch.tensor([[0.3, 0.5, torch.nan, 1.0]], dtype=torch.float64)
    without = x.clone()
    without[0, 1] = torch.nan  # a noise of 1e12 is as good as a missing value
    torch.testing.assert_close(
        density.condition(x).weights, density.condition(without).weights
    )


def test_state_dict_and_deepcopy_give_the_same_density(density):
    x = mixed_batch()
    copied = copy.deepcopy(density)
    torch.testing.assert_close(copied.log_prob(x), density.log_prob(x))
    empty = GaussianMixtureDensity(
        3,
        4,
        covariance_type=density.covariance_type,
        rank=2 if density.covariance_type == "factor" else None,
        dtype=torch.float64,
    )
    empty.load_state_dict(density.state_dict())
    torch.testing.assert_close(empty.log_prob(x), density.log_prob(x))


def test_random_start_comes_from_the_generator():
    state = torch.get_rng_state()
    first, second = (
        GaussianMixtureDensity(2, 3, generator=torch.Generator().manual_seed(7))
        for _ in range(2)
    )
    assert torch.equal(first.means, second.means)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((0, 3), {}, ValueError, "n_components=0"),
        ((2, 0), {}, ValueError, "n_features=0"),
        ((2.0, 3), {}, TypeError, "n_components=2.0"),
        ((2, 3), {"gamma": [0.1]}, TypeError, r"gamma=\[0.1\]"),
        ((2, 3), {"gamma": -0.1}, ValueError, "gamma=-0.1"),
        ((2, 3), {"gamma": float("nan")}, ValueError, "gamma=nan"),
        ((2, 3), {"gamma": torch.ones(4)}, ValueError, "gamma of shape"),
        ((2, 3), {"covariance_type": "tied"}, ValueError, "covariance_type='tied'"),
        ((2, 3), {"covariance_type": "factor"}, TypeError, "rank=None"),
        ((2, 3), {"rank": 2}, ValueError, "rank=2"),
        ((2, 3), {"trainable": ("mean",)}, ValueError, "trainable='mean'"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, error, match):
    with pytest.raises(error, match=match):
        GaussianMixtureDensity(*arguments, **options)


def test_bad_batches_are_refused(density):
    for x, match in (
        (torch.zeros(4), r"\(batch, 4\)"),
        (torch.zeros(2, 1, 4), r"\(batch, 4\)"),
        (torch.zeros(2, 3), r"\(\*, 4\)"),
    ):
        with pytest.raises(ValueError, match=match):
            density.condition(x.double())
        with pytest.raises(ValueError, match=match):
            density.log_prob(x.double())


def test_bad_estimators_and_components_are_refused():
    with pytest.raises(ValueError, match="without weights_, means_"):
        GaussianMixtureDensity.from_estimator(IncompleteGaussianMixture())
    with pytest.raises(ValueError, match="covariance_type of the estimator"):
        GaussianMixtureDensity.from_estimator(GaussianMixture(covariance_type="tied"))
    with pytest.raises(TypeError, match="DiagComponents"):
        GaussianMixtureDensity.from_components((torch.zeros(1), torch.zeros(1, 2)))


def test_each_type_has_its_own_parts():
    full = GaussianMixtureDensity(1, 2, covariance_type="full")
    assert not hasattr(full, "variances")
    assert not hasattr(full, "loadings")
    assert not hasattr(GaussianMixtureDensity(1, 2), "loadings")
