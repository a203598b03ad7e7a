"""Radial networks trained side by side come out as if each had been alone."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from small import numbers

from lacunet import IncompleteGaussianMixture, LacunetRBFClassifier
from lacunet.density import GaussianMixtureDensity
from lacunet.estimators import _bank, _together
from lacunet.estimators._bank import expected_responses
from lacunet.estimators._together import train_together
from lacunet.nn import ExpectedRBF


def make_model(n_components=2, n_units=6, **options):
    options = {
        "train_density": True,
        "density_loss_weight": 0.0,
        "gamma": 1.0,
        "lr": 0.05,
        "max_epochs": 45,
        "batch_size": 32,
        "random_state": 0,
        **options,
    }
    density = IncompleteGaussianMixture(n_components, strategy="mean")
    return LacunetRBFClassifier(density=density, n_units=n_units, **options)


def count_banks(monkeypatch):
    sizes = []
    train_bank = _bank.train_bank

    def counted(seats):
        sizes.append(len(seats))
        train_bank(seats)

    monkeypatch.setattr(_together, "train_bank", counted)
    return sizes


@pytest.mark.parametrize("normalise", [True, False])
def test_the_responses_are_those_of_the_layer(normalise):
    generator = torch.Generator().manual_seed(0)
    densities = [
        GaussianMixtureDensity(3, 4, gamma=gamma, generator=generator)
        for gamma in (0.3, 2.0)
    ]
    layers = [
        ExpectedRBF(4, 5, density, normalise=normalise, generator=generator)
        for density in densities
    ]
    x = torch.randn(2, 9, 4, generator=generator)
    x[torch.rand(x.shape, generator=generator) < 0.4] = torch.nan
    x[:, 0] = torch.nan
    x[:, 1] = 1.0
    states = [
        {f"networks.first.{name}": p for name, p in layer.named_parameters()}
        for layer in layers
    ]
    stacked = {name: torch.stack([s[name] for s in states]) for name in states[0]}
    both = expected_responses(
        stacked, x.nan_to_num(), torch.isnan(x).float(), normalise=normalise
    )
    for ours, layer, rows in zip(both, layers, x, strict=True):
        torch.testing.assert_close(ours, layer(rows), rtol=1e-4, atol=1e-7)


def test_each_comes_out_as_if_it_had_been_fitted_alone(monkeypatch):
    sizes = count_banks(monkeypatch)
    X, y = numbers(90)
    parts = [(X[i::3], y[i::3]) for i in range(3)]
    choices = [(k, part) for k in (1, 3) for part in parts]
    alone = [make_model(k).fit(*part) for k, part in choices]
    assert sizes == []
    with train_together():
        together = [make_model(k).fit(*part) for k, part in choices]
    assert sizes == [6]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X), atol=2e-3
        )
        assert [r.epoch for r in one.history_] == [r.epoch for r in other.history_]
        assert [r.best for r in one.history_] == [r.best for r in other.history_]
        np.testing.assert_allclose(
            [r[1:3] for r in one.history_], [r[1:3] for r in other.history_], rtol=1e-3
        )
    # They did not all stop at once, so that some were left out before the others.
    assert len({len(model.history_) for model in together}) > 2


def test_a_frozen_density_stays_and_a_pipeline_may_stand_in_front(monkeypatch):
    sizes = count_banks(monkeypatch)
    X, y = numbers(60)
    models = [
        make_pipeline(SimpleImputer(), make_model(1, train_density=False, lr=lr))
        for lr in (0.01, 0.02)
    ]
    with train_together():
        for model in models:
            model.fit(X, y)
    assert sizes == [1, 1]  # not the same pace
    for model in models:
        again = clone(model).fit(X, y)
        np.testing.assert_allclose(
            again.predict_proba(X), model.predict_proba(X), atol=2e-3
        )
        means = model[-1].density_.means
        torch.testing.assert_close(means, again[-1].density_.means)


@pytest.mark.parametrize(
    "options",
    [
        {"n_networks": 2},
        {"mask_augmentation": 0.2},
        {"density_loss_weight": 0.1},
        {"time_limit": 100.0},
    ],
)
def test_what_cannot_wait_is_trained_at_once(monkeypatch, options):
    sizes = count_banks(monkeypatch)
    X, y = numbers(40)
    with train_together():
        model = make_model(max_epochs=2, **options).fit(X, y)
        assert len(model.history_) == 2
    assert sizes == []


def test_weights_of_rows_count(monkeypatch):
    X, y = numbers(60)
    weights = np.where(np.arange(60) % 2, 0.25, 1.75)
    alone = make_model().fit(X, y, sample_weight=weights)
    with train_together():
        together = make_model().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        alone.predict_proba(X), together.predict_proba(X), atol=2e-3
    )


def test_nothing_is_trained_after_an_error(monkeypatch):
    sizes = count_banks(monkeypatch)
    X, y = numbers(40)

    def fail():
        make_model().fit(X, y)
        raise RuntimeError

    with pytest.raises(RuntimeError), train_together():
        fail()
    assert sizes == []
    assert make_model(max_epochs=2).fit(X, y).history_  # and no one waits any more
