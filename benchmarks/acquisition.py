"""What to measure next: scores against the number of measurements, from nothing.

``LACUNET_DATA=folder python -m benchmarks.acquisition``: six tables, and two made sets.
All cells of a test row are missing at first. A policy chooses one, its true value is
revealed, and so on, ten times; cells that the table itself lacks are not offered. After
each step the same model predicts, whatever the policy: so policies are compared, not
models.

Policies
    random      a random order for each row; the mean over three
    fixed       the order of :func:`lacunet.inspection.importance` on training rows
    mlp         greedy by a plain network on ``[x * mask, mask]``, trained on randomly
                masked rows, with draws of a cell from the training rows, as in the
                baselines of AFABench (arXiv 2508.14734)
    ours        greedy by :func:`lacunet.inspection.acquisition_values`

``mlp-alone`` is the order of ``mlp`` with the predictions of that network.

Models
    masked          ``mask_augmentation=0.5, indicator=False, propagate="expectation"``:
                    what to fit if rows begin with nothing
    no-indicators   ``indicator=False``
    default         no argument

The file that is committed has all sets and three seeds for ``masked``, and one seed of
a few sets for the others (``--models``), which show what to fit. The loss is log-loss,
of ames RMSE.

The made sets: in "switch", the first column determines which one of eight others is the
class, so the right order is known: the switch, and then that column. In "xor" the class
is the exclusive or of two columns, which are worth nothing one at a time, and eight
others agree with the class in 60% of the rows: greedy policies measure these first, and
fail by construction.

A set with a seed is measured once: a run that was killed goes on where it was. Seeds
from 100 on were used to choose the method, and are not reported.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from reproduction.datasets import load_dataset
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

from benchmarks.table import describe_machine, digest_source, markdown, write_whole
from benchmarks.tables import load_table
from benchmarks.timing import CPU, threads
from lacunet import LacunetClassifier, LacunetRegressor
from lacunet.estimators import EncodedModel
from lacunet.inspection import Completions, acquisition_values, importance

OUT = Path("benchmarks/results/acquisition.json")
PAPER = ("heart", "australian", "kidney_disease")
TABLES = (*PAPER, "eucalyptus", "soybean", "ames")
MADE = ("switch", "xor")
MODELS: dict[str, dict[str, Any]] = {
    "masked": {
        "mask_augmentation": 0.5,
        "indicator": False,
        "propagate": "expectation",
    },
    "no-indicators": {"indicator": False},
    "default": {},
}
SEEDS = (0, 1, 2)
N_STEPS = 10
SHOWN = (0, 1, 2, 5, 10)
N_TEST, N_TRAIN = 100, 2000
N_RANDOM = 3  # orders
Policy = Callable[[Tensor, np.ndarray], np.ndarray]  # encoded rows, offered: places


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, and print the summary of what it then has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    names = (*TABLES, *MADE)
    add("--sets", nargs="+", choices=names, default=list(names), metavar="NAME")
    add("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")
    add("--models", nargs="+", choices=MODELS, default=["masked"], metavar="NAME")
    add("--quick", action="store_true", help="tiny models and few rows")
    add("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args(argv)
    if options.quick and options.out == OUT:
        parser.error("Got --quick without --out, but expected a file of its own.")
    content: dict[str, Any] = {"curves": []}
    if options.out.exists():
        content = json.loads(options.out.read_text("utf-8"))
    done = {(line["set"], line["seed"], line["model"]) for line in content["curves"]}
    for seed, name, model in product(options.seeds, options.sets, options.models):
        if (name, seed, model) in done:
            continue
        with threads(1), warnings.catch_warnings():
            # Of values that are never missing in training, and constant columns.
            warnings.simplefilter("ignore")
            content["curves"] += measure(name, seed, model, quick=options.quick)
        content["measured_with"] = describe_machine() | {"source": digest_source()}
        write(options.out, content)
    with threads(1):
        times = content.setdefault("milliseconds", {})
        for model in options.models:
            if model not in times:
                times[model] = time_a_row(model, quick=options.quick)
    write(options.out, content)
    print(summarise(content))


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON with a line for each curve."""
    rest = json.dumps(content | {"curves": []}, indent=2)
    curves = ",\n    ".join(map(json.dumps, content["curves"]))
    text = rest.replace('"curves": []', f'"curves": [\n    {curves}\n  ]')
    write_whole(path, f"{text}\n")


