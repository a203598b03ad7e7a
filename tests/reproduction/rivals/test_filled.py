"""Autoencoders over filled rows."""

import numpy as np
import pandas as pd
import pytest
import torch
from reproduction.rivals._filled import FilledAutoencoder
from reproduction.rivals._neighbours import NeighbourImputer
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import check_network, numbers

NAN = np.nan
_QUICK = {"hidden_layer_sizes": (8,), "max_epochs": 2, "random_state": 0}


def autoencoder(imputer=None, **options):
    return FilledAutoencoder(imputer, **{**_QUICK, **options})


def line(n=200):
    """Return rows on a line, with holes: the rest of a row says what is missing."""
    rng = np.random.RandomState(0)
    truth = rng.randn(n, 1) * [1.0, 2.0, -1.0] + [0.0, 5.0, 1.0]
    return np.where(rng.rand(n, 3) < 0.2, NAN, truth), truth


few_rows = pytest.mark.filterwarnings("ignore:Got .* rows, too few")


@few_rows
@parametrize_with_checks([autoencoder()])
def test_scikit_learn_check(estimator, check):
    check_network(estimator, check)


@pytest.mark.slow
@few_rows
@parametrize_with_checks([FilledAutoencoder()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check_network(estimator, check)


def test_holes_are_filled_better_than_by_the_mean():
    X, truth = line()
    model = autoencoder(hidden_layer_sizes=(16, 1, 16), max_epochs=60, lr=0.01)
    filled = model.fit_transform(X)
    holes = np.isnan(X) & ~np.isnan(X).all(1, keepdims=True)
    means = np.where(holes, np.nanmean(X, axis=0), X)
    error, of_means = (np.square(t - truth)[holes].mean() for t in (filled, means))
    assert error < 0.5 * of_means


def test_transform_leaves_observed_cells_and_reconstruct_does_not():
    X, _ = numbers()
    model = autoencoder().fit(X)
    filled, reconstructed = model.transform(X), model.reconstruct(X)
    seen = ~np.isnan(X)
    assert (filled[seen] == X[seen]).all()
    assert (reconstructed[seen] != X[seen]).all()
    np.testing.assert_array_equal(filled[~seen], reconstructed[~seen])


def test_what_is_given_back_is_the_output_for_filled_rows_on_the_scale_of_the_table():
    X, _ = numbers()
    model = autoencoder().fit(X)
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    x = torch.tensor((X - centre) / spread, dtype=torch.float32).clamp(-5, 5)
    with torch.no_grad():
        outputs = model.module_(x.nan_to_num(0.0))  # zero is the mean
    expected = outputs.numpy() * spread + centre
    np.testing.assert_allclose(model.reconstruct(X), expected, rtol=1e-4, atol=1e-5)


def test_without_scale_the_imputer_sees_the_rows_as_they_are():
    X = np.arange(60.0, dtype=np.float32).reshape(20, 3)
    X[::2, 1] = NAN
    model = autoencoder(NeighbourImputer(2), scale="none").fit(X)
    filled = NeighbourImputer(2).fit_transform(X)
    with torch.no_grad():
        outputs = model.module_(torch.from_numpy(filled)).numpy()
    np.testing.assert_allclose(model.reconstruct(X), outputs, rtol=1e-5, atol=1e-5)


class Constant(TransformerMixin, BaseEstimator):
    """Fill with a number, or drop a column."""

    def __init__(self, value=7.0, *, n_dropped=0):
        self.value = value
        self.n_dropped = n_dropped

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.where(np.isnan(X), self.value, X)[:, self.n_dropped :]


def still(imputer=None, **options):
    """Make a model whose weights hardly move, and that is judged by all rows."""
    return autoencoder(imputer, lr=1e-12, max_epochs=1, scale="none", **options)


@few_rows
def test_the_loss_is_taken_over_observed_cells_alone():
    X = np.array([[1.0, NAN, 2.0], [NAN, NAN, -1.0], [0.5, 3.0, 1.0]])
    model = still(Constant()).fit(X)
    squares = (model.reconstruct(X) - X) ** 2
    expected = np.nanmean(squares, axis=1).mean()  # a row counts as a row
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)
    assert model.history_[0].train_loss == pytest.approx(expected, rel=1e-5)


def test_an_imputer_must_keep_the_columns_and_leave_no_holes():
    X, _ = numbers()
    with pytest.raises(ValueError, match=r"shape \(60, 3\).*expected \(60, 4\)"):
        autoencoder(Constant(n_dropped=1)).fit(X)
    with pytest.raises(ValueError, match=f"{np.isnan(X).sum()} holes from"):
        autoencoder(Constant(NAN)).fit(X)


def test_the_given_imputer_is_left_alone():
    X, _ = numbers()
    imputer = SimpleImputer(strategy="median")
    model = autoencoder(imputer).fit(X)
    assert not hasattr(imputer, "statistics_")
    assert hasattr(model.imputer_, "statistics_")


@pytest.mark.parametrize("imputer", [None, NeighbourImputer()])
def test_a_column_without_values_takes_no_part_and_is_filled_with_zero(imputer):
    X, _ = numbers()
    X = np.insert(X, 2, NAN, axis=1)
    with pytest.warns(UserWarning, match=r"without one observed value: \[2\]"):
        model = autoencoder(imputer).fit(X)
    rows = X.copy()
    rows[0, 2] = 5.0
    filled = model.transform(rows)
    assert filled[0, 2] == 5.0
    assert (filled[1:, 2] == 0.0).all()
    others = autoencoder(imputer).fit(np.delete(X, 2, axis=1))
    np.testing.assert_array_equal(
        np.delete(filled, 2, axis=1), others.transform(np.delete(rows, 2, axis=1))
    )


def test_a_table_without_values_is_refused():
    with pytest.raises(ValueError, match="without one observed value"):
        autoencoder().fit(np.full((20, 2), NAN))


def test_wild_values_count_as_five_deviations():
    X, _ = numbers(200)
    model = autoencoder().fit(X)
    rows = X[:2].copy()
    rows[:, 0] = [1e3, 1e6]
    rows[1, 1:] = rows[0, 1:]
    first, second = model.reconstruct(rows)
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)


