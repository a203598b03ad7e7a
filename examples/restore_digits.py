"""Restore digits with a patch of missing pixels in every image.

No complete image is seen in training. The paper's autoencoder takes the images as they
are, NaN where a pixel is missing, and returns complete images: its first layer is
:class:`lacunet.nn.ExpectedLinear`, and its loss is over the observed pixels only.
It is compared with the same autoencoder on images whose missing pixels are filled with
column means, with the same initial weights, batches and number of steps.
"""

import argparse
import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from tqdm import trange

from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture
from lacunet.functional import masked_mse
from lacunet.nn import ExpectedLinear

SIDE, PATCH = 8, 4
WIDTHS = (64, 128, 64, 32, 64, 128, 64)  # half of the paper's hidden layers
N_COMPONENTS = 10
BATCH_SIZE, LEARNING_RATE = 64, 3e-3
DENSITY_LOSS_WEIGHT = 1e-3


class Digits(NamedTuple):
    """Images of shape (images, pixels) with intensities in [0, 1]."""

    train: np.ndarray  # NaN inside the patch
    test: np.ndarray  # NaN inside the patch
    originals: np.ndarray  # the test images before the patch was removed


class Errors(NamedTuple):
    """Squared errors on the test images, each divided by the number of all pixels."""

    inside: float
    outside: float
    total: float


def remove_patches(
    images: np.ndarray, random_state: np.random.RandomState
) -> np.ndarray:
    """Put NaN into a square at a random place of every image."""
    incomplete = images.reshape(-1, SIDE, SIDE).copy()
    corners = random_state.randint(SIDE - PATCH + 1, size=(len(incomplete), 2))
    for image, (top, left) in zip(incomplete, corners, strict=True):
        image[top : top + PATCH, left : left + PATCH] = np.nan
    return incomplete.reshape(images.shape)


def load_incomplete_digits(n_images: int | None, random_state: int = 0) -> Digits:
    """Load scikit-learn's digits, split them, and remove a patch from each."""
    images = load_digits().data[:n_images] / 16.0
    train, test = train_test_split(images, test_size=0.2, random_state=random_state)
    rng = np.random.RandomState(random_state)
    return Digits(remove_patches(train, rng), remove_patches(test, rng), test)


