"""How far a perceptron comes on complete rows of the seizures: table 2 asks for 0.836.

python -m benchmarks.seizures

Settings are scored on an eighth of the training rows and, beside it, on the test rows
of table 2.
"""

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from reproduction.datasets import load_dataset
from reproduction.protocols import Table, split_rows
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from benchmarks.table import format_table, write_whole
from benchmarks.timing import CPU, threads

OUT = Path("benchmarks/results/seizures.json")
EPOCHS, BATCH, RATE = 100, 128, 2e-3
REPORTED = 0.836


class Setting(NamedTuple):
    """A perceptron of three ReLU layers, and how it is trained."""

    split: str
    width: int
    dropout: float
    normalised: bool
    scale: str

    @property
    def name(self) -> str:
        """Return what it is called in the file."""
        norm = ", batch normalisation" if self.normalised else ""
        dropout = f", dropout {self.dropout}" if self.dropout else ""
        return f"{self.split}: 3 x {self.width}, {self.scale} scaled{dropout}{norm}"


PLAIN, DROPOUT, NORMALISED = (0.0, False), (0.25, False), (0.25, True)
SETTINGS = [
    *(
        Setting("rows", width, *kind, "table")
        for width, kind in itertools.product((89, 512), (PLAIN, DROPOUT, NORMALISED))
    ),
    *(Setting("rows", width, *PLAIN, "columns") for width in (89, 512)),
    Setting("rows", 1024, 0.5, False, "table"),
    *(Setting("recordings", width, *DROPOUT, "table") for width in (89, 512)),
]


def main(argv: Sequence[str] | None = None) -> None:
    """Train each setting that the file lacks, and print all accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args(argv)
    report = json.loads(options.out.read_text()) if options.out.exists() else {}
    for setting in SETTINGS:
        if setting.name in report:
            continue
        report[setting.name] = train(setting, options.epochs)
        write_whole(options.out, json.dumps(report, indent=2) + "\n")
        print(setting.name, report[setting.name], flush=True)
    body = [
        [name, f"{row['validation']:.3f}", f"{row['test']:.3f}", f"{row['cpu']:.0f}"]
        for name, row in report.items()
    ]
    print(format_table(["setting", "validation", "test", "CPU s"], body))
    print(f"The paper reports {REPORTED}.")


def train(setting: Setting, epochs: int) -> dict[str, Any]:
    """Return the accuracies of a setting, and what it took."""
    data = load_dataset("esr")
    y = np.unique(data.y, return_inverse=True)[1]
    groups = data.groups if setting.split == "recordings" else None
    train, test = split_rows(Table(data.X, y, groups=groups), 0, 0)
    inner = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = inner(8, shuffle=True, random_state=0)
    of_train = None if groups is None else groups[train]
    kept, validation = next(folds.split(train, y[train], of_train))
    X = np.asarray(data.X, dtype=np.float32)
    rows = X[train[kept]]
    axis = 0 if setting.scale == "columns" else None
    X = torch.tensor((X - rows.mean(axis)) / rows.std(axis))
    labels = torch.tensor(y)
    with threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        begin = CPU()
        model = fit(setting, X[train[kept]], labels[train[kept]], epochs)
        seconds = CPU() - begin

    def accuracy(chosen: Any) -> float:
        with torch.no_grad():
            return float((model(X[chosen]).argmax(1) == labels[chosen]).float().mean())

    return {
        "validation": round(accuracy(train[validation]), 4),
        "test": round(accuracy(test), 4),
        "epochs": epochs,
        "cpu": round(seconds, 1),
    }


def fit(
    setting: Setting, X: torch.Tensor, y: torch.Tensor, epochs: int
) -> torch.nn.Module:
    """Return a trained perceptron."""
    widths = [X.shape[1], *[setting.width] * 3]
    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(widths):
        layers.append(torch.nn.Linear(n_in, n_out))
        if setting.normalised:
            layers.append(torch.nn.BatchNorm1d(n_out))
        layers += [torch.nn.ReLU(), torch.nn.Dropout(setting.dropout)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], int(y.max()) + 1))
    steps = -(-len(X) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, epochs=epochs, steps_per_epoch=steps
    )
    for _ in range(epochs):
        for batch in torch.randperm(len(X)).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(X[batch]), y[batch]).backward()
            optimiser.step()
            schedule.step()
    return model.eval()


if __name__ == "__main__":
    main()
