import json

import numpy as np
import pandas as pd
import pytest
import small
from sklearn.metrics import accuracy_score, log_loss

from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetRegressor
from lacunet.baselines import BoostedClassifier, BoostedRegressor
from lacunet.evaluation import METRICS, hold_out, score
from lacunet.evaluation._hold_out import (
    compare_by_missing,
    equal_bins,
    find_agreement,
    find_calibration,
)
from lacunet.evaluation._target import split_rows
from lacunet.inspection import compare_losses, importance

# Fits in a moment: the model need not be good.
QUICK = {
    "n_networks": 1,
    "max_epochs": 2,
    "density": IncompleteGaussianMixture(1),
    "on_unseen_missing": "raise",
}


def classifier(**options):
    return small.classifier(**{**QUICK, **options})


def regressor(**options):
    return small.regressor(**{**QUICK, **options})


def evaluate(X, y, task="classification", **options):
    model = classifier() if task == "classification" else regressor()
    return hold_out(model, X, y, task=task, **options)


@pytest.fixture(scope="module")
def table():
    X, codes = small.frame(90)
    return X, np.array(["ill", "well"])[codes]


@pytest.fixture(scope="module")
def parts(table):
    return split_rows(table[1], "classification", test_size=0.2, random_state=3)


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def found(table, steps):
    X, y = table
    unlabelled, _ = small.frame(20, seed=1)
    return evaluate(X, y, X_unlabelled=unlabelled, random_state=3, on_step=steps.append)


@pytest.fixture(scope="module")
def number():
    """Return a table, numbers, and what was found of them."""
    X, _ = small.numbers(60)
    frame = pd.DataFrame(X, columns=[*"abcd"])
    y = np.nan_to_num(X[:, 0]) * 10
    return frame, y, evaluate(frame, y, "regression")


# --- rows and models


def test_rows_are_counted(found, parts, table):
    assert (found.n_train, found.n_test, found.n_columns) == (72, 18, 7)
    assert (len(parts[0]), len(parts[1])) == (72, 18)
    assert found.n_unlabelled == 20
    counts = {each.name: (each.n_train, each.n_test) for each in found.classes}
    for name, numbers in counts.items():
        assert numbers == tuple((table[1][part] == name).sum() for part in parts)
    assert list(counts) == ["ill", "well"]


def test_ours_was_fitted_on_the_other_rows_alone(found, table, parts):
    X, y = table
    train, test = parts
    unlabelled, _ = small.frame(20, seed=1)
    same = classifier().fit(X.iloc[train], y[train], X_unlabelled=unlabelled)
    same.on_unseen_missing = "use"
    probabilities = same.predict_proba(X.iloc[test])
    expected = score("classification", y[test], probabilities, ["ill", "well"])
    assert found.scores["lacunet"] == pytest.approx(expected, abs=1e-5)


def test_the_others_were_fitted_on_the_same_rows(found, table, parts):
    X, y = table
    train, test = parts
    trees = BoostedClassifier("hgb", random_state=3).fit(X.iloc[train], y[train])
    probabilities = trees.predict_proba(X.iloc[test])
    assert found.scores["hgb"]["log_loss"] == pytest.approx(
        log_loss(y[test], probabilities)
    )
    frequent = (y[train] == "well").mean()
    trivial = np.tile([1 - frequent, frequent], (len(test), 1))
    expected = log_loss(y[test], trivial)
    assert found.scores["trivial"]["log_loss"] == pytest.approx(expected)


def test_rows_without_a_target_reach_ours(table):
    seen = {}

    class Spy(LacunetClassifier):
        def fit(self, X, y, **more):
            seen.update(more, n_rows=len(X))
            return super().fit(X, y, **more)

    Spy.__init__ = LacunetClassifier.__init__
    X, y = table
    settings = {**QUICK, "hidden_layer_sizes": (4,), "random_state": 0}
    unlabelled = X[:5]
    hold_out(Spy(**settings), X, y, task="classification", X_unlabelled=unlabelled)
    assert seen["X_unlabelled"] is unlabelled
    assert seen["n_rows"] == 72


def test_the_model_that_was_given_is_left_alone_and_the_fitted_one_is_returned(table):
    X, y = table
    model = classifier()
    found = hold_out(model, X[:30], y[:30], task="classification")
    assert not hasattr(model, "density_")
    assert found.model is not model
    assert found.model.on_unseen_missing == "raise"  # but the evaluation used them
    assert found.model.classes_.tolist() == ["ill", "well"]


def test_steps_are_reported(found, steps):
    assert steps == [
        "fitting lacunet on 72 rows",
        "fitting HistGradientBoosting on 72 rows",
        "fitting trivial model on 72 rows",
        "scoring on 18 held-out rows",
        "checking intervals of 18 rows",
        "permuting one column after the other",
    ]
    assert set(found.seconds) == {"lacunet", "hgb", "trivial"}
    assert min(found.seconds.values()) > 0


