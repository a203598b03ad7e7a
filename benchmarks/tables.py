"""Compare the estimators with rivals on 43 tables: ``python -m benchmarks.tables``.

The tables: 16 incomplete ones, described by ``tables/MANIFEST.json`` in the folder that
the variable LACUNET_DATA names; the paper's 15, seven of them incomplete, the others
with half of their values removed; and four of scikit-learn's, each with 30% of its
values removed in three ways. All methods are at their defaults, on one thread and in
the same folds. The group "seizures" is one large table with values removed, split by
recordings or by rows.

Each cell, one method on one fold, is written as soon as it is measured, and is not
measured again: a run that was killed goes on where it was. Folds of seed 0 are there to
choose defaults by, those of other seeds to report. ``--methods lacunet --without`` is a
run of ablations: ours with one part of the recipe left out, each beside the whole.
"""

import argparse
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from reproduction.datasets import load_dataset
from scipy.stats import gmean, wilcoxon
from sklearn import datasets
from sklearn.metrics import r2_score, root_mean_squared_error
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

import lacunet
from benchmarks.ablations import WITHOUT
from benchmarks.table import append_line, markdown, read_lines, score
from benchmarks.table_methods import METHODS, OURS, Method
from benchmarks.timing import CPU, threads
from lacunet.missingness import drop_values

