"""The old way, "exact, all components": what the speed of the core is measured against.

The layers with ReLU, and an iteration of EM with full covariances, by the algorithms
from before pruning and missing blocks, from public attributes alone. Each row counts as
a missing pattern of its own, which it nearly always is where single cells are missing.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedConv2d, ExpectedLinear

LOG_TWO_PI = math.log(2 * math.pi)


def exact_layer(layer: ExpectedLinear | ExpectedConv2d, x: Tensor) -> Tensor:
    """Compute what ``layer`` with ReLU computes on ``x``, NaN where missing."""
    values = torch.nan_to_num(x)
    if isinstance(layer, ExpectedConv2d):
        moments, known = convolved_moments, layer.convolution(values)
    else:
        moments = MOMENTS[layer.density.covariance_type]
        known = functional.linear(values, layer.weight, layer.bias)  # (batch, *out)
    rows = torch.isnan(x.flatten(1).sum(1)).nonzero()[:, 0]
    if len(rows) == 0:
        return torch.relu(known)
    every = len(rows) == len(x)
    chosen = x if every else x.index_select(0, rows)
    offset = known if every else known.index_select(0, rows)
    likelihood, mean, variance = moments(layer, chosen)
    weights = (layer.density.weights.log() + likelihood).softmax(-1).to(x.dtype)
    expected = _ExpectedReLU.apply(
        mean.add_(offset[:, None]).contiguous(), variance.contiguous()
    )  # (batch, components, *out)
    weights = weights.view(*weights.shape, *(1,) * (expected.ndim - 2))
    response = (weights * expected).sum(1)
    return response if every else torch.relu(known).index_copy(0, rows, response)


Moments = tuple[Tensor, Tensor, Tensor]


def diag_moments(layer: ExpectedLinear, x: Tensor) -> Moments:
    """Log likelihoods, and means and variances that the missing cells add."""
    density, missing = layer.density, torch.isnan(x).to(x.dtype)
    return (
        diag_log_likelihood(*widen(density, x)),
        masked_products(missing, layer.weight, density.means),
        masked_products(missing, layer.weight.square(), density.variances),
    )


def convolved_moments(layer: ExpectedConv2d, x: Tensor) -> Moments:
    """The same of a convolution under diagonal covariances, a component at a time."""
    density, missing = layer.density, torch.isnan(x).to(x.dtype)
    convolve, kernel = layer.convolution._conv_forward, layer.weight
    means, variances = (
        torch.stack(
            [convolve(missing * each.view(x.shape[1:]), of, None) for each in tables], 1
        )
        for tables, of in ((density.means, kernel), (density.variances, kernel**2))
    )
    return diag_log_likelihood(*widen(density, x.flatten(1))), means, variances


def widen(density: GaussianMixtureDensity, x: Tensor) -> tuple[Tensor, ...]:
    """Return observed values, their mask, means and noise; centred, in float64."""
    shift = density.means.detach().mean(0).double()
    present = (~torch.isnan(x)).double()
    values = (torch.nan_to_num(x).double() - shift) * present
    noise = density.variances.double() + density.gamma
    return values, present, density.means.double() - shift, noise


def diag_log_likelihood(
    values: Tensor, present: Tensor, means: Tensor, noise: Tensor
) -> Tensor:
    """Compute log N(x_o; m_o, noise_o), (batch, components)."""
    weighted = means / noise
    table = weighted * means + noise.log() + LOG_TWO_PI
    quadratic = values.square() @ (1.0 / noise).T - 2.0 * (values @ weighted.T)
    return -0.5 * (quadratic + present @ table.T)


def masked_products(missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
    """Compute ``sum_d missing[b, d] * tables[t, d] * weight[h, d]``, (b, t, h)."""
    touched = missing.sum(dim=0) > 0
    if int(touched.sum()) <= 0.75 * len(touched):
        columns = touched.nonzero()[:, 0]
        missing, weight, tables = (
            tensor.index_select(1, columns) for tensor in (missing, weight, tables)
        )
    if len(missing) < len(weight):
        # Few rows: (batch, tables, features) is smaller than the table of products.
        return functional.linear(missing[:, None] * tables, weight)
    product: Tensor = _TabulatedProducts.apply(missing, weight, tables)
    return product.view(-1, len(tables), len(weight))


class _TabulatedProducts(torch.autograd.Function):
    """One product for all tables, which are not kept between forward and backward."""

    @staticmethod
    def forward(ctx: Any, missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
        ctx.save_for_backward(missing, weight, tables)
        return missing @ (tables[:, None] * weight).flatten(0, 1).T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        missing, weight, tables = ctx.saved_tensors
        outer = (grads[0].T @ missing).view(len(tables), *weight.shape)
        needs_weight, needs_tables = ctx.needs_input_grad[1:]
        grad_weight = torch.zeros_like(weight) if needs_weight else None
        grad_tables = []
        for slice_, table in zip(outer, tables, strict=True):
            if grad_weight is not None:
                grad_weight = torch.addcmul(grad_weight, slice_, table)
            if needs_tables:
                grad_tables.append((slice_ * weight).sum(0))
        return None, grad_weight, torch.stack(grad_tables) if needs_tables else None


class _ExpectedReLU(torch.autograd.Function):
    """m cdf(z) + s pdf(z) with its two slopes, cdf(z) and pdf(z) / (2 s), kept."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        tensors = mean, variance, *(torch.empty_like(mean) for _ in range(3))
        for piece in zip(*(t.view(-1).split(2**18) for t in tensors), strict=True):
            _fill_relu(*piece)
        _, _, out, cdf, slope = tensors
        ctx.save_for_backward(cdf, slope)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        cdf, slope = ctx.saved_tensors
        return grads[0] * cdf, grads[0] * slope


