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
    BOUNDED,
    OBSERVED,
    Calibration,
    EncodedModel,
    PredictingEstimator,
    average,
)
from lacunet.exceptions import warn_user

# Calibration rows for a pattern of missing values: all that lack just the same, and up
# to so many others that lack nothing beyond it, those first of which least has to be
# hidden: rows that lack a value may be of another kind than those that have it. At
# least so many, if need be with those that lack least beyond the pattern. And so many
# that lack just the same are enough where some is known by bounds, and for noise.
_ENOUGH_ROWS = 400
_FEWEST_ROWS = 200
_FEWEST_EXACT = 50
# Draws of a row that is compared with others, where predictions are means over draws:
# as many for new rows as for calibration rows, or one of the two were further from the
# rest, however little. And of a row, to split its variance.
_COMPARED_DRAWS = 8
_DRAWS = 16
# Rows that are compared with calibration rows at once.
_BLOCK = 1024
# The size of errors is a function of the prediction, smoothed over its ranks: standard
# deviation of the kernel, and what few rows add to it, in rows. Of a variance, noise is
# this part at least.
_SMOOTHING = 0.1
_MORE_ROWS = 10.0
_LEAST_NOISE = 0.05
_LARGEST = 100.0  # factor of a variance by draws
_KNOTS = 65
_TINY = 1e-12


class VarianceParts(NamedTuple):
    """Why a number may not be what was predicted: variances that sum up.

    Attributes
    ----------
    noise : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Of the target, if nothing were missing and the networks had learned all: from
        squared errors of calibration rows that lack least, with a similar prediction,
        less the other parts.
    networks : ndarray
        Between the networks, in the mean over what is missing: they have learned from
        few rows like this one.
    missing : ndarray
        Between draws of the missing values, in the mean over networks: what would be
        known if these were measured. 0 for a complete row. The draws are those of the
        model's density; where squared errors of calibration rows that lack the same
        contradict them, it is what these errors have beyond the other parts.
    """

    noise: np.ndarray
    networks: np.ndarray
    missing: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """The sum of the parts, of the shape of each."""
        return np.asarray(self.noise + self.networks + self.missing)


def find_variances(model: PredictingEstimator, x: Tensor) -> VarianceParts:
    """Return the parts of the variance of encoded rows, (rows, outputs), to scale.

    What is missing has the variance of predictions from draws, multiplied to agree with
    squared errors of calibration rows that lack the same: fully if these are larger,
    and up to a standard error if they are smaller.
    """
    kept = model._check_calibration()
    weights = model._network_weights(int(kept.n_folds))
    n_draws = max(_DRAWS, int(model.n_samples))
    predicted, networks, missing = _split_variance(model, x, weights[-1], n_draws)

    def measure(near: Calibration) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return predictions, targets, and the variance by what is missing."""
        own = _predict_unseen(model, near, weights)
        variance = _split_variance(model, near.x, weights[-1], _DRAWS)[2]
        return own, near.targets.numpy(), variance

    n_columns = len(model._inputs.table.columns)
    complete = torch.full((n_columns,), OBSERVED)
    # Rather few rows than others, whose errors by what they lack would be subtracted.
    least = _choose_rows(model, kept, complete, x.device, _FEWEST_EXACT)
    squares = _Squares(*measure(least))
    known = squares(predicted)
    noise = np.maximum(known - networks, _LEAST_NOISE * known)
    width = len(model._inputs.sources)
    for rows, near in _calibrate(model, kept, x):
        if not missing[rows].any():
            continue
        if near.x.shape[1] == width < x.shape[1]:  # what is bounded is missing, too
            alone = x[rows, :width]
            missing[rows] = _split_variance(model, alone, weights[-1], n_draws)[2]
        own, targets, variance = measure(near)
        gaps = np.square(targets - own) - squares(own) - variance
        n = np.maximum((~np.isnan(gaps)).sum(0), 1)
        gap = np.nansum(gaps, 0) / n
        error = np.sqrt(np.nansum(np.square(gaps - gap), 0)) / n
        gap = np.where(gap > 0, gap, np.minimum(gap + error, 0.0))
        factor = 1.0 + gap / np.maximum(variance.mean(0), _TINY)
        missing[rows] *= factor.clip(0.0, _LARGEST)
    return VarianceParts(noise, networks, missing)


@torch.inference_mode()
def _split_variance(
    model: PredictingEstimator, x: Tensor, weights: Tensor, n_draws: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means over draws, and variances between networks and between draws.

    Each (rows, out).
    """
    found = np.empty((3, len(x), model.module_.out_features))
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
            means = average(weights, networks)  # (n, rows, out)
            between = average(weights, (networks - means).square()).mean(0)
            parts = means.mean(0), between, means.var(0, correction=0)
            found[:, block.cpu().numpy()] = torch.stack(parts).numpy()
    return found[0], found[1], found[2]


