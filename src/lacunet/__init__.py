"""Neural networks on data with missing values as they are: NaN in, predictions out.

The names below are resolved when they are first used, so that ``import lacunet`` itself
loads neither torch nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacunet import (
        baselines,
        datasets,
        density,
        estimators,
        evaluation,
        exceptions,
        experiments,
        functional,
        nn,
        report,
        results,
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
    "datasets",
    "density",
    "estimators",
    "evaluation",
    "exceptions",
    "experiments",
    "functional",
    "load",
    "nn",
    "report",
    "results",
    "tables",
]

_SUBPACKAGES = frozenset(
    {
        "baselines",
        "datasets",
        "density",
        "estimators",
        "evaluation",
        "exceptions",
        "experiments",
        "functional",
        "nn",
        "report",
        "results",
        "tables",
    }
)
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


def __getattr__(name: str) -> object:
    """Import what ``name`` stands for, on first use (PEP 562)."""
    if name in _SUBPACKAGES:
        return import_module(f"lacunet.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name == "__version__":
        value = import_module("importlib.metadata").version("lacunet")
    else:
        msg = f"module 'lacunet' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(msg, name=name)
    globals()[name] = value  # the next access finds it without this function
    return value


def __dir__() -> list[str]:
    """List the public names without importing what they stand for."""
    return sorted(__all__)
