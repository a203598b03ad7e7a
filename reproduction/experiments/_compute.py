"""From a job to its cells, whatever happens on the way."""

import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiments._autoencoders import measure_errors
from reproduction.experiments._catalogue import load_experiment
from reproduction.experiments._classification import (
    CannotRunError,
    Measured,
    measure_accuracy,
)
from reproduction.experiments._jobs import Job
from reproduction.experiments._provenance import find_commit, find_versions
from reproduction.experiments._record import Experiment
from reproduction.statistics import Cell

_LONGEST = 200  # letters of a warning that are kept
RETRY = "retry"  # in the params of a cell that failed and is tried again next time


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a job has left.

    Attributes
    ----------
    job : Job
    cells : tuple of Cell
        One for each metric; without a value if the job failed, and with the reason in
        ``params["why"]``.
    images : ndarray or None
    expected : bool
        False if it failed and nobody knew that it would.
    """

    job: Job
    cells: tuple[Cell, ...]
    images: np.ndarray | None = None
    expected: bool = True


def compute(job: Job) -> Outcome:
    """Run a job, and return its cells even if it fails.

    Parameters
    ----------
    job : Job

    Returns
    -------
    Outcome
    """
    experiment = load_experiment(job.experiment)
    measure = measure_errors if experiment.body == "autoencoder" else measure_accuracy
    start = time.perf_counter()
    expected = True
    with _collected() as said:
        try:
            found = _check_finite(measure(experiment, job))
        except CannotRunError as error:
            found = Measured({}, {"why": str(error)})
        except ImportError as error:
            found = Measured({}, {"why": str(error), RETRY: True})
        except Exception as error:  # One cell must not end a run of many hours.
            found = Measured({}, {"why": _describe(error), RETRY: True})
            expected = False
    seconds = time.perf_counter() - start
    noted = replace(found, params={**found.params, **said})
    cells = _make_cells(experiment, job, noted, seconds=seconds)
    return Outcome(job, cells, found.images, expected)


def is_finished(cell: Cell) -> bool:
    """Return whether a cell need not be run again.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    bool
        False if it failed for a reason that may be gone the next time.
    """
    return not cell.params.get(RETRY, False)


def _check_finite(found: Measured) -> Measured:
    if not np.isfinite(list(found.values.values())).all():
        msg = f"Got {dict(found.values)}, but expected finite numbers."
        raise ValueError(msg)
    return found


def _describe(error: Exception) -> str:
    """Return an exception in a line, with the place that it came from."""
    *_, last = traceback.extract_tb(error.__traceback__)
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return f"{type(error).__name__}: {error} ({place})"


@contextmanager
def _collected() -> Iterator[dict[str, Any]]:
    """Keep warnings, each text once, instead of showing them in the midst of a run."""
    said: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    texts = [f"{each.category.__name__}: {each.message}"[:_LONGEST] for each in caught]
    if texts:
        said["warnings"] = list(dict.fromkeys(texts))


def _make_cells(
    experiment: Experiment, job: Job, found: Measured, *, seconds: float
) -> tuple[Cell, ...]:
    """Return a cell for each metric; the parameters are all that was not a default."""
    budget = experiment.budget(job.protocol, job.data)
    # Our classifier stays as it is by default; see ``make_model``.
    default = job.method == "lacunet" and experiment.body != "autoencoder"
    shared = {} if default else experiment.parameters
    params = {**shared, **budget.parameters_of(job.method), **found.params}
    return tuple(
        Cell(
            experiment=job.experiment,
            dataset=job.dataset,
            rate=job.rate,
            method=job.method,
            fold=job.fold,
            seed=job.seed,
            protocol=job.protocol,
            metric=metric,
            value=found.values.get(metric),
            params=params,
            seconds=seconds,
            versions=find_versions(job.method),
            commit=find_commit(),
        )
        for metric in experiment.metrics
    )
