"""Real data sets by name, and ways to lose values."""

from lacunet.datasets._describing import Description, describe_dataset
from lacunet.datasets._loading import list_datasets, load_dataset
from lacunet.datasets._missing import drop_values
from lacunet.datasets._patches import drop_patch
from lacunet.datasets._record import DataSet

__all__ = [
    "DataSet",
    "Description",
    "describe_dataset",
    "drop_patch",
    "drop_values",
    "list_datasets",
    "load_dataset",
]
