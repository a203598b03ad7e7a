"""The choice of parameters by inner folds."""

from collections.abc import Mapping
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from joblib import Memory  # type: ignore[import-untyped]
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from lacunet.baselines import ChainedImputer, set_nested
from reproduction.experiments._protocols import make_folds
from reproduction.experiments.methods import Grid


def search(
    model: Any,
    grid: Grid,
    X: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    groups: np.ndarray | None = None,
    options: Mapping[str, np.ndarray] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Fit a model with the parameters of a grid that are best in five inner folds.

    As scikit-learn's ``GridSearchCV`` by accuracy: the best mean over the folds, the
    first of the grid if there are several.

    Parameters
    ----------
    model : classifier
        Not changed.
    grid : mapping of str to sequence
        If empty, there is nothing to choose.
    X : ndarray of shape (rows, columns)
    y : ndarray of shape (rows,)
    seed : int
        Of the folds.
    groups : ndarray of shape (rows,), default=None
        Rows of a group stay together.
    options : mapping of str to ndarray of shape (rows, ...), default=None
        What else is given to ``fit``.

    Returns
    -------
    fitted : classifier
        On all rows.
    chosen : dict
    """
    given = dict(options or {})
    points = list(ParameterGrid(dict(grid)))
    chosen: dict[str, Any] = points[0]
    if len(points) > 1:
        folds = list(make_folds(groups is not None, seed).split(X, y, groups))
        with TemporaryDirectory() as folder:
            remembering = _remembering(model, folder)
            fitted = [
                [
                    clone(remembering)
                    .set_params(**point)
                    .fit(X[rows], y[rows], **{k: v[rows] for k, v in given.items()})
                    for rows, _ in folds
                ]
                for point in points
            ]
        tests = [rows for _, rows in folds]
        means = [
            np.mean([m.score(X[r], y[r]) for m, r in zip(models, tests, strict=True)])
            for models in fitted
        ]
        chosen = points[int(np.argmax(means))]
    return clone(model).set_params(**chosen).fit(X, y, **given), chosen


def _remembering(model: Any, folder: str) -> Any:
    """Return a model that fills a table once, however many networks come behind."""
    memory = Memory(folder, verbose=0)
    copy = set_nested(clone(model), memory=memory)
    for name, part in copy.get_params().items():
        if isinstance(part, ChainedImputer):
            # Nothing comes behind: a pipeline remembers all parts but its last.
            filling = Pipeline([("fill", part), ("end", "passthrough")], memory=memory)
            copy.set_params(**{name: filling})
    return copy
