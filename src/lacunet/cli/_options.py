"""How a command is made of a function, and the options that several commands have."""

import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click import Choice, FloatRange, IntRange

from lacunet._output import STANDARD, check_folder
from lacunet.cli._terminal import Terminal

_PARQUET = (".parquet", ".parq", ".pq")
_READ_BY = {
    ".xlsx": "read_excel({!r})",
    ".feather": "read_feather({!r})",
    ".arrow": "read_feather({!r})",
    ".jsonl": "read_json({!r}, lines=True)",
}
_EXAMPLES = "\n\nExamples\n--------\n"


def command(short_help: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function that gets a ``Terminal``; its docstring is the help.

    The examples of the docstring are printed below the options. Before the function is
    called, and anything heavy imported, the files that its arguments name are checked.
    An argument ``reading`` stands for the options for reading a table, and
    ``parameters`` for those of the estimators that are given.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        text, _, examples = (inspect.getdoc(function) or "").partition(_EXAMPLES)
        epilog = f"\b\nExamples:\n{textwrap.indent(examples, '  ')}"
        make = click.command(help=text, epilog=epilog, short_help=short_help)
        arguments = inspect.signature(function).parameters

        @functools.wraps(function)
        def run(terminal: Terminal, **values: Any) -> Any:
            _check_files(terminal, values)
            if "parameters" in arguments:
                values["parameters"] = _gather(values, FLAGS)
            if "reading" in arguments:
                from lacunet.tables import ReadOptions

                given = _gather(values, READING)
                usual = not given.pop("no_usual_missing")
                header = given.pop("header", "first") == "first"
                given |= {"usual_missing": usual, "header": header}
                values["reading"] = ReadOptions(**given)
            return function(terminal, **values)

        made = make(click.pass_obj(run))
        for name, rows in (("reading", READING), ("parameters", FLAGS)):
            if name in arguments:
                made.params += [click.Option([k], **_settings(*rows[k])) for k in rows]
        made.params += COMMON
        return made

    return decorate


def _gather(values: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the values of some options, and return those that are given."""
    fields = [name.removeprefix("--").replace("-", "_") for name in options]
    found = {field: values.pop(field) for field in fields}
    return {field: value for field, value in found.items() if value is not None}


def _settings(
    of: Any, text: str, default: Any = None, metavar: str | None = None
) -> dict[str, Any]:
    """Return the settings of an option: its type or choices, its help, its default.

    ``bool`` is a flag, and what is of type ``list`` may be given several times.
    """
    settings: dict[str, Any] = {"help": text, "metavar": metavar}
    if of is list:
        text += " May be given several times."
        settings |= {"help": text, "multiple": True, "metavar": metavar or "NAME"}
    elif of is bool:
        settings |= {"is_flag": True}
    else:
        settings |= {"type": Choice(of) if isinstance(of, tuple) else of}
    if default is not None:
        settings |= {"default": default, "show_default": True}
    return settings


def option(names: str, *row: Any, **more: Any) -> Callable[..., Any]:
    """Return an option of a command; a row has a type, the help and a default."""
    return click.option(*names.split(), **_settings(*row) | more)


def _set(context: click.Context, option: click.Parameter, value: bool) -> None:
    """Set what is asked for, before the name of the command or behind it."""
    terminal = context.ensure_object(Terminal)
    if value and option.name:
        setattr(terminal, option.name, True)


# The options that all commands have.
_SET: Any = {"is_eager": True, "expose_value": False, "callback": _set}
COMMON = [
    click.Option(names.split(), **_settings(bool, text), **_SET)
    for names, text in (
        ("--quiet", "Print nothing but errors and warnings."),
        ("--json as_json", "Print the result as JSON, for scripts."),
        ("--debug", "Show errors with their traceback."),
    )
]


def _check_files(terminal: Terminal, values: Mapping[str, Any]) -> None:
    """Check what is read and written, as far as the names of files go."""
    output, report = values.get("output"), values.get("report")
    if values.get("ray_address") is not None and not values["workers"]:
        msg = "Got --ray-address, but expected --workers with it, 1 or more."
        raise click.UsageError(msg)
    if output == STANDARD and terminal.as_json and not values.get("sensitivity"):
        msg = "Got --json and a table on standard output. Name a file with -o."
        raise click.UsageError(msg)
    if Path(STANDARD) in (output, report):  # which has the text
        msg = "A page or a model can't go to standard output: name a file."
        raise click.UsageError(msg)
    model, table = values.get("model"), values.get("table", STANDARD)
    if model is not None and not (Path(model) / "model.json").is_file():
        wrong = "has no model.json" if Path(model).is_dir() else "is no folder"
        msg = (
            f"Got a model {model!r}, which {wrong}, but expected a folder that "
            f"`lacunet fit` has written."
        )
        raise click.ClickException(msg)
    # Patterns, standard input and addresses are left to those who open them.
    special = table == STANDARD or re.search(r"[*?\[]|://", table)
    if not special and not Path(table).exists():
        msg = f"Got a table {table!r}, but there is no such file."
        raise click.ClickException(msg)
    for path in (output, report):
        if path == output and "keep" in values and is_folder(path, values["workers"]):
            continue  # it may have files of other names
        if path is not None and not values.get("draws"):  # which have other names
            check_free(path, force=values.get("force", False))


def check_free(path: str | Path, *, force: bool) -> None:
    """Refuse to write over a file unless by force, and where one can't write."""
    target = Path(path)
    if str(path) == STANDARD:
        return
    if target.exists():
        if not target.is_file() and not target.is_dir():
            return  # a pipe or a device
        if not force:
            msg = f"{path} exists already. Replace it with --force, or name another."
            raise click.ClickException(msg)
    check_folder(target.parent, n_bytes=2**20)


def sizes(value: str) -> tuple[int, ...]:
    """Return the integers of a text that has commas between them."""
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError as error:
        msg = f"Got {value!r}, but expected numbers, as in 64,64."
        raise click.BadParameter(msg) from error


PATH = click.Path()
FILE = click.Path(dir_okay=False, path_type=Path)
model = click.argument("model", type=PATH)
table = click.argument("table", type=click.Path(allow_dash=True, path_type=str))
target = option(
    "--target", str, "The column to predict.", required=True, metavar="NAME"
)
_TASKS = ("classification", "regression")
task = option(
    "--task", _TASKS, "Predict a class or a number.  [default: by the target]"
)
page = option("-o --output", FILE, "Also write a page, in HTML.")
seed = option("--seed", int, "Seed of the random numbers.", 0)
force = option("--force", bool, "Replace files that exist already.")


def is_folder(output: Any, workers: int | None) -> bool:
    """Return whether an output is a folder of Parquet files."""
    path = str(output)
    return workers is not None or path.endswith(("/", os.sep)) or Path(path).is_dir()


def table_output(text: str, *, dir_okay: bool = False) -> Callable[..., Any]:
    """Return the option for a table that is written."""
    path = click.Path(dir_okay=dir_okay, allow_dash=True, path_type=str)
    text += "  [default: -, standard output]"
    return option("-o --output", path, text, STANDARD, show_default=False)


workers = option(
    "--workers",
    IntRange(min=0),
    "Processes of Ray to read Parquet in pieces; 0 is this process, without Ray.",
)
ray_address = option(
    "--ray-address", str, "A Ray cluster that is running.  [default: a local one]"
)
skip_bad_files = option(
    "--skip-bad-files",
    bool,
    "Leave out Parquet files that can't be used, and list them.",
)


def is_parquet(table: str) -> bool:
    """Return whether a table is Parquet: a file by its first bytes, others by name."""
    if Path(table).is_file():
        with Path(table).open("rb") as stream:
            return table.lower().endswith(_PARQUET) or stream.read(4) == b"PAR1"
    return Path(table).is_dir() or Path(table).suffix.lower() in ("", *_PARQUET)


def check_parquet(table: str, option: str) -> None:
    """Refuse other formats, and show how they become Parquet."""
    if table != STANDARD and is_parquet(table):
        return
    msg = f"Got {option} and {table!r}, but expected Parquet. "
    if Path(table).is_file():
        read = _READ_BY.get(Path(table).suffix.lower(), "read_csv({!r})").format(table)
        new = str(Path(table).with_suffix(".parquet"))
        msg += (
            f'Convert it: python -c "import pandas; pandas.{read}.to_parquet({new!r})"'
        )
    else:
        msg += "Convert it first, as with pandas.read_csv and to_parquet."
    raise click.UsageError(msg)


# By name: the type or all values, and the help, of the options for reading a table.
READING: Mapping[str, tuple[Any, ...]] = {
    "--missing": (
        list,
        "A cell that means missing, beside the usual ones; NAME=TEXT in one column.",
        None,
        "TEXT",
    ),
    "--no-usual-missing": (
        bool,
        "In CSV files only an empty cell means missing, not NA, ?, - and the like.",
    ),
    "--drop": (list, "A column to leave out."),
    "--categorical": (list, "A column of categories, even if it looks numeric."),
    "--sep": (str, "Separator between cells.  [default: detected]"),
    "--encoding": (str, "Such as latin-1.  [default: detected]"),
    "--header": (
        ("first", "none"),
        "Whether the first row has the names of the columns.",
    ),
    "--skip-rows": (IntRange(min=0), "Lines above the table."),
    "--comment": (str, "Rows that begin with this are ignored."),
    "--decimal": (str, "Decimal mark, . or ,  [default: detected]"),
    "--thousands": (str, "Mark between thousands.  [default: detected]"),
    "--sheet": (str, "Sheet of an Excel workbook, by name or number."),
}
_COUNT, _AT_LEAST_ZERO = IntRange(min=1), FloatRange(0)
_FRACTION, _PART = FloatRange(0, 1, max_open=True), FloatRange(0, 1, True, True)
# The same of parameters of the estimators.
FLAGS: Mapping[str, tuple[Any, str]] = {
    "--n-networks": (_COUNT, "Number of networks whose predictions are averaged."),
    "--hidden-layer-sizes": (sizes, "Units of each layer, such as 64,64."),
    "--activation": (str, "Activation function, such as relu, gelu or tanh."),
    "--dropout": (_FRACTION, "Dropout rate between layers."),
    "--max-epochs": (_COUNT, "Maximum number of epochs."),
    "--batch-size": (_COUNT, "Rows per training step."),
    "--lr": (FloatRange(0, min_open=True), "Learning rate."),
    "--weight-decay": (_AT_LEAST_ZERO, "Weight decay of the networks."),
    "--validation-fraction": (_PART, "Fraction of rows used for early stopping."),
    "--density": (("auto", "diag", "factor", "full"), "Covariances of the mixture."),
    "--n-components": (_COUNT, "Components of the mixture; needs --density."),
    "--gamma": (_AT_LEAST_ZERO, "Initial variance of noise on observed values."),
    "--density-loss-weight": (_AT_LEAST_ZERO, "Weight of the density in the loss."),
    "--indicator": (("auto", "yes", "no"), "Add missingness indicator columns."),
    "--mask-augmentation": (_FRACTION, "Mean fraction of values hidden in training."),
    "--max-categories": (IntRange(min=2), "Maximum of a column; others are pooled."),
    "--scale": (("standard", "robust", "quantile", "none"), "Scaling of numbers."),
    "--propagate": (
        ("auto", "expectation", "sample"),
        "Predict from the expected first layer, or from draws of what is missing.",
    ),
    "--calibration": (
        ("yes", "no"),
        "Keep up to 1,000 encoded training rows in the model, for intervals.",
    ),
    "--class-weight": (("balanced",), "Weight classes inversely to their frequency."),
    "--device": (("cpu", "cuda", "mps", "auto"), "Device to train on."),
}


def make_estimator(task: str, parameters: Mapping[str, Any], **fixed: Any) -> Any:
    """Return an estimator with the parameters that are given by options."""
    import lacunet

    rest = dict(parameters)
    density: Any = rest.pop("density", "auto")
    if density != "auto":
        size = rest.pop("n_components", 1)
        density = lacunet.IncompleteGaussianMixture(size, covariance_type=density)
    elif "n_components" in rest:
        msg = (
            f"Got --n-components {rest['n_components']} for a density that is chosen "
            f"automatically. Add --density diag, factor or full."
        )
        raise click.UsageError(msg)
    if "indicator" in rest:
        rest["indicator"] = {"yes": True, "no": False}.get(rest["indicator"], "auto")
    if "calibration" in rest:
        rest["calibration"] = rest["calibration"] == "yes"
    if task == "regression" and "class_weight" in rest:
        msg = "Got --class-weight for a regression, but there are no classes."
        raise click.UsageError(msg)
    if task == "regression":
        return lacunet.LacunetRegressor(density=density, **rest, **fixed)
    return lacunet.LacunetClassifier(density=density, **rest, **fixed)


def load_model(path: str) -> Any:
    """Load a model, without its warning of unseen missing values: we have our own."""
    from lacunet import load

    model = load(path)
    if model.on_unseen_missing == "warn":
        model.set_params(on_unseen_missing="use")
    return model


def load_predictor(path: str) -> Any:
    """Load a classifier or regressor, and refuse other models."""
    fitted = load_model(path)
    if not hasattr(fitted, "predict"):
        msg = (
            f"Got {path}, a {type(fitted).__name__}, but expected one that predicts. "
            f"Fill tables with it: lacunet impute TABLE --model {path}."
        )
        raise click.ClickException(msg)
    return fitted
