"""How good models are on one's own table: held-out rows, and rivals beside ours."""

from lacunet.evaluation._scores import METRICS, Metric, align_probabilities, score
from lacunet.evaluation._task import Task, find_task

__all__ = ["METRICS", "Metric", "Task", "align_probabilities", "find_task", "score"]
