"""The network that goes behind every treatment of missing values."""

from typing import Any, Literal

from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators import LacunetClassifier, LacunetRegressor

Task = Literal["classification", "regression"]

TASKS = ("classification", "regression")


def plain_network(
    task: str = "classification", *, random_state: Any = None, **parameters: Any
) -> Any:
    """Return our network without our treatment of missing values.

    Body, recipe and ensemble are those of ``LacunetClassifier`` and
    ``LacunetRegressor``. On a complete table their expected layer is the ordinary one,
    so what goes before it is all that fills the holes: in a comparison nothing else
    differs.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
    random_state : int, RandomState instance or None, default=None
    **parameters : dict
        Other parameters of the network, such as ``hidden_layer_sizes``.

    Returns
    -------
    LacunetClassifier or LacunetRegressor
        Not fitted.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from lacunet.baselines import plain_network
    >>> model = make_pipeline(SimpleImputer(), plain_network())
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10).predict([[3.0]])
    array([1])
    """
    check_choice(task, TASKS, "task")
    network = LacunetClassifier if task == "classification" else LacunetRegressor
    without_holes = {
        "density": IncompleteGaussianMixture(1),
        "train_density": False,
        "density_loss_weight": 0.0,
        "indicator": False,
        "mask_augmentation": 0.0,
    }
    return network(**{**without_holes, **parameters}, random_state=random_state)