# --- the evaluation


@pytest.mark.parametrize("task", METRICS)
def test_scores_and_leads_go_together(task, found, number):
    of = found if task == "classification" else number[-1]
    first = METRICS[task][0].key
    for name, scores in of.scores.items():
        assert of.estimates[name].value == pytest.approx(scores[first])
    for name, lead in of.leads.items():
        gap = of.scores[name][first] - of.scores["lacunet"][first]
        assert lead.value == pytest.approx(gap)


def test_the_confusion_matrix_counts_held_out_rows(found, table, parts):
    right = sum(found.confusion[i][i] for i in range(2))
    assert right / 18 == pytest.approx(found.scores["lacunet"]["accuracy"])
    y = table[1][parts[1]]
    assert [sum(row) for row in found.confusion] == [
        (y == "ill").sum(),
        (y == "well").sum(),
    ]


def test_calibration_is_of_the_second_class(found, table, parts):
    X, y = table[0].iloc[parts[1]], table[1][parts[1]]
    found.model.on_unseen_missing = "use"
    said = found.model.predict_proba(X)[:, 1]
    bins = found.calibration["lacunet"].bins
    assert sum(each.n_rows for each in bins) == 18
    predicted = sum(each.n_rows * each.predicted for each in bins)
    assert predicted == pytest.approx(said.sum())
    happened = sum(each.n_rows * each.observed for each in bins)
    assert happened == pytest.approx((y == "well").sum())


def test_calibration_of_several_classes_is_of_the_predicted_one():
    X, _ = small.numbers(60)
    found = evaluate(pd.DataFrame(X).add_prefix("c"), np.arange(60) % 3)
    curve = found.calibration["lacunet"].bins
    right = sum(each.n_rows * each.observed for each in curve) / found.n_test
    assert right == pytest.approx(found.scores["lacunet"]["accuracy"])
    said = sum(each.n_rows * each.predicted for each in curve) / found.n_test
    assert said == pytest.approx(found.mean_confidence)


def test_losses_by_missing_values_add_up_to_that_of_all_rows(found):
    for name in ("lacunet", "hgb"):
        total = sum(each.n_rows * each.losses[name].value for each in found.by_missing)
        assert total / found.n_test == pytest.approx(found.estimates[name].value)


def test_columns_are_permuted_in_the_held_out_rows(found, table, parts):
    X, y = table[0].iloc[parts[1]], table[1][parts[1]]
    assert found.importance == importance(
        found.model, X, y, n_repeats=1, random_state=3
    )
    first = [each.name for each in found.importance.columns if each.matters][:3]
    assert sorted(each.name for each in found.conditional.columns) == sorted(first)


def test_a_column_that_is_seldom_missing_is_not_the_one_that_matters():
    # A cohort: 19 values of BMI are missing, mostly of the ill; age matters.
    rng = np.random.RandomState(0)
    age, bmi = rng.randint(32, 71, 4240), 25.8 + 3.9 * rng.randn(4240)
    ill = rng.rand(4240) < 1 / (1 + np.exp(2.1 - 0.08 * (age - 50)))
    for of, n in ((ill, 10), (~ill, 9)):
        bmi[rng.choice(np.flatnonzero(of), n, replace=False)] = np.nan
    X = pd.DataFrame({"age": age, "BMI": bmi, "noise": rng.randn(4240)})
    model = LacunetClassifier(
        n_networks=2, max_epochs=15, indicator=True, random_state=0
    )
    found = hold_out(model, X, ill, task="classification")
    heads = [each.head for each in found.findings]
    assert "It relies most on 'age'" in heads
    (missingness,) = (e for e in found.findings if e.head.startswith("Missingness of"))
    assert missingness.head == "Missingness of 'BMI' matters"
    assert "the probability of 'True' rises by" in missingness.text
    assert missingness.weak


def test_columns_never_missing_and_never_observed_are_named(table):
    X, y = table
    X = X.assign(nothing=np.nan)
    with pytest.warns(UserWarning, match="without one observed value"):
        found = evaluate(X[:30], y[:30])
    assert found.never_missing == ("flag",)
    assert found.empty == ("nothing",)
    values = {each.name: each.value.value for each in found.importance.columns}
    assert values["nothing"] == 0.0


def test_the_learning_curve_is_that_of_the_model(found):
    history = found.model.history_
    assert found.n_epochs == len(history) == 2
    assert [step.valid_loss for step in found.learning] == [
        epoch.valid_loss for epoch in history
    ]
    assert (found.max_epochs, found.time_limit, found.timed_out) == (2, None, False)


