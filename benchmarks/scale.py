"""What fits and predictions over Parquet files cost, and what workers change.

python -m benchmarks.scale [--part memory equal overhead speed bytes] [--summary]

Made rows of 30 columns, 10% of their values missing, in files of a million rows and row
groups of 50,000. Each measurement has a process of its own, one thread in it and in
each worker, and is written as soon as it is made: a run that was killed goes on where
it was. ``--rows 2000`` is to see that it runs, and writes nothing unless ``--out`` is
given.
"""

import argparse
import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.table import markdown, score, write_part
from lacunet import IncompleteGaussianMixture, LacunetClassifier, distributed, load
from lacunet.distributed import _fit as distributed_fit
from lacunet.distributed._workers import open_workers
from lacunet.estimators import LANES, train_view

ROOT = Path(__file__).parents[1]
OUT = Path("benchmarks/results/scale.json")
MEGABYTE = 2**20
N_COLUMNS, MISSING = 30, 0.1
FILE_ROWS, GROUP_ROWS = 1_000_000, 50_000
N_STEPS, BATCH = 5, 1024
WORKERS = (0, 1, 2, 4)
N_TREES = 100
# Of a network of 10 Gbit/s, and of tables that need one.
BYTES_A_SECOND, LATENCY = 1.25e9, 50e-6
MANY_ROWS = 1_000_000_000
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1"
)
# One epoch and few iterations of EM are enough to see what memory they take.
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "mixture": lambda: LacunetClassifier(
        max_epochs=1, density=IncompleteGaussianMixture(3, max_iter=5), random_state=0
    ),
    "default": lambda: LacunetClassifier(max_epochs=1, random_state=0),
    "warm-up": lambda: LacunetClassifier(batch_size=BATCH, random_state=0),
    "full rate": lambda: LacunetClassifier(
        max_epochs=1, batch_size=BATCH, random_state=0
    ),
    "diag": lambda: IncompleteGaussianMixture(3, max_iter=5, random_state=0),
    "full": lambda: IncompleteGaussianMixture(
        3, covariance_type="full", max_iter=5, random_state=0
    ),
}
PHASES = {"summarise": "summary", "scan": "scan", "expect": "EM", "train": "epoch"}
Found = dict[str, Any]
_NO_CASES = ("measured_with", "conditions")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the cases that are lacking, and print all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--part", nargs="+", choices=PARTS, default=list(PARTS))
    add("--rows", type=int, metavar="N", help="to see that it runs")
    add("--out", type=Path, metavar="FILE")
    add("--summary", action="store_true", help="measure nothing, print the summary")
    options = parser.parse_args(argv)
    out = options.out or (None if options.rows else OUT)
    report = json.loads(out.read_text("utf-8")) if out and out.exists() else {}
    for part in () if options.summary else options.part:
        kept = {k: v for k, v in report.get(part, {}).items() if k not in _NO_CASES}
        with tempfile.TemporaryDirectory() as folder:
            for case, measure in PARTS[part](Path(folder), options.rows):
                if case in kept:
                    continue
                kept[case] = measure()
                print(json.dumps({part: {case: kept[case]}}), file=sys.stderr)
                if out:
                    write_part(part, {"conditions": conditions()} | kept, out)
        report[part] = kept
    for part in options.part:
        found = {k: v for k, v in report.get(part, {}).items() if k not in _NO_CASES}
        if found:
            print(f"## {part}\n\n{SUMMARIES[part](found)}\n")
    if "EM default 2" in report.get("bytes", {}) and "lacunet" in report.get(
        "speed", {}
    ):
        print(f"## scaling\n\n{show_scaling(report)}\n")


