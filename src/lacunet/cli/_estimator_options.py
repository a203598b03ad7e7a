"""Parameters of the estimators as options of a command."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click


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


class _Flag(NamedTuple):
    name: str
    type: Any
    text: str
    read: Any = None


_YES_NO_AUTO = click.Choice(("auto", "yes", "no"))
FLAGS = (
    _Flag("--n-networks", click.IntRange(min=1), "Networks that are averaged."),
    _Flag("--hidden-layer-sizes", str, "Such as 64,64.", _sizes),
    _Flag("--activation", str, "Such as relu, gelu, tanh."),
    _Flag("--dropout", click.FloatRange(0, 1, max_open=True), "Between layers."),
    _Flag("--max-epochs", click.IntRange(min=1), "At most so many passes."),
    _Flag("--batch-size", click.IntRange(min=1), "Rows of a step."),
    _Flag("--lr", click.FloatRange(0, min_open=True), "Learning rate."),
    _Flag("--weight-decay", click.FloatRange(0), "Of the networks."),
    _Flag(
        "--validation-fraction",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        "Share of rows that training is stopped by.",
    ),
    _Flag(
        "--density",
        click.Choice(("auto", "diag", "factor", "full")),
        "Covariances of the mixture.",
    ),
    _Flag("--n-components", click.IntRange(min=1), "Of the mixture; not of auto."),
    _Flag("--gamma", click.FloatRange(0), "How far the density of a row may spread."),
    _Flag("--density-loss-weight", click.FloatRange(0), "Of the likelihood."),
    _Flag("--indicator", _YES_NO_AUTO, "Columns that say what is missing."),
    _Flag(
        "--mask-augmentation",
        click.FloatRange(0, 1, max_open=True),
        "Share of values hidden in training.",
    ),
    _Flag("--max-categories", click.IntRange(min=2), "Levels of a category."),
    _Flag(
        "--scale",
        click.Choice(("standard", "robust", "quantile", "none")),
        "How numbers are scaled.",
    ),
    _Flag(
        "--propagate",
        click.Choice(("expectation", "sample")),
        "What goes on behind the first layer.",
    ),
    _Flag("--class-weight", click.Choice(("balanced",)), "Of classes."),
    _Flag("--device", click.Choice(("cpu", "cuda", "mps", "auto")), "To train on."),
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

    @functools.wraps(command)
    def gather(*given: Any, **options: Any) -> Any:
        fields = [flag.name.removeprefix("--").replace("-", "_") for flag in FLAGS]
        chosen = {field: options.pop(field) for field in fields}
        parameters = {
            name: value for name, value in chosen.items() if value is not None
        }
        return command(*given, parameters=parameters, **options)

    decorated: Callable[..., Any] = gather
    for flag in reversed(FLAGS):
        decorated = click.option(
            flag.name, type=flag.type, callback=flag.read, help=flag.text
        )(decorated)
    return decorated


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
