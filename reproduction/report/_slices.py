"""Results taken apart: one experiment, one protocol, one kind of data at a time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reproduction.experiments import PROTOCOLS, Experiment
from reproduction.experiments._autoencoders import SHORT
from reproduction.experiments._columns import COLUMNS, DENSITIES, MARGINS, RIVALS
from reproduction.experiments._jobs import Choice, Key, plan_jobs
from reproduction.experiments._record import DIGITS
from reproduction.experiments._sources import PATCH
from reproduction.statistics import Cell

Data = Literal["paper", "stand-ins", "other"]
Row = tuple[str, float | None]

DATA: tuple[Data, ...] = ("paper", "stand-ins", "other")
TAGS = {"paper": "", "stand-ins": "stand-in data", "other": "other data"}

# The groups of methods, in the order of tables.
GROUPS = (
    "The paper's rivals",
    "The paper's method and variants",
    "Beyond the paper",
    "Today's rivals",
    "Others",
    "Shown complete data, out of competition",
)

OURS, PAPER, COMPLETE = "lacunet", "paper", "complete"
AUTHORS = "authors"
# Methods that are called otherwise in sentences.
TITLES = {
    PAPER: "paper (as published)",
    "paper-relu": "paper, ReLU throughout",
    "lacunet-wide": "lacunet, wider network",
    SHORT: "lacunet, few epochs",
    "em-frozen": "EM frozen",
}
# What the paper compares itself with by filling, and by dropping, what is missing.
IMPUTATIONS = ("knn", "mice", "mean", "gmm", "dropout")
# As in the paper, who is shown complete data is out of competition.
SHOWN_COMPLETE = (
    COMPLETE,
    *(key for key, method in COLUMNS.items() if method.needs_complete),
)


@dataclass(frozen=True)
class Slice:
    """The cells of an experiment that may stand in one table.

    Attributes
    ----------
    experiment : Experiment
    protocol : str
    data : {"paper", "stand-ins", "other"}
        The paper's own data sets, those that come with scikit-learn in their place, or
        sets that the experiment does not know.
    cells : tuple of Cell
    """

    experiment: Experiment
    protocol: str
    data: Data
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """Heading of what is shown of it."""
        return name_protocol(self.protocol)

    @property
    def tag(self) -> str:
        """What sets it apart from the real thing; nothing if it is."""
        return TAGS[self.data]

    @property
    def metric(self) -> str:
        """The metric that methods are ranked by."""
        return self.experiment.metrics[0]

    @property
    def rows(self) -> list[Row]:
        """Data sets and rates that have cells, in the order of the experiment."""
        found = {(cell.dataset, cell.rate) for cell in self.cells}
        return [row for row in _known_rows(self.experiment) if row in found] + sorted(
            found.difference(_known_rows(self.experiment)), key=str
        )

    @property
    def main_rows(self) -> list[Row]:
        """Those that methods are ranked on.

        With several metrics, the rows that the paper reports of, if there are any: the
        others are there to look at, and not all methods are run on them.
        """
        reported = self.experiment.reported.get(self.metric, {})
        main = [row for row in self.rows if row in reported]
        return main if main and len(self.experiment.metrics) > 1 else self.rows

    @property
    def methods(self) -> list[str]:
        """Methods that have cells, in the order of the experiment."""
        found = {cell.method for cell in self.cells}
        known = [key for key in self.experiment.methods if key in found]
        return known + sorted(found.difference(known))

    def only(self, cells: Iterable[Cell]) -> "Slice":
        """Return the same with fewer cells."""
        return replace(self, cells=tuple(cells))

    def find_planned(self) -> frozenset[Key]:
        """Return the keys of all cells of a whole run; none if that is not known."""
        if self.data == "other" or self.protocol not in PROTOCOLS:
            return frozenset()
        n_seeds = 1 + max(cell.seed for cell in self.cells)
        data = DIGITS if self.data == "stand-ins" else None
        choice = Choice(self.protocol, n_seeds, data=data)
        jobs = plan_jobs(self.experiment, choice)
        metrics = self.experiment.metrics
        return frozenset(key for job in jobs for key in job.keys(metrics))

    def count_missing(self) -> int:
        """Return how many cells of a whole run are not there."""
        return len(self.find_planned().difference(cell.key for cell in self.cells))


def slice_cells(experiment: Experiment, cells: Sequence[Cell]) -> list[Slice]:
    """Take the cells of an experiment apart.

    Parameters
    ----------
    experiment : Experiment
    cells : sequence of Cell
        Those of other experiments are passed over.

    Returns
    -------
    list of Slice
        The paper's data first, and of these the paper's protocol.
    """
    found: dict[tuple[Data, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.experiment == experiment.name:
            found[_data_of(experiment, cell.dataset), cell.protocol].append(cell)
    slices = [
        Slice(experiment, protocol, data, tuple(chosen))
        for (data, protocol), chosen in found.items()
    ]
    return sorted(slices, key=lambda each: order_of(each.protocol, each.data))


def order_of(protocol: str, data: Data) -> tuple[int, int, str]:
    """Return what is shown first: real data, and the paper's protocol."""
    known = list(PROTOCOLS)
    place = known.index(protocol) if protocol in known else len(known)
    return DATA.index(data), place, protocol


