"""Expected layers against nn.Linear or nn.Conv2d and ReLU on the filled batch."""

import copy
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.ndimage import zoom
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.em import clustered_rows
from benchmarks.exact import exact_layer
from benchmarks.table import Row
from benchmarks.timing import CPU, Effort, threads, time_in_turn
from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture
from lacunet.missingness import drop_patch, drop_values
from lacunet.nn import ExpectedConv2d, ExpectedLinear

ITERATIONS = 20  # of EM, after which components have separated


@dataclass(frozen=True)
class Case:
    """A batch with missing values, the density of its data, and what to reach."""

    name: str
    x: Tensor  # (batch, features) or (batch, channels, height, width)
    density: GaussianMixtureDensity
    units: int
    bound: float


def layer_cases(*, quick: bool = False) -> Iterator[Case]:
    """Yield the cases of the table; the first is the memory case too."""
    smaller = 32 if quick else 1
    batch, quarter, few = 1024 // smaller, 256 // smaller, 64 // smaller

    # Digits, enlarged to the size of those of MNIST.
    images = np.random.RandomState(0).permutation(load_digits().images)
    images = images[: len(images) // smaller]
    pixels = zoom(images, (1, 3.5, 3.5), order=1).reshape(len(images), -1)
    pixels = StandardScaler().fit_transform(pixels)
    patched = drop_patch(pixels, 13, random_state=0)
    x, complete = as_batch(patched[:batch]), as_batch(pixels[:batch])
    one_in_50 = complete.clone()
    one_in_50[::50] = x[::50]
    density = fit_density(patched, 5)
    frozen = copy.deepcopy(density).set_trainable(False)
    name = f"784->256 diag k=5, batch {batch}"
    yield Case(f"{name}, 13x13 patch", x, density, 256, 6.0)
    yield Case(f"{name}, 13x13 patch, frozen density", x, frozen, 256, 4.0)
    yield Case(f"{name}, complete", complete, density, 256, 1.1)
    yield Case(f"{name}, 1 row in 50 incomplete", one_in_50, density, 256, 1.6)

    # Breast cancer, each row twice, with other values missing.
    table = StandardScaler().fit_transform(load_breast_cancer().data)
    table = np.random.RandomState(0).permutation(np.tile(table, (2, 1)))
    table = drop_values(table, 0.2, random_state=0)
    diag = fit_density(table, 3)
    factor = fit_density(table, 3, covariance_type="factor", rank=5)
    for kind, density, size, bound in (
        ("diag", diag, quarter, 8.0),
        ("diag", diag, batch, 8.0),
        ("factor rank 5", factor, quarter, 20.0),
        ("factor rank 5", factor, batch, 25.0),
    ):
        name = f"30->64 {kind} k=3, 20% missing, batch {size}"
        yield Case(name, as_batch(table[:size]), density, 64, bound)

    # Clusters that overlap about as much as those of the table above.
    rows = clustered_rows(4096 // smaller, 50, 3, np.random.RandomState(0), 0.35)
    rows = drop_values(rows, 0.2, random_state=0)
    density = fit_density(rows, 3, covariance_type="full")
    name = f"50->64 full k=3, 20% missing, batch {quarter}"
    yield Case(name, as_batch(rows[:quarter]), density, 64, 110.0)

    # Digits in colours, channels last until they have lost their patches.
    colours = np.random.RandomState(0).uniform(0.3, 1.0, (len(images), 1, 1, 3))
    pixels = (zoom(images, (1, 4, 4), order=1)[..., None] * colours).reshape(
        len(images), -1
    )
    pixels = StandardScaler().fit_transform(pixels).reshape(-1, 32, 32, 3)
    pixels = drop_patch(pixels, 13, random_state=0).transpose(0, 3, 1, 2)
    density = fit_density(pixels.reshape(len(pixels), -1), 5)
    name = f"conv 3x32x32, 32 channels, 3x3, diag k=5, batch {few}, 13x13 patch"
    yield Case(name, as_batch(pixels[:few]), density, 32, 18.0)


def as_batch(X: np.ndarray) -> Tensor:
    return torch.tensor(X, dtype=torch.float32)


def fit_density(
    X: np.ndarray, n_components: int, **options: Any
) -> GaussianMixtureDensity:
    """Fit a mixture to incomplete rows, as far as it comes in a few iterations."""
    mixture = IncompleteGaussianMixture(
        n_components, max_iter=ITERATIONS, random_state=0, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(X)
    return GaussianMixtureDensity.from_estimator(mixture)


def passes(case: Case) -> tuple[dict[str, Callable[[], None]], float]:
    """Return one forward and backward pass each way, and the error of pruning.

    All have the same batch and weights; it refuses to time different things.
    """
    x, density = case.x, case.density
    sizes = (x.shape[1], case.units)

    def make(**prune: float) -> ExpectedLinear | ExpectedConv2d:
        options: dict[str, Any] = {"generator": torch.Generator().manual_seed(1)}
        if x.ndim == 2:
            return ExpectedLinear(*sizes, density, **options, **prune)
        options |= {"kernel_size": 3, "padding": 1}
        return ExpectedConv2d(*sizes, density, **options, **prune)

    pruned, exact = make(), make(prune=0.0)
    linear = nn.Linear(*sizes) if x.ndim == 2 else nn.Conv2d(*sizes, 3, padding=1)
    linear.load_state_dict({"weight": pruned.weight, "bias": pruned.bias})
    plain, filled = nn.Sequential(linear, nn.ReLU()), torch.nan_to_num(x)
    with torch.no_grad():
        ours, reference, old = pruned(x), exact(x), exact_layer(exact, x)
    torch.testing.assert_close(old, reference, atol=1e-3, rtol=1e-3)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(2))

    def one_pass(module: nn.Module, forward: Callable[[], Tensor]) -> None:
        forward().backward(upstream)
        module.zero_grad()  # so that every pass starts without gradients

    calls = {
        "ours": lambda: one_pass(pruned, lambda: pruned(x)),
        "exact": lambda: one_pass(exact, lambda: exact(x)),
        "old": lambda: one_pass(exact, lambda: exact_layer(exact, x)),
        "plain": lambda: one_pass(plain, lambda: plain(filled)),
    }
    return calls, float((ours - reference).abs().max() / reference.abs().max())


def measure_speed(case: Case, effort: Effort) -> Row:
    """Time the passes of a case in turn, a plain one before each of the others."""
    calls, error = passes(case)
    ways = ("ours", "exact", "old")
    in_turn = {
        name: calls[name.partition(" ")[0]]
        for way in ways
        for name in (f"plain before {way}", way)
    }
    with threads(1):
        samples = time_in_turn(in_turn, CPU, effort)
    ours, exact, old = (1e3 * median(samples[way]) for way in ways)
    plain = 1e3 * median(t for way in ways for t in samples[f"plain before {way}"])
    with torch.no_grad():
        kept = case.density.condition(case.x.flatten(1)).weights > 1e-3
    return Row(
        case=case.name,
        unit="ms",
        ours=ours,
        reference=plain,
        bound=case.bound,
        repetitions=len(samples["ours"]),
        exact=exact / plain,
        old=old / plain,
        error=error,
        components=float(kept.sum(1).double().mean()),
    )


def measure_memory(case: Case) -> Row:
    """Follow one pass of a case to its peak."""
    calls, _ = passes(case)
    peaks = {way: peak_bytes(call) / 4e6 for way, call in calls.items()}
    (batch, features), n_components = case.x.shape, case.density.n_components
    return Row(
        case="peak extra memory of the first case",
        unit="Mfloats",
        ours=peaks["ours"],
        reference=None,
        bound=8e-6 * n_components * case.units * (batch + features),
        repetitions=1,
        exact=peaks["exact"],
        old=peaks["old"],
        details={"plain layer, Mfloats": peaks["plain"]},
    )


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the most memory of torch that ``call`` held at once.

    Exact: every allocation and release of torch's allocator is an event of the
    profiler, and their running sum is followed. Work space inside the matrix products
    of the BLAS library is not torch's and is not seen.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        record.export_chrome_trace(str(path))
        trace = json.loads(path.read_text("utf-8"))["traceEvents"]
    events = [event for event in trace if event.get("name") == "[memory]"]
    events.sort(key=lambda event: event["ts"])
    held = peak = 0
    for event in events:
        held += event["args"]["Bytes"]
        peak = max(peak, held)
    return peak
