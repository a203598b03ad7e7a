"""What a comparison of methods has found, as plain data."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lacunet.evaluation._scores import Metric
from lacunet.evaluation._target import Task

OURS = "lacunet"

About = Literal["best", "ours", "metrics", "time", "missing"]


@dataclass(frozen=True)
class Summary:
    """One score of a method.

    Attributes
    ----------
    by_fold : tuple of float or None
        None where the method failed, or where the score has no value. Folds of the
        first repeat come first.
    mean : float or None
        Over the folds that have a value; None without any.
    stderr : float or None
        Standard error of one cross-validation, for orientation: folds share rows. More
        repeats do not make it smaller.
    rank : float or None
        Mean rank over folds among the methods that have a value on all; 1 is the best.
    complete : bool
        Whether there is a value on each fold that any method has a value on.
    """

    by_fold: tuple[float | None, ...]
    mean: float | None
    stderr: float | None
    rank: float | None
    complete: bool


@dataclass(frozen=True)
class Failure:
    """Why a method has no value on a fold.

    Attributes
    ----------
    fold : int
    without : str or None
        The column that was missing; None if it failed with all columns.
    why : str
    """

    fold: int
    without: str | None
    why: str


@dataclass(frozen=True)
class MethodResult:
    """What became of a method.

    Attributes
    ----------
    key : str
        Of ``lacunet.baselines.METHODS``.
    title : str
    scores : mapping of str to Summary
        By the key of the metric.
    without : mapping of str to mapping of str to Summary
        The same for each column that was hidden in the test rows.
    seconds_by_fold : tuple of float or None
        Of fitting and predicting, on one core.
    seconds : float or None
        Their median.
    failures : tuple of Failure
    warnings : tuple of str
        Each text once.
    """

    key: str
    title: str
    scores: Mapping[str, Summary]
    without: Mapping[str, Mapping[str, Summary]]
    seconds_by_fold: tuple[float | None, ...]
    seconds: float | None
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]

    def at(self, without: str | None) -> Mapping[str, Summary]:
        """Return the scores with all columns, or without one.

        Parameters
        ----------
        without : str or None

        Returns
        -------
        mapping of str to Summary
        """
        return self.scores if without is None else self.without[without]


@dataclass(frozen=True)
class Against:
    """Our method against a rival, on the same folds.

    Attributes
    ----------
    rival, metric : str
        Keys.
    without : str or None
        The column that was missing in the test rows.
    gain : float
        How much better ours is in the mean over folds; negative if it is worse,
        whether the metric is to be high or low.
    low, high : float
        Where the gain may well be: 95%, by the corrected resampled t-test.
    p : float
        Of that test.
    p_holm : float
        The same, corrected for the number of rivals.
    different : bool
        Whether ``p_holm`` is at most 0.05.
    n_folds : int
        Folds on which both have a value.
    """

    rival: str
    metric: str
    without: str | None
    gain: float
    low: float
    high: float
    p: float
    p_holm: float
    different: bool
    n_folds: int


@dataclass(frozen=True)
class Finding:
    """Something that a comparison has found.

    Attributes
    ----------
    about : {"best", "ours", "metrics", "time", "missing"}
    head : str
        In a few words.
    text : str
        A few sentences, with numbers.
    """

    about: About
    head: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """Methods compared on one table by cross-validation, as plain data.

    Attributes
    ----------
    task : {"classification", "regression"}
    metrics : tuple of Metric
        The first is what methods are told apart by.
    n_rows, n_columns : int
        Without the target.
    share_missing : float
        Of the cells.
    classes : tuple of str
        Empty for a regression.
    n_folds, n_repeats : int
    stratified : bool
        Whether each fold has about the same share of each class.
    n_train, n_test : int
        Rows of a split, on average.
    seed : int or None
        None if a random state was given, or none at all.
    drop_at_test : tuple of str
        Columns that were hidden in the test rows, one at a time.
    methods : tuple of MethodResult
    trivial : mapping of str to Summary
        What is known without any column: the shares of the classes, or the mean.
    tests : tuple of Against
    notes : tuple of str
        What was done otherwise than asked, and what failed.
    versions : mapping of str to str
    findings : tuple of Finding
        What it comes to, in words.
    """

    task: Task
    metrics: tuple[Metric, ...]
    n_rows: int
    n_columns: int
    share_missing: float
    classes: tuple[str, ...]
    n_folds: int
    n_repeats: int
    stratified: bool
    n_train: int
    n_test: int
    seed: int | None
    drop_at_test: tuple[str, ...]
    methods: tuple[MethodResult, ...]
    trivial: Mapping[str, Summary]
    tests: tuple[Against, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    findings: tuple[Finding, ...] = ()

    @property
    def ours(self) -> MethodResult | None:
        """Our method, if it took part."""
        return next((each for each in self.methods if each.key == OURS), None)

    def ordered(
        self, metric: Metric, without: str | None = None
    ) -> list[tuple[MethodResult, Summary]]:
        """Return the methods with a score, the best first.

        Those that failed on some folds come last: their means are over other rows.

        Parameters
        ----------
        metric : Metric
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        list of (MethodResult, Summary)
        """
        sign = -1 if metric.higher_is_better else 1
        found = [
            (not summary.complete, sign * summary.mean, place, method, summary)
            for place, method in enumerate(self.methods)
            if (summary := method.at(without)[metric.key]).mean is not None
        ]
        return [(method, summary) for *_, method, summary in sorted(found)]

    def tests_of(self, metric: Metric, without: str | None = None) -> list[Against]:
        """Return our method against each rival.

        Parameters
        ----------
        metric : Metric
        without : str, default=None
            A column that was missing in the test rows.

        Returns
        -------
        list of Against
        """
        return [
            each
            for each in self.tests
            if (each.metric, each.without) == (metric.key, without)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, texts and numbers, for JSON.

        Returns
        -------
        dict
        """
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), allow_nan=False))
        return plain
