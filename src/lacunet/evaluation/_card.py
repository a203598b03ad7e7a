"""The model card: what a model is for, how good it is, and where it is weak."""

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lacunet._text import show_count, show_percent, show_score
from lacunet.evaluation._hold_out import HoldOut
from lacunet.evaluation._target import TableFacts

_MOST_COLUMNS = 500  # listed
_MOST_CLASSES = 100


def describe_model(
    found: HoldOut, table: TableFacts, *, date: str, refitted: bool = False
) -> str:
    r"""Write the model card, in Markdown.

    Parameters
    ----------
    found : HoldOut
        What :func:`lacunet.evaluation.hold_out` returned.
    table : TableFacts
        The table that it was trained on.
    date : str
        When that was.
    refitted : bool, default=False
        Whether the model that the card goes with was trained once more, on all rows,
        after its evaluation.

    Returns
    -------
    str
        Names appear as they are, whatever characters are in them. Nothing about the
        machine is in it.

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
    target, file = escape(table.target), escape(table.name)
    n_classes, n_inputs = len(found.classes), len(table.inputs)
    what = "a number" if found.task == "regression" else f"one of {n_classes:,} classes"
    classes = [
        (escape(str(each.name)), f"{each.n_train:,}", f"{each.n_test:,}")
        for each in found.classes[:_MOST_CLASSES]
    ]
    columns = [
        (
            escape(each.name),
            each.kind,
            f"{each.n_missing:,}",
            escape(show_percent(table.fraction_missing(each))),
        )
        for each in table.inputs[:_MOST_COLUMNS]
    ]
    scores = [
        (
            f"**{title}**" if name == "lacunet" else title,
            found.estimates[name].show(found.score_format),
            *(show_score(found.scores[name][m.key], ".3f") for m in found.metrics[1:]),
        )
        for name, title in found.titles.items()
    ]
    parameters = [
        (f"`{name}`", f"**{escape(value)}**" if chosen else escape(value))
        for name, value, chosen in list_parameters(found.model)
    ]
    n_used = found.n_train + (found.n_test if refitted else 0)
    unlabelled = ", to which its density was fitted, too" if found.n_unlabelled else ""
    again = (
        " This model was then trained once more, on all of them: its own scores are "
        "unknown, but should not be worse."
        if refitted
        else ""
    )
    weak, fine = (
        "\n".join(
            f"- **{escape(each.head)}.** {escape(each.text)}"
            for each in found.findings
            if each.weak is is_weak
        )
        for is_weak in (True, False)
    )
    versions = escape(", ".join(f"{k} {v}" for k, v in found.versions.items()))
    text = f"""\
# Model card: {target}

It predicts **{target}**, {what}, from {show_count(found.n_columns, "column")} of a \
table such as **{file}**. Values may be missing in any of them, and are not filled in. \
It is a `{type(found.model).__name__}` of lacunet.

{_list(("class", "training rows", "held-out rows"), classes, n_classes)}

## Training data

**{file}** has {show_count(table.n_rows, "row")}, {table.n_unlabelled:,} of them \
without a target{unlabelled}. The model was trained on {show_count(n_used, "row")} \
with a target.

{_list(("column", "kind", "missing", "missing (%)"), columns, n_inputs)}

## Evaluation

{show_count(found.n_test, "row")} were held out at random (seed {found.random_state}), \
and the models below were fitted on the other {found.n_train:,}.{again}

{make_table(("model", *(metric.title for metric in found.metrics)), scores)}

{fine}

## Known weaknesses

{weak or "The held-out rows show none. That does not mean there is none."}

Columns that the model relies on need not be the cause of anything, and rows that come \
about in another way than these may be predicted worse.

## Parameters and versions

{make_table(("parameter", "value"), parameters)}

Values in bold differ from the defaults. Made on {escape(date)} with {versions}.
"""
    return re.sub(r"\n{3,}", "\n\n", text)  # where there is nothing to list


def _list(titles: Sequence[str], rows: Sequence[Sequence[str]], n_all: int) -> str:
    """Return a table, and how many rows were cut off; nothing if there are none."""
    more = f"\n\nAnd {n_all - len(rows):,} more." if n_all > len(rows) else ""
    return f"{make_table(titles, rows)}{more}" if rows else ""


def list_parameters(model: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield names, values and whether they differ from the defaults; those first."""
    defaults = inspect.signature(type(model)).parameters
    found = []
    for name, value in model.get_params(deep=False).items():
        shown = repr(value)
        chosen = shown != repr(defaults[name].default)
        if " at 0x" in shown:  # an address means nothing to others
            shown = f"a {type(value).__name__}"
        found.append((name, shown, chosen))
    yield from sorted(found, key=lambda each: not each[2])


def escape(text: str) -> str:
    r"""Return a text that Markdown shows as it is, in one line.

    Examples
    --------
    >>> print(escape("<b> a|b *c* kidney_disease"))
    &lt;b&gt; a\|b \*c\* kidney_disease
    """
    marked = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Letters that mean something in Markdown; an underscore within a word does not.
    special = r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))"
    return " ".join(re.sub(special, r"\\\1", marked).split())


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of escaped cells as a table of Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
