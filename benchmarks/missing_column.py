"""A column that is complete in training and missing as a whole at prediction.

python -m benchmarks.missing_column
"""

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from benchmarks.table import format_table, score, write_part
from benchmarks.table_methods import METHODS
from benchmarks.timing import threads
from lacunet import LacunetClassifier

OUT = Path("benchmarks/results/estimators.json")
N_TRAIN, N_TEST = 2000, 5000
MOST_WORSE, MOST_ON_COMPLETE = 0.03, 0.15


def main(argv: Sequence[str] | None = None) -> None:
    """Measure log-losses, print them and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="small models, to see that it runs")
    add("--out", type=Path, default=None, metavar="FILE", help=f"{OUT} by default")
    options = parser.parse_args(argv)
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = measure(quick=options.quick)
    loss = {row["model"]: row for row in models}
    ours, never = loss["lacunet, auto"], loss["lacunet that never had x0"]
    goals = {
        f"within {MOST_WORSE} of never having had x0": ours["missing"]
        <= never["missing"] + MOST_WORSE,
        f"below {MOST_ON_COMPLETE} on complete rows": ours["complete"]
        < MOST_ON_COMPLETE,
    }
    print("\nLog-loss of y = [x0 + 0.5 x1 > 0], trained on complete rows:\n")
    body = [["-" if v is None else v for v in row.values()] for row in models]
    body = [[v if isinstance(v, str) else f"{v:.3f}" for v in row] for row in body]
    print(format_table(("model", "complete rows", "x0 missing"), body))
    for goal, met in goals.items():
        print(f"lacunet, auto: {goal}: {'ok' if met else 'MISSED'}")
    if options.out or not options.quick:
        out = options.out or OUT
        write_part("missing-column", {"models": models, "goals": goals}, out)


def measure(*, quick: bool) -> list[dict[str, Any]]:
    """Train on complete rows, and predict with the first column and without it."""
    X, y = make_rows(200 if quick else N_TRAIN, seed=0)
    X_test, y_test = make_rows(N_TEST, seed=1)
    without = X_test.assign(x0=np.nan)
    small = {"n_networks": 2, "max_epochs": 2} if quick else {}
    ours = LacunetClassifier(random_state=0, on_unseen_missing="use", **small)

    def losses(name: str, model: Any) -> dict[str, Any]:
        complete, missing = (
            score(y_test, model.predict_proba(rows))[0] for rows in (X_test, without)
        )
        return {"model": name, "complete": complete, "missing": missing}

    ours.fit(X, y)
    rows = [
        losses(f"lacunet, {propagate}", ours.set_params(propagate=propagate))
        for propagate in ("auto", "expectation", "sample")
    ]
    blind = ours.set_params(propagate="auto").fit(X[["x1"]], y)
    never = score(y_test, blind.predict_proba(X_test[["x1"]]))[0]
    rows.append(
        {"model": "lacunet that never had x0", "complete": None, "missing": never}
    )
    chance = ndtr(0.5 * X_test["x1"].to_numpy())
    best = score(y_test, np.column_stack([1 - chance, chance]))[0]
    rows.append({"model": "true probabilities", "complete": 0.0, "missing": best})
    for method in (METHODS["hgb"], METHODS["catboost"]):
        if method.installed:
            model = method.make("Classifier", []).fit(X, y)
            rows.append(losses(method.title, model))
    return rows


def make_rows(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    return pd.DataFrame(X, columns=["x0", "x1"]), (X @ [1, 0.5] > 0).astype(np.int64)


if __name__ == "__main__":
    main()
