"""What a model says of rows, as a frame."""

from typing import Any

import pandas as pd

PREDICTION = "prediction"
PROBABILITY = "probability_"  # before the name of a class


def predict_rows(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Return what a model says of rows: a class and all probabilities, or a number.

    Parameters
    ----------
    model : estimator
        Fitted.
    rows : DataFrame

    Returns
    -------
    DataFrame
        With a column ``prediction``, and ``probability_`` of each class.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.dummy import DummyClassifier
    >>> from lacunet.tables import predict_rows
    >>> rows = pd.DataFrame({"age": [40, 50, 60, 70]})
    >>> model = DummyClassifier().fit(rows, ["ill", "ill", "well", "ill"])
    >>> predict_rows(model, rows[:1])
      prediction  probability_ill  probability_well
    0        ill             0.75              0.25
    """
    if not hasattr(model, "classes_"):
        return pd.DataFrame({PREDICTION: model.predict(rows)})
    shares = model.predict_proba(rows)
    said = {PREDICTION: model.classes_[shares.argmax(1)]}
    for place, name in enumerate(model.classes_):
        said[f"{PROBABILITY}{name}"] = shares[:, place]
    return pd.DataFrame(said)
