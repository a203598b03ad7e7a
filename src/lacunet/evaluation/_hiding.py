"""Columns that are there in training and missing later."""

import numpy as np
import pandas as pd


def hide_column(X: pd.DataFrame, place: int) -> pd.DataFrame:
    """Return a frame in which a column is missing in all rows.

    Parameters
    ----------
    X : DataFrame
    place : int
        Of the column.

    Returns
    -------
    DataFrame
        The other columns are those of X.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.evaluation._hiding import hide_column
    >>> hide_column(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), 0)
        a  b
    0 NaN  x
    1 NaN  y
    """
    hidden = X.copy(deep=False)
    hidden.isetitem(place, np.full(len(X), np.nan))
    return hidden
