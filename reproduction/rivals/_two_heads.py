"""Classifiers whose last layer learns to give the complete row back, too."""

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from lacunet.estimators import (
    CLASSIFICATION,
    RECONSTRUCTION,
    Criterion,
    LabelledEstimator,
    LacunetClassifier,
    LacunetRBFClassifier,
    Problem,
    read_table,
)
from lacunet.nn import LinearEnsemble

# In place of a class, for rows that only the second head learns from.
NO_CLASS = -1


class Lesson(NamedTuple):
    """Rows without holes, and what is asked of both heads."""

    x: np.ndarray  # (rows, width)
    codes: np.ndarray  # (rows,), indices of classes or NO_CLASS
    complete: np.ndarray  # (rows, width), NaN where nothing is asked
    weights: np.ndarray  # (rows,)


def two_heads(n_classes: int, weight: float) -> Criterion:
    """Make the loss of both heads: cross-entropy, and squared error of a cell.

    Networks are judged by the first head alone.

    Parameters
    ----------
    n_classes : int
        Number of outputs of the first head; the others are the second's.
    weight : float
        Of the squared error.

    Returns
    -------
    Criterion
        Over targets (batch, 1 + width): the class, then the complete row.
    """

    def losses(outputs: Tensor, targets: Tensor) -> Tensor:
        codes, labelled = _split_codes(targets)
        of_class = CLASSIFICATION.losses(outputs[..., :n_classes], codes)
        of_row = RECONSTRUCTION.losses(outputs[..., n_classes:], targets[:, 1:])
        return of_class * labelled + weight * of_row

    def predict(outputs: Tensor) -> Tensor:
        return CLASSIFICATION.predict(outputs[..., :n_classes])

    def score(probabilities: Tensor, targets: Tensor) -> Tensor:
        codes, labelled = _split_codes(targets)
        return CLASSIFICATION.score(probabilities, codes) * labelled

    return Criterion(losses, predict, score)


def _split_codes(targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return classes, any where there is none, and whether there is one."""
    codes = targets[:, 0].to(torch.int64)
    return codes.clamp_min(0), codes != NO_CLASS


class _TwoHeads(LabelledEstimator):
    """What is added to a classifier of lacunet's: a second head, for training."""

    def learn(self, lesson: Lesson, *, classes: np.ndarray, weight: float) -> Self:
        """Train both heads, and keep the first."""
        self._begin()
        self.classes_ = classes
        table = read_table(self, lesson.x, reset=True)
        problem = Problem(
            np.column_stack([lesson.codes, lesson.complete]),
            np.ones(len(lesson.x)),
            two_heads(len(classes), weight),
            len(classes) + lesson.x.shape[1],
            lesson.weights,
        )
        self._fit_networks(table, problem)
        for branch in self.module_:
            _keep_outputs(branch.networks.layers[-1], len(classes))
        self._fitted_body = replace(self._fitted_body, out_features=len(classes))
        return self


@torch.no_grad()
def _keep_outputs(layer: nn.Module, n_outputs: int) -> None:
    assert isinstance(layer, LinearEnsemble)
    layer.weight = nn.Parameter(layer.weight[..., :n_outputs].clone())
    layer.bias = nn.Parameter(layer.bias[..., :n_outputs].clone())


class TwoHeadedClassifier(_TwoHeads, LacunetClassifier):
    """``LacunetClassifier`` with a second head."""


class TwoHeadedRBFClassifier(_TwoHeads, LacunetRBFClassifier):
    """``LacunetRBFClassifier`` with a second head."""


_KINDS: dict[type, type[_TwoHeads]] = {
    LacunetClassifier: TwoHeadedClassifier,
    LacunetRBFClassifier: TwoHeadedRBFClassifier,
}


def with_two_heads(network: Any) -> Any:
    """Return a network with the parameters of one of lacunet's, and a second head.

    Parameters
    ----------
    network : LacunetClassifier or LacunetRBFClassifier

    Returns
    -------
    TwoHeadedClassifier or TwoHeadedRBFClassifier
        Not fitted.
    """
    if type(network) not in _KINDS:
        msg = (
            f"Got network={network!r}, but expected a LacunetClassifier, such as "
            f"plain_network(), or a LacunetRBFClassifier: others have no second head."
        )
        raise TypeError(msg)
    return _KINDS[type(network)](**network.get_params(deep=False))
