"""Made-up results."""

from reproduction.statistics import Cell


def make_cell(**changes):
    """Make a cell from the fields that matter."""
    fields = {
        "experiment": "table-4",
        "dataset": "pima",
        "rate": None,
        "method": "paper",
        "fold": 0,
        "seed": 0,
        "protocol": "paper",
        "metric": "accuracy",
        "value": 0.75,
        "params": {},
        "seconds": 1.5,
        "versions": {"lacunet": "0.1.0"},
        "commit": "0123456789abcdef",
    }
    return Cell(**fields | changes)
