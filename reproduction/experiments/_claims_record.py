"""Claims, what they are judged by, and what comes out."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lacunet.exceptions import LacunetError
from reproduction.experiments._catalogue import load_experiment
from reproduction.experiments._files import read_arrays
from reproduction.experiments._record import DIGITS, Drawing, Setting
from reproduction.statistics import Cell

Outcome = Literal["holds", "does not hold", "not decidable"]
HOLDS: Outcome = "holds"
DOES_NOT: Outcome = "does not hold"
OPEN: Outcome = "not decidable"


class LackingError(LacunetError):
    """There are no results of what a claim is judged by.

    Parameters
    ----------
    what : str
    partial : bool, default=False
        Whether there are some already.
    """

    def __init__(self, what: str, *, partial: bool = False) -> None:
        super().__init__(what)
        self.partial = partial


@dataclass(frozen=True)
class Finding:
    """What a rule says of some results.

    Attributes
    ----------
    outcome : {"holds", "does not hold", "not decidable"}
    why : str
    figures : mapping of str to float
    """

    outcome: Outcome
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results of one protocol, on the paper's data or on stand-ins.

    Attributes
    ----------
    folder : Path
    protocol : str
    data : str or None
    every : tuple of Cell
        All that the folder has, those of other protocols too.
    """

    folder: Path
    protocol: str
    data: str | None
    every: tuple[Cell, ...] = ()

    @property
    def label(self) -> str:
        """Name of the protocol, and of the stand-ins if there are any."""
        return Drawing(self.folder, self.protocol, self.data, (), ()).label

    def settings(self, name: str) -> tuple[Setting, ...]:
        """Return the rows of an experiment.

        Parameters
        ----------
        name : str

        Returns
        -------
        tuple of Setting
        """
        return load_experiment(name).settings_for(self.data)

    def cells(
        self, name: str, metric: str, rows: Iterable[Setting] | None = None
    ) -> list[Cell]:
        """Return the cells of an experiment that have a value.

        Parameters
        ----------
        name : str
        metric : str
        rows : iterable of Setting, default=None
            Some rows of the table; all by default.

        Returns
        -------
        list of Cell
        """
        chosen = self.settings(name) if rows is None else rows
        places = {(row.dataset, row.rate) for row in chosen}
        return [
            cell
            for cell in self.every
            if (cell.experiment, cell.protocol) == (name, self.protocol)
            and (cell.dataset, cell.rate) in places
            and cell.metric == metric
            and cell.value is not None
        ]

    def figure(self, name: str) -> Any:
        """Return the data of a figure.

        Parameters
        ----------
        name : str

        Returns
        -------
        mapping
        """
        path = self.folder / f"{name}.json"
        try:
            known = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            known = {}
        except ValueError as error:
            msg = f"Got {path} that is not proper JSON. Delete it and run {name} again."
            raise LacunetError(msg) from error
        if self.label not in known:
            msg = f"no data of {name}"
            raise LackingError(msg)
        return known[self.label]

    def images(self) -> dict[str, np.ndarray]:
        """Return the images of figure 2.

        Returns
        -------
        dict of str to ndarray of shape (images, pixels)
        """
        start = f"{self.label}/"
        found = {
            name.removeprefix(start): array
            for name, array in read_arrays(self.folder / "figure-2.npz").items()
            if name.startswith(start)
        }
        if not found:
            msg = "no images of figure-2"
            raise LackingError(msg)
        return found

    def tell(self, name: str) -> str:
        """Return in words which results of an experiment these are.

        Parameters
        ----------
        name : str

        Returns
        -------
        str
        """
        experiment = load_experiment(name)
        has_stand_ins = experiment.settings != experiment.stand_ins
        data = ", stand-ins" if self.data == DIGITS and has_stand_ins else ""
        return f"From {name}, protocol {self.protocol}{data}."


Judge = Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and how it is judged.

    Attributes
    ----------
    name : str
    statement : str
        What the paper says.
    place : str
        Where it says so.
    rule : str
        How results decide, so that a reader can disagree.
    experiment : str
        The one that has the results.
    judge : callable
        The rule, from an ``Evidence`` to a ``Finding``.

    Examples
    --------
    >>> from reproduction.experiments.claims import CLAIMS
    >>> CLAIMS[0].name, CLAIMS[0].experiment
    ('lower-error-inside', 'table-1')
    """

    name: str
    statement: str
    place: str
    rule: str
    experiment: str
    judge: Judge = field(repr=False)


@dataclass(frozen=True)
class Verdict:
    """What the results say of a claim.

    Attributes
    ----------
    claim : Claim
    outcome : {"holds", "does not hold", "not decidable"}
    why : str
        The numbers in words, and which results they are from.
    figures : mapping of str to float
        The numbers. Those that begin with "reported" are the paper's own.
    source : str or None
        Protocol of the results, with ``-digits`` behind it for stand-ins; None if
        there are none.

    Examples
    --------
    >>> from reproduction.experiments.claims import judge_claims
    >>> verdict = judge_claims("no-such-folder")[0]
    >>> verdict.outcome
    'not decidable'
    """

    claim: Claim
    outcome: Outcome
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)
    source: str | None = None
