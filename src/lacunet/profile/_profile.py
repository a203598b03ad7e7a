"""The profile of a table: what is missing, and what that has to do with what."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lacunet.profile._dependence import (
    CAVEAT,
    LinkTable,
    find_links,
    has_some_holes,
)
from lacunet.profile._findings import Finding, make_findings
from lacunet.profile._foresight import (
    MOST_FEATURES,
    MOST_FORESEEN,
    MOST_LEARNED,
    Foresight,
    TargetScore,
    foresee,
    score_target,
)
from lacunet.profile._hole_map import HoleMap, map_holes, order_by_pattern
from lacunet.profile._holes import ColumnKind, HoleColumn, Ints
from lacunet.profile._little import LittleTest, run_test
from lacunet.profile._notices import make_notices
from lacunet.profile._patterns import (
    PatternCounts,
    RowCounts,
    Together,
    count_patterns,
    count_rows,
    find_patterns,
    find_together,
)
from lacunet.profile._survey import Survey, survey_table

# Columns that the tests take: those with the most holes, and those that are seen best.
MOST_TESTED, MOST_SOURCES = 50, 200
MOST_IN_LITTLE = 40
# Of patterns times cubed columns: what a step of EM costs, some hundredths of a second.
_MOST_WORK = 1e7
# Share of rows with a pattern of their own: beyond, Little's test is blind.
_MOST_ALONE = 0.9


@dataclass(frozen=True)
class ColumnProfile:
    """What is missing of a column.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "empty", "other"}
        "empty" if nothing is observed, "other" if the estimators can't take it.
    n_missing : int
    share_missing : float
    n_distinct : int
        Different values that occur.
    """

    name: str
    kind: ColumnKind
    n_missing: int
    share_missing: float
    n_distinct: int


@dataclass(frozen=True)
class Dependence:
    """Which columns' holes depend on which others.

    Attributes
    ----------
    tests : LinkTable
        Two columns at a time.
    foreseen : tuple of Foresight
        Whether a column's holes can be foreseen from all others; for at most 20
        columns, those with the most holes.
    n_rows : int
        Rows that the tests were made on.
    n_rows_learned : int
        Rows that ``foreseen`` is about.
    n_candidates : int
        Columns with enough holes, of which ``tests`` has at most 50.
    caveat : str
        What no test can see.
    """

    tests: LinkTable
    foreseen: tuple[Foresight, ...]
    n_rows: int
    n_rows_learned: int
    n_candidates: int
    caveat: str = CAVEAT


@dataclass(frozen=True)
class TargetProfile:
    """What is missing of the target, and what holes tell of it.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "empty", "other"}
    n_missing : int
    tests : LinkTable
        Whether a column's holes depend on the value of the target.
    score : TargetScore or None
        What the holes of all columns tell together; None if there are too few rows.
    """

    name: str
    kind: ColumnKind
    n_missing: int
    tests: LinkTable
    score: TargetScore | None


@dataclass(frozen=True)
class Profile:
    """What is missing in a table, as plain data.

    Attributes
    ----------
    n_rows, n_columns : int
        Without the target.
    n_missing : int
        Cells.
    share_missing : float
    columns : tuple of ColumnProfile
    rows : RowCounts
    patterns : PatternCounts
    together : Together
    map_by_row : HoleMap
        Rows as they stand in the table.
    map_by_pattern : HoleMap
        Rows sorted by what is missing: complete ones first.
    little : LittleTest or None
    little_note : str
        Why there is no test, or what to know of it.
    dependence : Dependence
    target : TargetProfile or None
    findings : tuple of Finding
        What it comes to, in words.
    notices : tuple of str
        What is odd about the table, with what to do.
    """

    n_rows: int
    n_columns: int
    n_missing: int
    share_missing: float
    columns: tuple[ColumnProfile, ...]
    rows: RowCounts
    patterns: PatternCounts
    together: Together
    map_by_row: HoleMap
    map_by_pattern: HoleMap
    little: LittleTest | None
    little_note: str
    dependence: Dependence
    target: TargetProfile | None
    findings: tuple[Finding, ...]
    notices: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as lists, dicts, texts and numbers, for JSON.

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
        plain: dict[str, Any] = _to_json(asdict(self))
        return plain


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(each) for each in value]
    return value


def profile_table(
    X: Any, *, target: Any = None, max_rows: int = 20_000, random_state: Any = 0
) -> Profile:
    """Find out what is missing in a table, and what that has to do with what.

    Counts are over all rows. Tests are made on some of them, if there are many, and on
    the columns with the most holes, if there are many; the profile says on how many.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        ``NaN``, ``None``, ``pandas.NA`` and ``pandas.NaT`` mean missing.
    target : str, int or array-like of shape (n_samples,), default=None
        Name of a column (its index in an array), or values beside the table. It is
        taken out of the columns, and the profile says whether holes tell of it.
    max_rows : int, default=20_000
        Rows that tests are made on. Tables of more than a thousand columns take fewer.
    random_state : int, RandomState instance or None, default=0
        Seed of the choice of rows, and of the folds that foresight is judged on.

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
    from lacunet.missingness._stream import own_stream

    check_positive_int(max_rows, "max_rows")
    stream = own_stream(random_state)
    survey = survey_table(X, target, max_rows, stream)
    missing, names = survey.missing, survey.names
    patterns = find_patterns(missing)
    together = find_together(missing, names)
    little, little_note = _run_little(survey.columns, stream)
    profile = Profile(
        missing.shape[0],
        missing.shape[1],
        int(missing.sum()),
        float(missing.mean()) if missing.size else 0.0,
        _profile_columns(survey),
        count_rows(missing),
        count_patterns(patterns, names),
        together,
        map_holes(missing, names),
        map_holes(missing, names, order_by_pattern(patterns)),
        little,
        little_note,
        _find_dependence(survey.columns, together, stream),
        _profile_target(survey, together, stream),
        findings=(),
        notices=(),
    )
    return replace(
        profile,
        findings=make_findings(profile),
        notices=make_notices(profile, survey),
    )


