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
from lacunet.profile import _columns, _dependence, _findings, _little, _patterns

MAX_PATTERNS = 20  # reported
# Columns that are tested, those with the most missing values, and columns that they are
# tested against, those with the fewest.
MAX_TESTED, MAX_SOURCES = 50, 200
# Gradient boosting: columns whose missingness is predicted, features and rows.
MAX_PREDICTED, MAX_FEATURES, MAX_TRAINING_ROWS = 20, 50, 3000


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
    associations : AssociationTable
        Whether a column's missingness is associated with the value of the target.
    explained : float or None
        Fraction of the target's deviance (of its variance, if it is a number of many
        values) that the missingness of all columns explains, out of fold. At most 1; at
        0 or below, nothing was learned. None if there are too few rows.
    distribution : Distribution or None
        How often its values occur.
    """

    name: str
    kind: str
    n_missing: int
    associations: _dependence.AssociationTable
    explained: float | None
    distribution: _columns.Distribution | None


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
        What each column holds, and what is missing of it.
    row_histogram : tuple of (int, int)
        Numbers of missing cells per row that occur, each with its number of rows.
    n_complete_rows, n_empty_rows : int
        Rows with no missing cell, and with no observed cell.
    n_patterns : int
        Distinct patterns of missing cells, including that of complete rows.
    patterns : tuple of Pattern
        The 20 most frequent, in descending order.
    pairs : tuple of MissingPair
        At most 50, by descending absolute correlation. Of columns that are missing in
        the same rows, only the first takes part; at most 200 columns.
    same_rows : tuple of tuples of str
        Groups of columns that are missing in the same rows.
    only_if : tuple of (str, str)
        The first is missing only where the second is, more often than by chance.
    map_by_row : tuple of tuples of float
        For each block of rows, in the order of the table, the fraction of missing cells
        in each block of the columns with missing values; at most 200 x 100.
    map_by_pattern : tuple of tuples of float
        The same, rows sorted by pattern, complete ones first.
    little : LittleTest or None
        Little's test of whether values are missing completely at random.
    little_note : str
        Why there is no test, or which columns were tested.
    n_tested_rows : int
        Rows that were tested.
    n_candidates : int
        Columns with enough missing values; at most 50 of them are tested.
    associations : AssociationTable
        Tests of what the missingness of columns depends on, two columns at a time.
    predictability : tuple of Predictability
        Whether a column's missingness can be predicted from all others; for at most 20
        columns, those with the most missing values, on at most 3000 rows.
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
    columns: tuple[_columns.ColumnProfile, ...]
    row_histogram: tuple[tuple[int, int], ...]
    n_complete_rows: int
    n_empty_rows: int
    n_patterns: int
    patterns: tuple[_patterns.Pattern, ...]
    pairs: tuple[_patterns.MissingPair, ...]
    same_rows: tuple[tuple[str, ...], ...]
    only_if: tuple[tuple[str, str], ...]
    map_by_row: tuple[tuple[float, ...], ...]
    map_by_pattern: tuple[tuple[float, ...], ...]
    little: _little.LittleTest | None
    little_note: str
    n_tested_rows: int
    n_candidates: int
    associations: _dependence.AssociationTable
    predictability: tuple[_dependence.Predictability, ...]
    target: TargetProfile | None
    findings: tuple[_findings.Finding, ...] = ()
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, tuples, strings and numbers, for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import json
        >>> from lacunet.profile import profile_table
        >>> found = profile_table([[1.0, None], [2.0, 3.0]]).as_dict()
        >>> json.dumps(found["row_histogram"])
        '[[0, 1], [1, 1]]'
        """
        return asdict(self)


