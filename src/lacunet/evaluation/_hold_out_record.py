"""What is known of a model that was judged on rows held out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from lacunet.evaluation._holes_and_error import HoleBin
from lacunet.evaluation._importance import Importance
from lacunet.evaluation._losses import Estimate
from lacunet.evaluation._reliability import Agreement, Reliability
from lacunet.evaluation._task import Task

Label = str | int | float | bool
About = Literal["scores", "reliability", "columns", "holes", "classes", "learning"]

# The models that are fitted on the same rows, and what they are called.
OURS, RIVAL, TRIVIAL = "lacunet", "hgb", "trivial"
TITLES: Mapping[str, str] = {
    OURS: "lacunet",
    RIVAL: "HistGradientBoosting",
    TRIVIAL: "trivial model",
}


@dataclass(frozen=True)
class ClassRows:
    """A class, and how many rows it has.

    Attributes
    ----------
    name : str, int, float or bool
    n_train, n_test : int
    """

    name: Label
    n_train: int
    n_test: int


@dataclass(frozen=True)
class LearningStep:
    """An epoch of training.

    Attributes
    ----------
    epoch : int
    train_loss, valid_loss : float
        Mean over the views of the table that were still in training: of the rows that
        are learned from, with more of them hidden and with the density's own part; and
        of rows that the networks hold back.
    best : bool
        Whether one of the views got better than ever before.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    best: bool


@dataclass(frozen=True)
class HoldOutFinding:
    """Something that the rows held out have shown.

    Attributes
    ----------
    about : {"scores", "reliability", "columns", "holes", "classes", "learning"}
    head : str
        In a few words.
    text : str
        A sentence or two, with numbers.
    weak : bool
        Whether it is something to beware of.
    """

    about: About
    head: str
    text: str
    weak: bool = False


@dataclass(frozen=True)
class HoldOut:
    """A model that was judged on rows it has not seen, and others beside it.

    Models are named ``"lacunet"``, ``"hgb"`` and ``"trivial"``.

    Attributes
    ----------
    task : {"classification", "regression"}
    n_train, n_test, n_unlabelled, n_columns : int
        Rows to learn from, rows held out, rows without a target that were learned from
        too; columns.
    test_size : float
    random_state : int
    classes : tuple of ClassRows
        In the order of the probabilities; empty for a regression.
    scores : mapping of str to mapping of str to float or None
        Of each model, by the key of the metric.
    estimates : mapping of str to Estimate
        The first score of each model, with its standard error.
    leads : mapping of str to Estimate
        The first score of each other model less ours, row by row: above 0 ours is
        better.
    seconds : mapping of str to float
        That each model took to be fitted.
    max_epochs : int
    time_limit : float or None
        Seconds that ours was given.
    learning : tuple of LearningStep
        As many as there were epochs.
    reliability : mapping of str to Reliability
        Of ours and HistGradientBoosting's probabilities: of the second class if there
        are two, else of the likeliest. Empty for a regression.
    agreement : mapping of str to Agreement
        Of their predictions; empty for a classification.
    mean_confidence : float or None
        Mean probability of the class that was chosen, by ours.
    by_holes : tuple of HoleBin
        Their losses by the number of missing values in a row.
    importance : Importance
        Which columns ours relies on.
    confusion : tuple of tuple of int
        Rows held out by class (down) and by the class that ours chose (across). Empty
        for a regression, and beyond 20 classes.
    never_missing : tuple of str
        Columns that have a value in all rows that were learned from.
    empty : tuple of str
        Columns that have none in them.
    versions : mapping of str to str
    model : estimator
        Ours, fitted.
    """

    task: Task
    n_train: int
    n_test: int
    n_unlabelled: int
    n_columns: int
    test_size: float
    random_state: int
    classes: tuple[ClassRows, ...]
    scores: Mapping[str, Mapping[str, float | None]]
    estimates: Mapping[str, Estimate]
    leads: Mapping[str, Estimate]
    seconds: Mapping[str, float]
    max_epochs: int
    time_limit: float | None
    learning: tuple[LearningStep, ...]
    reliability: Mapping[str, Reliability]
    agreement: Mapping[str, Agreement]
    mean_confidence: float | None
    by_holes: tuple[HoleBin, ...]
    importance: Importance
    confusion: tuple[tuple[int, ...], ...]
    never_missing: tuple[str, ...]
    empty: tuple[str, ...]
    versions: Mapping[str, str]
    model: Any = field(default=None, repr=False, compare=False)

    @property
    def n_epochs(self) -> int:
        """Number of epochs of training."""
        return len(self.learning)

    @property
    def findings(self) -> tuple[HoldOutFinding, ...]:
        """What it comes to, in words."""
        from lacunet.evaluation._hold_out_findings import make_findings

        return make_findings(self)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the model as plain data, for JSON.

        Returns
        -------
        dict
        """
        plain = asdict(replace(self, model=None))
        del plain["model"]
        findings = [asdict(finding) for finding in self.findings]
        return {**plain, "n_epochs": self.n_epochs, "findings": findings}
