"""Runs experiments, and goes on where an earlier run has stopped."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from lacunet._validation import check_positive_int
from lacunet.evaluation._workers import Workers, one_core
from reproduction.experiments._catalogue import list_experiments, load_experiment
from reproduction.experiments._compute import Outcome, compute, is_finished
from reproduction.experiments._files import path_of_images, update_figure, write_arrays
from reproduction.experiments._jobs import Choice, Job, check_choice_of, plan_jobs
from reproduction.experiments._record import Drawing, Experiment
from reproduction.experiments._share import share_out
from reproduction.statistics import Cell, ResultFile


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    done : int
        Jobs that are finished, those of earlier runs among them. A job is one method
        on one fold.
    total : int
    cells : tuple of Cell
        What the last job has given; nothing at the start.
    experiment : str
    before : tuple of Cell
        At the start, what earlier runs have left of the same cells.
    """

    done: int
    total: int
    cells: tuple[Cell, ...] = ()
    experiment: str = ""
    before: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Run:
    """What a run has done.

    Attributes
    ----------
    experiment : str
    path : Path
        Of the result file.
    n_run : int
        Jobs that were run now.
    n_skipped : int
        Jobs that an earlier run had finished.
    failed : tuple of Cell
        Cells without a value that nobody expected; ``params["why"]`` tells more.
    """

    experiment: str
    path: Path
    n_run: int
    n_skipped: int
    failed: tuple[Cell, ...] = ()


