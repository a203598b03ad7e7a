import numpy as np
import pytest

from lacunet.evaluation import METRICS, Estimate, score
from lacunet.evaluation._scores import compare_losses, row_losses


def made_up(task, n=40, seed=0):
    """Return targets, predictions of two models, and classes."""
    rng = np.random.RandomState(seed)
    if task == "regression":
        return rng.randn(n), rng.randn(n), rng.randn(n), ()
    probabilities = rng.dirichlet(np.ones(3), size=(2, n))
    probabilities[0, 0] = [0.0, 0.0, 1.0]  # excludes the true class
    y = rng.choice(["a", "b", "c"], n)
    y[0] = "a"
    return y, *probabilities, np.array(["a", "b", "c"])


@pytest.mark.parametrize("task", METRICS)
def test_the_mean_of_the_losses_is_the_first_score(task):
    y, predicted, _, classes = made_up(task)
    losses = row_losses(task, y, predicted, classes)
    first = METRICS[task][0].key
    assert compare_losses(task, losses).value == pytest.approx(
        score(task, y, predicted, classes)[first]
    )
    assert not METRICS[task][0].higher_is_better


@pytest.mark.parametrize("task", METRICS)
def test_standard_errors_are_those_of_the_bootstrap(task):
    y, first, second, classes = made_up(task, 400)
    losses = row_losses(task, y, first, classes)
    others = row_losses(task, y, second, classes)
    found = compare_losses(task, losses, others)
    alone = [compare_losses(task, each).value for each in (losses, others)]
    assert found.value == pytest.approx(alone[0] - alone[1])
    rng = np.random.RandomState(0)
    drawn = [rng.randint(400, size=400) for _ in range(500)]
    values = [compare_losses(task, losses[i], others[i]).value for i in drawn]
    assert found.error == pytest.approx(np.std(values), rel=0.15)


def test_compared_with_nothing_it_is_the_score_itself():
    losses = np.array([1.0, 4.0, 9.0])
    assert compare_losses("classification", losses).value == pytest.approx(14 / 3)
    found = compare_losses("regression", losses)
    assert found.value == pytest.approx(np.sqrt(14 / 3))
    assert found.error == pytest.approx(
        losses.std(ddof=1) / np.sqrt(3) / (2 * np.sqrt(14 / 3))
    )


@pytest.mark.parametrize("task", METRICS)
def test_one_row_and_losses_of_zero_have_an_estimate(task):
    assert compare_losses(task, np.zeros(5)) == Estimate(0.0, 0.0)
    assert compare_losses(task, np.array([4.0])).error is None


@pytest.mark.parametrize(
    ("value", "error", "is_sure"),
    [(0.3, 0.1, True), (-0.3, 0.1, True), (0.1, 0.1, False), (1.0, None, False)],
)
def test_two_standard_errors_are_sure(value, error, is_sure):
    assert Estimate(value, error).is_sure is is_sure
