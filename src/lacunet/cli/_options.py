"""The options that several commands have, and what is made of them."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from lacunet._output import STANDARD
from lacunet.cli._terminal import Terminal

_MOST_CORES = 8
_MULTIPLE = "May be given several times."


def split_names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Return the names of a text that has commas between them."""
    if value is None:
        return None
    names = tuple(part.strip() for part in value.split(",") if part.strip())
    if not names:
        msg = f"Got {value!r}, but expected names, as in a,b."
        raise click.BadParameter(msg, context, parameter)
    return names


def _count_cores() -> int:
    from joblib import cpu_count  # type: ignore[import-untyped]

    return min(int(cpu_count()), _MOST_CORES)


class _PageType(click.Path):
    """A file that a page is written to: not standard output, which has the text."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if str(value) == STANDARD:
            self.fail("A page can't go to standard output: name a file.", param, ctx)
        return super().convert(value, param, ctx)


def sizes(value: str) -> tuple[int, ...]:
    """Return the integers of a text that has commas between them."""
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError as error:
        msg = f"Got {value!r}, but expected numbers, as in 64,64."
        raise click.BadParameter(msg) from error


page_type = _PageType()
table_argument = click.argument(
    "table", type=click.Path(allow_dash=True, path_type=str)
)
target_option = click.option(
    "--target", required=True, metavar="NAME", help="The column to predict."
)
task_option = click.option(
    "--task",
    type=click.Choice(("classification", "regression")),
    help="Predict a class or a number.  [default: by the target]",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random numbers."
)
force_option = click.option(
    "--force", is_flag=True, help="Replace files that exist already."
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=_count_cores,
    show_default=f"one for each core, at most {_MOST_CORES}",
    help="Number of processes, one core each.",
)
READING: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "--missing": {
            "multiple": True,
            "metavar": "TEXT",
            "help": f"A cell that means missing, beside the usual ones. {_MULTIPLE}",
        },
        "--no-usual-missing": {
            "is_flag": True,
            "help": "In CSV files only an empty cell means missing, not NA, ?, - and "
            "the like.",
        },
        "--drop": {
            "multiple": True,
            "metavar": "NAME",
            "help": f"A column to leave out. {_MULTIPLE}",
        },
        "--categorical": {
            "multiple": True,
            "metavar": "NAME",
            "help": f"A column of categories, even if it looks numeric. {_MULTIPLE}",
        },
        "--sep": {"help": "Separator between cells.  [default: detected]"},
        "--encoding": {
            "help": "Such as latin-1.  [default: UTF-8, or by the byte order mark]"
        },
    }
)
_FRACTION = click.FloatRange(0, 1, max_open=True)
_COUNT = click.IntRange(min=1)
_AT_LEAST_ZERO = click.FloatRange(0)
# Types and help of parameters of the estimators.
FLAGS: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "--n-networks": (_COUNT, "Number of networks whose predictions are averaged."),
        "--hidden-layer-sizes": (sizes, "Units of each layer, such as 64,64."),
        "--activation": (str, "Activation function, such as relu, gelu or tanh."),
        "--dropout": (_FRACTION, "Dropout rate between layers."),
        "--max-epochs": (_COUNT, "Maximum number of epochs."),
        "--batch-size": (_COUNT, "Rows per training step."),
        "--lr": (click.FloatRange(0, min_open=True), "Learning rate."),
        "--weight-decay": (_AT_LEAST_ZERO, "Weight decay of the networks."),
        "--validation-fraction": (
            click.FloatRange(0, 1, min_open=True, max_open=True),
            "Fraction of rows used for early stopping.",
        ),
        "--density": (
            click.Choice(("auto", "diag", "factor", "full")),
            "Covariances of the Gaussian mixture.",
        ),
        "--n-components": (_COUNT, "Components of the mixture; needs --density."),
        "--gamma": (_AT_LEAST_ZERO, "Initial variance of noise on observed values."),
        "--density-loss-weight": (
            _AT_LEAST_ZERO,
            "Weight of the density's likelihood in the loss.",
        ),
        "--indicator": (
            click.Choice(("auto", "yes", "no")),
            "Add missingness indicator columns.",
        ),
        "--mask-augmentation": (
            _FRACTION,
            "Mean fraction of observed values hidden in training.",
        ),
        "--max-categories": (
            click.IntRange(min=2),
            "Maximum number of categories of a column; the rarest are pooled.",
        ),
        "--scale": (
            click.Choice(("standard", "robust", "quantile", "none")),
            "Scaling of numeric columns.",
        ),
        "--propagate": (
            click.Choice(("expectation", "sample")),
            "Predict from the expected first layer, or from draws of what is missing.",
        ),
        "--class-weight": (
            click.Choice(("balanced",)),
            "Weight classes inversely to their frequency.",
        ),
        "--device": (
            click.Choice(("cpu", "cuda", "mps", "auto")),
            "Device to train on.",
        ),
    }
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading a table, passed to the command as ``reading``."""

    def build(chosen: dict[str, Any]) -> Any:
        from lacunet.tables import ReadOptions

        usual = not chosen.pop("no_usual_missing")
        return ReadOptions(**chosen, usual_missing=usual)

    return _gathered(command, "reading", READING, build)


