"""Tables in files: read, and written back with missing values filled."""

from lacunet._output import open_output
from lacunet.tables._columns import ColumnInfo, Notice
from lacunet.tables._file import TableFile, open_table
from lacunet.tables._filling import FillCount, write_draws, write_filled
from lacunet.tables._options import ReadOptions
from lacunet.tables._rows import predict_rows, write_rows
from lacunet.tables._schema import Match, ModelTable, Schema, SchemaColumn
from lacunet.tables._source import FileFormat

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
    "open_output",
    "open_table",
    "predict_rows",
    "write_draws",
    "write_filled",
    "write_rows",
]
