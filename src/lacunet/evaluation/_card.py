"""The card of a model: what it is for, how good it is, and where it is weak."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from lacunet._markdown import escape, make_table
from lacunet._text import show_percent
from lacunet.evaluation._hold_out_findings import Numbers, count
from lacunet.evaluation._hold_out_record import OURS, TITLES, HoldOut
from lacunet.evaluation._scores import METRICS
from lacunet.evaluation._table_facts import TableFacts
from lacunet.evaluation._words import choose_format, show_score

_MOST_COLUMNS = 500  # listed
_MOST_CLASSES = 100


def describe_model(
    found: HoldOut, table: TableFacts, *, date: str, refitted: bool = False
) -> str:
    r"""Describe a model in Markdown: the card that goes with it.

    Parameters
    ----------
    found : HoldOut
        What :func:`lacunet.evaluation.hold_out` returned.
    table : TableFacts
        Of the table that it was trained on.
    date : str
        When that was.
    refitted : bool, default=False
        Whether the model that the card goes with was trained once more, on all rows,
        after it was judged.

    Returns
    -------
    str
        All names are shown as they are, whatever letters are in them. Nothing of the
        machine is told.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.evaluation import TableFacts, describe_model, hold_out
    >>> from lacunet.tables import ColumnInfo
    >>> X = pd.DataFrame({"age": np.arange(40.0)})
    >>> model = LacunetRegressor(n_networks=1, max_epochs=2, random_state=0)
    >>> found = hold_out(model, X, 2 * X["age"], task="regression")
    >>> columns = (ColumnInfo("age", "number", 0, 40),)
    >>> table = TableFacts("people.csv", "pay", 40, 0, columns)
    >>> card = describe_model(found, table, date="2026-07-30")
    >>> card.splitlines()[0], "| age | number | 0 | 0% |" in card
    ('# Model card: pay', True)
    """
    parts = (
        f"# Model card: {escape(table.target)}",
        _tell_use(found, table),
        *_list_classes(found),
        "## What it was trained on",
        _tell_rows(found, table, refitted=refitted),
        *_list_columns(table),
        "## How it was judged",
        _tell_protocol(found, refitted=refitted),
        _list_scores(found),
        *_list_findings(found, weak=False),
        "## Known weaknesses",
        *_list_findings(found, weak=True),
        "Columns that the model relies on need not be the cause of anything, and rows "
        "that come about in another way than those may be predicted worse.",
        "## Parameters and versions",
        _list_parameters(found.model),
        _tell_versions(found.versions, date),
    )
    return "\n\n".join(parts) + "\n"


def list_parameters(model: Any) -> Iterator[tuple[str, str, bool]]:
    """List the parameters of a model, those that were chosen first.

    Parameters
    ----------
    model : estimator

    Yields
    ------
    name, value : str
    chosen : bool
        Whether it is another value than the default.
    """
    defaults = inspect.signature(type(model)).parameters
    found = [
        (name, _show_value(value), repr(value) != repr(defaults[name].default))
        for name, value in model.get_params(deep=False).items()
    ]
    yield from sorted(found, key=lambda each: not each[2])


def _show_value(value: Any) -> str:
    """Return a value as it is typed; of what has only an address, the kind."""
    shown = repr(value)
    return f"a {type(value).__name__}" if " at 0x" in shown else shown


# --- what it is for, and from what it was learned


def _tell_use(found: HoldOut, table: TableFacts) -> str:
    what = "a number"
    if found.task == "classification":
        what = f"one of {len(found.classes):,} classes"
    return (
        f"It predicts {_strong(table.target)}, {what}, from "
        f"{count(found.n_columns, 'column')} of a table such as {_strong(table.name)}. "
        f"Values may be missing in any of them, and are not filled in. It is a "
        f"`{type(found.model).__name__}` of lacunet."
    )


def _list_classes(found: HoldOut) -> Iterator[str]:
    if not found.classes:
        return
    shown = found.classes[:_MOST_CLASSES]
    yield make_table(
        ("class", "rows learned from", "rows held out"),
        [(escape(str(c.name)), f"{c.n_train:,}", f"{c.n_test:,}") for c in shown],
    )
    yield from _tell_rest(len(found.classes) - len(shown), "class", "classes")


def _tell_rows(found: HoldOut, table: TableFacts, *, refitted: bool) -> str:
    n_known = found.n_train + found.n_test
    told = (
        f"{_strong(table.name)} has {count(table.n_rows, 'row')}, "
        f"{table.n_unlabelled:,} of them without a target"
    )
    if found.n_unlabelled:
        told += "; what they hold has taught the model how the columns go together"
    used = n_known if refitted else found.n_train
    return f"{told}. The model was trained on {count(used, 'row')} with a target."


def _list_columns(table: TableFacts) -> Iterator[str]:
    shown = table.inputs[:_MOST_COLUMNS]
    yield make_table(
        ("column", "kind", "missing", "share missing"),
        [
            (
                escape(column.name),
                column.kind,
                f"{column.n_missing:,}",
                escape(show_percent(table.share_missing(column))),
            )
            for column in shown
        ],
    )
    yield from _tell_rest(len(table.inputs) - len(shown), "column", "columns")


def _tell_rest(n_more: int, one: str, many: str) -> Iterator[str]:
    if n_more:
        yield f"And {n_more:,} more {one if n_more == 1 else many}."


# --- how good it is


def _tell_protocol(found: HoldOut, *, refitted: bool) -> str:
    told = (
        f"{count(found.n_test, 'row')} were held out by chance (seed "
        f"{found.random_state}), and the models below were fitted on the other "
        f"{found.n_train:,}."
    )
    if refitted:
        told += (
            " This model was then trained once more, on all of them: its own scores "
            "can't be known, but should not be worse."
        )
    return told


def _list_scores(found: HoldOut) -> str:
    metrics, numbers = METRICS[found.task], Numbers(found)
    rows = [
        [
            _strong(TITLES[name]) if name == OURS else TITLES[name],
            numbers.tell(found.estimates[name]),
            *(show_metric(found, name, metric.key) for metric in metrics[1:]),
        ]
        for name in found.scores
    ]
    return make_table(("model", *(metric.title for metric in metrics)), rows)


def show_metric(found: HoldOut, name: str, key: str) -> str:
    """Return a score of a model; a dash where it has no value."""
    (metric,) = (each for each in METRICS[found.task] if each.key == key)
    value = found.scores[name][key]
    values = [scores[key] for scores in found.scores.values()]
    return "–" if value is None else show_score(value, choose_format(metric, values))


def _list_findings(found: HoldOut, *, weak: bool) -> Iterator[str]:
    chosen = [each for each in found.findings if each.weak == weak]
    if chosen:
        lines = [f"- **{escape(each.head)}.** {escape(each.text)}" for each in chosen]
        yield "\n".join(lines)
    elif weak:
        yield "None has shown on the rows held out. That does not mean there is none."


# --- how it was made


def _list_parameters(model: Any) -> str:
    rows = [
        (f"`{name}`", _strong(value) if chosen else escape(value))
        for name, value, chosen in list_parameters(model)
    ]
    return make_table(("parameter", "value"), rows)


def _tell_versions(versions: Mapping[str, str], date: str) -> str:
    made = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"Values in bold are others than the defaults. Made on {escape(date)} with "
        f"{escape(made)}."
    )


def _strong(text: str) -> str:
    return f"**{escape(text)}**"
