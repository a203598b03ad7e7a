"""Small experiments that only a claim of the paper needs.

Theorem 4.1 in numbers, what mice and EM take on MNIST, training on complete rows, and
how sharp images are.
"""

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.linalg import null_space
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from torch import Tensor

from lacunet.density import IncompleteGaussianMixture
from lacunet.functional import (
    DiagComponents,
    affine_moments,
    condition,
    expected_identity,
    expected_identity_squared,
    expected_relu,
    mix,
)
from reproduction.autoencoders import N_COMPONENTS
from reproduction.protocols import load_images
from reproduction.tables import (
    DIGITS,
    TABLE_6,
    Budget,
    Drawing,
    Experiment,
    Setting,
)

SEED = 0

# --- theorem 4.1: measures that expected ReLUs distinguish

FEATURES, N_DIRECTIONS = 4, 24
# Biases: first, last, number. The second difference is taken over this grid.
GRID = (-12.0, 12.0, 6001)
FREQUENCIES = (0.0, 4.0, 41)
N_RANDOM = 10  # pairs of random mixtures
FEW_UNITS, N_ATOMS = 32, 64


class Measure(NamedTuple):
    """The density of an incomplete point, given its observed values."""

    point: Tensor
    components: DiagComponents
    gamma: float = 0.1


class Units(NamedTuple):
    """Units with each of some weights (directions) and each of some biases."""

    directions: Tensor
    biases: Tensor

    def respond(
        self,
        measure: Measure,
        activation: Callable[[Tensor, Tensor], Tensor] = expected_relu,
    ) -> Tensor:
        """Return the expected activations, of shape (directions, biases)."""
        mixture = condition(measure.point, measure.components, gamma=measure.gamma)
        weight = self.directions.repeat_interleave(len(self.biases), 0)
        bias = self.biases.repeat(len(self.directions))
        expected = activation(*affine_moments(mixture, weight, bias))
        return mix(mixture.weights, expected).view(len(self.directions), -1)

    def gap(self, first: Measure, second: Measure, *activation: Any) -> float:
        """Return the largest difference between the responses to two measures."""
        one, other = (self.respond(each, *activation) for each in (first, second))
        return float((one - other).abs().max())


def draw_information(drawing: Drawing | None = None) -> dict[str, Any]:
    """Compute what of the theorem and of its proof can be seen in numbers.

    ``equal`` is the largest difference between the responses to one measure that is
    written in two ways, ``different[name]`` that between two measures. ``moments`` is
    the same of linear and square units for the two measures of equal mean and
    covariance, which these units can't distinguish. ``density`` and ``characteristic``
    are the largest errors of what the proof makes of the responses. ``few_units`` are
    two measures on different points to which that many units respond alike.
    """
    generator = torch.Generator().manual_seed(SEED)
    directions = torch.randn(
        N_DIRECTIONS, FEATURES, generator=generator, dtype=torch.float64
    )
    directions /= directions.norm(dim=1, keepdim=True)
    units = Units(directions, torch.linspace(*GRID, dtype=torch.float64))
    peaks = two_peaks_and_one()
    measure = random_measure(generator)
    pairs = {
        "equal mean and covariance": peaks,
        "another gamma": (measure, measure._replace(gamma=10.0)),
        "another observed value": (measure, observe(measure, 0.5)),
        "one more missing value": (measure, observe(measure, math.nan)),
        **{
            f"random {i}": (random_measure(generator), random_measure(generator))
            for i in range(N_RANDOM)
        },
    }
    # The same measure, with the first component as two halves, put last.
    log_weights, means, variances = measure.components
    order = torch.tensor([*range(1, len(log_weights)), 0, 0])
    halved = log_weights[order]
    halved[-2:] -= math.log(2)
    rewritten = DiagComponents(halved, means[order], variances[order])
    return {
        "equal": units.gap(measure, measure._replace(components=rewritten)),
        "different": {name: units.gap(*pair) for name, pair in pairs.items()},
        "moments": max(
            units.gap(*peaks, activation)
            for activation in (expected_identity, expected_identity_squared)
        ),
        **_recover(measure, units),
        "few_units": _confuse(generator, units),
    }


def random_measure(generator: torch.Generator, n_components: int = 3) -> Measure:
    """Return a random mixture at a point whose first value, 0, is observed."""
    kind: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    components = DiagComponents(
        torch.randn(n_components, **kind).log_softmax(0),
        torch.randn(n_components, FEATURES, **kind),
        0.1 + torch.rand(n_components, FEATURES, **kind),
    )
    nothing = torch.full((1, FEATURES), math.nan, dtype=torch.float64)
    return observe(Measure(nothing, components), 0.0)


def observe(measure: Measure, value: float) -> Measure:
    """Return the measure with another value of the first coordinate."""
    point = measure.point.clone()
    point[0, 0] = value
    return measure._replace(point=point)


