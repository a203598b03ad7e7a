"""EM on incomplete rows: an iteration against scikit-learn's, and a whole fit."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.table import Row
from benchmarks.timing import CPU, WALL, Clock, Effort, Pair, threads, time_in_turn
from lacunet.density import IncompleteGaussianMixture

FEW, MANY = 10, 30  # iterations; their difference leaves the set-up out


@dataclass(frozen=True)
class Start:
    """Where both mixtures start from."""

    weights: np.ndarray
    means: np.ndarray
    precisions: np.ndarray


def clustered_rows(
    n_rows: int, n_features: int, n_clusters: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Draw overlapping clusters, each with correlated columns."""
    centres = random_state.normal(size=(n_clusters, n_features))
    mixing = random_state.normal(size=(n_clusters, n_features, n_features))
    mixing = np.eye(n_features) + 0.5 * mixing / np.sqrt(n_features)
    labels = random_state.randint(n_clusters, size=n_rows)
    noise = random_state.normal(size=(n_rows, n_features))
    X = np.empty((n_rows, n_features))
    for cluster in range(n_clusters):
        rows = labels == cluster
        X[rows] = centres[cluster] + noise[rows] @ mixing[cluster].T
    return X


def rough_start(
    X: np.ndarray, n_components: int, random_state: np.random.RandomState
) -> Start:
    """Start at rows of the data with the variances of the columns."""
    chosen = random_state.choice(len(X), n_components, replace=False)
    return Start(
        weights=np.full(n_components, 1 / n_components),
        means=X[chosen],
        precisions=np.tile(1 / X.var(axis=0), (n_components, 1)),
    )


def fit_exactly(
    estimator: type[Any], X: np.ndarray, start: Start, n_iter: int
) -> GaussianMixture | IncompleteGaussianMixture:
    """Fit diagonal components for so many iterations from a given start."""
    mixture = estimator(
        n_components=len(start.weights),
        covariance_type="diag",
        tol=0.0,
        max_iter=n_iter,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=start.precisions,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(X)
    if mixture.n_iter_ != n_iter:
        msg = f"Got {mixture.n_iter_} iterations, but expected {n_iter}."
        raise RuntimeError(msg)
    return mixture


def check_agreement(X: np.ndarray, start: Start) -> None:
    """Refuse to time two different things."""
    ours = fit_exactly(IncompleteGaussianMixture, X, start, FEW)
    reference = fit_exactly(GaussianMixture, X, start, FEW)
    np.testing.assert_allclose(ours.means_, reference.means_, atol=1e-6)
    np.testing.assert_allclose(ours.covariances_, reference.covariances_, atol=1e-6)


def time_iterations(
    X: np.ndarray, start: Start, clock: Clock, effort: Effort
) -> tuple[Pair, Pair]:
    """Return the seconds of one iteration and those of the longer fit, set-up in."""

    def fit(estimator: type[Any], n_iter: int) -> Callable[[], object]:
        return lambda: fit_exactly(estimator, X, start, n_iter)

    samples = time_in_turn(
        {
            "ours, many": fit(IncompleteGaussianMixture, MANY),
            "reference, many": fit(GaussianMixture, MANY),
            "ours, few": fit(IncompleteGaussianMixture, FEW),
            "reference, few": fit(GaussianMixture, FEW),
        },
        clock,
        effort,
    )
    medians = {name: median(seconds) for name, seconds in samples.items()}
    repetitions = len(samples["ours, many"])

    def iteration(name: str) -> float:
        return (medians[f"{name}, many"] - medians[f"{name}, few"]) / (MANY - FEW)

    return (
        Pair(iteration("ours"), iteration("reference"), repetitions),
        Pair(medians["ours, many"], medians["reference, many"], repetitions),
    )


def measure_iteration(effort: Effort, *, n_rows: int = 20000) -> Row:
    """Time an iteration on complete data against scikit-learn's GaussianMixture."""
    random_state = np.random.RandomState(0)
    n_features, n_components = 50, 5
    X = clustered_rows(n_rows, n_features, n_components, random_state)
    start = rough_start(X, n_components, random_state)
    check_agreement(X, start)
    with threads(1):
        cpu, whole = time_iterations(X, start, CPU, effort)
    with threads(2):
        wall, _ = time_iterations(X, start, WALL, effort)
    return Row(
        case=f"EM diag, complete {n_rows}x{n_features}, k={n_components}, iteration",
        unit="ms",
        ours=1e3 * cpu.ours,
        reference=1e3 * cpu.reference,
        bound=1.0,
        repetitions=cpu.repetitions,
        wall=wall,
        details={
            f"CPU seconds of a fit of {MANY} iterations": whole.ours,
            "the same, scikit-learn": whole.reference,
        },
    )


def measure_full_fit(repetitions: int, *, n_rows: int = 5000) -> Row:
    """Time a whole fit with full covariances, at default settings."""
    random_state = np.random.RandomState(0)
    n_features, n_components = 20, 3
    X = clustered_rows(n_rows, n_features, n_components, random_state)
    X[random_state.uniform(size=X.shape) < 0.3] = np.nan
    seconds = []
    with threads(2):
        for _ in range(repetitions):
            mixture = IncompleteGaussianMixture(
                n_components, covariance_type="full", random_state=0
            )
            begin = time.perf_counter()
            mixture.fit(X)
            seconds.append(time.perf_counter() - begin)
    return Row(
        case=f"EM full, {n_rows}x{n_features}, 30% missing, k={n_components}, fit",
        unit="s",
        ours=median(seconds),
        reference=None,
        bound=30.0,
        repetitions=repetitions,
        details={
            "clock": "wall time, 2 threads",
            "iterations": mixture.n_iter_,
            "converged": mixture.converged_,
        },
    )
