"""How far predictions may be from targets: variances, quantiles, sets of classes.

What is known of that comes from the calibration rows that a model keeps. Each was not
learned by some of the networks, and its error is that of their prediction. A new row is
compared with calibration rows that lack what it lacks: whatever they have beyond is
hidden from the networks first (CP-MDA, arXiv 2306.02732). And it is compared network by
network (cross-conformal, CV+): an error of the networks that did not learn a row is put
on the prediction of the same networks, not on that of all, which is better.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lacunet.estimators._predicting import (
    Calibration,
    EncodedModel,
    PredictingEstimator,
    average,
)
from lacunet.exceptions import LacunetError, warn_user

# Calibration rows for a pattern of missing values: those that lack nothing beyond it,
# but at least so many, with those that lack least beyond it.
_FEWEST_ROWS = 200
# Draws of a row that is compared with others, where predictions are means over draws:
# as many for new rows as for calibration rows, or one of the two were further from the
# rest, however little. And of a calibration row, to split its variance.
_COMPARED_DRAWS = 8
_DRAWS = 16
# Rows that are compared with calibration rows at once.
_BLOCK = 1024
# The noise is a function of the prediction, smoothed over its ranks: the standard
# deviation of the kernel, and the least part of the mean squared error.
_SMOOTHING = 0.1
_LEAST_NOISE = 0.05
_KNOTS = 65
_ROUNDS = 3
_TINY = 1e-12


class VarianceParts(NamedTuple):
    """Why a number may not be what was predicted: variances that sum up.

    Attributes
    ----------
    noise : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Of the target, if nothing were missing and the networks had learned all: from
        squared errors of calibration rows with a similar prediction, less the other
        parts.
    networks : ndarray
        Between the networks, in the mean over what is missing: they have learned from
        few rows like this one.
    missing : ndarray
        Between draws of the missing values, in the mean over networks: what would be
        known if these were measured. 0 for a complete row.
    """

    noise: np.ndarray
    networks: np.ndarray
    missing: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The sum of the parts, of the shape of each."""
        return np.asarray(self.noise + self.networks + self.missing)


def find_variances(model: PredictingEstimator, x: Tensor) -> VarianceParts:
    """Return the parts of the variance of encoded rows, (rows, outputs), to scale."""
    kept = model._check_calibration()
    weights = model._network_weights(int(kept.n_folds))
    n_draws = max(_DRAWS, int(model.n_samples))
    means, *parts = _split_variance(model, x, weights, n_draws)
    known, *others = _split_variance(model, kept.x.to(x.device), weights, _DRAWS)
    noise = _Noise(kept, known, others[0] + others[1])
    return VarianceParts(noise(means[-1]), *parts)


