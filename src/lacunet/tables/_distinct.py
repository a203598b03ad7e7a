"""How many values a column has, without keeping all of them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST_DISTINCT = 1000  # values that are kept of a column
_MOST_IN_ALL = 2**20  # that are kept of all columns
_MANY_COLUMNS = 1000  # beyond which measured values are not counted


class Distinct:
    """The values of a column, as long as they are few.

    Parameters
    ----------
    n_columns : int, default=1
        Of the table: the more there are, the fewer values are kept of each.

    Attributes
    ----------
    all_differ : bool
        Whether no two rows have the same value; where values are too many, no two rows
        of a block.
    """

    def __init__(self, n_columns: int = 1) -> None:
        self.all_differ = True
        self._most = min(MOST_DISTINCT, _MOST_IN_ALL // n_columns)
        self._is_one_of_many = n_columns > _MANY_COLUMNS
        self._values: dict[Any, None] | None = {}

    @property
    def values(self) -> tuple[Any, ...] | None:
        """The values in the order in which they came; None if they are too many."""
        return None if self._values is None else tuple(self._values)

    @property
    def count(self) -> int | None:
        """Their number; None if they are too many."""
        return None if self._values is None else len(self._values)

    def is_open(self, *, is_measured: bool) -> bool:
        """Tell whether there is something left to find out.

        Parameters
        ----------
        is_measured : bool
            Whether nobody asks if all differ, as it says nothing of such a column.

        Returns
        -------
        bool
        """
        if is_measured and self._is_one_of_many:
            return False
        return self._values is not None or (self.all_differ and not is_measured)

    def give_up(self) -> None:
        """Count no longer."""
        self._values = None

    def see(self, array: pa.Array) -> None:
        """Look at more values.

        Parameters
        ----------
        array : Array
            Null where a value is missing.
        """
        values = pc.unique(array).drop_null()
        self.all_differ &= len(values) == len(array) - array.null_count
        if self._values is None or len(values) > self._most:
            self._values = None
            return
        n_before = len(self._values)
        self._values.update(dict.fromkeys(values.to_pylist()))
        self.all_differ &= len(self._values) == n_before + len(values)
        if len(self._values) > self._most:
            self._values = None


class Counting:
    """Tells whether every row has a number that is one more than the row before.

    Attributes
    ----------
    alive : bool
    """

    def __init__(self) -> None:
        self.alive = True
        self._last: float | None = None

    def see(self, values: NDArray[np.float64]) -> None:
        """Look at more numbers.

        Parameters
        ----------
        values : ndarray of shape (rows,)
            Not empty, NaN where a value is missing.
        """
        if not self.alive:
            return
        before = values[0] - 1 if self._last is None else self._last
        with np.errstate(invalid="ignore"):  # of infinite numbers
            self.alive = values[0] - before == 1 and bool((np.diff(values) == 1).all())
        self._last = float(values[-1])
