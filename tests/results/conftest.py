import pytest

from lacunet.results import Cell


@pytest.fixture
def make_cell():
    """Make a cell from the fields that matter."""

    def make(**changes):
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
            "params": {"n_components": 3},
            "seconds": 1.5,
            "versions": {"lacunet": "0.1.0"},
            "commit": "0123abc",
        }
        return Cell(**fields | changes)

    return make