def load(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray, bool]:
    """Return a table, its target, and whether that is a class."""
    rng = np.random.RandomState(1000 + seed)
    if name == "switch":
        X = pd.DataFrame(rng.randint(0, 2, (2000, 8)).astype(float))
        X.columns = [f"x{place}" for place in range(8)]
        switch = rng.randint(0, 8, 2000)
        y = X.to_numpy()[np.arange(2000), switch].astype(int)
        X.insert(0, "switch", [f"s{place}" for place in switch])
        return X, y, True
    if name == "xor":
        pair = rng.randint(0, 2, (2000, 2))
        y = pair[:, 0] ^ pair[:, 1]
        weak = np.where(rng.rand(2000, 8) < 0.6, y[:, None], 1 - y[:, None])
        X = pd.DataFrame(np.hstack([pair, weak]).astype(float))
        X.columns = [f"x{place}" for place in range(10)]
        return X, y, True
    if name in PAPER:
        data = load_dataset(name)
        X = pd.DataFrame(data.X, columns=[f"x{k}" for k in range(data.X.shape[1])])
        return X, np.unique(data.y, return_inverse=True)[1], True
    table = load_table(name)
    return table.X, table.y, table.task == "Classifier"


def measure(
    name: str, seed: int, model: str, *, quick: bool = False
) -> list[dict[str, Any]]:
    """Return the curves of all policies with one model."""
    X, y, is_classes = load(name, seed)
    n_train, n_test = (200, 30) if quick else (N_TRAIN, N_TEST)
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=min(n_train, int(0.7 * len(y))),
        test_size=min(n_test, len(y) - int(0.7 * len(y))),
        stratify=y if is_classes else None,
        random_state=seed,
    )
    small = {"n_networks": 2, "max_epochs": 2} if quick else {}
    estimator = LacunetClassifier if is_classes else LacunetRegressor
    fitted = estimator(
        random_state=seed, on_unseen_missing="use", **MODELS[model], **small
    ).fit(X, y)
    encoded = EncodedModel(fitted)
    rows = encoded.encode(X_test)
    found = importance(fitted, X, y, max_rows=300, max_columns=200, random_state=seed)
    order = [encoded.names.index(column.name) for column in found.columns]
    policies: dict[str, list[Policy]] = {
        "random": [random_order(3 * seed + k) for k in range(N_RANDOM)],
        "fixed": [fixed_order(order)],
        "ours": [our_values(fitted)],
    }
    network = None
    if model == "masked":
        network = MaskedNetwork(encoded, X, y, is_classes, seed, 2 if quick else 100)
        policies["mlp"] = [network.choose]
    lines = []
    for policy, each in policies.items():
        begin = CPU()
        curves = [follow(encoded, rows, y_test, is_classes, one) for one in each]
        seconds = (CPU() - begin) / len(curves)
        lines.append(line(name, seed, model, policy, is_classes, curves, seconds))
    if network is not None:
        choose, predict = network.choose, network.predict
        alone = [follow(encoded, rows, y_test, is_classes, choose, predict)]
        lines.append(line(name, seed, model, "mlp-alone", is_classes, alone, None))
    return lines


def line(
    name: str,
    seed: int,
    model: str,
    policy: str,
    is_classes: bool,
    curves: list[np.ndarray],
    seconds: float | None,
) -> dict[str, Any]:
    """Return a line of the results: means over curves, (steps, 2)."""
    curve = np.mean(curves, 0)
    area = np.trapezoid(curve, axis=0) / (len(curve) - 1)
    loss, score = ("log_loss", "accuracy") if is_classes else ("rmse", "r2")
    return {
        "set": name,
        "seed": seed,
        "model": model,
        "policy": policy,
        f"area_{loss}": float(f"{area[0]:.6g}"),
        f"area_{score}": float(f"{area[1]:.6g}"),
        loss: [float(f"{value:.5g}") for value in curve[:, 0]],
        score: [float(f"{value:.5g}") for value in curve[:, 1]],
        "seconds": None if seconds is None else round(seconds, 2),
    }


def follow(
    encoded: EncodedModel,
    rows: Tensor,
    y: np.ndarray,
    is_classes: bool,
    choose: Policy,
    predict: Callable[[Tensor], np.ndarray] | None = None,
) -> np.ndarray:
    """Return loss and score after each of the steps of a policy, (steps + 1, 2)."""
    available = encoded.observed(rows).numpy()
    shown = np.zeros_like(available)
    every = torch.ones(available.shape[1], dtype=torch.bool)
    curve = []
    for step in range(N_STEPS + 1):
        x = encoded.mark(encoded.hide(rows, torch.as_tensor(~shown)), every)
        predicted = (predict or encoded.predict)(x)
        if is_classes:
            right = predicted[np.arange(len(y)), y].clip(1e-12)
            curve.append((-np.log(right).mean(), (predicted.argmax(1) == y).mean()))
        else:
            error = ((predicted[:, 0] - y) ** 2).mean()
            curve.append((np.sqrt(error), 1 - error / y.var()))
        offered = available & ~shown
        some = np.flatnonzero(offered.any(1))
        if step < N_STEPS and len(some):
            shown[some, choose(x[some], offered[some])] = True
    return np.array(curve)