def run_experiment(
    name: str,
    *,
    protocol: str = "quick",
    out: str | PathLike[str] = "results",
    jobs: int = 1,
    seeds: int = 1,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    data: Literal["digits"] | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> Run:
    """Run an experiment of the paper, and keep each cell as soon as it is finished.

    Cells are appended to ``<out>/<name>.jsonl``; those that are there already are not
    run again. A run that is stopped, by Ctrl-C or in any other way, loses at most what
    was being computed: start it again. The data of figures are written to
    ``<out>/<name>.json``, images to ``<out>/<name>.npz``.

    A cell that can't be filled has no value, and the reason in ``params["why"]``; the
    run goes on. It is tried again the next time, unless it can't ever be filled.

    Parameters
    ----------
    name : str
        One of ``list_experiments()``.
    protocol : {"paper", "authors", "quick"}, default="quick"
        How it is measured; not every experiment has all of them.
    out : str or PathLike, default="results"
        Folder of the results; made if it is not there.
    jobs : int, default=1
        Number of processes, one core each. With more than one, scripts need the guard
        ``if __name__ == "__main__"``.
    seeds : int, default=1
        Number of repetitions: other folds, other values removed, other networks.
    methods, datasets : sequence of str, default=None
        Some columns and rows of the table; all by default.
    data : {"digits"}, default=None
        Small data sets that come with scikit-learn, in place of the paper's.
    progress : callable, default=None
        Called with a ``Progress`` at the start and after each job.

    Returns
    -------
    Run

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.experiments import run_experiment
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = run_experiment(
    ...         "table-4", out=folder, data="digits", datasets=["iris"],
    ...         methods=["mean", "hgb"],
    ...     )
    >>> run.n_run, run.n_skipped, run.failed
    (2, 0, ())
    """
    experiment = load_experiment(name)
    choice = Choice(protocol, seeds, methods, datasets, data)
    check_choice_of(experiment, choice)
    check_positive_int(jobs, "jobs")
    with Workers(jobs) as workers:
        return _run(experiment, choice, Path(out), workers, progress or _say_nothing)


def run_experiments(
    names: Iterable[str],
    *,
    protocol: str = "quick",
    out: str | PathLike[str] = "results",
    jobs: int = 1,
    seeds: int = 1,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    data: Literal["digits"] | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Run]:
    """Run several experiments, one after the other, with the same processes.

    Each takes those of the methods and data sets that it has. One that has none of
    them, or not the protocol, is left out.

    Parameters
    ----------
    names : iterable of str
        Some of ``list_experiments()``.
    protocol : {"paper", "authors", "quick"}, default="quick"
    out : str or PathLike, default="results"
    jobs : int, default=1
    seeds : int, default=1
    methods, datasets : sequence of str, default=None
        Names that no experiment knows are refused.
    data : {"digits"}, default=None
    progress : callable, default=None
        As in ``run_experiment``, and ``Progress.experiment`` tells which one it is.

    Returns
    -------
    list of Run
        Without those that were left out.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.experiments import run_experiments
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = run_experiments(
    ...         ["table-1", "table-4", "table-6"], out=folder, data="digits",
    ...         datasets=["iris"], methods=["hgb"],
    ...     )
    >>> [(run.experiment, run.n_run) for run in runs]
    [('table-4', 1), ('table-6', 1)]
    """
    experiments = [load_experiment(name) for name in _list_of(names)]
    choice = Choice(protocol, seeds, methods, datasets, data)
    shares = share_out(experiments, choice)
    check_positive_int(jobs, "jobs")
    told = progress or _say_nothing
    with Workers(jobs) as workers:
        return [_run(*share, Path(out), workers, told) for share in shares]


def _list_of(names: Iterable[str]) -> list[str]:
    chosen = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if not chosen:
        msg = f"Got no names, but expected some of {', '.join(list_experiments())}."
        raise ValueError(msg)
    return chosen


def _run(
    experiment: Experiment,
    choice: Choice,
    folder: Path,
    workers: Workers,
    told: Callable[[Progress], Any],
) -> Run:
    shelf = _Shelf(folder, experiment)
    every = list(plan_jobs(experiment, choice))
    left = [job for job in every if not shelf.has(job)]
    n_skipped = len(every) - len(left)
    name = experiment.name
    told(Progress(n_skipped, len(every), (), name, shelf.cells_of(every)))
    failed: list[Cell] = []
    with closing(workers.work_through(compute, left)) as outcomes:
        for done, outcome in enumerate(outcomes, n_skipped + 1):
            shelf.put(outcome)
            failed += () if outcome.expected else outcome.cells
            told(Progress(done, len(every), outcome.cells, name))
    _draw(experiment, choice, folder)
    return Run(name, shelf.file.path, len(left), n_skipped, tuple(failed))


class _Shelf:
    """Where the outcomes of an experiment are kept."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self.folder = folder
        shown = experiment.cells_of or experiment.name
        self.file = ResultFile(folder / f"{shown}.jsonl")
        self._metrics = experiment.metrics
        # The cells alone are not enough for a figure of them.
        self._needs_images = experiment.cells_of is not None
        self._finished = {cell.key for cell in self.file.cells if is_finished(cell)}

    def has(self, job: Job) -> bool:
        """Return whether nothing of a job is left to do."""
        done = all(key in self._finished for key in job.keys(self._metrics))
        return done and (not self._needs_images or self._has_images(job))

    def cells_of(self, jobs: Iterable[Job]) -> tuple[Cell, ...]:
        """Return what there is of some jobs."""
        keys = {key for job in jobs for key in job.keys(self._metrics)}
        return tuple(cell for cell in self.file.cells if cell.key in keys)

    def _has_images(self, job: Job) -> bool:
        return path_of_images(self.folder, job).exists()

    def put(self, outcome: Outcome) -> None:
        """Keep what a job has given; its cells last, as they say that it is done."""
        if outcome.images is not None:
            path = path_of_images(self.folder, outcome.job)
            write_arrays(path, {"images": outcome.images})
        self.file.append(outcome.cells)


def _draw(experiment: Experiment, choice: Choice, folder: Path) -> None:
    """Write the data of a figure, if it is one."""
    if experiment.draw is None:
        return
    drawing = Drawing(
        folder,
        choice.protocol,
        choice.data,
        choice.settings(experiment),
        choice.columns(experiment),
    )
    with one_core():
        content = experiment.draw(drawing)
    suffix = "npz" if experiment.body == "autoencoder" else "json"
    update_figure(folder / f"{experiment.name}.{suffix}", drawing.label, content)


def _say_nothing(progress: Progress) -> None:
    pass
