"""Evaluation on one's own table: held-out rows, and methods compared."""

from lacunet.evaluation._card import describe_model
from lacunet.evaluation._card import list_parameters as list_parameters
from lacunet.evaluation._comparison import COMPARED, Comparison, compare_methods
from lacunet.evaluation._hold_out import HoldOut, hold_out
from lacunet.evaluation._hold_out import score_model as score_model
from lacunet.evaluation._scores import METRICS, Metric, align_probabilities, score
from lacunet.evaluation._scores import choose_format as choose_format
from lacunet.evaluation._statistics import CorrectedT, corrected_t, holm
from lacunet.evaluation._target import (
    TableFacts,
    TargetTable,
    Task,
    find_task,
    split_target,
)

__all__ = [
    "COMPARED",
    "METRICS",
    "Comparison",
    "CorrectedT",
    "HoldOut",
    "Metric",
    "TableFacts",
    "TargetTable",
    "Task",
    "align_probabilities",
    "compare_methods",
    "corrected_t",
    "describe_model",
    "find_task",
    "hold_out",
    "holm",
    "score",
    "split_target",
]
