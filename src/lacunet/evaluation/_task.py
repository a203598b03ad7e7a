"""Names that the comparison still imports from here."""

from lacunet.evaluation._target import Task as Task
