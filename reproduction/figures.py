"""Figures of the paper and its supplement, as data to draw."""

import math
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lacunet.baselines import set_nested
from lacunet.density import GaussianMixtureDensity
from lacunet.functional import DiagComponents, condition
from lacunet.nn import ExpectedLinear
from reproduction.autoencoders import N_SHOWN
from reproduction.methods import make_model
from reproduction.protocols import TOY, load_images, load_table, split_rows
from reproduction.tables import (
    DIGITS,
    ERRORS,
    WITHOUT_SHORT,
    Budget,
    Drawing,
    Experiment,
    Job,
    Setting,
)

SEED = 0

# --- figure 2: digits, what was removed from them, and reconstructions

N_FIRST = 4  # images of the paper's own figure: the first of the supplement's 20


def draw_images(drawing: Drawing) -> dict[str, np.ndarray]:
    """Gather the reconstructions by the autoencoders of table 1.

    Returns
    -------
    dict of str to ndarray of shape (20, pixels)
        ``original``, ``masked`` (NaN where a patch is removed) and each method. The
        first four are those of the paper's own figure.
    """
    (setting,) = drawing.settings
    images = load_images(setting.dataset, SEED)
    shown = {"original": images.original_test, "masked": images.test}
    for method in drawing.methods:
        job = Job("table-1", setting.dataset, None, method, 0, SEED, drawing.protocol)
        path = path_of_images(drawing.folder, job)
        if path.exists():  # otherwise it has failed
            with np.load(path, allow_pickle=False) as file:
                shown[method] = file["images"]
    return {name: array[:N_SHOWN] for name, array in shown.items()}


def path_of_images(folder: Path, job: Job) -> Path:
    """Return where the reconstructions of a job are kept."""
    words = (job.protocol, job.dataset, job.method, str(job.seed))
    name = "_".join(re.sub(r"[^\w-]", "-", word) for word in words)
    return folder / f"{job.experiment}-images" / f"{name}.npz"


# --- gamma: the density of the missing coordinate of (*, -1) under two Gaussians

POINT = (math.nan, -1.0)
GAMMAS = (1e-6, 1.0, 1e3)  # to 0: conditional density; to infinity: marginal density
WEIGHTS = (0.5, 0.5)
MEANS = ((-1.5, -1.0), (1.5, 1.5))
VARIANCES = ((0.5, 0.5), (1.0, 0.6))
GRID = (-5.0, 6.0, 221)  # of the missing coordinate: first, last, number


def draw_gamma(drawing: Drawing | None = None) -> dict[str, Any]:
    """Compute the density of the missing coordinate for each gamma.

    Returns
    -------
    dict
        ``density[g][i]`` is that at ``x[i]`` under ``gammas[g]``, with
        ``component_weights[g]``.
    """
    dtype = torch.float64
    components = DiagComponents(
        torch.tensor(WEIGHTS, dtype=dtype).log(),
        torch.tensor(MEANS, dtype=dtype),
        torch.tensor(VARIANCES, dtype=dtype),
    )
    point = torch.tensor([POINT], dtype=dtype)
    weights = [condition(point, components, gamma=g).weights[0] for g in GAMMAS]
    x = torch.linspace(*GRID, dtype=dtype)
    normal = torch.distributions.Normal(
        components.means[:, :1], components.variances[:, :1].sqrt()
    )
    each = normal.log_prob(x).exp()  # (components, grid)
    return {
        "point": [None, POINT[1]],
        "weights": WEIGHTS,
        "means": MEANS,
        "variances": VARIANCES,
        "gammas": GAMMAS,
        "component_weights": [w.tolist() for w in weights],
        "x": x.tolist(),
        "density": [(w @ each).tolist() for w in weights],
    }


# --- the supplement's toy of a density that is learned by the network


def draw_density(drawing: Drawing) -> dict[str, Any]:
    """Compute the Gaussians before and after training, and the predictions.

    Returns
    -------
    dict
        Points with ``null`` for what is missing, their classes and whole coordinates,
        and for each method its Gaussians and predictions (``said``); of ``initial`` the
        density that ``paper`` starts from.
    """
    experiment = FIGURES["figure-density"]
    budget = experiment.budget(drawing.protocol, drawing.data)
    table = load_table(TOY, None, SEED, budget.n_rows)
    train, _ = split_rows(table, 0, SEED)
    found: dict[str, Any] = {
        "points": [
            [None if math.isnan(x) else x for x in row] for row in table.X.tolist()
        ],
        "complete": np.asarray(table.complete).tolist(),
        "classes": table.y.tolist(),
        "training": train.tolist(),
    }
    for method in ("initial", *drawing.methods):
        model = make_model(experiment, method.replace("initial", "paper"), SEED)
        set_nested(model, **budget.parameters)
        if method == "initial":
            model.set_params(train_density=False)
        model.fit(table.X[train], table.y[train])
        found[method] = {
            **{
                name: getattr(model.density_, name).tolist()
                for name in ("weights", "means", "variances")
            },
            "said": model.predict(table.X).tolist(),
        }
    return found