OUT = Path("benchmarks/results/tables.jsonl")
N_FOLDS = 5
REAL = (
    "titanic",
    "hmeq",
    "support2",
    "nhefs",
    "hr_job_change",
    "soybean",
    "eucalyptus",
    "cervical",
    "pbc",
    "happiness",
    "flchain",
    "polish_bankruptcy_5y",
    "ames",
    "loans",
    "star",
    "colleges_usnews",
)
NATURAL = (
    "bands",
    "kidney_disease",
    "hepatitis",
    "horse",
    "mammographics",
    "pima",
    "winconsin",
)
COMPLETE = (
    "australian",
    "bank",
    "breast_cancer",
    "crashes",
    "diabetes",
    "fourclass",
    "heart",
    "liver_disorders",
)
# The same rows twice, or nearly: one vote each.
PAIRS = (("pima", "diabetes"), ("winconsin", "breast_cancer"))
BUNDLED = tuple(
    f"{name}-{mechanism}"
    for name in ("breast_cancer", "wine", "digits", "diabetes")
    for mechanism in ("mcar", "mar", "mnar")
)
SEIZURES = tuple(
    f"esr-{kind}-{percentage}"
    for kind in ("recordings", "rows")
    for percentage in (25, 50, 75, 90)
)
GROUPS = {"real": REAL, "paper": (*NATURAL, *COMPLETE), "bundled": BUNDLED}
DEFAULT_GROUPS = list(GROUPS)
GROUPS["seizures"] = SEIZURES
TABLES = tuple(name for group in GROUPS.values() for name in group)
REGRESSIONS = {"ames", "loans", "star", "colleges_usnews"} | {
    name for name in BUNDLED if name.startswith("diabetes")
}
KEY = ["table", "seed", "fold", "method", "label"]
MOST_LACKING = 0.1  # of the tables, for a method among those that have most of them


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the cells that are lacking, and print the summary."""
    options = make_parser().parse_args(argv)
    tables = [name for asked in options.tables for name in GROUPS.get(asked, (asked,))]
    full = options.label[0]
    parts = WITHOUT if options.without == [] else options.without or ()
    ablations = {f"{full}, without {part}": WITHOUT[part] for part in parts}
    if not options.summary:
        jobs = []
        for name, method in choose_methods(options.methods).items():
            # Ours are kept by label, so that variants stand beside each other.
            same = {full: method, **ablations} if name == OURS else {"": method}
            jobs += [(name, label, each) for label, each in same.items()]
        measure(options.out, tables, jobs, options.seeds, range(options.folds))
    cells = read_cells(options.out)
    shown = (
        cells["table"].isin(tables)
        & cells["method"].isin(options.methods)
        & cells["seed"].isin(options.seeds)
        & (cells["fold"] < options.folds)
        & cells["label"].isin(["", *options.label, *ablations])
    )
    cells = whole_seeds(cells[shown], options.folds)
    ablated = cells["label"].isin(ablations)
    print_summary(cells[~ablated], tables, options.methods)
    labels = set(cells.loc[cells["method"] == OURS, "label"])
    if full in labels and len(labels) > 1:
        print_variants(cells, full)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    names = [*GROUPS, *TABLES]
    add("--tables", nargs="+", choices=names, default=DEFAULT_GROUPS, metavar="NAME")
    usual = [name for name in METHODS if name != "mlp"]
    add("--methods", nargs="+", choices=METHODS, default=usual, metavar="NAME")
    add("--seeds", nargs="+", type=int, default=[1], help="of the folds; 1 by default")
    add("--folds", type=int, default=N_FOLDS, help="how many of the five to use")
    add(
        "--label",
        nargs="+",
        default=[lacunet.__version__],
        help="what to keep our cells under, the version by default; those of further "
        "labels are shown beside them",
    )
    add(
        "--without",
        nargs="*",
        choices=WITHOUT,
        metavar="PART",
        help="measure and show ours without these parts of the recipe too, each under "
        f"a label of its own; all without a name: {', '.join(WITHOUT)}",
    )
    add("--out", type=Path, default=OUT, metavar="FILE")
    add("--summary", action="store_true", help="measure nothing, print the summary")
    return parser


def choose_methods(names: Iterable[str]) -> dict[str, Method]:
    """Return the methods that are installed, and report the others."""
    for name in names:
        if not METHODS[name].installed:
            print(f"{name} is left out: {METHODS[name].module} is not installed.")
    return {name: METHODS[name] for name in names if METHODS[name].installed}


@dataclass(frozen=True)
class Table:
    """Columns to predict from, and the target: classes as 0, 1, ... or floats."""

    X: pd.DataFrame
    y: np.ndarray
    task: str
    words: list[str]  # columns of strings
    splitter: Any = None  # what splits it, if not into folds
    groups: np.ndarray | None = None

    def folds(self, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        if self.splitter is not None:
            splits = self.splitter(N_FOLDS, test_size=0.2, random_state=seed)
            return list(splits.split(self.X, self.y, self.groups))
        kind = StratifiedKFold if self.task == "Classifier" else KFold
        folds = kind(N_FOLDS, shuffle=True, random_state=seed)
        return list(folds.split(self.X, self.y))


@cache
def load_table(name: str) -> Table:
    if name in REAL:
        folder = Path(os.environ.get("LACUNET_DATA", "")) / "tables"
        if not folder.exists():
            msg = (
                f"Got no folder {folder}, but expected one with {name}.csv.gz. Name "
                f"the one above it in LACUNET_DATA, or use --tables paper bundled."
            )
            raise FileNotFoundError(msg)
        # Only empty cells are missing: "None" is a category of ames.
        missing = {"keep_default_na": False, "na_values": [""]}
        X = pd.read_csv(folder / f"{name}.csv.gz", low_memory=False, **missing)
        y = X.pop("target").to_numpy()
    elif name in BUNDLED:
        base, _, mechanism = name.partition("-")
        # scikit-learn's default for diabetes is scaled with all rows, test rows too.
        options = {"scaled": False} if base == "diabetes" else {}
        complete, y = getattr(datasets, f"load_{base}")(return_X_y=True, **options)
        complete = complete.astype(np.float64)
        X = pd.DataFrame(drop_values(complete, 0.3, mechanism, random_state=0))
    else:
        base, *setting = name.split("-")  # of the seizures
        data = load_dataset(base)
        y, fraction = data.y, 0.5 if name in COMPLETE else 0.0
        if setting:
            fraction = int(setting[1]) / 100
        hidden = np.random.default_rng(0).random(data.X.shape) < fraction
        X = pd.DataFrame(np.where(hidden, np.nan, data.X))
    X.columns = X.columns.astype(str)
    words = [n for n in X if not pd.api.types.is_numeric_dtype(X[n])]
    if name in REGRESSIONS:
        return Table(X, y.astype(np.float64), "Regressor", words)
    y = np.unique(y, return_inverse=True)[1]
    splitter: tuple[Any, ...] = ()
    if name in SEIZURES:
        by_rows = setting[0] == "rows"
        splitter = (
            (StratifiedShuffleSplit,) if by_rows else (GroupShuffleSplit, data.groups)
        )
    return Table(X, y, "Classifier", words, *splitter)


def read_cells(path: Path) -> pd.DataFrame:
    """Return the cells of a file, of which the last one with a key counts."""
    scores = ["log_loss", "accuracy", "r2", "rmse", "fit_seconds", "predict_seconds"]
    columns = [*KEY, "version", "n_rows", *scores]
    return pd.DataFrame(read_lines(path, KEY).values(), columns=columns)


def measure(
    path: Path,
    tables: Iterable[str],
    jobs: Iterable[tuple[str, str, Method]],
    seeds: Iterable[int],
    folds: Iterable[int],
) -> None:
    """Append the cells that the file lacks, one by one; jobs have names and labels."""
    known = read_lines(path, KEY)
    for seed, (name, label, method), table, fold in product(seeds, jobs, tables, folds):
        key = (table, seed, fold, name, label)
        too_long = method.most_rows and len(load_table(table).y) > method.most_rows
        if key in known or too_long:
            continue
        cell = dict(zip(KEY, key, strict=True)) | {"version": method.version}
        append_line(path, cell | measure_cell(method, load_table(table), seed, fold))


def measure_cell(method: Method, table: Table, seed: int, fold: int) -> dict[str, Any]:
    """Fit on the other folds, predict this one, and return scores and CPU seconds."""
    train, test = table.folds(seed)[fold]
    X, y = table.X.iloc[train].reset_index(drop=True), table.y[train]
    X_test, y_test = table.X.iloc[test].reset_index(drop=True), table.y[test]
    classifies = table.task == "Classifier"
    model = method.make(table.task, table.words)
    with threads(1), warnings.catch_warnings(), method.change():
        # At their defaults some warn that they do not converge; the scores show it.
        warnings.simplefilter("ignore")
        begin = CPU()
        model.fit(X, y)
        fitted = CPU()
        predict = model.predict_proba if classifies else model.predict
        predicted = np.asarray(predict(X_test), dtype=np.float64)
        end = CPU()
    if classifies:
        loss, accuracy = score(y_test, predicted)
        scores = {"log_loss": loss, "accuracy": accuracy}
    else:
        rmse = root_mean_squared_error(y_test, predicted)
        scores = {"r2": r2_score(y_test, predicted), "rmse": rmse}
    scores |= {"fit_seconds": fitted - begin, "predict_seconds": end - fitted}
    rounded = {name: float(f"{value:.7g}") for name, value in scores.items()}
    return {"n_rows": len(y), **rounded}


def whole_seeds(cells: pd.DataFrame, n_folds: int) -> pd.DataFrame:
    """Return the cells of seeds of which all folds are there, with titles.

    The title is the name of the method, with the label of ours.
    """
    titles = (cells["method"] + " " + cells["label"]).str.strip()
    cells = cells.assign(title=titles)
    found = cells.groupby(["table", "title", "seed"])["fold"].transform("count")
    return cells[found == n_folds]


def main_scores(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean log-loss, or R2 of regressions, by table and method; NaN if none."""
    both = cells["log_loss"].fillna(cells["r2"])
    means = both.groupby([cells["table"], cells["title"]]).mean().unstack()
    order = [title for name in METHODS for title in means if title.split()[0] == name]
    return means.loc[[name for name in TABLES if name in means.index], order]


