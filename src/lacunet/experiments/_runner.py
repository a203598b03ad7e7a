"""Runs experiments, and goes on where an earlier run has stopped."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from lacunet._validation import check_positive_int
from lacunet.experiments._catalogue import load_experiment
from lacunet.experiments._compute import Outcome, compute, is_finished
from lacunet.experiments._files import path_of_images, update_figure, write_arrays
from lacunet.experiments._jobs import Choice, Job, check_choice_of, plan_jobs
from lacunet.experiments._record import Drawing, Experiment
from lacunet.experiments._workers import one_core, work_through
from lacunet.results import Cell, ResultFile


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
    """

    done: int
    total: int
    cells: tuple[Cell, ...] = ()


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
    >>> from lacunet.experiments import run_experiment
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
    shelf = _Shelf(Path(out), experiment)
    every = list(plan_jobs(experiment, choice))
    left = [job for job in every if not shelf.has(job)]
    told = progress or _say_nothing
    told(Progress(len(every) - len(left), len(every)))
    failed: list[Cell] = []
    n_workers = min(jobs, max(1, len(left)))
    with closing(work_through(compute, left, n_workers)) as outcomes:
        for done, outcome in enumerate(outcomes, len(every) - len(left) + 1):
            shelf.put(outcome)
            failed += () if outcome.expected else outcome.cells
            told(Progress(done, len(every), outcome.cells))
    _draw(experiment, choice, Path(out))
    return Run(name, shelf.file.path, len(left), len(every) - len(left), tuple(failed))


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