def conditions() -> Found:
    """Return what the results depend on, beside what all benchmarks keep."""
    found: Found = {"cores": os.cpu_count(), "threads": 1}
    for name in ("ray", "pyarrow", "lightgbm"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# --- rows


def write_rows(folder: Path, n_rows: int, group_rows: int, first_seed: int = 1) -> Path:
    """Write made rows as Parquet files, piece by piece, unless they are there."""
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    names = [f"x{column}" for column in range(N_COLUMNS)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.int64())])
    weights = np.random.RandomState(0).randn(N_COLUMNS)
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        rng = np.random.RandomState(first_seed + number)
        in_file = min(FILE_ROWS, n_rows - start)
        path = folder / f"part-{number:03d}.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            for begin in range(0, in_file, group_rows):
                n = min(group_rows, in_file - begin)
                x = rng.standard_normal((n, N_COLUMNS))
                x[:, 1:] += 0.5 * x[:, :-1]
                scores = 0.3 * (x @ weights) + x[:, 0] * x[:, 1] + rng.randn(n)
                x[rng.random_sample(x.shape) < MISSING] = np.nan
                columns = [pa.array(column, from_pandas=True) for column in x.T]
                labels = pa.array((scores > 0).astype(np.int64))
                table = pa.table([*columns, labels], schema=schema)
                writer.write_table(table, row_group_size=group_rows)
    return folder


