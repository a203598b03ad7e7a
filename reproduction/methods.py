"""The methods of the paper's tables, with the grids that it searches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from lacunet import LacunetRBFClassifier, baselines
from lacunet.density import IncompleteGaussianMixture
from reproduction import rivals
from reproduction.tables import Experiment

Grid = Mapping[str, Sequence[Any]]

# The paper's grids.
N_COMPONENTS = (2, 3, 5)
N_UNITS = (25, 50, 75, 100)
POWERS_OF_TWO = tuple(2.0**k for k in range(-5, 10, 2))
KARMA_GAMMAS = (1, 2)

# The parameters that make our networks those of the paper.
PUBLISHED = (
    "density",
    "gamma",
    "train_density",
    "density_loss_weight",
    "indicator",
    "mask_augmentation",
    "random_state",
)


class Method(NamedTuple):
    """A column of the paper's tables.

    Parameters
    ----------
    title : str
        Its name in tables.
    make : callable
        ``make(random_state, body)`` returns an unfitted classifier, with such a network
        behind if it has one.
    grid : mapping
        What the paper chooses by inner cross-validation.
    units : str or None
        Where the network behind is reached, ``network__`` for instance: of an RBF
        network the number of units is chosen too.
    needs_complete : bool
        Whether it learns from complete rows alone.

    Examples
    --------
    >>> from reproduction.methods import METHODS
    >>> METHODS["karma"].make(0, "rbf")
    KarmaSVC()
    >>> METHODS["paper"].grid_for("rbf")["n_units"]
    (25, 50, 75, 100)
    """

    title: str
    make: Callable[[Any, str], Any]
    grid: Grid = {}
    units: str | None = None
    needs_complete: bool = False

    def grid_for(self, body: str) -> Grid:
        """Return the grid with such a network behind."""
        if self.units is None or body != "rbf":
            return self.grid
        return {**self.grid, f"{self.units}n_units": N_UNITS}


def make_model(experiment: Experiment, method: str, seed: int) -> Any:
    """Return the classifier of a column of an experiment, not fitted, on one core."""
    model = METHODS[method].make(seed, experiment.body)
    baselines.set_nested(model, n_jobs=1)
    if method == "lacunet":
        return model  # at its defaults
    return baselines.set_nested(model, **experiment.parameters)


class TrainedOnComplete(ClassifierMixin, BaseEstimator):
    """Train a classifier on rows before values were removed from them.

    Parameters
    ----------
    network : estimator
        The classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from reproduction.methods import TrainedOnComplete
    >>> complete = np.eye(3)
    >>> X = np.where(complete == 1, np.nan, complete)
    >>> model = TrainedOnComplete(DummyClassifier())
    >>> model.fit(X, [0, 1, 1], X_complete=complete).predict(X)
    array([1, 1, 1])
    """

    network_: Any
    classes_: np.ndarray

    def __init__(self, network: Any) -> None:
        self.network = network

    def fit(self, X: Any, y: Any, *, X_complete: Any) -> Self:
        """Fit to the complete rows; ``X`` is not looked at."""
        self.network_ = clone(self.network).fit(X_complete, y)
        self.classes_ = self.network_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the classes of rows, incomplete or not."""
        classes: np.ndarray = self.network_.predict(X)
        return classes


def _network(random_state: Any, body: str) -> Any:
    """Return the network behind every filling, which never meets a missing value."""
    if body == "mlp":
        return baselines.plain_network(random_state=random_state)
    return LacunetRBFClassifier(
        density=IncompleteGaussianMixture(1),
        train_density=False,
        density_loss_weight=0.0,
        random_state=random_state,
    )


def _shared(key: str, units: str | None = None, **grid: Sequence[Any]) -> Method:
    """Return a method of ``lacunet.baselines``, with the paper's network behind."""
    method = baselines.METHODS[key]

    def make(random_state: Any, body: str) -> Any:
        network = _network(random_state, body)
        return method("classification", random_state, estimator=network)

    return Method(method.title, make, grid, units)


def _make_paper(random_state: Any, body: str) -> Any:
    published = baselines.METHODS["paper"]("classification", random_state)
    if body == "mlp":
        return published
    given = published.get_params(deep=False)
    return LacunetRBFClassifier(**{name: given[name] for name in PUBLISHED})


def _make_joint(random_state: Any, body: str) -> Any:
    return _make_paper(random_state, body).set_params(density__strategy="em")


def _make_frozen(random_state: Any, body: str) -> Any:
    return _make_joint(random_state, body).set_params(train_density=False)


def _make_on_complete(random_state: Any, body: str) -> Any:
    published = _make_paper(random_state, body)
    # That missing values are new to it is the point.
    return TrainedOnComplete(published.set_params(on_unseen_missing="use"))


def _make_dropout(random_state: Any, body: str) -> Any:
    network = _network(random_state, body)
    return rivals.DropoutMLPClassifier(network, random_state=random_state)


def _make_context_encoder(random_state: Any, body: str) -> Any:
    network = _network(random_state, body)
    return rivals.ContextEncoderClassifier(network, random_state=random_state)


_STEP = "lacunetrbfclassifier__"
_MARGIN = {"C": POWERS_OF_TWO, "g": POWERS_OF_TWO}
_MIXTURE = {"density__n_components": N_COMPONENTS}
_mean = _shared("mean", _STEP)

METHODS: Mapping[str, Method] = {
    "mean": _mean,
    "mean+indicator": _shared("mean+indicator", _STEP),
    "knn": _shared("knn", _STEP),
    "mice": _shared("mice", "pooledclassifier__estimator__"),
    "gmm": _shared("gmm", _STEP, mixtureimputer__mixture__n_components=N_COMPONENTS),
    "dropout": Method("dropout", _make_dropout, {}, "network__"),
    "ce": Method(
        "context encoder",
        _make_context_encoder,
        {},
        "network__",
        needs_complete=True,
    ),
    "geom": Method(
        "geom",
        lambda random_state, body: rivals.GeometricMarginSVC(random_state=random_state),
        _MARGIN,
    ),
    "karma": Method(
        "karma",
        lambda random_state, body: rivals.KarmaSVC(),
        {**_MARGIN, "gamma": KARMA_GAMMAS},
    ),
    **{
        key: _shared(key)
        for key in ("neumiss", "hgb", "lightgbm", "xgboost", "catboost")
    },
    "paper": Method("paper", _make_paper, _MIXTURE, ""),
    "lacunet": _shared("lacunet"),
    # Only beside the paper's: the same network on another density, on data from which
    # nothing was removed, and trained on such data.
    "em-frozen": Method("EM, frozen", _make_frozen, _MIXTURE, ""),
    "em-joint": Method("EM + joint training", _make_joint, _MIXTURE, ""),
    "complete": _mean._replace(title="complete data"),  # so nothing is filled
    "paper-complete": Method(
        "paper, trained on complete rows", _make_on_complete, needs_complete=True
    ),
}
