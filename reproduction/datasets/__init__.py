"""Real data sets by name."""

from reproduction.datasets._describing import Description, describe_dataset
from reproduction.datasets._loading import list_datasets, load_dataset
from reproduction.datasets._record import DataSet

__all__ = [
    "DataSet",
    "Description",
    "describe_dataset",
    "list_datasets",
    "load_dataset",
]
