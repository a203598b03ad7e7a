"""The columns that a model knows, and those of a file beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from lacunet.exceptions import TableError
from lacunet.tables._levels import Level

Kind = Literal["number", "category", "date", "empty"]


@dataclass(frozen=True)
class SchemaColumn:
    """A column that a model was trained on.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "empty"}
        Of a column that was empty in training no value is ever used or filled.
    levels : tuple of str, int, float or bool, default=()
        Of a category.
    had_holes : bool, default=True
        Whether a value was missing in training.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    had_holes: bool = True


@dataclass(frozen=True)
class Schema:
    """The columns that a model was trained on, in their order.

    Parameters
    ----------
    columns : tuple of SchemaColumn

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import LacunetImputer
    >>> from lacunet.tables import Schema
    >>> table = pd.DataFrame({"age": [40, None, 50], "town": ["Rome", "Bonn", None]})
    >>> Schema.of_model(LacunetImputer(random_state=0).fit(table)).names
    ('age', 'town')
    """

    columns: tuple[SchemaColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def empty(self) -> tuple[str, ...]:
        """Names of the columns that had no value in training."""
        return tuple(column.name for column in self.columns if column.kind == "empty")

    @classmethod
    def of_model(cls, model: Any) -> Self:
        """Return the columns that a model was trained on.

        Parameters
        ----------
        model : estimator of lacunet
            Fitted, on a table whose columns have names.

        Returns
        -------
        Schema
        """
        columns = model._inputs.table.columns
        if not hasattr(model, "feature_names_in_"):
            msg = (
                f"Got a model of {len(columns)} columns without names, but expected "
                f"names, by which the columns of a file are found. Fit it on a frame."
            )
            raise TableError(msg)
        return cls(
            tuple(
                _describe(str(name), column)
                for name, column in zip(model.feature_names_in_, columns, strict=True)
            )
        )


@dataclass(frozen=True)
class Match:
    """What a file has of the columns of a model.

    Parameters
    ----------
    missing : tuple of str
        Columns that the file lacks: they are missing in every row. Those that were
        empty in training are missing in any case, and not among them.
    unknown : tuple of str
        Columns that the model does not know: they are left out.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]


def match_names(names: Sequence[str], schema: Schema, source: str) -> Match:
    """Compare the columns of a file with those of a model.

    Parameters
    ----------
    names : sequence of str
        Of the file.
    schema : Schema
    source : str
        Name of the file.

    Returns
    -------
    Match
    """
    here, wanted, empty = set(names), set(schema.names), set(schema.empty)
    useful = [name for name in schema.names if name not in empty] or schema.names
    if here.isdisjoint(useful):
        msg = (
            f"Got {source} without a column that the model knows, but expected such as "
            f"{useful[0]!r}. Is it the right file, and is its first line one of "
            f"names?"
        )
        raise TableError(msg)
    return Match(
        tuple(name for name in schema.names if name not in here | empty),
        tuple(name for name in names if name not in wanted),
    )


def _describe(name: str, column: Any) -> SchemaColumn:
    kind: Kind = "empty" if column.empty else column.kind
    levels = (*column.categories, *column.pooled)
    return SchemaColumn(name, kind, levels, column.had_missing)
