"""Measure speed and memory of the core: ``python -m benchmarks.run``.

A report, not a test: a missed goal is printed as such and the exit code stays 0.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.em import measure_full_fit, measure_iteration
from benchmarks.layer import layer_cases, measure_memory, measure_speed
from benchmarks.machine import describe_machine
from benchmarks.table import Row, details, main_table, side_table
from benchmarks.timing import Effort

OUT = Path("benchmarks/results/core.json")
QUICK = Effort(repetitions=3, seconds=0.0, warm_up=1)


def main(argv: Sequence[str] | None = None) -> list[Row]:
    """Measure all cases, print the tables and write the results."""
    options = parse(argv)
    effort = QUICK if options.quick else Effort()
    rows = []
    for measure in measurements(effort, fits=1 if options.quick else 3):
        rows.append(measure())
        print(f"measured: {rows[-1].case}", file=sys.stderr, flush=True)
    print_report(rows)
    out = options.out or (None if options.quick else OUT)
    if out is not None:
        write_report(rows, out)
        print(f"\nwritten: {out}")
    return rows


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few repetitions, to see that it runs; writes only with --out",
    )
    parser.add_argument(
        "--out", type=Path, default=None, help=f"file for the results; {OUT} by default"
    )
    return parser.parse_args(argv)


def measurements(effort: Effort, *, fits: int) -> Iterator[Callable[[], Row]]:
    """Yield one measurement a case, in the order of the table."""
    cases = layer_cases()
    for case in cases:
        yield lambda case=case: measure_speed(case, effort)
    yield lambda: measure_memory(cases[0])
    yield lambda: measure_iteration(effort)
    yield lambda: measure_full_fit(fits)


def print_report(rows: Sequence[Row]) -> None:
    """Print what was measured, and how."""
    print("\nForward + backward and EM: CPU time of 1 thread, medians, in turn.")
    print("Reference: nn.Linear + ReLU on the filled batch; scikit-learn for EM.\n")
    print(main_table(rows))
    print("\nBeside it: wall time of 2 threads (ours, reference, ratio), and CPU time")
    print("of a naive version, one pass per component, against the same reference.\n")
    print(side_table(rows))
    print(f"\n{details(rows)}")


def write_report(rows: Sequence[Row], out: Path) -> None:
    """Write the rows and what they were measured with as JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "measured_with": describe_machine(),
        "clock": "CPU time of 1 thread, medians; wall: seconds of 2 threads",
        "rows": [row.as_json() for row in rows],
    }
    out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
