"""The model card: what a model is for, how good it is, and where it is weak."""

import inspect
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from lacunet._text import show_count, show_percent, show_score
from lacunet.evaluation._hold_out import HoldOut
from lacunet.evaluation._target import TableFacts


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
    n_classes = len(found.classes)
    classes = [
        (escape(str(each.name)), f"{each.n_train:,}", f"{each.n_test:,}")
        for each in found.classes
    ]
    columns = [
        (escape(e.name), e.kind, f"{e.n_missing:,}", escape(show_percent(fraction)))
        for e in table.inputs
        for fraction in [table.fraction_missing(e)]
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
    points: dict[bool, list[str]] = {True: [], False: []}  # by whether they are weak
    for each in found.findings:
        points[each.weak].append(f"- **{escape(each.head)}.** {escape(each.text)}")
    again = ""
    if refitted:
        again = (
            " This model was then trained once more, on all of them: its own scores "
            "are unknown, but should not be worse."
        )
    if found.n_sample is not None:
        again += (
            f" Of these, {found.n_sample:,} were drawn at random for "
            f"HistGradientBoosting and the trivial model."
        )
    counted = ""
    if table.n_counted is not None:
        rows = show_count(table.n_counted, "row")
        counted = (
            f" Missing values and targets were counted in the {rows} for training."
        )
    template = Template((files("lacunet.evaluation") / "card.md").read_text("utf-8"))
    text = template.substitute(
        target=escape(table.target),
        what=f"one of {n_classes:,} classes" if n_classes else "a number",
        n_columns=show_count(found.n_columns, "column"),
        file=escape(table.name),
        model=type(found.model).__name__,
        classes=make_table("class|training rows|held-out rows", classes, 100),
        n_rows=show_count(table.n_rows, "row"),
        n_unlabelled=f"{table.n_unlabelled:,}",
        used_unlabelled=", to which its density was fitted, too"
        * bool(found.n_unlabelled),
        n_used=show_count(found.n_train + refitted * found.n_test, "row"),
        columns=make_table("column|kind|missing|missing (%)", columns, 500),
        n_test=show_count(found.n_test, "row"),
        seed=found.random_state,
        n_train=f"{found.n_train:,}",
        again=again,
        counted=counted,
        scores=make_table(
            "|".join(["model", *(m.title for m in found.metrics)]), scores
        ),
        findings="\n".join(points[False]),
        weaknesses="\n".join(points[True])
        or "The held-out rows show none. That does not mean there is none.",
        parameters=make_table("parameter|value", parameters),
        date=escape(date),
        versions=escape(", ".join(f"{k} {v}" for k, v in found.versions.items())),
    )
    return re.sub(r"\n{3,}", "\n\n", text)  # where there is nothing to list


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


def make_table(
    titles: str, rows: Sequence[Sequence[str]], most: int | None = None
) -> str:
    """Return rows of escaped cells as a table of Markdown, cut after the first few."""
    if not rows:
        return ""
    heads = titles.split("|")
    lines = [heads, ["---"] * len(heads), *rows[:most]]
    more = f"\n\nAnd {len(rows) - most:,} more." if most and len(rows) > most else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + more
