"""Coverage of intervals and of sets of classes, whatever is missing.

``python -m benchmarks.intervals --tables FOLDER``, or LACUNET_DATA with a folder
``tables`` in it, as ``benchmarks.more_missing`` takes them.

Models are trained on at most 2,500 rows, as incomplete as they are (two complete sets
without 10% of their values), at their defaults; intervals and sets shall cover 90%. Of
test rows a further 0%, 20%, 50% or 80% of the values are removed, completely at random:
nearly each has a pattern of missing values of its own. In the settings "none", "best",
"three" and "half", all test rows lack the same columns: no further ones, the most
important one by mutual information, the three most important ones, or each second; of
these the coverage of a pattern is known. Methods:

- ours: ``prediction_interval`` or ``prediction_set``;
- split: the same model and calibration rows, but not calibrated by what is missing;
- mean: CP-MDA with mean imputation, the anchor: HistGradientBoosting trained on half of
  the rows, missing values filled with means or the most frequent category; errors of
  the other half, with the same columns masked (those rows that lack no others).

Widths are in standard deviations of the target, sizes of sets in classes. Each result
is appended to a file of JSON lines at once; what is found there is not measured again.
Seeds from 100 on were for choosing; what is committed has others.
"""

import argparse
import itertools
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.more_missing import Data, load, most_informative
from benchmarks.table import append_line, markdown, read_lines
from benchmarks.timing import threads
from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.inspection import prediction_interval, prediction_set
from lacunet.missingness import drop_values