def two_peaks_and_one() -> tuple[Measure, Measure]:
    """Return two peaks, and the one Gaussian of equal mean and covariance."""
    nothing = torch.full((1, FEATURES), math.nan, dtype=torch.float64)
    means = torch.zeros(2, FEATURES, dtype=torch.float64)
    means[:, 0] = torch.tensor([-1.0, 1.0])
    ones = torch.ones(2, FEATURES, dtype=torch.float64)
    halves = torch.full((2,), math.log(0.5), dtype=torch.float64)
    wider = ones[:1].clone()
    wider[0, 0] = 2.0  # the variance within, and that of the means
    return (
        Measure(nothing, DiagComponents(halves, means, ones)),
        Measure(nothing, DiagComponents(halves[:1] * 0, means[:1] * 0, wider)),
    )


def _recover(measure: Measure, units: Units) -> dict[str, float]:
    """Follow the proof, from responses to densities and characteristic functions.

    The tents of the proof are second differences in the bias; as they get narrow, they
    give the density of w'x.
    """
    step = float(units.biases[1] - units.biases[0])
    recovered = units.respond(measure).diff(n=2, dim=1) / step**2
    places = -units.biases[1:-1]
    frequencies = torch.linspace(*FREQUENCIES, dtype=torch.float64)
    waves = torch.exp(1j * frequencies[:, None] * places)  # (frequencies, places)
    transformed = step * recovered.to(waves.dtype) @ waves.T
    mixture = condition(measure.point, measure.components, gamma=measure.gamma)
    mean, variance = (
        moment[0][..., None] for moment in affine_moments(mixture, units.directions)
    )  # (components, directions, 1)
    peaks = torch.distributions.Normal(mean, variance.sqrt()).log_prob(places).exp()
    exponent = 1j * frequencies * mean - 0.5 * frequencies**2 * variance
    weights = mixture.weights[0][:, None, None]
    density, characteristic = (
        (weights * peaks).sum(0),
        (weights * exponent.exp()).sum(0),
    )
    return {
        "density": float((recovered - density).abs().max()),
        "characteristic": float((transformed - characteristic).abs().max()),
    }


def _confuse(generator: torch.Generator, units: Units) -> dict[str, float]:
    """Find two measures on different points to which a few units respond alike.

    There are more points than units, so some weights of both signs have no response.
    """
    kind: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    atoms = torch.randn(N_ATOMS, FEATURES, **kind)
    weight = torch.randn(FEW_UNITS, FEATURES, **kind)
    bias = torch.randn(FEW_UNITS, **kind)
    few = torch.relu(atoms @ weight.T + bias)  # (atoms, units)
    ones = torch.ones(N_ATOMS, 1, dtype=torch.float64)
    lost = torch.from_numpy(null_space(torch.cat([few, ones], 1).T.numpy())[:, 0])
    signed = lost / lost.clamp(min=0).sum()  # its halves are two measures
    every = torch.relu((atoms @ units.directions.T)[..., None] + units.biases)
    return {
        "units": FEW_UNITS,
        "their_gap": float((signed @ few).abs().max()),
        "gap": float(torch.einsum("a,adb->db", signed, every).abs().max()),
        "total_variation": float(signed.abs().sum() / 2),
    }


# --- mice and EM on MNIST

RANK = 10
FLOORS = (1e-6, 0.0)  # added to variances; the first is our default
N_ROUNDS = 5  # over all columns, as in R's mice
N_REGRESSED = 2  # columns that are timed
# Images and iterations of EM by the type of covariances; numbers of images of mice.
EM_SIZES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "paper": {"diag": (60_000, 60), "factor": (10_000, 30)},
    "quick": {"diag": (5000, 60), "factor": (1000, 30)},
    DIGITS: {"diag": (1000, 60), "factor": (500, 30)},
}
MICE_SIZES: Mapping[str, Sequence[int]] = {
    "paper": (2500, 5000, 10_000, 20_000),
    "quick": (1000, 2000, 4000),
    DIGITS: (250, 500, 1000),
}


def draw_mnist(drawing: Drawing) -> dict[str, Any]:
    """Measure EM on images with patches, and what mice takes for a column of them.

    ``em`` has a record for each type of covariances and each floor under the variances,
    ``mice`` the seconds of one of its regressions as the number of images grows, and
    the hours of all, extrapolated. Seconds are those of one core.
    """
    (setting,) = drawing.settings
    size = drawing.protocol if drawing.data is None else drawing.data
    images = load_images(setting.dataset, SEED)
    with warnings.catch_warnings():
        # What has not converged is in the records.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            _fit_mixture(images.train[:n_rows], kind, floor, max_iter)
            for kind, (n_rows, max_iter) in EM_SIZES[size].items()
            for floor in FLOORS
        ]
        mice = extrapolate_mice(images.train, MICE_SIZES[size])
    return {
        "dataset": setting.dataset,
        "n_images": len(images.train),
        "n_pixels": images.train.shape[1],
        "n_constant": int((np.ptp(images.original, axis=0) == 0).sum()),
        "em": fits,
        "mice": mice,
    }


