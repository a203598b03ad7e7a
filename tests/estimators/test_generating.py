"""Log-likelihoods of rows, and new rows."""

from datetime import datetime
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import small
import torch
from scipy import integrate, stats

import lacunet
import lacunet.distributed
from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetImputer
from lacunet.estimators import _generating

OLD = Path(__file__).parents[1] / "data/saved-by-0.1.0"
COVARIANCE = np.array([[4.0, 1.5, 0.0], [1.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
MEAN = np.array([10.0, 0.0, -3.0])
FULL = IncompleteGaussianMixture(1, covariance_type="full")


def gaussian_rows(n=3000, seed=0):
    """Return rows of one Gaussian; the first two columns are missing together."""
    rng = np.random.RandomState(seed)
    X = rng.multivariate_normal(MEAN, COVARIANCE, n)
    X[rng.rand(n) < 0.3, :2] = np.nan
    X[rng.rand(n) < 0.1, 2] = np.nan
    return X


@pytest.fixture(scope="module")
def gaussian():
    return LacunetImputer(density=FULL, random_state=0).fit(gaussian_rows())


def density_of(imputer):
    """Return the Gaussian of an imputer in the units of the table."""
    centre, scale = (
        imputer._inputs.table.scaling.centre,
        np.diag(imputer._inputs.table.scaling.scale),
    )
    mean = scale @ imputer.density_.means[0].numpy() + centre
    covariance = scale @ imputer.density_.covariances[0].numpy() @ scale
    return mean, covariance, np.diag(scale)


# --- log-likelihoods


@pytest.mark.parametrize("seen", [[0, 1, 2], [0, 2], [1]])
def test_scores_are_those_of_the_observed_columns(gaussian, seen):
    mean, covariance, scale = density_of(gaussian)
    X = np.full((5, 3), np.nan)
    X[:, seen] = (MEAN + np.random.RandomState(1).randn(5, 3))[:, seen]
    normal = stats.multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)])
    # On the scale of the encoded numbers.
    expected = normal.logpdf(X[:, seen]) + np.log(scale[seen]).sum()
    np.testing.assert_allclose(gaussian.score_samples(X), expected, rtol=1e-4)


