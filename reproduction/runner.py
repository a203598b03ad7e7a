"""Runs experiments, and goes on where an earlier run has stopped."""

import difflib
import functools
import json
import os
import platform
import subprocess
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lacunet.exceptions import LacunetError
from reproduction.autoencoders import measure_errors
from reproduction.claim_experiments import EXPERIMENTS as CLAIM_EXPERIMENTS
from reproduction.classification import CannotRunError, measure_accuracy
from reproduction.figures import FIGURES, path_of_images
from reproduction.protocols import PROTOCOLS
from reproduction.results import KEY, append_results, read_results
from reproduction.tables import DIGITS, TABLES, Drawing, Experiment, Job, Setting

EXPERIMENTS: Mapping[str, Experiment] = {
    **TABLES,
    **FIGURES,
    **{each.name: each for each in CLAIM_EXPERIMENTS},
}

PACKAGES = ("lacunet", "numpy", "scikit-learn", "scipy", "torch")
LIBRARIES = ("catboost", "lightgbm", "xgboost", "xgboost-cpu")
RETRY = "retry"  # in the params of a cell that failed and is tried again next time
# What data, a library or the machine can cause; one cell must not end a run of hours.
FAILURES = (ArithmeticError, LacunetError, OSError, RuntimeError, ValueError)


class Run(NamedTuple):
    """What a run of one experiment has done.

    ``n_run`` jobs were run now, ``n_skipped`` were finished by earlier runs. ``empty``
    are the new cells without a value for a known reason, ``failed`` those that nobody
    expected to be empty; of a job with several metrics the first.
    """

    experiment: str
    path: Path
    n_run: int
    n_skipped: int
    empty: list[dict[str, Any]]
    failed: list[dict[str, Any]]


