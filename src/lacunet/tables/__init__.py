"""One's own tables: read, written back with holes filled, and what is missing."""

from lacunet._output import open_output
from lacunet.tables._columns import ColumnInfo, Notice
from lacunet.tables._file import TableFile, open_table
from lacunet.tables._filling import FillCount
from lacunet.tables._format import FileFormat
from lacunet.tables._model_table import ModelTable
from lacunet.tables._options import ReadOptions, list_names
from lacunet.tables._predictions import predict_rows
from lacunet.tables._profile._dependence import HoleLink, LinkTable
from lacunet.tables._profile._findings import Finding
from lacunet.tables._profile._foresight import Foresight, TargetScore
from lacunet.tables._profile._hole_map import HoleMap
from lacunet.tables._profile._little import LittleTest, little_mcar_test
from lacunet.tables._profile._patterns import (
    HolePair,
    Pattern,
    PatternCounts,
    RowCounts,
    Together,
)
from lacunet.tables._profile._profile import (
    ColumnProfile,
    Dependence,
    Profile,
    TargetProfile,
    profile_table,
)
from lacunet.tables._rows import write_rows
from lacunet.tables._schema import Match, Schema, SchemaColumn
from lacunet.tables._writing_back import write_draws, write_filled

__all__ = [
    "ColumnInfo",
    "ColumnProfile",
    "Dependence",
    "Finding",
    "FileFormat",
    "FillCount",
    "Foresight",
    "HoleLink",
    "HoleMap",
    "HolePair",
    "LinkTable",
    "LittleTest",
    "Match",
    "ModelTable",
    "Notice",
    "Pattern",
    "PatternCounts",
    "Profile",
    "ReadOptions",
    "RowCounts",
    "Schema",
    "SchemaColumn",
    "TableFile",
    "TargetProfile",
    "TargetScore",
    "Together",
    "list_names",
    "little_mcar_test",
    "open_output",
    "open_table",
    "predict_rows",
    "profile_table",
    "write_draws",
    "write_filled",
    "write_rows",
]