def test_a_missing_cell_is_integrated_over():
    X = np.random.RandomState(0).lognormal(size=(500, 2))
    X[:, 1] += X[:, 0]
    X[::7, 1] = np.nan
    imputer = LacunetImputer(random_state=0).fit(X)
    assert len(imputer.densities_) > 1
    assert imputer.on_quantiles_.any()
    scaling = imputer._inputs.table.scaling
    grid = np.linspace(-12, 40, 20_001)  # encoded
    rows = np.array([[0.5, np.nan], [np.nan, np.nan]])
    whole = np.repeat(rows[:1], len(grid), 0)
    whole[:, 1] = grid * scaling.scale[1] + scaling.centre[1]
    total = integrate.trapezoid(np.exp(imputer.score_samples(whole)), grid)
    found = imputer.score_samples(rows)
    assert total == pytest.approx(np.exp(found[0]), rel=5e-3)
    assert found[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", small.ALL)
def test_outliers_have_the_lowest_scores(name):
    X, _ = small.numbers()
    model = small.fitted(name)
    rows = X.copy()
    rows[:, 0] = 0.1
    rows[7, 0] = 12.0
    scores = model.score_samples(rows)
    assert scores.shape == (len(X),)
    assert scores.argmin() == 7
    assert model.score_samples(np.full((1, 4), np.nan)) == pytest.approx(0, abs=1e-6)
    order = np.random.RandomState(0).permutation(len(X))
    np.testing.assert_allclose(model.score_samples(rows[order]), scores[order])


def test_categories_count_by_their_probability_and_indicators_do_not_count():
    rng = np.random.RandomState(0)
    n = 2000
    town = rng.choice(["Bonn", "Rome"], p=[0.2, 0.8], size=n).astype(object)
    y = rng.randint(2, size=n)
    town[(y == 1) & (rng.rand(n) < 0.5)] = None
    X = pd.DataFrame({"town": town})
    model = LacunetClassifier(
        density=IncompleteGaussianMixture(1), n_networks=1, max_epochs=1
    ).fit(X, y)
    assert len(model._inputs.marked) == 1
    scores = model.score_samples(pd.DataFrame({"town": ["Bonn", "Rome", None]}))
    np.testing.assert_allclose(scores, np.log([0.2, 0.8, 1.0]), atol=0.1)


def test_scores_of_an_imputer_are_probabilities_of_categories():
    rng = np.random.RandomState(0)
    towns = ["a", "b", "c"]
    X = pd.DataFrame({"x": rng.randn(600)})
    X["town"] = rng.choice(towns, p=[0.2, 0.79, 0.01], size=600)
    X["kind"] = np.where(X["x"] > 0, "u", "v")
    imputer = LacunetImputer(random_state=0).fit(X)
    whole = pd.DataFrame({"x": [0.3, None], "town": None, "kind": None})
    each = pd.concat([whole.assign(town=t, kind=k) for t in towns for k in "uv"])
    sums = np.exp(imputer.score_samples(each)).reshape(6, 2).sum(0)
    expected = np.exp(imputer.score_samples(whole))
    np.testing.assert_allclose(sums, expected, rtol=1e-6)
    alone = imputer.score_samples(whole.iloc[[1]].assign(town="c"))
    assert alone == pytest.approx(np.log((X["town"] == "c").mean()), abs=1.0)


# --- new rows


def test_new_rows_have_the_moments_and_patterns_of_training(gaussian):
    rows = gaussian.sample(4000)
    whole = gaussian.sample(4000, missing=False)
    assert not np.isnan(whole).any()
    np.testing.assert_allclose(whole.mean(0), MEAN, atol=0.15)
    np.testing.assert_allclose(np.cov(whole.T), COVARIANCE, atol=0.25)
    missing = np.isnan(rows)
    np.testing.assert_array_equal(missing[:, 0], missing[:, 1])
    np.testing.assert_allclose(missing.mean(0), [0.3, 0.3, 0.1], atol=0.03)
    assert (missing.all(1)).mean() == pytest.approx(0.03, abs=0.01)
    np.testing.assert_allclose(np.nanmean(rows, axis=0), MEAN, atol=0.15)


def test_rare_patterns_are_kept_as_rates_of_columns(monkeypatch):
    monkeypatch.setattr(_generating, "_MOST_PATTERNS", 2)
    missing = np.random.RandomState(0).rand(4000, 3) < [0.5, 0.1, 0.02]
    form = _generating.TableForm.of(missing)
    assert len(form.patterns) == 2
    assert form.counts.sum() == 4000
    drawn = form.draw_missing(4000, np.random.RandomState(0))
    np.testing.assert_allclose(drawn.mean(0), missing.mean(0), atol=0.03)
    again = _generating.TableForm.from_state(form.to_state(), 3)
    np.testing.assert_array_equal(again.patterns, form.patterns)
    for wrong in (
        {"dtypes": [["from_native"]] * 3},
        {"dtypes": ["object"] * 3},
        {"backend": "os"},
        {"counts": []},
    ):
        with pytest.raises(ValueError, match="in one place"):
            _generating.TableForm.from_state({**form.to_state(), **wrong}, 3)


def test_missing_values_that_are_a_sign_belong_to_the_rows_they_belong_to():
    rng = np.random.RandomState(0)
    X = np.c_[rng.randn(2000), rng.randn(2000)]
    X[:1000, 1] += 8
    X[:1000, 0][rng.rand(1000) < 0.9] = np.nan  # where the second is large
    model = small.classifier(
        density=IncompleteGaussianMixture(2, random_state=0), indicator=True
    ).fit(X, rng.randint(2, size=2000))
    rows = model.sample(1000)
    large = rows[:, 1] > 4
    assert np.isnan(rows[large, 0]).mean() > 0.8
    assert np.isnan(rows[~large, 0]).mean() < 0.1


@pytest.mark.parametrize("name", ["classifier", "imputer"])
@pytest.mark.parametrize("kind", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_rows_are_a_table_as_in_training_also_after_loading(kind, name, tmp_path):
    X, y = small.frame(60)
    X["since"] = X["day"].dt.tz_localize("Europe/Rome")
    X["byte"] = np.array([0, 255], np.uint8).repeat(30)  # draws go beyond
    table = kind(X.drop(columns="flag").assign(count=np.arange(60)))
    model = small.ALL[name](on_unseen_missing="use").fit(table, y)
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    rows = model.sample(50)
    assert type(rows) is type(table)
    as_rows = lambda frame: pa.table(frame).to_pylist()  # noqa: E731
    if isinstance(rows, pd.DataFrame):
        pd.testing.assert_series_equal(rows.dtypes, table.dtypes)
        assert set(rows["town"].dropna()) == {"Bonn", "Rome"}
    assert nw.from_native(rows).schema == nw.from_native(table).schema
    assert as_rows(rows) == as_rows(model.sample(50))
    model.save(tmp_path / "m")
    again = lacunet.load(tmp_path / "m")
    assert as_rows(rows) == as_rows(again.sample(50))
    assert as_rows(rows) != as_rows(again.set_params(random_state=1).sample(50))
    assert np.isfinite(model.score_samples(rows)).all()
    after = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == states


@pytest.mark.parametrize("kind", [lambda X: X, pl.from_pandas])
@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_dates_stay_within_what_nanoseconds_can_hold(kind, zone):
    dates = pd.Series(pd.to_datetime(["1800-01-01", None, "2090-01-01"]))
    table = kind(dates.astype("M8[ns]").dt.tz_localize(zone).to_frame("date"))
    form = _generating.TableForm.of(np.zeros((3, 1), dtype=bool), table)
    drawn = np.array([[datetime(1483, 1, 1)], [None], [datetime(2500, 1, 1)]])
    rows = nw.from_native(form.make_frame(drawn, ["date"]))
    assert rows["date"].drop_nulls().dt.year().to_list() == [1677, 2262]
    assert rows.schema == nw.from_native(table).schema


def test_dtypes_of_arrow_in_pandas_stay():
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"count": rng.randint(256, size=60), "part": rng.rand(60)})
    table = table.mask(rng.rand(60, 2) < 0.2)
    table["flag"] = (table["part"] > 0.5).where(table["part"].notna())
    kinds = {"count": "uint8", "part": "double", "flag": "bool"}
    table = table.astype({name: f"{kind}[pyarrow]" for name, kind in kinds.items()})
    rows = small.imputer().fit(table).sample(50)
    pd.testing.assert_series_equal(rows.dtypes, table.dtypes)


