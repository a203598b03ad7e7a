"""Are mice and EM impossible on MNIST? What they take is measured, or reckoned."""

import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from lacunet.density import IncompleteGaussianMixture
from reproduction.experiments._autoencoders import N_COMPONENTS
from reproduction.experiments._record import DIGITS, Drawing, Experiment, Setting
from reproduction.experiments._sources import load_images

SEED = 0
RANK = 10
FLOORS = (1e-6, 0.0)  # added to variances; the first is our default
N_ROUNDS = 5  # over all columns, as in R's mice
N_REGRESSED = 2  # columns that are timed


@dataclass(frozen=True)
class Sizes:
    """Numbers of images: in EM with its most iterations, by covariances; in mice."""

    em: Mapping[str, tuple[int, int]]
    mice: Sequence[int]


SIZES = {
    "paper": Sizes(
        {"diag": (60_000, 60), "factor": (10_000, 30)}, (2500, 5000, 10_000, 20_000)
    ),
    "quick": Sizes({"diag": (5000, 60), "factor": (1000, 30)}, (1000, 2000, 4000)),
    DIGITS: Sizes({"diag": (1000, 60), "factor": (500, 30)}, (250, 500, 1000)),
}


def draw_mnist(drawing: Drawing) -> dict[str, Any]:
    """Measure EM on images with patches, and what mice takes for a column of them.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict
        ``em`` has a record for each type of covariances and each floor under the
        variances, ``mice`` the seconds for one of its regressions as images grow in
        number, and the hours for all. Seconds are those of one core.
    """
    (setting,) = drawing.settings
    sizes = SIZES[drawing.protocol if drawing.data is None else drawing.data]
    images = load_images(setting.dataset, SEED)
    with warnings.catch_warnings():
        # What has not settled is told in the records.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            _fit_mixture(images.train[:n_rows], kind, floor, max_iter)
            for kind, (n_rows, max_iter) in sizes.em.items()
            for floor in FLOORS
        ]
        mice = _reckon(images.train, sizes.mice)
    return {
        "dataset": setting.dataset,
        "n_images": len(images.train),
        "n_pixels": images.train.shape[1],
        "n_constant": int((np.ptp(images.original, axis=0) == 0).sum()),
        "em": fits,
        "mice": mice,
    }


def _fit_mixture(
    X: np.ndarray, kind: str, floor: float, max_iter: int
) -> dict[str, Any]:
    """Fit a mixture, and tell how it went."""
    mixture = IncompleteGaussianMixture(
        N_COMPONENTS,
        covariance_type=kind,  # type: ignore[arg-type]
        rank=RANK if kind == "factor" else None,
        reg_covar=floor,
        max_iter=max_iter,
        random_state=SEED,
    )
    told: dict[str, Any] = {"covariances": kind, "floor": floor, "n_rows": len(X)}
    start = time.process_time()
    try:
        mixture.fit(X)
    except ValueError as error:  # a component has collapsed
        told |= {"fitted": False, "why": str(error)}
    else:
        told |= {
            "fitted": True,
            "converged": bool(mixture.converged_),
            "n_iter": mixture.n_iter_,
            "log_likelihood": float(mixture.lower_bound_),
        }
    return {**told, "seconds": time.process_time() - start, "peak_mb": _peak()}


def _peak() -> float | None:
    """Return the most memory that this process has had so far, in megabytes."""
    if sys.platform == "win32":
        return None
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _reckon(X: np.ndarray, n_rows: Sequence[int]) -> dict[str, Any]:
    """Time one regression on all other pixels, and reckon up to all images and pixels.

    Twice: by a line through the times, and by the largest in proportion to the rows.
    """
    seconds = [_time_column(X[:n]) for n in n_rows]
    slope, start = np.polyfit(n_rows, seconds, 1)
    n_regressions = N_ROUNDS * int(np.isnan(X).any(0).sum())
    by_line = start + slope * len(X)
    by_share = seconds[-1] * len(X) / n_rows[-1]
    return {
        "n_rows": list(n_rows),
        "seconds": seconds,
        "n_rounds": N_ROUNDS,
        "n_regressions": n_regressions,
        "hours_by_line": float(by_line) * n_regressions / 3600,
        "hours_by_share": by_share * n_regressions / 3600,
    }


def _time_column(X: np.ndarray) -> float:
    """Return the seconds of a regression in chained equations."""
    holed = np.isnan(X)
    filled = np.where(holed, np.nanmean(X, axis=0), X).astype(np.float64)
    # The pixels with most to regress on: those that vary most.
    columns = np.argsort(filled.std(axis=0))[-N_REGRESSED:]
    without = _time_round(filled)
    filled[:, columns] = np.where(holed[:, columns], np.nan, filled[:, columns])
    return max(0.0, _time_round(filled) - without) / N_REGRESSED


def _time_round(X: np.ndarray) -> float:
    imputer = IterativeImputer(
        max_iter=1, sample_posterior=True, skip_complete=True, random_state=SEED
    )
    start = time.process_time()
    imputer.fit(X)
    return time.process_time() - start


EXPERIMENT = Experiment(
    name="claim-mnist",
    title="What EM and mice take on images from which a patch is removed",
    settings=(Setting("mnist"),),
    stand_ins=(Setting(DIGITS),),
    draw=draw_mnist,
    note="The paper says that mice can't construct imputations of MNIST, and that EM "
    "fails as covariances become singular. It means the packages of 2018.",
)
