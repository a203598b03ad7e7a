"""Statistics on frames: means over splits, ranks and tests over data sets.

Frames of scores have a row a data set (or image, or seed) and a column a method. Pairs
are not compared by mean ranks (Nemenyi): whether two methods differ would then depend
on the others (Benavoli, Corani and Mangili, JMLR 2016).
"""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import networkx as nx  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
from scipy import stats

from lacunet.evaluation import holm

ALPHA = 0.05
# Data sets over the same patients, which would count twice.
NEAR_IDENTICAL = (("diabetes", "pima"), ("breast_cancer", "winconsin"))
# Numbers that agree in so many decimals differ by rounding and are ties.
DECIMALS = 12
# Up to so many rows the p-value is exact if there are ties or zeros.
MOST_EXHAUSTIVE = 13


def mean_scores(cells: pd.DataFrame) -> pd.DataFrame:
    """Average the cells of one metric, for each data set, rate and method.

    The folds of each seed are averaged first, and then the seeds. ``stderr`` is that of
    one cross-validation: seeds do not make it smaller, as they bring no new rows. Where
    each seed is one split, with test rows of its own, it is over the seeds. Splits
    share training rows, so it is for orientation and not for tests. ``complete`` is
    whether all splits that any method was run on have a value. Sums are exact, so that
    the order of the cells does not matter.
    """
    row = ["dataset", "rate"]
    splits = cells.drop_duplicates([*row, "seed", "fold"]).groupby(row).size()
    seeds = (
        cells.dropna(subset="value")
        .groupby([*row, "method", "seed"])
        .value.agg(mean=fmean, var="var", count="count")
    )
    methods = seeds.groupby([*row, "method"])
    found = methods.agg(mean=("mean", fmean), count=("count", "sum"))
    over_folds = (seeds["var"] / seeds["count"]).groupby([*row, "method"]).mean()
    over_seeds = methods["mean"].var() / methods.size()
    single = methods["count"].max() == 1
    found["stderr"] = np.sqrt(over_seeds.where(single, over_folds))
    found["complete"] = found["count"] == splits.reindex(
        found.index.droplevel("method")
    ).to_numpy(int)
    return found


def mean_ranks(scores: pd.DataFrame, *, higher_is_better: bool) -> pd.Series:
    """Rank the methods on each row, 1 the best, and average; the best method first."""
    ranks = scores.round(DECIMALS).rank(axis=1, ascending=not higher_is_better).mean()
    return ranks.sort_index().sort_values(kind="stable")


def friedman_p(scores: pd.DataFrame) -> float:
    """Test whether three or more methods rank the same, by Iman and Davenport's F."""
    values = scores.round(DECIMALS).to_numpy()
    n_rows, n_methods = values.shape
    if (values == values[:, :1]).all():
        return 1.0
    chi2 = float(stats.friedmanchisquare(*values.T).statistic)
    most = n_rows * (n_methods - 1)  # if all rows agree
    if math.isclose(chi2, most):
        return 0.0
    f = (n_rows - 1) * chi2 / (most - chi2)
    return float(stats.f.sf(f, n_methods - 1, (n_methods - 1) * (n_rows - 1)))


def wilcoxon_p(differences: Sequence[float]) -> float:
    """Return the p-value of the two-sided signed-rank test.

    Ranks of zero differences are shared between both sides (Demšar, JMLR 2006). Up to
    13 rows it is exact, with ties too; beyond, it is so without ties.
    """
    given = np.asarray(differences, dtype=float)
    sizes = np.abs(given)
    if not sizes.any():
        return 1.0
    has_ties = len(np.unique(sizes)) < len(sizes) or not sizes.all()
    if not has_ties or len(sizes) > MOST_EXHAUSTIVE:
        return float(stats.wilcoxon(given, zero_method="zsplit").pvalue)
    # Each rank has either sign: convolve the sums of all, doubled to be whole numbers.
    doubled = np.rint(2 * stats.rankdata(sizes) * (sizes > 0)).astype(int)
    counts = np.ones(1)
    for rank in doubled:
        signs = np.zeros(2 * rank + 1)
        signs[[0, -1]] = 1
        counts = np.convolve(counts, signs)
    place = int(np.sum(np.sign(given) * doubled)) + int(doubled.sum())
    tail = min(counts[: place + 1].sum(), counts[place:].sum()) / counts.sum()
    return min(1.0, 2 * float(tail))


def smallest_p(n_rows: int) -> float:
    """Return the p-value of a method that is better on all of so many rows."""
    return math.ldexp(1.0, 1 - n_rows)


def compare_methods(scores: pd.DataFrame, control: str | None = None) -> pd.DataFrame:
    """Compare all pairs, or a control with each other method, over the rows.

    One row a pair: ``first``, ``second``, the median ``difference``, ``p``, ``p_holm``
    corrected for the number of pairs, and whether that makes them ``different``.
    """
    rounded = scores.round(DECIMALS)
    others = [method for method in rounded if method != control]
    pairs = (
        list(combinations(rounded, 2))
        if control is None
        else [(control, other) for other in others]
    )
    differences = [
        (rounded[first] - rounded[second]).round(DECIMALS) for first, second in pairs
    ]
    found = pd.DataFrame(pairs, columns=["first", "second"])
    found["difference"] = [each.median() for each in differences]
    found["p"] = [wilcoxon_p(each) for each in differences]
    found["p_holm"] = holm(found["p"])
    found["different"] = found["p_holm"] <= ALPHA
    return found


def find_cliques(ranks: pd.Series, pairs: pd.DataFrame) -> list[list[str]]:
    """Return the largest groups of methods of which no two differ, best ranks first.

    They are the bars of a critical-difference plot. "Not different" does not pass from
    pair to pair, so groups overlap.
    """
    alike = pairs[~pairs["different"]]
    graph = nx.Graph(list(zip(alike["first"], alike["second"], strict=True)))
    place = {method: i for i, method in enumerate(ranks.index)}
    groups = [sorted(group, key=place.__getitem__) for group in nx.find_cliques(graph)]
    return sorted(groups, key=lambda group: [place[method] for method in group])
