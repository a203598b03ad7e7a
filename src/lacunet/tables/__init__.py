"""Tables in files: read, and written back with missing values filled."""

from lacunet._output import open_output
from lacunet.tables._columns import ColumnInfo, Notice, list_notices
from lacunet.tables._file import TableFile, open_table
from lacunet.tables._options import ReadOptions
from lacunet.tables._schema import Match, ModelTable, Schema, SchemaColumn
from lacunet.tables._writing import (
    FileFormat,
    FillCount,
    predict_rows,
    write_draws,
    write_filled,
    write_rows,
)

__all__ = [
    "ColumnInfo",
    "FileFormat",
    "FillCount",
    "Match",
    "ModelTable",
    "Notice",
    "ReadOptions",
    "Schema",
    "SchemaColumn",
    "TableFile",
    "list_notices",
    "open_output",
    "open_table",
    "predict_rows",
    "write_draws",
    "write_filled",
    "write_rows",
]