def make_autoencoder(generator: torch.Generator) -> nn.Sequential:
    """Make the paper's network: ReLU after the first layer, then sigmoids."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(WIDTHS[:-1], WIDTHS[1:], strict=True):
        activation = nn.Sigmoid() if layers else nn.ReLU()
        linear = nn.Linear(inputs, outputs)
        # Glorot and Bengio: weights of sigmoids are four times as large.
        gain = 4.0 if layers else 1.0
        nn.init.xavier_uniform_(linear.weight, gain, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, activation]
    return nn.Sequential(*layers)


def expect_first_layer(
    network: nn.Sequential, density: GaussianMixtureDensity
) -> nn.Sequential:
    """Copy a network, with an expected first layer and ReLU."""
    first, _, *others = deepcopy(network)
    return nn.Sequential(ExpectedLinear.from_linear(first, density, "relu"), *others)


def train(
    network: nn.Module,
    inputs: Tensor,
    images: Tensor,
    *,
    epochs: int,
    label: str,
    density: GaussianMixtureDensity | None = None,
) -> None:
    """Train to restore the observed pixels; the density keeps its likelihood term."""
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    generator = torch.Generator().manual_seed(1)
    progress = trange(epochs, desc=label, unit="epoch")
    for _ in progress:
        losses = []
        for rows in torch.randperm(len(images), generator=generator).split(BATCH_SIZE):
            error = masked_mse(network(inputs[rows]), images[rows])
            loss = error
            if density is not None:
                surprise = -density.log_prob(images[rows]).mean()
                loss = error + DENSITY_LOSS_WEIGHT * surprise
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(error.detach())
        progress.set_postfix(loss=f"{torch.stack(losses).mean():.4f}")


@torch.no_grad()
def restore(network: nn.Module, images: np.ndarray) -> np.ndarray:
    return network(to_tensor(images)).numpy()


def to_tensor(images: np.ndarray) -> Tensor:
    return torch.as_tensor(images, dtype=torch.float32)


def fill(images: np.ndarray, means: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(images), means, images)


def restore_by_all_methods(digits: Digits, epochs: int) -> dict[str, np.ndarray]:
    """Restore the test images by imputation and by networks."""
    means = np.nanmean(digits.train, axis=0)
    # Some pixels never change: their standard deviation stays 3% of the range.
    mixture = IncompleteGaussianMixture(N_COMPONENTS, reg_covar=1e-3, random_state=0)
    density = GaussianMixtureDensity.from_estimator(mixture.fit(digits.train))
    plain = make_autoencoder(torch.Generator().manual_seed(0))
    expected = expect_first_layer(plain, density)
    images = to_tensor(digits.train)
    filled = to_tensor(fill(digits.train, means))
    train(plain, filled, images, epochs=epochs, label="mean filling  ")
    train(
        expected, images, images, epochs=epochs, density=density, label="ExpectedLinear"
    )
    mean_filled = fill(digits.test, means)
    return {
        "mean filling": mean_filled,
        "mean filling + autoencoder": restore(plain, mean_filled),
        "EM mixture filling": mixture.impute(digits.test),
        "ExpectedLinear + autoencoder": restore(expected, digits.test),
    }


def measure(restored: np.ndarray, digits: Digits) -> Errors:
    squares = (restored - digits.originals) ** 2
    missing = np.isnan(digits.test)
    inside = np.where(missing, squares, 0.0).mean()
    outside = np.where(missing, 0.0, squares).mean()
    return Errors(float(inside), float(outside), float(squares.mean()))


def print_errors(errors: Mapping[str, Errors]) -> None:
    print("\nMean squared error on the test images, over all of their pixels:\n")
    print(f"{'':30}{'inside':>9}{'outside':>9}{'total':>9}")
    for name, error in errors.items():
        print(f"{name:30}" + "".join(f"{value:9.5f}" for value in error))
    print("\nInside the patch, outside of it, and in total. Filling keeps the observed")
    print("pixels, so it has no error outside; an autoencoder reconstructs them.")


def draw(
    digits: Digits, restored: Mapping[str, np.ndarray], path: Path, n_columns: int = 8
) -> None:
    """Write a figure with a row for each method and a column for each image."""
    rows = {"original": digits.originals, "masked": digits.test, **restored}
    figure = Figure(figsize=(2.4 + n_columns, 0.3 + len(rows)), layout="compressed")
    axes = figure.subplots(len(rows), n_columns, squeeze=False)
    colours = mpl.colormaps["gray_r"].with_extremes(bad="tab:orange")
    for (name, images), line in zip(rows.items(), axes, strict=True):
        for column, axis in enumerate(line):
            image = images[column].reshape(SIDE, SIDE)
            axis.imshow(image, cmap=colours, vmin=0.0, vmax=1.0)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_color("lightgray")
            if name not in ("original", "masked"):
                axis.add_patch(outline_of_patch(digits.test[column]))
        line[0].set_ylabel(
            name.replace(" + ", "\n+ "), rotation=0, ha="right", va="center"
        )
    figure.savefig(path, dpi=120, bbox_inches="tight")


def outline_of_patch(image: np.ndarray) -> Rectangle:
    top, left = np.argwhere(np.isnan(image.reshape(SIDE, SIDE)))[0] - 0.5
    style = {"fill": False, "color": "tab:orange", "lw": 1.2, "clip_on": False}
    return Rectangle((left, top), PATCH, PATCH, **style)


def main(
    *, epochs: int = 100, n_images: int | None = None, out: Path = Path()
) -> dict[str, Errors]:
    """Train, print the errors, write them and a figure; return the errors."""
    digits = load_incomplete_digits(n_images)
    print(f"Digits of {SIDE}x{SIDE} pixels, {PATCH}x{PATCH} of them missing in each:")
    print(
        f"{len(digits.train)} to train on, none complete, {len(digits.test)} to test."
    )
    print(f"Two autoencoders with the same initial weights, {epochs} epochs each:")
    restored = restore_by_all_methods(digits, epochs)
    errors = {name: measure(images, digits) for name, images in restored.items()}
    print_errors(errors)
    out.mkdir(parents=True, exist_ok=True)
    draw(digits, restored, out / "restored.png")
    record = {name: error._asdict() for name, error in errors.items()}
    (out / "restored.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    print(f"\nWritten: {out / 'restored.png'}, {out / 'restored.json'}")
    return errors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(),
        help="folder for restored.png and restored.json",
    )
    main(out=parser.parse_args().out)
