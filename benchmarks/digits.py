"""Settings of our autoencoders of table 1, scored on validation images.

python -m benchmarks.digits [--part same wide]
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.autoencoders import (
    AUTOENCODERS,
    N_COMPONENTS,
    NETWORK,
    find_errors,
)
from reproduction.protocols import Images, load_images
from reproduction.tables import ERRORS, TABLE_1

from benchmarks.table import describe_machine, format_table, write_whole
from benchmarks.timing import CPU, threads
from lacunet.density import IncompleteGaussianMixture

OUT = Path("benchmarks/results/digits.json")
N_TRAIN, N_VALIDATION = 20_000, 5_000  # the first and the last training images
EPOCHS = 15
DIAGONAL = IncompleteGaussianMixture(N_COMPONENTS, tol=1.0)
# Methods of table 1, and what is changed of them.
LARGE = {"mask_augmentation": 0.2}  # patches that are hidden: a fifth of the image
SAME: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("paper", {}),
    "patch in 1/4": ("lacunet", {**LARGE, "masked_fraction": 0.25}),
    "patch in 1/10": ("lacunet", {**LARGE, "masked_fraction": 0.1}),
    "small patch in 1/10": ("lacunet", {}),
    "patch in 1/10, diagonal": (
        "lacunet",
        {**LARGE, "masked_fraction": 0.1, "density": DIAGONAL, "train_density": True},
    ),
}
WIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "wide, patch in 1/10": ("lacunet-wide", {"masked_fraction": 0.1}),
    "wide, patch in 1/4": ("lacunet-wide", {"masked_fraction": 0.25}),
}
PARTS = {"same": SAME, "wide": WIDE}


def main(argv: Sequence[str] | None = None) -> None:
    """Train each setting that the file lacks, and print all errors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args(argv)
    report = json.loads(options.out.read_text()) if options.out.exists() else {}
    for name, (method, changes) in [
        item for chosen in options.part for item in PARTS[chosen].items()
    ]:
        if name in report:
            continue
        report[name] = train(
            split_images(), method, {"max_epochs": options.epochs, **changes}
        )
        write_whole(options.out, json.dumps(report, indent=2) + "\n")
        print(name, report[name], flush=True)
    body = [
        [name, *(f"{row[metric]:.5f}" for metric in ERRORS), f"{row['cpu']:.0f}"]
        for name, row in report.items()
    ]
    print(format_table(["setting", "total", "inside", "outside", "CPU s"], body))


def train(images: Images, method: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the errors of a setting on images not trained on, and what it took."""
    model = AUTOENCODERS[method](**NETWORK, random_state=0)
    given = {"batch_size": 64, "image_shape": (28, 28)}
    model.set_params(**TABLE_1.parameters, **given, **changes)
    with threads(1):
        begin = CPU()
        model.fit(images.train)
        seconds = CPU() - begin
    errors = find_errors(model.reconstruct(images.test), images)
    epochs = model.max_epochs
    return {**errors, "cpu": seconds, "epochs": epochs, **describe_machine()}


def split_images() -> Images:
    """Return the first training images, and the last as validation images."""
    given = load_images("mnist", 0)
    first, last = slice(N_TRAIN), slice(-N_VALIDATION, None)
    return Images(
        given.train[first],
        given.train[last],
        given.original[first],
        given.original[last],
    )


if __name__ == "__main__":
    main()
