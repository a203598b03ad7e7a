"""The paper's experiments, a runner that resumes, and the methods they compare."""

from reproduction.experiments._catalogue import list_experiments, load_experiment
from reproduction.experiments._protocols import PROTOCOLS, Protocol
from reproduction.experiments._record import Budget, Experiment, Setting
from reproduction.experiments._runner import (
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
