"""Every method that is compared, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from lacunet import baselines
from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import (
    LacunetClassifier,
    LacunetRBFClassifier,
    LacunetRegressor,
)

Body = Literal["mlp", "rbf"]
Grid = Mapping[str, Sequence[Any]]

BODIES = ("mlp", "rbf")
TASKS = ("classification", "regression")

# The paper's grids.
N_COMPONENTS = (2, 3, 5)
N_UNITS = (25, 50, 75, 100)
POWERS_OF_TWO = tuple(2.0**k for k in range(-5, 10, 2))
KARMA_GAMMAS = (1, 2)


@dataclass(frozen=True)
class Method:
    """A way to live with missing values, as unfitted estimators.

    Parameters
    ----------
    key : str
        Its name in ``METHODS``.
    title : str
        Its name in tables.
    make : callable
        ``make(task, random_state, body)``.
    grid : callable
        ``grid(body)``: what the paper chooses by inner cross-validation.
    tasks : sequence of str
    needs_complete : bool
        Whether it can be fitted only if some rows are complete.

    Examples
    --------
    >>> from lacunet.experiments.methods import METHODS
    >>> METHODS["karma"]("classification")
    KarmaSVC()
    >>> METHODS["karma"].grid("mlp")["gamma"]
    (1, 2)
    """

    key: str
    title: str
    make: Callable[[str, Any, str], Any]
    grid: Callable[[str], Grid] = lambda body: {}
    tasks: Sequence[str] = TASKS
    needs_complete: bool = False

    def __call__(
        self,
        task: str = "classification",
        random_state: Any = 0,
        *,
        body: Body = "mlp",
    ) -> Any:
        """Return an unfitted estimator.

        Parameters
        ----------
        task : {"classification", "regression"}, default="classification"
        random_state : int, RandomState instance or None, default=0
        body : {"mlp", "rbf"}, default="mlp"
            The network behind, of methods that have one: the same for all of them.

        Returns
        -------
        estimator
        """
        check_choice(task, TASKS, "task")
        check_choice(body, BODIES, "body")
        if task not in self.tasks or (body == "rbf" and task == "regression"):
            what = "RBF networks" if task in self.tasks else f"{self.key!r}"
            msg = (
                f"Got task={task!r}, but {what} can do classification only. Leave it "
                f"out, or take another method: {', '.join(METHODS)}."
            )
            raise ValueError(msg)
        return self.make(task, random_state, body)


# --- networks


def _network(task: str, random_state: Any, body: str) -> Any:
    """Return the network behind every filling, without a way with missing values."""
    if body == "mlp":
        return baselines.plain_network(task, random_state=random_state)
    return LacunetRBFClassifier(
        density=IncompleteGaussianMixture(1),
        train_density=False,
        density_loss_weight=0.0,
        random_state=random_state,
    )


def _make_lacunet(task: str, random_state: Any, body: str) -> Any:
    """Return our defaults, whatever the others have behind them."""
    ours = LacunetClassifier if task == "classification" else LacunetRegressor
    return ours(random_state=random_state)


def _make_paper(task: str, random_state: Any, body: str) -> Any:
    """Return the method as it was published.

    The mixture is started on mean-filled rows, gamma near 1, and both are trained with
    the network; no likelihood term, no indicator, no further masking, and the mean
    response of the first layer goes on.
    """
    published = {
        "density": IncompleteGaussianMixture(3, strategy="mean"),
        "gamma": 1.0,
        "train_density": True,
        "density_loss_weight": 0.0,
        "indicator": False,
        "mask_augmentation": 0.0,
        "random_state": random_state,
    }
    if body == "rbf":
        return LacunetRBFClassifier(**published)
    ours = LacunetClassifier if task == "classification" else LacunetRegressor
    return ours(**published, propagate="expectation")


# --- fillings and others


def _filled(factory: Callable[..., Any]) -> Callable[[str, Any, str], Any]:
    """Return how to make a filling with a network behind."""

    def make(task: str, random_state: Any, body: str) -> Any:
        behind = _network(task, random_state, body)
        return factory(task, behind, random_state=random_state)

    return make


def _make_gmm(task: str, random_state: Any, body: str) -> Any:
    return baselines.gmm(
        task,
        _network(task, random_state, body),
        mixture=IncompleteGaussianMixture(3),
        random_state=random_state,
    )


def _make_dropout(task: str, random_state: Any, body: str) -> Any:
    if task == "classification":
        make: Any = baselines.DropoutMLPClassifier
    else:
        make = baselines.DropoutMLPRegressor
    return make(_network(task, random_state, body), random_state=random_state)


def _make_context_encoder(task: str, random_state: Any, body: str) -> Any:
    behind = _network(task, random_state, body)
    return baselines.ContextEncoderClassifier(behind, random_state=random_state)


def _make_geom(task: str, random_state: Any, body: str) -> Any:
    return baselines.GeometricMarginSVC(random_state=random_state)


def _make_karma(task: str, random_state: Any, body: str) -> Any:
    return baselines.KarmaSVC()


def _make_neumiss(task: str, random_state: Any, body: str) -> Any:
    if task == "classification":
        return baselines.NeuMissClassifier(random_state=random_state)
    return baselines.NeuMissRegressor(random_state=random_state)


def _boosted(library: str) -> Callable[[str, Any, str], Any]:
    """Return how to make boosted trees of a library."""

    def make(task: str, random_state: Any, body: str) -> Any:
        if task == "classification":
            return baselines.BoostedClassifier(library, random_state=random_state)
        return baselines.BoostedRegressor(library, random_state=random_state)

    return make


# --- grids


def _behind(step: str) -> Callable[[str], Grid]:
    """Return the grid of a network that is reached by a name such as ``network__``."""

    def grid(body: str) -> Grid:
        return {f"{step}n_units": N_UNITS} if body == "rbf" else {}

    return grid


def _grid_of_step(body: str) -> Grid:
    return _behind("lacunetrbfclassifier__")(body)


def _grid_of_gmm(body: str) -> Grid:
    components = {"mixtureimputer__mixture__n_components": N_COMPONENTS}
    return {**components, **_grid_of_step(body)}


def _grid_of_paper(body: str) -> Grid:
    return {"density__n_components": N_COMPONENTS, **_behind("")(body)}


def _grid_of_geom(body: str) -> Grid:
    return {"C": POWERS_OF_TWO, "g": POWERS_OF_TWO}


def _grid_of_karma(body: str) -> Grid:
    return {**_grid_of_geom(body), "gamma": KARMA_GAMMAS}


CLASSES = ("classification",)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.key: method
        for method in (
            Method("mean", "mean", _filled(baselines.mean), _grid_of_step),
            Method(
                "mean+indicator",
                "mean + indicator",
                _filled(baselines.mean_indicator),
                _grid_of_step,
            ),
            Method("knn", "k-nn", _filled(baselines.knn), _grid_of_step),
            Method(
                "mice",
                "mice",
                _filled(baselines.mice),
                _behind("pooledclassifier__estimator__"),
            ),
            Method("gmm", "gmm", _make_gmm, _grid_of_gmm),
            Method("dropout", "dropout", _make_dropout, _behind("network__")),
            Method(
                "ce",
                "context encoder",
                _make_context_encoder,
                _behind("network__"),
                CLASSES,
                needs_complete=True,
            ),
            Method("geom", "geom", _make_geom, _grid_of_geom, CLASSES),
            Method("karma", "karma", _make_karma, _grid_of_karma, CLASSES),
            Method("neumiss", "NeuMiss", _make_neumiss),
            Method("hgb", "HistGradientBoosting", _boosted("hgb")),
            Method("lightgbm", "LightGBM", _boosted("lightgbm")),
            Method("xgboost", "XGBoost", _boosted("xgboost")),
            Method("catboost", "CatBoost", _boosted("catboost")),
            Method("paper", "paper", _make_paper, _grid_of_paper),
            Method("lacunet", "lacunet", _make_lacunet),
        )
    }
)
