"""The record of an experiment: mostly data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

Rate = float | None
Reported = Mapping[tuple[str, Rate], Mapping[str, float]]
Body = Literal["mlp", "rbf", "autoencoder"]

DIGITS = "digits"  # the stand-ins that come with scikit-learn


@dataclass(frozen=True)
class Setting:
    """A row of a table: a data set, and the share of its values that is removed.

    Attributes
    ----------
    dataset : str
    rate : float or None
        None if nothing is removed, because the data have holes of their own, or if a
        patch is.
    methods : tuple of str
        The columns that this row has; all of the table if empty.
    protocols : tuple of str
        What it is measured by; all that the experiment has if empty.

    Examples
    --------
    >>> from reproduction.experiments import Setting
    >>> Setting("heart", 0.5)
    Setting(dataset='heart', rate=0.5, methods=(), protocols=())
    """

    dataset: str
    rate: Rate = None
    methods: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


@dataclass(frozen=True)
class Budget:
    """How much an experiment may cost under a protocol.

    Attributes
    ----------
    parameters : mapping
        Values of parameters, for each model that has parameters of such names, those
        of its parts among them.
    n_rows : int or None
        At most so many rows take part.
    n_seeds : int
        At least so many seeds are run.
    of_method : mapping of str to mapping
        Parameters of single methods, on top.

    Examples
    --------
    >>> from reproduction.experiments import Budget
    >>> budget = Budget({"max_epochs": 5}, of_method={"knn": {"n_neighbors": 3}})
    >>> budget.parameters_of("knn")
    {'max_epochs': 5, 'n_neighbors': 3}
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int | None = None
    n_seeds: int = 1
    of_method: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def parameters_of(self, method: str) -> dict[str, Any]:
        """Return the values for a method.

        Parameters
        ----------
        method : str

        Returns
        -------
        dict
        """
        return {**self.parameters, **self.of_method.get(method, {})}


@dataclass(frozen=True)
class Drawing:
    """What a figure is drawn from, when the cells are there.

    Attributes
    ----------
    folder : Path
        Where results are.
    protocol : str
    data : str or None
    settings : sequence of Setting
    methods : sequence of str
    """

    folder: Path
    protocol: str
    data: str | None
    settings: Sequence[Setting]
    methods: Sequence[str]

    @property
    def label(self) -> str:
        """Name of the protocol, and of the stand-ins if there are any."""
        return self.protocol if self.data is None else f"{self.protocol}-{self.data}"


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what is run, and what the paper reports.

    Attributes
    ----------
    name : str
        By the paper's own number.
    title : str
    settings : tuple of Setting
        Rows of the table.
    stand_ins : tuple of Setting
        The same with data that come with scikit-learn.
    methods : tuple of str
        Columns of the table.
    metrics : tuple of str
        What a cell is measured by; the first is the main one.
    body : {"mlp", "rbf", "autoencoder"}
        The network behind the methods that have one.
    protocols : tuple of str
    cross_validated : bool
        Whether there are folds and grids, if the protocol has them; else there is one
        split, and nothing is chosen.
    reported : mapping
        What the paper reports, ``reported[metric][dataset, rate][method]``. Its "our"
        is the method ``paper``.
    parameters : mapping
        As in ``Budget``, for all methods but ``lacunet``, which has its own defaults.
    budgets : mapping of str to Budget
        By protocol; that of "digits" is for the stand-ins, and what it does not say
        of parameters is as in the protocol.
    draw : callable or None
        What the data of a figure are computed by, from a ``Drawing``.
    cells_of : str or None
        Name of the experiment whose cells are run for a figure; its own if None.
    note : str
        What a reader must know.

    Examples
    --------
    >>> from reproduction.experiments import load_experiment
    >>> table = load_experiment("table-4")
    >>> table.reported["accuracy"]["horse", None]["paper"]
    0.864
    """

    name: str
    title: str
    settings: tuple[Setting, ...] = ()
    stand_ins: tuple[Setting, ...] = ()
    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    body: Body = "mlp"
    protocols: tuple[str, ...] = ("paper", "quick")
    cross_validated: bool = True
    reported: Mapping[str, Reported] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    draw: Callable[[Drawing], Mapping[str, Any]] | None = None
    cells_of: str | None = None
    note: str = ""

    @property
    def higher_is_better(self) -> bool:
        """Whether a large value of the metrics is good: not so if they are errors."""
        return self.metrics[0] == "accuracy"

    def settings_for(self, data: str | None) -> tuple[Setting, ...]:
        """Return the rows of the table, with the paper's data or with stand-ins.

        Parameters
        ----------
        data : {"digits", None}

        Returns
        -------
        tuple of Setting
        """
        return self.stand_ins if data == DIGITS else self.settings

    def budget(self, protocol: str, data: str | None) -> Budget:
        """Return what a run may cost.

        Parameters
        ----------
        protocol : str
        data : {"digits", None}

        Returns
        -------
        Budget
        """
        found = self.budgets.get(protocol, Budget())
        if data is None or data not in self.budgets:
            return found
        small = self.budgets[data]
        return replace(small, parameters={**found.parameters, **small.parameters})
