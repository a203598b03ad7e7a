"""The same estimators over many machines, and over more rows than memory holds."""

from lacunet.distributed._fit import Run as Run  # for the command
from lacunet.distributed._fit import fit
from lacunet.distributed._parquet import ParquetRows as ParquetRows
from lacunet.distributed._predict import check_output as check_output
from lacunet.distributed._predict import predict
from lacunet.distributed._predict import predict_files as predict_files

__all__ = ["fit", "predict"]