def load_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> from reproduction.runner import load_experiment
    >>> load_experiment("table-1").reported["mse"]["mnist", None]["paper"]
    0.01056
    """
    _check_known(name, EXPERIMENTS, f"name={name!r}")
    return EXPERIMENTS[name]


def run_experiments(
    names: Iterable[str],
    *,
    protocol: str = "quick",
    out: str | os.PathLike[str] = "results",
    jobs: int = 1,
    seeds: int = 1,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    data: str | None = None,
    progress: Callable[[str], Any] = lambda line: None,
) -> list[Run]:
    """Run experiments of the paper, and keep each cell as soon as it is finished.

    Cells are appended to ``<out>/<name>.jsonl``; those that are there already are not
    run again, so a run that was stopped goes on when it is started again. The data of
    figures are written to ``<out>/<name>.json``, images to ``<out>/<name>.npz``.

    A cell that can't be filled has no value, and the reason in ``params["why"]``; the
    run goes on. It is tried again the next time, unless it can't ever be filled.

    Parameters
    ----------
    names : iterable of str
        Some of ``EXPERIMENTS``. Each takes those of the methods and data sets that it
        has; one that has none of them, or not the protocol, is left out.
    protocol : {"paper", "authors", "quick"}, default="quick"
        How it is measured.
    out : str or PathLike, default="results"
        Folder of the results; made if it is not there.
    jobs : int, default=1
        Number of processes, one core each.
    seeds : int, default=1
        Number of repetitions: other folds, other values removed, other networks.
    methods, datasets : sequence of str, default=None
        Some columns and rows of the tables; all by default.
    data : {"digits"}, default=None
        Small data sets that come with scikit-learn, in place of the paper's.
    progress : callable, default=None
        Called with a line of text at the start of an experiment and after each job.

    Returns
    -------
    list of Run
        Without those that were left out.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.runner import run_experiments
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = run_experiments(
    ...         ["table-1", "table-4", "table-6"], out=folder, data="digits",
    ...         datasets=["iris"], methods=["hgb"],
    ...     )
    >>> [(run.experiment, run.n_run) for run in runs]
    [('table-4', 1), ('table-6', 1)]
    """
    experiments = [load_experiment(name) for name in dict.fromkeys(names)]
    options: dict[str, Any] = {"methods": methods, "datasets": datasets, "data": data}
    _check_options(experiments, protocol, **options)
    if min(jobs, seeds) < 1:
        msg = f"Got jobs={jobs} and seeds={seeds}, but expected at least 1 of both."
        raise ValueError(msg)
    plans = []
    for each in experiments:
        rows, columns = choose(each, protocol, **options)
        is_left_out = (methods and not columns) or (datasets and not rows)
        if protocol in each.protocols and not is_left_out:
            drawing = Drawing(Path(out), protocol, data, rows, columns)
            plans.append((each, plan_jobs(each, protocol, seeds, **options), drawing))
    if not plans:
        msg = (
            f"Got methods={methods} with datasets={datasets}, but expected some that "
            f"one of {', '.join(each.name for each in experiments)} has together."
        )
        raise ValueError(msg)
    return [_run(*plan, jobs, progress) for plan in plans]


def choose(
    experiment: Experiment,
    protocol: str,
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    data: str | None = None,
) -> tuple[list[Setting], list[str]]:
    """Return the rows and columns of a table that are asked for and that it has."""
    rows = [
        row
        for row in experiment.settings_for(data)
        if (not row.protocols or protocol in row.protocols)
        and (datasets is None or row.dataset in datasets)
    ]
    only = PROTOCOLS[protocol].methods or experiment.methods
    wanted = set(only if methods is None else methods) & set(only)
    return rows, [method for method in experiment.methods if method in wanted]


def plan_jobs(
    experiment: Experiment, protocol: str = "quick", seeds: int = 1, **options: Any
) -> list[Job]:
    """List what there is to compute, the first seed of all rows first.

    Options are those of ``choose``.
    """
    rows, columns = choose(experiment, protocol, **options)
    data = options.get("data")
    n_folds = PROTOCOLS[protocol].n_folds if experiment.cross_validated else 1
    n_seeds = max(seeds, experiment.budget(protocol, data).n_seeds)
    name = experiment.cells_of or experiment.name
    return [
        Job(name, row.dataset, row.rate, method, fold, seed, protocol, data)
        for seed in range(n_seeds)
        for row in rows
        for fold in range(n_folds)
        for method in columns
        if not row.methods or method in row.methods
    ]


def _check_options(
    experiments: Sequence[Experiment],
    protocol: str,
    *,
    methods: Sequence[str] | None,
    datasets: Sequence[str] | None,
    data: str | None,
) -> None:
    """Refuse what none of the experiments has."""
    if not experiments:
        msg = f"Got no names, but expected some of {', '.join(EXPERIMENTS)}."
        raise ValueError(msg)
    protocols = [name for each in experiments for name in each.protocols]
    _check_known(protocol, protocols, f"protocol={protocol!r}")
    _check_known(data, [None, DIGITS], f"data={data!r}")
    able = [each for each in experiments if protocol in each.protocols]
    found = [choose(each, protocol, data=data) for each in able]
    for method in methods or ():
        columns = [key for _, columns in found for key in columns]
        _check_known(method, columns, f"{method!r} in methods")
    for dataset in datasets or ():
        names = [row.dataset for rows, _ in found for row in rows]
        _check_known(dataset, names, f"{dataset!r} in datasets")


def _check_known(name: Any, known: Iterable[Any], got: str) -> None:
    names = list(dict.fromkeys(known))
    if name not in names:
        near = difflib.get_close_matches(str(name), map(str, names))
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        listed = ", ".join(map(str, names))
        msg = f"Got {got}, but expected one of {listed}.{hint}"
        raise ValueError(msg)


def _run(
    experiment: Experiment,
    plan: Sequence[Job],
    drawing: Drawing,
    jobs: int,
    progress: Callable[[str], Any],
) -> Run:
    """Run what is left of a plan, and compute the data of a figure."""
    name, folder = experiment.name, drawing.folder
    path = folder / f"{experiment.cells_of or name}.jsonl"
    finished = {
        tuple(None if part != part else part for part in key)  # NaN is no rate
        for *key, params in read_results(path)[[*KEY, "params"]].itertuples(index=False)
        if not params.get(RETRY)
    }
    left = [
        job
        for job in plan
        if not {(*job[:-1], metric) for metric in experiment.metrics} <= finished
        or (experiment.cells_of and not path_of_images(folder, job).exists())
    ]
    n_skipped = len(plan) - len(left)
    progress(f"{name} {n_skipped}/{len(plan)}")
    empty: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    outcomes = Parallel(jobs, return_as="generator_unordered")(
        delayed(compute)(job) for job in left
    )
    for done, outcome in enumerate(outcomes, n_skipped + 1):
        if outcome.images is not None:
            write_arrays(path_of_images(folder, outcome.job), images=outcome.images)
        append_results(path, outcome.cells)  # last: now the job is finished
        first = outcome.cells[0]
        if first["value"] is None:
            (empty if outcome.expected else failed).append(first)
        progress(f"{name} {done}/{len(plan)}: {_describe(first)}")
    if experiment.draw is not None:
        with one_core():
            content = experiment.draw(drawing)
        suffix = "npz" if experiment.body == "autoencoder" else "json"
        update_figure(folder / f"{name}.{suffix}", drawing.label, content)
    return Run(name, path, len(left), n_skipped, empty, failed)


def _describe(cell: Mapping[str, Any]) -> str:
    """Return a cell in words: its place, and its value or why it has none."""
    rate = "" if cell["rate"] is None else f" {cell['rate']:g}"
    split = "".join(f", {n} {cell[n]}" for n in ("fold", "seed") if cell[n])
    place = f"{cell['dataset']}{rate}, {cell['method']}{split}"
    if cell["value"] is None:
        return f"{place}: no {cell['metric']}: {cell['params']['why']}"
    return f"{place}: {cell['metric']} {cell['value']:.4f} in {cell['seconds']:.1f} s"


# --- one job


class Outcome(NamedTuple):
    """What a job gives: a cell for each metric, and perhaps images.

    ``expected`` is False if it failed for a reason that nobody knew of.
    """

    job: Job
    cells: list[dict[str, Any]]
    images: np.ndarray | None
    expected: bool


def compute(job: Job) -> Outcome:
    """Run a job on one core, and return its cells even if it fails."""
    experiment = EXPERIMENTS[job.experiment]
    is_image = experiment.body == "autoencoder"
    values: dict[str, float] = {}
    images, expected = None, True
    start = time.perf_counter()
    with one_core(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if is_image:
                values, params, images = measure_errors(experiment, job)
            else:
                values, params, _ = measure_accuracy(experiment, job)
            if not np.isfinite(list(values.values())).all():
                msg = f"Got {values}, but expected finite numbers."
                raise ValueError(msg)
        except CannotRunError as error:
            params = {"why": str(error)}
        except ImportError as error:
            params = {"why": str(error), RETRY: True}
        except FAILURES as error:
            *_, last = traceback.extract_tb(error.__traceback__)
            where = f"{Path(last.filename).name}, line {last.lineno}"
            params = {"why": f"{type(error).__name__}: {error} ({where})", RETRY: True}
            values, images, expected = {}, None, False
    seconds = time.perf_counter() - start
    if caught:
        texts = [f"{w.category.__name__}: {w.message}"[:200] for w in caught]
        params["warnings"] = list(dict.fromkeys(texts))
    # All that was not a default; our classifier is at its own.
    is_default = job.method == "lacunet" and not is_image
    given = {
        **({} if is_default else experiment.parameters),
        **experiment.budget(job.protocol, job.data).parameters_of(job.method),
        **params,
    }
    place = job._asdict()
    del place["data"]
    cells = [
        {
            **place,
            "metric": metric,
            "value": values.get(metric),
            "params": given,
            "seconds": seconds,
            "versions": find_versions(job.method),
            "commit": find_commit(),
        }
        for metric in experiment.metrics
    ]
    return Outcome(job, cells, images, expected)


@contextmanager
def one_core() -> Iterator[None]:
    """Let torch and the linear algebra of numpy use one core."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(n_threads)


