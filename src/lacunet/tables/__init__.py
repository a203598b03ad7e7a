"""Tables in files: read, and written back with missing values filled."""

from lacunet._output import open_output
from lacunet.tables._columns import ColumnInfo, Notice, list_notices
from lacunet.tables._drift import (
    Change,
    ColumnDrift,
    ColumnSummary,
    Drift,
    summarize_columns,
)
from lacunet.tables._file import TableFile, open_table
from lacunet.tables._options import ReadOptions
from lacunet.tables._options import check_known as check_known
from lacunet.tables._schema import Match, ModelTable, Schema, SchemaColumn
from lacunet.tables._schema import match_names as match_names
from lacunet.tables._writing import (
    FileFormat,
    FillCount,
    predict_blocks,
    predict_rows,
    write_draws,
    write_filled,
    write_rows,
)
from lacunet.tables._writing import round_numbers as round_numbers

__all__ = [
    "Change",
    "ColumnDrift",
    "ColumnInfo",
    "ColumnSummary",
    "Drift",
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
    "predict_blocks",
    "predict_rows",
    "summarize_columns",
    "write_draws",
    "write_filled",
    "write_rows",
]
