"""Neural networks on data with missing values as they are: NaN in, predictions out.

The names below are resolved when they are first used, so that ``import lacunet`` itself
loads neither torch nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacunet import (
        baselines,
        density,
        distributed,
        estimators,
        evaluation,
        exceptions,
        functional,
        inspection,
        missingness,
        nn,
        profile,
        report,
        tables,
    )
    from lacunet.density import IncompleteGaussianMixture
    from lacunet.estimators import (
        LacunetAutoencoder,
        LacunetClassifier,
        LacunetImputer,
        LacunetRBFClassifier,
        LacunetRegressor,
        load,
    )
    from lacunet.nn import adapt

    __version__: str

__all__ = [
    "IncompleteGaussianMixture",
    "LacunetAutoencoder",
    "LacunetClassifier",
    "LacunetImputer",
    "LacunetRBFClassifier",
    "LacunetRegressor",
    "__version__",
    "adapt",
    "baselines",
    "density",
    "distributed",
    "estimators",
    "evaluation",
    "exceptions",
    "functional",
    "inspection",
    "load",
    "missingness",
    "nn",
    "profile",
    "report",
    "tables",
]

_HOMES = {
    "IncompleteGaussianMixture": "lacunet.density",
    "LacunetAutoencoder": "lacunet.estimators",
    "LacunetClassifier": "lacunet.estimators",
    "LacunetImputer": "lacunet.estimators",
    "LacunetRBFClassifier": "lacunet.estimators",
    "LacunetRegressor": "lacunet.estimators",
    "adapt": "lacunet.nn",
    "load": "lacunet.estimators",
}
_SUBPACKAGES = set(__all__) - set(_HOMES) - {"__version__"}
# Rooms of 0.1.0 and where their contents went. Modules of these names raise it too.
_MOVED = {
    "datasets": "lacunet.datasets is gone: drop_values and drop_patch are in "
    "lacunet.missingness, and the data sets in reproduction.datasets, beside the "
    "package in its repository.",
    "experiments": "lacunet.experiments is gone: the paper's experiments are in "
    "reproduction, beside the package in its repository: python -m reproduction list.",
    "results": "lacunet.results is gone: records and statistics of the paper's "
    "experiments are in reproduction, beside the package in its repository.",
}


def __getattr__(name: str) -> object:
    """Import what ``name`` stands for, on first use (PEP 562)."""
    if name in _SUBPACKAGES:
        return import_module(f"lacunet.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("lacunet")
    elif name in _MOVED:
        raise AttributeError(_MOVED[name], name=name)
    else:
        msg = f"module 'lacunet' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(msg, name=name)
    globals()[name] = value  # the next access finds it without this function
    return value


def __dir__() -> list[str]:
    """List the public names without importing what they stand for."""
    return sorted(__all__)
