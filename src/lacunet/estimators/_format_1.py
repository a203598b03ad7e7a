"""Bring what formats 1 and 2 of saved models hold into the form of today's."""

from typing import Any


def upgrade(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a model of an earlier format as it is written now."""
    inputs = content["inputs"]
    table = inputs["table"]
    columns = []
    for old in table["columns"]:
        column = {name: value for name, value in old.items() if name != "index"}
        column["had_missing"] = column.pop("had_holes")
        column["categories"] = column.pop("levels")
        columns.append(column)
    scaling = dict(table["scaling"])
    if table["scale"] == "quantile":
        # A column without a value had no knot.
        scaling["knots"] = [knots or [0.0] for knots in scaling["knots"]]
        scaling["heights"] = [heights or [0.0] for heights in scaling["heights"]]
    else:
        units = scaling.pop("unit")
        for new, old in (("centre", "shift"), ("scale", "width")):
            pairs = zip(scaling.pop(old), units, strict=True)
            scaling[new] = [value * unit for value, unit in pairs]
    table = {**table, "columns": columns, "scaling": scaling}
    return {**content, "inputs": {**inputs, "table": table}}
