"""What the missingness of columns depends on.

Tests of two columns at a time, and out-of-fold scores of a small histogram gradient
boosting: it accepts missing values, and the question is only whether there is anything
to learn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from lacunet._text import shorten
from lacunet.profile._columns import Bools, Floats, as_numbers, kind_of, show_value

SIGNIFICANCE = 0.05  # of adjusted p-values
MAX_LINKS = 200  # kept, of associations with values and with missingness each
MIN_ROWS = 10  # in either group, or there is no test
_MIN_EXPECTED = 2.0  # rows of the smaller group per category; rarer ones are pooled
_MAX_CATEGORIES = 30
MIN_CLASS = 25  # rows of the rarer class
_MAX_CLASSES = 20
_MAX_DISCRETE = 10  # distinct numbers that count as classes
N_FOLDS = 3
BOOSTING: dict[str, Any] = {
    "max_iter": 30,
    "max_leaf_nodes": 8,
    "max_bins": 31,
    "early_stopping": False,
    "random_state": 0,
}


@dataclass(frozen=True)
class Association:
    """An association of a column's missingness with another column.

    Attributes
    ----------
    column : str
        The column whose missingness it is.
    on : str
        The other column.
    by : {"value", "missing"}
        Whether it is associated with the other column's values or its missingness.
    auc : float
        Probability that the other column ranks a row in which ``column`` is missing
        above one in which it is observed; 0.5 means no association. Of numbers, dates
        and missingness, above 0.5 means missing where the other is high or missing.
    p_value : float
        By the Mann-Whitney test for numbers and dates, the chi-squared test for
        categories, and Fisher's exact test for missingness.
    p_adjusted : float
        Adjusted for the number of tests (Benjamini and Hochberg): at most 0.05.
    where : str
        Where the column is missing most often, such as "is above 54".
    fraction_there, fraction_elsewhere : float
        Fraction of rows with ``column`` missing where the other column is so, and in
        the other rows.
    """

    column: str
    on: str
    by: Literal["value", "missing"]
    auc: float
    p_value: float
    p_adjusted: float
    where: str
    fraction_there: float
    fraction_elsewhere: float

    @property
    def strength(self) -> float:
        """From 0 (none) to 1 (separates the rows): 2 |auc - 0.5|."""
        return 2 * abs(self.auc - 0.5)

    @property
    def contrast(self) -> float:
        """Difference of the two fractions."""
        return self.fraction_there - self.fraction_elsewhere


@dataclass(frozen=True)
class AssociationTable:
    """Tests of the missingness of columns against other columns.

    Attributes
    ----------
    columns : tuple of str
        Whose missingness. Of columns missing in the same rows, only the first.
    on : tuple of str
        Whose values.
    links : tuple of Association
        Significant associations by descending strength; at most 200 with values and
        200 with missingness.
    n_links : int
        Number of all significant associations.
    n_tests : int
        Number of tests.
    """

    columns: tuple[str, ...]
    on: tuple[str, ...]
    links: tuple[Association, ...]
    n_links: int
    n_tests: int

    def clearest(self) -> list[Association]:
        """Return each column's association with values of the largest contrast.

        Returns
        -------
        list of Association
            By descending contrast.
        """
        firsts: dict[str, Association] = {}
        for link in sorted(self.links, key=lambda link: -link.contrast):
            if link.by == "value":
                firsts.setdefault(link.column, link)
        return list(firsts.values())


@dataclass(frozen=True)
class Predictability:
    """Whether a column's missingness can be predicted from the other columns.

    Attributes
    ----------
    column : str
        Whose missingness.
    auc : float
        Out-of-fold area under the ROC curve, predicting from the values and the
        missingness of the other columns.
    auc_values : float or None
        The same from values alone: missing ones are replaced by random values of their
        column. If it is near 0.5 and ``auc`` is not, columns are missing together, but
        not depending on values. None if ``auc`` is what chance gives, too.
    """

    column: str
    auc: float
    auc_values: float | None


def find_associations(
    tested: Any, others: Any, *, mutual: bool = True
) -> AssociationTable:
    """Test columns' missingness against values and, if mutual, against each other's."""
    missing = tested.isna().to_numpy(dtype=bool)
    by_value = {}
    for name, column in others.items():
        compare = compare_categories if column.dtype == "category" else compare_numbers
        by_value[name] = compare(pool_categories(column), missing)
    rows = [
        (column, name, "value", *by_value[name][:, i])
        for i, column in enumerate(tested)
        for name in others
    ]
    if mutual:
        by_missing = compare_missing(missing)
        # Of each pair, only the test with the larger AUC.
        size = np.abs(by_missing[0] - 0.5)
        weaker = (size < size.T) | ((size == size.T) & np.tri(len(size), dtype=bool))
        rows += [
            (tested.columns[i], tested.columns[j], "missing", *by_missing[:, i, j])
            for i, j in np.argwhere(~weaker)
        ]
    tests = pd.DataFrame(rows, columns=["column", "on", "by", "auc", "p_value"])
    tests = tests.dropna().astype({"auc": float, "p_value": float}).round({"auc": 4})
    tests["p_adjusted"] = stats.false_discovery_control(tests["p_value"])
    found = tests[tests["p_adjusted"] <= SIGNIFICANCE]
    found = found.sort_values("auc", key=lambda auc: -abs(auc - 0.5), kind="stable")
    links = []
    for test in found.groupby("by").head(MAX_LINKS).itertuples(index=False):
        other = (others if test.by == "value" else tested)[test.on]
        lost = tested[test.column].isna()
        links.append(Association(*test, *_find_where(lost, other, test)))
    return AssociationTable(
        tuple(tested), tuple(others), tuple(links), len(found), len(tests)
    )


# --- tests, each of one column against many groups of rows (rows, groups)


def compare_numbers(values: Floats, groups: Bools) -> Floats:
    """Return AUCs and p-values of Mann-Whitney tests, (2, groups), NaN if too few."""
    seen = ~np.isnan(values)
    # As mannwhitneyu(method="asymptotic", use_continuity=False), but ranked only once.
    ranks = stats.rankdata(values[seen])
    n_rows, inside = len(ranks), groups[seen].sum(axis=0).astype(np.float64)
    pairs = inside * (n_rows - inside)
    wins = ranks @ groups[seen] - inside * (inside + 1) / 2
    variance = pairs * (n_rows + 1) / 12 * (stats.tiecorrect(ranks) if n_rows else 0)
    smaller = np.minimum(inside, n_rows - inside)
    n_modal = np.unique(ranks, return_counts=True)[1].max(initial=0)
    # If nearly all values are equal, a single row would decide.
    enough = (smaller >= MIN_ROWS) & (variance > 0)
    enough &= smaller * (n_rows - n_modal) >= _MIN_EXPECTED * n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (wins - pairs / 2) / np.sqrt(variance)
        return np.where(enough, [wins / pairs, 2 * stats.norm.sf(np.abs(z))], np.nan)


def compare_categories(codes: Floats, groups: Bools) -> Floats:
    """Return AUCs and p-values of chi-squared tests, (2, groups), NaN if too few."""
    seen = ~np.isnan(codes)
    found = np.full((2, groups.shape[1]), np.nan)
    indicator = pd.get_dummies(codes[seen]).to_numpy(dtype=np.float64)
    inside, size = indicator.T @ groups[seen], indicator.sum(axis=0)
    enough = np.minimum(inside.sum(axis=0), (size[:, None] - inside).sum(axis=0))
    for g in np.flatnonzero(enough >= MIN_ROWS) if len(size) > 1 else ():
        found[0, g] = _auc_of_categories(inside[:, g], size)
        found[1, g] = _chi_squared(inside[:, g], size)
    return found


def _auc_of_categories(inside: Floats, size: Floats) -> float:
    """Return the AUC of ranking rows by the fraction of their category in the group.

    Fractions are taken without the two rows that are compared: otherwise categories of
    few rows would seem to separate well.
    """
    outside = size - inside
    rest = np.maximum(size - 1, 1)
    overall = inside.sum() / size.sum()
    of_inside = np.where(size > 1, (inside - 1) / rest, overall)
    of_outside = np.where(size > 1, inside / rest, overall)
    better = np.sign(of_inside[:, None] - of_outside)
    np.fill_diagonal(better, 0)  # rows of one category tie
    wins = inside @ (1 + better) / 2 @ outside
    return float(wins / (inside.sum() * outside.sum()))


def _chi_squared(inside: Floats, size: Floats) -> float:
    """Return the p-value of the chi-squared test, with rare categories pooled."""
    n_rows, fraction = size.sum(), inside.sum() / size.sum()
    expected = size * min(fraction, 1 - fraction)
    kept = expected >= _MIN_EXPECTED
    if kept.any() and 0 < expected[~kept].sum() < _MIN_EXPECTED:
        kept[np.where(kept, size, np.inf).argmin()] = False
    table = np.array([inside, size - inside])
    pooled = table[:, ~kept].sum(axis=1, keepdims=True)
    table = np.hstack([table[:, kept], pooled[:, : int(pooled.any())]])
    if table.shape[1] == 1:
        return 1.0
    result = stats.chi2_contingency(table, correction=False)
    # With n - 1 in place of n, as befits fixed margins.
    return float(stats.chi2.sf(result.statistic * (n_rows - 1) / n_rows, result.dof))


def compare_missing(missing: Bools) -> Floats:
    """Return AUCs and p-values of Fisher's exact test of all pairs of columns.

    The AUC of i and j is that of predicting the missingness of i by that of j.
    """
    n_rows, count = len(missing), missing.sum(axis=0)
    both = (missing.astype(np.float64).T @ missing).astype(np.int64)
    inside = count[:, None]
    auc = 0.5 + 0.5 * (both / inside - (count - both) / (n_rows - inside))
    overlap = stats.hypergeom(n_rows, count, inside)
    p_value = 2 * np.minimum(overlap.cdf(both), overlap.sf(both - 1))
    return np.array([auc, np.minimum(p_value, 1.0)])


def pool_categories(column: Any) -> Floats:
    """Return numbers; one for all but the 29 most frequent categories."""
    codes = as_numbers(column)
    if column.dtype != "category":
        return codes
    size = np.bincount(codes[~np.isnan(codes)].astype(np.intp))
    rare = np.argsort(-size, kind="stable")[_MAX_CATEGORIES - 1 :]
    return np.where(np.isin(codes, rare), rare[0], codes) if len(rare) > 1 else codes


def _find_where(lost: Any, other: Any, test: Any) -> Any:
    """Return where a column is missing most often, fractions there and elsewhere."""
    seen, high = other.notna(), test.auc > 0.5
    if test.by == "missing":
        there, seen, where = seen != high, True, "missing" if high else "observed"
    elif other.dtype == "category":
        rates = lost.groupby(other, observed=True).agg(["mean", "size"])
        # Fractions of a few rows are extreme.
        enough = rates["size"] >= min(MIN_ROWS, rates["size"].max())
        category = rates["mean"][enough].idxmax()
        there, where = other == category, repr(shorten(str(category)))
    else:
        median = other.quantile(0.5, interpolation="lower")
        if not (other > median).any():
            median = other[other < median].max()
        there = other > median if high else other <= median
        values = other[there].unique()
        where = f"{'above' if high else 'at most'} {show_value(median)}"
        if len(values) == 1:  # of two, such as 0 and 1
            where = show_value(values[0])
    fractions = [float(lost[rows].mean()) for rows in (there, seen & ~there)]
    return f"is {where}", *fractions


# --- prediction


def predict_missingness(
    columns: Any, others: Any, same_rows: Sequence[tuple[str, ...]], random_state: Any
) -> tuple[Predictability, ...]:
    """Predict the missingness of columns, not from those missing in the same rows."""
    seed = int(random_state.randint(2**31 - 1))
    others = others.loc[:, others.notna().sum() >= MIN_ROWS]
    largest = np.finfo(np.float32).max  # in place of infinite numbers
    features = others.apply(pool_categories).clip(-largest, largest)
    filled = features.copy()
    for name, column in features.items():
        missing, seen = column.isna(), column.dropna()
        filled.loc[missing, name] = random_state.choice(seen, missing.sum())
    found = []
    for name in columns:
        missing = columns[name].isna()
        same = next((group for group in same_rows if name in group), (name,))
        kept = ~others.columns.isin(same)
        if min(missing.sum(), (~missing).sum()) >= MIN_CLASS and kept.any():
            auc = _cross_validate(features.loc[:, kept], missing, seed)
            n, n_missing = len(missing), int(missing.sum())
            error = math.sqrt((n + 1) / (12 * n_missing * (n - n_missing)))
            by_values = None
            if auc > 0.5 + 2 * error:
                by_values = _cross_validate(filled.loc[:, kept], missing, seed)
            found.append(Predictability(name, auc, by_values))
    return tuple(found)


def _cross_validate(features: Any, missing: Any, seed: int) -> float:
    """Return the out-of-fold AUC."""
    from sklearn import ensemble, metrics, model_selection  # takes its time
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    folds = model_selection.StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    # Of so little work, threads would spend most on waiting for each other.
    with threadpool_limits(1 if features.size < 10**5 else None, "openmp"):
        predicted = model_selection.cross_val_predict(
            ensemble.HistGradientBoostingClassifier(**BOOSTING),
            features.to_numpy(),
            missing,
            cv=folds,
            method="decision_function",
        )
    return round(float(metrics.roc_auc_score(missing, predicted)), 4)


def score_target(target: Any, columns: Any, random_state: Any) -> float | None:
    """Return the fraction of the target that missingness explains, out of fold.

    It is a fraction of the variance of a number, and of the deviance of classes. Rare
    classes are left out. None if there are too few rows.
    """
    y = target.dropna()
    numeric = kind_of(target) in ("number", "date") and y.nunique() > _MAX_DISCRETE
    if not numeric:
        size = y.value_counts().head(_MAX_CLASSES)
        y = y[y.isin(size.index[size >= MIN_CLASS])]
    values = as_numbers(y) if numeric else pd.factorize(y)[0]
    varied = y.nunique() > 1 and np.isfinite(values).all()
    if columns.empty or len(y) < 2 * MIN_CLASS or not varied:
        return None
    from sklearn import ensemble, model_selection

    X = columns.loc[y.index].isna().to_numpy(dtype=np.float64)
    model: Any = ensemble.HistGradientBoostingClassifier(**BOOSTING)
    folds, scoring = model_selection.StratifiedKFold, "d2_log_loss_score"
    if numeric:
        values = values / np.abs(values).max()  # or squares may overflow
        model = ensemble.HistGradientBoostingRegressor(**BOOSTING)
        folds, scoring = model_selection.KFold, "r2"
    cv = folds(N_FOLDS, shuffle=True, random_state=random_state)
    scores = model_selection.cross_val_score(model, X, values, cv=cv, scoring=scoring)
    return round(float(scores.mean()), 4)
