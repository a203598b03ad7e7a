"""The paper's experiments, a runner that resumes, and the methods they compare."""

from lacunet.experiments._catalogue import list_experiments, load_experiment
from lacunet.experiments._protocols import PROTOCOLS, Protocol
from lacunet.experiments._record import Budget, Experiment, Setting
from lacunet.experiments._runner import (
    Progress,
    Run,
    run_experiment,
    run_experiments,
)

__all__ = [
    "PROTOCOLS",
    "Budget",
    "Experiment",
    "Progress",
    "Protocol",
    "Run",
    "Setting",
    "list_experiments",
    "load_experiment",
    "run_experiment",
    "run_experiments",
]
