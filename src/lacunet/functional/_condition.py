"""From an incomplete row to the density of its missing values."""

from typing import NoReturn

import torch
from torch import Tensor

from lacunet._validation import (
    branch_free,
    check_floating,
    check_gamma,
    check_levels,
    check_rows,
    check_same_dtype,
    check_shape,
    check_sizes,
)
from lacunet.functional._full import FullComponents
from lacunet.functional._mixed import GaussianComponents, MixedComponents
from lacunet.functional._mixture import ConditionalMixture
from lacunet.functional._ops import Cells, split_cells

Components = GaussianComponents | MixedComponents


def condition(
    x: Tensor,
    components: Components,
    *,
    gamma: float | Tensor,
    lower: Tensor | None = None,
    upper: Tensor | None = None,
) -> ConditionalMixture:
    """Compute the gamma-regularised conditional density F_S of every row.

    Corollary 1.1 of the paper, for any covariance: the observed values carry noise of
    variance ``gamma``, so the covariance of the observed cells is raised by ``gamma``
    on its diagonal wherever it is inverted. ``gamma`` to 0 gives the conditional
    density, ``gamma`` to infinity the marginal one.

    Parameters
    ----------
    x : Tensor of shape (batch, features)
        NaN marks a missing value. A row with nothing observed gets the prior weights.
        A category is a group of columns, one-hot, or NaN in all of them.
    components : DiagComponents, FactorComponents, FullComponents or MixedComponents
        The mixture of Gaussians; its type determines how covariances are stored, and
        whether there are categorical columns.
    gamma : float or Tensor of shape () or (features,)
        The regulariser, not negative. The columns of a category share their mean.
    lower, upper : Tensor of shape (batch, features), optional
        Bounds of missing cells; NaN or infinite where there is none. Given the
        component, such a cell is a truncated normal. With diagonal covariances that is
        exact, and with others for rows with one such cell; several are taken one after
        the other, by their moments. In the columns of a category an upper bound of 0
        rules a level out.

    Returns
    -------
    ConditionalMixture

    Examples
    --------
    Two clusters, at 0 and at 10; the observed cell determines which one it is.

    >>> import torch
    >>> from lacunet.functional import DiagComponents, condition
    >>> means = torch.tensor([[0.0, 0.0], [10.0, 10.0]])
    >>> two = DiagComponents(torch.tensor([0.5, 0.5]).log(), means, torch.ones(2, 2))
    >>> x = torch.tensor([[9.0, torch.nan]])
    >>> condition(x, two, gamma=0.0).mean()
    tensor([[ 9., 10.]])
    >>> condition(x, two, gamma=1e9).mean()  # the marginal: both are as likely
    tensor([[9., 5.]])

    Of a value that is known to be above 5, too.

    >>> nothing, bound = torch.full((1, 2), torch.nan), torch.tensor([[5.0, torch.nan]])
    >>> condition(nothing, two, gamma=0.0, lower=bound).mean().round(decimals=3)
    tensor([[10., 10.]])
    """
    cells, noise = prepare(x, components, gamma, lower, upper)
    return components.condition(cells, noise)


def log_likelihood(
    x: Tensor,
    components: Components,
    *,
    gamma: float | Tensor = 0.0,
    lower: Tensor | None = None,
    upper: Tensor | None = None,
) -> Tensor:
    """Compute the log density of each row's observed cells under the mixture.

    Parameters
    ----------
    x : Tensor of shape (batch, features)
        NaN marks a missing value. A row with nothing observed has log density 0.
    components : DiagComponents, FactorComponents, FullComponents or MixedComponents
        The mixture of Gaussians.
    gamma : float or Tensor of shape () or (features,), default=0.0
        Variance of the noise on the observed values.
    lower, upper : Tensor of shape (batch, features), optional
        Bounds of missing cells, as in :func:`condition`: the log probability of values
        between them is added.

    Returns
    -------
    Tensor of shape (batch,)

    Examples
    --------
    >>> import torch
    >>> from lacunet.functional import DiagComponents, log_likelihood
    >>> one = DiagComponents(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2))
    >>> log_likelihood(torch.tensor([[0.0, torch.nan]]), one)
    tensor([-0.9189])
    """
    cells, noise = prepare(x, components, gamma, lower, upper)
    joint = components.log_weights + components.log_likelihood(cells, noise)
    return joint.logsumexp(-1).to(x.dtype)


def prepare(
    x: Tensor,
    components: Components,
    gamma: float | Tensor,
    lower: Tensor | None = None,
    upper: Tensor | None = None,
) -> tuple[Cells, Tensor]:
    """Check what was handed over and take the batch apart."""
    check_components(components)
    check_rows(x, components.means.shape[1])
    check_same_dtype(x, components.means)
    if isinstance(components, MixedComponents):
        check_levels(x, components.n_numeric, components.sizes)
    if not branch_free():
        check_gamma(gamma, components.means.shape[1])
    noise = torch.as_tensor(gamma, dtype=x.dtype, device=x.device)
    return split_cells(x, lower, upper), noise


def check_components(components: Components) -> None:
    """Refuse components whose parts don't fit together."""
    if isinstance(components, MixedComponents):
        check_mixed(components)
    elif isinstance(components, GaussianComponents):
        check_gaussian(components)
    else:
        expected = "DiagComponents, FactorComponents, FullComponents or MixedComponents"
        _refuse_type(components, expected)


def check_gaussian(components: GaussianComponents, fewest_features: int = 1) -> None:
    """Refuse Gaussian components whose parts don't fit together."""
    if not isinstance(components, GaussianComponents):
        _refuse_type(components, "DiagComponents, FactorComponents or FullComponents")
    for name, tensor in components._asdict().items():
        check_floating(tensor, name)
    shape = tuple(components.means.shape)
    if len(shape) != 2 or shape[0] < 1 or shape[1] < fewest_features:
        msg = (
            f"Got means of shape {shape}, but expected (components, features) with at "
            f"least one of each."
        )
        raise ValueError(msg)
    n_components, n_features = shape
    check_shape(components.log_weights, (n_components,), "log_weights")
    if isinstance(components, FullComponents):
        square = (n_components, n_features, n_features)
        check_shape(components.covariances, square, "covariances")
        return
    check_shape(components.variances, shape, "variances")
    if not branch_free() and not bool((components.variances > 0).all()):
        msg = "Got variances that are not all positive, but expected them to be."
        raise ValueError(msg)


def _refuse_type(components: object, expected: str) -> NoReturn:
    msg = (
        f"Got components of type {type(components).__name__}, but expected {expected}."
    )
    raise TypeError(msg)


def check_mixed(components: MixedComponents) -> None:
    """Refuse components with categories whose parts don't fit together."""
    if not isinstance(components, MixedComponents):
        _refuse_type(components, "MixedComponents")
    sizes = check_sizes(components.sizes)
    check_gaussian(components.gaussian, fewest_features=0)
    log_probabilities = check_floating(
        components.log_probabilities, "log_probabilities"
    )
    shape = (len(components.log_weights), sum(sizes))
    check_shape(log_probabilities, shape, "log_probabilities")
    if components.n_numeric + sum(sizes) == 0:
        msg = "Got components without a column, but expected at least one."
        raise ValueError(msg)
    if branch_free():
        return
    for group in log_probabilities.split(sizes, 1):
        if not bool(((group.exp().sum(1) - 1.0).abs() < 1e-3).all()):
            msg = (
                "Got log_probabilities whose exponentials don't sum to 1 over the "
                "levels of a category, but expected them to."
            )
            raise ValueError(msg)