def _fill_relu(
    mean: Tensor, variance: Tensor, out: Tensor, cdf: Tensor, slope: Tensor
) -> None:
    """Write value and slopes in place."""
    floor, peak = 1e-30, 1 / math.sqrt(2 * math.pi)
    std = variance.clamp_min(floor).sqrt_()
    z = mean / std
    torch.erfc(z * -math.sqrt(0.5), out=cdf).mul_(0.5)
    bump = z.square_().mul_(-0.5).exp_()  # the density but for its constant
    torch.mul(mean, cdf, out=out).addcmul_(std, bump, value=peak).clamp_min_(0.0)
    torch.div(bump, std.mul_(2.0 / peak), out=slope)
    if bool(variance.amin() <= floor):
        slope.masked_fill_(variance <= floor, 0.0)


def factor_moments(layer: ExpectedLinear, x: Tensor) -> Moments:
    """The same under factor covariances, a triangular solve for each row."""
    density, missing = layer.density, torch.isnan(x).to(x.dtype)
    values, present, means, noise = widen(density, x)
    loadings = density.loadings.double()  # (components, features, rank)
    rank = loadings.shape[-1]
    weighted = loadings / noise[..., None]
    squares = (weighted[..., None] * loadings[:, :, None]).flatten(2)
    precision = torch.einsum("bd,kdm->bkm", present, squares)
    cholesky = torch.linalg.cholesky(
        precision.unflatten(-1, (rank, rank)) + torch.eye(rank, dtype=means.dtype)
    )  # (batch, components, rank, rank)
    projected = torch.einsum("bd,kdl->bkl", values, weighted) - torch.einsum(
        "bd,kdl->bkl", present, weighted * means[..., None]
    )
    half = solve_lower(cholesky, projected[..., None])
    factors = solve_transposed(cholesky, half)[..., 0].to(x.dtype)
    likelihood = (
        diag_log_likelihood(values, present, means, noise)
        + 0.5 * half[..., 0].square().sum(-1)
        - log_det(cholesky)
    )
    columns = density.loadings.mT.flatten(0, 1)  # (components * rank, features)
    pushed = masked_products(missing, layer.weight, columns).unflatten(1, (-1, rank))
    mean = masked_products(missing, layer.weight, density.means) + torch.einsum(
        "bkl,bklh->bkh", factors, pushed
    )
    left = masked_products(missing, layer.weight.square(), density.variances)
    explained = solve_lower(cholesky.to(x.dtype), pushed).square().sum(-2)
    return likelihood, mean, left + explained


