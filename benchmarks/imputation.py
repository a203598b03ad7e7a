"""Filling: values hidden from real tables, and how close the fills come to them.

``LACUNET_DATA=folder python -m benchmarks.imputation``: the folder has ``tables``, with
compressed CSV files with a column ``target``. A fifth of the observed cells is hidden,
completely at random, depending on other columns, and depending on the values themselves
(``drop_values``, seed 1; candidates and constants of ``LacunetImputer`` were chosen
with other hidden cells: completely at random, seed 0).

Numbers are those of the numeric columns, which is what the rivals take; errors are in
standard deviations of the column. Every method fills as it does at its defaults, so
that ``lacunet`` rounds in columns of whole numbers and the others do not;
``lacunet, not rounded`` is the same model without that. Categories are scored by the
fraction of hidden cells that is right, against the mode and one
``HistGradientBoostingClassifier`` for each column, all other columns as they are.

Results are kept in a file of JSON, and what is found there is not measured again,
except for the methods after ``--again``.
"""

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, wilcoxon
from sklearn import datasets as bundled
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as Boosting
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from benchmarks.table import format_table
from benchmarks.timing import CPU, threads
from lacunet import LacunetImputer
from lacunet.missingness import drop_values

OUT = Path("benchmarks/results/imputation.json")
BUNDLED: dict[str, Callable[[], Any]] = {
    "wine": bundled.load_wine,
    "breast_cancer": bundled.load_breast_cancer,
    "diabetes": lambda: bundled.load_diabetes(scaled=False),
    "digits": bundled.load_digits,
    "iris": bundled.load_iris,
}
# All with at least seven numeric columns, or with at least two of categories.
NUMERIC = (
    *("hmeq", "support2", "nhefs", "pbc", "happiness", "flchain", "ames", "loans"),
    *("polish_bankruptcy_5y", "colleges_usnews", "star", "cervical", "eucalyptus"),
)
CATEGORICAL = (
    *("titanic", "eucalyptus", "support2", "hr_job_change", "hmeq"),
    *("loans", "star", "soybean"),
)
MOST_ROWS = {"numbers": 2_000, "categories": 1_500}
MECHANISMS = ("mcar", "mar", "mnar")
RATE, SEED = 0.2, 1
OURS, NOT_ROUNDED = "lacunet", "lacunet, not rounded"


class ScaledNeighbours:
    """KNNImputer, whose distances need columns of one scale."""

    def fit_transform(self, X: np.ndarray) -> np.ndarray:
        scaler = StandardScaler()
        return scaler.inverse_transform(
            KNNImputer().fit_transform(scaler.fit_transform(X))
        )


RIVALS: dict[str, Callable[[], Any]] = {
    "mean": SimpleImputer,
    "k-nn": ScaledNeighbours,
    "chained, ridge": lambda: IterativeImputer(random_state=0),
    "chained, boosting": lambda: IterativeImputer(
        Boosting(max_iter=30, random_state=0), max_iter=3, random_state=0
    ),
}


def read_table(folder: Path, name: str, most: int) -> pd.DataFrame:
    """Return a table without its target, of at most so many rows."""
    if name in BUNDLED:
        table = pd.DataFrame(BUNDLED[name]().data)
    else:
        path = folder / "tables" / f"{name}.csv.gz"
        table = pd.read_csv(path).drop(columns="target")
    if len(table) > most:
        table = table.sample(most, random_state=0).sort_index()
    return table.reset_index(drop=True)


def score_numbers(
    X: np.ndarray, mechanism: str, known: set[str]
) -> Iterator[dict[str, Any]]:
    """Hide cells of a table, and score the methods that are not known yet."""
    # Some of drop_values' mechanisms leave whole columns as they are.
    incomplete, hidden = drop_values(
        X, RATE, mechanism, return_mask=True, random_state=SEED
    )
    scale = np.nanstd(X, axis=0)
    for method, make in {**RIVALS, OURS: None}.items():
        if method in known:
            continue
        began = CPU()
        model: Any = make() if make else LacunetImputer(random_state=0)
        tables = {method: model.fit_transform(incomplete)}
        seconds = CPU() - began
        if method == OURS:
            whole = np.zeros_like(model.limits_.whole)
            model.limits_ = model.limits_._replace(whole=whole)
            tables[NOT_ROUNDED] = model.transform(incomplete)
        for name, filled in tables.items():
            errors = ((filled - X) / scale)[hidden]
            yield {
                "method": name,
                "rmse": float(np.sqrt(np.square(errors).mean())),
                "mae": float(np.abs(errors).mean()),
                "seconds": seconds,
            }


def score_categories(
    table: pd.DataFrame, mechanism: str, known: set[str]
) -> Iterator[dict[str, Any]]:
    """Hide cells of a table, and score what categories are filled with."""
    incomplete, hidden = drop_values(
        table, RATE, mechanism, return_mask=True, random_state=SEED
    )
    names = list(table.select_dtypes(exclude="number"))
    fillers = {
        "mode": lambda: incomplete[names].fillna(incomplete[names].mode().iloc[0]),
        "boosting": lambda: fill_by_boosting(incomplete, names),
        OURS: lambda: LacunetImputer(random_state=0).fit_transform(incomplete),
    }
    mask = np.asarray(hidden)[:, [table.columns.get_loc(name) for name in names]]
    for method, fill in fillers.items():
        if method in known:
            continue
        began = CPU()
        filled = fill()
        right = (filled[names] == table[names]).to_numpy()[mask]
        yield {
            "method": method,
            "accuracy": float(right.mean()),
            "seconds": CPU() - began,
        }


