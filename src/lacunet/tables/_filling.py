"""What goes into holes: from frames of a model to values, counted."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lacunet.tables._scanner import Bools, Places
from lacunet.tables._wanted import Wanted

Fill = Callable[[Any], Sequence[Any]]  # of a frame with holes, one or more without


@dataclass(frozen=True)
class FillCount:
    """What was filled in a table.

    Parameters
    ----------
    n_rows : int
    filled : mapping of str to int
        Holes that were filled, of each column that had some.
    left : mapping of str to int
        Holes for which there was no value.
    unseen : mapping of str to sequence of str
        A few levels of categories, in rows with holes, that the model has not seen.
    """

    n_rows: int
    filled: Mapping[str, int]
    left: Mapping[str, int]
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A table to write with its holes filled, once or more.

    Parameters
    ----------
    wanted : sequence of Wanted
        What the model is to see.
    outputs : sequence of binary streams
    fill : callable
        From a frame of rows with holes to as many filled ones as there are outputs.
    advance : callable
        Told how many rows are written.
    """

    wanted: Sequence[Wanted]
    outputs: Sequence[IO[bytes]]
    fill: Fill
    advance: Callable[[int], object]

    @property
    def here(self) -> list[tuple[Wanted, int]]:
        """The columns that the file has, with their places."""
        return [(each, each.place) for each in self.wanted if each.place is not None]

    def ask(self, frame: Any) -> Sequence[Any]:
        """Return frames that are filled.

        Parameters
        ----------
        frame : DataFrame

        Returns
        -------
        sequence of DataFrame
        """
        filled = self.fill(frame)
        sizes = [len(each) for each in filled]
        if sizes != [len(frame)] * len(self.outputs):
            msg = (
                f"Got frames of {sizes} rows to fill holes from, but expected "
                f"{len(self.outputs)} of {len(frame)} rows."
            )
            raise ValueError(msg)
        return filled


class Values(NamedTuple):
    """What goes into the holes of a column.

    Parameters
    ----------
    rows : ndarray of int of shape (values,)
    values : ndarray of shape (values,)
        None of them missing.
    """

    rows: Places
    values: NDArray[Any]


class Tally:
    """Takes values out of frames, and counts them.

    Attributes
    ----------
    n_rows : int
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._filled: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def take(self, frame: Any, name: str, holes: Bools, *, counts: bool) -> Values:
        """Return what a frame has for the holes of a column.

        Parameters
        ----------
        frame : DataFrame
        name : str
        holes : ndarray of bool of shape (rows,)
        counts : bool
            Whether to count them: of several tables, one is counted.

        Returns
        -------
        Values
        """
        rows = np.flatnonzero(holes)
        found = Values(rows[:0], np.empty(0))
        if len(rows) and name in frame.columns:
            values = _pick(frame[name], rows)
            known = pd.notna(values)
            found = Values(rows[known], values[known])
        if counts and len(rows):
            self._filled[name] += len(found.rows)
            self._left[name] += len(rows) - len(found.rows)
        return found

    def result(self) -> FillCount:
        """Return the counts.

        Returns
        -------
        FillCount
        """
        # Without those of which there are none.
        return FillCount(self.n_rows, dict(+self._filled), dict(+self._left))


def _pick(series: Any, rows: Places) -> NDArray[Any]:
    # What numpy can hold is picked in numpy, which takes much less time.
    is_plain = isinstance(series.dtype, np.dtype)
    picked: NDArray[Any] = (
        series.to_numpy()[rows] if is_plain else series.iloc[rows].to_numpy(object)
    )
    return picked