def profile_table(
    X: Any,
    *,
    target: Any = None,
    max_rows: int = 20_000,
    random_state: Any = 0,
    notices: Sequence[str] = (),
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
        Maximum number of rows that are tested.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample of rows and of the folds of cross-validation.
    notices : sequence of str, default=()
        What is known of the columns of the table, to be reported with the rest, such as
        :func:`lacunet.tables.list_notices` returns.

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
    >>> profile.n_missing, profile.n_complete_rows
    (3, 1)
    >>> [(column.name, column.kind, column.n_missing) for column in profile.columns]
    [('age', 'number', 1), ('town', 'category', 2)]
    >>> profile.only_if
    ()
    """
    if not isinstance(max_rows, numbers.Integral) or max_rows < 1:
        msg = f"Got max_rows={max_rows!r}, but expected a positive integer."
        raise ValueError(msg)
    # A stream of its own: the data may have been made with the same seed.
    seed = check_random_state(random_state).randint(2**31 - 1)
    stream = np.random.RandomState(seed)
    frame = _columns.as_frame(X)
    whole = _columns.read_table(frame)
    y: Any = None if target is None else _read_target(target, frame.columns, whole)
    inside = isinstance(target, (str, numbers.Integral))
    table = whole.drop(columns=y.name) if inside else whole
    n_rows, names = len(table), list(table)
    missing = table.isna().to_numpy(dtype=bool)
    sample = table
    if n_rows > max_rows:
        sample = table.iloc[np.sort(stream.choice(n_rows, max_rows, replace=False))]

    per_row = missing.sum(axis=1)
    row_counts = np.bincount(per_row, minlength=len(names) + 1).tolist()
    masks, sizes, of_row = _patterns.find_patterns(missing)
    patterns = zip(masks[:MAX_PATTERNS], sizes[:MAX_PATTERNS].tolist(), strict=True)
    groups = _patterns.find_same_rows(table)
    pairs, only_if = _patterns.pair_columns(table[[group[0] for group in groups]])
    little, little_note = _little.run_sampled(sample, stream)
    # One of all columns that are missing in the same rows.
    repeated = [name for group in groups for name in group[1:]]
    n_missing = sample.drop(columns=repeated).isna().sum()
    enough = n_missing.between(_dependence.MIN_ROWS, len(sample) - _dependence.MIN_ROWS)
    candidates = sample[n_missing.index[enough]]
    tested = _columns.take(candidates, MAX_TESTED)
    observed = sample.loc[:, ~missing.all(axis=0)]
    sources = _columns.take(observed, MAX_SOURCES, most_missing=False)
    associations = _dependence.find_associations(tested, sources)
    links = [link for link in associations.links if link.by == "value"]
    by = {link.on: link.column for link in reversed(links)}  # the strongest last
    predicted = _columns.take(tested, MAX_PREDICTED)
    rows = np.sort(stream.permutation(len(sample))[:MAX_TRAINING_ROWS])
    features = list(dict.fromkeys([*predicted, *sources]))[:MAX_FEATURES]
    on_map = missing[:, missing.any(axis=0)]
    profile = Profile(
        n_rows=n_rows,
        n_columns=len(names),
        n_missing=int(missing.sum()),
        fraction_missing=float(missing.mean()) if missing.size else 0.0,
        columns=tuple(_columns.describe_columns(table, by)),
        row_histogram=tuple((number, n) for number, n in enumerate(row_counts) if n),
        n_complete_rows=row_counts[0],
        n_empty_rows=row_counts[-1] if names else 0,
        n_patterns=len(sizes),
        patterns=tuple(
            _patterns.Pattern(tuple(table.columns[mask]), n, n / n_rows)
            for mask, n in patterns
        ),
        pairs=pairs,
        same_rows=tuple(group for group in groups if len(group) > 1),
        only_if=only_if,
        map_by_row=_patterns.map_missing(on_map),
        map_by_pattern=_patterns.map_missing(on_map[np.lexsort((of_row, per_row))]),
        little=little,
        little_note=little_note,
        n_tested_rows=len(sample),
        n_candidates=candidates.shape[1],
        associations=associations,
        predictability=_dependence.predict_missingness(
            predicted.iloc[rows], sample[features].iloc[rows], groups, stream
        ),
        target=None if y is None else _profile_target(y, table, candidates, stream),
        notices=tuple(notices),
    )
    labels = zip(frame.columns, whole, strict=True)
    renamed = [name for label, name in labels if str(label) != name]
    own = _findings.make_notices(profile, renamed, whole.duplicated().sum())
    findings = tuple(_findings.make_findings(profile))
    return replace(profile, findings=findings, notices=(*notices, *own))


def _read_target(target: Any, labels: Any, table: Any) -> Any:
    """Return a column of the table, or values beside it."""
    if isinstance(target, (str, numbers.Integral)):
        found = np.flatnonzero([label == target for label in labels])
        if len(found) == 1:
            return table.iloc[:, found[0]]
        msg = (
            f"Got target={target!r}, a name that {len(found)} columns have, but "
            f"expected the name of one column: {list_names(list(table))}."
        )
        raise TableError(msg)
    if np.shape(target) != (len(table),):
        msg = (
            f"Got target of shape {np.shape(target)}, but expected the name of a "
            f"column, or ({len(table)},): a value for each row."
        )
        raise TableError(msg)
    name = getattr(target, "name", None)  # of a series
    name = "target" if name in (None, "") else str(name)
    return _columns.read_column(pd.Series(target)).rename(name)


def _profile_target(y: Any, table: Any, candidates: Any, stream: Any) -> TargetProfile:
    tested, sampled = _columns.take(candidates, MAX_SOURCES), y.loc[candidates.index]
    frame = sampled.to_frame()
    associations = _dependence.find_associations(tested, frame, mutual=False)
    links = associations.links
    return TargetProfile(
        y.name,
        _columns.kind_of(y),
        int(y.isna().sum()),
        associations,
        _dependence.score_target(sampled, tested, stream),
        _columns.find_distribution(y, table[links[0].column] if links else None),
    )