def fill_by_boosting(incomplete: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Predict each category from all other columns, as incomplete as they are."""
    inputs = incomplete.astype(dict.fromkeys(names, "category"))
    filled = incomplete[names].copy()
    for name in names:
        seen = incomplete[name].notna()
        others = inputs.drop(columns=name)
        model = HistGradientBoostingClassifier(
            categorical_features="from_dtype", random_state=0
        )
        model.fit(others[seen], incomplete.loc[seen, name].astype(str))
        filled.loc[~seen, name] = model.predict(others[~seen])
    return filled


def measure(folder: Path, out: Path, again: list[str]) -> list[dict[str, Any]]:
    """Measure what is not in the file yet, which is written after each table."""
    cells = json.loads(out.read_text())["cells"] if out.exists() else []
    redone = {*again, *([NOT_ROUNDED] if OURS in again else [])}
    cells = [cell for cell in cells if cell["method"] not in redone]
    jobs = [("numbers", name, m) for m in MECHANISMS for name in (*BUNDLED, *NUMERIC)]
    jobs += [("categories", name, "mcar") for name in CATEGORICAL]
    for kind, name, mechanism in jobs:
        job = {"kind": kind, "table": name, "mechanism": mechanism}
        known = {cell["method"] for cell in cells if job.items() <= cell.items()}
        table = read_table(folder, name, MOST_ROWS[kind])
        if kind == "numbers":
            X = table.select_dtypes("number").to_numpy(dtype=float)
            varying = (np.nanstd(X, axis=0) > 0) & ((~np.isnan(X)).sum(0) > 20)
            scores = score_numbers(X[:, varying], mechanism, known)
        else:
            texts = {c: str for c in table if table[c].dtype == bool}
            scores = score_categories(table.astype(texts), mechanism, known)
        for score in scores:
            print(job, score, flush=True)
            cells.append({**job, **score})
        out.write_text(json.dumps({"cells": cells}, indent=1) + "\n")
    return cells


def summarise(cells: list[dict[str, Any]]) -> str:
    """Return mean ranks, mean errors and times as tables."""
    frame = pd.DataFrame(cells)
    numbers = frame[frame.kind == "numbers"]
    of_job = ["table", "mechanism"]
    texts = []
    for ours, other in ((OURS, NOT_ROUNDED), (NOT_ROUNDED, OURS)):
        some = numbers[numbers.method != other]
        wide = {
            metric: some.pivot(index=of_job, columns="method", values=metric)
            for metric in ("rmse", "mae", "seconds")
        }
        rows = []
        for method in (ours, *reversed(RIVALS)):
            row = [method]
            for metric in ("rmse", "mae"):
                errors = wide[metric]
                ranks = rankdata(errors.to_numpy(), axis=1)
                place = list(errors.columns).index(method)
                row += [f"{ranks[:, place].mean():.2f}", f"{errors[method].mean():.3f}"]
                best = errors.idxmin(axis=1) == method
                row.append(f"{best.sum()}")
            relative = wide["seconds"][method] / wide["seconds"]["chained, ridge"]
            total = wide["seconds"][method].sum()
            row += [f"{total:.0f}", f"{relative.median():.1f}"]
            rows.append(row)
        header = ["", "rank RMSE", "mean", "best", "rank MAE", "mean", "best"]
        header += ["CPU s", "median ratio"]
        texts.append(format_table(header, rows))
        for metric in ("rmse", "mae"):
            # Masks of one table are not independent: means over them.
            means = np.log(wide[metric]).groupby("table").mean()
            for rival in ("chained, ridge", "chained, boosting"):
                p_value = wilcoxon(means[ours], means[rival]).pvalue
                ratio = np.exp((means[ours] - means[rival]).mean())
                texts.append(
                    f"{metric} of {ours} relative to {rival}: {ratio:.3f} "
                    f"(Wilcoxon over {len(means)} tables, p = {p_value:.2g})"
                )
    ranked = numbers[numbers.method != NOT_ROUNDED].copy()
    for metric in ("rmse", "mae"):
        ranked[metric] = ranked.groupby(of_job)[metric].rank()
    by_mechanism = ranked.pivot_table(
        index="method", columns="mechanism", values=["rmse", "mae"]
    )
    texts.append("Mean ranks by mechanism\n" + by_mechanism.round(2).to_string())
    categories = frame[frame.kind == "categories"].pivot(
        index="table", columns="method", values="accuracy"
    )
    level = (categories[OURS] >= categories["boosting"]).sum()
    texts.append("Accuracy of categories\n" + categories.round(3).to_string())
    texts.append(
        f"lacunet is level with boosting or ahead on {level} of {len(categories)}."
    )
    return "\n\n".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LACUNET_DATA"))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--again", nargs="*", default=[])
    parser.add_argument("--only-print", action="store_true")
    options = parser.parse_args()
    if options.only_print:
        cells = json.loads(options.out.read_text())["cells"]
    else:
        if not options.data:
            parser.error("name the folder with the tables, by LACUNET_DATA or --data")
        with threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = measure(Path(options.data), options.out, options.again)
    print(summarise(cells))


if __name__ == "__main__":
    main()
