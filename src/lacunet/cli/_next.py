"""``lacunet next``: which missing values of each row to measure next."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import IntRange

from lacunet._text import list_names, shorten, show_count, show_number
from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor

    from lacunet.inspection import Completions, Measurement
    from lacunet.tables import ReadOptions

_BLOCK = 256  # rows at a time
_SHOWN = 3  # rows with missing values that are printed
_MAX_COLUMNS = 10  # of each
_show = partial(show_number, digits=3)


@options.command("Show which missing values to measure next.")
@options.model
@options.table
@option(
    "--costs",
    click.Path(dir_okay=False),
    "A table with the columns 'column' and 'cost': what measuring a value costs.",
)
@option("--steps", IntRange(min=1), "Number of measurements to plan.", 5)
@option(
    "-o --output", options.FILE, "Also write the ranking of all rows: CSV, Parquet."
)
@options.force
def next(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    costs: str | None,
    steps: int,
    output: Path | None,
    force: bool,
) -> None:
    """Show which missing values of a table are most worth measuring, row by row.

    For each missing value: how uncertain the prediction is now, and how uncertain it is
    expected to be once the value is known. For classes that is the entropy, 0 if the
    class is certain; for numbers, the standard deviation of the prediction due to what
    is missing. Values are drawn from what the model has learned of the table. With
    --costs, values are ranked by the expected reduction of entropy or variance per
    cost.

    The plan of a row is for measurements that are ordered all at once. If they are made
    one by one, run the command again after each: the next may depend on the result.
    Values that matter only together are not found. A value that training has not seen
    counts as missing, but is not ranked, nor is a column that was empty in training.

    The first rows are printed; -o has all of them, with the columns row, column, value
    (the expected reduction of entropy or variance), cost and rank.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet next model patients.csv
    lacunet next model patients.csv --costs costs.csv --steps 3
    lacunet next model patients.csv -o ranking.csv
    """
    import numpy as np
    import pandas as pd

    from lacunet import inspection, tables

    format = tables.FileFormat.of_name(output or "")
    prices = None if costs is None else _read_costs(costs)
    known = tables.ModelTable.read(model)
    with tables.open_table(table, known.options(reading)) as file:
        fitted = options.load_predictor(model)
        schema, name = tables.Schema.of_model(fitted), file.short_name
        lacking = file.match(schema).missing
        terminal.note(*file.list_notices(schema.names))
        terminal.warn_names("not in the table, so missing in every row", lacking)
        drawn = inspection.Completions(fitted)
        drawn.check_costs(prices, np.zeros(len(schema.names), dtype=bool))
        if bool((drawn.encoded.sources < 0).any()):
            terminal.note(
                "The model takes missing values of some columns as a sign of the "
                "target. If they were only not measured yet, fit with --indicator no."
            )
        n_rows, rankings = 0, []
        plans: dict[int, list[Measurement]] = {}  # of the rows that are printed
        advance = terminal.count_rows("ranked", "")
        unseen = np.zeros(len(schema.names), dtype=bool)
        for block in file.blocks(_BLOCK, schema=schema):
            x = drawn.encoded.encode(block)
            unknown = ~drawn.encoded.observed(x).cpu().numpy()
            missing = unknown & block.isna().to_numpy() & ~drawn.encoded.empty
            unseen |= (unknown & block.notna().to_numpy()).any(0)
            of_block = drawn.check_costs(prices, missing.any(0))
            ranking = _rank(drawn, x, missing, of_block)
            for row in ranking["row"].unique()[: _SHOWN - len(plans)]:
                plans[n_rows + int(row)] = drawn.plan(
                    x[row - 1 : row], missing[row - 1], of_block, steps
                )
            rankings.append(ranking.assign(row=ranking["row"] + n_rows))
            n_rows += len(block)
            advance(len(block))
    if unseen.any():
        names = list_names(np.array(schema.names)[unseen].tolist())
        terminal.note(
            f"Some values of {names} were not seen in training: they count as missing, "
            f"and are not ranked."
        )
    found = pd.concat(rankings, ignore_index=True)
    if output is not None:
        written = found[["row", "column", "value", "cost", "rank"]]
        with tables.open_output(output, force=force) as stream:
            tables.write_rows(stream, [written], format)

    measure = "entropy" if drawn.is_classes else "standard deviation"
    n_incomplete = found["row"].nunique()
    of_columns = found.groupby("column").agg(
        rows=("row", "count"),
        value=("value", "sum"),
        cost=("cost", "first"),
        before=("before", "mean"),
        after=("after", "mean"),
    )
    per_cost = of_columns["value"] / of_columns["cost"].fillna(1.0)
    of_columns = of_columns.assign(value=of_columns["value"] / max(1, n_incomplete))
    of_columns = of_columns.loc[per_cost.sort_values(ascending=False).index]
    rows_missing = f"{n_incomplete:,} of {show_count(n_rows, 'row')}"
    terminal.print(f"{name}: {rows_missing} with missing values.")
    if n_incomplete:
        best = of_columns.iloc[0]
        shown = f"{_show(best['before'])} → {_show(best['after'])}"
        terminal.print(
            f"To measure first, in general: {shorten(of_columns.index[0])!r}, missing "
            f"in {show_count(int(best['rows']), 'row')}: {measure} {shown} expected, "
            f"in the mean of these."
        )
        meaning = "of the prediction, due to what is missing"
        if drawn.is_classes:
            most = _show(np.log(len(fitted.classes_)))
            meaning = f"of the class: 0 if certain, {most} if all are equally likely"
        terminal.print(f"{measure.capitalize()} {meaning}.\n")
        _print_ranking(terminal, of_columns.reset_index(), measure)
        per_cost = " per cost" if prices is not None else ""
        terminal.print(f"By the reduction in all rows together{per_cost}.")
    for row, plan in plans.items():
        terminal.print(f"\nRow {row}:")
        _print_ranking(terminal, found[found["row"] == row], measure)
        left = [step.after if drawn.is_classes else step.after**0.5 for step in plan]
        texts = [f"{s.column} (→ {_show(x)})" for s, x in zip(plan, left, strict=True)]
        if len(plan) > 1:
            terminal.print(f"Plan: {', '.join(texts)}.")
    if n_incomplete > len(plans) and output is None:
        more = show_count(n_incomplete - len(plans), "more row")
        terminal.print(f"\n... and {more} with missing values. Write them all with -o.")
    terminal.print_json(
        {
            "model": model,
            "table": name,
            "rows": n_rows,
            "incomplete": n_incomplete,
            "measure": measure,
            "columns": _records(of_columns.reset_index()),
            "ranking": _records(found),
            "plans": [
                {"row": row, "steps": [vars(step) for step in plan]}
                for row, plan in plans.items()
            ],
            "output": output,
        }
    )


def _rank(
    drawn: "Completions", x: "Tensor", missing: "np.ndarray", costs: "np.ndarray | None"
) -> "pd.DataFrame":
    """Return missing cells of encoded rows, from row 1, the best of each row first."""
    import numpy as np
    import pandas as pd

    values, uncertainty = drawn.values(x), drawn.uncertainty(x)
    row, place = missing.nonzero()
    value, before = values[row, place], uncertainty[row]
    after = np.maximum(before - value, 0.0)
    if not drawn.is_classes:
        before, after = np.sqrt(before), np.sqrt(after)
    cost = np.full(len(row), np.nan) if costs is None else costs[place]
    found = pd.DataFrame(
        {
            "row": row + 1,
            "column": np.array(drawn.encoded.names, dtype=object)[place],
            "value": value,
            "cost": cost,
            "before": before,
            "after": after,
        }
    )
    worth = value if costs is None else value / cost
    found = found.iloc[np.lexsort((-worth, row))]
    return found.assign(rank=found.groupby("row").cumcount() + 1)


def _read_costs(path: str) -> "pd.Series[float]":
    """Return costs by column."""
    from lacunet import tables

    with tables.open_table(path, tables.ReadOptions()) as file:
        frame = file.read()
    if not {"column", "cost"} <= set(frame.columns):
        msg = (
            f"Got {path} with the columns {list_names(list(frame.columns))}, but "
            f"expected 'column' and 'cost'."
        )
        raise click.ClickException(msg)
    return frame.set_index(frame["column"].astype(str))["cost"]


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON has them."""
    whole = frame.astype(object).where(frame.notna(), None)
    return [*whole.to_dict("records")]


def _print_ranking(terminal: Terminal, frame: "pd.DataFrame", measure: str) -> None:
    """Print columns with the uncertainty now and as it is expected to be."""
    shown = {"column": frame["column"]}
    if "rows" in frame:
        shown[">missing in rows"] = frame["rows"].map("{:,}".format)
    shown[f">{measure}"] = frame["before"].map(_show)
    shown[">expected"] = frame["after"].map(_show)
    if frame["cost"].notna().any():
        shown[">cost"] = frame["cost"].map("{:g}".format)
    rows = list(zip(*shown.values(), strict=True))
    terminal.print_table(list(shown), rows, max_rows=_MAX_COLUMNS)
