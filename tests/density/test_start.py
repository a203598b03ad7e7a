"""Where EM starts from."""

import numpy as np
import torch

from lacunet import IncompleteGaussianMixture
from lacunet.density._start import cluster_rows, refine_responsibilities, standardise
from lacunet.functional._ops import split_cells, widen

LEVELS = np.array([1.0, 3.0, 12.0])


def signals(n=600, width=20, seed=0):
    """Return waves of three amplitudes about zero, and which of them a row has."""
    rng = np.random.RandomState(seed)
    steps = np.subtract.outer(np.arange(width), np.arange(width))
    covariance = np.exp(-(steps**2) / 18) + 0.05 * np.eye(width)
    amplitude = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    x = rng.multivariate_normal(np.zeros(width), covariance, n)
    x *= LEVELS[amplitude][:, None]
    x[rng.rand(n, width) < 0.25] = np.nan
    return x, amplitude


def cells_of(x):
    return standardise(widen(split_cells(torch.from_numpy(x))))


def purity(responsibilities, groups):
    """Return the fraction of rows in the group that most of their cluster is of."""
    labels = responsibilities.argmax(1).numpy()
    most = [np.bincount(groups[labels == label]).max() for label in np.unique(labels)]
    return sum(most) / len(groups)


def test_rows_are_separated_by_their_variance_where_distances_can_not():
    x, amplitude = signals()
    cells = cells_of(x)
    responsibilities = cluster_rows(cells, 3, np.random.RandomState(0))
    refined = refine_responsibilities(cells, responsibilities)
    assert purity(responsibilities, amplitude) < 0.75
    assert purity(refined, amplitude) > 0.9
    torch.testing.assert_close(refined.sum(1), torch.ones(len(x), dtype=torch.float64))


def test_components_with_factors_find_the_amplitudes():
    x, amplitude = signals()
    mixture = IncompleteGaussianMixture(
        3, covariance_type="factor", rank=5, max_iter=30, tol=0.1, random_state=0
    )
    found = torch.from_numpy(mixture.fit(x).predict_proba(x))
    assert purity(found, amplitude) > 0.95


def test_well_separated_clusters_stay_as_they_were():
    rng = np.random.RandomState(0)
    x = rng.randn(90, 3) + 20 * np.repeat(np.eye(3), 30, axis=0)
    cells = cells_of(x)
    responsibilities = cluster_rows(cells, 3, rng)
    torch.testing.assert_close(
        refine_responsibilities(cells, responsibilities), responsibilities
    )


def test_a_row_without_a_value_and_an_empty_cluster_give_numbers():
    x = np.random.RandomState(0).randn(30, 3)
    x[0] = np.nan
    cells = cells_of(x)
    responsibilities = torch.zeros(30, 2, dtype=torch.float64)
    responsibilities[:, 0] = 1.0
    assert refine_responsibilities(cells, responsibilities).isfinite().all()
