import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from lacunet.evaluation import METRICS, score
from lacunet.evaluation._scores import row_scores


def made_up(n_classes, n=400, seed=0):
    """Return indices of classes and probabilities, or numbers; ties among them."""
    rng = np.random.RandomState(seed)
    if not n_classes:
        return rng.randn(n), rng.randn(n)
    y = rng.randint(n_classes, size=n)
    odds = np.round(rng.rand(n, n_classes) + 0.5 * np.eye(n_classes)[y], 1) + 0.01
    return y, odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes_are_those_of_scikit_learn(n_classes):
    y, predicted = made_up(n_classes)
    names = np.array([*"abc"[:n_classes]])
    found = score("classification", names[y], predicted, names)
    of_auc = predicted[:, 1] if n_classes == 2 else predicted
    expected = {
        "log_loss": log_loss(y, predicted),
        "auc": roc_auc_score(y, of_auc, multi_class="ovr"),
        "accuracy": accuracy_score(y, predicted.argmax(1)),
    }
    assert found == pytest.approx(expected)
    assert [*found] == [metric.key for metric in METRICS["classification"]]


def test_scores_of_numbers_are_those_of_scikit_learn():
    y, predicted = made_up(0)
    rmse, r2 = root_mean_squared_error(y, predicted), r2_score(y, predicted)
    assert score("regression", y, predicted) == pytest.approx({"rmse": rmse, "r2": r2})


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_rows_of_a_score_have_its_standard_error(n_classes):
    y, predicted = made_up(n_classes)
    task = "classification" if n_classes else "regression"
    rng = np.random.RandomState(1)
    drawn = [rng.randint(len(y), size=len(y)) for _ in range(400)]
    again = [row_scores(task, y[i], predicted[i]) for i in drawn]
    for key, rows in row_scores(task, y, predicted).items():
        if key != "r2":  # whose rows leave out that the variance of y is estimated
            error = rows.std() / np.sqrt(len(y))
            assert error == pytest.approx(
                np.std([e[key].mean() for e in again]), rel=0.15
            )


@pytest.mark.parametrize(
    ("task", "y", "predicted", "expected"),
    [
        ("regression", [1.0], [2.0], {"rmse": 1.0, "r2": None}),
        ("regression", [1.0, 1.0], [1.0, 1.0], {"rmse": 0.0, "r2": 1.0}),
        ("regression", [1.0, 1.0], [1.0, 2.0], {"rmse": 0.5**0.5, "r2": 0.0}),
        (
            "classification",
            [1, 1],
            [[0.5, 0.5], [0.0, 1.0]],
            {"log_loss": np.log(2) / 2, "auc": None, "accuracy": 0.5},
        ),
        (
            "classification",  # the true class is excluded
            [0, 1],
            [[0.0, 1.0], [0.0, 1.0]],
            {"log_loss": 52 / 2 * np.log(2), "auc": 0.5, "accuracy": 0.5},
        ),
    ],
)
def test_odd_rows_have_scores(task, y, predicted, expected):
    classes = () if task == "regression" else (0, 1)
    found = score(task, np.array(y), np.array(predicted), classes)
    assert found == pytest.approx(expected)
