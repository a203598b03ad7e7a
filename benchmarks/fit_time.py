"""What fits and predictions cost, beside the same network on the filled table."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.em import clustered_rows
from benchmarks.rivals import make_hgb, make_lacunet, make_mlp
from benchmarks.table import Row, format_table
from benchmarks.timing import CPU, Effort, compare, threads, time_in_turn
from lacunet import IncompleteGaussianMixture, LacunetClassifier
from lacunet.training import Plan, train

N_ROWS, N_FEATURES, MISSING = 10_000, 50, 0.2
MOST_TIMES, MOST_TIMES_A_ROW = 8.0, 5.0
# Where every row has its own pattern of missing values, an epoch takes minutes.
EPOCHS_OF_FULL = 3


@dataclass(frozen=True)
class Recipe:
    """What both networks are made of and trained with."""

    widths: tuple[int, ...] = (64, 64)
    dropout: float = 0.1
    lr: float = 3e-3
    weight_decay: float = 1e-2
    batch_size: int = 256
    epochs: int = 20
    validation_fraction: float = 0.2


@dataclass(frozen=True)
class Trained:
    """The plain network with what fills and scales its input."""

    prepare: Any
    network: nn.Module

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        x = to_tensor(self.prepare.transform(X))
        with torch.inference_mode():
            return self.network(x).softmax(-1).double().numpy()


@dataclass(frozen=True)
class Cost:
    """CPU seconds of one model, and the epochs it was trained for."""

    model: str
    fit: float
    predict: float
    epochs: int | None = None


class FilledTask:
    """A plain network on a filled table, for the training loop of the package."""

    def __init__(
        self, network: nn.Module, x: Tensor, y: Tensor, x_valid: Tensor, y_valid: Tensor
    ) -> None:
        self.parts: Sequence[nn.Module] = [network]
        self.n_rows = len(x)
        self._x, self._y = x, y
        self._x_valid, self._y_valid = x_valid, y_valid

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        out = self.parts[part](self._x[rows])
        return functional.cross_entropy(out, self._y[rows])

    def validate(self, part: int) -> float:
        out = self.parts[part](self._x_valid)
        return float(functional.cross_entropy(out, self._y_valid))


def to_tensor(array: np.ndarray) -> Tensor:
    return torch.as_tensor(array, dtype=torch.float32)


def make_table(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw clustered rows, classes by the complete rows, and remove values."""
    random_state = np.random.RandomState(0)
    X = clustered_rows(n_rows, n_features, 3, random_state)
    scores = X[:, :10].sum(1) + X[:, 10] * X[:, 11] + random_state.normal(size=n_rows)
    X[random_state.uniform(size=X.shape) < MISSING] = np.nan
    return X, (scores > np.median(scores)).astype(np.int64)


def make_network(recipe: Recipe, n_features: int) -> nn.Module:
    layers: list[nn.Module] = []
    sizes = (n_features, *recipe.widths)
    for before, after in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(before, after), nn.GELU(), nn.Dropout(recipe.dropout)]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 2))


def fit_filled(X: np.ndarray, y: np.ndarray, recipe: Recipe, epochs: int) -> Trained:
    """Fill with means, standardise, and train the plain network in the same loop."""
    rows, validation = train_test_split(
        np.arange(len(X)),
        test_size=recipe.validation_fraction,
        stratify=y,
        random_state=0,
    )
    prepare = make_pipeline(SimpleImputer(), StandardScaler()).fit(X[rows])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = make_network(recipe, X.shape[1])
        targets = torch.as_tensor(y)
        task = FilledTask(
            network,
            to_tensor(prepare.transform(X[rows])),
            targets[rows],
            to_tensor(prepare.transform(X[validation])),
            targets[validation],
        )
        optimiser = torch.optim.AdamW(
            network.parameters(), lr=recipe.lr, weight_decay=recipe.weight_decay
        )
        plan = Plan(epochs, recipe.batch_size, patience=epochs)
        train(task, [optimiser], plan, torch.Generator().manual_seed(0))
    return Trained(prepare, network)


def fit_ours(
    X: np.ndarray, y: np.ndarray, recipe: Recipe, epochs: int
) -> LacunetClassifier:
    """Train one network over three diagonal components, as the paper has them."""
    model = LacunetClassifier(
        density=IncompleteGaussianMixture(3),
        indicator=False,
        propagate="expectation",
        n_networks=1,
        hidden_layer_sizes=recipe.widths,
        activation="gelu",
        dropout=recipe.dropout,
        lr=recipe.lr,
        weight_decay=recipe.weight_decay,
        batch_size=recipe.batch_size,
        validation_fraction=recipe.validation_fraction,
        max_epochs=epochs,
        random_state=0,
    )
    return model.fit(X, y)