def test_training_that_was_cut_is_reported(table):
    X, y = table
    model = classifier(time_limit=1e-6, max_epochs=500)
    with pytest.warns(UserWarning, match="time_limit"):
        found = hold_out(model, X, y, task="classification")
    assert found.timed_out
    assert found.as_dict()["timed_out"]
    assert any("cut by the time limit" in each.head for each in found.findings)


def test_a_regression_has_residuals_and_no_classes(number):
    X, y, found = number
    train, test = split_rows(y, "regression", test_size=0.2, random_state=0)
    said = BoostedRegressor("hgb").fit(X.iloc[train], y[train]).predict(X.iloc[test])
    assert found.agreement["hgb"].bias == pytest.approx((y[test] - said).mean())
    ours = found.model.predict(X.iloc[test])
    middle = found.agreement["lacunet"].residuals[2]
    assert middle == pytest.approx(np.median(y[test] - ours))
    assert (found.classes, found.confusion, found.calibration) == ((), (), {})
    trivial = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
    assert found.scores["trivial"]["rmse"] == pytest.approx(trivial)


def test_everything_but_the_model_is_plain(found, number):
    for each in (found, number[-1]):
        plain = json.loads(json.dumps(each.as_dict(), allow_nan=False))
        assert "model" not in plain
        assert plain["n_epochs"] == 2
        assert plain["findings"][0]["about"] == "scores"
        assert plain["scores"]["lacunet"] == each.scores["lacunet"]


# --- odd tables


def odd_tables():
    X, y = small.numbers(30)
    frame = pd.DataFrame(X, columns=[*"abcd"])
    lone = np.array(["no"] * 29 + ["once"])
    constant = np.full(30, 7.0)
    booleans = pd.array(y.astype(bool), dtype="boolean")
    yield "one row of a class", frame, lone, "classification"
    yield "ten rows", frame[:10], y[:10], "classification"
    yield "one column", frame[["a"]], y, "classification"
    yield "booleans", frame, booleans, "classification"
    yield "constant target", frame, constant, "regression"
    yield "numbers of two values", frame, y.astype(bool), "regression"
    yield "four rows", frame[:4], np.arange(4.0), "regression"


@pytest.mark.parametrize(
    ("X", "y", "task"), [pytest.param(*each[1:], id=each[0]) for each in odd_tables()]
)
@pytest.mark.filterwarnings("ignore:Got")
def test_odd_tables_are_evaluated(X, y, task):
    found = evaluate(X, y, task)
    assert found.n_train + found.n_test == len(X)
    assert json.dumps(found.as_dict(), allow_nan=False)
    assert all(np.isfinite(each.value) for each in found.estimates.values())


def test_a_class_of_one_row_is_trained_on_with_one_warning():
    _, X, y, _ = next(odd_tables())
    with pytest.warns(UserWarning, match="one row only") as caught:
        found = evaluate(X, y)
    assert len(caught) == 1
    assert [(each.n_train, each.n_test) for each in found.classes] == [(23, 6), (1, 0)]
    assert found.scores["lacunet"]["auc"] is None
    assert found.confusion[1] == (0, 0)


def test_a_class_without_held_out_rows_has_a_place():
    X, _ = small.numbers(12)
    y = np.array([*"aaaaaabbbccd"])
    with pytest.warns(UserWarning, match="one row only"):
        found = evaluate(pd.DataFrame(X).add_prefix("c"), y, test_size=0.1)
    assert [each.name for each in found.classes] == [*"abcd"]
    assert sum(map(sum, found.confusion)) == found.n_test == 2
    assert found.scores["lacunet"]["accuracy"] == pytest.approx(
        sum(found.confusion[i][i] for i in range(4)) / 2
    )


@pytest.mark.parametrize(
    ("model", "X", "y", "task", "error", "match"),
    [
        (classifier(), 0, 0, "regression", ValueError, "of a LacunetClassifier"),
        (regressor(), 0, 0, "classification", ValueError, "of a LacunetRegressor"),
        (classifier(), 0, 0, "both", ValueError, "task='both'"),
        (classifier(), np.eye(3), 0, "classification", TypeError, "type ndarray"),
        (
            classifier(),
            pd.DataFrame({"a": range(4)}),
            [1, 1, 2],
            "classification",
            ValueError,
            r"shape \(3,\), but expected \(4,\)",
        ),
        (
            regressor(),
            pd.DataFrame({"a": range(4)}),
            [1, 2, 3, None],
            "regression",
            ValueError,
            "missing",
        ),
    ],
)
def test_what_does_not_fit_is_refused(model, X, y, task, error, match):
    with pytest.raises(error, match=match):
        hold_out(model, X, y, task=task)