def find_versions(method: str) -> dict[str, str]:
    """Return the versions of what a cell is computed with, as far as installed."""
    versions = {"python": platform.python_version()}
    libraries = [name for name in LIBRARIES if name.startswith(method)]
    for package in (*PACKAGES, *libraries):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


@functools.cache
def find_commit() -> str | None:
    """Return the commit of this code, marked if it was changed since; None if none."""
    top = Path(__file__).parent.parent

    def ask(*arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=top, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        commit = ask("rev-parse", "HEAD")
        changed = ask("status", "--porcelain", "-uno", "--", "src", "reproduction/*.py")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit}-dirty" if changed else commit


# --- files beside the results


def write_arrays(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays to a file that is whole or not there."""
    with _whole(path) as unfinished, unfinished.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def update_figure(path: Path, label: str, content: Mapping[str, Any]) -> None:
    """Write the data of a figure, beside those of other protocols.

    A ``.json`` has an object for each protocol, a ``.npz`` arrays with names such as
    ``quick/original``.
    """
    if path.suffix == ".json":
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        text = json.dumps({**known, label: content}, allow_nan=False)
        with _whole(path) as unfinished:
            unfinished.write_text(text + "\n", "utf-8")
        return
    arrays = {f"{label}/{name}": array for name, array in content.items()}
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            others = [name for name in file if not name.startswith(f"{label}/")]
            arrays = {**{name: file[name] for name in others}, **arrays}
    write_arrays(path, **arrays)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give another name to write to, which becomes ``path`` if all goes well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
