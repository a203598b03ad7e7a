"""Cells of a comparison: one method on one split, kept as lines of JSON."""

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.rivals import Method, digest_source
from benchmarks.timing import CPU, threads

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Split:
    """Training rows and test rows."""

    X: np.ndarray
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """A data set and its splits, which are made when they are needed."""

    dataset: str
    n_folds: int
    splits: Callable[[], list[Split]]


@dataclass(frozen=True)
class Cell:
    """What a method reached on a split; CPU seconds of fit and prediction."""

    dataset: str
    method: str
    fold: int
    recipe: str
    log_loss: float
    accuracy: float
    seconds: float
    source: str | None = None  # digest of our code, for our methods

    @property
    def key(self) -> Key:
        return self.dataset, self.method, self.fold


class CellFile:
    """The cells of a file, to which each new one is written at once.

    Of several lines for the same cell the last one counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells = {cell.key: cell for cell in self._read()}

    def __contains__(self, key_and_recipe: tuple[Key, str]) -> bool:
        key, recipe = key_and_recipe
        return key in self.cells and self.cells[key].recipe == recipe

    def add(self, cell: Cell) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(as_line(cell))
        self.cells[cell.key] = cell

    def tidy(self) -> None:
        """Sort the file, without the lines that later ones stand in for."""
        if not self.path.exists():
            return
        # Read again: another run may have written to it.
        found = {cell.key: cell for cell in self._read()}
        self.cells = dict(sorted(found.items()))
        write_whole(self.path, "".join(map(as_line, self.cells.values())))

    def _read(self) -> list[Cell]:
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            msg = (
                f"Dropped the last line of {self.path.name}, which is only half there."
            )
            warnings.warn(msg, UserWarning, stacklevel=3)
            with self.path.open("r+b") as file:
                file.truncate(whole)
        lines = content[:whole].decode("utf-8").splitlines()
        return [self._cell(number, line) for number, line in enumerate(lines, 1)]

    def _cell(self, number: int, line: str) -> Cell:
        try:
            return Cell(**json.loads(line))
        except (json.JSONDecodeError, TypeError) as error:
            msg = f"Line {number} of {self.path.name} is not a cell: {error}"
            raise ValueError(msg) from error


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text, "utf-8")
    beside.replace(path)


def as_line(cell: Cell) -> str:
    plain = {name: value for name, value in asdict(cell).items() if value is not None}
    return json.dumps(plain) + "\n"


def evaluate_model(model: Any, split: Split) -> tuple[float, float, float]:
    """Return log-loss and accuracy on the test rows, and the CPU seconds it took."""
    with threads(1), warnings.catch_warnings():
        # At their defaults some warn that they do not converge; the scores show it.
        warnings.simplefilter("ignore")
        begin = CPU()
        model.fit(split.X[split.train], split.y[split.train])
        probabilities = model.predict_proba(split.X[split.test])
        seconds = CPU() - begin
    loss, accuracy = score(split.y[split.test], probabilities)
    return loss, accuracy, seconds


def score(y: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    exact = np.asarray(probabilities, dtype=np.float64)
    exact = exact / exact.sum(1, keepdims=True)  # some give single precision
    loss = log_loss(y, exact, labels=np.arange(exact.shape[1]))
    return float(loss), float((exact.argmax(1) == y).mean())


def measure_cell(
    method: Method, comparison: Comparison, fold: int, split: Split, *, quick: bool
) -> Cell:
    loss, accuracy, seconds = evaluate_model(method.make(quick), split)
    return Cell(
        comparison.dataset,
        method.name,
        fold,
        method.recipe(quick=quick),
        round(loss, 6),
        round(accuracy, 6),
        round(seconds, 3),
        digest_source() if method.is_ours else None,
    )


def fill(
    file: CellFile,
    comparisons: Sequence[Comparison],
    methods: Sequence[Method],
    *,
    quick: bool = False,
    again: bool = False,
) -> int:
    """Measure the cells that the file lacks, all of them if ``again``; count them."""
    by_name = {method.name: method for method in methods}
    recipes = {name: method.recipe(quick=quick) for name, method in by_name.items()}
    n_measured = 0
    for comparison in comparisons:
        keys = [
            (comparison.dataset, method.name, fold)
            for method in methods
            for fold in range(comparison.n_folds)
        ]
        lacking = [key for key in keys if again or (key, recipes[key[1]]) not in file]
        splits = comparison.splits() if lacking else []
        for _, name, fold in lacking:
            cell = measure_cell(
                by_name[name], comparison, fold, splits[fold], quick=quick
            )
            file.add(cell)
            n_measured += 1
            report(cell)
    file.tidy()
    return n_measured


def report(cell: Cell) -> None:
    print(
        f"{cell.dataset:<20} {cell.method:<14} fold {cell.fold}: "
        f"log-loss {cell.log_loss:.4f}, accuracy {cell.accuracy:.4f}, "
        f"{cell.seconds:.1f} s",
        file=sys.stderr,
        flush=True,
    )