def best_of(values: np.ndarray, offered: np.ndarray) -> np.ndarray:
    """Return the offered column of the highest value, of each row."""
    return np.where(offered, np.nan_to_num(values, nan=-1.0), -2.0).argmax(1)


def random_order(seed: int) -> Policy:
    random = np.random.RandomState(seed)
    return lambda x, offered: best_of(random.rand(*offered.shape), offered)


def fixed_order(order: Sequence[int]) -> Policy:
    values = np.zeros(len(order))
    values[list(order)] = np.arange(len(order), 0, -1)
    return lambda x, offered: best_of(values, offered)


def our_values(model: Any) -> Policy:
    """Return our policy; rows that are alike, as all are at first, are asked once."""
    drawn = Completions(model)

    def choose(x: Tensor, offered: np.ndarray) -> np.ndarray:
        unique, place = np.unique(x.numpy(), axis=0, return_inverse=True)
        values = drawn.values(torch.as_tensor(unique))
        return best_of(values[place.ravel()], offered)

    return choose


class MaskedNetwork:
    """A plain network on ``[x * mask, mask]``, trained on rows masked at random."""

    def __init__(
        self,
        encoded: EncodedModel,
        X: pd.DataFrame,
        y: np.ndarray,
        is_classes: bool,
        seed: int,
        n_epochs: int,
    ) -> None:
        self.encoded = encoded
        self.is_classes = is_classes
        rows = encoded.encode(X)
        self.rows = rows[:, encoded.sources >= 0]
        self.sources = encoded.sources[encoded.sources >= 0].numpy()
        self.centre, self.scale = (0.0, 1.0) if is_classes else (y.mean(), y.std())
        targets = torch.as_tensor((y - self.centre) / self.scale, dtype=torch.float32)
        if is_classes:
            targets = torch.as_tensor(y)
        n_out = int(y.max()) + 1 if is_classes else 1
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network = nn.Sequential(
                nn.Linear(2 * self.rows.shape[1], 128),
                nn.ReLU(),
                nn.Linear(128, 128),
                nn.ReLU(),
                nn.Linear(128, n_out),
            )
        parameters = self.network.parameters()
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=1e-2)
        order = torch.randperm(len(y), generator=generator)
        valid, train = order[: len(y) // 5], order[len(y) // 5 :]
        n_columns = len(encoded.names)
        # Several masks of each validation row, the same in every epoch.
        valid = valid.repeat(4)
        hidden = self._mask(len(valid), n_columns, generator)
        best, state, since = np.inf, self.network.state_dict(), 0
        for _ in range(n_epochs):
            for batch in train[torch.randperm(len(train), generator=generator)].split(
                64
            ):
                gone = self._mask(len(batch), n_columns, generator)
                loss = self._loss(self.rows[batch], gone, targets[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                loss = self._loss(self.rows[valid], hidden, targets[valid])
            since += 1
            if loss < best:
                best, since = float(loss), 0
                state = {k: v.clone() for k, v in self.network.state_dict().items()}
            if since > 15:
                break
        self.network.load_state_dict(state)

    def _mask(self, n: int, n_columns: int, generator: torch.Generator) -> Tensor:
        rates = torch.rand(n, 1, generator=generator)
        return torch.rand(n, n_columns, generator=generator) < rates

    def _outputs(self, x: Tensor) -> Tensor:
        return self.network(torch.cat((x.nan_to_num(0.0), (~x.isnan()).float()), 1))

    def _loss(self, x: Tensor, hidden: Tensor, targets: Tensor) -> Tensor:
        outputs = self._outputs(x.masked_fill(hidden[:, self.sources], torch.nan))
        if self.is_classes:
            return nn.functional.cross_entropy(outputs, targets)
        return nn.functional.mse_loss(outputs[:, 0], targets)

    @torch.no_grad()
    def predict(self, x: Tensor) -> np.ndarray:
        outputs = self._outputs(x[:, : len(self.sources)])
        if self.is_classes:
            return outputs.softmax(1).double().numpy()
        return outputs.double().numpy() * self.scale + self.centre

    def choose(self, x: Tensor, offered: np.ndarray) -> np.ndarray:
        """Return the cell that reduces the network's own uncertainty the most.

        It is expected over values of training rows: 16 quantiles of a number, all
        categories by their frequency.
        """
        values = np.zeros(offered.shape)
        for place in np.flatnonzero(offered.any(0)):
            own = self.sources == place
            seen = self.rows[:, own]
            seen = seen[~seen[:, 0].isnan()]
            rows = np.flatnonzero(offered[:, place])
            if not len(seen):
                continue
            if own.sum() > 1:
                points, weights = torch.eye(int(own.sum())), seen.mean(0).numpy()
            else:
                ranks = (torch.arange(16) + 0.5) / 16
                points, weights = seen.quantile(ranks, 0), np.full(16, 1 / 16)
            filled = x[rows].repeat(len(points), 1)
            filled[:, : len(own)][:, own] = points.repeat_interleave(len(rows), 0)
            predicted = self.predict(filled).reshape(len(points), len(rows), -1)
            mean = np.tensordot(weights, predicted, 1)
            if self.is_classes:
                each = np.tensordot(weights, entropy(predicted), 1)
                values[rows, place] = entropy(mean) - each
            else:
                each = np.tensordot(weights, (predicted - mean) ** 2, 1)
                values[rows, place] = each.sum(1)
        return best_of(values, offered)


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(p.clip(1e-12))).sum(-1)


def time_a_row(model: str, *, quick: bool) -> float:
    """Return CPU milliseconds of one row with 30 missing cells: the median of 15."""
    rng = np.random.RandomState(0)
    X = rng.randn(1000, 40)
    y = X[:, :10].sum(1) > 0
    small = {"n_networks": 2, "max_epochs": 2} if quick else {}
    fitted = LacunetClassifier(random_state=0, **MODELS[model], **small).fit(X, y)
    row = np.where(np.arange(40) < 30, np.nan, X[:1])
    times = []
    for _ in range(16):
        begin = CPU()
        acquisition_values(fitted, row)
        times.append(CPU() - begin)
    return round(1000 * float(np.median(times[1:])), 1)


def summarise(content: dict[str, Any]) -> str:
    """Return Markdown: areas under the curves, then the curves of the best model."""
    lines = pd.DataFrame(content["curves"])
    lines["loss"] = lines["area_log_loss"].fillna(lines.get("area_rmse"))
    lines["score"] = lines["area_accuracy"].fillna(lines.get("area_r2"))
    text = []
    for kind, better in (("loss", -1), ("score", 1)):
        areas = lines.pivot_table(
            index=["model", "set"], columns="policy", values=kind, sort=False
        )
        areas = areas.reindex(
            columns=[
                p for p in ("random", "fixed", "mlp", "ours", "mlp-alone") if p in areas
            ]
        )
        what = "log-loss, of ames RMSE" if kind == "loss" else "accuracy, of ames R2"
        text.append(f"#### Area under the curve: {what}\n")
        for model, part in areas.groupby("model", sort=False):
            part = part.droplevel(0).dropna(axis=1, how="all")
            real = part[part.index.isin(TABLES)]
            ahead = [
                f"{policy} on {(better * (real['ours'] - real[policy]) > 0).sum()}"
                for policy in real.columns.drop("ours")
            ]
            rows = [[k, *(f"{v:,.4g}" for v in row)] for k, row in part.iterrows()]
            text.append(f"{model}:\n\n" + markdown(["set", *part.columns], rows))
            if len(real):
                text.append(
                    f"\nOf {len(real)} tables, ours is ahead of {', '.join(ahead)}.\n"
                )
    text.append("#### Curves of the model `masked`, after 0, 1, 2, 5 and 10\n")
    rows = []
    for (name, policy), part in lines[lines["model"] == "masked"].groupby(
        ["set", "policy"], sort=False
    ):
        keys = [k for k in ("log_loss", "rmse", "accuracy", "r2") if k in part]
        cells = []
        for key in keys:
            curves = part[key].dropna()
            if len(curves):
                mean = np.mean(curves.tolist(), 0)
                cells.append(" ".join(f"{mean[step]:.3g}" for step in SHOWN))
        rows.append([name, policy, *cells])
    text.append(markdown(["set", "policy", "log-loss or RMSE", "accuracy or R2"], rows))
    for model, time in content["milliseconds"].items():
        text.append(f"\nOne row with 30 missing cells, {model}: {time} ms of CPU time.")
    return "\n".join(text)


if __name__ == "__main__":
    main()
