"""From any table to the array of floats that a network takes, and back."""

from collections.abc import Mapping
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import assert_all_finite

from lacunet._validation import check_choice, check_positive_int
from lacunet.estimators._columns import Column
from lacunet.estimators._reading import RawColumn, as_table, read_columns
from lacunet.estimators._restoring import Fill, fill_array, fill_frame
from lacunet.estimators._scaling import (
    METHODS,
    Method,
    Scaling,
    fit_scaling,
    scaling_from_state,
)
from lacunet.exceptions import LacunetError, warn_user


class TableEncoder:
    """Encode tables with missing values as floats, NaN where a value is missing.

    First come the numbers and dates, in the order of the table and brought to scale;
    then, for each category, a group of as many columns as it has levels, with a one
    where a row has the level. A missing category is NaN in all columns of its group,
    and so is a level that training has not seen.

    Parameters
    ----------
    max_categories : int, default=32
        Most levels of a category. Where there are more, the rarest are pooled into
        the last of them.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are brought to scale: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to normal ones, or not at all.

    Attributes
    ----------
    columns : tuple of Column
        What is known of the columns of the training table.
    scaling : Scaling
        The scale of numbers and dates.
    n_numeric : int
        Number of numbers and dates.
    sizes : tuple of int
        Number of levels of each category.
    width : int
        Number of encoded columns.
    sources : ndarray of int of shape (width,)
        The column of the table that each encoded column comes from.

    Examples
    --------
    >>> table = [[1.0, "a"], [None, "b"], [3.0, None]]
    >>> encoder = TableEncoder()
    >>> encoder.fit_transform(table)
    array([[-1.,  1.,  0.],
           [nan,  0.,  1.],
           [ 1., nan, nan]])
    >>> filled = np.array([[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.2, 0.8]])
    >>> encoder.restore(filled, table)
    array([[1.0, 'a'],
           [2.0, 'b'],
           [3.0, 'b']], dtype=object)
    """

    columns: tuple[Column, ...]
    scaling: Scaling

    def __init__(self, *, max_categories: int = 32, scale: Method = "standard") -> None:
        self.max_categories = max_categories
        self.scale = scale

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned.

        Parameters
        ----------
        state : mapping

        Returns
        -------
        TableEncoder
        """
        try:
            encoder = cls(max_categories=state["max_categories"], scale=state["scale"])
            encoder._check_parameters()
            columns = tuple(Column.from_state(column) for column in state["columns"])
            encoder._set(columns, scaling_from_state(state["scaling"], encoder.scale))
            _check_order(encoder)
        except (KeyError, TypeError, ValueError) as error:
            msg = (
                f"Got a damaged schema of the table ({error!r}), but expected what the "
                f"model was saved with. Save the model again."
            )
            raise LacunetError(msg) from error
        return encoder

    def to_state(self) -> dict[str, Any]:
        """Return the fitted encoder as JSON-able values, without NaN."""
        return {
            "max_categories": int(self.max_categories),
            "scale": self.scale,
            "columns": [column.to_state() for column in self.columns],
            "scaling": self.scaling.to_state(),
        }

    @property
    def width(self) -> int:
        """Return the number of encoded columns."""
        return len(self.sources)

    def fit(self, X: Any) -> Self:
        """Learn kinds, levels and scales of the columns.

        Parameters
        ----------
        X : array-like or frame of shape (rows, columns)

        Returns
        -------
        TableEncoder
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any) -> np.ndarray:
        """Fit and encode at once, which reads the table once.

        Parameters
        ----------
        X : array-like or frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows, width)
        """
        self._check_parameters()
        cells = read_columns(as_table(X))
        columns = tuple(
            Column.from_cells(index, raw, max_categories=self.max_categories)
            for index, raw in enumerate(cells)
        )
        numbers = _numbers(columns, cells)
        scaling = fit_scaling(numbers, self.scale)
        self._set(columns, scaling)
        _warn_of_empty_columns(self.columns)
        _warn_of_constant_columns(self.columns, cells)
        return self._encode(self.scaling.transform(numbers), cells)

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table with the columns of the training table.

        Parameters
        ----------
        X : array-like or frame of shape (rows, columns)

        Returns
        -------
        ndarray of shape (rows, width)
        """
        table = X if type(X) is np.ndarray else as_table(X)
        if self._plain:
            array = table if isinstance(table, np.ndarray) else table.to_numpy()
            if array.ndim == 2 and array.dtype.kind in "fiu":
                return self._transform_floats(array)
        cells = self._read(as_table(table))
        numbers = _numbers(self.columns, cells)
        return self._encode(self.scaling.transform(numbers), cells)

    def restore(self, encoded: np.ndarray, X: Any) -> Any:
        """Fill the holes of a table with what an encoded table has in their places.

        Numbers come back to their own units, rounded where the column holds integers;
        dates are rounded to the column's own resolution; of a category the level with
        the largest entry is taken (for the pooled ones the most frequent of them). A
        column with nothing observed in training is filled if it holds numbers and
        stays missing otherwise.

        Parameters
        ----------
        encoded : ndarray of shape (rows, width)
            Without holes.
        X : array-like or frame of shape (rows, columns)

        Returns
        -------
        array or frame of shape (rows, columns)
            Of the kind of ``X``, with its names, order and dtypes. Observed cells are
            as they were, also levels that training has not seen.
        """
        table = as_table(X)
        cells = self._read(table)
        self._check_encoded(encoded, len(table))
        numbers = self.scaling.inverse(encoded[:, : self.n_numeric])
        fills = self._fills(encoded, numbers, cells)
        if isinstance(table, np.ndarray):
            return fill_array(table, fills)
        return fill_frame(table, fills)

    def holes(self, X: Any) -> np.ndarray:
        """Return where values are missing; a level that is new is not.

        Parameters
        ----------
        X : array-like or frame of shape (rows, columns)

        Returns
        -------
        ndarray of bool of shape (rows, columns)
        """
        return np.stack([~raw.observed for raw in self._read(as_table(X))], axis=1)

    def unseen_holes(self, encoded: np.ndarray) -> tuple[str | int, ...]:
        """Return the columns that have holes here and had none in training.

        Parameters
        ----------
        encoded : ndarray of shape (rows, width)
            What ``transform`` returned.

        Returns
        -------
        tuple of str or int
            Names, or indices where there are no names.
        """
        if not len(self._without_holes):
            return ()
        missing = np.isnan(encoded[:, self._without_holes]).any(0)
        found = self.sources[self._without_holes[missing]]
        return tuple(self.columns[index].name for index in found)

    def _check_parameters(self) -> None:
        check_positive_int(self.max_categories, "max_categories")
        check_choice(self.scale, METHODS, "scale")

    def _set(self, columns: tuple[Column, ...], scaling: Scaling) -> None:
        """Keep what was learned, and what follows from it."""
        self.columns = columns
        self.scaling = scaling
        numeric = [column for column in columns if column.kind != "category"]
        categories = [column for column in columns if column.kind == "category"]
        self.n_numeric = len(numeric)
        self.sizes = tuple(column.size for column in categories)
        indices = [column.index for column in (*numeric, *categories)]
        repeats = [1] * len(numeric) + list(self.sizes)
        self.sources = np.repeat(np.array(indices, dtype=np.intp), repeats)
        self._kinds = tuple(column.kind for column in columns)
        self._plain = all(kind == "number" for kind in self._kinds)
        self._empty = [column.index for column in columns if column.empty]
        # The first encoded column of each column that had no holes.
        starts = np.cumsum([0, *repeats])[:-1]
        complete = [not columns[index].had_holes for index in indices]
        self._without_holes = starts[np.array(complete, dtype=bool)]

    def _transform_floats(self, X: np.ndarray) -> np.ndarray:
        """Encode an array of numbers without looking at single columns."""
        self._check_n_columns(X.shape[1])
        numbers = X.astype(np.float64)
        if np.isinf(numbers).any():
            # For the message that users of scikit-learn know.
            assert_all_finite(numbers, allow_nan=True, input_name="X")
        if self._empty:
            numbers[:, self._empty] = np.nan
        return self.scaling.transform(numbers)

    def _read(self, table: "np.ndarray | nw.DataFrame[Any]") -> list[RawColumn]:
        self._check_n_columns(table.shape[1])
        return read_columns(table, self._kinds)

    def _encode(self, scaled: np.ndarray, cells: list[RawColumn]) -> np.ndarray:
        encoded = np.empty((len(scaled), self.width))
        encoded[:, : self.n_numeric] = scaled
        start = self.n_numeric
        for column, raw in zip(self.columns, cells, strict=True):
            if column.kind == "category":
                group = encoded[:, start : start + column.size]  # (rows, levels)
                _one_hot(column.codes_of(raw), out=group)
                start += column.size
        return encoded

    def _fills(
        self, encoded: np.ndarray, numbers: np.ndarray, cells: list[RawColumn]
    ) -> list[Fill]:
        fills = []
        for column, raw in zip(self.columns, cells, strict=True):
            rows = np.flatnonzero(~raw.observed)
            if len(rows):
                place = np.flatnonzero(self.sources == column.index)
                category = column.kind == "category"
                values = encoded[:, place] if category else numbers[:, place[0]]
                fills.append(Fill(column, raw, rows, values[rows]))
        return fills

    def _check_n_columns(self, n_columns: int) -> None:
        if n_columns != len(self.columns):
            msg = (
                f"Got a table of {n_columns} columns, but expected "
                f"{len(self.columns)}, as in training."
            )
            raise ValueError(msg)

    def _check_encoded(self, encoded: np.ndarray, n_rows: int) -> None:
        if encoded.shape != (n_rows, self.width) or np.isnan(encoded).any():
            msg = (
                f"Got encoded of shape {encoded.shape} with "
                f"{int(np.isnan(encoded).sum())} holes, but expected "
                f"({n_rows}, {self.width}) without holes."
            )
            raise ValueError(msg)


def _numbers(columns: tuple[Column, ...], cells: list[RawColumn]) -> np.ndarray:
    """Return numbers and dates, (rows, numeric columns)."""
    values = [
        column.numbers_of(raw)
        for column, raw in zip(columns, cells, strict=True)
        if column.kind != "category"
    ]
    if not values:
        return np.empty((len(cells[0].values) if cells else 0, 0))
    return np.stack(values, axis=1)


def _one_hot(codes: np.ndarray, *, out: np.ndarray) -> None:
    out[:] = 0.0
    seen = np.flatnonzero(codes >= 0)
    out[seen, codes[seen]] = 1.0
    out[codes < 0] = np.nan


def _warn_of_empty_columns(columns: tuple[Column, ...]) -> None:
    empty = [column.name for column in columns if column.empty]
    if empty:
        msg = (
            f"Got columns without one observed value: {empty}. They are kept and count "
            f"as missing in every row, also where later data have values."
        )
        warn_user(msg)


def _warn_of_constant_columns(
    columns: tuple[Column, ...], cells: list[RawColumn]
) -> None:
    """Name the columns of one value, but not of zeros: indicators and image borders."""
    if len(cells[0].values) < 2:
        return
    pairs = zip(columns, cells, strict=True)
    constant = [column.name for column, raw in pairs if _is_constant(column, raw)]
    if constant:
        msg = (
            f"Got columns with one value only: {constant}. They are kept as they are, "
            f"but nothing can be learned from them, unless from where they are missing."
        )
        warn_user(msg)


def _is_constant(column: Column, raw: RawColumn) -> bool:
    if column.kind == "category":
        values = (*column.levels, *column.pooled)
        return len(values) == 1 and bool(values[0])
    if column.empty:
        return False
    seen = raw.values[raw.observed]
    is_zero = column.kind == "number" and seen[0] == 0
    return bool((seen == seen[0]).all()) and not is_zero


def _check_order(encoder: TableEncoder) -> None:
    """Refuse columns out of order, or scales of another number of them."""
    indices = [column.index for column in encoder.columns]
    if indices != list(range(len(indices))):
        msg = f"columns in the order {indices}"
        raise ValueError(msg)
    if len(encoder.scaling.centre) != encoder.n_numeric:
        msg = f"{len(encoder.scaling.centre)} scales of {encoder.n_numeric} columns"
        raise ValueError(msg)
