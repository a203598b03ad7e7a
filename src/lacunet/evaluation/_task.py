"""What is to be learned of a target: a class, or a number."""

from typing import Any, Literal

import numpy as np
import pandas as pd

Task = Literal["classification", "regression"]

# A target of whole numbers names classes if there are at most so many, and each stands
# in so many rows.
MOST_CLASSES = 20
ROWS_PER_CLASS = 5


def find_task(y: Any) -> Task:
    """Tell classification from regression by what a target looks like.

    Words, truth values and a few whole numbers that come again and again are classes.
    Everything else is a number to be predicted.

    Parameters
    ----------
    y : array-like or Series of shape (n_samples,)
        Values may be missing.

    Returns
    -------
    {"classification", "regression"}

    Examples
    --------
    >>> from lacunet.evaluation import find_task
    >>> find_task(["ill", "well", None]), find_task([0, 1] * 20)
    ('classification', 'classification')
    >>> find_task([0.5, 1.5, None, 2.25])
    'regression'
    """
    known = pd.Series(y).dropna().infer_objects()
    if pd.api.types.is_datetime64_any_dtype(known):
        return "regression"
    if not pd.api.types.is_numeric_dtype(known) or pd.api.types.is_bool_dtype(known):
        return "classification"
    values = known.to_numpy(dtype=np.float64)
    distinct = np.unique(values)
    if len(distinct) <= 2:
        return "classification"
    few = len(distinct) <= min(MOST_CLASSES, len(values) / ROWS_PER_CLASS)
    whole = bool((distinct == np.round(distinct)).all())
    return "classification" if few and whole else "regression"
