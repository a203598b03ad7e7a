"""Bring what formats 1 and 2 of saved models hold into the form of today's."""

from typing import Any

import torch
from torch import Tensor


def upgrade(
    tensors: dict[str, Tensor], content: dict[str, Any]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what a model of an earlier format holds as it is written now."""
    tensors = dict(tensors)
    for number, view in enumerate(content.get("branches", ())):
        edges = tensors.pop(f"branches.{number}.view.edges", None)
        if edges is not None:
            first = f"branches.{number}.networks.first"
            _to_steps(tensors, first, edges, [n + 1 for n in view["n_edges"]])
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
    inputs = {**inputs, "table": table, "smooth": False}
    # Of how much a row lacked nothing is known: any row may lack as much.
    most_missing = len(columns)
    content = {**content, "inputs": inputs, "most_missing": most_missing}
    if content["class"] == "LacunetImputer":
        # It had one mixture, and neither capped nor rounded what it filled in.
        tensors = {f"0.{name}": tensor for name, tensor in tensors.items()}
        n_numeric = sum(column["kind"] != "category" for column in columns)
        largest = [torch.finfo(torch.float64).max] * n_numeric
        points = [[0.0]] * n_numeric
        content |= {
            "densities": [content["density"]],
            "weights": [[1.0, 1.0]],
            "on_quantiles": [False],
            "quantiles": {
                "unit": [1.0] * n_numeric,
                "knots": points,
                "heights": points,
            },
            "limits": [[-end for end in largest], largest, [False] * n_numeric],
        }
    return tensors, content


def _to_steps(
    tensors: dict[str, Tensor], first: str, edges: Tensor, sizes: list[int]
) -> None:
    """Turn the weights of one-hot bins into steps, and the lowest into the bias."""
    weight = tensors[f"{first}.weight"]
    n_bins = sum(sizes)
    groups = list(weight[:, :n_bins].split(sizes, 1))
    lowest = [group[:, :1] for group in groups]
    steps = [group.diff(dim=1, prepend=group[:, :1]) for group in groups]
    tensors[f"{first}.weight"] = torch.cat([*steps, weight[:, n_bins:]], 1).T
    tensors[f"{first}.bias"] = tensors[f"{first}.bias"] + torch.cat(lowest, 1).sum(1)
    tensors[f"{first}.value_weight"] = weight.new_zeros(len(sizes), len(weight))
    # One more bin than edges in each row, and centres that no weight makes use of.
    last = edges.new_full((len(edges), 1), torch.inf)
    tensors[f"{first}.edges"] = torch.cat([edges, last], 1)
    tensors[f"{first}.centres"] = torch.zeros_like(tensors[f"{first}.edges"])
