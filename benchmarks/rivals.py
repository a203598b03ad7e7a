"""The methods that are compared, each at its defaults, on one thread."""

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import lacunet
from lacunet import IncompleteGaussianMixture, LacunetClassifier

OURS = "lacunet"
PAPER = "lacunet-diag3"


@dataclass(frozen=True)
class Method:
    """How to make a model; ``make(True)`` makes a small one for a quick run."""

    name: str
    title: str
    module: str  # that its version is taken from
    make: Callable[[bool], Any]

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def is_ours(self) -> bool:
        return self.module == "lacunet"

    def recipe(self, *, quick: bool) -> str:
        """Describe what is measured: cells of another recipe are measured again."""
        model = self.make(quick)
        version = importlib.import_module(self.module).__version__
        text = f"{describe(model)}, {self.module} {version}"
        if self.is_ours:
            text += f", parameters {digest_parameters(model)}"
        return f"quick {text}" if quick else text


def describe(model: Any) -> str:
    """Return the class, with what differs from the defaults if it is known."""
    if type(model).__module__.startswith(("sklearn.", "lacunet.")):
        return " ".join(repr(model).split())
    return type(model).__name__


def digest_parameters(model: BaseEstimator) -> str:
    """Return a short digest of all parameters, as defaults may change too."""
    parameters = sorted(model.get_params(deep=False).items())
    return hashlib.sha256(repr(parameters).encode()).hexdigest()[:8]


@cache
def digest_source() -> str:
    """Return a short digest of the code of lacunet."""
    folder = Path(lacunet.__file__).parent
    content = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))
    return hashlib.sha256(content).hexdigest()[:8]


def make_lacunet(quick: bool, **parameters: Any) -> LacunetClassifier:
    small = {"n_networks": 2, "max_epochs": 2, "hidden_layer_sizes": (8,)}
    return LacunetClassifier(random_state=0, **(small if quick else {}), **parameters)


def make_diag3(quick: bool) -> LacunetClassifier:
    return make_lacunet(quick, density=IncompleteGaussianMixture(3))


def make_catboost(quick: bool) -> Any:
    module = importlib.import_module("catboost")
    small = {"iterations": 5} if quick else {}
    # Without files and prints; the rest is as it comes.
    return module.CatBoostClassifier(
        random_seed=0, thread_count=1, verbose=0, allow_writing_files=False, **small
    )


def make_lightgbm(quick: bool) -> Any:
    module = importlib.import_module("lightgbm")
    small = {"n_estimators": 5} if quick else {}
    return module.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1, **small)


def make_xgboost(quick: bool) -> Any:
    module = importlib.import_module("xgboost")
    small = {"n_estimators": 5} if quick else {}
    return module.XGBClassifier(random_state=0, n_jobs=1, **small)


def make_hgb(quick: bool) -> HistGradientBoostingClassifier:
    small = {"max_iter": 5} if quick else {}
    return HistGradientBoostingClassifier(random_state=0, **small)


def make_mlp(quick: bool) -> Any:
    small = {"max_iter": 2} if quick else {}
    return make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        MLPClassifier(random_state=0, **small),
    )


def make_logistic(quick: bool) -> Any:
    return make_pipeline(
        SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()
    )


def make_knn_svc(quick: bool) -> Any:
    return make_pipeline(
        KNNImputer(),
        StandardScaler(),
        CalibratedClassifierCV(SVC(random_state=0), ensemble=False),
    )


def make_forest(quick: bool) -> Any:
    small = {"n_estimators": 5} if quick else {}
    return make_pipeline(
        SimpleImputer(), RandomForestClassifier(random_state=0, n_jobs=1, **small)
    )


METHODS = {
    method.name: method
    for method in (
        Method(OURS, "lacunet", "lacunet", make_lacunet),
        Method(PAPER, "lacunet, 3 diagonal components", "lacunet", make_diag3),
        Method("catboost", "CatBoost", "catboost", make_catboost),
        Method("hgb", "HistGradientBoosting", "sklearn", make_hgb),
        Method("lightgbm", "LightGBM", "lightgbm", make_lightgbm),
        Method("xgboost", "XGBoost", "xgboost", make_xgboost),
        Method("mlp", "mean + indicator, MLP", "sklearn", make_mlp),
        Method("logistic", "mean + indicator, logistic", "sklearn", make_logistic),
        Method("knn-svc", "nearest neighbours, SVC", "sklearn", make_knn_svc),
        Method("forest", "mean, random forest", "sklearn", make_forest),
    )
}