def read_rows(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read all rows into memory."""
    table = pq.read_table(folder)
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns[:-1]), columns[-1]


# --- in a process of its own


def run(function: Callable[..., Found], *arguments: Any) -> Found:
    """Call a function of this file in a process that has done nothing else."""
    call = f"from benchmarks import scale; scale.report(scale.{function.__name__})"
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    ended = subprocess.run(
        [sys.executable, "-c", call, json.dumps(arguments, default=str)],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: Found = json.loads(ended.stdout.splitlines()[-1])
    return found


def report(function: Callable[..., Found]) -> None:
    """Call a function with the arguments of this process, and print what it found."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # EM is cut, and so is training
        found = function(*json.loads(sys.argv[1]))
    print("\n" + json.dumps(found))


@contextmanager
def costs() -> Iterator[Found]:
    """Measure time, and the peak of memory above what this process holds now."""
    before, found = read_status("VmRSS"), Found()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
    clocks = time.perf_counter(), time.process_time()
    yield found
    found["seconds"] = round(time.perf_counter() - clocks[0], 2)
    found["cpu_seconds"] = round(time.process_time() - clocks[1], 2)
    found["megabytes_before"] = round(before / MEGABYTE)
    found["megabytes_above"] = round((read_status("VmHWM") - before) / MEGABYTE)


def read_status(name: str) -> int:
    """Return bytes of memory of this process."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024


def fit_files(
    folder: str, name: str, workers: int = 0, model_folder: str | None = None
) -> Found:
    """Fit an estimator to files; CPU time is that of this process alone."""
    phases: dict[str, list[tuple[float, float]]] = {}
    estimator = ESTIMATORS[name]()

    def timed(method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any) -> Any:
            clocks = time.perf_counter(), time.process_time()
            result = original(self, *arguments)
            phase = PHASES[method]
            if method == "expect" and arguments[-1] is not None:
                phase = "EM of bins"
            wall, cpu = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
            phases.setdefault(phase, []).append((wall, cpu))
            return result

        return call

    with ExitStack() as stack:
        blocks = distributed_fit.ParquetBlocks
        for method in PHASES:
            timer = timed(method, getattr(blocks, method))
            stack.enter_context(patch.object(blocks, method, timer))
        with costs() as found:
            distributed.fit(estimator, folder, target="y", workers=workers)
    if model_folder is not None:
        estimator.save(model_folder)
    n_rows = sum(pq.read_metadata(path).num_rows for path in Path(folder).iterdir())
    found["phases"] = {
        phase: {
            "calls": len(times),
            "seconds": round(float(np.mean(times, axis=0)[0]), 3),
            "cpu_seconds": round(float(np.mean(times, axis=0)[1]), 3),
            "rows_a_second": round(n_rows / float(np.mean(times, axis=0)[0])),
        }
        for phase, times in phases.items()
    }
    return found


def predict_files(model_folder: str, folder: str, output: str) -> Found:
    """Predict the rows of files."""
    model = load(model_folder)
    with costs() as found:
        n_rows = distributed.predict(model, folder, output)
    found["rows_a_second"] = round(n_rows / found["seconds"])
    return found


# --- memory


def memory_cases(
    folder: Path, n_rows: int | None
) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Fit and predict at three sizes; the default density at the smaller ones."""
    sizes = [100_000, 1_000_000, 10_000_000] if n_rows is None else [n_rows]
    for size in sizes:
        for name in ("mixture", "default"):
            if size <= 1_000_000 or name == "mixture":
                yield f"{size} {name}", partial(fit_and_predict, folder, size, name)


def fit_and_predict(folder: Path, n_rows: int, name: str) -> Found:
    """Fit to files and predict the same files, in two processes."""
    data = write_rows(folder / str(n_rows), n_rows, min(GROUP_ROWS, n_rows))
    model, output = folder / f"model-{name}-{n_rows}", folder / f"out-{name}-{n_rows}"
    size = sum(path.stat().st_size for path in data.iterdir())
    return {
        "rows": n_rows,
        "megabytes_of_files": round(size / MEGABYTE),
        "fit": run(fit_files, data, name, 0, model),
        "predict": run(predict_files, model, data, output),
    }


def show_memory(cases: Found) -> str:
    """Return tables of memory, and of rows a second."""
    memory, speed = [], []
    for case, found in cases.items():
        density = case.split()[1]
        first = (f"{found['rows']:,}", _DENSITIES[density])
        memory.append(
            (
                *first,
                f"{found['megabytes_of_files']:,} MB",
                *(f"{found[job]['megabytes_above']} MB" for job in ("fit", "predict")),
            )
        )
        rates = [
            f"{found['fit']['phases'][phase]['rows_a_second']:,}"
            if phase in found["fit"]["phases"]
            else "-"
            for phase in ("summary", "scan", "EM", "EM of bins", "epoch")
        ]
        speed.append((*first, *rates, f"{found['predict']['rows_a_second']:,}"))
    return (
        markdown(("rows", "density", "files", "fit", "predict"), memory)
        + "\n\n"
        + markdown(
            (
                "rows a second",
                "density",
                "first pass",
                "second pass",
                "EM iteration",
                "of bins",
                "epoch",
                "predict",
            ),
            speed,
        )
    )


_DENSITIES = {"mixture": "3 Gaussians", "default": "default"}


# --- equal results


def equal_cases(
    folder: Path, n_rows: int | None
) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Compare EM, five steps of training, and whole fits."""
    size = n_rows or 40_000
    for name in ("diag", "full"):
        yield f"EM {name}", partial(compare_em, folder, size, name)
    for dtype, name in product(("float32", "float64"), ("warm-up", "full rate")):
        yield f"steps {dtype} {name}", partial(compare_steps, folder, dtype, name)
    yield "whole", partial(compare_fits, folder, size)


def compare_em(folder: Path, n_rows: int, name: str) -> Found:
    """Fit a mixture with each number of workers."""
    data = write_rows(folder / "equal", n_rows, -(-n_rows // 8))
    digests = {str(n): run(digest_mixture, data, name, n)["digest"] for n in WORKERS}
    return {"rows": n_rows, "digests": digests, "equal": len({*digests.values()}) == 1}


def digest_mixture(folder: str, name: str, workers: int) -> Found:
    """Return a digest of a mixture's parameters, to the last bit."""
    mixture = distributed.fit(ESTIMATORS[name](), folder, workers=workers)
    arrays = (mixture.weights_, mixture.means_, mixture.covariances_)
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return {"digest": hashlib.sha256(content).hexdigest()[:16]}


def compare_steps(folder: Path, dtype: str, name: str) -> Found:
    """Train each view for five steps, by 1, 2 and 4 processes.

    The learning rate rises over the first steps of a whole training. One of an epoch
    has it in full from the first step on, and Adam makes more of rounding: a weight
    whose gradient is next to nothing moves as far as others.
    """
    n_rows = N_STEPS * BATCH
    data = write_rows(folder / "steps", n_rows, n_rows // 8)
    return run(train_steps, data, dtype, name)


def train_steps(folder: str, dtype: str, name: str) -> Found:
    """Return the largest differences of weights from those of one process."""
    reader, coder, jobs = find_jobs(folder, name)
    double = dtype == "float64"
    found: Found = {"steps": N_STEPS, "ranks": {}}
    alone: list[Any] = []
    for size in (1, 2, 4):
        with open_workers(size) as workers:
            differences: list[float] = []
            for number, job in enumerate(jobs):
                calls = [[(reader, coder, job, double)] * size]
                [[(tensors, counts), *_]] = workers.teams(train_counted, calls)
                if size == 1:
                    alone.append(tensors)
                    continue
                assert counts["steps"] == N_STEPS, counts
                differences += [
                    float((tensors[name] - alone[number][name]).abs().max())
                    for name, parameter in job.view.named_parameters()
                    if parameter.requires_grad
                ]
            if size > 1:
                found["ranks"][str(size)] = max(differences)
    return found


class EnoughError(Exception):
    """Raised where a fit has come as far as it is needed."""


def find_jobs(folder: str, name: str) -> tuple[Any, Any, list[Any]]:
    """Return what a fit gives to its workers to train: reader, coder, and views."""
    given: list[Any] = []

    def keep(self: Any, coder: Any, jobs: Sequence[Any]) -> Any:
        given.extend((self.reader, coder, list(jobs)))
        raise EnoughError

    with (
        patch.object(distributed_fit.ParquetBlocks, "train", keep),
        suppress(EnoughError),
    ):
        distributed.fit(ESTIMATORS[name](), folder, target="y")
    reader, coder, jobs = given
    return reader, coder, jobs


class CountedTeam:
    """A team, and what it sums."""

    def __init__(self, team: Any) -> None:
        self.rank, self.size, self._team = team.rank, team.size, team
        self.counts = {"steps": 0, "bytes_a_step": 0, "loopback": 0}
        self._before: int | None = None

    def sum_(self, tensor: torch.Tensor) -> None:
        """Sum a tensor, and count its bytes; those of the network interface, too."""
        if self._before is None:
            self._before = read_loopback()
        self._team.sum_(tensor)
        if len(tensor) > 1:  # else it is a validation loss
            self.counts["steps"] += 1
            self.counts["bytes_a_step"] = tensor.numel() * tensor.element_size()
            self.counts["loopback"] = read_loopback() - self._before


def read_loopback() -> int:
    """Return the bytes that this machine has sent to itself so far."""
    lines = Path("/proc/net/dev").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.strip().startswith("lo:"))
    return int(line.split()[9])


def train_counted(
    team: Any, reader: Any, coder: Any, job: Any, double: bool
) -> tuple[Any, dict[str, int]]:
    """Train a view for an epoch of a whole training; return tensors and counts."""
    counted, view = CountedTeam(team), copy.deepcopy(job.view)
    dtype = torch.float64 if double else torch.float32
    groups = reader.rows.groups
    left = [None] * (len(groups) // team.size)  # there is a lane for each

    def read(number: int) -> Iterator[Any]:
        if not left:  # all were read once
            raise EnoughError
        left.pop()
        found: Iterator[Any] = reader.coded(groups[number], coder)
        return found

    # Rows become tensors in single precision, unless this says otherwise.
    with patch("lacunet.estimators._fit.DTYPE", dtype), suppress(EnoughError):
        train_view(counted, replace(job, view=view.to(dtype)), read, None)
    return view.state_dict(), counted.counts


def compare_fits(folder: Path, n_rows: int) -> Found:
    """Fit with each number of workers, and predict new rows.

    Another seed shows which differences mean something.
    """
    data = write_rows(folder / "equal", n_rows, -(-n_rows // 8))
    new = write_rows(folder / "new", n_rows // 2, n_rows // 2, first_seed=1000)
    cases = {"0": (0, 0), "2": (2, 0), "4": (4, 0), "other seed": (0, 1)}
    found: Found = {"rows": n_rows, "log_loss": {}, "difference": {}}
    for case, (workers, seed) in cases.items():
        path = folder / f"{case}.npy"
        scored = run(score_fit, data, new, workers, seed, path)
        found["log_loss"][case] = scored["log_loss"]
        if case != "0":
            difference = np.abs(np.load(path) - np.load(folder / "0.npy")).max()
            found["difference"][case] = float(difference)
    return found


def score_fit(folder: str, new: str, workers: int, seed: int, path: str) -> Found:
    """Fit at defaults, keep the probabilities of new rows, and score them."""
    model = LacunetClassifier(random_state=seed)
    distributed.fit(model, folder, target="y", workers=workers)
    X, y = read_rows(Path(new))
    names = [f"x{column}" for column in range(N_COLUMNS)]
    probabilities = model.predict_proba(pa.table(list(X.T), names=names))
    np.save(path, probabilities)
    return {"log_loss": score(y, probabilities)[0]}


def show_equal(cases: Found) -> str:
    """Return a table with a column for each number of workers."""
    body = []
    for name in ("diag", "full"):
        if found := cases.get(f"EM {name}"):
            first = found["digests"]["0"]
            same = [
                "same" if d == first else "DIFFERS" for d in found["digests"].values()
            ]
            kind = {"diag": "diagonal", "full": "full"}[name]
            body.append((f"EM, {kind} covariances: bits", *same))
    for case, found in cases.items():
        if case.startswith("steps"):
            _, dtype, name = case.split(maxsplit=2)
            shown = [f"{value:.0e}" for value in found["ranks"].values()]
            title = f"weights after {found['steps']} steps, {dtype}, {name}"
            body.append((f"{title}: largest difference", "-", "-", *shown))
    if found := cases.get("whole"):
        for title, key, form in (
            ("whole fits: log-loss of new rows", "log_loss", ".5f"),
            ("their probabilities: largest difference", "difference", ".0e"),
        ):
            shown = {case: f"{value:{form}}" for case, value in found[key].items()}
            columns = (*map(str, WORKERS), "other seed")
            body.append((title, *(shown.get(column, "-") for column in columns)))
    rows = [(*row, "-") if len(row) == 1 + len(WORKERS) else row for row in body]
    return markdown(("workers", *map(str, WORKERS), "0, other seed"), rows)


# --- Ray against this process


def overhead_cases(
    folder: Path, n_rows: int | None
) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Fit in this process and on one worker of Ray, by turns."""
    size = n_rows or 1_000_000
    for number in range(1 if n_rows else 3):
        yield f"round {number + 1}", partial(compare_ray, folder, size)


def compare_ray(folder: Path, n_rows: int) -> Found:
    """Return the seconds of each phase; a worker starts in the first of them."""
    data = write_rows(folder / "overhead", n_rows, min(GROUP_ROWS, -(-n_rows // 4)))
    fits = {workers: run(fit_files, data, "mixture", workers) for workers in (0, 1)}
    return {
        "rows": n_rows,
        "seconds": {
            phase: [fits[n]["phases"][phase]["seconds"] for n in fits]
            for phase in fits[0]["phases"]
        },
    }


def show_overhead(cases: Found) -> str:
    """Return a table of medians over rounds."""
    rounds = list(cases.values())
    body = []
    for phase in ("scan", "EM", "epoch"):
        times = [found["seconds"][phase] for found in rounds]
        own, ray = (median(column) for column in zip(*times, strict=True))
        ratio = median(pair[1] / pair[0] for pair in times)
        name = {"scan": "second pass", "EM": "EM iteration"}.get(phase, phase)
        body.append((name, f"{own:.2f} s", f"{ray:.2f} s", f"{ratio:.2f}"))
    header = (f"{rounds[0]['rows']:,} rows", "this process", "Ray, 1 worker", "ratio")
    return markdown(header, body)


# --- beside boosted trees


def speed_cases(
    folder: Path, n_rows: int | None
) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Measure ours and two kinds of boosted trees on the same files."""
    size = n_rows or 1_000_000
    for name in ("lightgbm", "hgb", "lacunet"):
        if name == "lightgbm" and find_spec(name) is None:
            print("lightgbm is left out: it is not installed.", file=sys.stderr)
        else:
            yield name, partial(measure_speed, folder, size, name)


def measure_speed(folder: Path, n_rows: int, name: str) -> Found:
    """Fit to files, and predict them into others."""
    data = write_rows(folder / "speed", n_rows, min(GROUP_ROWS, n_rows))
    if name == "lacunet":
        model, output = folder / "speed-model", folder / "speed-out"
        fitted = run(fit_files, data, "default", 0, model)
        predicted = run(predict_files, model, data, output)
        steps = {k: v["cpu_seconds"] for k, v in fitted["phases"].items()}
        steps["predict"] = predicted["cpu_seconds"]
        megabytes = fitted["megabytes_above"]
    else:
        found = run(fit_trees, data, name)
        megabytes, steps = found["megabytes_above"], found["steps"]
    return {"rows": n_rows, "megabytes_above": megabytes, "cpu_seconds": steps}


def fit_trees(folder: str, name: str) -> Found:
    """Read all rows into memory, grow trees, and write predictions as Parquet."""
    steps: dict[str, float] = {}
    last = [time.process_time()]

    def note(step: str) -> None:
        now = time.process_time()
        steps[step] = round(now - last[0], 3)
        last[0] = time.process_time()

    model: Any
    if name == "lightgbm":
        import lightgbm
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier
    with costs() as found:
        last[0] = time.process_time()
        X, y = read_rows(Path(folder))
        if name == "lightgbm":
            parameters = {"objective": "binary", "num_threads": 1, "verbosity": -1}
            data = lightgbm.Dataset(X, y, params=parameters).construct()
            note("read")
            model = lightgbm.train(parameters, data, N_TREES)
            predict = model.predict
        else:
            model = HistGradientBoostingClassifier(
                max_iter=N_TREES, early_stopping=False, random_state=0
            )
            note("read")
            model.fit(X, y)
            predict = model.predict_proba
        note("trees")
        steps["tree"] = round(steps["trees"] / N_TREES, 3)
        del X
        last[0] = time.process_time()
        X, _ = read_rows(Path(folder))
        out = np.asarray(predict(X)).reshape(len(X), -1)[:, -1]
        with tempfile.TemporaryDirectory() as output:
            pq.write_table(pa.table({"probability": out}), f"{output}/out.parquet")
        note("predict")
    found["steps"] = steps
    return found


def show_speed(cases: Found) -> str:
    """Return CPU seconds of each step, rows a second, and ratios to LightGBM's."""
    # Each step with the one of LightGBM that it is compared with.
    steps = {
        "summary": ("first pass", "read"),
        "scan": ("second pass", "read"),
        "EM": ("EM iteration", "tree"),
        "EM of bins": ("EM iteration of bins", "tree"),
        "epoch": ("epoch", "tree"),
        "read": ("reading, binning", "read"),
        "tree": ("a tree", "tree"),
        "predict": ("predictions", "predict"),
    }
    names = {
        "lacunet": "lacunet",
        "lightgbm": "LightGBM",
        "hgb": "HistGradientBoosting",
    }
    body = []
    for name, found in cases.items():
        for step, (title, other) in steps.items():
            seconds = found["cpu_seconds"].get(step)
            if seconds is not None:
                rate, ratio = found["rows"] / max(seconds, 1e-3), "-"
                if "lightgbm" in cases:
                    against = cases["lightgbm"]["cpu_seconds"][other]
                    ratio = f"{seconds / max(against, 1e-3):.1f}"
                shown = (f"{seconds:.2f} s", f"{rate:,.0f}", ratio)
                body.append((f"{names[name]}: {title}", *shown))
    header = ("one thread", "CPU time", "rows a second", "to LightGBM's")
    memory = [
        f"{names[name]} {found['megabytes_above']:,} MB"
        for name, found in cases.items()
    ]
    return f"{markdown(header, body)}\n\nPeak memory of the fit: {', '.join(memory)}."


# --- what is sent


def bytes_cases(
    folder: Path, n_rows: int | None
) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Count what is sent at 2 and 4 workers."""
    size = n_rows or 40_000
    for workers in (2, 4):
        yield f"training {workers}", partial(measure_training, folder, size, workers)
        for name in ("default", "full"):
            yield (
                f"EM {name} {workers}",
                partial(measure_em, folder, size, name, workers),
            )


def measure_training(folder: Path, n_rows: int, workers: int) -> Found:
    """Count what is summed in an epoch of each view."""
    data = write_rows(folder / "bytes", n_rows, -(-n_rows // 8))
    return run(count_sums, data, workers)


def count_sums(folder: str, size: int) -> Found:
    """Train each view by a team; return the bytes of each step, and by formula."""
    reader, coder, jobs = find_jobs(folder, "default")
    found: Found = {}
    with open_workers(size) as workers:
        for job in jobs:
            calls = [[(reader, coder, job, False)] * size]
            [[(_, counts), *_]] = workers.teams(train_counted, calls)
            body, shape = job.setting.body, job.view.shape
            n_inputs = shape.width + (len(shape.n_edges) if shape.n_edges else 0)
            found["bins" if job.view.sees_bins else "values"] = {
                "columns": N_COLUMNS,
                "bins": shape.width if shape.n_edges else 0,
                "networks": shape.n_networks,
                "hidden": body.hidden_sizes,
                "outputs": body.out_features,
                "steps": counts["steps"],
                "bytes_a_step": counts["bytes_a_step"],
                "formula": step_bytes(
                    n_inputs, body.hidden_sizes, body.out_features, shape.n_networks
                ),
                "loopback_bytes_a_step": round(counts["loopback"] / counts["steps"]),
                "ring": 2 * (size - 1) * counts["bytes_a_step"],
            }
    return found


def step_bytes(
    n_inputs: int, hidden: Sequence[int], n_outputs: int, n_networks: int
) -> int:
    """Return the bytes of the gradients of a view, and of a loss, in single precision.

    The first layer has the units of all networks, and a linear part for the outputs.
    """
    sizes = [*hidden, n_outputs]
    first = (n_inputs + 1) * (sizes[0] + n_outputs)
    later = sum((a + 1) * b for a, b in zip(sizes[:-1], sizes[1:], strict=True))
    return 4 * (n_networks * (first + later) + 1)


def measure_em(folder: Path, n_rows: int, name: str, workers: int) -> Found:
    """Count what goes to workers and comes back in an iteration of EM."""
    data = write_rows(folder / "bytes", n_rows, -(-n_rows // 8))
    return run(count_expectations, data, name, workers)


def count_expectations(folder: str, name: str, size: int) -> Found:
    """Return pickled bytes of one iteration of each density, and by formula."""
    from ray import cloudpickle

    from lacunet.distributed._workers import _RayWorkers

    original = _RayWorkers.map
    found: Found = {}

    def count(
        self: Any, function: Callable[..., Any], items: Any, *shared: Any
    ) -> Iterator[Any]:
        results = original(self, function, items, *shared)
        if function.__name__ != "_expect_group":
            yield from results
            return
        components, see = shared[-2:]
        kind = "full" if name == "full" else "values" if see is None else "bins"
        n_components, n_columns = getattr(
            components, "gaussian", components
        ).means.shape
        n_bins = sum(getattr(components, "sizes", ()))
        sizes = []
        for result in results:
            sizes.append(len(pickle.dumps(result)))
            yield result
        found[kind] = {
            "components": n_components,
            "columns": n_columns,
            "bins": n_bins,
            "row_groups": len(sizes),
            "bytes_to_each_worker": len(cloudpickle.dumps(shared)),
            "bytes_of_row_group": round(sum(sizes) / len(sizes)),
            "formula": em_bytes(n_components, n_columns, n_bins, full=kind == "full"),
        }

    target = None if name == "full" else "y"
    with patch.object(_RayWorkers, "map", count):
        distributed.fit(ESTIMATORS[name](), folder, target=target, workers=size)
    return found


def em_bytes(n_components: int, n_columns: int, n_bins: int, *, full: bool) -> int:
    """Return the bytes of the statistics of a row group, in double precision."""
    of_numbers = n_columns * (2 + n_columns if full else 3)
    return 8 * (1 + n_components * (1 + of_numbers + n_bins))


def show_bytes(cases: Found) -> str:
    """Return a table of bytes by formula, and as measured."""
    body = []
    kinds = {"values": "view of values", "bins": "view of bins"}
    for workers in (2, 4):
        for kind, found in cases.get(f"training {workers}", {}).items():
            ring, lo = found["ring"], found["loopback_bytes_a_step"]
            body.append(
                (
                    f"step, {kinds[kind]}, {workers} workers",
                    f"{found['formula']:,}",
                    f"{found['bytes_a_step']:,}",
                    f"{ring:,}",
                    f"{lo:,}",
                )
            )
    training = markdown(
        ("bytes", "gradients, formula", "measured", "sent, formula", "measured"), body
    )
    body = []
    kinds = {
        "values": "diagonal Gaussians",
        "bins": "latent classes of bins",
        "full": "full covariances",
    }
    for workers in (2, 4):
        for name in ("default", "full"):
            for kind, found in cases.get(f"EM {name} {workers}", {}).items():
                body.append(
                    (
                        f"{kinds[kind]}, {workers} workers",
                        f"{found['bytes_to_each_worker']:,}",
                        f"{found['formula']:,}",
                        f"{found['bytes_of_row_group']:,}",
                    )
                )
    em = markdown(
        ("bytes", "to each worker", "from each row group, formula", "measured"), body
    )
    return f"{training}\n\n{em}"


def show_scaling(report: Found) -> str:
    """Return what the bytes mean for many workers; the network is an assumption."""
    speed, sizes = report["speed"]["lacunet"], report["bytes"]
    gradients = sizes["training 2"]["bins"]["bytes_a_step"]
    group = sizes["EM default 2"]["bins"]["bytes_of_row_group"]
    step = speed["cpu_seconds"]["epoch"] * BATCH / speed["rows"]
    iteration = speed["cpu_seconds"]["EM of bins"] * MANY_ROWS / speed["rows"]
    received = MANY_ROWS / GROUP_ROWS * group / BYTES_A_SECOND
    body = []
    for workers in (8, 64, 512):
        team = min(workers // 2, LANES)  # of each of two views
        computing, messages = step / (2 * team), 2 * (team - 1)
        sending = messages / team * gradients / BYTES_A_SECOND + messages * LATENCY
        body.append(
            (
                str(workers),
                str(2 * team),
                str(BATCH // team),
                f"{1e3 * computing:.2f} ms",
                f"{1e3 * sending:.2f} ms",
                f"{step / (computing + sending):.0f} ×",
                f"{iteration / workers:,.1f} s",
                f"{received:.1f} s",
            )
        )
    header = ("workers", "in training", "rows of each in a step")
    header += ("computing", "network")
    header += ("against one worker", "EM iteration: computing", "driver receives")
    return markdown(header, body)


PARTS = {
    "memory": memory_cases,
    "equal": equal_cases,
    "overhead": overhead_cases,
    "speed": speed_cases,
    "bytes": bytes_cases,
}
SUMMARIES: dict[str, Callable[[Found], str]] = {
    "memory": show_memory,
    "equal": show_equal,
    "overhead": show_overhead,
    "speed": show_speed,
    "bytes": show_bytes,
}


if __name__ == "__main__":
    main()
