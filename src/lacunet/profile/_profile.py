"""The profile of a table: what is missing, and what that depends on."""

import numbers
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from lacunet._text import list_names
from lacunet.exceptions import TableError
from lacunet.profile._association import (
    CAVEAT,
    MIN_ROWS,
    AssociationTable,
    find_associations,
)
from lacunet.profile._findings import Finding, make_findings, make_notices
from lacunet.profile._input import (
    Column,
    ColumnKind,
    as_frame,
    find_oddities,
    make_unique,
    read_column,
    take,
)
from lacunet.profile._little import LittleTest, run_sampled
from lacunet.profile._patterns import (
    MissingMap,
    PatternCounts,
    RowCounts,
    Together,
    count_patterns,
    count_rows,
    find_patterns,
    find_together,
    map_missing,
)
from lacunet.profile._predictability import (
    MAX_FEATURES,
    MAX_PREDICTED,
    MAX_TRAINING_ROWS,
    Predictability,
    TargetScore,
    predict_missingness,
    score_target,
)

# Columns that are tested, those with the most missing values, and columns that they are
# tested against, those with the fewest.
MAX_TESTED, MAX_SOURCES = 50, 200
# Cells that are kept for the tests: 160 MB.
_MAX_CELLS = 20_000_000


@dataclass(frozen=True)
class ColumnProfile:
    """What is missing of a column.

    Attributes
    ----------
    name : str
        Its name; columns of the same name are numbered.
    kind : {"number", "category", "date", "empty", "other"}
        "empty" if nothing is observed, "other" if no estimator accepts it.
    n_missing : int
        Missing values.
    fraction_missing : float
        The same as a fraction of all rows.
    n_distinct : int
        Distinct values.
    """

    name: str
    kind: ColumnKind
    n_missing: int
    fraction_missing: float
    n_distinct: int


@dataclass(frozen=True)
class Dependence:
    """What the missingness of columns depends on.

    Attributes
    ----------
    tests : AssociationTable
        Tests of two columns at a time.
    predictability : tuple of Predictability
        Whether a column's missingness can be predicted from all others; for at most 20
        columns, those with the most missing values.
    n_rows : int
        Rows that were tested.
    n_training_rows : int
        Rows that ``predictability`` was cross-validated on.
    n_candidates : int
        Columns with enough missing values; ``tests`` has at most 50 of them.
    caveat : str
        What no test can show.
    """

    tests: AssociationTable
    predictability: tuple[Predictability, ...]
    n_rows: int
    n_training_rows: int
    n_candidates: int
    caveat: str = CAVEAT


@dataclass(frozen=True)
class TargetProfile:
    """Whether missingness is associated with the target.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "category", "date", "empty", "other"}
        As of a column.
    n_missing : int
        Rows without a target.
    tests : AssociationTable
        Whether a column's missingness is associated with the value of the target.
    score : TargetScore or None
        How much the missingness of all columns explains; None if there are too few
        rows.
    """

    name: str
    kind: ColumnKind
    n_missing: int
    tests: AssociationTable
    score: TargetScore | None