# --- the cost of the expected layer, as components and missing values grow in number

COMPONENTS = (1, 2, 3, 5, 10)
FRACTIONS = (0.0, 0.25, 0.5, 0.75, 0.9)


class Sizes(NamedTuple):
    """Sizes of what is timed."""

    batch: int
    features: int
    units: int
    repeats: int


SIZES = {
    "paper": Sizes(batch=1024, features=784, units=256, repeats=20),
    "quick": Sizes(batch=256, features=178, units=89, repeats=5),
}


def draw_cost(drawing: Drawing) -> dict[str, Any]:
    """Time the layer against an ordinary one on complete rows.

    Returns
    -------
    dict
        ``forward[k][s]`` and ``step[k][s]``, with gradients, are how many times longer
        it takes with ``components[k]`` and the fraction ``shares[s]`` of values
        missing; the seconds are those of the ordinary layer.
    """
    sizes = SIZES[drawing.protocol]
    generator = torch.Generator().manual_seed(SEED)
    rows = torch.randn(sizes.batch, sizes.features, generator=generator)
    draws = torch.rand(rows.shape, generator=generator)
    incomplete = [rows.masked_fill(draws < s, torch.nan) for s in FRACTIONS]
    plain = nn.Sequential(nn.Linear(sizes.features, sizes.units), nn.ReLU())
    found: dict[str, Any] = {
        "components": COMPONENTS,
        "shares": FRACTIONS,
        "sizes": sizes._asdict(),
    }
    for name, run in (("forward", _forward), ("step", _step)):
        seconds = _time(run, plain, rows, sizes.repeats)
        found[f"{name}_seconds"] = seconds
        found[name] = []
        for k in COMPONENTS:
            density = GaussianMixtureDensity(
                k, sizes.features, generator=torch.Generator().manual_seed(SEED)
            )
            layer = ExpectedLinear(sizes.features, sizes.units, density)
            times = [_time(run, layer, x, sizes.repeats) for x in incomplete]
            found[name].append([each / seconds for each in times])
    return found


@torch.no_grad()
def _forward(layer: nn.Module, rows: Tensor) -> None:
    layer(rows)


def _step(layer: nn.Module, rows: Tensor) -> None:
    layer.zero_grad()
    layer(rows).sum().backward()


def _time(
    run: Callable[[nn.Module, Tensor], None],
    layer: nn.Module,
    rows: Tensor,
    repeats: int,
) -> float:
    """Return the median of the seconds that a run takes, after one to warm up."""
    run(layer, rows)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(layer, rows)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# --- all of them

_FIGURES = (
    Experiment(
        name="figure-2",
        title="Digits, what is left of them, and what the autoencoders give back",
        settings=(Setting("mnist"),),
        stand_ins=(Setting(DIGITS),),
        methods=WITHOUT_SHORT,
        metrics=ERRORS,
        body="autoencoder",
        cross_validated=False,
        draw=draw_images,
        cells_of="table-1",
        note="The autoencoders are those of table 1.",
    ),
    Experiment(
        name="figure-gamma",
        title="The density of the missing coordinate of (*, -1) for gamma to 0, 1 and "
        "to infinity",
        draw=draw_gamma,
        note="The paper does not give its two Gaussians; these are ours.",
    ),
    Experiment(
        name="figure-density",
        title="A density that is learned with the network, against one that EM has "
        "found",
        settings=(Setting(TOY),),
        stand_ins=(Setting(TOY),),
        methods=("paper", "em-frozen", "em-joint"),
        cross_validated=False,
        parameters={
            "n_components": 2,
            "hidden_layer_sizes": (16,),
            "activation": "relu",
            "dropout": 0.0,
            "n_networks": 1,
            "scale": "none",
            "lr": 0.01,
        },
        budgets={
            "paper": Budget({"max_epochs": 200}, n_rows=1000, n_seeds=20),
            "quick": Budget({"max_epochs": 50}, n_rows=400),
        },
        draw=draw_density,
        note="Four Gaussians, two classes; an attribute is missing from half of the "
        "points with x1 < 0. The paper shows the figure for one run and gives no "
        "accuracy.",
    ),
    Experiment(
        name="figure-cost",
        title="Time of the expected layer, in times of an ordinary one on complete "
        "rows",
        draw=draw_cost,
        note="The supplement says about 2k times, for k components. One core.",
    ),
)
FIGURES = {figure.name: figure for figure in _FIGURES}
