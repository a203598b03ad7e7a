"""With warm_start, a second fit goes on from the networks of the first."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import RandomState
from sklearn.base import clone
from small import NETWORKS, classifier, numbers, predictions, regressor

import lacunet

every = pytest.mark.parametrize("name", NETWORKS)


def fit(model):
    X, y = numbers()
    return model.fit(X, y)


def best_loss(model):
    return min(record.valid_loss for record in model.history_)


@every
def test_a_second_fit_goes_on_from_the_first(name, tmp_path):
    X, _ = numbers()
    options = {"warm_start": True, "random_state": RandomState(0), "max_epochs": 5}
    first, cold = fit(NETWORKS[name](**options)), fit(NETWORKS[name]())
    filled, density = first.impute(X), first.density_.state_dict()
    first.save(tmp_path / "model")
    before = best_loss(first)
    again = fit(first)
    assert again is first
    assert best_loss(first) < before
    # The density stays, and so does what encodes and fills the table.
    np.testing.assert_array_equal(first.impute(X), filled)
    assert all((first.density_.state_dict()[n] == t).all() for n, t in density.items())
    loaded = fit(lacunet.load(tmp_path / "model"))
    np.testing.assert_array_equal(predictions(loaded, X), predictions(first, X))
    assert (predictions(cold, X) != predictions(first, X)).any()


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_networks_that_get_no_better_keep_their_weights(name):
    X, _ = numbers()
    model = fit(
        NETWORKS[name](warm_start=True, random_state=RandomState(0), max_epochs=5)
    )
    before, loss = predictions(model, X), best_loss(model)
    fit(model.set_params(lr=1e-12))
    np.testing.assert_allclose(predictions(model, X), before, rtol=1e-5)
    # Each network is validated on the rows that it did not learn.
    assert best_loss(model) == pytest.approx(loss, rel=1e-4)
    fit(model.set_params(lr=1e3))  # far too high
    assert best_loss(model) > loss
    np.testing.assert_allclose(predictions(model, X), before, rtol=1e-5)


def test_it_learns_new_rows_of_a_frame():
    X, y = numbers(300)
    X = pd.DataFrame(X, columns=list("abcd"))
    model = classifier(warm_start=True, max_epochs=15, lr=0.02).fit(X, y)
    X_new, y_new = numbers(300, seed=1)
    X_new = pd.DataFrame(X_new, columns=list("abcd"))[list("dcba")]
    opposite = 1 - y_new
    assert model.score(X_new, opposite) < 0.5
    assert model.fit(X_new, opposite).score(X_new, opposite) > 0.7


def test_other_columns_classes_or_outputs_are_refused_and_the_model_stays():
    X, y = numbers()
    model = classifier(warm_start=True).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="3 features.*expecting 4"):
        model.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"classes \[0, 1, 2\].*expected \[0, 1\]"):
        model.fit(X, np.arange(60) % 3)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model = regressor(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="2 outputs, but expected 1.*warm_start=False"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="Got warm_start=1, but expected True"):
        classifier(warm_start=1).fit(X, y)


def test_a_clone_begins_anew():
    X, y = numbers()
    model = classifier(warm_start=True).fit(X, y)
    fresh = classifier().fit(X, y).predict_proba(X)
    again = clone(model.fit(X, y)).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), fresh)
    model.set_params(warm_start=False).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fresh)
