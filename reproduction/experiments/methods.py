"""The methods of the paper's tables, with the grids that it searches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from lacunet import baselines
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import LacunetRBFClassifier
from reproduction import rivals

Body = Literal["mlp", "rbf", "autoencoder"]
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


@dataclass(frozen=True)
class Method:
    """A column of the paper's tables.

    Parameters
    ----------
    key : str
        Its name in ``METHODS``.
    title : str
        Its name in tables.
    make : callable
        ``make(random_state, body)`` returns an unfitted classifier.
    grid : callable
        ``grid(body)``: what the paper chooses by inner cross-validation.
    needs_complete : bool
        Whether it can be fitted only if some rows are complete.

    Examples
    --------
    >>> from reproduction.experiments.methods import METHODS
    >>> METHODS["karma"]()
    KarmaSVC()
    >>> METHODS["karma"].grid("mlp")["gamma"]
    (1, 2)
    """

    key: str
    title: str
    make: Callable[[Any, Body], Any]
    grid: Callable[[Body], Grid] = lambda body: {}
    needs_complete: bool = False

    def __call__(self, random_state: Any = 0, *, body: Body = "mlp") -> Any:
        """Return an unfitted classifier, with such a network behind if it has one."""
        return self.make(random_state, body)


def _network(random_state: Any, body: Body) -> Any:
    """Return the network behind every filling, without a way with missing values."""
    if body == "mlp":
        return baselines.plain_network(random_state=random_state)
    return LacunetRBFClassifier(
        density=IncompleteGaussianMixture(1),
        train_density=False,
        density_loss_weight=0.0,
        random_state=random_state,
    )


def _shared(key: str, grid: Callable[[Body], Grid] = lambda body: {}) -> Method:
    """Return a method of ``lacunet.baselines``, with the paper's network behind."""
    method = baselines.METHODS[key]

    def make(random_state: Any, body: Body) -> Any:
        behind = _network(random_state, body)
        return method("classification", random_state, estimator=behind)

    return Method(key, method.title, make, grid)


def _make_paper(random_state: Any, body: Body) -> Any:
    published = baselines.METHODS["paper"]("classification", random_state)
    if body == "mlp":
        return published
    given = published.get_params(deep=False)
    return LacunetRBFClassifier(**{name: given[name] for name in PUBLISHED})


def _units(step: str) -> Callable[[Body], Grid]:
    """Return the grid of a network that is reached by a name such as ``network__``."""
    return lambda body: {f"{step}n_units": N_UNITS} if body == "rbf" else {}


_of_step = _units("lacunetrbfclassifier__")


def _grid_of_gmm(body: Body) -> Grid:
    return {"mixtureimputer__mixture__n_components": N_COMPONENTS, **_of_step(body)}


def _grid_of_paper(body: Body) -> Grid:
    return {"density__n_components": N_COMPONENTS, **_units("")(body)}


def _grid_of_geom(body: Body) -> Grid:
    return {"C": POWERS_OF_TWO, "g": POWERS_OF_TWO}


def _grid_of_karma(body: Body) -> Grid:
    return {**_grid_of_geom(body), "gamma": KARMA_GAMMAS}


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.key: method
        for method in (
            _shared("mean", _of_step),
            _shared("mean+indicator", _of_step),
            _shared("knn", _of_step),
            _shared("mice", _units("pooledclassifier__estimator__")),
            _shared("gmm", _grid_of_gmm),
            Method(
                "dropout",
                "dropout",
                lambda random_state, body: rivals.DropoutMLPClassifier(
                    _network(random_state, body), random_state=random_state
                ),
                _units("network__"),
            ),
            Method(
                "ce",
                "context encoder",
                lambda random_state, body: rivals.ContextEncoderClassifier(
                    _network(random_state, body), random_state=random_state
                ),
                _units("network__"),
                needs_complete=True,
            ),
            Method(
                "geom",
                "geom",
                lambda random_state, body: rivals.GeometricMarginSVC(
                    random_state=random_state
                ),
                _grid_of_geom,
            ),
            Method(
                "karma",
                "karma",
                lambda random_state, body: rivals.KarmaSVC(),
                _grid_of_karma,
            ),
            *map(_shared, ("neumiss", "hgb", "lightgbm", "xgboost", "catboost")),
            Method("paper", "paper", _make_paper, _grid_of_paper),
            _shared("lacunet"),
        )
    }
)