def test_whole_numbers_of_64_bits_are_within_their_range():
    rng = np.random.RandomState(0)
    ids = pd.Series(rng.randint(-(2**63), 2**63 - 1, 200), dtype="Int64")
    ids[::4] = pd.NA
    rows = small.imputer().fit(ids.to_frame("id")).sample(500)
    assert rows["id"].max() == 2**63 - 1
    assert rows["id"].min() == -(2**63)


@pytest.mark.parametrize("levels", [["low", "mid", "high"], [0.5, 0.25, 4.0]])
def test_ordered_categories_stay_in_order(levels, tmp_path):
    cells = pd.Categorical([*levels[:2], None] * 10, levels, ordered=True)
    table = pd.DataFrame({"level": cells, "number": np.arange(30.0)})
    model = small.imputer().fit(table)
    model.save(tmp_path / "m")
    rows = lacunet.load(tmp_path / "m").sample(20)
    pd.testing.assert_series_equal(rows.dtypes, table.dtypes)
    assert set(rows["level"].dropna()) == set(levels[:2])
    form = model._form
    for wrong in (["low", "low"], [["low"]], "low", [None]):
        state = {**form.to_state(), "dtypes": [["Enum", wrong], None]}
        with pytest.raises(ValueError, match="in one place"):
            _generating.TableForm.from_state(state, 2)


def test_ordered_categories_of_polars_stay_in_order():
    dtype = pl.Enum(["low", "mid", "high"])
    cells = pl.Series("level", ["low", "mid", None] * 10, dtype=dtype)
    rows = small.imputer().fit(cells.to_frame()).sample(20)
    assert rows["level"].dtype == dtype


def test_arrays_of_texts_give_arrays():
    X = np.array([["a", 1.0], ["b", np.nan], ["a", 2.0], [None, 3.0]], dtype=object)
    rows = small.imputer(density=IncompleteGaussianMixture(1)).fit(X).sample(20)
    assert (rows.shape, rows.dtype) == ((20, 2), object)
    assert set(rows[:, 0]) == {"a", "b", None}


def test_a_model_of_an_earlier_version_gives_complete_rows_alone():
    model = lacunet.load(OLD / "classifier")
    with pytest.raises(ValueError, match="earlier version.*missing=False"):
        model.sample(3)
    rows = model.sample(3, missing=False)
    assert len(rows) == 3
    assert not pd.isna(rows).any()


def test_no_row_is_refused(gaussian):
    with pytest.raises(ValueError, match="n=0"):
        gaussian.sample(0)


def test_a_model_of_files_gives_arrow(tmp_path):
    X, y = small.frame(60)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = small.classifier(on_unseen_missing="use")
    files = str(tmp_path / "rows.parquet")
    fitted = lacunet.distributed.fit(model, files, target="y", workers=0)
    rows = fitted.sample(40)
    assert isinstance(rows, pa.Table)
    assert rows.column_names == [*X.columns]
    assert 0 < rows["town"].null_count < 20
    assert np.isfinite(fitted.score_samples(rows)).all()


@pytest.mark.parametrize("levels", [["a", "b", "c"], [1, 2, 3]])
def test_categories_of_pandas_stay_also_in_few_rows(levels, tmp_path):
    column = pd.Categorical([levels[0], levels[1]] * 20, categories=levels)
    table = pd.DataFrame({"level": column, "x": np.arange(40.0)})
    model = LacunetImputer(density=FULL, random_state=0).fit(table)
    model.save(tmp_path / "m")
    for each in (model, lacunet.load(tmp_path / "m")):
        assert each.sample(1)["level"].dtype == table["level"].dtype


def test_names_that_are_no_texts_stay():
    table = pd.DataFrame(np.random.RandomState(0).randn(40, 2))
    rows = LacunetImputer(density=FULL, random_state=0).fit(table).sample(2)
    assert rows.columns.tolist() == [0, 1]