def join_slices(first: Slice, second: Slice) -> Slice:
    """Return the cells of two tables of one protocol as if they were of one table.

    Parameters
    ----------
    first, second : Slice

    Returns
    -------
    Slice
    """
    name = f"{first.experiment.name}+{second.experiment.name}"
    experiment = replace(
        second.experiment,
        name=name,
        settings=(*first.experiment.settings, *second.experiment.settings),
    )
    cells = (*first.cells, *second.cells)
    return Slice(
        experiment,
        first.protocol,
        first.data,
        tuple(replace(cell, experiment=name) for cell in cells),
    )


# --- names


def name_protocol(protocol: str) -> str:
    """Return a protocol as a heading."""
    return "Authors' protocol" if protocol == AUTHORS else f"Protocol {protocol}"


def name_method(method: str) -> str:
    """Return a method as tables call it."""
    if method in TITLES:
        return TITLES[method]
    return COLUMNS[method].title if method in COLUMNS else method


def name_group(method: str) -> str:
    """Return which methods a method stands with, one of ``GROUPS``."""
    published, ours, beyond, rivals, others, complete = GROUPS
    if method in SHOWN_COMPLETE:
        return complete
    if method in (PAPER, *DENSITIES) or method.startswith(f"{PAPER}-"):
        return ours
    if method in (*MARGINS, *IMPUTATIONS):
        return published
    if method in RIVALS:
        return rivals
    return beyond if method.startswith(OURS) else others


def name_set(experiment: Experiment, dataset: str) -> str:
    """Return a data set as tables call it; of images with the side of the patch."""
    if experiment.body != "autoencoder":
        return dataset
    name, _, side = dataset.partition("-")
    known = side or PATCH.get(name)
    return f"{name}, patch {known} × {known}" if known else dataset


def name_rate(rate: float | None) -> str:
    """Return how much was removed."""
    if rate is None:
        return ""
    return f"{rate:.0%} removed" if rate else "complete"


def name_row(experiment: Experiment, row: Row) -> str:
    """Return a data set with its rate, if it has several."""
    dataset, rate = row
    known = _known_rows(experiment)
    rates = {other for name, other in known if name == dataset}
    named = name_set(experiment, dataset)
    if rate is None or (len(rates) == 1 and row in known):
        return named
    return f"{named}, {name_rate(rate)}"


def _known_rows(experiment: Experiment) -> list[Row]:
    settings = (*experiment.settings, *experiment.stand_ins)
    return list(dict.fromkeys((each.dataset, each.rate) for each in settings))


def _data_of(experiment: Experiment, dataset: str) -> Data:
    if any(dataset == setting.dataset for setting in experiment.settings):
        return "paper"
    if any(dataset == setting.dataset for setting in experiment.stand_ins):
        return "stand-ins"
    return "other"
