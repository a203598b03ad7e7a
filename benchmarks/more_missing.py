"""Values that are missing only at prediction, or more often than in training.

``python -m benchmarks.more_missing --tables FOLDER``, or LACUNET_DATA with a folder
``tables`` in it: compressed CSV files with a column ``target``, beside a MANIFEST.json
that has the task, the source and the SHA-256 of each. Without, only the sets that come
with scikit-learn are measured.

Models are trained on rows of which a further 10% of the values were removed, completely
at random, and predict rows without 10%, 50% and 80% of theirs. In the setting "column",
the most informative column is always observed in training and is missing as a whole at
prediction; of the others, 10% are missing in both. Nothing is fitted on test rows.

Each score is appended to a file of JSON lines at once. What is found there is not
measured again, except for the methods after ``--again``: after a change of lacunet's
recipe, ``--again lacunet lacunet-expectation lacunet-sample``.
"""

import argparse
import hashlib
import itertools
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets as bundled
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import resample

from benchmarks.table import append_line, digest_source, read_lines, score
from benchmarks.timing import threads
from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.baselines import BoostedClassifier, BoostedRegressor, mean_indicator
from lacunet.missingness import drop_values

OUT = Path("benchmarks/results/more_missing.jsonl")
BUNDLED = {
    "breast_cancer": bundled.load_breast_cancer,
    "diabetes": bundled.load_diabetes,
}
# All tables with at most 6,000 rows and 60 columns: larger ones take too long.
TABLES = (
    "titanic",
    "hmeq",
    "nhefs",
    "soybean",
    "eucalyptus",
    "cervical",
    "pbc",
    "colleges_usnews",
)
SETS = (*BUNDLED, *TABLES)
# 19 classes and 35 categorical columns: a fit had not ended after 8 CPU minutes.
TOO_SLOW = {("soybean", "catboost")}
TRAINED_WITHOUT = 0.1
RATES = (0.1, 0.5, 0.8)
SETTINGS = (*(f"{rate:.0%}" for rate in RATES), "column")
N_SEEDS = 3
MAX_TRAIN = 2000
TITLES = {
    "lacunet": "lacunet",
    "lacunet-expectation": 'lacunet, `propagate="expectation"`',
    "lacunet-sample": 'lacunet, `propagate="sample"`',
    "catboost": "CatBoost",
    "hgb": "HistGradientBoosting",
    "linear": "mean + indicator, logistic or ridge",
    "prior": "prior",
}
KEY = ("dataset", "seed", "setting", "method")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, and print the summary of what it then has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    tables = Path(os.environ.get("LACUNET_DATA", "")) / "tables"
    add("--tables", type=Path, default=tables, metavar="FOLDER")
    add("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    add("--seeds", type=int, default=N_SEEDS, metavar="N")
    add("--again", nargs="+", choices=TITLES, default=[], metavar="METHOD")
    add("--quick", action="store_true", help="tiny models, to see that it runs")
    add("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args(argv)
    if options.quick and options.out == OUT:
        parser.error("Got --quick without --out, but expected a file of its own.")
    methods = [name for name in TITLES if name != "catboost" or find_spec("catboost")]
    if "catboost" not in methods:
        print("CatBoost is left out: it is not installed.", file=sys.stderr)
    names = options.sets
    if not (options.tables / "MANIFEST.json").exists():
        print("Bundled sets only: no folder of tables was found.", file=sys.stderr)
        names = [name for name in names if name in BUNDLED]
    done = {k for k in read_lines(options.out, KEY) if k[-1] not in options.again}
    # A run that is cut short has all sets with fewer seeds.
    for seed, name in itertools.product(range(options.seeds), names):
        data = load(name, options.tables)
        for line in measure(data, seed, methods, done, quick=options.quick):
            append_line(options.out, line)
    print(summarise(pd.DataFrame(read_lines(options.out, KEY).values())))


@dataclass(frozen=True)
class Data:
    """A table and its target: codes of classes, or numbers."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    is_classes: bool


def load(name: str, folder: Path) -> Data:
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True, as_frame=True)
        return Data(name, X, y.to_numpy(), is_classes=name != "diabetes")
    manifest = json.loads((folder / "MANIFEST.json").read_text("utf-8"))
    entry = next(entry for entry in manifest if entry["name"] == name)
    path = folder / f"{name}.csv.gz"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != entry["sha256"]:
        msg = f"Got SHA-256 {digest} of {path.name}, but expected {entry['sha256']}."
        raise ValueError(msg)
    X = pd.read_csv(path)
    y = X.pop("target").to_numpy()
    is_classes = entry["task"] == "classification"
    return Data(name, X, pd.factorize(y, sort=True)[0] if is_classes else y, is_classes)


def measure(
    data: Data, seed: int, methods: Sequence[str], done: set[Any], *, quick: bool
) -> Iterator[dict[str, Any]]:
    """Yield the scores that are not done; all ways of lacunet take one fit."""
    for X, y, tests, y_test in scenarios(data, seed):
        model, fitted = None, None
        for method, setting in itertools.product(methods, tests):
            key = (data.name, seed, setting, method)
            if key in done or (data.name, method) in TOO_SLOW:
                continue
            base, _, sample = method.partition("-")
            with threads(1), warnings.catch_warnings():
                # Of values not missing in training, and of constant columns.
                warnings.simplefilter("ignore")
                if fitted != base:
                    model, fitted = make(base, data.is_classes, seed, quick), base
                    model.fit(X, y)
                if base == "lacunet":
                    model.set_params(propagate=sample or "auto")
                if data.is_classes:
                    value, _ = score(y_test, model.predict_proba(tests[setting]))
                else:
                    value = r2_score(y_test, model.predict(tests[setting]))
            package = base if base in ("lacunet", "catboost") else "scikit-learn"
            source = f", source {digest_source()}" if base == "lacunet" else ""
            yield {
                "dataset": data.name,
                "seed": seed,
                "setting": setting,
                "method": method,
                "metric": "log-loss" if data.is_classes else "R2",
                "score": round(value, 5),
                "with": f"{package} {version(package)}{source}",
            }


def scenarios(data: Data, seed: int) -> Iterator[tuple[Any, Any, dict[str, Any], Any]]:
    """Yield training rows and test rows by setting: of all rates, then of the column.

    Each with its target: X, y, {setting: X_test}, y_test.
    """
    X, X_test, y, y_test = train_test_split(
        data.X,
        data.y,
        test_size=0.3,
        stratify=data.y if data.is_classes else None,
        random_state=seed,
    )
    X, y = resample(
        X,
        y,
        replace=False,
        n_samples=min(len(y), MAX_TRAIN),
        stratify=y if data.is_classes else None,
        random_state=seed,
    )
    of_train, of_test = seed, 1000 + seed
    tests = {
        f"{rate:.0%}": drop_values(X_test, rate, random_state=of_test) for rate in RATES
    }
    yield drop_values(X, TRAINED_WITHOUT, random_state=of_train), y, tests, y_test

    column = most_informative(X, y, is_classes=data.is_classes)
    others = [name for name in X.columns if name != column]
    X = drop_values(X, TRAINED_WITHOUT, columns=others, random_state=of_train)
    X_test = drop_values(X_test, TRAINED_WITHOUT, columns=others, random_state=of_test)
    X_test[column] = X_test[column].mask(np.ones(len(X_test), dtype=bool))
    known = X[column].notna().to_numpy()
    yield X[known], y[known], {"column": X_test}, y_test


def most_informative(X: pd.DataFrame, y: np.ndarray, *, is_classes: bool) -> str:
    """Return the column with the highest mutual information with the target.

    Of those with at least 90% of their values, and values in rows of every class.
    """
    information = mutual_info_classif if is_classes else mutual_info_regression
    found = {}
    for name, values in X.items():
        known = values.notna().to_numpy()
        lacks_class = is_classes and len(np.unique(y[known])) < len(np.unique(y))
        if known.mean() < 0.9 or lacks_class:
            continue
        is_text = not pd.api.types.is_numeric_dtype(values)
        numbers = pd.factorize(values)[0] if is_text else values.to_numpy()
        found[name] = information(
            numbers[known, None], y[known], discrete_features=is_text, random_state=0
        )[0]
    return max(found, key=found.__getitem__)


def make(method: str, is_classes: bool, seed: int, quick: bool) -> Any:
    """Return a model at its defaults, not fitted."""
    if method == "lacunet":
        small = {"n_networks": 2, "max_epochs": 2, "hidden_layer_sizes": (8,)}
        network = LacunetClassifier if is_classes else LacunetRegressor
        return network(random_state=seed, **(small if quick else {}))
    if method in ("catboost", "hgb"):
        small = {"iterations" if method == "catboost" else "max_iter": 5}
        boosted = BoostedClassifier if is_classes else BoostedRegressor
        parameters = small if quick else None
        return boosted(method, parameters=parameters, n_jobs=1, random_state=seed)
    if method == "linear":
        linear = LogisticRegression(max_iter=1000) if is_classes else Ridge()
        return mean_indicator(estimator=linear)
    return DummyClassifier(strategy="prior") if is_classes else DummyRegressor()


def summarise(lines: pd.DataFrame) -> str:
    """Return Markdown: means over sets, with the sets won, then the sets themselves.

    Where a method lacks a set, means are given over the sets that all methods have, and
    over all sets for the methods that have them all.
    """
    text, n_seeds = [], lines["seed"].nunique()
    for metric, of_metric in lines.groupby("metric", sort=False):
        scores = of_metric.pivot_table(  # (sets, settings and methods), over seeds
            index="dataset", columns=["setting", "method"], values="score"
        ).reindex(columns=[*itertools.product(SETTINGS, TITLES)])
        scores = scores.dropna(axis=1, how="all")
        whole = [scores.dropna(axis=0), scores.dropna(axis=1)]
        for part in whole if scores.isna().any(axis=None) else whole[:1]:
            cells = {
                setting: part[setting].mean().map("{:.3f}".format)
                + find_best(part[setting], metric).sum().map(" ({})".format)
                for setting in SETTINGS
            }
            table = pd.DataFrame(cells).reindex(part[SETTINGS[0]].columns)
            text.append(
                f"Mean {metric} of {len(part)} sets, {n_seeds} seeds (sets won):"
            )
            text.append(markdown(table.rename(TITLES)))
        for setting in SETTINGS:
            shown = scores[setting].map("{:.3f}".format, na_action="ignore")
            best = find_best(scores[setting], metric)
            shown = shown.mask(best, "**" + shown + "**").fillna("-")
            text.append(f"{metric}, {setting} missing at prediction:")
            text.append(markdown(shown))
    return "\n\n".join(text)


def find_best(scores: pd.DataFrame, metric: str) -> pd.DataFrame:
    best = scores.min(axis=1) if metric == "log-loss" else scores.max(axis=1)
    return scores.eq(best, axis=0)


def markdown(table: pd.DataFrame) -> str:
    header = [str(table.index.name), *table.columns]
    rule = ["---", *("---:" for _ in table.columns)]
    rows = [header, rule, *table.itertuples()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
