"""What is known of a run while it goes on: cells done, means so far, time left."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from reproduction.experiments import Progress, load_experiment
from reproduction.statistics import Cell, mean_table


class Mean(NamedTuple):
    """The mean of a method over the rows of a table that it has a value on."""

    method: str
    value: float
    n_rows: int


class Watch:
    """Follows runs, one experiment after the other.

    Parameters
    ----------
    clock : callable, default=time.monotonic

    Attributes
    ----------
    experiment : str
        The one that is run now.
    metric : str
        What it is mainly measured by.
    done, total : int
        Cells; here a cell is a method on a fold, whatever it is measured by.
    means : list of Mean
        Of the methods so far, in the order of the table.
    empty : mapping of str to list of Cell
        Those without a value that were run now, by experiment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.experiment = self.metric = ""
        self.done = self.total = 0
        self.means: list[Mean] = []
        self.empty: dict[str, list[Cell]] = {}
        self._order: tuple[str, ...] = ()
        self._cells: list[Cell] = []
        self._n_before, self._start = 0, clock()

    def take(self, progress: Progress) -> tuple[Cell, ...]:
        """Take in what a run tells.

        Parameters
        ----------
        progress : Progress

        Returns
        -------
        tuple of Cell
            What is new, by the main metric.
        """
        if progress.experiment != self.experiment:
            self._begin(progress)
        self.done, self.total = progress.done, progress.total
        new = [cell for cell in progress.cells if cell.metric == self.metric]
        self._cells += new
        self.empty[self.experiment] += [cell for cell in new if cell.value is None]
        self.means = self._find_means()
        return tuple(new)

    def seconds_left(self) -> float | None:
        """Return about how long the experiment still takes; None at the start."""
        n_now = self.done - self._n_before
        if n_now <= 0:
            return None
        return self.elapsed() / n_now * (self.total - self.done)

    def elapsed(self) -> float:
        """Return the seconds since the experiment was begun."""
        return self._clock() - self._start

    def _begin(self, progress: Progress) -> None:
        experiment = load_experiment(progress.experiment)
        self.experiment, self.metric = experiment.name, experiment.metrics[0]
        self._order = experiment.methods
        self._cells = [cell for cell in progress.before if cell.metric == self.metric]
        self._n_before = progress.done
        self.empty[self.experiment] = []
        self._start = self._clock()

    def _find_means(self) -> list[Mean]:
        if not self._cells:
            return []
        table = mean_table(self._cells, self.metric)
        found = {}
        for method, column in zip(table.methods, table.mean.T, strict=True):
            values = [value for value in column.tolist() if not math.isnan(value)]
            if values:
                found[method] = Mean(
                    method, math.fsum(values) / len(values), len(values)
                )
        return [found[method] for method in self._order if method in found]