def family(table: str) -> str:
    """Return a name that tables of the same rows have in common."""
    for pair in PAIRS:
        if table in pair:
            return "/".join(pair)
    return table.partition("-")[0] + (" (bundled)" if table in BUNDLED else "")


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    """Rank methods on each table, and average; tables of the same rows count once."""
    signs = [-1 if table in REGRESSIONS else 1 for table in scores.index]
    ranks = scores.mul(signs, axis=0).rank(axis=1)
    return ranks.groupby(family).mean().mean().sort_values()


def compare_with_catboost(ours: str, scores: pd.DataFrame) -> str:
    """Return what a signed-rank test over the tables that both have shows."""
    both = scores[[ours, "catboost"]].dropna()
    signs = [1 if table in REGRESSIONS else -1 for table in both.index]
    gains = ((both[ours] - both["catboost"]) * signs).groupby(family).mean()
    p_value = wilcoxon(gains).pvalue if gains.any() else 1.0
    return (
        f"{ours} against CatBoost on {len(gains)} tables: better on "
        f"{(gains > 0).sum()}, worse on {(gains < 0).sum()}, median gain "
        f"{gains.median():+.4f}, two-sided Wilcoxon signed-rank test p = {p_value:.3f}"
    )


def print_summary(
    cells: pd.DataFrame, tables: Sequence[str], methods: Sequence[str]
) -> None:
    """Print ranks, tests, scores, times, and which cells are lacking."""
    scores = main_scores(cells)
    print("\n## Mean ranks by log-loss or R2\n\nTables of the same rows count once.")
    real = scores[scores.index.isin(REAL)]
    for title, chosen in (("all", scores), ("the 16 incomplete", real)):
        # Methods that lack few of these tables; then all methods on what they all have.
        common = chosen.loc[:, chosen.isna().mean() <= MOST_LACKING]
        rankings = [common.dropna(), chosen.dropna()]
        same = rankings[0].shape == rankings[1].shape
        for ranked in rankings[:1] if same else rankings:
            if ranked.size:
                print(f"\nOn {len(ranked)} of {title} tables:\n")
                ranks = mean_ranks(ranked).items()
                rows = [[full_name(name), f"{rank:.2f}"] for name, rank in ranks]
                print(markdown(["method", "mean rank"], rows))
        for name in chosen if "catboost" in chosen else ():
            if name.startswith(OURS) and len(chosen[[name, "catboost"]].dropna()):
                print(f"\n{compare_with_catboost(name, chosen)}")
    print("\n## Each table\n\nLog-loss, of regressions R2; the best with a star.\n")
    rows = [score_row(table, row) for table, row in scores.iterrows()]
    print(markdown(["table", *scores], rows))
    print_times(cells, scores)
    print_lacking(cells, tables, methods)