@pytest.mark.slow
def test_a_column_that_decides_is_found_and_ours_learns():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(600, 3), columns=[*"abc"])
    y = np.where(X["b"] + 0.3 * rng.randn(600) > 0, "yes", "no")
    X = X.mask(rng.rand(600, 3) < 0.2)
    found = hold_out(LacunetClassifier(random_state=0), X, y, task="classification")
    assert found.importance.columns[0].name == "b"
    assert found.leads["trivial"].is_sure
    assert accuracy_score(y, found.model.predict(X)) > 0.8


# --- calibration


def test_bins_have_as_many_rows_and_equal_values_stay_together():
    values = np.random.RandomState(0).rand(200)
    codes = equal_bins(values)
    assert np.bincount(codes).tolist() == [20] * 10
    assert (np.diff(codes[np.argsort(values)]) >= 0).all()
    assert equal_bins(np.zeros(100)).max() == 0
    assert np.bincount(equal_bins(np.repeat([0.0, 1.0], 50))).tolist() == [50, 50]
    assert equal_bins(np.array([0.5])).tolist() == [0]


def test_calibration_of_a_few_rows_by_hand():
    probabilities = np.array([0.1] * 20 + [0.8] * 20)
    happened = np.array(([True] + [False] * 3) * 5 + [True] * 20)
    found = find_calibration(probabilities, happened)
    low, high = found.bins
    assert (low.n_rows, low.observed) == (20, 0.25)
    assert low.predicted == pytest.approx(0.1)
    assert low.low < 0.25 < low.high
    assert (high.observed, high.high) == (1.0, 1.0)
    assert found.calibration_error == pytest.approx((0.15 + 0.2) / 2)


def test_calibrated_probabilities_are_found_to_be_so_and_others_not():
    rng = np.random.RandomState(0)
    probabilities = rng.rand(2000)
    happened = rng.rand(2000) < probabilities
    calibrated = find_calibration(probabilities, happened)
    assert calibrated.p_value > 0.1
    assert calibrated.calibration_error == pytest.approx(calibrated.by_chance, rel=0.5)
    overconfident = find_calibration(
        np.where(probabilities > 0.5, 0.97, 0.03), happened
    )
    assert overconfident.p_value < 0.01
    assert overconfident.calibration_error > 5 * overconfident.by_chance


def test_agreement_is_of_rows_with_about_the_same_prediction():
    predicted = np.repeat([1.0, 2.0], 20)
    y = predicted + np.tile([-1.0, 3.0], 20)
    found = find_agreement(y, predicted)
    assert [each.predicted for each in found.bins] == [1.0, 2.0]
    assert [each.observed for each in found.bins] == [2.0, 3.0]
    assert found.bias == 1.0
    assert found.bins[0].quantiles == (0.0, 0.0, 2.0, 4.0, 4.0)
    assert found.residuals == (-1.0, -1.0, 1.0, 3.0, 3.0)


# --- missing values


def test_losses_by_missing_are_those_of_the_rows():
    n_missing = np.repeat([0, 1, 2, 5, 9], [100, 30, 15, 14, 3])
    losses = np.random.RandomState(0).rand(len(n_missing))
    bins = compare_by_missing("classification", n_missing, {"ours": losses})
    assert [(each.fewest, each.most) for each in bins] == [(0, 0), (1, 1), (2, 9)]
    assert sum(each.n_rows for each in bins) == len(n_missing)
    last = losses[n_missing >= 2]
    assert bins[-1].losses["ours"] == compare_losses("classification", last)


def test_rows_with_as_many_missing_values_or_few_rows_are_in_one_bin():
    assert (
        len(compare_by_missing("regression", np.full(50, 3), {"a": np.ones(50)})) == 1
    )
    (only,) = compare_by_missing("regression", np.arange(9), {"a": np.ones(9)})
    assert (only.fewest, only.most, only.n_rows) == (0, 8, 9)


@pytest.mark.parametrize("task", METRICS)
def test_coverage_is_counted_by_missing_values(task):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(400, 3), columns=["a", "b", "c"])
    y = X["a"] + X["b"] + 0.3 * rng.randn(400)
    X = X.mask(rng.rand(400, 3) < 0.2)
    model = LacunetRegressor(n_networks=2, max_epochs=5, random_state=0)
    if task == "classification":
        y = np.where(y > 0, "high", "low")
        model = LacunetClassifier(n_networks=2, max_epochs=5, random_state=0)
    found = hold_out(model, X, y, task=task)
    assert sum(each.n_rows for each in found.coverage) == found.n_test
    assert [each.fewest for each in found.coverage] == [0, 1]
    assert all(each.low <= each.covered <= each.high for each in found.coverage)
    few, many = found.coverage
    assert few.width < many.width
    without = hold_out(model.set_params(calibration=False), X, y, task=task)
    assert without.coverage == ()
