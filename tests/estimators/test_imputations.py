"""Multiple imputation: draws with the uncertainty of the parameters, and shifts."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small import frame, imputer, numbers

from lacunet import IncompleteGaussianMixture, LacunetImputer, distributed, load
from lacunet.estimators import _mixtures
from lacunet.inspection import pool

NAN = np.nan
FULL = IncompleteGaussianMixture(1, covariance_type="full")


def half_missing(n=400, seed=0):
    rng = np.random.RandomState(seed)
    x = rng.randn(n)
    X = np.column_stack([x, 1 + x + rng.randn(n)])
    X[rng.permutation(n) < n // 2, 1] = NAN
    return X


def theory(X, *, parameters):
    """Return the variance between tables of the mean, by Bayesian regression."""
    missing = np.isnan(X[:, 1])
    x, y = X[~missing].T
    slope, start = np.polyfit(x, y, 1)
    noise = np.square(y - slope * x - start).sum() / (len(x) - 2)
    distance = X[missing, 0].mean() - x.mean()
    variance = noise / missing.sum()
    if parameters:
        variance += noise * (1 / len(x) + distance**2 / np.square(x - x.mean()).sum())
    return missing.mean() ** 2 * variance


@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.filterwarnings("ignore:Got a model without the rows")
def test_the_variance_between_tables_is_that_of_bayesian_regression(keep_rows):
    X = half_missing()
    model = imputer(density=FULL, keep_rows=keep_rows).fit(X)
    means = [table[:, 1].mean() for table in model.sample_imputations(X, 60)]
    expected = theory(X, parameters=keep_rows)
    assert np.var(means, ddof=1) == pytest.approx(expected, rel=0.35)
    assert theory(X, parameters=True) > 1.8 * theory(X, parameters=False)


def test_draws_have_the_slope_and_the_noise_of_the_data():
    X = half_missing(1000)
    missing = np.isnan(X[:, 1])
    drawn = np.stack(LacunetImputer(random_state=0).fit(X).sample_imputations(X, 20))
    x, y = drawn[:, missing].reshape(-1, 2).T
    slope, start = np.polyfit(x, y, 1)
    truth = np.polyfit(*X[~missing].T, 1)
    np.testing.assert_allclose([slope, start], truth, atol=0.05)
    residuals = [X[~missing, 1] - np.polyval(truth, X[~missing, 0]), y - slope * x]
    assert residuals[1].std() == pytest.approx(residuals[0].std(), rel=0.05)


def test_draws_vary_enough_where_there_are_few_rows_for_the_columns():
    rng = np.random.RandomState(0)
    X = rng.randn(120, 12)
    X[:60, -1] = NAN
    known = np.column_stack([X[:, :-1], np.ones(120)])
    fitted, (square,), *_ = np.linalg.lstsq(known[60:], X[60:, -1], rcond=None)
    noise = square / (60 - 12)
    inverse = np.linalg.inv(known[60:].T @ known[60:])
    leverage = ((known[:60] @ inverse) * known[:60]).sum(1)
    tables = imputer(density=FULL).fit(X).sample_imputations(X, 40)
    draws = np.stack([table[:60, -1] for table in tables])
    varied = np.square(draws - known[:60] @ fitted).mean()
    assert varied == pytest.approx(noise * (1 + leverage.mean()), rel=0.15)


def test_draws_of_rows_without_a_value_vary_as_columns_do():
    X = np.random.RandomState(0).randn(80, 20)
    X[40:] = NAN
    tables = imputer(density=FULL).fit(X).sample_imputations(X, 20)
    drawn = np.stack([table[40:] for table in tables])
    # Means that are drawn, too, have a variance of their own: 1 / 40.
    expected = X[:40].var(0, ddof=1).mean() * (1 + 1 / 40)
    assert drawn.var(0, ddof=1).mean() == pytest.approx(expected, rel=0.1)


def test_categories_drawn_with_numbers_depend_on_them():
    rng = np.random.RandomState(0)
    level = rng.randint(3, size=900)
    x = np.array([0.0, -2.0, 2.0])[level] + 0.5 * rng.randn(900)
    X = pd.DataFrame({"x": x, "c": np.array(list("abc"))[level]})
    X["d"] = np.where(rng.rand(900) < 0.95, X["c"], "a")
    missing = rng.rand(900) < 0.5
    X[missing] = None
    model = LacunetImputer(random_state=0).fit(X)
    drawn = pd.concat([t[missing] for t in model.sample_imputations(X, 5)])
    for rows in (drawn, model.sample(2000, missing=False)):
        means = rows.groupby("c")["x"].mean()
        assert means.to_list() == pytest.approx([0.0, -2.0, 2.0], abs=0.35)
        same = (rows["c"] == rows["d"]).mean()
        assert same == pytest.approx((X["c"] == X["d"])[~missing].mean(), abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("at_random", ["completely", "given x"])
def test_pooled_intervals_cover(at_random):
    covered = []
    for seed in range(50):
        rng = np.random.RandomState(1000 + seed)
        x = rng.randn(400)
        X = np.column_stack([x, 1 + x + rng.randn(400)])
        chance = 0.5 if at_random == "completely" else 1 / (1 + np.exp(-1.5 * x))
        X[rng.rand(400) < chance, 1] = NAN
        tables = LacunetImputer(random_state=seed).fit(X).sample_imputations(X, 20)
        found = [
            (np.mean(y), np.var(y, ddof=1) / 400)
            for y in (table[:, 1] for table in tables)
        ]
        pooled = pool(*zip(*found, strict=True), df_complete=399)
        covered.append(pooled.low < 1 < pooled.high)
    assert sum(covered) >= 43  # fewer in 3 of 1,000 if 95% are covered


# --- the kind of a column


def test_draws_exceed_the_range_where_what_is_missing_does():
    rng = np.random.RandomState(0)
    x = rng.randn(600)
    X = np.column_stack([x, 10 * x + rng.randn(600)])
    X[x > 0.5, 1] = NAN
    drawn = imputer(density=FULL).fit(X).sample_imputations(X, 3)
    expected = 10 * x[x > 0.5]
    for table in drawn:
        np.testing.assert_allclose(table[x > 0.5, 1], expected, atol=8)
        assert table[:, 1].max() > 1.5 * np.nanmax(X[:, 1])


def test_draws_are_of_the_kind_of_their_column():
    rng = np.random.RandomState(0)
    x = rng.randn(400)
    X = pd.DataFrame(
        {
            "income": np.exp(x + rng.randn(400)),
            "visits": rng.poisson(np.exp(x)).astype(float),
            "rating": np.clip(np.round(3 + x + rng.randn(400)), 1, 5),
            "rare": (x + rng.randn(400) > 2.3).astype(float),
            "same": 0.5,
            "x": x,
        }
    )
    X = X.mask(rng.rand(*X.shape) < 0.3)
    with pytest.warns(UserWarning, match="one value only"):
        model = imputer(density=FULL).fit(X)
    drawn = pd.concat(model.sample_imputations(X, 10))
    assert (drawn["income"] > 0).all()
    assert (drawn["visits"] >= 0).all()
    assert (drawn["visits"] % 1 == 0).all()
    assert set(drawn["rating"]) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert (drawn["same"] == 0.5).all()
    assert set(drawn["rare"]) == {0.0, 1.0}
    assert drawn["rare"].mean() == pytest.approx(X["rare"].mean(), abs=0.015)


def test_draws_of_one_hot_categories_have_their_probabilities():
    rng = np.random.RandomState(0)
    town = rng.choice(["Rome", "Bonn", "Oslo"], 600, p=[0.7, 0.25, 0.05])
    X = pd.DataFrame({"town": town, "x": rng.randn(600), "z": rng.randn(600)})
    X.loc[::2, "town"] = None
    model = LacunetImputer(random_state=0).fit(X)
    drawn = pd.concat(model.sample_imputations(X, 10)).loc[X.index[::2], "town"]
    seen = X["town"].value_counts(normalize=True)
    for name, fraction in drawn.value_counts(normalize=True).items():
        assert fraction == pytest.approx(seen[name], abs=0.02)


def test_draws_of_one_hot_categories_that_depend_on_the_component(monkeypatch):
    two = _mixtures.Candidate("full", 2, 1e-2)
    choose = "_choose_candidate"
    monkeypatch.setattr(LacunetImputer, choose, lambda self, rows, seed: two)
    rng = np.random.RandomState(0)
    first = rng.rand(2000) < 0.5
    towns = ["Rome", "Bonn", "Oslo"]
    town = np.where(
        first,
        rng.choice(towns, 2000, p=[0.6, 0.3, 0.1]),
        rng.choice(towns, 2000, p=[0.05, 0.15, 0.8]),
    )
    X = pd.DataFrame({"town": town, "x": 2.0 * first + 0.6 * rng.randn(2000)})
    X.loc[::2] = None
    model = LacunetImputer(random_state=0).fit(X)
    drawn = pd.concat(model.sample_imputations(X, 10)).loc[X.index[::2], "town"]
    seen = X["town"].value_counts(normalize=True)
    for name, fraction in drawn.value_counts(normalize=True).items():
        assert fraction == pytest.approx(seen[name], abs=0.03)


# --- rows that are kept


def test_the_tables_of_a_number_have_the_same_parameters_in_each_call():
    X = half_missing(60)
    model = imputer(density=FULL, random_state=np.random.RandomState(0)).fit(X)
    unknown = np.full((20_000, 2), NAN)
    one, two = (np.mean(model.sample_imputations(unknown, 4), axis=1) for _ in "12")
    np.testing.assert_allclose(one, two, atol=0.05)
    assert (one != two).all()
    assert np.ptp(one[:, 1]) > 0.1


def test_models_come_back_with_their_rows_and_draw_the_same(tmp_path):
    X, _ = frame(100)
    model = imputer().fit(X)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    pairs = zip(
        again.sample_imputations(X, 2), model.sample_imputations(X, 2), strict=True
    )
    assert all(one.equals(two) for one, two in pairs)


def test_without_rows_a_warning_tells_what_is_lost(tmp_path):
    X, _ = frame(100)
    model = imputer(keep_rows=False).fit(X)
    model.save(tmp_path / "model")
    sizes = [each.stat().st_size for each in (tmp_path / "model").iterdir()]
    for each in (model, load(tmp_path / "model")):
        with pytest.warns(UserWarning, match="too narrow"):
            assert len(each.sample_imputations(X, 2)) == 2
    imputer().fit(X).save(tmp_path / "other")
    larger = [each.stat().st_size for each in (tmp_path / "other").iterdir()]
    assert sum(larger) > sum(sizes) + 4 * 100 * 8


def test_a_model_of_an_earlier_version_draws_without_rows():
    folder = Path(__file__).parents[1] / "data" / "saved-by-0.1.0"
    model, rows = load(folder / "imputer"), pd.read_csv(folder / "rows.csv")
    rows = rows[list(model.feature_names_in_)]
    with pytest.warns(UserWarning, match="too narrow"):
        assert not model.sample_imputations(rows, 1)[0].isna().any(axis=None)
    assert (model.deviations_ > 0).all()


def test_a_model_that_was_fitted_over_files_has_no_rows(tmp_path):
    X, _ = numbers(100)
    table = pd.DataFrame(X).rename(columns=str)
    table.to_parquet(tmp_path / "table.parquet")
    model = distributed.fit(imputer(), tmp_path / "table.parquet")
    with pytest.warns(UserWarning, match="to a table rather than to files"):
        model.sample_imputations(table, 1)


# --- shifts


def test_a_shift_moves_means_and_draws_by_standard_deviations():
    X = half_missing()
    missing = np.isnan(X[:, 1])
    model = imputer(density=FULL).fit(X)
    plain, draws = model.transform(X), model.sample_imputations(X, 2)
    model.set_params(shift=-0.5)
    by = -0.5 * np.nanstd(X[:, 1])
    moved = model.transform(X)
    np.testing.assert_allclose((moved - plain)[missing, 1], by)
    np.testing.assert_array_equal(moved[~missing], plain[~missing])
    for one, two in zip(model.sample_imputations(X, 2), draws, strict=True):
        np.testing.assert_allclose((one - two)[missing, 1], by)
    model.set_params(shift={1: -0.5})
    np.testing.assert_array_equal(model.transform(X), moved)
    model.set_params(shift={0: -0.5})
    np.testing.assert_array_equal(model.transform(X), plain)


def test_a_shift_keeps_the_kind_but_not_the_range_of_a_column():
    rng = np.random.RandomState(0)
    x = rng.randn(300)
    X = pd.DataFrame(
        {
            "age": np.round(50 + 10 * x),
            "income": np.exp(x),
            "ill": (x + rng.randn(300) > 0.5).astype(float),
            "town": np.where(x > 0, "Rome", "Bonn"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(x), "D"),
        }
    )
    X = X.mask(rng.rand(*X.shape) < 0.3)
    model = imputer(density=FULL).fit(X)
    tables = {}
    for shift in (-3.0, 0.0, 3.0):
        model.set_params(shift=shift)
        tables[shift] = pd.concat([model.transform(X), *model.sample_imputations(X, 3)])
    for table in tables.values():
        assert (table["age"] % 1 == 0).all()
        assert (table["income"] > 0).all()
        assert set(table["ill"]) == {0.0, 1.0}
        for name in ("town", "since"):
            assert table[name].equals(tables[0.0][name])
    assert tables[3.0]["age"].max() > X["age"].max()
    means = [tables[shift]["ill"].mean() for shift in (-3.0, 0.0, 3.0)]
    assert means == sorted(means)
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize(
    ("shift", "message"),
    [
        ("up", "Got shift='up'"),
        (NAN, "Got shift=nan"),
        ({"number": "up"}, "a dict of numbers"),
        ({"town": 1.0}, "'town' is a column of kind 'category'"),
        ({"day": 1.0}, "'day' is a column of kind 'date'"),
        ({"height": 1.0}, "'height' is no column of training"),
    ],
)
def test_a_wrong_shift_is_refused(shift, message):
    X, _ = frame()
    with pytest.raises(ValueError, match=message):
        imputer(shift=shift).fit(X)
    model = imputer().fit(X).set_params(shift=shift)
    with pytest.raises(ValueError, match=message):
        model.transform(X)


def test_new_rows_are_those_of_the_density_without_a_shift():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 2) + 5
    X[::4, 1] = np.nan
    imputer = LacunetImputer(random_state=0).fit(X)
    rows = imputer.sample(2000, missing=False)
    assert rows.mean(0) == pytest.approx(np.nanmean(X, axis=0), abs=0.15)
    shifted = imputer.set_params(shift=2.0).sample(2000, missing=False)
    assert (shifted == rows).all()


def test_threads_find_the_same_tables():
    rng = np.random.RandomState(0)
    X = rng.randn(80, 2)
    X[::3, 1] = np.nan
    alone = LacunetImputer(random_state=0).fit(X).sample_imputations(X, 3)
    shared = LacunetImputer(random_state=0).fit(X)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: shared.sample_imputations(X, 3), range(3)))
    for tables in found:
        for one, other in zip(tables, alone, strict=True):
            assert one == pytest.approx(other)