def full_name(title: str) -> str:
    """Return the name of a rival, or ours with its label."""
    return title if title.startswith(OURS) else METHODS[title].title


def score_row(table: str, row: pd.Series) -> list[str]:
    best = row.max() if table in REGRESSIONS else row.min()
    cells = [f"{value:.4f}{'*' if value == best else ' '}" for value in row]
    return [table, *("-" if cell == "nan " else cell for cell in cells)]


def print_times(cells: pd.DataFrame, scores: pd.DataFrame) -> None:
    """Print seconds of fits, and ratios over the tables shared with CatBoost."""
    print("\n## CPU seconds of a fit, and ratios to CatBoost's\n")
    by_table = cells.groupby(["table", "title"])
    fit, predict = (
        by_table[name].mean().unstack().reindex_like(scores).where(scores.notna())
        for name in ("fit_seconds", "predict_seconds")
    )
    n_rows = cells.groupby("table")["n_rows"].max()
    rows = [
        [table, str(n_rows[table]), *("-" if np.isnan(s) else f"{s:.2f}" for s in row)]
        for table, row in fit.iterrows()
    ]
    print(markdown(["table", "rows", *scores], rows))
    if "catboost" in scores:
        rows = []
        for name in scores:
            ratio = (fit[name] / fit["catboost"]).dropna()
            other = (predict[name] / predict["catboost"]).dropna()
            if len(ratio):
                values = (gmean(ratio), ratio.max(), gmean(other))
                rows.append([name, *(f"{v:.3g}" for v in values), str(len(ratio))])
        print("\nGeometric means over tables:\n")
        print(markdown(["method", "fit", "largest", "predict", "tables"], rows))


def print_variants(cells: pd.DataFrame, full: str) -> None:
    """Print errors and times of ours under other labels, relative to the first."""
    print("\n## Variants of ours\n\nGeometric means of log-loss or 1 - R2, and of CPU")
    print(
        f"seconds of a fit, relative to {full}; tables of the same rows count once.\n"
    )
    ours = cells[cells["method"] == OURS]
    error = ours["log_loss"].fillna(1 - ours["r2"])
    errors, seconds = (
        np.log(values.groupby([ours[key] for key in ("table", "seed", "label")]).mean())
        .unstack()
        .pipe(lambda logs: logs.sub(logs[full], axis=0))
        .groupby(lambda place: family(place[0]))
        .mean()
        for values in (error, ours["fit_seconds"])
    )
    rows = []
    for label in errors.drop(columns=full):
        ratios, times = errors[label].dropna(), seconds[label].dropna()
        counts = (len(ratios), (ratios < 0).sum(), (ratios > 0).sum())
        means = (f"{np.exp(logs.mean()):.4f}" for logs in (ratios, times))
        rows.append([label, *means, *map(str, counts)])
    header = ["label", "error", "fit", "tables", "better", "worse"]
    print(markdown(header, sorted(rows, key=lambda row: row[1], reverse=True)))


def print_lacking(
    cells: pd.DataFrame, tables: Sequence[str], methods: Sequence[str]
) -> None:
    print("\n## Missing cells\n")
    lines = []
    seeds = set(cells["seed"])
    titles = dict.fromkeys(cells["title"])
    unseen = [name for name in methods if name not in set(cells["method"])]
    for title in (*titles, *unseen):
        own = cells[cells["title"] == title]
        lacking = [name for name in tables if name not in set(own["table"])]
        if lacking:
            which = ", ".join(lacking) if len(own) else "all"
            lines.append(f"- {title}: {len(lacking)} tables: {which}")
        for seed in sorted(seeds):
            others = set(own["table"]) - set(own.loc[own["seed"] == seed, "table"])
            if others:
                lines.append(f"- {title}: seed {seed} of {len(others)} other tables")
        if len(states := set(own["version"])) > 1:
            lines.append(f"- {title}: measured with {len(states)} states of the code")
    print("\n".join(lines) or "None.")


if __name__ == "__main__":
    main()
