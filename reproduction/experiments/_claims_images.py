"""Rules for claims about images: table 1 and figure 2."""

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.experiments._catalogue import load_experiment
from reproduction.experiments._claims_chance import (
    FEWEST_SEEDS,
    MARGIN,
    Common,
    Comparison,
    by_margin,
    find_common,
    means_of,
    over_rows,
    over_splits,
    settle,
    tell_comparisons,
    tell_power,
)
from reproduction.experiments._claims_record import (
    DOES_NOT,
    HOLDS,
    OPEN,
    Evidence,
    Finding,
    Judge,
    LackingError,
)
from reproduction.experiments._claims_words import (
    join_titles,
    join_words,
    prefixed,
    sentences,
    tell_count,
    tell_reported,
    tell_values,
)
from reproduction.experiments._sharpness import find_sharpness
from reproduction.statistics import Scores

OURS = "paper"
TABLE = "table-1"
# The paper lists all three as imputation techniques.
IMPUTATIONS = ("knn", "mean", "dropout")
RIVALS = (*IMPUTATIONS, "ce")
# The paper calls a context encoder slightly better whose error is lower by an eighth:
# 0.00710 and 0.00810.
LEVEL = 0.15
ALIKE = 0.25  # the worst of five errors is at most so much above the best
# Methods differ as visibly as with the paper's patch if their errors lie as far apart,
# but for this factor.
VISIBLE = 0.5

WORDS = {
    "mse": "Error",
    "mse_inside": "Error inside the patch",
    "mse_outside": "Error outside the patch",
}


def lower_error(metric: str, rivals: Sequence[str] = IMPUTATIONS) -> Judge:
    """Return the rule for an error that is said to be lower than those of rivals.

    Parameters
    ----------
    metric : str
    rivals : sequence of str

    Returns
    -------
    callable
    """

    def judge(evidence: Evidence) -> Finding:
        common = _on_main_row(evidence, metric, rivals)
        comparisons = _compare(common)
        means = common.means()
        reported = _reported(metric, common.methods)
        why = sentences(
            f"{WORDS[metric]}: {tell_values(means)}.",
            tell_comparisons(comparisons),
            _tell_seeds(common),
            tell_reported(reported, higher_is_better=False),
        )
        figures = {**means, **prefixed("reported", reported)}
        return Finding(settle(comparisons, common.missing), why, figures)

    return judge


def _on_main_row(evidence: Evidence, metric: str, rivals: Sequence[str]) -> Common:
    """Return what there is of the patch that the paper's figures are about."""
    rows = evidence.settings(TABLE)[:1]
    return find_common(evidence.cells(TABLE, metric, rows), OURS, rivals)


def _compare(common: Common) -> list[Comparison]:
    if common.n_splits >= FEWEST_SEEDS:
        return over_splits(common, higher_is_better=False)
    return by_margin(common.means(), OURS)


def _tell_seeds(common: Common) -> str:
    seeds = tell_count(common.n_splits, "seed")
    if common.n_splits >= FEWEST_SEEDS:
        return f"There are {seeds} of each."
    return f"With {seeds}, chance is taken to be {MARGIN:.0%} of an error."


def _reported(metric: str, methods: Sequence[str]) -> dict[str, float]:
    """Return the paper's own errors of some methods, as far as it has them."""
    (row,) = load_experiment(TABLE).reported[metric].values()
    return {key: row[key] for key in methods if key in row}


def judge_level(evidence: Evidence) -> Finding:
    """Judge whether errors are level with those of a context encoder.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    figures: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for metric, words in WORDS.items():
        means = _on_main_row(evidence, metric, ("ce",)).means()
        ratios[words] = means[OURS] / means["ce"]
        reported = prefixed("reported", _reported(metric, (OURS, "ce")))
        figures |= prefixed(metric, {**means, **reported})
    told = [f"{words.lower()} {ratio:.2f}" for words, ratio in ratios.items()]
    why = f"In times of the context encoder's: {join_words(told)}."
    # Lower in total and outside, and only slightly higher inside.
    limits = {"mse": 1.0, "mse_inside": 1 + LEVEL, "mse_outside": 1.0}
    worst = max(ratios[WORDS[metric]] / limit for metric, limit in limits.items())
    outcome = HOLDS if worst <= 1 else OPEN
    if worst > 1 + MARGIN:
        outcome = DOES_NOT
    return Finding(outcome, why, figures)


def judge_patches(evidence: Evidence) -> Finding:
    """Judge whether all methods are alike if the patch is small.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    ratios: dict[str, float] = {}
    gaps: dict[str, float] = {}
    for row in evidence.settings(TABLE):
        try:
            common = find_common(evidence.cells(TABLE, "mse", [row]), OURS, RIVALS)
        except LackingError:
            continue
        if not common.missing:
            errors = common.means().values()
            ratios[row.dataset] = max(errors) / min(errors)
            gaps[row.dataset] = max(errors) - min(errors)
    main, *others = (row.dataset for row in evidence.settings(TABLE))
    smallest = next((name for name in others if name in ratios), None)
    if smallest is None:
        msg = f"no results of {join_titles([OURS, *RIVALS])} on smaller patches"
        raise LackingError(msg)
    told = [f"{ratio:.2f} on {name}" for name, ratio in ratios.items()]
    apart = [f"{gap:.4f} on {name}" for name, gap in gaps.items()]
    why = sentences(
        f"The worst error is, in times of the best, {join_words(told)}.",
        f"They lie apart by {join_words(apart)}.",
    )
    outcome = HOLDS if ratios[smallest] <= 1 + ALIKE else OPEN
    if outcome == OPEN and gaps[smallest] >= VISIBLE * gaps.get(main, np.inf):
        outcome = DOES_NOT
    return Finding(outcome, why, {**ratios, **prefixed("apart", gaps)})


def judge_sharpness(evidence: Evidence) -> Finding:
    """Judge whether images are sharper than those of the rivals.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    images = evidence.images()
    present = [key for key in RIVALS if key in images]
    if OURS not in images or not present:
        msg = f"no images of {join_titles([OURS, *RIVALS])}"
        raise LackingError(msg, partial=True)
    shown = {key: images[key] for key in (OURS, *present)}
    original, lost = images["original"], np.isnan(images["masked"])
    scores = _score(shown, original)
    pairs = [(OURS, key) for key in present]
    comparisons = over_rows(scores, pairs, higher_is_better=True)
    sharpness = means_of(scores, scores.methods)
    inside = _score(shown, original, lost)
    errors = {key: float(np.square(x - original).mean()) for key, x in shown.items()}
    why = sentences(
        f"Gradient energy on {tell_count(len(original), 'image')}, in times of the "
        f"originals': {tell_values(sharpness)}.",
        tell_comparisons(comparisons),
        tell_power(len(original), len(pairs), "image"),
        f"Their errors: {tell_values(errors)}.",
    )
    figures = {
        **prefixed("sharpness", sharpness),
        **prefixed("sharpness inside", means_of(inside, inside.methods)),
        **prefixed("error", errors),
    }
    missing = [key for key in RIVALS if key not in images]
    return Finding(settle(comparisons, missing), why, figures)


def _score(
    shown: Mapping[str, np.ndarray],
    original: np.ndarray,
    region: np.ndarray | None = None,
) -> Scores:
    """Return the sharpness of each image and method."""
    names = [f"image {i}" for i in range(len(original))]
    columns = [find_sharpness(images, original, region) for images in shown.values()]
    return Scores(names, list(shown), np.column_stack(columns))