def measure_one_network(
    X: np.ndarray, y: np.ndarray, recipe: Recipe, fits: Effort, predictions: Effort
) -> list[Row]:
    """Time fit and prediction of one network against the plain one."""
    ours = fit_ours(X, y, recipe, recipe.epochs)
    epochs = len(ours.history_)  # fewer than asked for if it stopped early
    reference = fit_filled(X, y, recipe, epochs)
    samples = time_in_turn(
        {
            "ours": lambda: fit_ours(X, y, recipe, recipe.epochs),
            "reference": lambda: fit_filled(X, y, recipe, epochs),
            "ours, one epoch": lambda: fit_ours(X, y, recipe, 1),
            "reference, one epoch": lambda: fit_filled(X, y, recipe, 1),
        },
        CPU,
        fits,
    )
    predict = compare(
        lambda: ours.predict_proba(X),
        lambda: reference.predict_proba(X),
        CPU,
        predictions,
    )
    case = f"{len(X)}x{X.shape[1]}, {MISSING:.0%} missing, one network, diag, k=3"
    medians = {name: median(seconds) for name, seconds in samples.items()}
    return [
        Row(
            case=f"fit, {case}",
            unit="s",
            ours=medians["ours"],
            reference=medians["reference"],
            bound=MOST_TIMES,
            repetitions=len(samples["ours"]),
            details=split_time(medians, epochs),
        ),
        Row(
            case=f"predict, {case}",
            unit="ms",
            ours=1e3 * predict.ours,
            reference=1e3 * predict.reference,
            bound=MOST_TIMES,
            repetitions=predict.repetitions,
        ),
    ]


def split_time(medians: dict[str, float], epochs: int) -> dict[str, Any]:
    """Separate the epochs from what precedes them: encoding, and EM for ours."""
    times: dict[str, Any] = {"epochs": epochs}
    for name in ("ours", "reference"):
        whole, one = medians[name], medians[f"{name}, one epoch"]
        epoch = (whole - one) / max(1, epochs - 1)
        times[f"{name}: seconds of an epoch, validation in"] = epoch
        times[f"{name}: seconds before the first epoch"] = max(0.0, one - epoch)
    return times


def models_to_time(*, quick: bool) -> dict[str, Any]:
    full = IncompleteGaussianMixture(3, covariance_type="full")
    factor = IncompleteGaussianMixture(3, covariance_type="factor")
    few = {} if quick else {"max_epochs": EPOCHS_OF_FULL}
    return {
        "lacunet": make_lacunet(quick),
        "lacunet, full, k=3": make_lacunet(quick, density=full, **few),
        "lacunet, factor, k=3": make_lacunet(quick, density=factor),
        "lacunet, sample": make_lacunet(quick, propagate="sample"),
        "HistGradientBoosting": make_hgb(quick),
        "mean + indicator, MLP": make_mlp(quick),
    }


def measure_cost(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> Cost:
    """Time one fit and one prediction of all rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, as in the comparisons
        begin = CPU()
        model.fit(X, y)
        fitted = CPU()
        model.predict_proba(X)
        end = CPU()
    epochs = len(model.history_) if isinstance(model, LacunetClassifier) else None
    cost = Cost(name, fitted - begin, end - fitted, epochs)
    print(f"measured: {name}, fit in {cost.fit:.1f} s", file=sys.stderr, flush=True)
    return cost


def measure_one_row(ours: Any, rival: Any, X: np.ndarray, effort: Effort) -> Row:
    """Time a single row with missing values through both models."""
    incomplete = np.flatnonzero(np.isnan(X).any(1))[0]
    row = X[incomplete : incomplete + 1]
    pair = compare(
        lambda: ours.predict_proba(row), lambda: rival.predict_proba(row), CPU, effort
    )
    return Row(
        case="one row through predict_proba at the defaults, HistGradientBoosting",
        unit="ms",
        ours=1e3 * pair.ours,
        reference=1e3 * pair.reference,
        bound=MOST_TIMES_A_ROW,
        repetitions=pair.repetitions,
    )


def measure_time(*, quick: bool) -> tuple[list[Row], list[Cost]]:
    """Measure all of it, on one thread."""
    X, y = make_table(300, 12) if quick else make_table(N_ROWS, N_FEATURES)
    recipe = Recipe(epochs=2) if quick else Recipe()
    once = Effort(repetitions=1, seconds=0.0, warm_up=0)
    fits = once if quick else Effort(repetitions=5, seconds=0.0, warm_up=0)
    often = once if quick else Effort()
    many = once if quick else Effort(repetitions=301, seconds=5.0, warm_up=20)
    with threads(1):
        rows = measure_one_network(X, y, recipe, fits, often)
        models = models_to_time(quick=quick)
        costs = [measure_cost(name, model, X, y) for name, model in models.items()]
        ours, rival = models["lacunet"], models["HistGradientBoosting"]
        rows.append(measure_one_row(ours, rival, X, many))
    return rows, costs


def costs_table(costs: Sequence[Cost]) -> str:
    body = [
        (c.model, f"{c.fit:.2f} s", str(c.epochs or "-"), f"{c.predict:.3f} s")
        for c in costs
    ]
    return format_table(("model", "fit", "epochs", "predict all rows"), body)
