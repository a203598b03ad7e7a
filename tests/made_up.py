"""Made-up results."""

from reproduction.experiments._claims_record import Evidence
from reproduction.experiments.claims import CLAIMS
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


def cell(experiment, dataset, method, value, **changes):
    """Make a cell of a table, with a reason if it has no value."""
    place = {"experiment": experiment, "dataset": dataset, "method": method}
    why = {} if value is not None else {"why": "lost"}
    params = why | changes.pop("params", {})
    return make_cell(**place, value=value, params=params, **changes)


def judge(name, cells=(), folder=None, data=None):
    """Return what the rule of a claim says of made-up results."""
    (claim,) = (claim for claim in CLAIMS if claim.name == name)
    return claim.judge(Evidence(folder, "paper", data, tuple(cells)))
