"""Experiments that are run for a person: watched, and summed up at the end."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lacunet.cli._terminal import Stopped, Terminal
from reproduction.cli._words import place_of

if TYPE_CHECKING:
    from reproduction.experiments import Run
    from reproduction.statistics import Cell


@dataclass(frozen=True)
class Wish:
    """What is to be run; ``run_experiments`` tells more.

    Attributes
    ----------
    names : sequence of str
    protocol : str
    out : Path
    jobs, seeds : int
    methods, datasets : sequence of str or None
    data : {"digits", None}
    """

    names: Sequence[str]
    protocol: str
    out: Path
    jobs: int
    seeds: int = 1
    methods: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    data: Literal["digits"] | None = None


@dataclass(frozen=True)
class Ended:
    """What has become of an experiment.

    Attributes
    ----------
    run : Run
    empty, failed : sequence of Cell
        Run now and without a value, for reasons that were to be expected or not.
    files : sequence of Path
        What there is of it now.
    """

    run: "Run"
    empty: "Sequence[Cell]"
    failed: "Sequence[Cell]"
    files: Sequence[Path]


@dataclass(frozen=True)
class Told:
    """What has become of a wish.

    Attributes
    ----------
    wish : Wish
    ended : sequence of Ended
    seconds : float
    """

    wish: Wish
    ended: Sequence[Ended]
    seconds: float

    @property
    def left_out(self) -> list[str]:
        """Names of the experiments that have nothing of what was wished."""
        known = {each.run.experiment for each in self.ended}
        return [name for name in self.wish.names if name not in known]

    @property
    def has_failed(self) -> bool:
        """Whether there are cells that nobody expected to be empty."""
        return any(each.failed for each in self.ended)


def run_wish(terminal: Terminal, wish: Wish) -> Told:
    """Run experiments, and show how far they have come.

    Parameters
    ----------
    terminal : Terminal
    wish : Wish

    Returns
    -------
    Told
    """
    from reproduction.cli._progress import shown
    from reproduction.cli._watch import Watch
    from reproduction.experiments import run_experiments

    watch, start = Watch(), time.monotonic()
    try:
        with shown(terminal, watch) as progress:
            runs = run_experiments(
                wish.names,
                protocol=wish.protocol,
                out=wish.out,
                jobs=wish.jobs,
                seeds=wish.seeds,
                methods=wish.methods,
                datasets=wish.datasets,
                data=wish.data,
                progress=progress,
            )
    except KeyboardInterrupt as error:
        msg = "Stopped; start again to go on. What was finished is kept."
        raise Stopped(msg) from error
    ended = [_end(run, watch.empty[run.experiment], wish.out) for run in runs]
    return Told(wish, ended, time.monotonic() - start)


def _end(run: "Run", without_value: "Iterable[Cell]", out: Path) -> Ended:
    unexpected = {cell.key for cell in run.failed}
    empty: list[Cell] = []
    failed: list[Cell] = []
    for cell in without_value:
        (failed if cell.key in unexpected else empty).append(cell)
    drawn = [out / f"{run.experiment}{suffix}" for suffix in (".json", ".npz")]
    files = [path for path in (run.path, *drawn) if path.exists()]
    return Ended(run, empty, failed, files)


def sum_up(terminal: Terminal, told: Told) -> None:
    """Write what was run, what is empty and why, and what was left out.

    Parameters
    ----------
    terminal : Terminal
    told : Told
    """
    header = ("experiment", ">run", ">there before", ">empty", ">failed", "files")
    rows = [
        (
            each.run.experiment,
            str(each.run.n_run),
            str(each.run.n_skipped),
            str(len(each.empty)),
            str(len(each.failed)),
            ", ".join(map(str, each.files)),
        )
        for each in told.ended
    ]
    terminal.table(header, rows)
    for each in told.ended:
        for line in _reasons(each.empty):
            terminal.say(f"Empty in {each.run.experiment}: {line}")
        for line in _reasons(each.failed):
            terminal.complain(f"Failed in {each.run.experiment}: {line}")
    if told.left_out:
        names = ", ".join(told.left_out)
        terminal.note(f"Left out, as they have nothing of what was asked for: {names}.")


def _reasons(cells: "Iterable[Cell]") -> Iterator[str]:
    """Name the cells of each method and reason in a line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        group = groups.setdefault((cell.method, cell.params["why"]), [])
        group.append(place_of(cell))
    for (_, why), (first, *others) in groups.items():
        more = f" and {len(others)} more of this method" if others else ""
        yield f"{first}{more}: {why}"


def to_record(told: Told) -> dict[str, Any]:
    """Return the same as ``sum_up``, for a script.

    Parameters
    ----------
    told : Told

    Returns
    -------
    dict
    """
    return {
        "protocol": told.wish.protocol,
        "data": told.wish.data,
        "out": told.wish.out,
        "seconds": round(told.seconds, 3),
        "left_out": told.left_out,
        "experiments": [
            {
                "experiment": each.run.experiment,
                "run": each.run.n_run,
                "there_before": each.run.n_skipped,
                "empty": list(map(_cell, each.empty)),
                "failed": list(map(_cell, each.failed)),
                "files": each.files,
            }
            for each in told.ended
        ],
    }


def _cell(cell: "Cell") -> dict[str, Any]:
    names = ("dataset", "rate", "method", "fold", "seed")
    return {
        **{name: getattr(cell, name) for name in names},
        "why": cell.params["why"],
    }
