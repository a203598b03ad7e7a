"""The methods of ``benchmarks.tables``: ours and rivals, at their defaults, one thread.

They take frames as pandas reads them: numbers with NaN, and strings with NaN in the
columns that a maker is given as ``words``. ``task`` is "Classifier" or "Regressor".
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

OURS = "lacunet"


@dataclass(frozen=True)
class Method:
    """How to make a model for a task and the names of the columns of words."""

    title: str
    module: str
    make: Callable[[str, list[str]], Any]
    most_rows: int | None = None  # of the tables that it is measured on

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        (name, *_) = metadata.packages_distributions()[self.module]
        return f"{name} {metadata.version(name)}"


class Frame(TransformerMixin, BaseEstimator):
    """Prepare a frame: numbers in x0, x1, ..., words in w0, w1, ...

    Words become categories, of which the ``most`` frequent ones of the training rows
    are kept and the others are missing; or strings, with "missing" for NaN. With
    ``fill``, numbers are filled by their means, and columns m0, m1, ... have 1 where
    they were missing.
    """

    def __init__(self, words, *, strings=False, most=None, fill=False):
        self.words = words
        self.strings = strings
        self.most = most
        self.fill = fill

    def fit(self, X: pd.DataFrame, y: Any = None) -> "Frame":
        numbers = X.drop(columns=self.words)
        self.means_ = numbers.mean()
        self.incomplete_ = list(numbers.columns[numbers.isna().any()])
        self.known_ = {
            name: X[name].value_counts().index[: self.most] for name in self.words
        }
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        numbers = X.drop(columns=self.words).astype(np.float64)
        if self.fill:
            numbers = numbers.fillna(self.means_).fillna(0.0)
        columns = {f"x{place}": numbers[name] for place, name in enumerate(numbers)}
        if self.fill:
            for place, name in enumerate(self.incomplete_):
                columns[f"m{place}"] = X[name].isna().astype(np.float64)
        for place, name in enumerate(self.words):
            if self.strings:
                words = X[name].astype(object).where(X[name].notna(), "missing")
            else:
                codes = self.known_[name].get_indexer(X[name])  # -1: missing or other
                kinds = np.arange(len(self.known_[name]))
                words = pd.Categorical.from_codes(codes, categories=kinds)
            columns[f"w{place}"] = words
        return pd.DataFrame(columns, index=X.index)


def make_lacunet(task: str, words: list[str]) -> Any:
    make = getattr(importlib.import_module("lacunet"), f"Lacunet{task}")
    return make(random_state=0)


def make_catboost(task: str, words: list[str]) -> Any:
    make = getattr(importlib.import_module("catboost"), f"CatBoost{task}")
    model = make(
        random_seed=0,
        thread_count=1,
        cat_features=[f"w{place}" for place in range(len(words))],
        verbose=0,
        allow_writing_files=False,
    )
    return make_pipeline(Frame(words, strings=True), model)


def make_hgb(task: str, words: list[str]) -> Any:
    module = importlib.import_module("sklearn.ensemble")
    make = getattr(module, f"HistGradientBoosting{task}")
    model = make(random_state=0, categorical_features="from_dtype")
    return make_pipeline(Frame(words, most=255), model)  # it takes no more


def make_lightgbm(task: str, words: list[str]) -> Any:
    make = getattr(importlib.import_module("lightgbm"), f"LGBM{task}")
    return make_pipeline(Frame(words), make(random_state=0, n_jobs=1, verbose=-1))


def make_xgboost(task: str, words: list[str]) -> Any:
    make = getattr(importlib.import_module("xgboost"), f"XGB{task}")
    model = make(random_state=0, n_jobs=1, enable_categorical=True)
    return make_pipeline(Frame(words), model)


def make_linear(task: str, words: list[str]) -> Any:
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        remainder=SimpleImputer(add_indicator=True),
    )
    model = LogisticRegression() if task == "Classifier" else RidgeCV()
    return make_pipeline(encode, StandardScaler(), model)


METHODS = {
    OURS: Method("lacunet", "lacunet", make_lacunet),
    "catboost": Method("CatBoost", "catboost", make_catboost),
    "linear": Method("mean + indicator, linear", "sklearn", make_linear),
    "hgb": Method("HistGradientBoosting", "sklearn", make_hgb),
    "lightgbm": Method("LightGBM", "lightgbm", make_lightgbm),
    "xgboost": Method("XGBoost", "xgboost", make_xgboost),
}