class _Squares:
    """Mean squared error as a function of the prediction, for each output.

    Of an output without a target it is 1, the variance of targets to scale.
    """

    def __init__(
        self, predicted: np.ndarray, targets: np.ndarray, less: np.ndarray | float = 0.0
    ) -> None:
        """Keep squared errors (rows, out), NaN without a target, by prediction.

        ``less`` is a part of them that is not counted, in the mean.
        """
        self._predicted = predicted
        self._squares = np.square(targets - predicted)
        self._less = np.broadcast_to(less, self._squares.shape)

    def __call__(self, predicted: np.ndarray) -> np.ndarray:
        """Return it for new predictions (rows, out), from straight lines."""
        found = np.empty_like(predicted)
        for output, own in enumerate(self._predicted.T):
            known = np.sort(own[~np.isnan(self._squares[:, output])])
            known = known if len(known) else np.zeros(1)
            knots = known[np.linspace(0, len(known) - 1, _KNOTS).round().astype(int)]
            smooth = self._smooth(output, knots)
            found[:, output] = np.interp(predicted[:, output], knots, smooth)
        return found

    def of_others(self) -> np.ndarray:
        """Return it for each row from the others, (rows, out), as it is of new rows."""
        found = [
            self._smooth(output, own, others=True)
            for output, own in enumerate(self._predicted.T)
        ]
        return np.stack(found, 1)

    def _smooth(
        self, output: int, places: np.ndarray, *, others: bool = False
    ) -> np.ndarray:
        seen = np.flatnonzero(~np.isnan(self._squares[:, output]))
        own, squares, less = (
            each[seen, output] for each in (self._predicted, self._squares, self._less)
        )
        ordered, n = np.sort(own), len(own)
        if not n:
            return np.ones(len(places))
        # Equal predictions have one rank, in their middle.
        ranks, of_places = (
            (np.searchsorted(ordered, x) + np.searchsorted(ordered, x, "right")) / 2 / n
            for x in (own, places)
        )
        width = _SMOOTHING + _MORE_ROWS / n
        kernel = np.exp(-0.5 * np.square((of_places[:, None] - ranks) / width))
        if others and n > 1:
            kernel[seen, np.arange(n)] = 0.0
        kernel /= kernel.sum(1, keepdims=True)
        whole = kernel @ squares + _TINY
        return np.asarray(np.maximum(whole - kernel @ less, _LEAST_NOISE * whole))