def full_moments(layer: ExpectedLinear, x: Tensor) -> Moments:
    """The same under full covariances, a Cholesky factor for each row and component."""
    density, weight = layer.density, layer.weight.double()
    means, covariances = density.means.double(), density.covariances.double()
    observed = ~torch.isnan(x)
    likelihood, solution, cholesky = full_posterior(
        torch.nan_to_num(x).double(), observed, means, covariances, density.gamma
    )
    filled = means + torch.einsum("kde,bke->bkd", covariances, solution)
    mean = functional.linear(
        (~observed)[:, None] * filled.to(x.dtype), layer.weight
    )  # (batch, components, hidden)
    present = observed.double()
    masked = weight * (1.0 - present)[:, None]  # (batch, hidden, features)
    spread = covariances @ masked.mT[:, None]  # (batch, components, features, hidden)
    prior = torch.einsum("bhd,bkdh->bkh", masked, spread)
    half = solve_lower(cholesky, spread * present[:, None, :, None])
    variance = (prior - half.square().sum(-2)).clamp_min(0.0)
    return likelihood, mean, variance.to(x.dtype)


MOMENTS = {"diag": diag_moments, "factor": factor_moments, "full": full_moments}


def full_posterior(
    values: Tensor, observed: Tensor, means: Tensor, covariances: Tensor, gamma: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Factor each row's matrix: its covariance, the identity on the missing cells.

    Return log likelihoods (batch, components), solutions (batch, components, features)
    and the Cholesky factors.
    """
    present = observed.double()
    both = present[:, None, :, None] * present[:, None, None, :]
    diagonal = torch.diag_embed(gamma.double() * present + (1.0 - present))[:, None]
    cholesky = torch.linalg.cholesky(covariances * both + diagonal)
    residual = (values[:, None] - means) * observed[:, None]
    half = solve_lower(cholesky, residual[..., None])
    solution = solve_transposed(cholesky, half)[..., 0]
    quadratic = half.square().sum((-2, -1)) + LOG_TWO_PI * present.sum(-1)[:, None]
    return -0.5 * quadratic - log_det(cholesky), solution, cholesky


def em_iteration(
    x: Tensor,
    weights: Tensor,
    means: Tensor,
    covariances: Tensor,
    reg_covar: float = 1e-6,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights, means and full covariances after one E-step and M-step."""
    n_components, n_features = means.shape
    numbers = n_components * n_features * (n_features + 1) + n_features  # of a row
    blocks = x.split(max(1, 2**20 // numbers))
    mass, missing, first, second = (
        sum(each)
        for each in zip(
            *(_statistics(block, weights, means, covariances) for block in blocks),
            strict=True,
        )
    )
    move = first / mass[:, None]
    covariances = second / mass[:, None, None] - move[..., None] * move[:, None]
    covariances = 0.5 * (covariances + covariances.mT)
    # What the missing cells add has reg_covar in it from the last time.
    raised = reg_covar * (1.0 - missing / mass[:, None])
    covariances.diagonal(dim1=-2, dim2=-1).add_(raised)
    return mass / mass.sum(), means + move, covariances


def _statistics(
    x: Tensor, weights: Tensor, means: Tensor, covariances: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fill the missing cells in under each component, and add their covariance."""
    observed, values = ~torch.isnan(x), torch.nan_to_num(x)
    likelihood, solution, cholesky = full_posterior(
        values, observed, means, covariances, torch.zeros(())
    )
    responsibilities = (weights.log() + likelihood).softmax(-1)
    filled = means + torch.einsum("kde,bke->bkd", covariances, solution)
    filled = torch.where(observed[:, None], values[:, None], filled)
    gaps = filled.transpose(0, 1).sub_(means[:, None])  # (components, rows, features)
    weighted = gaps * responsibilities.T[..., None]
    added = torch.einsum(
        "bk,bkde->kde",
        responsibilities,
        missing_covariances(cholesky, covariances, observed),
    )
    return (
        responsibilities.sum(0),
        responsibilities.T @ (~observed).double(),
        weighted.sum(1),
        weighted.mT @ gaps + added,
    )


def missing_covariances(
    cholesky: Tensor, covariances: Tensor, observed: Tensor
) -> Tensor:
    """Compute (batch, components, features, features), 0 where observed."""
    present = observed.double()[:, None]
    spread = covariances * (1.0 - present)[..., None, :]
    half = solve_lower(cholesky, spread * present[..., None])
    return spread * (1.0 - present)[..., None] - half.mT @ half


def solve_lower(cholesky: Tensor, right: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(cholesky, right, upper=False)


def solve_transposed(cholesky: Tensor, right: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(cholesky.mT, right, upper=True)


def log_det(cholesky: Tensor) -> Tensor:
    """Return the logarithm of the determinant of L itself: half that of L @ L.T."""
    return cholesky.diagonal(dim1=-2, dim2=-1).log().sum(-1)
