"""What there is to compute: one job for each cell that is fitted on its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacunet._validation import check_choice, check_positive_int
from reproduction.experiments._protocols import PROTOCOLS
from reproduction.experiments._record import DIGITS, Experiment, Rate, Setting

Key = tuple[str, str, Rate, str, int, int, str, str]


@dataclass(frozen=True)
class Job:
    """A method on a fold of a data set; it gives a cell for each metric.

    Attributes
    ----------
    experiment, dataset : str
    rate : float or None
    method : str
    fold, seed : int
    protocol : str
    data : str or None
    """

    experiment: str
    dataset: str
    rate: Rate
    method: str
    fold: int
    seed: int
    protocol: str
    data: str | None = None

    def keys(self, metrics: Sequence[str]) -> list[Key]:
        """Return the keys of its cells in a result file.

        Parameters
        ----------
        metrics : sequence of str

        Returns
        -------
        list of tuple
        """
        place = (self.experiment, self.dataset, self.rate, self.method)
        run = (self.fold, self.seed, self.protocol)
        return [(*place, *run, metric) for metric in metrics]


@dataclass(frozen=True)
class Choice:
    """What of an experiment is run.

    Attributes
    ----------
    protocol : str
    seeds : int
    methods, datasets : sequence of str or None
        Some columns and rows of the table; all if None.
    data : {"digits", None}
    """

    protocol: str = "quick"
    seeds: int = 1
    methods: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    data: str | None = None

    def settings(self, experiment: Experiment) -> list[Setting]:
        """Return the rows that were chosen, in the order of the table.

        Parameters
        ----------
        experiment : Experiment

        Returns
        -------
        list of Setting
        """
        rows = [
            row
            for row in experiment.settings_for(self.data)
            if not row.protocols or self.protocol in row.protocols
        ]
        known = list(dict.fromkeys(row.dataset for row in rows))
        chosen = _choose(self.datasets, known, "datasets")
        return [row for row in rows if row.dataset in chosen]

    def columns(self, experiment: Experiment) -> list[str]:
        """Return the methods that were chosen, in the order of the table.

        Parameters
        ----------
        experiment : Experiment

        Returns
        -------
        list of str
        """
        only = PROTOCOLS[self.protocol].methods
        known = [key for key in experiment.methods if not only or key in only]
        return _choose(self.methods, known, "methods")


def check_choice_of(experiment: Experiment, choice: Choice) -> None:
    """Refuse what can't be run.

    Parameters
    ----------
    experiment : Experiment
    choice : Choice
    """
    check_choice(choice.protocol, experiment.protocols, "protocol")
    check_positive_int(choice.seeds, "seeds")
    if choice.data is not None:
        check_choice(choice.data, (DIGITS,), "data")


def plan_jobs(experiment: Experiment, choice: Choice) -> Iterator[Job]:
    """List what there is to compute, the first seed of all rows first.

    Parameters
    ----------
    experiment : Experiment
    choice : Choice

    Yields
    ------
    Job
    """
    budget = experiment.budget(choice.protocol, choice.data)
    n_folds = PROTOCOLS[choice.protocol].n_folds if experiment.cross_validated else 1
    rows, columns = choice.settings(experiment), choice.columns(experiment)
    for seed in range(max(choice.seeds, budget.n_seeds)):
        for row in rows:
            for fold in range(n_folds):
                for method in _of_row(row, columns):
                    yield Job(
                        experiment.cells_of or experiment.name,
                        row.dataset,
                        row.rate,
                        method,
                        fold,
                        seed,
                        choice.protocol,
                        choice.data,
                    )


def _of_row(row: Setting, columns: Sequence[str]) -> list[str]:
    return [key for key in columns if not row.methods or key in row.methods]


def _choose(wanted: Sequence[str] | None, known: list[str], name: str) -> list[str]:
    if wanted is None:
        return known
    chosen = [wanted] if isinstance(wanted, str) else list(wanted)
    for key in chosen:
        if key not in known:
            msg = f"Got {key!r} in {name}, but expected some of {', '.join(known)}."
            raise ValueError(msg)
    return [key for key in known if key in chosen]
