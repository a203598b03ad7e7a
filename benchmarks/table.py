"""What benchmarks share: scores, rows of results, printed tables, files of results."""

import hashlib
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import lacunet


def score(y: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    """Return log-loss and accuracy; classes are 0, 1, ..."""
    exact = np.asarray(probabilities, dtype=np.float64)
    exact = exact / exact.sum(1, keepdims=True)  # some give single precision
    loss = log_loss(y, exact, labels=np.arange(exact.shape[1]))
    return float(loss), float((exact.argmax(1) == y).mean())


@dataclass(frozen=True)
class Row:
    """One case: what was measured, and what it must reach.

    ``bound``, ``exact`` and ``old`` are ratios to the reference, as ours is; where
    there is no reference, they are in the unit, as ours is then.
    """

    case: str
    unit: str
    ours: float
    reference: float | None
    bound: float
    repetitions: int
    exact: float | None = None  # with prune=0
    old: float | None = None  # benchmarks.exact
    error: float | None = None  # of ours against exact, relative to the largest output
    components: float | None = None  # of a row, with a responsibility above 1e-3
    details: dict[str, Any] = field(default_factory=dict)  # to print and to keep

    @property
    def ratio(self) -> float | None:
        return None if self.reference is None else self.ours / self.reference

    @property
    def reached(self) -> bool:
        return (self.ours if self.ratio is None else self.ratio) <= self.bound

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values, derived ones included."""
        return asdict(self) | {"ratio": self.ratio, "reached": self.reached}


def format_table(
    header: Sequence[str], body: Sequence[Sequence[str]], between: str = "  "
) -> str:
    """Align columns: the first to the left, the others to the right."""
    rows = [list(header), *map(list, body)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    lines = (
        between.join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Align columns in Markdown."""
    lines = format_table(header, body, between=" | ").splitlines()
    return "\n".join(f"| {line} |" for line in lines)


def main_table(rows: Sequence[Row]) -> str:
    """Format a line a case, in Markdown, without the columns that are empty."""
    header = ("case", "reference", "ours", "exact", "old way", "to reach", "")
    header += ("error", "components")
    body = []
    for row in rows:
        unit = f" {row.unit}" if row.ratio is None else "×"
        digits = ".1f" if row.ratio is None else ".2f"
        cells = [row.ours if row.ratio is None else row.ratio, row.exact, row.old]
        body.append(
            (
                row.case,
                "-" if row.reference is None else f"{row.reference:.4g} {row.unit}",
                *("-" if cell is None else f"{cell:{digits}}{unit}" for cell in cells),
                f"<= {row.bound:.3g}{unit}",
                "ok" if row.reached else "MISSED",
                "-" if row.error is None else f"{row.error:.0e}",
                "-" if row.components is None else f"{row.components:.2f}",
            )
        )
    columns = zip(header, *body, strict=True)
    measured = [column for column in columns if set(column[1:]) != {"-"}]
    header, *body = zip(*measured, strict=True)
    return markdown(header, body)


def details(rows: Sequence[Row]) -> str:
    """Format the details of all rows, a line each."""
    return "\n".join(
        f"{row.case}: {name}: {value:.4g}"
        if isinstance(value, float)
        else f"{row.case}: {name}: {value}"
        for row in rows
        for name, value in row.details.items()
    )


def describe_machine() -> dict[str, str]:
    """Return versions and the processor's model, no host name."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    packages = ("lacunet", "torch", "numpy", "scikit-learn")
    return {
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": model,
    }


@cache
def digest_source() -> str:
    """Return a short digest of the code of lacunet."""
    folder = Path(lacunet.__file__).parent
    content = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py")))
    return hashlib.sha256(content).hexdigest()[:8]


def write_part(part: str, content: dict[str, Any], path: Path) -> None:
    """Put the results of a part into a file, beside those of the others."""
    report = json.loads(path.read_text("utf-8")) if path.exists() else {}
    name = part.replace("-", "_")
    report[name] = {"measured_with": describe_machine(), **content}
    write_whole(path, json.dumps(report, indent=2) + "\n")


def read_lines(path: Path, key: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return lines of JSON by their keys; of several with the same, the last counts.

    A last line that is only half there, as its writer was killed, is left out.
    """
    text = path.read_text("utf-8") if path.exists() else ""
    lines = map(json.loads, text[: text.rfind("\n") + 1].splitlines())
    return {tuple(line[name] for name in key): line for line in lines}


def append_line(path: Path, line: dict[str, Any]) -> None:
    """Append a line of JSON, in place of one that is only half there, and print it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes() if path.exists() else b""
    if not content.endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line), file=sys.stderr, flush=True)


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text, "utf-8")
    beside.replace(path)
