"""Parameters of the estimators as options of a command."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import click

from lacunet.cli._options import gathered


def _sizes(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError as error:
        msg = f"Got {value!r}, but expected numbers, as in 64,64."
        raise click.BadParameter(msg, context, parameter) from error


_SHARE = click.FloatRange(0, 1, max_open=True)
_COUNT = click.IntRange(min=1)
_POSITIVE = click.FloatRange(0, min_open=True)
_AT_LEAST_ZERO = click.FloatRange(0)
FLAGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "--n-networks": {"type": _COUNT, "help": "Networks that are averaged."},
        "--hidden-layer-sizes": {"callback": _sizes, "help": "Such as 64,64."},
        "--activation": {"help": "Such as relu, gelu, tanh."},
        "--dropout": {"type": _SHARE, "help": "Between layers."},
        "--max-epochs": {"type": _COUNT, "help": "At most so many passes."},
        "--batch-size": {"type": _COUNT, "help": "Rows of a step."},
        "--lr": {"type": _POSITIVE, "help": "Learning rate."},
        "--weight-decay": {"type": _AT_LEAST_ZERO, "help": "Of the networks."},
        "--validation-fraction": {
            "type": click.FloatRange(0, 1, min_open=True, max_open=True),
            "help": "Share of rows that training is stopped by.",
        },
        "--density": {
            "type": click.Choice(("auto", "diag", "factor", "full")),
            "help": "Covariances of the mixture.",
        },
        "--n-components": {"type": _COUNT, "help": "Of the mixture; not of auto."},
        "--gamma": {
            "type": _AT_LEAST_ZERO,
            "help": "How far the density of a row may spread.",
        },
        "--density-loss-weight": {
            "type": _AT_LEAST_ZERO,
            "help": "Of the likelihood in the loss.",
        },
        "--indicator": {
            "type": click.Choice(("auto", "yes", "no")),
            "help": "Columns that say what is missing.",
        },
        "--mask-augmentation": {
            "type": _SHARE,
            "help": "Share of values hidden in training.",
        },
        "--max-categories": {
            "type": click.IntRange(min=2),
            "help": "Levels of a category.",
        },
        "--scale": {
            "type": click.Choice(("standard", "robust", "quantile", "none")),
            "help": "How numbers are scaled.",
        },
        "--propagate": {
            "type": click.Choice(("expectation", "sample")),
            "help": "What goes on behind the first layer.",
        },
        "--class-weight": {
            "type": click.Choice(("balanced",)),
            "help": "Whether all classes weigh the same.",
        },
        "--device": {
            "type": click.Choice(("cpu", "cuda", "mps", "auto")),
            "help": "To train on.",
        },
    }
)
_MIXTURE = ("density", "n_components")


def estimator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add parameters of the estimators; a command gets those given as ``parameters``.

    Parameters
    ----------
    command : callable

    Returns
    -------
    callable
    """

    def build(chosen: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in chosen.items() if value is not None}

    return gathered(command, "parameters", FLAGS, build)


def make_estimator(task: str, parameters: Mapping[str, Any], **fixed: Any) -> Any:
    """Return an estimator with the parameters that were given.

    Parameters
    ----------
    task : {"classification", "regression"}
    parameters : mapping
        As ``estimator_options`` gathers them.
    **fixed : dict
        Other parameters of the estimator.

    Returns
    -------
    LacunetClassifier or LacunetRegressor
    """
    from lacunet import LacunetClassifier, LacunetRegressor

    rest = {key: value for key, value in parameters.items() if key not in _MIXTURE}
    if "indicator" in rest:
        rest["indicator"] = {"yes": True, "no": False}.get(rest["indicator"], "auto")
    if task == "regression" and "class_weight" in rest:
        msg = "Got --class-weight for a regression, but there are no classes."
        raise click.UsageError(msg)
    make = LacunetClassifier if task == "classification" else LacunetRegressor
    return make(density=_make_density(parameters), **rest, **fixed)


def _make_density(parameters: Mapping[str, Any]) -> Any:
    kind = parameters.get("density", "auto")
    n_components = parameters.get("n_components")
    if kind == "auto" and n_components is None:
        return "auto"
    if kind == "auto":
        msg = (
            f"Got --n-components {n_components} for a density that is chosen by "
            f"itself. Give --density diag, factor or full, too."
        )
        raise click.UsageError(msg)
    from lacunet import IncompleteGaussianMixture

    size = {} if n_components is None else {"n_components": n_components}
    return IncompleteGaussianMixture(covariance_type=kind, **size)
