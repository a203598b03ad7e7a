"""The supplement's toy of a density that is learned by the network."""

from typing import Any

import numpy as np

from lacunet.baselines import set_nested
from reproduction.experiments._columns import make_model
from reproduction.experiments._protocols import split_rows
from reproduction.experiments._record import Budget, Drawing, Experiment, Setting
from reproduction.experiments._sources import load_table
from reproduction.experiments._toy import TOY

SEED = 0
METHODS = ("paper", "em-frozen", "em-joint")


def draw_density(drawing: Drawing) -> dict[str, Any]:
    """Compute the Gaussians before and after training, and who is told to be what.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict
        Points with ``null`` for what is missing, their classes and whole coordinates,
        and for each method its Gaussians and predictions; of ``initial`` the density
        that ``paper`` starts from.
    """
    budget = EXPERIMENT.budget(drawing.protocol, drawing.data)
    table = load_table(TOY, None, SEED, budget.n_rows)
    train = split_rows(table.y, None, 0, SEED, shuffle=True).train
    told: dict[str, Any] = {
        "points": _with_null(table.X),
        "complete": np.asarray(table.complete).tolist(),
        "classes": table.y.tolist(),
        "training": train.tolist(),
    }
    for method in ("initial", *drawing.methods):
        model = make_model(EXPERIMENT, method.replace("initial", "paper"), SEED)
        set_nested(model, **budget.parameters)
        if method == "initial":
            model.set_params(train_density=False)
        model.fit(table.X[train], table.y[train])
        told[method] = {**_gaussians(model), "said": model.predict(table.X).tolist()}
    return told


def _with_null(X: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(x) else float(x) for x in row] for row in X]


def _gaussians(model: Any) -> dict[str, Any]:
    density = model.density_
    return {
        name: getattr(density, name).tolist()
        for name in ("weights", "means", "variances")
    }


EXPERIMENT = Experiment(
    name="figure-density",
    title="A density that is learned with the network, against one that EM has found",
    settings=(Setting(TOY),),
    stand_ins=(Setting(TOY),),
    methods=METHODS,
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
    note="Four Gaussians, two classes; an attribute is missing from half of the points "
    "with x1 < 0. The paper shows the figure for one run and gives no accuracy.",
)
