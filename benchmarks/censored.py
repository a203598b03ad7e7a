"""Values below a detection limit: bounds against what is put in their place.

``LACUNET_DATA=FOLDER python -m benchmarks.censored``, with a folder ``tables`` in it as
``benchmarks.more_missing`` has it. Without, only the sets that come with scikit-learn
are measured.

Of each table, the five positive columns that tell most of the target are censored at
the 30% quantile of their training values: below it, nothing but that limit is known.
Nothing is fitted on test rows.

- bias: mean and standard deviation of each such column, in units of its own, from
  ``LacunetImputer`` (its fills, and one draw), and with half of the limit, the limit
  over the root of two, or nothing in place of the censored values.
- prediction: log-loss, or 1 - R2, of ``LacunetClassifier`` and ``LacunetRegressor`` at
  their defaults, given the bounds, or the same three instead.

Seeds 100 and above were used while it was written; those that are reported are others.
What the file has is not measured again, except after ``--again``.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets as bundled
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from benchmarks.more_missing import Data, load
from benchmarks.table import digest_source, markdown, score
from benchmarks.timing import threads
from lacunet import LacunetClassifier, LacunetImputer, LacunetRegressor

OUT = Path("benchmarks/results/censored.json")
BUNDLED = ("breast_cancer", "wine", "diabetes")
TABLES = ("pbc", "nhefs", "support2", "flchain", "hmeq", "colleges_usnews")
SETS = (*BUNDLED, *TABLES)
QUANTILE = 0.3
N_COLUMNS = 5
MAX_ROWS = 1000  # of training, and as many of test
SEEDS = (0, 1, 2)
MORE_SEEDS = tuple(range(10))  # of the bundled sets, whose scores vary most
METHODS = {
    "bounds": "bounds",
    "half": "limit / 2",
    "root": "limit / √2",
    "missing": "missing",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, and print the summary of what it then has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    add("--seeds", nargs="+", type=int, metavar="N", help="default: 3, 10 of bundled")
    add("--again", nargs="+", choices=METHODS, default=[], metavar="METHOD")
    add("--quick", action="store_true", help="tiny models, to see that it runs")
    add("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args(argv)
    if options.quick and options.out == OUT:
        parser.error("Got --quick without --out, but expected a file of its own.")
    folder = Path(os.environ.get("LACUNET_DATA", "")) / "tables"
    names = options.sets
    if not (folder / "MANIFEST.json").exists():
        print("Bundled sets only: no folder of tables was found.", file=sys.stderr)
        names = [name for name in names if name in BUNDLED]
    lines = json.loads(options.out.read_text()) if options.out.exists() else []
    lines = [line for line in lines if line["method"] not in options.again]
    done = {(line["dataset"], line["seed"], line["method"]) for line in lines}
    for seed in options.seeds or MORE_SEEDS:  # cut short, it has all sets
        for name in names:
            if not options.seeds and name not in BUNDLED and seed not in SEEDS:
                continue
            lacking = [m for m in METHODS if (name, seed, m) not in done]
            if not lacking:
                continue
            data = load_set(name, folder)
            lines += measure(data, seed, lacking, quick=options.quick)
            text = ",\n".join(json.dumps(line) for line in lines)
            options.out.write_text(f"[\n{text}\n]\n")
    print(summarise(pd.DataFrame(lines)))


def load_set(name: str, folder: Path) -> Data:
    """Return a table; of those that come with scikit-learn, in their own units."""
    if name not in BUNDLED:
        return load(name, folder)
    options = {"scaled": False} if name == "diabetes" else {}
    read = getattr(bundled, f"load_{name}")
    X, y = read(return_X_y=True, as_frame=True, **options)
    return Data(name, X, y.to_numpy(), is_classes=name != "diabetes")


def measure(
    data: Data, seed: int, methods: Sequence[str], *, quick: bool
) -> list[dict[str, Any]]:
    """Return a line for each method: its score, and the bias of each column."""
    stratify = data.y if data.is_classes else None
    rows = train_test_split(
        np.arange(len(data.y)), test_size=0.3, stratify=stratify, random_state=seed
    )
    train, test = (some[:MAX_ROWS] for some in rows)
    X, y, X_test, y_test = (
        data.X.iloc[train],
        data.y[train],
        *(
            data.X.iloc[test],
            data.y[test],
        ),
    )
    columns = informative(X, y, is_classes=data.is_classes)
    limits = X[columns].quantile(QUANTILE)
    lines = []
    for method in methods:
        given, upper = censor(X, limits, method)
        given_test, upper_test = censor(X_test, limits, method)
        small = {"n_networks": 2, "max_epochs": 2} if quick else {}
        network = LacunetClassifier if data.is_classes else LacunetRegressor
        model = network(random_state=seed, **small)
        with threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant columns
            model.fit(given, y, upper=upper)
            if data.is_classes:
                predicted = model.predict_proba(given_test, upper=upper_test)
                value, _ = score(y_test, predicted)
            else:
                value = 1 - r2_score(
                    y_test, model.predict(given_test, upper=upper_test)
                )
            bias = find_bias(X, given, upper, columns, seed)
        line = {"dataset": data.name, "seed": seed, "method": method}
        line["metric"] = "log-loss" if data.is_classes else "1 - R2"
        line |= {"score": round(value, 5), "bias": bias, "source": digest_source()}
        lines.append(line)
        print(line, file=sys.stderr)
    return lines


def informative(X: pd.DataFrame, y: np.ndarray, *, is_classes: bool) -> list[str]:
    """Return the positive columns of many values that tell most of the target."""
    information = mutual_info_classif if is_classes else mutual_info_regression
    found = {}
    for name, values in X.items():
        known = values.notna().to_numpy()
        if not pd.api.types.is_numeric_dtype(values) or known.mean() < 0.8:
            continue
        numbers = values.to_numpy(dtype=np.float64)[known]
        if numbers.min() <= 0 or len(np.unique(numbers)) < 20:
            continue
        found[name] = information(numbers[:, None], y[known], random_state=0)[0]
    return sorted(found, key=found.__getitem__, reverse=True)[:N_COLUMNS]


def censor(
    X: pd.DataFrame, limits: pd.Series, method: str
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Return the table as a method gets it, and upper bounds if it takes them."""
    factor = {"half": 0.5, "root": 0.5**0.5}.get(method, np.nan)
    below = X[limits.index] < limits
    given = X.copy()
    given[limits.index] = (
        X[limits.index].astype(float).mask(below, limits * factor, axis=1)
    )
    if method != "bounds":
        return given, None
    upper = pd.DataFrame(np.nan, X.index, X.columns)
    upper[limits.index] = upper[limits.index].mask(below, limits, axis=1)
    return given, upper