@torch.inference_mode()
def _split_variance(
    model: PredictingEstimator, x: Tensor, weights: Tensor, n_draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means over draws, (folds + 1, rows, out), and the variances between them.

    Those between the networks and those between the draws, (rows, out).
    """
    found = np.empty((len(weights) + 2, len(x), model.module_.out_features))
    width = len(model._inputs.sources)  # behind which may be bounds
    incomplete = torch.isnan(x[:, :width]).any(1)
    for rows, n in ((~incomplete, 1), (incomplete, n_draws)):
        blocks = rows.nonzero()[:, 0].split(model._block_size(n))
        for block in blocks if bool(rows.any()) else ():
            completed = x[block, :width]
            if n > 1:
                completed = model._condition(x[block]).quasi_sample(n)
            networks = model._networks_of(completed.reshape(-1, width), 0)
            networks = networks.view(len(networks), n, len(block), -1)
            means = torch.stack([average(each, networks) for each in weights])
            between = average(weights[-1], (networks - means[-1]).square()).mean(0)
            missing = means[-1].var(0, correction=0)
            parts = (means.mean(1), between[None], missing[None])
            found[:, block.cpu().numpy()] = torch.cat(parts).numpy()
    return found[:-2], found[-2], found[-1]


class _Noise:
    """The variance of targets as a function of the prediction, piecewise linear."""

    def __init__(
        self, kept: Calibration, predicted: np.ndarray, others: np.ndarray
    ) -> None:
        """Smooth squared errors, less ``others`` (rows, out), over the predictions."""
        own = _of_own_fold(predicted, kept)
        squares = np.square(kept.targets.numpy() - own)
        self._lines = []
        for f, square, other in zip(own.T, squares.T, others.T, strict=True):
            order = np.argsort(f)
            order = order[~np.isnan(square[order])]
            if not len(order):
                msg = (
                    "Got an output without a target in the calibration rows, but "
                    "expected one at least. Fit to more rows, or leave it out."
                )
                raise LacunetError(msg)
            f, square, other = (each[order] for each in (f, square, other))
            ranks = np.linspace(0.0, 1.0, len(f))
            places = np.linspace(0, len(f) - 1, _KNOTS).round().astype(int)
            kernel = np.exp(-0.5 * ((ranks[places, None] - ranks) / _SMOOTHING) ** 2)
            kernel /= kernel.sum(1, keepdims=True)
            noise = total = kernel @ square + _TINY
            for _ in range(_ROUNDS):
                # A square has the more variance, the larger its mean is.
                precise = kernel / np.square(noise[:, None] + other)
                noise = (precise @ (square - other)) / precise.sum(1)
                noise = np.maximum(noise, _LEAST_NOISE * total)
            self._lines.append((f[places], noise))

    def __call__(self, predicted: np.ndarray) -> np.ndarray:
        """Return the variance for predictions (rows, out)."""
        pairs = zip(predicted.T, self._lines, strict=True)
        return np.stack([np.interp(f, *line) for f, line in pairs], axis=1)


def find_quantiles(
    model: PredictingEstimator, x: Tensor, probabilities: Sequence[float]
) -> np.ndarray:
    """Return quantiles of the targets of encoded rows, (rows, outputs, probabilities).

    To scale. Those that there are too few calibration rows for are infinite.
    """
    kept = model._check_calibration()
    weights = model._network_weights(int(kept.n_folds))
    noise = _Noise(kept, *_predict_by_fold(model, kept.x.to(x.device), weights))
    means, variance = _predict_by_fold(model, x, weights)
    deviations = np.sqrt(noise(means[-1]) + variance)
    quantiles = np.empty((*variance.shape, len(probabilities)))
    for rows, near in _calibrate(model, kept, x):
        known, known_variance = _predict_by_fold(model, near.x, weights)
        own = _of_own_fold(known, near)
        scores = (near.targets.numpy() - own) / np.sqrt(noise(own) + known_variance)
        for block in np.array_split(rows, math.ceil(len(rows) / _BLOCK)):
            for output in range(scores.shape[1]):
                seen = ~np.isnan(scores[:, output])
                own_folds = near.folds.numpy()[seen]
                centres = means[np.ix_(own_folds, block)][..., output]
                errors = scores[seen, output, None] * deviations[block, output]
                quantiles[block, output] = _pick(centres + errors, probabilities)
    if np.isinf(quantiles).any():
        msg = (
            f"Got {len(kept.x)} calibration rows, too few for a quantile of "
            f"{min(probabilities)} or {max(probabilities)}: it is infinite. Ask for a "
            f"smaller coverage, or fit to more rows."
        )
        warn_user(msg)
    return quantiles


def _pick(values: np.ndarray, probabilities: Sequence[float]) -> np.ndarray:
    """Return quantiles over (values, rows) that one more value is beyond as rarely."""
    ordered = np.sort(values, axis=0)
    n = len(ordered)
    edges = np.full((1, values.shape[1]), np.inf)
    ordered = np.concatenate([-edges, ordered, edges])
    places = [
        math.ceil(round((n + 1) * probability, 9))
        if probability >= 0.5
        else math.floor(round((n + 1) * probability, 9))
        for probability in probabilities
    ]
    return np.asarray(ordered[np.clip(places, 0, n + 1)].T)


def find_p_values(model: PredictingEstimator, x: Tensor) -> np.ndarray:
    """Return how credible each class is of encoded rows, (rows, classes).

    The fraction of calibration rows, the row itself among them, whose class had no
    larger a probability: those of true classes are uniform, or larger.
    """
    kept = model._check_calibration()
    weights = model._network_weights(int(kept.n_folds))
    probabilities, _ = _predict_by_fold(model, x, weights)
    p_values = np.empty(probabilities.shape[1:])
    for rows, near in _calibrate(model, kept, x):
        known = _of_own_fold(_predict_by_fold(model, near.x, weights)[0], near)
        known = known[np.arange(len(known)), near.targets.numpy()]
        for block in np.array_split(rows, math.ceil(len(rows) / _BLOCK)):
            n_stranger = np.zeros((len(block), probabilities.shape[-1]))
            for fold in np.unique(near.folds.numpy()):
                of_fold = np.sort(known[near.folds.numpy() == fold])
                n_stranger += np.searchsorted(
                    of_fold, probabilities[fold, block], side="right"
                )
            p_values[block] = (1 + n_stranger) / (1 + len(known))
    return p_values


def _calibrate(
    model: PredictingEstimator, kept: Calibration, x: Tensor
) -> Iterator[tuple[np.ndarray, Calibration]]:
    """Yield rows that lack the same columns, and calibration rows without these.

    A value that is known by a bound is lacking, too: errors are then rather too large.
    """
    encoded = EncodedModel(model)
    observed = encoded.observed(x).cpu()
    patterns, of_row = torch.unique(observed, dim=0, return_inverse=True)
    known = encoded.observed(kept.x)
    for number, pattern in enumerate(patterns):
        # Each has others, if it does not have all: errors of few would be in all.
        seed = zlib.crc32(np.packbits(pattern.numpy()).tobytes())
        order = torch.from_numpy(np.random.RandomState(seed).permutation(len(known)))
        n_beyond, nearest = (pattern & ~known[order]).sum(1).sort(stable=True)
        n = max(_FEWEST_ROWS, int((n_beyond == 0).sum()))
        rows = (of_row == number).nonzero()[:, 0]
        some, targets, folds = (each[order[nearest[:n]]] for each in kept[:3])
        hidden = encoded.mark(encoded.hide(some, ~pattern), ~pattern).to(x.device)
        yield rows.numpy(), Calibration(hidden, targets, folds, kept.n_folds)


def _predict_by_fold(
    model: PredictingEstimator, x: Tensor, weights: Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions, (folds + 1, rows, out), and their variance, (rows, out).

    By the networks that did not learn the rows of each fold; the last, and the
    variance, are of all networks.
    """

    def of_block(block: Tensor, draws: int) -> Tensor:
        networks = model._networks_of(block, draws)
        means = torch.stack([average(each, networks) for each in weights])
        variance = average(weights[-1], (networks - means[-1]).square())
        return torch.cat((means, variance[None]))

    found = model._map_rows(x, of_block, _COMPARED_DRAWS).numpy()
    return found[:-1], found[-1]


def _of_own_fold(by_fold: np.ndarray, kept: Calibration) -> np.ndarray:
    """Return what networks predict for rows that they did not learn, (rows, out)."""
    own: np.ndarray = by_fold[kept.folds.numpy(), np.arange(len(kept.folds))]
    return own
