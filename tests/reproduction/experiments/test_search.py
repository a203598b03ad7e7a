import numpy as np
from reproduction.experiments import _search
from reproduction.experiments._protocols import make_folds
from reproduction.experiments._search import search
from reproduction.experiments.methods import METHODS
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from lacunet.baselines import ChainedImputer, mice
from lacunet.missingness import drop_values


def iris(rate=0.2):
    X, y = load_iris(return_X_y=True)
    return drop_values(X, rate, random_state=0), y


def test_it_chooses_as_a_grid_search_does():
    X, y = load_iris(return_X_y=True)
    grid = {"C": [1e-3, 1.0, 100.0], "gamma": [1e-3, 0.1, 10.0]}
    theirs = GridSearchCV(SVC(), grid, scoring="accuracy", cv=make_folds(False, 3))
    theirs.fit(X, y)
    model, chosen = search(SVC(), grid, X, y, seed=3)
    assert chosen == theirs.best_params_
    assert {k: model.get_params()[k] for k in chosen} == chosen
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))


def test_parameters_are_chosen_as_a_grid_search_would():
    X, y = iris()
    grid = {"density__n_components": [1, 3], "n_units": [2, 9]}
    model = METHODS["paper"](body="rbf").set_params(max_epochs=4)
    theirs = GridSearchCV(model, grid, scoring="accuracy", cv=make_folds(False, 0))
    theirs.fit(X, y)
    fitted, chosen = search(model, grid, X, y, seed=0)
    assert chosen == theirs.best_params_
    np.testing.assert_allclose(
        fitted.predict_proba(X), theirs.predict_proba(X), atol=1e-6
    )
    assert not hasattr(model, "classes_")


def test_a_table_is_filled_once_for_all_networks_behind(monkeypatch):
    calls = []
    fit_transform = ChainedImputer.fit_transform

    def counted(self, X, y=None, **params):
        calls.append(len(X))
        return fit_transform(self, X, y, **params)

    monkeypatch.setattr(ChainedImputer, "fit_transform", counted)
    X, y = iris()
    behind = METHODS["mean"](body="rbf")[-1].set_params(max_epochs=1)
    model = mice(estimator=behind, n_imputations=2, random_state=0)
    grid = {"pooledclassifier__estimator__n_units": [2, 5]}
    search(model, grid, X, y, seed=0)
    assert sorted(calls) == [120] * 5 * 2 + [150] * 2


def test_groups_stay_together_and_options_go_with_their_rows(monkeypatch):
    seen = []

    class Model(SVC):
        def fit(self, X, y, also):
            np.testing.assert_array_equal(X[:, 0], also)
            seen.append(set(X[:, 0] // 10))
            return super().fit(X, y)

    X = np.arange(200.0)[:, None]
    y = np.arange(200) % 2
    options = {"also": X[:, 0]}
    search(Model(), {"C": [1, 2]}, X, y, seed=0, groups=X[:, 0] // 10, options=options)
    *inner, whole = seen
    assert len(whole) == 20
    assert [len(groups) for groups in inner] == [16] * 10


def test_without_a_grid_nothing_is_searched(monkeypatch):
    monkeypatch.setattr(_search, "make_folds", None)
    X, y = iris()
    model, chosen = search(SVC(), {}, np.nan_to_num(X), y, seed=0)
    assert chosen == {}
    assert model.score(np.nan_to_num(X), y) > 0.7
