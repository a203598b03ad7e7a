"""Every method that is compared with ours, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from lacunet._validation import check_choice
from lacunet.baselines._boosting import BoostedClassifier, BoostedRegressor
from lacunet.baselines._neumiss import NeuMissClassifier, NeuMissRegressor
from lacunet.baselines._pipelines import TASKS, gmm, knn, mean, mean_indicator
from lacunet.baselines._pooling import mice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import LacunetClassifier, LacunetRegressor


@dataclass(frozen=True)
class Method:
    """A treatment of missing values, as unfitted estimators.

    Parameters
    ----------
    key : str
        Its name in ``METHODS``.
    title : str
        Its name in tables and pages.
    make : callable
        ``make(task, random_state, estimator)`` returns an unfitted model; methods that
        fill put ``estimator`` behind, or ``plain_network(task)`` if it is None.
    tasks : sequence of str
        What it can do: "classification", "regression" or both.
    package : str or None
        What must be installed for it, beside lacunet itself.

    Examples
    --------
    >>> from lacunet.baselines import METHODS
    >>> METHODS["hgb"]("regression")
    BoostedRegressor(random_state=0)
    """

    key: str
    title: str
    make: Callable[[str, Any, Any], Any]
    tasks: Sequence[str] = TASKS
    package: str | None = None

    def __call__(
        self,
        task: str = "classification",
        random_state: Any = 0,
        *,
        estimator: Any = None,
    ) -> Any:
        """Return an unfitted model.

        Parameters
        ----------
        task : {"classification", "regression"}, default="classification"
            What is to be predicted.
        random_state : int, RandomState instance or None, default=0
            Seed of all that the model draws.
        estimator : estimator, default=None
            The model behind, of methods that fill; ``plain_network(task)`` by default.

        Returns
        -------
        estimator
        """
        check_choice(task, TASKS, "task")
        if task not in self.tasks:
            msg = (
                f"Got task={task!r}, but {self.key!r} can do {self.tasks[0]} only. "
                f"Leave it out, or take another method."
            )
            raise ValueError(msg)
        return self.make(task, random_state, estimator)


def _filled(factory: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    def make(task: str, random_state: Any, estimator: Any) -> Any:
        fresh = clone(options, safe=False)  # or all models would share one mixture
        return factory(task, estimator, random_state=random_state, **fresh)

    return make


def _either(classifier: Any, regressor: Any, **options: Any) -> Callable[..., Any]:
    def make(task: str, random_state: Any, estimator: Any) -> Any:
        model = classifier if task == "classification" else regressor
        return model(random_state=random_state, **clone(options, safe=False))

    return make


def _linear(task: str, random_state: Any, estimator: Any) -> Any:
    behind = LogisticRegression(max_iter=1000) if task == "classification" else Ridge()
    return mean_indicator(task, behind)


def _boosted(library: str) -> Callable[..., Any]:
    return _either(BoostedClassifier, BoostedRegressor, library=library)


# The published method: the mixture is started on mean-filled rows, gamma near 1, and
# both are trained with the network; no likelihood term, no indicator, no further
# masking, and the mean response of the first layer goes on.
_published = _either(
    LacunetClassifier,
    LacunetRegressor,
    density=IncompleteGaussianMixture(3, strategy="mean"),
    gamma=1.0,
    train_density=True,
    density_loss_weight=0.0,
    indicator=False,
    mask_augmentation=0.0,
    propagate="expectation",
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.key: method
        for method in (
            Method("mean", "mean", _filled(mean)),
            Method("mean+indicator", "mean + indicator", _filled(mean_indicator)),
            Method("linear", "mean + indicator, linear model", _linear),
            Method("knn", "k-nn", _filled(knn)),
            Method("mice", "mice", _filled(mice)),
            Method("gmm", "gmm", _filled(gmm, mixture=IncompleteGaussianMixture(3))),
            Method("neumiss", "NeuMiss", _either(NeuMissClassifier, NeuMissRegressor)),
            Method("hgb", "HistGradientBoosting", _boosted("hgb")),
            Method("lightgbm", "LightGBM", _boosted("lightgbm"), package="lightgbm"),
            Method("xgboost", "XGBoost", _boosted("xgboost"), package="xgboost"),
            Method("catboost", "CatBoost", _boosted("catboost"), package="catboost"),
            Method("paper", "paper", _published),
            Method("lacunet", "lacunet", _either(LacunetClassifier, LacunetRegressor)),
        )
    }
)


def set_nested(model: Any, **values: Any) -> Any:
    """Set parameters of a model and of its parts, wherever they have such names.

    Parameters
    ----------
    model : estimator
        Changed in place.
    **values : dict
        By the last part of the name: ``max_epochs`` is for ``network__max_epochs``.

    Returns
    -------
    estimator
        The same.

    Examples
    --------
    >>> from lacunet.baselines import mean, set_nested
    >>> set_nested(mean(), max_epochs=3).get_params()["lacunetclassifier__max_epochs"]
    3
    """
    last = {name: name.rpartition("__")[2] for name in model.get_params()}
    chosen = {name: values[end] for name, end in last.items() if end in values}
    return model.set_params(**chosen)
