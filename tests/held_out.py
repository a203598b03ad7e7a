"""Evaluations on held-out rows, made up: nothing is fitted."""

import dataclasses

from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.evaluation import HoldOut, TableFacts
from lacunet.evaluation._hold_out import (
    Agreement,
    AgreementBin,
    Calibration,
    CalibrationBin,
    ClassRows,
    LearningStep,
    MissingBin,
)
from lacunet.inspection import ColumnImportance, Estimate, Importance
from lacunet.tables import ColumnInfo

EVIL = "<script>alert(1)</script>"


def make_classification(**changes):
    """Return the evaluation of a classifier without a weakness."""
    bins = (
        CalibrationBin(60, 0.2, 0.15, 0.08, 0.26),
        CalibrationBin(60, 0.9, 0.9, 0.8, 0.95),
    )
    made = HoldOut(
        task="classification",
        n_train=480,
        n_test=120,
        n_unlabelled=30,
        n_columns=3,
        test_size=0.2,
        random_state=7,
        classes=(ClassRows("ill", 200, 50), ClassRows(EVIL, 280, 70)),
        scores={
            "lacunet": {"log_loss": 0.3, "accuracy": 0.9, "auc": 0.95},
            "hgb": {"log_loss": 0.4, "accuracy": 0.85, "auc": 0.9},
            "trivial": {"log_loss": 0.68, "accuracy": 0.58, "auc": 0.5},
        },
        estimates={
            "lacunet": Estimate(0.3, 0.03),
            "hgb": Estimate(0.4, 0.04),
            "trivial": Estimate(0.68, 0.01),
        },
        leads={"hgb": Estimate(0.1, 0.02), "trivial": Estimate(0.38, 0.03)},
        seconds={"lacunet": 12.5, "hgb": 0.5, "trivial": 0.001},
        max_epochs=200,
        time_limit=None,
        timed_out=False,
        learning=tuple(LearningStep(i, 1 / i, 1.1 / i, i < 20) for i in range(1, 35)),
        calibration={
            "lacunet": Calibration(bins, 0.025, 0.03, 0.6),
            "hgb": Calibration(bins, 0.025, 0.03, 0.6),
        },
        agreement={},
        mean_confidence=0.91,
        by_missing=_make_missing(),
        importance=_make_importance(),
        conditional=_make_importance(),
        confusion=((44, 6), (6, 64)),
        never_missing=(),
        empty=(),
        versions={"lacunet": "0.1.0", "python": "3.11.7"},
        model=LacunetClassifier(n_networks=3),
    )
    return dataclasses.replace(made, **changes)


def make_regression(**changes):
    """Return the evaluation of a regressor without a weakness."""
    quantiles = (-20.0, -10.0, 0.0, 12.0, 25.0)
    bins = (
        AgreementBin(60, 80.0, 81.0, quantiles),
        AgreementBin(60, 150.0, 149.0, quantiles),
    )
    agreement = Agreement(bins, 0.5, quantiles)
    scores = {
        "lacunet": {"rmse": 50.0, "r2": 0.5},
        "hgb": {"rmse": 52.0, "r2": 0.45},
        "trivial": {"rmse": 70.0, "r2": -0.01},
    }
    settings = {
        "task": "regression",
        "classes": (),
        "scores": scores,
        "estimates": {k: Estimate(s["rmse"], 3.0) for k, s in scores.items()},
        "leads": {"hgb": Estimate(2.0, 3.0), "trivial": Estimate(20.0, 3.0)},
        "calibration": {},
        "agreement": {"lacunet": agreement, "hgb": agreement},
        "mean_confidence": None,
        "confusion": (),
        "model": LacunetRegressor(),
    }
    return make_classification(**{**settings, **changes})


def _make_missing():
    losses = [
        {"lacunet": Estimate(v, 0.05), "hgb": Estimate(v + 0.1, 0.06)}
        for v in (0.28, 0.32)
    ]
    return (MissingBin(0, 0, 70, losses[0]), MissingBin(1, 3, 50, losses[1]))


def _make_importance():
    columns = (
        ColumnImportance(EVIL, Estimate(0.2, 0.02)),
        ColumnImportance("a|b", Estimate(0.01, 0.02)),
        ColumnImportance("$c_1$", Estimate(-0.03, 0.01)),
    )
    return Importance(columns, 3, 120, "all columns")


def make_facts(**changes):
    """Return the facts of the table that goes with them."""
    columns = (
        ColumnInfo(EVIL, "number", 63, 500),
        ColumnInfo("a|b", "category", 0, 4),
        ColumnInfo("$c_1$", "date", 1, 300),
        ColumnInfo("out\ncome", "category", 30, 2),
    )
    facts = TableFacts("/home/me/data/pa|tients.csv", "out\ncome", 630, 30, columns)
    return dataclasses.replace(facts, **changes)
