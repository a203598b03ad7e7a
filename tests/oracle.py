"""Dense, slow, obvious: what the library's tests compare it with.

Everything here is numpy on one row at a time, written from the definitions and without
the library's own formulas.
"""

import numpy as np
import torch
from scipy import stats

from lacunet.functional import (
    DiagComponents,
    FactorComponents,
    FullComponents,
    MixedComponents,
)

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
    missing = np.isnan(row)
    seen = ~missing
    joint, centres, covariances = [], [], []
    for weight, mean, covariance in zip(
        weights, means, dense_covariances(components), strict=True
    ):
        noisy = covariance[np.ix_(seen, seen)] + gamma * np.eye(seen.sum())
        regression = covariance[np.ix_(missing, seen)] @ np.linalg.inv(noisy)
        centres.append(mean[missing] + regression @ (row - mean)[seen])
        covariances.append(
            covariance[np.ix_(missing, missing)]
            - regression @ covariance[np.ix_(seen, missing)]
        )
        density = (
            stats.multivariate_normal(mean[seen], noisy).pdf(row[seen])
            if seen.any()
            else 1.0
        )
        joint.append(weight * density)
    return np.array(joint) / np.sum(joint), np.array(centres), np.array(covariances)


def draw_rows(row, components, gamma, n, seed=0):
    """Draw completions of one row from F_S, and the component of each."""
    rng = np.random.RandomState(seed)
    weights, centres, covariances = conditional(row, components, gamma)
    labels = rng.choice(len(weights), n, p=weights)
    rows = np.tile(row, (n, 1))
    missing = np.isnan(row)
    for k in range(len(weights)):
        chosen = labels == k
        draws = rng.multivariate_normal(centres[k], covariances[k], chosen.sum())
        rows[np.ix_(chosen, missing)] = draws
    return torch.tensor(rows), torch.tensor(labels)


def make_mixed(kind, n_numeric=3, sizes=(2, 3), *, seed=0, dtype=torch.float64):
    """Random components over numbers and categories."""
    gaussian = make_components(kind, 3, n_numeric, seed=seed, dtype=dtype)
    rng = np.random.RandomState(seed + 1)
    groups = [rng.dirichlet(np.full(size, 1.5), 3) for size in sizes]
    probabilities = np.hstack([np.empty((3, 0)), *groups])
    log_probabilities = torch.tensor(np.log(probabilities), dtype=dtype)
    return MixedComponents(gaussian, log_probabilities, tuple(sizes))


def mixed_rows(n_numeric=3, sizes=(2, 3), *, seed=0, dtype=torch.float64):
    """Complete (1), empty (3) and partly observed rows of numbers and categories."""
    rng = np.random.RandomState(seed)
    numeric = 1.5 * rng.randn(8, n_numeric)
    numeric[rng.rand(*numeric.shape) < 0.4] = np.nan
    groups = []
    for size in sizes:
        group = np.eye(size)[rng.randint(size, size=8)]
        group[rng.rand(8) < 0.5] = np.nan
        group[1] = np.eye(size)[0]
        groups.append(group)
    numeric[1] = rng.randn(n_numeric)
    x = np.hstack([numeric, *groups])
    x[3] = np.nan
    return torch.tensor(x, dtype=dtype)


def groups_of(components):
    """Slices of the categories' columns in a row, and their probabilities."""
    start, probabilities = components.n_numeric, components.probabilities
    for size in components.sizes:
        first = start - components.n_numeric
        group = probabilities[:, first : first + size].detach().numpy()
        yield slice(start, start + size), group.astype(np.float64)
        start += size


def mixed_conditional(row, components, gamma):
    """Weights given all observed columns; moments of the missing numbers."""
    numeric = row[: components.n_numeric]
    weights, centres, covariances = conditional(numeric, components.gaussian, gamma)
    for columns, probabilities in groups_of(components):
        if not np.isnan(row[columns]).any():
            category = int(np.argmax(row[columns]))
            n_categories = probabilities.shape[1]
            likelihood = probabilities[:, category] + gamma / n_categories
            weights = weights * likelihood / (1 + gamma)
    return weights / weights.sum(), centres, covariances


def draw_mixed(row, components, gamma, n, seed=0):
    """Draw completions of one row with categories, and the component of each."""
    rng = np.random.RandomState(seed)
    weights, centres, covariances = mixed_conditional(row, components, gamma)
    labels = rng.choice(len(weights), n, p=weights)
    rows = np.tile(row, (n, 1))
    missing = np.flatnonzero(np.isnan(row[: components.n_numeric]))
    for k in range(len(weights)):
        chosen = np.flatnonzero(labels == k)
        if len(missing):
            draws = rng.multivariate_normal(centres[k], covariances[k], len(chosen))
            rows[np.ix_(chosen, missing)] = draws
        for columns, probabilities in groups_of(components):
            if np.isnan(row[columns]).any():
                n_categories = probabilities.shape[1]
                drawn = rng.choice(n_categories, len(chosen), p=probabilities[k])
                rows[chosen, columns] = np.eye(n_categories)[drawn]
    return torch.tensor(rows), torch.tensor(labels)


def standard_errors(draws, expected):
    """How many standard errors the mean of ``draws`` (n, *) is from ``expected``."""
    error = draws.std(0) / len(draws) ** 0.5
    return (draws.mean(0) - expected).abs() / error.clamp_min(1e-12)
