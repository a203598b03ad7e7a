"""Rows of results, and the table they are printed as."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.timing import Pair


@dataclass(frozen=True)
class Row:
    """One case: what was measured, and what it must reach.

    ``bound`` is on the ratio to the reference; where there is none, on ours itself.
    """

    case: str
    unit: str
    ours: float
    reference: float | None
    bound: float
    repetitions: int
    conditions_hold: bool = True  # what else the case asks for; see details
    wall: Pair | None = None  # seconds with two threads
    naive: Pair | None = None  # CPU seconds of the naive version and the reference
    details: dict[str, Any] = field(default_factory=dict)  # to print and to keep

    @property
    def ratio(self) -> float | None:
        return None if self.reference is None else self.ours / self.reference

    @property
    def reached(self) -> bool:
        value = self.ours if self.ratio is None else self.ratio
        return value <= self.bound and self.conditions_hold

    @property
    def goal(self) -> str:
        if self.ratio is None:
            return f"<= {self.bound:.4g} {self.unit}"
        return f"<= {self.bound:.1f}x"

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values, derived ones included."""
        plain = asdict(self) | {"ratio": self.ratio, "reached": self.reached}
        for name in ("wall", "naive"):
            pair: Pair | None = getattr(self, name)
            if pair is not None:
                plain[name]["ratio"] = pair.ratio
        return plain


def format_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Align columns: the first to the left, the others to the right."""
    rows = [list(header), *map(list, body)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    lines = (
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def main_table(rows: Sequence[Row]) -> str:
    """Format what the issue asks for: one line a case."""
    header = ("case", "ours", "reference", "ratio", "must reach", "")
    body = [
        (
            row.case,
            f"{row.ours:.4g} {row.unit}",
            "-" if row.reference is None else f"{row.reference:.4g} {row.unit}",
            "-" if row.ratio is None else f"{row.ratio:.2f}x",
            row.goal,
            "ok" if row.reached else "MISSED",
        )
        for row in rows
    ]
    return format_table(header, body)


def side_table(rows: Sequence[Row]) -> str:
    """Format what stands beside it: wall time of two threads, the naive version."""
    header = ("case", "ours", "reference", "ratio", "naive", "naive ratio")
    return format_table(
        header,
        [
            (row.case, *_wall_cells(row.wall), *_naive_cells(row.naive))
            for row in rows
            if row.wall or row.naive
        ],
    )


def _wall_cells(pair: Pair | None) -> tuple[str, str, str]:
    if pair is None:
        return "-", "-", "-"
    return (
        f"{1e3 * pair.ours:.4g} ms",
        f"{1e3 * pair.reference:.4g} ms",
        f"{pair.ratio:.2f}x",
    )


def _naive_cells(pair: Pair | None) -> tuple[str, str]:
    return ("-", "-") if pair is None else _wall_cells(pair)[::2]


def details(rows: Sequence[Row]) -> str:
    """Format the details of all rows, a line each."""
    return "\n".join(
        f"{row.case}: {name}: {_plain(value)}"
        for row in rows
        for name, value in row.details.items()
    )


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value == [] else str(value)