OUT = Path("benchmarks/results/intervals.jsonl")
MADE = ("diabetes", "friedman")
NUMBERS = (*MADE, "ames", "loans", "star", "colleges_usnews")
CLASSES = ("titanic", "hmeq", "support2", "hr_job_change", "flchain", "nhefs")
SETS = (*NUMBERS, *CLASSES)
COVERAGE = 0.9
RATES = (0.0, 0.2, 0.5, 0.8)
PATTERNS = ("none", "best", "three", "half")
SETTINGS = (*(f"{rate:.0%}" for rate in RATES), *PATTERNS)
METHODS = {
    "ours": "ours",
    "split": "split conformal",
    "mean": "CP-MDA, mean imputation",
}
MAX_TRAIN = 2500
MAX_TEST = {"rate": 150, "pattern": 1000}
FEWEST = 200  # test rows of a pattern, to judge it
KEY = ("dataset", "seed", "setting", "method")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, and print the summary of what it then has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    tables = Path(os.environ.get("LACUNET_DATA", "")) / "tables"
    add("--tables", type=Path, default=tables, metavar="FOLDER")
    add("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    add("--seeds", type=int, nargs="+", default=[0, 1], metavar="SEED")
    add("--quick", action="store_true", help="tiny models, to see that it runs")
    add("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args(argv)
    if options.quick and options.out == OUT:
        parser.error("Got --quick without --out, but expected a file of its own.")
    done = set(read_lines(options.out, KEY))
    for seed, name in itertools.product(options.seeds, options.sets):
        wanted = set(itertools.product([name], [seed], SETTINGS, METHODS))
        if wanted <= done:
            continue
        with threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = read(name, options.tables)
            for line in measure(data, seed, done, quick=options.quick):
                append_line(options.out, line)
    print(summarise(pd.DataFrame(read_lines(options.out, KEY).values())))


def read(name: str, folder: Path) -> Data:
    """Return a table; those that are made or complete, without 10% of their values."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        X = drop_values(X, 0.1, random_state=0)
        return Data(name, X, y.to_numpy(), is_classes=False)
    if name == "friedman":  # whose noise grows with a column
        random = np.random.RandomState(0)
        x = random.rand(4000, 10)
        y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
        y += 10 * x[:, 3] + 5 * x[:, 4] + (0.5 + 2 * x[:, 3]) * random.randn(4000)
        X = pd.DataFrame(x).add_prefix("x")
        return Data(name, drop_values(X, 0.1, random_state=0), y, is_classes=False)
    return load(name, folder)


def measure(
    data: Data, seed: int, done: set[Any], *, quick: bool
) -> Iterator[dict[str, Any]]:
    """Yield what is not done of a table and a seed."""
    order = np.random.RandomState(seed).permutation(len(data.y))
    n_train = min(MAX_TRAIN, len(order) // 2)
    X, y = data.X.iloc[order[:n_train]], data.y[order[:n_train]]
    scale = 1.0 if data.is_classes else float(np.std(y))
    network = LacunetClassifier if data.is_classes else LacunetRegressor
    small = {"n_networks": 2, "max_epochs": 2} if quick else {}
    ours = network(random_state=seed, on_unseen_missing="use", **small).fit(X, y)
    anchor = MeanImputed(X, y, is_classes=data.is_classes, seed=seed)
    hidden = choose_columns(X, y, is_classes=data.is_classes)
    for setting in SETTINGS:
        kind = "pattern" if setting in PATTERNS else "rate"
        n_test = 50 if quick else MAX_TEST[kind]
        test = order[n_train : n_train + n_test]
        X_test, y_test = data.X.iloc[test], data.y[test]
        if kind == "rate":
            rate = float(setting.rstrip("%")) / 100
            X_test = drop_values(X_test, rate, random_state=1000 + seed)
        else:
            X_test = X_test.copy()
            for column in hidden[setting]:
                X_test[column] = X_test[column].mask(np.ones(len(X_test), dtype=bool))
        for method in METHODS:
            if (data.name, seed, setting, method) in done:
                continue
            covered, width = {"ours": cover, "split": cover_split}.get(
                method, anchor.cover
            )(ours, X_test, y_test)
            patterns = X_test.notna().groupby([*X_test.columns]).ngroup().to_numpy()
            counts = np.bincount(patterns)
            worst = [
                covered[patterns == p].mean() for p in np.flatnonzero(counts >= FEWEST)
            ]
            yield {
                "dataset": data.name,
                "seed": seed,
                "setting": setting,
                "method": method,
                "task": "classes" if data.is_classes else "numbers",
                "coverage": round(float(covered.mean()), 4),
                "width": round(float(width.mean()) / scale, 4),
                "rows": len(y_test),
                "patterns": len(counts),
                "of_patterns": [round(float(each), 4) for each in worst],
            }


def choose_columns(X: pd.DataFrame, y: np.ndarray, *, is_classes: bool) -> Any:
    """Return the columns that each setting hides."""
    ranked, left = [], X
    for _ in range(3):
        try:
            ranked.append(most_informative(left, y, is_classes=is_classes))
        except ValueError:  # no other column is complete enough
            break
        left = left.drop(columns=ranked[-1])
    return {"none": [], "best": ranked[:1], "three": ranked, "half": [*X.columns[::2]]}


def cover(model: Any, X: pd.DataFrame, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether targets are inside, and how wide intervals or sets are."""
    if isinstance(model, LacunetRegressor):
        low, high = prediction_interval(model, X, COVERAGE)
        return (low <= y) & (y <= high), high - low
    inside = prediction_set(model, X, COVERAGE)
    return inside[np.arange(len(y)), np.searchsorted(model.classes_, y)], inside.sum(1)


def cover_split(
    model: Any, X: pd.DataFrame, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Do the same by one quantile of the errors of calibration rows as they are."""
    kept = model._calibration
    weights = model._network_weights(int(kept.n_folds))

    def of_block(block: torch.Tensor, draws: int) -> torch.Tensor:
        networks = model._networks_of(block, draws)
        return torch.stack([(w[:, None, None] * networks).sum(0) for w in weights])

    by_fold = model._map_rows(kept.x, of_block).numpy()
    known = by_fold[kept.folds.numpy(), np.arange(len(kept.x))]
    if isinstance(model, LacunetRegressor):
        errors = np.abs(model._finish(known) - model._finish(kept.targets.numpy()))
        return inside_interval(model.predict(X), y, errors[:, 0])
    own = known[np.arange(len(known)), kept.targets.numpy()]
    return inside_set(model.predict_proba(X), np.searchsorted(model.classes_, y), own)


class MeanImputed:
    """CP-MDA with mean imputation, before boosted trees."""

    def __init__(
        self, X: pd.DataFrame, y: np.ndarray, *, is_classes: bool, seed: int
    ) -> None:
        is_text = make_column_selector(dtype_exclude="number")
        impute = make_column_transformer(
            (
                make_pipeline(
                    SimpleImputer(strategy="most_frequent", keep_empty_features=True),
                    OrdinalEncoder(
                        handle_unknown="use_encoded_value", unknown_value=-1
                    ),
                ),
                is_text,
            ),
            remainder=SimpleImputer(keep_empty_features=True),
        )
        trees = HistGradientBoostingRegressor(random_state=seed)
        if is_classes:
            trees = HistGradientBoostingClassifier(random_state=seed)
        half = len(y) // 2
        self.X, self.y, self.is_classes = X.iloc[half:], y[half:], is_classes
        self.model = make_pipeline(impute, trees).fit(X.iloc[:half], y[:half])

    def cover(
        self, _: Any, X: pd.DataFrame, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Calibrate each pattern by the rows that lack nothing beyond it."""
        observed = X.notna().to_numpy()
        known = self.X.notna().to_numpy()
        patterns, of_row = np.unique(observed, axis=0, return_inverse=True)
        covered, widths = np.empty(len(y), dtype=bool), np.empty(len(y))
        for number, pattern in enumerate(patterns):
            rows = of_row.ravel() == number
            n_beyond = (pattern & ~known).sum(1)
            exact = n_beyond == 0
            if exact.sum() < 1 / (1 - COVERAGE):  # too few: those that lack least
                exact = n_beyond <= np.sort(n_beyond)[FEWEST]
            masked, targets = self.X[exact].copy(), self.y[exact]
            for column in X.columns[~pattern]:
                masked[column] = masked[column].mask(np.ones(len(masked), dtype=bool))
            if self.is_classes:
                own = self._proba(masked)[np.arange(len(targets)), targets]
                parts = inside_set(self._proba(X[rows]), y[rows], own)
            else:
                errors = np.abs(self.model.predict(masked) - targets)
                parts = inside_interval(self.model.predict(X[rows]), y[rows], errors)
            covered[rows], widths[rows] = parts
        return covered, widths

    def _proba(self, X: pd.DataFrame) -> np.ndarray:
        return np.asarray(self.model.predict_proba(X))


def inside_interval(
    predicted: np.ndarray, y: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    reach = quantile(errors)
    return np.abs(predicted - y) <= reach, np.full(len(y), 2 * reach)


def inside_set(
    probabilities: np.ndarray, y: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    inside = probabilities >= -quantile(-own)
    return inside[np.arange(len(y)), y], inside.sum(1)


def quantile(values: np.ndarray) -> float:
    """Return the value that one more is beyond as rarely as it shall."""
    place = math.ceil((len(values) + 1) * COVERAGE)
    return float(np.sort(values)[place - 1]) if place <= len(values) else np.inf


def summarise(lines: pd.DataFrame) -> str:
    """Return Markdown: coverage and width in the mean over sets, and of patterns."""
    text = []
    for task, of_task in lines.groupby("task", sort=False):
        n_sets, n_seeds = of_task["dataset"].nunique(), of_task["seed"].nunique()
        text.append(f"{task}, {n_sets} tables, {n_seeds} seeds: coverage (width):")
        means = of_task.groupby(["method", "setting"])[["coverage", "width"]].mean()
        body = [
            [
                title,
                *(
                    "{:.3f} ({:.2f})".format(*means.loc[method, setting])
                    for setting in SETTINGS
                ),
            ]
            for method, title in METHODS.items()
        ]
        text.append(markdown(["", *SETTINGS], body))
        body = []
        for method, title in METHODS.items():
            of_method = of_task[of_task["method"] == method]
            each = of_method[of_method["setting"].isin(PATTERNS)]
            each = each[each["of_patterns"].str.len() > 0]
            pooled = each.groupby(["dataset", "setting"])["of_patterns"].agg(
                lambda cells: float(np.mean([np.min(cell) for cell in cells]))
            )
            single = each["of_patterns"].map(min)
            body.append([title, f"{pooled.min():.3f}", f"{single.min():.3f}"])
        text.append(f"The worst pattern with at least {FEWEST} test rows:")
        text.append(markdown(["", "mean over seeds", "one seed"], body))
    return "\n\n".join(text)


if __name__ == "__main__":
    main()
