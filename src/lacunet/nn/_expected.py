"""What the expected layers have in common: one function, and checks."""

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from lacunet._validation import branch_free, check_no_infinity, check_same_dtype
from lacunet.density import GaussianMixtureDensity, MixtureDensity
from lacunet.functional import LinearMap, without_nan
from lacunet.nn._activation import ExpectedActivation

# By default, components of smaller weight are left out. In the cases of the benchmark,
# outputs moved by 2e-4 of the largest at most.
PRUNE = 1e-3


def expected_map(
    x: Tensor,
    density: MixtureDensity,
    linear: LinearMap,
    activation: ExpectedActivation,
    *,
    squared: bool = False,
    offset: Tensor | None = None,
    spread: LinearMap | None = None,
    prune: float = 0.0,
    bounds: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Compute E[activation(linear(x))] over what is missing in each row.

    Complete rows have the plain activation. An incomplete one is filled with the means
    that a component gives its missing cells, which the map takes to the mean of the
    pre-activation; their covariance gives its variance.

    Parameters
    ----------
    x : Tensor of shape (batch, features)
        NaN marks a missing value.
    density : GaussianMixtureDensity or MixedMixtureDensity
        Over the features.
    linear : LinearMap
        From (*, features) to (*, outputs).
    activation : ExpectedActivation
        Acts element by element on the outputs.
    squared : bool, default=False
        Compute the expected square of the activation instead.
    offset : Tensor of shape (batch, outputs), optional
        What is known to add to the outputs of each row.
    spread : LinearMap, optional
        What the variances are taken of, if that is not ``linear`` itself: the same
        map, detached.
    prune : float, default=0.0
        Components with a smaller weight for a row are left out; 0 is exact.
    bounds : pair of Tensor of shape (batch, features), optional
        Lower and upper bounds of missing cells, infinite where there is none. The
        variance of a pre-activation is that of the truncated normals, which are then
        taken for a normal.

    Returns
    -------
    Tensor of shape (batch, outputs)
    """

    def known(some: Tensor | None = None) -> Tensor:
        """Return the activation of rows that are complete."""
        mapped = linear(x if some is None else x.index_select(0, some))
        if offset is not None:
            mapped = mapped + (offset if some is None else offset.index_select(0, some))
        out: Tensor = activation.known(mapped)
        return out.square() if squared else out

    rows, others = incomplete_rows(x)
    if rows is not None and rows.shape[0] == 0:
        return touch(known(), density)
    try:
        some = [x, *(bounds or (None, None))]
        if rows is not None:
            some = [None if each is None else each[rows] for each in some]
        mixture = density.condition(some[0], lower=some[1], upper=some[2])
    except ValueError:
        check_no_infinity(without_nan(x))  # which names the place in the whole batch
        raise
    pairs, weights = mixture.pairs(prune)
    mean = linear(mixture.completed(pairs))
    if offset is not None:
        mean = mean + pairs.of_rows(offset if rows is None else offset[rows])
    variance = mixture.mapped_variance(spread or linear, pairs)
    if pairs.row is None:  # one axis for the pairs, as it is with some of them
        mean, variance = mean.flatten(0, 1), variance.flatten(0, 1)
    expected = (activation.second_moment if squared else activation)(mean, variance)
    if rows is None or others is None:
        return pairs.mix(weights, expected, x.shape[0])
    out = pairs.mix(weights, expected, x.shape[0], rows)
    return out.index_copy_(0, others, known(others))


def incomplete_rows(x: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return the indices of rows with something missing and those of the others.

    None and None: all rows are taken to be incomplete, which is right for any.
    """
    if branch_free():
        return None, None
    # One pass: a sum is finite unless something in it is not. A row whose sum merely
    # overflows is among the incomplete ones, which is right for it too.
    total = x.detach().sum(1)
    doubtful = (total - total) != 0
    rows = doubtful.nonzero()[:, 0]
    n_others = len(x) - len(rows)
    # Where nothing is missing the expectation is the activation, but for 1e-8 in some.
    few = 0 if x.dtype == torch.float64 else len(x) // 16
    if len(rows) and n_others <= few:
        return None, None
    return rows, doubtful.logical_not().nonzero()[:, 0] if len(rows) else None


def touch(out: Tensor, density: MixtureDensity) -> Tensor:
    """Let the density, which a complete batch does not need, have gradients of zero.

    Processes that train together wait for each other's gradients.
    """
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        for parameter in density.parameters():
            if parameter.requires_grad:
                out = out + (0.0 * parameter).sum()
    return out


def check_prune(prune: float) -> float:
    """Return ``prune`` if it is at least 0 and below 1."""
    fine = isinstance(prune, numbers.Real) and not isinstance(prune, bool)
    if not fine or not math.isfinite(prune) or not 0 <= prune < 1:
        msg = (
            f"Got prune={prune!r}, but expected a number from 0 (exact) to below 1: "
            f"the weight under which a component is left out."
        )
        raise ValueError(msg)
    return float(prune)


def check_density(density: object, n_features: int | None) -> MixtureDensity:
    """Return ``density`` if it is one, over ``n_features`` columns if that is known."""
    if not isinstance(density, MixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but expected a "
            f"GaussianMixtureDensity or MixedMixtureDensity. Make one of a fitted "
            f"mixture with GaussianMixtureDensity.from_estimator(mixture)."
        )
        raise TypeError(msg)
    if n_features is not None and density.n_features != n_features:
        msg = (
            f"Got a density over {density.n_features} features, but expected "
            f"{n_features}, the width of the layer."
        )
        raise ValueError(msg)
    return density


def check_gaussian_density(density: MixtureDensity) -> GaussianMixtureDensity:
    """Return ``density`` if it is one over numbers alone."""
    if not isinstance(density, GaussianMixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but a convolution expected "
            f"a GaussianMixtureDensity: categories have no place in an image."
        )
        raise ValueError(msg)
    return density


@contextmanager
def full_precision(x: Tensor, weight: Tensor) -> Iterator[Tensor]:
    """Keep responsibilities and moments out of autocast; yield the batch for it."""
    device = x.device.type
    if not torch.is_autocast_enabled(device):
        check_same_dtype(x, weight)
        yield x
        return
    with torch.autocast(device, enabled=False):
        yield x.to(weight.dtype)


def check_plain(module: object, kind: type[nn.Module]) -> None:
    """Refuse a module that does anything but what ``kind`` itself does.

    A subclass with its own forward, a hook, or a weight that is computed from others
    would be lost without a word in the counterpart.
    """
    if not isinstance(module, kind):
        msg = f"Got {type(module).__name__}, but expected a torch.nn.{kind.__name__}."
        raise TypeError(msg)
    why = None
    if isinstance(module._parameters.get("weight"), nn.UninitializedParameter):
        why = "no weights yet (call it once on a batch)"
    elif type(module).forward is not kind.forward:
        why = "a forward of its own"
    elif parametrize.is_parametrized(module) or "weight" not in module._parameters:
        why = "a weight that is computed from other parameters"
    elif module._forward_hooks or module._forward_pre_hooks:
        why = "hooks"
    if why is not None:
        msg = (
            f"Got a {type(module).__name__} with {why}, but expected a plain "
            f"torch.nn.{kind.__name__}: its counterpart would not do the same."
        )
        raise ValueError(msg)


@torch.no_grad()
def take_over(parameter: nn.Parameter, source: Tensor) -> None:
    """Copy values, and whether they are trained."""
    parameter.copy_(source)
    parameter.requires_grad_(source.requires_grad)