@dataclass(frozen=True)
class Profile:
    """What is missing in a table, as plain data.

    Attributes
    ----------
    n_rows, n_columns : int
        Size of the table, without the target.
    n_missing : int
        Missing cells.
    fraction_missing : float
        The same as a fraction of all cells.
    columns : tuple of ColumnProfile
        What is missing of each column.
    rows : RowCounts
        How many cells are missing per row.
    patterns : PatternCounts
        Which cells are missing in the same rows.
    together : Together
        Which columns are missing together.
    map_by_row : MissingMap
        Fractions of missing cells, rows in the order of the table.
    map_by_pattern : MissingMap
        The same, rows sorted by pattern, complete ones first.
    little : LittleTest or None
        Little's test of whether values are missing completely at random.
    little_note : str
        Why there is no test, or which columns were tested.
    dependence : Dependence
        What the missingness of columns depends on.
    target : TargetProfile or None
        Whether missingness is associated with the target.
    findings : tuple of Finding
        The results in words.
    notices : tuple of str
        What may be wrong with the table, with what to do.
    """

    n_rows: int
    n_columns: int
    n_missing: int
    fraction_missing: float
    columns: tuple[ColumnProfile, ...]
    rows: RowCounts
    patterns: PatternCounts
    together: Together
    map_by_row: MissingMap
    map_by_pattern: MissingMap
    little: LittleTest | None
    little_note: str
    dependence: Dependence
    target: TargetProfile | None
    findings: tuple[Finding, ...] = ()
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, strings and numbers, for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import json
        >>> from lacunet.profile import profile_table
        >>> found = profile_table([[1.0, None], [2.0, 3.0]]).as_dict()
        >>> json.dumps(found["rows"])
        '{"histogram": [[0, 1], [1, 1]], "n_complete": 1, "n_empty": 0}'
        """

        def to_lists(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: to_lists(each) for key, each in value.items()}
            if isinstance(value, (list, tuple)):
                return [to_lists(each) for each in value]
            return value

        plain: dict[str, Any] = to_lists(asdict(self))
        return plain


def profile_table(
    X: Any, *, target: Any = None, max_rows: int = 20_000, random_state: Any = 0
) -> Profile:
    """Find out what is missing in a table, and what that depends on.

    Counts are over all rows. Tests are made on a sample, if there are many rows, and on
    the columns with the most missing values, if there are many columns; the profile
    reports how many.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        ``NaN``, ``None``, ``pandas.NA`` and ``pandas.NaT`` mean missing.
    target : str, int or array-like of shape (n_samples,), default=None
        Name of a column (its index in an array), or values beside the table. It is
        removed from the columns, and the profile reports whether missingness is
        associated with it.
    max_rows : int, default=20_000
        Maximum number of rows that are tested; fewer in tables of more than a thousand
        columns.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample of rows and of the folds of cross-validation.

    Returns
    -------
    Profile

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.profile import profile_table
    >>> profile = profile_table(
    ...     pd.DataFrame({"age": [40, None, 50], "town": ["Rome", None, None]})
    ... )
    >>> profile.n_missing, profile.rows.n_complete
    (3, 1)
    >>> [(column.name, column.kind, column.n_missing) for column in profile.columns]
    [('age', 'number', 1), ('town', 'category', 2)]
    >>> profile.together.only_if
    ()
    """
    from lacunet._validation import check_positive_int  # loads torch

    check_positive_int(max_rows, "max_rows")
    # A stream of its own: the data may have been made with the same seed.
    seed = check_random_state(random_state).randint(2**31 - 1)
    stream = np.random.RandomState(seed)
    frame = as_frame(X)
    n_rows, labels = len(frame), list(frame.columns)
    all_names = make_unique(labels)
    named = isinstance(target, (str, numbers.Integral))
    place = _find_label(target, labels, all_names) if named else None
    y = None if target is None or named else _read_target(target, n_rows)

    sample: Any = slice(None)
    n_sampled = min(max_rows, max(1000, _MAX_CELLS // max(len(labels), 1)))
    if n_rows > n_sampled:
        sample = np.sort(stream.choice(n_rows, n_sampled, replace=False))
    names = [name for j, name in enumerate(all_names) if j != place]
    missing = np.empty((n_rows, len(names)), dtype=bool, order="F")
    hashes = np.zeros(n_rows, dtype=np.uint64)
    columns: list[Column] = []
    profiles, oddities = [], []
    for j, name in enumerate(all_names):
        column = read_column(name, frame.iloc[:, j])
        hashes = hashes * np.uint64(1_000_003)
        # NaN has many bit patterns, and zero two.
        cells = np.where(column.missing, np.nan, column.values) + 0.0
        hashes ^= pd.util.hash_array(cells)
        if j == place:
            y = column
            continue
        missing[:, len(columns)] = column.missing
        n_missing = int(column.missing.sum())
        n_distinct = len(np.unique(column.values[~column.missing]))
        fraction = n_missing / max(n_rows, 1)
        profiles.append(
            ColumnProfile(name, column.kind, n_missing, fraction, n_distinct)
        )
        oddities.append(find_oddities(column))
        columns.append(column.at(sample))

    patterns = find_patterns(missing)
    together = find_together(missing, names)
    little, little_note = run_sampled(columns, stream)
    dependence = _find_dependence(columns, together, stream)
    target_profile = None
    if y is not None:
        sampled = y.at(sample)
        tested = take(_find_candidates(columns, together), MAX_SOURCES)
        target_profile = TargetProfile(
            y.name,
            y.kind,
            int(y.missing.sum()),
            find_associations(tested, [sampled], mutual=False),
            score_target(sampled, tested, stream),
        )
    profile = Profile(
        n_rows,
        len(names),
        int(missing.sum()),
        float(missing.mean()) if missing.size else 0.0,
        tuple(profiles),
        count_rows(missing),
        count_patterns(patterns, names),
        together,
        map_missing(missing, names),
        map_missing(missing, names, patterns),
        little,
        little_note,
        dependence,
        target_profile,
    )
    renamed = [
        (str(label), name)
        for label, name in zip(labels, all_names, strict=True)
        if str(label) != name
    ]
    n_duplicates = n_rows - len(np.unique(hashes)) if labels else 0
    notices = make_notices(profile, columns, oddities, renamed, n_duplicates)
    return replace(
        profile, findings=tuple(make_findings(profile)), notices=tuple(notices)
    )


def _find_label(label: Any, labels: Sequence[Any], names: Sequence[str]) -> int:
    places = [j for j, each in enumerate(labels) if each == label]
    if len(places) != 1:
        which = "several columns have" if places else "no column has"
        msg = (
            f"Got target={label!r}, a name that {which}, but expected the name of one "
            f"column: {list_names(names)}."
        )
        raise TableError(msg)
    return places[0]


def _read_target(target: Any, n_rows: int) -> Column:
    if np.shape(target) != (n_rows,):
        msg = (
            f"Got target of shape {np.shape(target)}, but expected the name of a "
            f"column, or ({n_rows},): a value for each row."
        )
        raise TableError(msg)
    name = getattr(target, "name", None)  # of a series
    name = "target" if name in (None, "") else str(name)
    return read_column(name, pd.Series(target))


def _find_dependence(
    columns: Sequence[Column], together: Together, stream: np.random.RandomState
) -> Dependence:
    candidates = _find_candidates(columns, together)
    tested = take(candidates, MAX_TESTED)
    observed = [column for column in columns if column.kind != "empty"]
    sources = take(observed, MAX_SOURCES, most_missing=False)
    n_rows = len(columns[0].missing) if columns else 0
    rows = np.sort(stream.permutation(n_rows)[:MAX_TRAINING_ROWS])
    predicted = take(tested, MAX_PREDICTED)
    by_name = {column.name: column for column in (*predicted, *sources)}
    predictability = predict_missingness(
        [column.at(rows) for column in predicted],
        [column.at(rows) for column in list(by_name.values())[:MAX_FEATURES]],
        {group[0]: group for group in together.always},
        stream,
    )
    tests = find_associations(tested, sources)
    return Dependence(tests, predictability, n_rows, len(rows), len(candidates))


def _find_candidates(columns: Sequence[Column], together: Together) -> list[Column]:
    """Return columns with enough missing values; one of all missing together."""
    repeated = {name for group in together.always for name in group[1:]}
    return [
        column
        for column in columns
        if column.name not in repeated
        and MIN_ROWS <= column.missing.sum() <= len(column.missing) - MIN_ROWS
    ]
