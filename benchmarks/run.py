"""Measure speed and memory of the core: ``python -m benchmarks.run``.

A report, not a test: a missed goal is printed as such and the exit code stays 0.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.em import measure_diag, measure_full
from benchmarks.layer import layer_cases, measure_memory, measure_speed
from benchmarks.table import Row, describe_machine, details, main_table
from benchmarks.timing import Effort

OUT = Path("benchmarks/results/core.json")
HEADING = """
Forward + backward of a layer, and an iteration of EM: CPU time of 1 thread, medians,
each in turn with its reference: nn.Linear or nn.Conv2d + ReLU on the filled batch, or
as stated below. exact: the same layer with prune=0; old way: exact, all components
(benchmarks/exact.py); error: of pruning, relative to the largest output; components:
how many of a row, on average, have a responsibility above 1e-3.
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all cases, print the table and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small and few, to see that it runs; writes only with --out",
    )
    parser.add_argument(
        "--out", type=Path, default=None, help=f"file for the results; {OUT} by default"
    )
    options = parser.parse_args(argv)
    rows = []
    for row in measure(quick=options.quick):
        rows.append(row)
        print(f"measured: {row.case}", file=sys.stderr, flush=True)
    print(f"{HEADING}\n{main_table(rows)}\n\n{details(rows)}")
    out = options.out or (None if options.quick else OUT)
    if out is not None:
        write_report(rows, out)
        print(f"\nwritten: {out}")


def measure(*, quick: bool) -> Iterator[Row]:
    """Measure one case after the other."""
    once = Effort(repetitions=1, seconds=0.0, warm_up=0)
    effort = once if quick else Effort()
    for place, case in enumerate(layer_cases(quick=quick)):
        yield measure_speed(case, effort)
        if place == 0:
            yield measure_memory(case)
    rows = {"n_rows": 500} if quick else {}
    yield measure_diag(effort, **rows)
    slow = once if quick else Effort(repetitions=5, seconds=0.0, warm_up=1)
    yield measure_full(slow, **rows)


def write_report(rows: Sequence[Row], out: Path) -> None:
    """Write the rows and what they were measured with as JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "measured_with": describe_machine(),
        "clock": "CPU time of 1 thread, medians",
        "rows": [row.as_json() for row in rows],
    }
    out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
