"""Every method on two small tables beside the paper's figures; neighbours on images.

python -m benchmarks.baselines [--part accuracy neighbours]
"""

import argparse
import resource
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reproduction.datasets import load_dataset
from reproduction.methods import METHODS
from reproduction.rivals import NeighbourImputer
from reproduction.tables import NATURAL_COLUMNS, RIVALS
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from threadpoolctl import threadpool_info

from benchmarks.table import format_table, write_part
from benchmarks.timing import threads
from lacunet.missingness import drop_patch

OUT = Path("benchmarks/results")
N_FOLDS = 5
# Table 4 of the paper.
COMPARED = (*NATURAL_COLUMNS, "lacunet", *RIVALS)
PAPER = {
    "horse": {
        "karma": 0.826,
        "geom": 0.822,
        "knn": 0.807,
        "mice": 0.820,
        "mean": 0.793,
        "gmm": 0.818,
        "dropout": 0.823,
        "paper": 0.864,
        "ce": 0.858,
    },
    "pima": {
        "karma": 0.768,
        "geom": 0.766,
        "knn": 0.767,
        "mice": 0.769,
        "mean": 0.760,
        "gmm": 0.742,
        "dropout": 0.754,
        "paper": 0.747,
        "ce": 0.743,
    },
}
# Their parameters are chosen inside the fold; the others are at their defaults.
SEARCHED = ("geom", "karma")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, print the tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--part", nargs="+", choices=PARTS, default=list(PARTS))
    add("--methods", nargs="+", choices=COMPARED, default=COMPARED, metavar="NAME")
    add(
        "--images", type=int, default=60000, metavar="N", help="of MNIST, at most 60000"
    )
    add("--out", type=Path, default=OUT, metavar="FOLDER")
    options = parser.parse_args(argv)
    for part in options.part:
        write_part(part, PARTS[part](options), options.out / "baselines.json")
    print(f"\nwritten: {options.out / 'baselines.json'}")


# --- accuracy


def measure_accuracy(options: argparse.Namespace) -> dict[str, Any]:
    """Return mean accuracy and its standard error of every method, by data set."""
    scores: dict[str, dict[str, Any]] = {}
    for name in PAPER:
        X, y = load_dataset(name, return_X_y=True)
        scores[name] = {key: accuracy_of(key, X, y) for key in options.methods}
        print(f"\n{name}, {N_FOLDS} folds, RBF network where there is one behind:\n")
        print(accuracy_table(name, scores[name]))
    return {"paper": PAPER, "scores": scores}


def accuracy_of(key: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    model = METHODS[key].make(0, "rbf")
    if key in SEARCHED:
        model = GridSearchCV(model, dict(METHODS[key].grid_for("rbf")), cv=3)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    with threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = cross_val_score(model, X, y, cv=folds, error_score="raise")
        except (ImportError, ValueError) as error:
            return {"accuracy": None, "error": None, "why": str(error)}
    return {
        "accuracy": float(found.mean()),
        "error": float(found.std(ddof=1) / np.sqrt(N_FOLDS)),
        "why": None,
    }


def accuracy_table(name: str, scores: dict[str, Any]) -> str:
    header = ("method", "accuracy", "+-", "the paper's")
    body = []
    for key, score in scores.items():
        reached = (
            ("-", score["why"][:60])
            if score["accuracy"] is None
            else (f"{score['accuracy']:.3f}", f"{score['error']:.3f}")
        )
        paper = PAPER[name].get(key)
        body.append((key, *reached, "" if paper is None else f"{paper:.3f}"))
    return format_table(header, body)


# --- neighbours


def measure_neighbours(options: argparse.Namespace) -> dict[str, Any]:
    """Fill all training images of MNIST, each with a patch of 13 x 13 gone."""
    X = load_dataset("mnist", return_X_y=True)[0][: options.images]
    images = (X / np.float32(255)).astype(np.float32)
    incomplete, lost = drop_patch(images, 13, return_mask=True, random_state=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    filled = NeighbourImputer(5).fit_transform(incomplete)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = float(np.square(filled - images)[lost].sum() / images.size)
    n_threads = max(library["num_threads"] for library in threadpool_info())
    means = np.nanmean(incomplete, axis=0)
    trivial = float(np.square(means - images)[lost].sum() / images.size)
    print(
        f"\nnearest neighbours, {len(images)} images, {n_threads} threads: "
        f"{seconds:.0f} s, peak memory "
        f"{after / 2**10:.0f} MB, {before / 2**10:.0f} MB of it before. Error inside "
        f"the patches over all pixels: {error:.5f}, with means {trivial:.5f}"
    )
    return {
        "images": len(images),
        "threads": n_threads,
        "seconds": seconds,
        "peak_mb": after / 2**10,
        "before_mb": before / 2**10,
        "error_inside": error,
        "error_of_means": trivial,
    }


PARTS = {"accuracy": measure_accuracy, "neighbours": measure_neighbours}


if __name__ == "__main__":
    main()