def find_quantiles(
    model: PredictingEstimator, x: Tensor, probabilities: Sequence[float]
) -> np.ndarray:
    """Return quantiles of the targets of encoded rows, (rows, outputs, probabilities).

    To scale. Those that there are too few calibration rows for are infinite.
    """
    kept = model._check_calibration()
    weights = model._network_weights(int(kept.n_folds))
    means = _predict_by_fold(model, x, weights)
    quantiles = np.empty((*means.shape[1:], len(probabilities)))
    for rows, near in _calibrate(model, kept, x):
        own = _predict_unseen(model, near, weights)
        squares = _Squares(own, near.targets.numpy())
        scores = (near.targets.numpy() - own) / np.sqrt(squares.of_others())
        deviations = np.sqrt(squares(means[-1, rows]))
        for places in np.array_split(
            np.arange(len(rows)), math.ceil(len(rows) / _BLOCK)
        ):
            for output in range(scores.shape[1]):
                seen = ~np.isnan(scores[:, output])
                own_folds = near.folds.numpy()[seen]
                centres = means[np.ix_(own_folds, rows[places])][..., output]
                errors = scores[seen, output, None] * deviations[places, output]
                quantiles[rows[places], output] = _pick(centres + errors, probabilities)
    if np.isinf(quantiles).any():
        most = max(probabilities, key=lambda probability: abs(probability - 0.5))
        msg = (
            f"Got {len(kept.x)} calibration rows, too few for a quantile of "
            f"{most:.6g}: it is infinite. Ask for a smaller coverage, or fit to more "
            f"rows."
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
    probabilities = _predict_by_fold(model, x, weights)
    p_values = np.empty(probabilities.shape[1:])
    for rows, near in _calibrate(model, kept, x):
        known = _predict_unseen(model, near, weights)
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
    """Yield rows that lack the same columns, and calibration rows without these."""
    states = EncodedModel(model).find_states(x)
    patterns, of_row = torch.unique(states, dim=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = (of_row == number).nonzero()[:, 0].numpy()
        yield rows, _choose_rows(model, kept, pattern, x.device)


def _choose_rows(
    model: PredictingEstimator,
    kept: Calibration,
    pattern: Tensor,
    device: torch.device,
    fewest: int = _FEWEST_ROWS,
) -> Calibration:
    """Return calibration rows with a pattern of missing values, the nearest first.

    A value that is known by a bound is another pattern; where few calibration rows
    have it, they lack the value, and their errors are rather too large.
    """
    encoded = EncodedModel(model)
    # Each has others, if it does not have all: errors of few would be in all.
    observed = pattern == OBSERVED
    seed = zlib.crc32(np.packbits(observed.numpy()).tobytes())
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(kept.x)))
    known = encoded.find_states(kept.x)[order]
    exact = (known == pattern).all(1)
    if bool((pattern == BOUNDED).any()) and int(exact.sum()) >= _FEWEST_EXACT:
        return kept.take(order[exact], device)
    beyond = (observed & (known != OBSERVED)).sum(1)
    hidden = (~observed & (known == OBSERVED)).sum(1)
    distance, nearest = (beyond * (len(pattern) + 1) + hidden).sort(stable=True)
    n_exact, n_within = int((distance == 0).sum()), int((beyond == 0).sum())
    n = max(n_exact, min(n_within, _ENOUGH_ROWS), fewest)
    near = kept.take(order[nearest[:n]], device)
    x = near.x[:, : len(model._inputs.sources)]
    return near._replace(x=encoded.mark(encoded.hide(x, ~observed), ~observed))


def _predict_by_fold(
    model: PredictingEstimator, x: Tensor, weights: Tensor
) -> np.ndarray:
    """Return predictions, (folds + 1, rows, out).

    By the networks that did not learn the rows of each fold; the last, by all.
    """

    def of_block(block: Tensor, draws: int) -> Tensor:
        networks = model._networks_of(block, draws)
        return torch.stack([average(each, networks) for each in weights])

    return model._map_rows(x, of_block, _COMPARED_DRAWS).numpy()


def _predict_unseen(
    model: PredictingEstimator, near: Calibration, weights: Tensor
) -> np.ndarray:
    """Return what networks predict for rows that they did not learn, (rows, out)."""
    by_fold = _predict_by_fold(model, near.x, weights)
    own: np.ndarray = by_fold[near.folds.numpy(), np.arange(len(near.folds))]
    return own
