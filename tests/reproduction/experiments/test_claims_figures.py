import json

import pytest
from made_up import judge
from reproduction.experiments._files import update_figure


def figure(folder, name, content):
    (folder / f"{name}.json").write_text(json.dumps({"paper": content}))


def write_cost(folder, forward, step):
    """Write times that are so many times 2k, with one share of complete rows."""
    sizes = {"batch": 8, "features": 4, "units": 2, "repeats": 1}
    content = {"components": [1, 2, 5], "shares": [0.0, 0.5, 0.9], "sizes": sizes}
    for name, factor in (("forward", forward), ("step", step)):
        content[name] = [[0.01, 2 * k * factor, 2 * k * factor] for k in (1, 2, 5)]
    figure(folder, "figure-cost", content)


@pytest.mark.parametrize(
    ("forward", "step", "outcome"),
    [
        (1.0, 1.5, "holds"),
        (0.6, 1.9, "holds"),
        (1.0, 2.1, "not decidable"),
        (0.4, 2.1, "not decidable"),
        (2.1, 3.0, "does not hold"),
        (0.4, 0.3, "does not hold"),
    ],
)
def test_the_cost_is_about_2k(tmp_path, forward, step, outcome):
    write_cost(tmp_path, forward, step)
    found = judge("cost-about-2k", folder=tmp_path)
    assert found.outcome == outcome
    assert found.figures["forward / 2k"] == pytest.approx(forward)
    assert found.figures["step k=5"] == pytest.approx(10 * step)


def write_mnist(
    folder, *, fitted=(True, True), bare=False, hours=(8.0, 9.0), label="paper"
):
    fits = [
        {
            "covariances": kind,
            "floor": floor,
            "n_rows": 60000,
            "fitted": works if floor else bare,
            "converged": True,
            "n_iter": 24,
            "seconds": 30.0,
            "peak_mb": None if floor else 500.0,
        }
        for kind, works in zip(("diag", "factor"), fitted, strict=True)
        for floor in (1e-6, 0.0)
    ]
    mice = {
        "n_rows": [100, 200],
        "seconds": [1.0, 2.0],
        "n_rounds": 5,
        "n_regressions": 3920,
        "hours_by_line": hours[0],
        "hours_by_share": hours[1],
    }
    sizes = {"n_images": 60000, "n_pixels": 784, "n_constant": 67}
    content = {**sizes, "em": fits, "mice": mice}
    update_figure(folder / "claim-mnist.json", label, content)


@pytest.mark.parametrize(
    ("fitted", "bare", "outcome"),
    [
        ((True, True), True, "does not hold"),
        ((True, True), False, "not decidable"),
        ((True, False), False, "not decidable"),
        ((False, False), False, "holds"),
    ],
)
def test_em_on_mnist(tmp_path, fitted, bare, outcome):
    write_mnist(tmp_path, fitted=fitted, bare=bare)
    found = judge("em-impossible-on-mnist", folder=tmp_path)
    assert found.outcome == outcome
    assert "67 of 784 pixels never vary" in found.why
    assert found.figures["fitted factor + 1e-06"] == fitted[1]
    assert found.figures["fitted diag + 0"] == bare
    assert "peak MB diag + 1e-06" not in found.figures


@pytest.mark.parametrize(
    ("hours", "outcome"),
    [
        ((8, 9), "does not hold"),
        ((30, 23), "not decidable"),
        ((20, 30), "not decidable"),
        ((30, 40), "holds"),
    ],
)
def test_mice_on_mnist_is_impossible_if_it_takes_more_than_a_day(
    tmp_path, hours, outcome
):
    write_mnist(tmp_path, hours=hours)
    found = judge("mice-impossible-on-mnist", folder=tmp_path)
    assert found.outcome == outcome
    assert f"{min(hours)} to {max(hours)} hours" in found.why


@pytest.mark.parametrize("method", ["mice", "em"])
def test_small_digits_decide_nothing_about_mnist(tmp_path, method):
    write_mnist(tmp_path, label="paper-digits")
    found = judge(f"{method}-impossible-on-mnist", folder=tmp_path, data="digits")
    assert found.outcome == "not decidable"
    assert found.figures


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "holds"),
        ({"equal": 1e-6}, "does not hold"),
        ({"different": {"a": 1.0, "b": 1e-5}}, "does not hold"),
        ({"density": 0.01}, "does not hold"),
        ({"characteristic": 0.01}, "does not hold"),
    ],
)
def test_the_theorem_fails_with_any_of_its_numbers(tmp_path, changes, outcome):
    few = {"units": 32, "their_gap": 1e-16, "gap": 0.1, "total_variation": 1.0}
    content = {
        "equal": 1e-15,
        "different": {"a": 1.0, "b": 0.01},
        "density": 1e-5,
        "characteristic": 1e-5,
        "few_units": few,
    }
    figure(tmp_path, "claim-information", content | changes)
    found = judge("no-loss-of-information", folder=tmp_path)
    assert found.outcome == outcome
    assert "(b)" in found.why
