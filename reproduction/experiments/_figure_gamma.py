"""The supplement's figure of gamma: what is thought of (*, -1) under two Gaussians."""

import math
from typing import Any

import torch

from lacunet.functional import DiagComponents, condition
from reproduction.experiments._record import Drawing, Experiment

POINT = (math.nan, -1.0)
GAMMAS = (1e-6, 1.0, 1e3)  # to 0: conditional density; to infinity: marginal density
WEIGHTS = (0.5, 0.5)
MEANS = ((-1.5, -1.0), (1.5, 1.5))
VARIANCES = ((0.5, 0.5), (1.0, 0.6))
# Of the missing coordinate: first, last, number.
GRID = (-5.0, 6.0, 221)


def draw_gamma(drawing: Drawing) -> dict[str, Any]:
    """Compute the density of the missing coordinate for each gamma.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict
        ``density[g][i]`` is that at ``x[i]`` under ``gammas[g]``, with
        ``component_weights[g]``.
    """
    kind = torch.float64
    components = DiagComponents(
        torch.tensor(WEIGHTS, dtype=kind).log(),
        torch.tensor(MEANS, dtype=kind),
        torch.tensor(VARIANCES, dtype=kind),
    )
    x = torch.linspace(*GRID, dtype=kind)
    weights = [_component_weights(components, gamma) for gamma in GAMMAS]
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


def _component_weights(components: DiagComponents, gamma: float) -> torch.Tensor:
    point = torch.tensor([POINT], dtype=torch.float64)
    return condition(point, components, gamma=gamma).weights[0]


EXPERIMENT = Experiment(
    name="figure-gamma",
    title="The density of the missing coordinate of (*, -1) for gamma to 0, 1 and to "
    "infinity",
    draw=draw_gamma,
    note="The paper does not give its two Gaussians; these are ours.",
)
