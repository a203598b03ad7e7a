import numpy as np
import pytest
from made_up import cell, judge
from reproduction.experiments._claims_record import LackingError
from reproduction.experiments._files import update_figure

# --- table 1


def errors(metric="mse_inside", *, seeds=1, noise=0.0, **means):
    return [
        cell("table-1", "mnist", method, mean + noise * seed, metric=metric, seed=seed)
        for method, mean in means.items()
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("place", ["inside", "outside"])
@pytest.mark.parametrize(
    ("knn", "outcome"),
    [(0.02, "holds"), (0.0105, "not decidable"), (0.005, "does not hold")],
)
def test_lower_error_than_each_imputation(place, knn, outcome):
    cells = errors(f"mse_{place}", paper=0.01, knn=knn, mean=0.02, dropout=0.03)
    found = judge(f"lower-error-{place}", cells)
    assert found.outcome == outcome
    assert found.figures["knn"] == knn
    assert "With 1 seed, chance is taken to be 10% of an error" in found.why


def test_the_paper_denies_itself_inside_the_mask_alone():
    means = {"paper": 0.01, "knn": 0.02, "mean": 0.02, "dropout": 0.02}
    inside = judge("lower-error-inside", errors("mse_inside", **means))
    assert "own figures deny it: k-nn 0.00722, paper 0.0081." in inside.why
    assert inside.figures["reported paper"] == 0.0081
    outside = judge("lower-error-outside", errors("mse_outside", **means))
    assert "own figures agree." in outside.why


def test_with_seeds_errors_are_tested_and_small_differences_count():
    means = {"paper": 0.01, "knn": 0.0105, "mean": 0.0105, "dropout": 0.0105}
    steady = errors(seeds=3, noise=0.001, **means)  # the seeds move all alike
    assert judge("lower-error-inside", steady).outcome == "holds"
    two = errors(seeds=2, noise=0.001, **means)
    assert judge("lower-error-inside", two).outcome == "not decidable"


def test_other_patches_and_metrics_do_not_count():
    means = {"paper": 0.01, "knn": 0.02, "mean": 0.02, "dropout": 0.02}
    cells = errors(**means)
    others = [
        cell("table-1", "mnist-5", method, 1 - value, metric="mse_inside")
        for method, value in means.items()
    ]
    others += errors("mse", paper=1.0, knn=0.1)
    assert judge("lower-error-inside", [*cells, *others]) == judge(
        "lower-error-inside", cells
    )


@pytest.mark.parametrize(
    ("relu", "outcome"),
    [(0.02, "holds"), (0.01, "not decidable"), (0.008, "does not hold")],
)
def test_relu_in_later_layers_is_worse(relu, outcome):
    cells = errors("mse", **{"paper": 0.01, "paper-relu": relu})
    assert judge("relu-worse-than-sigmoid", cells).outcome == outcome


@pytest.mark.parametrize(
    ("inside", "outside", "outcome"),
    [
        (1.14, 0.9, "holds"),
        (1.2, 0.9, "not decidable"),
        (1.3, 0.9, "does not hold"),
        (1.14, 1.05, "not decidable"),
        (1.14, 5.0, "does not hold"),
    ],
)
def test_level_with_a_context_encoder_on_images(inside, outside, outcome):
    cells = [
        *errors("mse", paper=0.9, ce=1.0),
        *errors("mse_inside", paper=inside, ce=1.0),
        *errors("mse_outside", paper=outside, ce=1.0),
    ]
    found = judge("level-with-ce-on-images", cells)
    assert found.outcome == outcome
    assert found.figures["mse_inside reported ce"] == 0.0071


@pytest.mark.parametrize(
    ("worst", "outcome"),
    [(1.2, "holds"), (1.3, "not decidable"), (2.1, "does not hold")],
)
def test_the_smallest_patch_decides_whether_methods_are_alike(worst, outcome):
    cells = [
        cell("table-1", name, method, value, metric="mse")
        for name, most in (("mnist", 3.0), ("mnist-5", worst), ("mnist-10", 2.0))
        for method, value in zip(
            ("paper", "knn", "mean", "dropout", "ce"), (1, 1, 1, 1, most), strict=True
        )
    ]
    found = judge("small-patches-alike", cells)
    assert found.outcome == outcome
    assert found.figures["mnist-5"] == pytest.approx(worst)
    assert found.figures["apart mnist-5"] == pytest.approx(worst - 1)
    assert list(found.figures)[:3] == ["mnist", "mnist-5", "mnist-10"]


def test_without_small_patches_nothing_is_said_of_them():
    main = errors("mse", paper=1, knn=1, mean=1, dropout=1, ce=1)
    with pytest.raises(LackingError, match="on smaller patches"):
        judge("small-patches-alike", main)


# --- figure 2


def write_images(folder, **factors):
    """Write images whose contrast, and with it sharpness, is that of the originals."""
    original = np.random.RandomState(0).rand(20, 64)
    masked = np.where(np.arange(64) < 9, np.nan, original)
    shown = {method: factor * original for method, factor in factors.items()}
    content = {"original": original, "masked": masked, **shown}
    update_figure(folder / "figure-2.npz", "paper", content)


@pytest.mark.parametrize(
    ("knn", "outcome"),
    [(0.5, "holds"), (0.8, "not decidable"), (0.9, "does not hold")],
)
def test_sharper_images(tmp_path, knn, outcome):
    write_images(tmp_path, paper=0.8, knn=knn, mean=0.5, dropout=0.5, ce=0.5)
    found = judge("sharper-images", folder=tmp_path)
    assert found.outcome == outcome
    assert found.figures["sharpness paper"] == pytest.approx(0.64)
    assert found.figures["sharpness inside mean"] == pytest.approx(0.25)
    assert found.figures["error mean"] > found.figures["error paper"] > 0


def test_images_of_all_rivals_are_needed_to_be_the_sharpest(tmp_path):
    write_images(tmp_path, paper=0.8, knn=0.5)
    with pytest.raises(LackingError, match="mean, dropout and context encoder"):
        judge("sharper-images", folder=tmp_path)
