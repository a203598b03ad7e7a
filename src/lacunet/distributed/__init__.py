"""The same estimators over many machines, and over more rows than memory holds."""

from lacunet.distributed._fit import Run as Run  # for the command
from lacunet.distributed._fit import fit
from lacunet.distributed._predict import predict

__all__ = ["fit", "predict"]