def test_single_precision_stays_single():
    X, _ = numbers()
    model = autoencoder().fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.reconstruct(X).dtype == np.float64


def test_encode_returns_the_narrowest_layer():
    X, _ = numbers()
    model = autoencoder(hidden_layer_sizes=(8, 3, 8), activation=("relu", "tanh"))
    codes = model.fit(X).encode(X)
    assert codes.shape == (60, 3)
    assert (np.abs(codes) < 1).all()
    assert (codes < 0).any()
    np.testing.assert_array_equal(
        model.set_params(hidden_layer_sizes=(2,)).encode(X), codes
    )


def test_the_paper_s_autoencoder_gives_back_intensities():
    X = np.random.RandomState(0).rand(50, 16)
    X[::3, 4:8] = NAN
    model = autoencoder(
        scale="none",
        hidden_layer_sizes=(8, 4, 8),
        activation=("relu", "sigmoid"),
        out_activation="sigmoid",
    )
    given_back = model.fit(X).reconstruct(X)
    assert (given_back > 0).all()
    assert (given_back < 1).all()


def test_the_same_seed_gives_the_same_and_global_generators_stay():
    X, _ = numbers()
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    first, again = (autoencoder().fit_transform(X) for _ in range(2))
    other = autoencoder(random_state=1).fit_transform(X)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_frames_come_back_as_frames_where_that_is_asked():
    X, _ = numbers()
    table = pd.DataFrame(X, columns=list("abcd"))
    model = autoencoder().set_output(transform="pandas")
    filled = model.fit_transform(table)
    assert list(filled) == list("abcd")
    assert not filled.isna().any(axis=None)
    again = make_pipeline(clone(model)).fit_transform(table)
    pd.testing.assert_frame_equal(filled, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "robust"}, "Got scale='robust'.*standard, none"),
        ({"activation": ("relu", "tanh", "relu")}, "expected one, or a pair"),
        ({"hidden_layer_sizes": ()}, "hidden_layer_sizes"),
        ({"max_epochs": 0}, "max_epochs=0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        autoencoder(**options).fit(numbers()[0])