def _fit_mixture(
    X: np.ndarray, kind: str, floor: float, max_iter: int
) -> dict[str, Any]:
    """Fit a mixture; a component that collapses is a result, too."""
    mixture = IncompleteGaussianMixture(
        N_COMPONENTS,
        covariance_type=kind,  # type: ignore[arg-type]
        rank=RANK if kind == "factor" else None,
        reg_covar=floor,
        max_iter=max_iter,
        random_state=SEED,
    )
    start = time.process_time()
    try:
        mixture.fit(X)
    except ValueError as error:
        result: dict[str, Any] = {"fitted": False, "why": str(error)}
    else:
        result = {
            "fitted": True,
            "converged": bool(mixture.converged_),
            "n_iter": mixture.n_iter_,
            "log_likelihood": float(mixture.lower_bound_),
        }
    return {
        "covariances": kind,
        "floor": floor,
        "n_rows": len(X),
        **result,
        "seconds": time.process_time() - start,
        "peak_mb": _peak_memory(),
    }


def _peak_memory() -> float | None:
    """Return the most memory that this process has used so far, in megabytes."""
    if sys.platform == "win32":
        return None
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def extrapolate_mice(X: np.ndarray, n_rows: Sequence[int]) -> dict[str, Any]:
    """Time one regression on all other pixels; extrapolate to all images and pixels.

    Twice: by a line through the times, and by the largest in proportion to the rows.
    """
    seconds = [_time_regression(X[:n]) for n in n_rows]
    slope, start = np.polyfit(n_rows, seconds, 1)
    n_regressions = N_ROUNDS * int(np.isnan(X).any(0).sum())
    by_line, by_share = start + slope * len(X), seconds[-1] * len(X) / n_rows[-1]
    return {
        "n_rows": list(n_rows),
        "seconds": seconds,
        "n_rounds": N_ROUNDS,
        "n_regressions": n_regressions,
        "hours_by_line": float(by_line) * n_regressions / 3600,
        "hours_by_share": by_share * n_regressions / 3600,
    }


def _time_regression(X: np.ndarray) -> float:
    """Return the seconds of one regression in chained equations."""
    missing = np.isnan(X)
    filled = np.where(missing, np.nanmean(X, axis=0), X).astype(np.float64)
    # The pixels with most to regress on: those that vary most.
    columns = np.argsort(filled.std(axis=0))[-N_REGRESSED:]
    without = _time_round(filled)
    filled[:, columns] = np.where(missing[:, columns], np.nan, filled[:, columns])
    return max(0.0, _time_round(filled) - without) / N_REGRESSED


def _time_round(X: np.ndarray) -> float:
    imputer = IterativeImputer(
        max_iter=1, sample_posterior=True, skip_complete=True, random_state=SEED
    )
    start = time.process_time()
    imputer.fit(X)
    return time.process_time() - start


# --- sharpness


def find_sharpness(
    images: np.ndarray, original: np.ndarray, region: np.ndarray | None = None
) -> np.ndarray:
    """Return the gradient energy of each image, relative to that of its original.

    The energy is the sum of the squared differences between neighbouring pixels, to
    the right and below; with a ``region``, of the pairs with at least one pixel in it.
    Blurred images have less than their originals, noise has more: sharpness is no
    virtue without a low error. All are of shape (images, pixels), squares as flat rows.
    """
    side = math.isqrt(original.shape[1])
    where = np.ones(original.shape, bool) if region is None else region
    inside = where.reshape(-1, side, side)

    def energy(flat: np.ndarray) -> np.ndarray:
        square = flat.reshape(-1, side, side).astype(np.float64)
        total = np.zeros(len(square))
        for axis in (1, 2):
            first, second = (np.delete(inside, end, axis) for end in (-1, 0))
            steps = np.square(np.diff(square, axis=axis))
            total += np.where(first | second, steps, 0).sum(axis=(1, 2))
        return total

    ratio: np.ndarray = energy(images) / energy(original)
    return ratio


EXPERIMENTS = (
    Experiment(
        name="claim-rows",
        title="The paper's method on incomplete rows, trained on such rows or on "
        "complete ones",
        settings=TABLE_6.settings,
        stand_ins=TABLE_6.stand_ins,
        methods=("paper", "paper-complete"),
        body="rbf",
        cross_validated=False,
        budgets={
            "paper": Budget(n_seeds=5),
            "quick": Budget({"max_epochs": 50}),
            "digits": Budget({"max_epochs": 20}, n_rows=250),
        },
        note="Both are tested on the same incomplete rows. One is trained on rows that "
        "have lost half of their values as well, the other on the same rows as they "
        "were before: it sees more, but its density gets no gradient.",
    ),
    Experiment(
        name="claim-mnist",
        title="What EM and mice take on images from which a patch is removed",
        settings=(Setting("mnist"),),
        stand_ins=(Setting(DIGITS),),
        draw=draw_mnist,
        note="The paper reports that mice can't construct imputations of MNIST, and "
        "that EM fails as covariances become singular. It means the packages of 2018.",
    ),
    Experiment(
        name="claim-information",
        title="Theorem 4.1 in numbers: measures that expected ReLUs distinguish",
        draw=draw_information,
        note="The theorem is about all weights and biases. What is computed is a part "
        "of them, in double precision: it can refute the theorem or its proof, not "
        "prove it.",
    ),
)
