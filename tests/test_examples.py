"""The example with a tiny budget: it runs, and its errors add up."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lacunet.density import GaussianMixtureDensity

EXAMPLE = Path(__file__).parents[1] / "examples" / "restore_digits.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("restore_digits", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(example, tmp_path_factory):
    out = tmp_path_factory.mktemp("example") / "new"
    return example.main(epochs=2, n_images=150, out=out), out


def test_a_figure_and_the_errors_are_written(run):
    errors, out = run
    assert (out / "restored.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((out / "restored.json").read_text("utf-8"))
    assert record == {name: error._asdict() for name, error in errors.items()}


def test_errors_of_four_methods_are_finite(run):
    errors, _ = run
    assert len(errors) == 4
    assert np.isfinite([list(error) for error in errors.values()]).all()


def test_errors_inside_and_outside_add_up_to_the_total(run):
    for error in run[0].values():
        assert error.inside > 0
        assert error.inside + error.outside == pytest.approx(error.total)


def test_filling_has_no_error_outside_the_patch_but_networks_have(run):
    errors, _ = run
    assert errors["mean filling"].outside == 0
    assert errors["EM mixture filling"].outside == 0
    assert errors["ExpectedLinear + autoencoder"].outside > 0


def test_loading_removes_one_patch_from_every_image_and_touches_nothing_else(example):
    digits = example.load_incomplete_digits(60)
    missing = np.isnan(digits.test).reshape(-1, example.SIDE, example.SIDE)
    assert (np.isnan(digits.train).sum(1) == example.PATCH**2).all()
    assert (missing.any(2).sum(1) == example.PATCH).all()
    assert (missing.any(1).sum(1) == example.PATCH).all()
    np.testing.assert_array_equal(
        digits.test[~np.isnan(digits.test)], digits.originals[~np.isnan(digits.test)]
    )


def test_both_networks_have_the_same_initial_weights(example):
    plain = example.make_autoencoder(torch.Generator().manual_seed(0))
    density = GaussianMixtureDensity(2, example.SIDE**2)
    expected = example.expect_first_layer(plain, density)
    complete = torch.rand(5, example.SIDE**2)
    torch.testing.assert_close(expected(complete), plain(complete))
