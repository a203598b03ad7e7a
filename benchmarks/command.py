"""What the commands for one's own table cost: time, and peak memory of the process.

python -m benchmarks.command [--part fit predict help] [--small]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table import write_part
from lacunet.baselines import BoostedClassifier
from lacunet.tables import FileFormat, open_table, predict_rows, write_rows

OUT = Path("benchmarks/results/command.json")
MEGABYTE = 2**20
# Of fit: what it may take above the process after its imports.
TIMES_TABLE, MORE = 8, 200 * MEGABYTE
# A process that imports all that the command needs, reports its memory, and runs it.
# The first optimiser of torch imports torch._dynamo, whoever makes it.
CHILD = """
import json, resource, sys, time
import torch._dynamo
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
    table = n_rows * n_columns * 8
    bound = (TIMES_TABLE * table + MORE) / MEGABYTE
    return {
        "rows": n_rows,
        "columns": n_columns,
        "megabytes_of_table": round(table / MEGABYTE, 1),
        **usage,
        "megabytes_allowed": round(bound),
        "reached": usage["megabytes_above"] <= bound,
    }


def measure_predict(folder: Path, small: bool) -> dict[str, Any]:
    """Measure ``lacunet predict`` on 5 million rows, and boosted trees on the same."""
    n_rows, n_columns = (50_000 if small else 5_000_000), 10
    train = make_rows(20_000, n_columns, 1)
    train.to_parquet(folder / "train.parquet")
    write_parquet(folder / "new.parquet", n_rows, n_columns)
    names = ["--target", "y", "-o", folder / "m"]
    run("fit", folder / "train.parquet", *names, "--no-refit")
    out = ["-o", folder / "out.parquet"]
    usage = run("predict", folder / "m", folder / "new.parquet", *out)
    seconds = measure_boosted(train, folder)
    return {
        "rows": n_rows,
        "columns": n_columns,
        "megabytes_of_file": round((folder / "new.parquet").stat().st_size / MEGABYTE),
        **usage,
        "rows_a_second": round(n_rows / usage["seconds"]),
        "hgb_rows_a_second": round(n_rows / seconds),
    }


def write_parquet(
    path: Path, n_rows: int, n_columns: int, block: int = 250_000
) -> None:
    writer = None
    for number, start in enumerate(range(0, n_rows, block)):
        rows = make_rows(min(block, n_rows - start), n_columns, 2 + number)
        table = pa.Table.from_pandas(rows.drop(columns="y"), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def measure_boosted(train: pd.DataFrame, folder: Path) -> float:
    """Return how long HistGradientBoosting takes to do the same, block by block."""
    X = train.drop(columns="y")
    model = BoostedClassifier("hgb", random_state=0).fit(X, train["y"])

    def predictions() -> Iterator[pd.DataFrame]:
        with open_table(folder / "new.parquet") as file:
            for rows in file.blocks(20_000):
                yield predict_rows(model, rows)

    begin = time.perf_counter()
    with (folder / "boosted.parquet").open("wb") as out:
        write_rows(out, predictions(), FileFormat("parquet"))
    return time.perf_counter() - begin


def measure_help(folder: Path, small: bool) -> dict[str, Any]:
    """Measure how long ``lacunet --help`` takes, the median of five."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        command = [sys.executable, "-m", "lacunet", "--help"]
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return {"seconds": round(sorted(times)[2], 3), "allowed": 0.5}


PARTS: dict[str, Callable[[Path, bool], dict[str, Any]]] = {
    "fit": measure_fit,
    "predict": measure_predict,
    "help": measure_help,
}


if __name__ == "__main__":
    main()
