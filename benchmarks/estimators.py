"""Compare the estimators with their rivals: ``python -m benchmarks.estimators``.

Cells that were measured before are not measured again, so a run that was killed goes
on where it was. A report, not a test: a missed goal is printed as such. The data come
through ``reproduction.datasets``: by download, or from the folder in LACUNET_DATA.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import esr, uci
from benchmarks.cells import Cell, CellFile, Comparison, fill, write_whole
from benchmarks.fit_time import costs_table, measure_time
from benchmarks.missing_column import doubts_table, measure_missing_column, reached
from benchmarks.rivals import METHODS, Method
from benchmarks.summary import print_esr, print_uci, summarise_esr, summarise_uci
from benchmarks.table import describe_machine, details, main_table

OUT = Path("benchmarks/results")
QUICK_FOLDS = 2


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, print the tables and write the results."""
    options = make_parser().parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        quick_out = Path(scratch) if options.quick else OUT
        out = options.out or quick_out
        for part in options.part:
            content = PARTS[part](options, out)
            write_part(part, content, out / "estimators.json")
        if options.out or not options.quick:
            print(f"\nwritten: {out / 'estimators.json'}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--part", nargs="+", choices=PARTS, default=list(PARTS))
    add("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    sets = [*uci.SETS, *esr.SETS]
    add("--datasets", nargs="+", choices=sets, default=sets, metavar="NAME")
    add(
        "--quick",
        action="store_true",
        help="tiny models, to see that it runs; writes only with --out",
    )
    add("--again", action="store_true", help="measure cells that are there already too")
    add(
        "--out",
        type=Path,
        default=None,
        metavar="FOLDER",
        help=f"folder for the results; {OUT} by default",
    )
    return parser


def choose_methods(names: Iterable[str], wanted: Sequence[str]) -> list[Method]:
    """Return the methods of a part to run, and report which are not installed."""
    chosen = [METHODS[name] for name in names if name in wanted]
    for method in chosen:
        if not method.installed:
            print(
                f"{method.title} is left out: {method.module} is not installed. To "
                f"have it: pip install 'lacunet[boosting]'",
                file=sys.stderr,
            )
    return [method for method in chosen if method.installed]


def run_uci(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    n_folds = QUICK_FOLDS if options.quick else uci.N_FOLDS
    names = [name for name in uci.SETS if name in options.datasets]
    comparisons = uci.comparisons(names, n_folds=n_folds)
    file = CellFile(out / "estimators" / "uci.jsonl")
    fill_file(file, comparisons, uci.METHODS, options)
    shown = shown_cells(file, options)
    print_uci(summarise_uci(shown, n_folds, uci.PAIRS, uci.SETS))
    cells = file.cells.values()
    return summarise_uci(cells, n_folds, uci.PAIRS, uci.SETS).as_json()


def run_esr(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    names = [name for name in esr.SETS if name in options.datasets]
    comparisons = esr.comparisons(names, quick=options.quick)
    file = CellFile(out / "estimators" / "esr.jsonl")
    fill_file(file, comparisons, esr.METHODS, options)
    print_esr(summarise_esr(shown_cells(file, options)))
    return summarise_esr(file.cells.values()).as_json()


def fill_file(
    file: CellFile,
    comparisons: Sequence[Comparison],
    names: Iterable[str],
    options: argparse.Namespace,
) -> None:
    methods = choose_methods(names, options.methods)
    n_before = len(file.cells)
    n_measured = fill(
        file, comparisons, methods, quick=options.quick, again=options.again
    )
    print(f"{file.path.name}: {n_before} cells found, {n_measured} measured")


def shown_cells(file: CellFile, options: argparse.Namespace) -> list[Cell]:
    """Return the cells of what was asked for."""
    return [
        cell
        for cell in file.cells.values()
        if cell.dataset in options.datasets and cell.method in options.methods
    ]


def run_time(options: argparse.Namespace, _: Path) -> dict[str, Any]:
    rows, costs = measure_time(quick=options.quick)
    print("\nCPU time of 1 thread, medians, in turn. Reference of the first two: the")
    print("same network on the filled table, in the same loop. All of a fit counts:")
    print(
        "encoding, EM, epochs with validation; filling and scaling for the reference.\n"
    )
    print(main_table(rows))
    print(f"\n{details(rows)}")
    print(f"\nThe same table, each model once:\n\n{costs_table(costs)}")
    return {
        "clock": "CPU time of 1 thread",
        "rows": [row.as_json() for row in rows],
        "costs": [asdict(cost) for cost in costs],
    }


def run_missing_column(options: argparse.Namespace, _: Path) -> dict[str, Any]:
    doubts = measure_missing_column(quick=options.quick)
    goals = reached(doubts)
    print("\ny = [x0 + 0.5 x1 > 0], trained on complete rows:\n")
    print(doubts_table(doubts))
    for goal, met in goals.items():
        print(f"lacunet, sample: {goal}: {'ok' if met else 'MISSED'}")
    return {"models": [asdict(doubt) for doubt in doubts], "goals": goals}


PARTS: dict[str, Callable[[argparse.Namespace, Path], dict[str, Any]]] = {
    "uci": run_uci,
    "esr": run_esr,
    "time": run_time,
    "missing-column": run_missing_column,
}


def write_part(part: str, content: dict[str, Any], path: Path) -> None:
    """Put the results of a part into the file, beside those of the others."""
    report = json.loads(path.read_text("utf-8")) if path.exists() else {}
    name = part.replace("-", "_")
    report[name] = {"measured_with": describe_machine(), **content}
    write_whole(path, json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
