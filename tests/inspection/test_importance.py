import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import small
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier

from lacunet import (
    IncompleteGaussianMixture,
    LacunetClassifier,
    LacunetImputer,
    LacunetRegressor,
)
from lacunet.inspection import Estimate, importance
from lacunet.inspection import _importance as module
from lacunet.inspection._importance import compare_losses, row_losses


def by_name(found):
    return {each.name: each for each in found.columns}


class Known(ClassifierMixin, BaseEstimator):
    """P(1) is 0.9 or 0.1 by the sign of the first column, else ``if_missing``."""

    def __init__(self, if_missing=0.5):
        self.if_missing = if_missing

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.where(X[:, 0] > 0, 0.9, 0.1)
        p[np.isnan(X[:, 0])] = self.if_missing
        return np.stack([1 - p, p], 1)


class Sums(RegressorMixin, BaseEstimator):
    """The column with the number k counts k times; missing values count as 0."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.nan_to_num(X) @ np.arange(X.shape[1])


def known_rows(n=4000):
    rng = np.random.RandomState(0)
    X = rng.randn(n, 2)
    y = (rng.rand(n) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    X[rng.rand(n) < 0.25, 0] = np.nan
    return X, y


def test_values_are_permuted_where_they_are_observed_and_there_alone():
    X, y = known_rows()
    found = by_name(importance(Known().fit(X, y), X, y, max_rows=4000, random_state=0))
    # Half of the values change sides, in three of four rows: the log-loss there grows
    # from that of 0.9 to the mean of that and of its opposite.
    gain = 0.75 * 0.5 * 0.8 * np.log(9)
    assert found["x0"].value.value == pytest.approx(gain, rel=0.05)
    assert found["x0"].value.is_sure
    assert found["x0"].n_missing == np.isnan(X[:, 0]).sum()
    assert found["x1"].value == Estimate(0.0, 0.0)
    assert (found["x1"].missingness, found["x1"].shift) == (None, None)


def test_missingness_is_what_a_model_reads_into_it():
    X, y = known_rows()
    none = by_name(importance(Known(0.5).fit(X, y), X, y, random_state=0))["x0"]
    assert not none.shift.is_sure
    assert abs(none.missingness.value) < 2 * none.missingness.error + 1e-3
    much = by_name(importance(Known(0.8).fit(X, y), X, y, random_state=0))["x0"]
    assert much.towards == 1
    assert much.shift.value == pytest.approx(0.3, abs=0.02)
    # Half of the rows are of class 1: the loss of 0.8 instead of 0.5.
    cost = -np.log([0.8, 0.2]).mean() - np.log(2)
    assert much.missingness.value == pytest.approx(cost, abs=0.03)
    assert much.value.value == pytest.approx(none.value.value)


def test_numbers_have_errors_in_their_own_unit():
    rng = np.random.RandomState(0)
    X = rng.randn(2000, 3)
    y = X @ np.arange(3) + rng.randn(2000)
    found = importance(Sums().fit(X, y), X, y, random_state=0)
    assert [each.name for each in found.columns] == ["x2", "x1", "x0"]
    # Permuted, a column of weight k adds a variance of 2 k² to that of 1.
    values = [each.value.value for each in found.columns]
    assert values == pytest.approx([2.0, np.sqrt(3) - 1, 0.0], abs=0.1)
    X[:500, 1] = np.nan
    column = by_name(importance(Sums().fit(X, y), X + 5, y + 15, random_state=0))["x1"]
    assert column.shift.value == pytest.approx(-5, abs=0.2)
    assert column.towards is None
    assert column.missingness.is_sure


# --- what networks learn, with known answers


@pytest.fixture(scope="module")
def learned():
    """A model of a column that matters and one whose missing values matter."""
    rng = np.random.RandomState(0)
    n = 3000
    X = rng.randn(n, 2)
    y = (X[:, 0] + 0.5 * rng.randn(n) > 0).astype(int)
    missing = rng.rand(n, 2) < 0.2
    # The second column is noise, and is missing where the class is 1.
    missing[:, 1] = rng.rand(n) < np.where(y == 1, 0.35, 0.05)
    X = np.where(missing, np.nan, X)
    model = LacunetClassifier(n_networks=2, max_epochs=40, random_state=0)
    return model.fit(X[:1500], y[:1500]), X[1500:], y[1500:]


def test_value_and_missingness_of_a_learned_model_are_told_apart(learned):
    found = by_name(importance(*learned, random_state=0))
    value, noise = found["x0"], found["x1"]
    assert value.value.value > 10 * value.value.error
    assert value.missingness.value < 2 * value.missingness.error + 1e-3
    assert abs(value.shift.value) < 0.03
    assert abs(noise.value.value) < 2 * noise.value.error + 1e-3
    assert noise.missingness.value > 5 * noise.missingness.error
    assert noise.shift.value > 0.1
    assert noise.towards == 1


def test_collinear_columns_add_little_to_each_other():
    rng = np.random.RandomState(0)
    cause = rng.randn(1500)
    X = cause[:, None] + 0.05 * rng.randn(1500, 2)
    X = np.c_[X, rng.randn(1500)]
    y = cause + X[:, 2] + 0.3 * rng.randn(1500)
    density = IncompleteGaussianMixture(1, covariance_type="full")
    model = LacunetRegressor(
        density=density, n_networks=2, max_epochs=40, random_state=0
    ).fit(X[:1000], y[:1000])
    plain = by_name(importance(model, X[1000:], y[1000:], random_state=0))
    for source in (True, LacunetImputer(density=density).fit(X[:1000])):
        options = {"conditional": source, "random_state": 0}
        given = by_name(importance(model, X[1000:], y[1000:], **options))
        for name in ("x0", "x1"):
            assert plain[name].value.value > 10 * plain[name].value.error
            assert given[name].value.value < 0.1 * plain[name].value.value
        assert given["x2"].value.value > 0.5 * plain["x2"].value.value


# --- tables and choices


@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("kind", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_any_table_gives_the_same(kind, conditional):
    X, y = small.frame(60)
    model = small.classifier(on_unseen_missing="raise").fit(kind(X), y)
    options = {"conditional": conditional, "n_repeats": 1, "random_state": 0}
    found = importance(model, kind(X), y, **options)
    expected = importance(small.classifier().fit(X, y), X, y, **options)
    assert sorted(by_name(found)) == sorted(X.columns)
    assert model.on_unseen_missing == "raise"
    for name, each in by_name(expected).items():
        assert by_name(found)[name].value.value == pytest.approx(
            each.value.value, abs=1e-4
        )


def test_the_same_seed_gives_the_same_and_nothing_else_changes(learned):
    model, X, y = learned
    before = X.copy()
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    options = {"conditional": True, "max_rows": 100, "n_repeats": 1}
    first = importance(model, X, y, random_state=1, **options)
    assert first == importance(model, X, y, random_state=1, **options)
    assert first != importance(model, X, y, random_state=2, **options)
    np.testing.assert_array_equal(X, before)
    after = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == states


def test_classes_may_be_text_and_any_model_will_do():
    X, y = small.frame(80)
    X, labels = X[["number", "maybe"]].astype(float), np.array(["ill", "well"])[y]
    model = HistGradientBoostingClassifier(random_state=0).fit(X, labels)
    found = importance(model, X, labels, columns=["number"], random_state=0)
    assert [each.name for each in found.columns] == ["number"]
    assert found.columns[0].value.is_sure
    assert found.columns[0].towards in ("ill", "well")


def test_of_many_columns_those_that_cost_the_most_are_taken(monkeypatch):
    X = np.random.RandomState(0).randn(300, 80)
    model, y = Sums().fit(X, 0), X @ np.arange(80)
    found = importance(model, X, y, n_repeats=1, random_state=0)
    names = {each.name for each in found.columns}
    assert len(names) == 50
    assert names >= {f"x{k}" for k in range(45, 80)}
    assert found.rule == (
        "the 50 that cost the most in 100 rows, among all of 80 columns"
    )
    monkeypatch.setattr(module, "_CELLS_TO_CHOOSE", 100 * 80 * 60)
    X[0, 60:] = np.nan
    found = importance(model, X, y, n_repeats=1, random_state=0)
    assert not {each.name for each in found.columns} & {f"x{k}" for k in range(60, 80)}
    assert found.rule.endswith("among the 60 most complete of 80 columns")
    monkeypatch.setattr(module, "_CELLS_TO_CHOOSE", 0)
    found = importance(model, X, y, n_repeats=1, random_state=0)
    assert {each.name for each in found.columns} == {f"x{k}" for k in range(50)}
    assert found.rule == "the 50 most complete of 80 columns"


def test_large_and_wide_tables_have_fewer_rows(monkeypatch):
    X = np.ones((2500, 3))
    model, y = Sums().fit(X, 0), np.ones(2500)
    assert importance(model, X, y, n_repeats=1).n_rows == 2000
    monkeypatch.setattr(module, "_CELLS", 1500)
    assert importance(model, X, y, n_repeats=1).n_rows == 500
    assert importance(model, X, y, n_repeats=1, max_rows=10).n_rows == 10


def test_columns_with_one_value_or_none_cost_nothing():
    X = np.full((20, 2), np.nan)
    X[3, 1] = 7.0
    found = importance(Sums().fit(X, 0), X, np.arange(20.0), random_state=0)
    assert [each.value for each in found.columns] == [Estimate(0.0, 0.0)] * 2
    assert by_name(found)["x0"].missingness is None


def test_a_model_of_several_outputs_is_refused():
    X, y = np.random.RandomState(0).randn(2, 40, 3)
    with pytest.raises(ValueError, match="with 3 outputs, but expected one"):
        importance(small.regressor().fit(X, y), X, y[:, 0])


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"model": small.imputer()}, TypeError, "a classifier or a regressor"),
        ({"model": Sums(), "conditional": True}, TypeError, "one that can draw"),
        ({"columns": ["nowhere"]}, ValueError, "column 'nowhere', but expected one of"),
        ({"n_repeats": 0}, ValueError, "n_repeats=0"),
        ({"y": [0, 1]}, ValueError, "inconsistent numbers"),
        ({"y": [0, 1, 2]}, ValueError, r"classes \[2\], but expected those"),
        ({"model": Sums(), "y": np.ones((3, 2))}, ValueError, r"shape \(3, 2\)"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes, error, match):
    X, y = np.ones((3, 2)), [0, 1, 1]
    given = {"model": Known().fit(X, y), "X": X, "y": y, **changes}
    with pytest.raises(error, match=match):
        importance(**given)


# --- losses


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_standard_errors_are_those_of_the_bootstrap(task):
    rng = np.random.RandomState(0)
    if task == "regression":
        y, first, second = rng.randn(3, 400)
    else:
        y = rng.randint(3, size=400)
        first, second = rng.dirichlet(np.ones(3), size=(2, 400))
    losses, others = (row_losses(task, y, each) for each in (first, second))
    found = compare_losses(task, losses, others)
    alone = [compare_losses(task, each).value for each in (losses, others)]
    assert found.value == pytest.approx(alone[0] - alone[1])
    drawn = [rng.randint(400, size=400) for _ in range(500)]
    values = [compare_losses(task, losses[i], others[i]).value for i in drawn]
    assert found.error == pytest.approx(np.std(values), rel=0.15)
    assert compare_losses(task, np.zeros(5)) == Estimate(0.0, 0.0)
    assert compare_losses(task, np.array([4.0])).error is None


@pytest.mark.parametrize(
    ("value", "error", "is_sure"),
    [(0.3, 0.1, True), (-0.3, 0.1, True), (0.1, 0.1, False), (1.0, None, False)],
)
def test_two_standard_errors_are_sure(value, error, is_sure):
    assert Estimate(value, error).is_sure is is_sure
