import json
import math
from dataclasses import replace

import numpy as np
import pytest
from reproduction import figures
from reproduction.figures import FIGURES, SIZES, Sizes
from reproduction.tables import Budget, Drawing

DRAWING = Drawing("unused", "quick", "digits", (), ("paper", "em-frozen"))


def test_a_label_names_protocol_and_stand_ins():
    assert DRAWING.label == "quick-digits"
    assert DRAWING._replace(data=None).label == "quick"


def normal(x, mean, variance):
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(variance)


def test_gamma_goes_from_the_conditional_to_the_marginal_density():
    found = figures.draw_gamma()
    near, one, far = found["component_weights"]
    # The observed coordinate is -1; the means there are -1 and 1.5.
    for weights, gamma in ((near, 0.0), (one, 1.0)):
        first, second = normal(0, 0, 0.5 + gamma), normal(2.5, 0, 0.6 + gamma)
        assert weights[1] == pytest.approx(second / (first + second), abs=1e-5)
    np.testing.assert_allclose(far, [0.5, 0.5], atol=2e-3)
    for weights, density in zip((near, one, far), found["density"], strict=True):
        assert np.trapezoid(density, found["x"]) == pytest.approx(1, abs=1e-4)
        mean = np.trapezoid(np.multiply(density, found["x"]), found["x"])
        assert mean == pytest.approx(np.dot(weights, [-1.5, 1.5]), abs=1e-3)


def test_the_cost_is_for_each_number_of_components_and_fraction(monkeypatch):
    monkeypatch.setitem(SIZES, "quick", Sizes(64, 40, 20, 1))
    found = figures.draw_cost(DRAWING)
    for name in ("forward", "step"):
        times = np.array(found[name])
        assert times.shape == (len(found["components"]), len(found["shares"]))
        assert (times > 0).all()
    assert json.dumps(found)


def test_the_figure_of_the_density_has_points_gaussians_and_predictions(monkeypatch):
    budgets = {"quick": Budget({"max_epochs": 3}, n_rows=100)}
    small = replace(FIGURES["figure-density"], budgets=budgets)
    monkeypatch.setitem(FIGURES, "figure-density", small)
    found = json.loads(json.dumps(figures.draw_density(DRAWING), allow_nan=False))
    assert set(found) >= {"initial", "paper", "em-frozen"}
    assert len(found["points"]) == len(found["classes"]) == 100
    assert None in np.ravel(found["points"])
    assert np.shape(found["paper"]["means"]) == (2, 2)
    assert len(found["em-frozen"]["said"]) == 100
    assert found["paper"]["means"] != found["initial"]["means"]
    # Trained for three epochs only, it is still near to where it began.
    np.testing.assert_allclose(
        found["paper"]["means"], found["initial"]["means"], atol=0.3
    )
