"""Load a model: from a folder to the estimator that was saved there."""

from typing import Any

from lacunet._validation import check_choice
from lacunet.estimators._autoencoder import LacunetAutoencoder
from lacunet.estimators._base import DensityEstimator
from lacunet.estimators._checks import find_device
from lacunet.estimators._classifier import LacunetClassifier
from lacunet.estimators._imputer import LacunetImputer
from lacunet.estimators._rbf import LacunetRBFClassifier
from lacunet.estimators._regressor import LacunetRegressor
from lacunet.estimators._saving import (
    AnyPath,
    model_errors,
    read_model,
    unpack_parameters,
)
from lacunet.exceptions import LacunetError

_CLASSES: dict[str, type[DensityEstimator]] = {
    each.__name__: each
    for each in (
        LacunetAutoencoder,
        LacunetClassifier,
        LacunetImputer,
        LacunetRBFClassifier,
        LacunetRegressor,
    )
}


def load(path: AnyPath, *, device: str | None = None) -> Any:
    """Load a model that an estimator's ``save`` has written.

    Nothing in the folder is executed, whoever made it; an inconsistent model is
    refused.

    Parameters
    ----------
    path : str or PathLike
        The folder that the model was saved to.
    device : {"cpu", "cuda", "mps", "auto"}, optional
        Where to compute; where it was fitted if not given.

    Returns
    -------
    estimator
        As it was fitted. For the same rows at once its predictions are the same, to the
        bit on the same machine and but for rounding on another.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import lacunet
    >>> X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.nan], [0.0, 1.0]])
    >>> imputer = lacunet.LacunetImputer(random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     imputer.save(Path(folder) / "model")
    ...     again = lacunet.load(Path(folder) / "model")
    >>> bool((again.impute(X) == imputer.impute(X)).all())
    True
    """
    tensors, content = read_model(path)
    name = content.get("class")
    if not isinstance(name, str) or name not in _CLASSES:
        msg = (
            f"Got a model of class {name!r} in {path}, but expected one of "
            f"{', '.join(_CLASSES)}. A newer lacunet may have written it."
        )
        raise LacunetError(msg)
    with model_errors(path):
        estimator = _CLASSES[name](**unpack_parameters(content["parameters"]))
        check_choice(estimator.device, ("cpu", "cuda", "mps", "auto"), "device")
    if device is not None:
        estimator.set_params(device=device)
    find_device(estimator.device)  # whose absence is no fault of the file
    with model_errors(path):
        estimator._load(tensors, content)
    return estimator