def find_bias(
    X: pd.DataFrame,
    given: pd.DataFrame,
    upper: pd.DataFrame | None,
    columns: Sequence[str],
    seed: int,
) -> dict[str, tuple[float, float]]:
    """Return the errors of mean and standard deviation, in standard deviations."""
    filled = drawn = given
    if upper is not None:
        imputer = LacunetImputer(random_state=seed).fit(given, upper=upper)
        filled = imputer.transform(given, upper=upper)
        [drawn] = imputer.sample_imputations(given, 1, upper=upper)
    found = {}
    for name in columns:
        known = X[name].notna()  # what was missing before is no part of it
        true = X.loc[known, name]
        mean = filled.loc[known, name].mean() - true.mean()
        std = drawn.loc[known, name].std() - true.std()
        found[name] = tuple(round(float(x / true.std()), 4) for x in (mean, std))
    return found


def summarise(lines: pd.DataFrame) -> str:
    """Return Markdown: bias over all columns, then scores by set."""
    text = []
    counts = lines.groupby("dataset")["seed"].nunique()
    seeds = " to ".join(str(n) for n in sorted({counts.min(), counts.max()}))
    errors = {
        method: np.abs([pair for bias in of["bias"] for pair in bias.values()])
        for method, of in lines.groupby("method")
    }
    names = [method for method in METHODS if method in errors]
    n_columns = len(
        {(d, c) for d, b in lines[["dataset", "bias"]].to_numpy() for c in b}
    )
    text.append(
        f"Mean absolute error of means and standard deviations of {n_columns} columns, "
        f"{seeds} seeds, in standard deviations:"
    )
    rows = [[METHODS[m], *(f"{x:.3f}" for x in errors[m].mean(0))] for m in names]
    text.append(markdown(["method", "mean", "standard deviation"], rows))
    scores = lines.pivot_table(index="dataset", columns="method", values="score")
    scores = scores[names].reindex([name for name in SETS if name in scores.index])
    best = scores.eq(scores.min(axis=1), axis=0)
    rows = [
        [
            name,
            *(
                f"{x:.4f}{'*' if b else ' '}"
                for x, b in zip(row, best.loc[name], strict=True)
            ),
        ]
        for name, row in scores.iterrows()
    ]
    rows.append(["mean", *(f"{x:.4f}" for x in scores.mean())])
    logs = np.log(scores).sub(np.log(scores[names[0]]), axis=0)
    ratios = zip(np.exp(logs.mean()), logs.sem(), strict=True)
    shown = [f"{ratio:.3f} ± {error:.3f}" for ratio, error in ratios]
    rows.append([f"ratio to {METHODS[names[0]]}", "1", *shown[1:]])
    text.append(
        f"Log-loss or 1 - R2, {seeds} seeds, the best with a star; ratios are "
        f"geometric means over tables, with their standard errors:"
    )
    text.append(markdown(["table", *(METHODS[m] for m in names)], rows))
    return "\n\n".join(text)


if __name__ == "__main__":
    main()
