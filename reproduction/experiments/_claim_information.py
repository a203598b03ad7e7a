"""Theorem 4.1 in numbers: measures that expected ReLUs tell from each other."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from scipy.linalg import null_space
from torch import Tensor

from lacunet.functional import (
    DiagComponents,
    affine_moments,
    condition,
    expected_identity,
    expected_identity_squared,
    expected_relu,
    mix,
)
from reproduction.experiments._record import Drawing, Experiment

SEED = 0
FEATURES = 4
N_DIRECTIONS = 24
# Biases: first, last, number. The second difference is taken over this grid.
GRID = (-12.0, 12.0, 6001)
FREQUENCIES = (0.0, 4.0, 41)
N_RANDOM = 10  # pairs of random mixtures
FEW_UNITS, N_ATOMS = 32, 64

Expectation = Callable[[Tensor, Tensor], Tensor]


class Measure(NamedTuple):
    """What is thought of an incomplete point: the density given what is observed."""

    point: Tensor
    components: DiagComponents
    gamma: float


def draw_information(drawing: Drawing) -> dict[str, Any]:
    """Compute what of the theorem and of its proof can be seen in numbers.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict
        ``equal`` is the largest difference between the responses to one measure that
        is written in two ways, ``different[name]`` that between two measures.
        ``moments`` is the same of linear and square units for the two measures of
        equal mean and covariance, which these units can't tell apart. ``density`` and
        ``characteristic`` are the largest errors of what the proof makes of the
        responses: the density of w'x, and its characteristic function. ``few_units``
        are two measures on different points to which that many units respond alike.
    """
    generator = torch.Generator().manual_seed(SEED)
    directions = torch.randn(
        N_DIRECTIONS, FEATURES, generator=generator, dtype=torch.float64
    )
    directions /= directions.norm(dim=1, keepdim=True)
    biases = torch.linspace(*GRID, dtype=torch.float64)
    wide, one_peak = _same_moments()
    measure = _random_measure(generator)
    pairs = {
        "equal mean and covariance": (wide, one_peak),
        "another gamma": (measure, measure._replace(gamma=10.0)),
        "another observed value": (measure, _observe(measure, 0.5)),
        "one more missing value": (measure, _observe(measure, math.nan)),
        **{
            f"random {i}": (_random_measure(generator), _random_measure(generator))
            for i in range(N_RANDOM)
        },
    }
    return {
        "equal": _gap(measure, _write_otherwise(measure), directions, biases),
        "different": {
            name: _gap(*pair, directions, biases) for name, pair in pairs.items()
        },
        "moments": max(
            _gap(wide, one_peak, directions, biases, unit)
            for unit in (expected_identity, expected_identity_squared)
        ),
        **_recover(measure, directions, biases),
        "few_units": _confuse(generator, directions, biases),
    }


# --- measures


def _random_measure(generator: torch.Generator, n_components: int = 3) -> Measure:
    """Return what a random mixture says of a point with one observed value."""
    kind: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    components = DiagComponents(
        torch.randn(n_components, **kind).log_softmax(0),
        torch.randn(n_components, FEATURES, **kind),
        0.1 + torch.rand(n_components, FEATURES, **kind),
    )
    point = torch.full((1, FEATURES), math.nan, dtype=torch.float64)
    return _observe(Measure(point, components, 0.1), 0.0)


def _observe(measure: Measure, value: float) -> Measure:
    """Return the measure with another value of the first coordinate."""
    point = measure.point.clone()
    point[0, 0] = value
    return measure._replace(point=point)


def _write_otherwise(measure: Measure) -> Measure:
    """Return the same measure, with the first component as two halves, put last."""
    log_weights, means, variances = measure.components
    order = torch.tensor([*range(1, len(log_weights)), 0, 0])
    halved = log_weights[order]
    halved[-2:] -= math.log(2)
    components = DiagComponents(halved, means[order], variances[order])
    return measure._replace(components=components)


def _same_moments() -> tuple[Measure, Measure]:
    """Return two peaks, and the one Gaussian of equal mean and covariance."""
    nothing = torch.full((1, FEATURES), math.nan, dtype=torch.float64)
    means = torch.zeros(2, FEATURES, dtype=torch.float64)
    means[:, 0] = torch.tensor([-1.0, 1.0])
    ones = torch.ones(2, FEATURES, dtype=torch.float64)
    halves = torch.full((2,), math.log(0.5), dtype=torch.float64)
    wider = ones[:1].clone()
    wider[0, 0] = 2.0  # the variance within, and that of the means
    return (
        Measure(nothing, DiagComponents(halves, means, ones), 0.1),
        Measure(nothing, DiagComponents(halves[:1] * 0, means[:1] * 0, wider), 0.1),
    )


# --- responses


def _respond(
    measure: Measure,
    directions: Tensor,
    biases: Tensor,
    unit: Expectation = expected_relu,
) -> Tensor:
    """Return the expected activation, of shape (directions, biases)."""
    mixture = condition(measure.point, measure.components, gamma=measure.gamma)
    weight = directions.repeat_interleave(len(biases), 0)
    bias = biases.repeat(len(directions))
    moments = affine_moments(mixture, weight, bias)
    return mix(mixture.weights, unit(*moments)).view(len(directions), len(biases))


def _gap(
    first: Measure,
    second: Measure,
    directions: Tensor,
    biases: Tensor,
    unit: Expectation = expected_relu,
) -> float:
    """Return the largest difference between the responses to two measures."""
    one, other = (_respond(m, directions, biases, unit) for m in (first, second))
    return float((one - other).abs().max())


# --- the proof, and its limit


def _recover(measure: Measure, directions: Tensor, biases: Tensor) -> dict[str, float]:
    """Go the way of the proof, from responses to characteristic functions.

    The tents of the proof are second differences in the bias; as they get narrow, they
    tell the density of w'x.
    """
    step = float(biases[1] - biases[0])
    responses = _respond(measure, directions, biases)
    recovered = responses.diff(n=2, dim=1) / step**2  # (directions, places)
    places = -biases[1:-1]
    frequencies = torch.linspace(*FREQUENCIES, dtype=torch.float64)
    waves = torch.exp(1j * frequencies[:, None] * places)  # (frequencies, places)
    found = step * recovered.to(waves.dtype) @ waves.T
    density, characteristic = _known(measure, directions, places, frequencies)
    return {
        "density": float((recovered - density).abs().max()),
        "characteristic": float((found - characteristic).abs().max()),
    }


def _known(
    measure: Measure, directions: Tensor, places: Tensor, frequencies: Tensor
) -> tuple[Tensor, Tensor]:
    """Return density and characteristic function of w'x, from their formulas."""
    mixture = condition(measure.point, measure.components, gamma=measure.gamma)
    mean, variance = (
        moment[0][..., None] for moment in affine_moments(mixture, directions)
    )  # (components, directions, 1)
    peaks = torch.distributions.Normal(mean, variance.sqrt()).log_prob(places).exp()
    exponent = 1j * frequencies * mean - 0.5 * frequencies**2 * variance
    weights = mixture.weights[0][:, None, None]
    return (weights * peaks).sum(0), (weights * exponent.exp()).sum(0)


def _confuse(
    generator: torch.Generator, directions: Tensor, biases: Tensor
) -> dict[str, float]:
    """Find two measures on different points that a few units can't tell apart.

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
    every = torch.relu((atoms @ directions.T)[..., None] + biases)
    return {
        "units": FEW_UNITS,
        "their_gap": float((signed @ few).abs().max()),
        "gap": float(torch.einsum("a,adb->db", signed, every).abs().max()),
        "total_variation": float(signed.abs().sum() / 2),
    }


EXPERIMENT = Experiment(
    name="claim-information",
    title="Theorem 4.1 in numbers: measures that expected ReLUs tell from each other",
    draw=draw_information,
    note="The theorem is about all weights and biases. What is computed is a part of "
    "them, in double precision: it can refute the theorem or its proof, not prove it.",
)
