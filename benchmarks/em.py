"""An iteration of EM: diagonal against scikit-learn's, full against the old way."""

import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.exact import em_iteration
from benchmarks.table import Row
from benchmarks.timing import CPU, Effort, threads, time_in_turn
from lacunet.density import IncompleteGaussianMixture
from lacunet.missingness import drop_values

N_FEATURES, N_COMPONENTS = 50, 5


def clustered_rows(
    n_rows: int,
    n_features: int,
    n_clusters: int,
    random_state: np.random.RandomState,
    distance: float = 1.0,
) -> np.ndarray:
    """Draw clusters, each with correlated columns, so far apart in each column."""
    centres = distance * random_state.normal(size=(n_clusters, n_features))
    mixing = random_state.normal(size=(n_clusters, n_features, n_features))
    mixing = np.eye(n_features) + 0.5 * mixing / np.sqrt(n_features)
    labels = random_state.randint(n_clusters, size=n_rows)
    noise = random_state.normal(size=(n_rows, n_features))
    X = np.empty((n_rows, n_features))
    for cluster in range(n_clusters):
        rows = labels == cluster
        X[rows] = centres[cluster] + noise[rows] @ mixing[cluster].T
    return X


def fit_exactly(
    estimator: type[Any], X: np.ndarray, n_iter: int, **options: Any
) -> GaussianMixture | IncompleteGaussianMixture:
    """Fit for so many iterations."""
    mixture = estimator(
        N_COMPONENTS, tol=0.0, max_iter=n_iter, random_state=0, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(X)
    if mixture.n_iter_ != n_iter:
        msg = f"Got {mixture.n_iter_} iterations, but expected {n_iter}."
        raise RuntimeError(msg)
    return mixture


def measure_diag(effort: Effort, *, n_rows: int = 20_000) -> Row:
    """Time an iteration on complete data against scikit-learn's GaussianMixture."""
    random_state = np.random.RandomState(0)
    X = clustered_rows(n_rows, N_FEATURES, N_COMPONENTS, random_state)
    start = {
        "covariance_type": "diag",
        "weights_init": np.full(N_COMPONENTS, 1 / N_COMPONENTS),
        "means_init": X[random_state.choice(n_rows, N_COMPONENTS, replace=False)],
        "precisions_init": np.tile(1 / X.var(axis=0), (N_COMPONENTS, 1)),
    }
    few, many = 10, 30  # iterations; their difference leaves the set-up out
    rivals = {"ours": IncompleteGaussianMixture, "reference": GaussianMixture}
    ours, reference = (fit_exactly(rival, X, few, **start) for rival in rivals.values())
    np.testing.assert_allclose(ours.means_, reference.means_, atol=1e-6)
    np.testing.assert_allclose(ours.covariances_, reference.covariances_, atol=1e-6)
    calls = {
        (name, n_iter): lambda rival=rival, n_iter=n_iter: fit_exactly(
            rival, X, n_iter, **start
        )
        for name, rival in rivals.items()
        for n_iter in (many, few)
    }
    with threads(1):
        samples = time_in_turn(calls, CPU, effort)
    seconds = {
        name: (median(samples[name, many]) - median(samples[name, few])) / (many - few)
        for name in rivals
    }
    return Row(
        case=f"EM diag, complete {n_rows}x{N_FEATURES}, k={N_COMPONENTS}, iteration",
        unit="ms",
        ours=1e3 * seconds["ours"],
        reference=1e3 * seconds["reference"],
        bound=1.0,
        repetitions=len(samples["ours", many]),
        details={"reference": "scikit-learn"},
    )


def measure_full(effort: Effort, *, n_rows: int = 20_000) -> Row:
    """Time an iteration on incomplete data against the old way."""
    X = clustered_rows(n_rows, N_FEATURES, N_COMPONENTS, np.random.RandomState(0), 0.35)
    X = drop_values(X, 0.2, random_state=0)
    warm = fit_exactly(
        IncompleteGaussianMixture, X[: n_rows // 5], 10, covariance_type="full"
    )
    start = {
        "covariance_type": "full",
        "weights_init": warm.weights_,
        "means_init": warm.means_,
        "precisions_init": np.linalg.inv(warm.covariances_),
    }
    arrays = (X, warm.weights_, warm.means_, warm.covariances_)
    tensors = [torch.from_numpy(array) for array in arrays]

    def ours(n_iter: int) -> Callable[[], Any]:
        return lambda: fit_exactly(IncompleteGaussianMixture, X, n_iter, **start)

    fitted, (_, means, covariances) = ours(1)(), em_iteration(*tensors)
    np.testing.assert_allclose(fitted.means_, means, atol=1e-4)
    np.testing.assert_allclose(fitted.covariances_, covariances, atol=1e-4)
    calls = {"one": ours(1), "three": ours(3), "old": lambda: em_iteration(*tensors)}
    with threads(1):
        samples = time_in_turn(calls, CPU, effort)
    one, three, old = (median(samples[name]) for name in calls)
    return Row(
        case=(
            f"EM full, {n_rows}x{N_FEATURES}, 20% missing, k={N_COMPONENTS}, iteration"
        ),
        unit="ms",
        ours=1e3 * (three - one) / 2,
        reference=1e3 * old,
        bound=0.12,
        repetitions=len(samples["old"]),
        old=1.0,
        details={"reference": "the old way"},
    )
