"""The methods of ``benchmarks.tables``: ours and rivals, at their defaults, one thread.

They take frames as pandas reads them: numbers with NaN, and strings with NaN in the
columns that a maker is given as ``words``. ``task`` is "Classifier" or "Regressor".
"""

import copy
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from torch.nn.functional import cross_entropy, mse_loss

from benchmarks.table import digest_source

OURS = "lacunet"


@dataclass(frozen=True)
class Method:
    """How to make a model for a task and the names of the columns of words."""

    title: str
    module: str
    make: Callable[[str, list[str]], Any]
    most_rows: int | None = None  # of the tables that it is measured on
    change: Callable[[], AbstractContextManager[Any]] = nullcontext  # while it runs

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def version(self) -> str:
        module = importlib.import_module(self.module)
        known = getattr(module, "__version__", None)
        name = f"{self.module} {known or metadata.version(self.module)}"
        # Between releases the version is the same, the code is not.
        return f"{name}, source {digest_source()}" if self.module == OURS else name


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
    model = LogisticRegression() if task == "Classifier" else RidgeCV()
    return make_filled(model, words)


def make_mlp(task: str, words: list[str]) -> Any:
    make = MLPClassifier if task == "Classifier" else MLPRegressor
    return make_filled(make(random_state=0), words)


def make_filled(model: Any, words: list[str]) -> Any:
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        remainder=SimpleImputer(add_indicator=True),
    )
    return make_pipeline(encode, StandardScaler(), model)


def make_realmlp(task: str, words: list[str]) -> Any:
    make = getattr(importlib.import_module("pytabkit"), f"RealMLP_TD_{task}")
    model = make(random_state=0, n_threads=1, device="cpu")
    return make_pipeline(Frame(words, fill=True), model)


def make_tabm(task: str, words: list[str]) -> Any:
    return make_pipeline(Frame(words, fill=True), TabM(task))


class TabM(BaseEstimator):
    """TabM with piecewise-linear embeddings of the numbers, behind ``Frame``.

    Sizes are the package's defaults. It has no training loop: rates, batches, normal
    quantiles, and a patience of 16 epochs, here on a fifth of the rows, are those of
    the example that comes with it. Indicators are categories of two.
    """

    def __init__(self, task):
        self.task = task

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "TabM":
        classifies = self.task == "Classifier"
        rows, valid = train_test_split(
            np.arange(len(X)),
            test_size=0.2,
            random_state=0,
            stratify=y if classifies else None,
        )
        self._prepare(X, rows)
        if classifies:
            target = torch.tensor(y)
        else:
            self.mean_, self.scale_ = y[rows].mean(), y[rows].std()
            target = torch.tensor((y - self.mean_) / self.scale_).float()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self._train(*self._tensors(X), target, torch.tensor(rows), valid)
        return self

    def _prepare(self, X: pd.DataFrame, rows: np.ndarray) -> None:
        """Note which columns are numbers, and the sizes of the others."""
        train = X.iloc[rows]
        self.numbers_ = [n for n in X if n[0] == "x" and train[n].nunique() > 1]
        if self.numbers_:
            size = min(1000, len(rows))
            quantiles = QuantileTransformer(
                n_quantiles=size, output_distribution="normal", random_state=0
            )
            self.quantiles_ = quantiles.fit(train[self.numbers_])
        self.sizes_ = {
            name: 2 if name[0] == "m" else len(X[name].cat.categories) + 1
            for name in X
            if name[0] != "x"
        }

    def _tensors(self, X: pd.DataFrame) -> tuple[Any, Any]:
        numbers = kinds = None
        if self.numbers_:
            values = self.quantiles_.transform(X[self.numbers_])
            numbers = torch.tensor(np.asarray(values)).float()
        if self.sizes_:
            codes = [
                X[name].to_numpy(np.int64)
                if name[0] == "m"
                else X[name].cat.codes.to_numpy(np.int64) + 1  # 0: missing
                for name in self.sizes_
            ]
            kinds = torch.tensor(np.column_stack(codes))
        return numbers, kinds

    def _train(self, numbers, kinds, target, rows, valid) -> None:
        embeddings = None
        if self.numbers_:
            rtdl = importlib.import_module("rtdl_num_embeddings")
            bins = rtdl.compute_bins(numbers[rows], n_bins=min(48, len(rows) - 1))
            embeddings = rtdl.PiecewiseLinearEmbeddings(
                bins, 16, activation=False, version="B"
            )
        classifies = self.task == "Classifier"
        self.model_ = importlib.import_module("tabm").TabM.make(
            n_num_features=len(self.numbers_),
            cat_cardinalities=list(self.sizes_.values()),
            d_out=int(target.max()) + 1 if classifies else 1,
            num_embeddings=embeddings,
        )
        optimizer = torch.optim.AdamW(
            self.model_.parameters(), lr=2e-3, weight_decay=3e-4
        )
        best, best_loss, n_since = None, np.inf, 0
        while n_since < 16:
            self.model_.train()
            for batch in rows[torch.randperm(len(rows))].split(256):
                optimizer.zero_grad()
                out = self._forward(numbers, kinds, batch)  # (batch, k, outputs)
                repeated = target[batch].repeat_interleave(out.shape[1])
                if classifies:
                    loss = cross_entropy(out.flatten(0, 1), repeated)
                else:
                    loss = mse_loss(out.flatten(), repeated)
                loss.backward()
                optimizer.step()
            mean = self._predict(
                numbers[valid] if self.numbers_ else None,
                kinds[valid] if self.sizes_ else None,
            )
            if classifies:
                valid_loss = -mean.log()[range(len(valid)), target[valid]].mean().item()
            else:
                valid_loss = mse_loss(mean, target[valid]).item()
            n_since += 1
            if valid_loss < best_loss:
                best_loss, n_since = valid_loss, 0
                best = copy.deepcopy(self.model_.state_dict())
        self.model_.load_state_dict(best)

    def _forward(self, numbers, kinds, rows):
        return self.model_(
            None if numbers is None else numbers[rows],
            None if kinds is None else kinds[rows],
        )

    @torch.no_grad()
    def _predict(self, numbers, kinds):
        """Average the k predictions: probabilities, or scaled targets."""
        self.model_.eval()
        n_rows = len(kinds if numbers is None else numbers)
        batches = torch.arange(n_rows).split(1024)
        out = torch.cat([self._forward(numbers, kinds, batch) for batch in batches])
        if self.task == "Classifier":
            return out.softmax(-1).mean(1)
        return out.mean(1).squeeze(-1)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self._predict(*self._tensors(X)).double().numpy()

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        scaled = self._predict(*self._tensors(X)).double().numpy()
        return scaled * self.scale_ + self.mean_


METHODS = {
    OURS: Method("lacunet", "lacunet", make_lacunet),
    "catboost": Method("CatBoost", "catboost", make_catboost),
    "linear": Method("mean + indicator, linear", "sklearn", make_linear),
    "hgb": Method("HistGradientBoosting", "sklearn", make_hgb),
    "lightgbm": Method("LightGBM", "lightgbm", make_lightgbm),
    "xgboost": Method("XGBoost", "xgboost", make_xgboost),
    "tabm": Method("TabM", "tabm", make_tabm),
    "realmlp": Method("RealMLP", "pytabkit", make_realmlp, most_rows=3000),
    "mlp": Method("mean + indicator, MLP", "sklearn", make_mlp),
}
