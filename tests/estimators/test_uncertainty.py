"""Standard deviations, quantiles and sets of classes, against truth on made data."""

import copy
import warnings

import numpy as np
import pytest
import torch

import lacunet
from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import _uncertainty, find_p_values
from lacunet.exceptions import LacunetError

COVARIANCE = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 1.0]])
SLOPES = np.array([1.0, -2.0, 0.5])
NOISE = 0.3


def made(n, seed, fraction=0.1):
    rng = np.random.RandomState(seed)
    X = rng.multivariate_normal(np.zeros(3), COVARIANCE, n)
    y = X @ SLOPES + NOISE * rng.randn(n)
    X[rng.rand(n, 3) < fraction] = np.nan
    return X, y


@pytest.fixture(scope="module")
def model():
    X, y = made(1000, 0)
    return LacunetRegressor(n_networks=10, max_epochs=8, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = made(1000, 0)
    model = LacunetClassifier(n_networks=4, max_epochs=15, random_state=0)
    return model.fit(X, np.digitize(y, [-1.0, 1.0]))


@pytest.fixture(scope="module")
def linear():
    """Networks that are exactly the linear map, over one full Gaussian."""
    X, y = made(2000, 1)
    density = IncompleteGaussianMixture(1, covariance_type="full", tol=1e-6)
    model = LacunetRegressor(
        density=density, scale="none", gamma=0.0, n_networks=2, max_epochs=1
    )
    model.set_params(n_samples=1024, random_state=0).fit(X, y)
    (view,) = model.module_
    first = view.networks.first
    with torch.no_grad():
        for parameter in view.networks.layers.parameters():
            parameter.zero_()
        first.weight.zero_()
        first.weight[-2:] = torch.as_tensor(SLOPES / model._scale.std)
        first.bias.fill_(-float(model._scale.mean[0] / model._scale.std[0]))
    return model


@pytest.mark.parametrize("hidden", [(), (0,), (1,), (0, 2), (0, 1, 2)])
def test_parts_of_the_variance_are_those_of_a_linear_model(linear, hidden):
    x = np.array([[0.5, -1.0, 2.0]])
    x[:, hidden] = np.nan
    parts = linear.predict_variances(x)
    m, o = list(hidden), [i for i in range(3) if i not in hidden]
    S = COVARIANCE
    given = S[np.ix_(m, m)]
    if o:
        given = given - S[np.ix_(m, o)] @ np.linalg.solve(
            S[np.ix_(o, o)], S[np.ix_(o, m)]
        )
    assert parts.missing[0] == pytest.approx(SLOPES[m] @ given @ SLOPES[m], rel=0.15)
    assert parts.networks[0] == pytest.approx(0.0, abs=1e-9)
    assert parts.noise[0] == pytest.approx(NOISE**2, rel=0.5)


def test_parts_sum_up_to_the_squared_standard_deviation(model):
    X, _ = made(50, 2, 0.4)
    predictions, std = model.predict(X, return_std=True)
    assert predictions == pytest.approx(model.predict(X))
    parts = model.predict_variances(X)
    assert std**2 == pytest.approx(sum(parts))
    assert all((part >= 0).all() for part in parts)
    complete = ~np.isnan(X).any(1)
    assert (parts.missing[complete] == 0).all()
    assert (parts.missing[~complete] > 0).all()


@pytest.mark.parametrize("hidden", [(), (1,), (0, 1)])
def test_quantiles_hold_whatever_is_missing(model, hidden):
    X, y = made(2000, 3, 0.0)
    X[:, hidden] = np.nan
    low, middle, high = model.predict_quantiles(X, [0.05, 0.5, 0.95]).T
    # A standard deviation of 1% by calibration rows, and networks of another CPU.
    assert np.mean((y < low) | (y > high)) == pytest.approx(0.1, abs=0.05)
    assert np.mean(y < middle) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("hidden", [(), (1,), (0, 1)])
def test_true_classes_are_credible_whatever_is_missing(classifier, hidden):
    X, y = made(2000, 3, 0.0)
    X[:, hidden] = np.nan
    p_values = find_p_values(classifier, classifier._read(X)[1])
    of_class = p_values[np.arange(len(y)), np.digitize(y, [-1.0, 1.0])]
    for level in (0.1, 0.5):
        assert np.mean(of_class <= level) == pytest.approx(level, abs=0.05)


def test_a_class_of_a_row_without_values_is_as_credible_as_frequent(classifier):
    drawn = copy.copy(classifier).set_params(propagate="sample", n_samples=64)
    (p_values,) = find_p_values(drawn, drawn._read(np.full((1, 3), np.nan))[1])
    # Rows that nothing is known of have the same prediction: no stranger than others.
    _, counts = np.unique(drawn._calibration.targets, return_counts=True)
    assert (p_values >= counts / counts.sum()).all()


def test_no_class_is_less_credible_than_calibration_rows_can_tell(classifier):
    (p_values,) = find_p_values(classifier, classifier._read([[0.0, -9.0, 0.0]])[1])
    n_complete = int((~classifier._calibration.x.isnan().any(1)).sum())
    n_rows = max(n_complete, _uncertainty._FEWEST_ROWS)
    assert p_values.min() == pytest.approx(1 / (1 + n_rows))
    assert p_values.argmax() == 2  # the class of large targets


def test_a_row_has_the_same_quantiles_alone(model):
    X, _ = made(8, 4, 0.3)
    together = model.predict_quantiles(X)
    alone = np.concatenate([model.predict_quantiles(row) for row in X[:, None]])
    assert alone == pytest.approx(together, rel=1e-5)


@pytest.mark.parametrize("n", [9, 10, 19, 200])
@pytest.mark.parametrize("level", [0.05, 0.1, 0.5, 0.9, 0.95])
def test_one_more_value_is_beyond_a_quantile_as_rarely_as_asked(n, level):
    # Of n + 1 values in any order, the new one has each rank as often: count.
    ranks = np.arange(n + 1.0)
    beyond = 0
    for new in ranks:
        others = np.delete(ranks, int(new))[:, None]
        ((quantile,),) = _uncertainty._pick(others, [level])
        beyond += new > quantile if level >= 0.5 else new < quantile
    allowed = (1 - level if level >= 0.5 else level) * (n + 1)
    assert allowed - 1 - 1e-9 < beyond <= allowed + 1e-9


def test_networks_of_a_fold_did_not_learn_its_rows(classifier):
    model = classifier
    weights = model._network_weights(5)  # two networks of each view, of five folds
    sizes = [view.networks.n_networks for view in model.module_]
    assert sizes == [2, 2]
    assert weights.sum(1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert (weights[0] > 0).tolist() == [True, False, True, False]
    assert (weights[1] > 0).tolist() == [False, True, False, True]
    assert set(model._calibration.folds.tolist()) == {0, 1}


def test_rows_to_validate_on_are_the_calibration_rows():
    X, y = made(300, 5)
    X_val, y_val = made(80, 6)
    model = LacunetRegressor(n_networks=2, max_epochs=3, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    kept = model._calibration
    assert (kept.folds == -1).all()
    targets = model._scale.inverse(kept.targets.numpy())[:, 0]
    assert np.sort(targets) == pytest.approx(np.sort(y_val), abs=1e-6)
    assert np.isfinite(model.predict_quantiles(X[:3], [0.1, 0.9])).all()


def test_quantiles_beyond_the_calibration_rows_are_infinite(model):
    with pytest.warns(UserWarning, match="too few for a quantile of 0.0001"):
        (low, high), *_ = model.predict_quantiles(made(2, 7)[0], [1e-4, 1 - 1e-4])
    assert low == -np.inf
    assert high == np.inf


@pytest.mark.parametrize("quantiles", [[], [0.0], [0.5, 1.0], [np.nan]])
def test_other_quantiles_are_refused(model, quantiles):
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles(np.zeros((1, 3)), quantiles)


def test_several_outputs_with_missing_targets():
    X, y = made(400, 8)
    Y = np.column_stack([y, -3.0 * y])
    Y[::3, 1] = np.nan
    model = LacunetRegressor(n_networks=2, max_epochs=10, random_state=0).fit(X, Y)
    predictions, std = model.predict(X[:5], return_std=True)
    assert predictions.shape == std.shape == (5, 2)
    quantiles = model.predict_quantiles(X[:5], [0.1, 0.9])
    assert quantiles.shape == (5, 2, 2)
    assert (quantiles[..., 0] < quantiles[..., 1]).all()


def test_calibration_rows_are_saved(model, classifier, tmp_path):
    X, _ = made(20, 9, 0.3)
    model.save(tmp_path / "numbers")
    again = lacunet.load(tmp_path / "numbers")
    assert (again.predict_quantiles(X) == model.predict_quantiles(X)).all()
    classifier.save(tmp_path / "classes")
    again = lacunet.load(tmp_path / "classes")
    p_values = [find_p_values(m, m._read(X)[1]) for m in (again, classifier)]
    assert (p_values[0] == p_values[1]).all()


def test_models_without_calibration_rows_refuse(tmp_path):
    X, y = made(100, 10)
    model = LacunetRegressor(n_networks=2, max_epochs=2, calibration=False)
    model.set_params(random_state=0).fit(X, y).save(tmp_path / "model")
    for each in (model, lacunet.load(tmp_path / "model")):
        assert each.predict(X[:2]).shape == (2,)
        with pytest.raises(LacunetError, match="without calibration rows"):
            each.predict(X[:2], return_std=True)


def test_validation_rows_are_kept_in_no_order_and_a_thousand_of_them():
    X, y = made(200, 12)
    X_val, y_val = made(1500, 13)
    model = LacunetRegressor(n_networks=2, max_epochs=2, random_state=0)
    model.fit(X, y, X_val=X_val[np.argsort(y_val)], y_val=np.sort(y_val))
    targets = model._scale.inverse(model._calibration.targets.numpy())
    assert len(targets) == 1000
    assert targets.mean() == pytest.approx(y_val.mean(), abs=0.3)


def test_a_warm_start_on_other_rows_leaves_no_calibration_rows():
    X, y = made(100, 14)
    model = LacunetRegressor(n_networks=2, max_epochs=2, warm_start=True)
    model.set_params(random_state=0).fit(X, y).fit(X, y)
    assert model._calibration is not None
    model.fit(X[:90], y[:90])
    with pytest.raises(LacunetError, match="warm_start to other rows"):
        model.predict_quantiles(X)


def test_a_constant_target_has_no_infinite_quantile():
    model = LacunetRegressor(n_networks=2, max_epochs=1, random_state=0)
    model.fit(made(40, 15)[0], np.ones(40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantiles = model.predict_quantiles(made(3, 16)[0], [0.01, 0.99])
    assert quantiles == pytest.approx(1.0)


def test_few_draws_do_not_make_missing_values_certain(model):
    row = np.array([[np.nan, 0.0, 0.0]])
    many = model.predict_variances(row).missing
    few = copy.copy(model).set_params(n_samples=1).predict_variances(row).missing
    assert few == pytest.approx(many, rel=0.4)


def test_rows_that_lack_a_value_on_account_of_another_are_covered():
    # Where the first column is large, the second is mostly missing and noise is large:
    # rows that have it, and from which it would be hidden, are of another kind.
    def make(n, seed):
        rng = np.random.RandomState(seed)
        X = rng.randn(n, 2)
        large = X[:, 0] > 0.5
        y = X[:, 1] + np.where(large, 2.0, 0.3) * rng.randn(n)
        X[rng.rand(n) < np.where(large, 0.9, 0.05), 1] = np.nan
        return X, y

    X, y = make(1200, 0)
    model = LacunetRegressor(n_networks=10, max_epochs=6, random_state=0).fit(X, y)
    X, y = make(2000, 1)
    low, high = model.predict_quantiles(X, [0.05, 0.95]).T
    lacking = np.isnan(X[:, 1])
    assert np.mean((low < y) & (y < high), where=lacking) > 0.85


@pytest.mark.parametrize("n_networks", [2, 4])
def test_networks_that_fit_the_training_rows_too_well_know_it(n_networks):
    rng = np.random.RandomState(0)
    X, slopes = rng.randn(1100, 30), rng.randn(30)
    y = X @ slopes
    model = LacunetRegressor(n_networks=n_networks, max_epochs=60, random_state=0)
    model.set_params(dropout=0.0, weight_decay=0.0).fit(X[:100], y[:100])
    X, y = X[100:], y[100:]
    predicted, std = model.predict(X, return_std=True)
    assert np.mean((y - predicted) ** 2) < 1.5 * np.mean(std**2)
    low, high = model.predict_quantiles(X, [0.05, 0.95]).T
    assert np.mean((low < y) & (y < high)) > 0.83  # of 40 or 80 calibration rows


def test_variances_of_missing_values_agree_with_squared_errors():
    # Gaussians draw a skewed column too widely.
    def make(n, seed):
        rng = np.random.RandomState(seed)
        X = np.exp(rng.randn(n, 2))
        y = X[:, 0] + 0.1 * rng.randn(n)
        X[rng.rand(n) < 0.3, 0] = np.nan
        return X, y

    model = LacunetRegressor(n_networks=10, max_epochs=10, random_state=0)
    model.set_params(density=IncompleteGaussianMixture(1)).fit(*make(1000, 0))
    kept = model._calibration
    missing = kept.x.isnan().any(1)
    errors = kept.targets - torch.as_tensor(
        _uncertainty._predict_unseen(model, kept, model._network_weights(5))
    )
    square = float(errors[missing].square().mean()) * float(model._scale.std[0]) ** 2
    total = model.predict_variances(np.array([[np.nan, 1.0]])).total[0]
    assert total == pytest.approx(square, rel=0.5)


def test_no_error_counts_for_its_own_row():
    rng = np.random.RandomState(0)
    predicted, targets = rng.randn(2, 60, 1)
    before = _uncertainty._Squares(predicted, targets)
    targets[7] = 100.0
    after = _uncertainty._Squares(predicted, targets)
    assert after.of_others()[7] == pytest.approx(before.of_others()[7])
    assert (np.delete(after.of_others() > before.of_others(), 7)).all()
    # Of all rows, next to the mean of all where the errors do not depend on it.
    even = _uncertainty._Squares(predicted, predicted + 3.0)
    assert even(rng.randn(5, 1)) == pytest.approx(9.0)
    assert even.of_others() == pytest.approx(9.0)


def test_validation_rows_that_were_learned_before_are_no_calibration_rows():
    X, y = made(100, 18)
    X_val, y_val = made(60, 19)
    model = LacunetRegressor(n_networks=2, max_epochs=2, warm_start=True)
    model.set_params(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model._calibration is not None
    model.fit(X_val, y_val, X_val=X, y_val=y)
    assert model._calibration is None
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model._calibration is None


def test_an_output_that_is_missing_where_rows_lack_a_value_has_no_end():
    X, y = made(400, 20, 0.0)
    X[::2, 0] = np.nan  # the second output is only known where nothing is missing
    Y = np.column_stack([y, np.where(np.isnan(X[:, 0]), np.nan, y)])
    model = LacunetRegressor(n_networks=10, max_epochs=2, random_state=0).fit(X, Y)
    kept = model._calibration
    lacking = kept.x[:, 0].isnan()
    model._calibration = kept.take(torch.cat([torch.where(lacking)[0]] * 2))
    model._calibration.targets[0, 1] = 0.0
    row = np.array([[np.nan, 0.0, 0.0]])
    with pytest.warns(UserWarning, match="too few"):
        ends = model.predict_quantiles(row, [0.1, 0.9])[0]
    assert np.isfinite(ends[0]).all()
    assert np.isfinite(model.predict(row, return_std=True)[1]).all()


def test_few_complete_rows_are_as_sure_as_their_errors():
    # 175 of 500 are complete; errors of others, less what draws vary, were too small.
    rng = np.random.default_rng(103)
    covariance = [[1, 0.6, 0.3], [0.6, 1, 0.3], [0.3, 0.3, 1]]
    X = rng.multivariate_normal([0, 0, 0], covariance, size=2500)
    y = 2 * X[:, 0] - X[:, 1] + rng.normal(0, 0.3, 2500)
    missing = rng.random(X.shape) < 0.3
    model = LacunetRegressor(n_networks=6, max_epochs=25, random_state=103)
    model.fit(np.where(missing, np.nan, X)[:500], y[:500])
    predicted, std = model.predict(X[500:], return_std=True)
    assert 0.5 < np.square((y[500:] - predicted) / std).mean() < 1.5
