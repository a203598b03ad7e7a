"""Which patch the paper's figures of table 1 go with."""

import math
from collections.abc import Mapping
from statistics import fmean

from reproduction.report._slices import Row, Slice, name_row
from reproduction.report._words import show_list
from reproduction.statistics import mean_table


def tell_patches(part: Slice) -> str:
    """Return which row is nearest to what the paper reports of one of them.

    Parameters
    ----------
    part : Slice

    Returns
    -------
    str
        A sentence or two; nothing if there are no other rows than those of the paper.
    """
    factors = _find_factors(part)
    if len(factors) < 2 or part.main_rows == part.rows:
        return ""
    (nearest, factor), *others = sorted(factors.items(), key=lambda item: item[1])
    name = name_row(part.experiment, nearest)
    rest = show_list(
        [f"{each:.2f} with {name_row(part.experiment, row)}" for row, each in others]
    )
    return (
        f"What the paper reports is nearest to {name}: it differs by a factor of "
        f"{factor:.2f} from what is measured here, against {rest} (geometric mean over "
        f"its methods and metrics)."
    )


def _find_factors(part: Slice) -> dict[Row, float]:
    """Return by which factor each row differs from what the paper reports."""
    main = part.main_rows[0]
    logs: dict[Row, list[float]] = {row: [] for row in part.rows}
    for metric in part.experiment.metrics:
        reported = part.experiment.reported.get(metric, {}).get(main, {})
        for row, found in _means(part, metric).items():
            shared = found.keys() & reported.keys()
            logs[row] += [abs(math.log(found[key] / reported[key])) for key in shared]
    most = max(map(len, logs.values()), default=0)
    return {
        row: math.exp(fmean(each))
        for row, each in logs.items()
        if len(each) == most > 0
    }


def _means(part: Slice, metric: str) -> dict[Row, Mapping[str, float]]:
    if not any(cell.metric == metric for cell in part.cells):
        return {}
    table = mean_table(part.cells, metric)
    return {
        row: {
            method: float(value)
            for method, value in zip(table.methods, values, strict=True)
            if value > 0
        }
        for row, values in zip(table.rows, table.mean, strict=True)
    }
