"""The texts of a block of rows, all columns in one array."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lacunet.tables._scanner import Places


@dataclass(frozen=True, eq=False)
class TextGrid:
    """Texts in rows and columns.

    What is done to all of them at once costs much less than column by column, if there
    are thousands of columns.

    Parameters
    ----------
    flat : StringArray of shape (rows * columns,)
        Row by row.
    n_columns : int
    """

    flat: pa.StringArray
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.flat) // self.n_columns, self.n_columns

    def column(self, place: int) -> pa.StringArray:
        """Return the texts of a column.

        Parameters
        ----------
        place : int

        Returns
        -------
        StringArray of shape (rows,)
        """
        return self.columns([place]).flat

    def columns(self, places: Sequence[int]) -> "TextGrid":
        """Return some of the columns.

        Parameters
        ----------
        places : sequence of int
            Ascending.

        Returns
        -------
        TextGrid
        """
        if len(places) == self.n_columns:
            return self
        chosen = self._numbers()[:, places].ravel()
        return TextGrid(self.flat.take(pa.array(chosen)), len(places))

    def rows(self, numbers: Places) -> "TextGrid":
        """Return some of the rows.

        Parameters
        ----------
        numbers : ndarray of int

        Returns
        -------
        TextGrid
        """
        chosen = self._numbers()[numbers].ravel()
        return TextGrid(self.flat.take(pa.array(chosen)), self.n_columns)

    def _numbers(self) -> NDArray[np.int64]:
        return np.arange(len(self.flat)).reshape(self.shape)
