"""Dense, slow, obvious: what the library's tests compare it with.

Everything here is numpy on one row at a time, written from the definitions and without
the library's own formulas.
"""

import numpy as np
import torch
from scipy import stats

from lacunet.functional import DiagComponents, FactorComponents, FullComponents

KINDS = ("diag", "factor", "full")


def make_components(kind, n_components=3, n_features=4, *, seed=0, dtype=torch.float64):
    """Random components that overlap, so that every one of them matters."""
    rng = np.random.RandomState(seed)
    weights = rng.dirichlet(np.full(n_components, 3.0))
    means = 1.5 * rng.randn(n_components, n_features)
    variances = rng.uniform(0.3, 1.5, (n_components, n_features))
    loadings = 0.8 * rng.randn(n_components, n_features, 2)
    log_weights, means, variances, loadings = (
        torch.tensor(a, dtype=dtype)
        for a in (np.log(weights), means, variances, loadings)
    )
    if kind == "diag":
        return DiagComponents(log_weights, means, variances)
    if kind == "factor":
        return FactorComponents(log_weights, means, loadings, variances)
    covariances = loadings @ loadings.mT + variances.diag_embed()
    return FullComponents(log_weights, means, covariances)


def mixed_batch(n_features=4, *, seed=0, dtype=torch.float64):
    """Complete, partly observed and empty rows, in no order."""
    rng = np.random.RandomState(seed)
    x = 1.5 * rng.randn(8, n_features)
    x[rng.rand(*x.shape) < 0.4] = np.nan
    x[1] = rng.randn(n_features)
    x[3] = np.nan
    x[5] = rng.randn(n_features)
    x[6, 0], x[6, 1:] = 0.5, np.nan
    x[7] = rng.randn(n_features)
    x[7, -1] = np.nan
    return torch.tensor(x, dtype=dtype)


def dense_covariances(components):
    """Covariance matrices of any record of components."""
    if isinstance(components, DiagComponents):
        out = components.variances.diag_embed()
    elif isinstance(components, FactorComponents):
        noise = components.variances.diag_embed()
        out = components.loadings @ components.loadings.mT + noise
    else:
        out = components.covariances
    return out.detach().numpy().astype(np.float64)


def conditional(row, components, gamma):
    """Weights, means and covariances of the missing cells of one row, by inversion."""
    weights = components.log_weights.detach().exp().numpy().astype(np.float64)
    means = components.means.detach().numpy().astype(np.float64)
    hole = np.isnan(row)
    seen = ~hole
    joint, centres, spreads = [], [], []
    for weight, mean, covariance in zip(
        weights, means, dense_covariances(components), strict=True
    ):
        noisy = covariance[np.ix_(seen, seen)] + gamma * np.eye(seen.sum())
        regression = covariance[np.ix_(hole, seen)] @ np.linalg.inv(noisy)
        centres.append(mean[hole] + regression @ (row - mean)[seen])
        spreads.append(
            covariance[np.ix_(hole, hole)] - regression @ covariance[np.ix_(seen, hole)]
        )
        density = (
            stats.multivariate_normal(mean[seen], noisy).pdf(row[seen])
            if seen.any()
            else 1.0
        )
        joint.append(weight * density)
    return np.array(joint) / np.sum(joint), np.array(centres), np.array(spreads)


def draw_rows(row, components, gamma, n, seed=0):
    """Draw completions of one row from F_S, and the component of each."""
    rng = np.random.RandomState(seed)
    weights, centres, spreads = conditional(row, components, gamma)
    labels = rng.choice(len(weights), n, p=weights)
    rows = np.tile(row, (n, 1))
    hole = np.isnan(row)
    for k in range(len(weights)):
        chosen = labels == k
        draws = rng.multivariate_normal(centres[k], spreads[k], chosen.sum())
        rows[np.ix_(chosen, hole)] = draws
    return torch.tensor(rows), torch.tensor(labels)


def standard_errors(draws, expected):
    """How many standard errors the mean of ``draws`` (n, *) is from ``expected``."""
    error = draws.std(0) / len(draws) ** 0.5
    return (draws.mean(0) - expected).abs() / error.clamp_min(1e-12)
