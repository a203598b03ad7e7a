"""What a folder of results holds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.exceptions import LacunetError
from reproduction.experiments import Experiment, list_experiments, load_experiment
from reproduction.experiments._files import read_arrays
from reproduction.experiments._record import DIGITS
from reproduction.report._slices import Data, Slice, order_of, slice_cells
from reproduction.statistics import Cell, read_results

Contents = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """The data of a figure, as one run has computed them.

    Attributes
    ----------
    protocol : str
    data : {"paper", "stand-ins"}
    content : mapping
    """

    protocol: str
    data: Data
    content: Contents


@dataclass(frozen=True)
class Folder:
    """The results of experiments.

    Attributes
    ----------
    path : Path
    cells : tuple of Cell
    figures : mapping of str to tuple of Drawn
        By the name of the experiment; those of real data and of the paper's protocol
        first.
    """

    path: Path
    cells: tuple[Cell, ...]
    figures: Mapping[str, tuple[Drawn, ...]]

    def slices(self, experiment: Experiment) -> list[Slice]:
        """Return the cells of an experiment, by protocol and kind of data."""
        return slice_cells(experiment, self.cells)

    def has(self, name: str) -> bool:
        """Return whether there is anything of an experiment."""
        return bool(self.figures.get(name)) or any(
            cell.experiment == name for cell in self.cells
        )


def read_folder(path: Path) -> Folder:
    """Read the results in a folder.

    Parameters
    ----------
    path : Path
        That of ``run_experiment(out=...)``.

    Returns
    -------
    Folder
        With at least one result.
    """
    if not path.is_dir():
        what = "a file" if path.exists() else "nothing there"
        msg = (
            f"Got results={str(path)!r}, {what}, but expected a folder. {_advise(path)}"
        )
        raise LacunetError(msg)
    experiments = [load_experiment(name) for name in list_experiments()]
    figures = {each.name: _read_figure(path, each) for each in experiments}
    cells = tuple(read_results(path))
    if not cells and not any(figures.values()):
        msg = (
            f"Got results={str(path)!r} without any result, but expected the files of "
            f"an experiment. {_advise(path)}"
        )
        raise LacunetError(msg)
    return Folder(path, cells, figures)


def _advise(path: Path) -> str:
    return (
        f"Run some first: lacunet reproduce all --protocol quick --data digits --out "
        f"{path}"
    )


def _read_figure(folder: Path, experiment: Experiment) -> tuple[Drawn, ...]:
    """Return the data of a figure, of each protocol and kind of data once."""
    read = {
        **_read_json(folder / f"{experiment.name}.json"),
        **_read_images(folder / f"{experiment.name}.npz"),
    }
    found: dict[tuple[str, Data], Drawn] = {}
    for label in sorted(read):
        protocol, data = _split_label(label, experiment)
        found.setdefault((protocol, data), Drawn(protocol, data, read[label]))
    return tuple(found[key] for key in sorted(found, key=lambda key: order_of(*key)))


def _split_label(label: str, experiment: Experiment) -> tuple[str, Data]:
    """Return the protocol and the kind of data that a label tells."""
    protocol = label.removesuffix(f"-{DIGITS}")
    # Some have data of their own, whatever was asked for, and no stand-ins.
    has_stand_ins = experiment.stand_ins != experiment.settings
    return protocol, "stand-ins" if protocol != label and has_stand_ins else "paper"


def _read_json(path: Path) -> dict[str, Contents]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise LacunetError(_damaged(path)) from error
    if not (
        isinstance(found, dict) and all(isinstance(v, dict) for v in found.values())
    ):
        raise LacunetError(_damaged(path))
    return found


def _read_images(path: Path) -> Mapping[str, Contents]:
    """Return arrays by label and name; in the file they are ``label/name``."""
    try:
        arrays = read_arrays(path)
    except (ValueError, OSError) as error:
        raise LacunetError(_damaged(path)) from error
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, array in arrays.items():
        label, _, last = name.partition("/")
        found[label][last] = array
    return found


def _damaged(path: Path) -> str:
    return (
        f"Got {path} that can't be read, but expected the data of a figure. Delete it "
        f"and run lacunet reproduce {path.stem} again."
    )