def _profile_columns(survey: Survey) -> tuple[ColumnProfile, ...]:
    n_rows = len(survey.missing)
    counts = survey.missing.sum(axis=0).tolist()
    return tuple(
        ColumnProfile(
            column.name, column.kind, count, count / max(n_rows, 1), facts.n_distinct
        )
        for column, facts, count in zip(
            survey.columns, survey.facts, counts, strict=True
        )
    )


# --- tests


def _run_little(
    columns: Sequence[HoleColumn], stream: np.random.RandomState
) -> tuple[LittleTest | None, str]:
    """Make Little's test on as many rows and columns as it takes seconds for."""
    chosen = list(columns)
    note = ""
    if len(chosen) > MOST_IN_LITTLE:
        numbers = [column for column in columns if column.kind == "number"]
        chosen = _take(numbers, MOST_IN_LITTLE, _most_holes)
        if len(numbers) > len(chosen):
            note = (
                f"of {len(numbers)} columns of numbers, the {len(chosen)} with the "
                f"most holes took part"
            )
    rows = _choose_affordable(chosen, stream)
    if rows is None:
        return None, (
            "nearly every row has a pattern of holes of its own, so that there are no "
            "groups of rows to compare"
        )
    result = run_test([column.at(rows) for column in chosen])
    return (None, result) if isinstance(result, str) else (result, note)


def _choose_affordable(
    columns: Sequence[HoleColumn], stream: np.random.RandomState
) -> Ints | None:
    """Return rows, as many as EM is fast on; nothing if hardly two are alike."""
    numeric = [column.missing for column in columns if column.kind == "number"]
    rows = stream.permutation(len(numeric[0]) if numeric else 0)
    while len(numeric) > 1:
        counts = find_patterns(np.column_stack([each[rows] for each in numeric])).counts
        if (counts == 1).sum() > _MOST_ALONE * len(rows):
            return None
        if len(counts) * len(numeric) ** 3 <= _MOST_WORK:
            break
        rows = rows[: len(rows) // 2]
    return np.sort(rows)


def _find_dependence(
    columns: Sequence[HoleColumn], together: Together, stream: np.random.RandomState
) -> Dependence:
    candidates = _find_candidates(columns, together)
    tested = _take(candidates, MOST_TESTED, _most_holes)
    sources = _take(
        [column for column in columns if column.kind != "empty"],
        MOST_SOURCES,
        _fewest_holes,
    )
    n_rows = len(columns[0].missing) if columns else 0
    rows = np.sort(stream.permutation(n_rows)[:MOST_LEARNED])
    foretold = _take(tested, MOST_FORESEEN, _most_holes)
    by = {column.name: column for column in (*foretold, *sources)}
    foreseen = foresee(
        [column.at(rows) for column in foretold],
        [column.at(rows) for column in list(by.values())[:MOST_FEATURES]],
        {group[0]: group for group in together.always},
        stream,
    )
    return Dependence(
        find_links(tested, sources), foreseen, n_rows, len(rows), len(candidates)
    )


def _profile_target(
    survey: Survey, together: Together, stream: np.random.RandomState
) -> TargetProfile | None:
    target = survey.target
    if target is None:
        return None
    candidates = _find_candidates(survey.columns, together)
    tested = _take(candidates, MOST_SOURCES, _most_holes)
    return TargetProfile(
        target.name,
        target.kind,
        int(survey.target_missing.sum()),
        find_links(tested, [target], among=False),
        score_target(target, tested, stream),
    )


def _find_candidates(
    columns: Sequence[HoleColumn], together: Together
) -> list[HoleColumn]:
    """Return columns with enough holes; one for all that are missing together."""
    echoes = {name for group in together.always for name in group[1:]}
    return [
        column
        for column in columns
        if column.name not in echoes and has_some_holes(column)
    ]


def _take(
    columns: Sequence[HoleColumn], most: int, key: Callable[[HoleColumn], int]
) -> list[HoleColumn]:
    """Return the first columns by a key, in the order of the table."""
    chosen = sorted(range(len(columns)), key=lambda j: key(columns[j]))[:most]
    return [columns[j] for j in sorted(chosen)]


def _most_holes(column: HoleColumn) -> int:
    return -int(column.missing.sum())


def _fewest_holes(column: HoleColumn) -> int:
    return int(column.missing.sum())
