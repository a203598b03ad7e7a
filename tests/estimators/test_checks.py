"""Tables in front of a scikit-learn estimator: a toy classifier and a toy imputer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lacunet import (
    IncompleteGaussianMixture,
    LacunetClassifier,
    LacunetRBFClassifier,
    LacunetRegressor,
)
from lacunet.estimators._checks import read_table
from lacunet.estimators._encoding import TableEncoder

NAN = np.nan


class ToyClassifier(ClassifierMixin, BaseEstimator):
    def __init__(self, scale="standard"):
        self.scale = scale

    def fit(self, X, y):
        X = read_table(self, X, reset=True)
        if y is None:
            msg = "requires y to be passed, but the target y is None"
            raise ValueError(msg)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.encoder_ = TableEncoder(scale=self.scale)
        filled = np.nan_to_num(self.encoder_.fit_transform(X))
        self.model_ = NearestCentroid().fit(filled, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = read_table(self, X, reset=False)
        return self.model_.predict(np.nan_to_num(self.encoder_.transform(X)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ToyImputer(TransformerMixin, BaseEstimator):
    def __init__(self, scale="standard"):
        self.scale = scale

    def fit(self, X, y=None):
        self.encoder_ = TableEncoder(scale=self.scale)
        self.encoder_.fit(read_table(self, X, reset=True))
        return self

    def transform(self, X):
        check_is_fitted(self)
        X = read_table(self, X, reset=False)
        return self.encoder_.restore(np.nan_to_num(self.encoder_.transform(X)), X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@parametrize_with_checks(
    [
        ToyImputer(),
        ToyImputer("quantile"),
        ToyClassifier(),
        ToyClassifier("robust"),
        ToyClassifier("quantile"),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    return pd.DataFrame({"age": [1.0, NAN, 3.0], "town": ["a", "b", None]})


def test_a_frame_sets_the_names(frame):
    imputer = ToyImputer().fit(frame)
    assert imputer.n_features_in_ == 2
    assert imputer.feature_names_in_.tolist() == ["age", "town"]


def test_an_array_after_a_frame_forgets_the_names(frame):
    imputer = ToyImputer().fit(frame)
    imputer.fit(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert not hasattr(imputer, "feature_names_in_")


def test_frames_of_another_order_are_refused(frame):
    imputer = ToyImputer().fit(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        imputer.transform(frame[["town", "age"]])


def test_frames_with_other_columns_are_refused(frame):
    imputer = ToyImputer().fit(frame)
    with pytest.raises(ValueError, match="unseen at fit time:\n- extra"):
        imputer.transform(frame.assign(extra=1.0))


def test_an_array_after_a_frame_gives_a_warning(frame):
    imputer = ToyImputer().fit(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        filled = imputer.transform(frame.to_numpy())
    assert filled.tolist() == [[1.0, "a"], [2.0, "b"], [3.0, "a"]]


@pytest.mark.parametrize(
    ("rows", "match"),
    [([], "0 sample"), ([0, 1], "0 feature")],
    ids=["rows", "columns"],
)
def test_empty_frames_are_refused(frame, rows, match):
    empty = frame.iloc[rows, :0] if rows else frame.iloc[:0]
    with pytest.raises(ValueError, match=match):
        ToyImputer().fit(empty)


def test_lists_keep_the_types_of_their_cells():
    imputer = ToyImputer().fit([[1.0, "a"], [2.0, "b"]])
    assert [column.kind for column in imputer.encoder_.columns] == [
        "number",
        "category",
    ]


def test_integers_and_float32_stay():
    for dtype in (np.int64, np.float32):
        table = np.array([[1, 2], [3, 5]], dtype=dtype)
        assert read_table(ToyImputer(), table, reset=True).dtype == dtype


def test_infinity_is_refused_in_arrays_and_frames():
    table = np.array([[1.0], [np.inf]])
    for X in (table, pd.DataFrame(table, columns=["a"]), table.astype(object)):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            ToyImputer().fit(X)


def test_groups_are_refused_with_the_way_to_have_them():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    for model in (LacunetClassifier(), LacunetRegressor(), LacunetRBFClassifier()):
        name = type(model).__name__
        with pytest.raises(TypeError, match=rf"^{name}.fit\(\) got .*'groups'.*X_val"):
            model.fit(X, y, groups=y)


def test_parameters_of_a_density_that_is_not_given_are_refused_with_advice():
    grid = GridSearchCV(LacunetClassifier(), {"density__n_components": [1, 2]})
    match = r"Got density__n_components=1, but density is 'auto'.*Give density=Incomp"
    with pytest.raises(ValueError, match=match):
        grid.fit(np.zeros((20, 1)), [0, 1] * 10)
    model = LacunetClassifier()
    model.set_params(density=IncompleteGaussianMixture(), density__n_components=2)
    assert model.density.n_components == 2


def test_tags_are_true():
    tags = LacunetClassifier().__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.categorical
    assert tags.string


def test_lazy_frames_and_series_are_refused(frame):
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X\.collect\(\) for a lazy frame"):
        ToyImputer().fit(pl.DataFrame({"a": [1.0]}).lazy())
    with pytest.raises(ValueError, match="expected 2: rows and columns"):
        ToyImputer().fit(frame["age"])


def test_a_single_row_takes_the_short_way_and_is_checked_all_the_same():
    table = np.array([[1.0, NAN], [3.0, 4.0], [5.0, 6.0]])
    imputer = ToyImputer().fit(table)
    assert read_table(imputer, table[:1], reset=False) is not None
    np.testing.assert_array_equal(imputer.transform(table[:1]), [[1.0, 5.0]])
    with pytest.raises(ValueError, match="has 1 features, but ToyImputer is expecting"):
        imputer.transform(table[:1, :1])
    with pytest.raises(ValueError, match="Input X contains infinity"):
        imputer.transform(np.array([[np.inf, 1.0]]))
