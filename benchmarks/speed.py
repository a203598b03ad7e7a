"""What fits and predictions cost beside boosted trees: ``python -m benchmarks.speed``.

Made data of 30 columns, 20% of their values missing: the target depends on a threshold,
a sine, a skewed column and a product. All models are at their defaults, on one thread;
times are CPU time, log-losses those of 4,000 other rows, which are one batch. Each fit
has a process of its own, in which all that is imported is there before the clock
starts: the model was fitted to a few rows already. Memory is the peak of the fit above
what the process had before it, with the table. ``--rows 1000000`` takes long.

Each line is written as soon as it is measured, and is not measured again: a run that
was killed goes on where it was.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

import lacunet
from benchmarks.table import append_line, describe_machine, markdown, read_lines, score
from benchmarks.table_methods import METHODS, OURS
from benchmarks.timing import CPU, Effort, threads, time_in_turn

OUT = Path("benchmarks/results/speed.jsonl")
COMPARED = (OURS, "catboost", "hgb")
SIZES = (1_000, 10_000, 100_000)
N_COLUMNS, MISSING, N_TEST, N_WARM_UP = 30, 0.2, 4_000, 200
KEY = ("rows", "method", "label")
MEGABYTE = 2**20
# At most so many times CatBoost's time of a fit and HistGradientBoosting's of one row;
# at least this fraction of the latter's rows a second; at most so much memory.
MOST_FIT, MOST_ROW, LEAST_BATCH = 2.0, 3.0, 0.5
TIMES_TABLE, MORE_MEGABYTES = 4, 300


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the lines that are lacking, and print all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--rows", nargs="+", type=int, default=list(SIZES), metavar="N")
    add("--methods", nargs="+", choices=COMPARED, default=COMPARED, metavar="NAME")
    label = lacunet.__version__
    add("--label", default=label, help=f"what to keep our lines under; {label}")
    add("--out", type=Path, default=OUT, metavar="FILE")
    add("--summary", action="store_true", help="measure nothing, print the summary")
    add("--measure", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    keys = [
        (rows, name, options.label if name == OURS else "")
        for rows, name in product(options.rows, options.methods)
    ]
    known = read_lines(options.out, KEY)
    for key in () if options.summary else keys:
        if not METHODS[key[1]].installed:
            print(f"{key[1]} is left out: it is not installed.", file=sys.stderr)
        elif key not in known:
            line = dict(zip(KEY, key, strict=True))
            append_line(options.out, line | measure_apart(key[1], key[0]))
    known = read_lines(options.out, KEY)
    if lines := [known[key] for key in keys if key in known]:
        print(summarise(lines))


def make_table(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns with six factors in common, classes, and remove values."""
    rng = np.random.RandomState(seed)
    loadings = np.random.RandomState(1).randn(6, N_COLUMNS)
    X = rng.randn(n_rows, 6) @ loadings + 0.7 * rng.randn(n_rows, N_COLUMNS)
    X[:, 2] = np.exp(X[:, 2] / 2)
    scores = X[:, 0] / 2 + 2 * (X[:, 1] > 1) + np.log(X[:, 2]) / 2
    scores += np.sin(X[:, 3]) + 0.1 * X[:, 4] * X[:, 5]
    y = (scores + rng.logistic(size=n_rows) > 0).astype(np.int64)
    X[rng.rand(*X.shape) < MISSING] = np.nan
    return X, y


def measure_apart(name: str, n_rows: int) -> dict[str, Any]:
    """Measure in a process that has made nothing but what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, *make_table(n_rows + N_TEST))
        one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.speed", "--measure", name, path],
            env={**os.environ, **one},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(ended.stdout.splitlines()[-1])


def measure(name: str, path: str) -> dict[str, Any]:
    """Fit a model to all rows of a file but the last, and predict those."""
    X, y = np.load(path).values()
    X, X_test = X[:-N_TEST], X[-N_TEST:]
    y, y_test = y[:-N_TEST], y[-N_TEST:]

    def make() -> Any:
        made = METHODS[name].make("Classifier", [])
        return made if name == OURS else made[-1]  # without what is for words

    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make().fit(X[:N_WARM_UP], y[:N_WARM_UP])
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        model, before = make(), memory("VmRSS")
        begin = CPU()
        model.fit(X, y)
        seconds, beyond = CPU() - begin, memory("VmHWM") - before
        loss, _ = score(y_test, model.predict_proba(X_test))
        batches = {"batch": lambda: model.predict_proba(X_test)}
        batch = time_in_turn(batches, CPU, Effort(5, 1.0, 1))["batch"]
        rows = {"row": lambda: model.predict_proba(X_test[:1])}
        row = time_in_turn(rows, CPU, Effort(101, 1.0, 5))["row"]
    found = {
        "fit_seconds": seconds,
        "log_loss": loss,
        "rows_a_second": N_TEST / median(batch),
        "row_milliseconds": 1e3 * median(row),
        "megabytes_before": before / MEGABYTE,
        "megabytes_beyond": beyond / MEGABYTE,
        "megabytes_of_table": X.size * X.itemsize / MEGABYTE,
    }
    rounded = {name: float(f"{value:.5g}") for name, value in found.items()}
    processor = describe_machine()["processor"]
    return rounded | {"version": METHODS[name].version, "processor": processor}


def memory(name: str) -> int:
    """Return the bytes that the process has (VmRSS), or has had at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    return int(line.split()[1]) * 1024


def summarise(lines: Sequence[dict[str, Any]]) -> str:
    """Return a table with ratios to rivals, and where goals are reached."""
    found = pd.DataFrame(lines)
    rows = found["rows"].map("{:,}".format)

    def relative(figure: str, rival: str) -> pd.Series:
        of_rival = found[found["method"] == rival].set_index("rows")[figure]
        return found[figure] / found["rows"].map(of_rival)

    fit = relative("fit_seconds", "catboost")
    batch, row = (relative(n, "hgb") for n in ("rows_a_second", "row_milliseconds"))
    beyond, table = found["megabytes_beyond"], found["megabytes_of_table"]
    columns = {
        "fit, s": (found["fit_seconds"], 2),
        "to CatBoost": (fit, 2),
        "log-loss": (found["log_loss"], 4),
        "rows/s": (found["rows_a_second"], 0),
        "to HGB": (batch, 2),
        "one row, ms": (found["row_milliseconds"], 2),
        "to HGB ": (row, 2),
        "memory, MB": (beyond, 0),
        "to table": (beyond / table, 1),
    }
    shown = pd.DataFrame(
        {"rows": rows, "method": found["method"] + " " + found["label"]}
        | {name: each.map(f"{{:,.{n}f}}".format) for name, (each, n) in columns.items()}
    )
    goals = {
        f"fit in at most {MOST_FIT} of CatBoost's time": fit <= MOST_FIT,
        f"at least {LEAST_BATCH} of HGB's rows a second": batch >= LEAST_BATCH,
        f"one row in at most {MOST_ROW} of HGB's time": row <= MOST_ROW,
        f"memory of at most {TIMES_TABLE} tables + {MORE_MEGABYTES} MB": beyond
        <= TIMES_TABLE * table + MORE_MEGABYTES,
    }
    ours = found["method"] == OURS
    body = [
        [goal, *("; ".join(rows[ours & side]) or "-" for side in (reached, ~reached))]
        for goal, reached in goals.items()
    ]
    return (
        markdown(list(shown), shown.to_numpy().tolist())
        + "\n\n"
        + markdown(["goal, ours", "reached at rows", "MISSED at rows"], body)
    )


if __name__ == "__main__":
    main()
