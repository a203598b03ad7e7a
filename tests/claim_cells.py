"""Made-up results that claims are judged by in tests."""

from lacunet.experiments._claims_record import Evidence
from lacunet.experiments.claims import CLAIMS
from lacunet.results import Cell


def cell(experiment, dataset, method, value, **changes):
    fields = {
        "rate": None,
        "fold": 0,
        "seed": 0,
        "protocol": "paper",
        "metric": "accuracy",
        "params": {} if value is not None else {"why": "lost"},
        "seconds": 1.0,
        "versions": {},
        "commit": None,
    }
    return Cell(experiment, dataset, method=method, value=value, **fields | changes)


def judge(name, cells=(), folder=None, data=None):
    """Return what the rule of a claim says of made-up results."""
    (claim,) = (claim for claim in CLAIMS if claim.name == name)
    return claim.judge(Evidence(folder, "paper", data, tuple(cells)))
