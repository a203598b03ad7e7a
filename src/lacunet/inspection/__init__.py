"""What a fitted model relies on, and how far it can be relied upon.

Names that are imported as themselves are for other rooms, not for users.
"""

from lacunet.inspection._acquisition import Completions as Completions
from lacunet.inspection._acquisition import (
    Measurement,
    acquisition_values,
    plan_measurements,
)
from lacunet.inspection._explanation import Explanation, explain_row
from lacunet.inspection._importance import (
    ColumnImportance,
    Estimate,
    Importance,
    importance,
)
from lacunet.inspection._importance import compare_losses as compare_losses
from lacunet.inspection._importance import row_losses as row_losses
from lacunet.inspection._intervals import (
    Interval,
    prediction_interval,
    prediction_set,
)
from lacunet.inspection._pooling import (
    ColumnSensitivity,
    Pooled,
    pool,
    sensitivity,
)

__all__ = [
    "ColumnImportance",
    "ColumnSensitivity",
    "Estimate",
    "Explanation",
    "Importance",
    "Interval",
    "Measurement",
    "Pooled",
    "acquisition_values",
    "explain_row",
    "importance",
    "plan_measurements",
    "pool",
    "prediction_interval",
    "prediction_set",
    "sensitivity",
]