def estimator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add parameters of the estimators; those given are passed as ``parameters``."""

    def build(chosen: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in chosen.items() if value is not None}

    options = {
        name: {"type": type_, "help": text} for name, (type_, text) in FLAGS.items()
    }
    return _gathered(command, "parameters", options, build)


def _gathered(
    command: Callable[..., Any],
    argument: str,
    options: Mapping[str, Mapping[str, Any]],
    build: Callable[[dict[str, Any]], Any],
) -> Callable[..., Any]:
    """Add options that a command gets as one argument, built from their values."""
    fields = [name.removeprefix("--").replace("-", "_") for name in options]

    @functools.wraps(command)
    def call(*given: Any, **values: Any) -> Any:
        chosen = {field: values.pop(field) for field in fields}
        return command(*given, **{argument: build(chosen)}, **values)

    decorated: Callable[..., Any] = call
    for name, settings in reversed(list(options.items())):
        decorated = click.option(name, **settings)(decorated)
    return decorated


def make_estimator(task: str, parameters: Mapping[str, Any], **fixed: Any) -> Any:
    """Return an estimator with the parameters of ``estimator_options``."""
    from lacunet import (
        IncompleteGaussianMixture,
        LacunetClassifier,
        LacunetRegressor,
    )

    rest = dict(parameters)
    density: Any = rest.pop("density", "auto")
    size = {name: rest.pop(name) for name in ("n_components",) if name in rest}
    if density != "auto":
        density = IncompleteGaussianMixture(covariance_type=density, **size)
    elif size:
        msg = (
            f"Got --n-components {size['n_components']} for a density that is chosen "
            f"automatically. Add --density diag, factor or full."
        )
        raise click.UsageError(msg)
    if "indicator" in rest:
        rest["indicator"] = {"yes": True, "no": False}.get(rest["indicator"], "auto")
    if task == "regression" and "class_weight" in rest:
        msg = "Got --class-weight for a regression, but there are no classes."
        raise click.UsageError(msg)
    make = LacunetClassifier if task == "classification" else LacunetRegressor
    return make(density=density, **rest, **fixed)


def check_output(terminal: Terminal, output: str) -> None:
    """Refuse two results on standard output."""
    if terminal.as_json and output == STANDARD:
        msg = "Got --json and a table on standard output. Name a file with -o."
        raise click.UsageError(msg)


def silence(model: Any) -> Any:
    """Turn off the warning of unseen missing values, which is for users of Python."""
    if model.on_unseen_missing == "warn":
        model.set_params(on_unseen_missing="use")
    return model
