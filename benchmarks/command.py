"""What the commands for one's own table cost: time, and peak memory of the process.

python -m benchmarks.command [--part start csv parquet fit] [--small]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table import write_part
from lacunet.baselines import BoostedClassifier
from lacunet.tables import predict_rows

OUT = Path("benchmarks/results/command.json")
MEGABYTE = 2**20
QUICK = ("--no-refit", "--quiet")
# A process that imports all that the command needs, reports its memory, and runs it.
CHILD = """
import json, resource, sys, time
import lacunet.cli._main, lacunet.evaluation, lacunet.report, lacunet.tables, lacunet
from lacunet import LacunetClassifier, load


def memory(name):
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith(name)]
    return int(line.split()[1]) * 1024

before, begin = memory("VmRSS"), time.perf_counter()
try:
    lacunet.cli._main.lacunet(sys.argv[1:])
except SystemExit as end:
    code = end.code
usage = {"before": before, "peak": memory("VmHWM"), "code": code}
usage["seconds"] = time.perf_counter() - begin
print(json.dumps(usage), file=sys.stderr)
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, print it and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--small", action="store_true", help="to see that it runs")
    options = parser.parse_args(argv)
    for part in options.part:
        with tempfile.TemporaryDirectory() as folder:
            found = PARTS[part](Path(folder), options.small)
        print(json.dumps({part: found}, indent=2), flush=True)
        if not options.small:
            write_part(part, found, OUT)


def run(*arguments: object) -> dict[str, Any]:
    """Run the command in a process of its own, and return time and memory."""
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    usage = json.loads(ended.stderr.splitlines()[-1])
    if usage.pop("code"):
        raise RuntimeError(ended.stderr)
    return {
        "seconds": round(usage["seconds"], 1),
        "megabytes_before": round(usage["before"] / MEGABYTE),
        "megabytes_above": round((usage["peak"] - usage["before"]) / MEGABYTE),
    }


def make_rows(n_rows: int, n_columns: int, seed: int) -> pd.DataFrame:
    """Return rows that depend on each other, a fifth of the cells missing."""
    stream = np.random.default_rng(seed)
    hidden = stream.normal(size=(n_rows, 3))
    loadings = np.random.default_rng(0).normal(size=(3, n_columns))
    X = hidden @ loadings + stream.normal(size=(n_rows, n_columns))
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(n_columns)])
    table[stream.random(table.shape) < 0.2] = np.nan
    table["y"] = np.where(hidden[:, 0] + hidden[:, 1] ** 2 > 1, "yes", "no")
    return table


def measure_fit(folder: Path, small: bool) -> dict[str, Any]:
    """Measure ``lacunet fit`` on 100000 rows of 30 columns."""
    n_rows, n_columns = (2_000 if small else 100_000), 30
    make_rows(n_rows, n_columns, 1).to_csv(folder / "t.csv", index=False)
    usage = run("fit", folder / "t.csv", "--target", "y", "-o", folder / "m")
    return {"rows": n_rows, "columns": n_columns, **usage}


def measure_csv(folder: Path, small: bool) -> dict[str, Any]:
    """Measure ``lacunet predict`` on a CSV file, and pandas with boosted trees."""
    n_rows, n_columns = (5_000 if small else 100_000), 30
    train = make_rows(20_000, n_columns, 1)
    train.to_parquet(folder / "train.parquet")
    make_rows(n_rows, n_columns, 2).drop(columns="y").to_csv(
        folder / "new.csv", index=False, float_format="%.4f"
    )
    run("fit", folder / "train.parquet", "--target", "y", "-o", folder / "m", *QUICK)
    usages = []
    boosted = []
    model = BoostedClassifier("hgb", random_state=0).fit(
        train.drop(columns="y"), train["y"]
    )
    for number in range(1 if small else 3):  # by turns: the machine may be busy
        out = folder / f"out-{number}.csv"
        usages.append(run("predict", folder / "m", folder / "new.csv", "-o", out))
        begin = time.perf_counter()
        rows = predict_rows(model, pd.read_csv(folder / "new.csv"))
        rows.to_csv(folder / "boosted.csv", index=False)
        boosted.append(time.perf_counter() - begin)
    usage = sorted(usages, key=lambda each: each["seconds"])[len(usages) // 2]
    seconds = sorted(boosted)[len(boosted) // 2]
    return {
        "rows": n_rows,
        "columns": n_columns,
        **usage,
        "rows_a_second": round(n_rows / usage["seconds"]),
        "pandas_and_hgb_rows_a_second": round(n_rows / seconds),
        "ratio": round(seconds / usage["seconds"], 2),
    }


def measure_parquet(folder: Path, small: bool) -> dict[str, Any]:
    """Measure ``lacunet predict`` on 5 million rows of Parquet."""
    n_rows, n_columns = (50_000 if small else 5_000_000), 10
    make_rows(20_000, n_columns, 1).to_parquet(folder / "train.parquet")
    path, writer = folder / "new.parquet", None
    for number, start in enumerate(range(0, n_rows, 250_000)):
        rows = make_rows(min(250_000, n_rows - start), n_columns, 2 + number)
        table = pa.Table.from_pandas(rows.drop(columns="y"), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    run("fit", folder / "train.parquet", "--target", "y", "-o", folder / "m", *QUICK)
    usage = run("predict", folder / "m", path, "-o", folder / "out.parquet")
    return {
        "rows": n_rows,
        "columns": n_columns,
        "megabytes_of_file": round(path.stat().st_size / MEGABYTE),
        **usage,
        "rows_a_second": round(n_rows / usage["seconds"]),
    }


def measure_start(folder: Path, small: bool) -> dict[str, Any]:
    """Measure the CPU time of short commands, beside that of two imports."""
    table = make_rows(200, 10, 1)
    table.to_csv(folder / "t.csv", index=False)
    few = table.fillna(dict.fromkeys(table.columns[3:-1], 0.0))
    few.to_csv(folder / "few.csv", index=False)
    table[:19].drop(columns="y").to_csv(folder / "new.csv", index=False)
    run("fit", folder / "t.csv", "--target", "y", "-o", folder / "m", *QUICK)
    commands = {
        "import torch, sklearn": ["-c", "import torch, sklearn"],
        "profile, 3 of 10": ["-m", "lacunet", "profile", folder / "few.csv"],
        "profile, all columns": ["-m", "lacunet", "profile", folder / "t.csv"],
        "predict": ["-m", "lacunet", "predict", folder / "m", folder / "new.csv"],
        "predict, no such file": ["-m", "lacunet", "predict", folder / "m", "nosuch"],
        "fit --help": ["-m", "lacunet", "fit", "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(1 if small else 7):
        for name, arguments in commands.items():
            before = os.times()
            command = [sys.executable, *map(str, arguments)]
            subprocess.run(command, check=False, capture_output=True)
            after = os.times()
            seconds[name].append(
                after.children_user
                + after.children_system
                - before.children_user
                - before.children_system
            )
    medians = {name: sorted(each)[len(each) // 2] for name, each in seconds.items()}
    imports = medians["import torch, sklearn"]
    return {
        name: {"cpu_seconds": round(value, 2), "ratio": round(value / imports, 2)}
        for name, value in medians.items()
    }


PARTS: dict[str, Callable[[Path, bool], dict[str, Any]]] = {
    "start": measure_start,
    "csv": measure_csv,
    "parquet": measure_parquet,
    "fit": measure_fit,
}


if __name__ == "__main__":
    main()
