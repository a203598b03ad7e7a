"""The paper's claims, each with a rule by which results confirm or deny it."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from lacunet.evaluation import corrected_t, holm
from reproduction.claim_experiments import find_sharpness
from reproduction.methods import METHODS
from reproduction.protocols import N_FOLDS
from reproduction.runner import load_experiment
from reproduction.statistics import ALPHA, DECIMALS, smallest_p, wilcoxon_p
from reproduction.tables import Experiment

Outcome = Literal["holds", "does not hold", "not decidable"]
HOLDS: Outcome = "holds"
FAILS: Outcome = "does not hold"
OPEN: Outcome = "not decidable"

NO_RATE = -1.0  # in frames, of data sets with missing values of their own
# What decides, best first; results of different sources are never mixed.
SOURCES = (("paper", ""), ("quick", ""), ("paper", "digits"), ("quick", "digits"))

OURS = "paper"
IMPUTATIONS = ("knn", "mice", "mean", "gmm")
ERRORS = {
    "mse": "Error",
    "mse_inside": "Error inside the patch",
    "mse_outside": "Error outside the patch",
}
# An error that was measured once differs beyond chance by this factor: on the stand-ins
# another seed changes the ratio of two errors by 5 to 7 per cent (standard deviation).
MARGIN = 0.10
FEWEST_SEEDS = 3  # for a test in place of the margin
# The paper calls CE slightly better inside if its error is lower by 14 per cent, and
# accuracies comparable that are up to 0.011 below those of CE.
SLIGHTLY, COMPARABLE = 0.15, 0.02
ALIKE, VISIBLE = 0.25, 0.5
ALMOST_ALL, HALF = 0.75, 0.5
ABOUT = 2.0
DAY = 24.0  # hours
ROUNDING, SEEN, RECOVERED = 1e-9, 1e-3, 1e-4

TITLES = {
    "em-frozen": "EM frozen",
    "em-joint": "EM + joint",
    "imputation": "imputation on average",
    "paper-complete": "paper trained on complete rows",
    "paper-relu": "paper with ReLU",
}


class MissingResultsError(Exception):
    """There are no results yet of what a rule needs."""


class Finding(NamedTuple):
    """What a rule finds: an outcome, why, and the figures behind it."""

    outcome: Outcome
    why: str
    figures: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Evidence:
    """The results of one experiment and protocol, on the paper's data or stand-ins.

    ``cells`` are those with a value, ``content`` is the data of a figure, if it is one.
    """

    experiment: Experiment
    cells: pd.DataFrame
    content: Any
    stand_ins: bool

    @property
    def rows(self) -> list[tuple[str, float]]:
        """Data sets and rates of the experiment, in its order."""
        own = self.experiment.stand_ins if self.stand_ins else self.experiment.settings
        return [(s.dataset, NO_RATE if s.rate is None else s.rate) for s in own]

    def splits(
        self, metric: str, methods: Sequence[str], rows: Sequence[Any] | None = None
    ) -> pd.DataFrame:
        """Return the splits that all methods have a value on, with a column for each.

        The index is data set, rate, seed and fold.
        """
        wide = self.cells[self.cells["metric"] == metric].pivot(
            index=["dataset", "rate", "seed", "fold"], columns="method", values="value"
        )
        chosen = [at[:2] in (self.rows if rows is None else rows) for at in wide.index]
        wide = wide[chosen].dropna(axis=1, how="all")
        lacking = [title_of(each) for each in methods if each not in wide]
        if lacking:
            msg = f"no results of {join(lacking)}"
            raise MissingResultsError(msg)
        found = wide[list(methods)].dropna()
        if found.empty:
            msg = f"no results of {join(map(title_of, methods))} on the same rows"
            raise MissingResultsError(msg)
        return found

    def datasets(self, methods: Sequence[str]) -> pd.DataFrame:
        """Return the mean accuracy of each method on each data set."""
        found = self.splits("accuracy", methods)
        for by in (["dataset", "rate", "seed"], ["dataset", "rate"], ["dataset"]):
            found = found.groupby(by).mean()
        return found

    def reported(
        self, metric: str, methods: Iterable[str], lowest_rate: float | None = None
    ) -> dict[str, float]:
        """Return the means that the paper reports, of methods it has on all rows."""
        known = self.experiment.reported.get(metric, {})
        lines = [
            line
            for (_, rate), line in known.items()
            if lowest_rate is None or (rate and rate >= lowest_rate)
        ]
        return {
            key: float(np.mean([line[key] for line in lines]))
            for key in methods
            if lines and all(key in line for line in lines)
        }


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, the rule for it, and the rule in words."""

    name: str
    statement: str
    place: str
    experiment: str
    rule: Callable[[Evidence], Finding] = field(repr=False)
    criterion: str = ""


class Verdict(NamedTuple):
    """What the results say of a claim."""

    claim: Claim
    outcome: Outcome
    why: str
    figures: Mapping[str, float]


def evaluate_claims(
    cells: pd.DataFrame, contents: Mapping[str, Mapping[str, Any]]
) -> list[Verdict]:
    """Evaluate the paper's claims by results.

    Each is decided by results of one protocol: ``paper`` if they are there, else
    ``quick``; by those on stand-ins only if there are none on the paper's data.

    Parameters
    ----------
    cells : DataFrame
        From ``read_results``.
    contents : mapping
        The data of figures by the name of the experiment and by their label, which is
        the protocol, with ``-digits`` behind it for stand-ins.

    Returns
    -------
    list of Verdict
        One for each of ``CLAIMS``. What there are no results of is not decidable, and
        the verdict names the command that makes them.

    Examples
    --------
    >>> from reproduction.results import read_results
    >>> verdict = evaluate_claims(read_results("no-such-folder"), {})[0]
    >>> verdict.claim.name, verdict.outcome
    ('lower-error-inside', 'not decidable')
    """
    valued = cells.dropna(subset="value").fillna({"rate": NO_RATE})
    runs = dict(iter(valued.groupby(["experiment", "protocol"])))
    return [_evaluate(claim, runs, valued[:0], contents) for claim in CLAIMS]


def _evaluate(
    claim: Claim,
    runs: Mapping[tuple[str, str], pd.DataFrame],
    nothing: pd.DataFrame,
    contents: Mapping[str, Mapping[str, Any]],
) -> Verdict:
    """Evaluate a claim by the first results that are enough for it."""
    experiment = load_experiment(claim.experiment)
    missing: list[tuple[bool, str]] = []
    for protocol, data in SOURCES:
        content = contents.get(claim.experiment, {}).get(
            f"{protocol}-{data}" if data else protocol
        )
        some = runs.get((claim.experiment, protocol), nothing)
        evidence = Evidence(experiment, some, content, bool(data))
        try:
            if some.empty and content is None:
                msg = f"no results of {claim.experiment}"
                raise MissingResultsError(msg)
            found = claim.rule(evidence)
        except MissingResultsError as error:
            begun = bool(
                some["dataset"].isin([name for name, _ in evidence.rows]).any()
            )
            option = f" --data {data}" if data else ""
            command = f"run {claim.experiment} --protocol {protocol}{option}"
            why = f"There are {error} yet. Run: python -m reproduction {command}"
            missing.append((not begun, why))
            continue
        instead = data and experiment.settings != experiment.stand_ins
        source = f"protocol {protocol}{', stand-ins' if instead else ''}"
        why = f"{found.why} From {claim.experiment}, {source}."
        return Verdict(claim, found.outcome, why, found.figures)
    # Where results have been begun, they are to be finished.
    return Verdict(claim, OPEN, min(missing, key=lambda each: each[0])[1], {})


# --- comparisons beyond chance


class Comparison(NamedTuple):
    """A method against a rival: better (1) or worse (-1) beyond chance, or neither."""

    rival: str
    p: float  # after Holm's correction; NaN without a test
    side: int


def compare(
    scores: pd.DataFrame,
    rivals: Sequence[str],
    *,
    ours: str = OURS,
    over: Literal["rows", "splits"] = "rows",
    lower_is_better: bool = False,
    allowance: float = 0.0,
) -> list[Comparison]:
    """Compare by Wilcoxon's test over rows, or by the corrected t-test over splits."""
    sign = -1 if lower_is_better else 1
    gains = [sign * (scores[ours] - scores[rival]) + allowance for rival in rivals]
    if over == "rows":
        p_values = [wilcoxon_p(gain.round(DECIMALS)) for gain in gains]
        sides = [np.sign(gain.median()) for gain in gains]
    elif len(scores) > 1:
        p_values = [corrected_t(g, n_train=N_FOLDS - 1, n_test=1).p for g in gains]
        sides = [np.sign(gain.mean()) for gain in gains]
    else:
        return [Comparison(rival, math.nan, 0) for rival in rivals]
    return [
        Comparison(rival, float(p), int(side) if p <= ALPHA else 0)
        for rival, p, side in zip(rivals, holm(p_values), sides, strict=True)
    ]


def conclude(comparisons: Iterable[Comparison]) -> Outcome:
    """Return what follows for a method that is claimed to be better than all."""
    sides = [each.side for each in comparisons]
    if min(sides) < 0:
        return FAILS
    return HOLDS if min(sides) > 0 else OPEN


def title_of(method: str) -> str:
    known = METHODS[method].title if method in METHODS else method
    return TITLES.get(method, known)


def join(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def means_of(scores: pd.DataFrame) -> dict[str, float]:
    return {key: float(np.mean(scores[key].to_numpy())) for key in scores}


def list_values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{title_of(key)} {value:.4g}" for key, value in values.items())


def prefix(start: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{start} {name}": value for name, value in values.items()}


def sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def describe(comparisons: Sequence[Comparison], ours: str = OURS) -> str:
    """Return comparisons as a sentence."""
    parts = []
    for side, words in (
        (1, "better than"),
        (-1, "worse than"),
        (0, "within chance of"),
    ):
        rivals = [
            title_of(rival) + ("" if math.isnan(p) else f" (p = {p:.2g})")
            for rival, p, found in comparisons
            if found == side
        ]
        if rivals:
            parts.append(f"{words} {join(rivals)}")
    return f"{title_of(ours)} is {', '.join(parts)}."


def describe_power(n_rows: int, n_pairs: int, noun: str) -> str:
    """Return a sentence if so few rows can show nothing beyond chance."""
    if smallest_p(n_rows) * n_pairs <= ALPHA:
        return ""
    verb = "is" if n_rows == 1 else "are"
    return f"{count(n_rows, noun)} {verb} too few for p = {ALPHA}."


def describe_reported(values: Mapping[str, float], *, lower_is_better: bool) -> str:
    """Return whether the paper's own figures have its method first."""
    if OURS not in values or len(values) < 2:
        return ""
    sign = -1 if lower_is_better else 1
    ahead = {k: v for k, v in values.items() if sign * v > sign * values[OURS]}
    if not ahead:
        return "The paper's own figures agree."
    both = {**ahead, OURS: values[OURS]}
    return f"The paper's own figures deny it: {list_values(both)}."


# --- rules: images


def lower_error(
    evidence: Evidence,
    *,
    metric: str,
    rivals: Sequence[str] = ("knn", "mean", "dropout"),
) -> Finding:
    """Is the error on the paper's own patch lower than those of the rivals?"""
    scores = evidence.splits(metric, (OURS, *rivals), evidence.rows[:1])
    means = means_of(scores)
    seeds = count(len(scores), "seed")
    if len(scores) >= FEWEST_SEEDS:
        found = compare(scores, rivals, over="splits", lower_is_better=True)
        chance = f"There are {seeds} of each."
    else:
        ratios = {rival: means[OURS] / means[rival] for rival in rivals}
        found = [
            Comparison(
                rival, math.nan, int(each <= 1 - MARGIN) - int(each >= 1 + MARGIN)
            )
            for rival, each in ratios.items()
        ]
        chance = f"With {seeds}, chance is taken to be {MARGIN:.0%} of an error."
    reported = evidence.reported(metric, scores)
    why = sentences(
        f"{ERRORS[metric]}: {list_values(means)}.",
        describe(found),
        chance,
        describe_reported(reported, lower_is_better=True),
    )
    return Finding(conclude(found), why, {**means, **prefix("reported", reported)})


def level_with_ce_on_images(evidence: Evidence) -> Finding:
    """Are errors at most those of a context encoder, inside slightly above?"""
    figures: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for metric in ERRORS:
        means = evidence.splits(metric, (OURS, "ce"), evidence.rows[:1]).mean()
        ratios[metric] = means[OURS] / means["ce"]
        reported = prefix("reported", evidence.reported(metric, (OURS, "ce")))
        figures |= prefix(metric, {**means, **reported})
    told = [f"{ERRORS[key].lower()} {ratio:.2f}" for key, ratio in ratios.items()]
    worst = max(
        ratios["mse"], ratios["mse_outside"], ratios["mse_inside"] / (1 + SLIGHTLY)
    )
    outcome = HOLDS if worst <= 1 else FAILS if worst > 1 + MARGIN else OPEN
    return Finding(
        outcome, f"In times of the context encoder's: {join(told)}.", figures
    )


def small_patches_alike(evidence: Evidence) -> Finding:
    """Do all methods have about the same error if the patch is small?"""
    methods = (OURS, "knn", "mean", "dropout", "ce")
    errors = {}
    for row in evidence.rows:
        try:
            errors[row[0]] = evidence.splits("mse", methods, [row]).mean()
        except MissingResultsError:
            continue
    main = evidence.rows[0][0]
    smallest = next((name for name in errors if name != main), None)
    if smallest is None:
        msg = f"no results of {join(map(title_of, methods))} on smaller patches"
        raise MissingResultsError(msg)
    ratios = {name: each.max() / each.min() for name, each in errors.items()}
    gaps = {name: each.max() - each.min() for name, each in errors.items()}
    times = join(f"{ratio:.2f} on {name}" for name, ratio in ratios.items())
    apart = join(f"{gap:.4f} on {name}" for name, gap in gaps.items())
    outcome = HOLDS if ratios[smallest] <= 1 + ALIKE else OPEN
    if outcome == OPEN and gaps[smallest] >= VISIBLE * gaps.get(main, np.inf):
        outcome = FAILS
    why = (
        f"The largest error is, in times of the smallest, {times}. The difference is "
        f"{apart}."
    )
    return Finding(outcome, why, {**ratios, **prefix("apart", gaps)})


def sharper_images(evidence: Evidence) -> Finding:
    """Have the images of figure 2 a higher gradient energy than those of rivals?"""
    images, rivals = evidence.content, ("knn", "mean", "dropout", "ce")
    if images is None or not {OURS, *rivals} <= images.keys():
        msg = f"no images of {join(map(title_of, (OURS, *rivals)))}"
        raise MissingResultsError(msg)
    original, lost = images["original"], np.isnan(images["masked"])
    shown = {key: images[key] for key in (OURS, *rivals)}
    scores, inside = (
        pd.DataFrame({k: find_sharpness(x, original, region) for k, x in shown.items()})
        for region in (None, lost)
    )
    found = compare(scores, rivals)
    errors = {key: float(np.square(x - original).mean()) for key, x in shown.items()}
    why = sentences(
        f"Gradient energy on {count(len(original), 'image')}, in times of the "
        f"originals': {list_values(means_of(scores))}.",
        describe(found),
        describe_power(len(original), len(rivals), "image"),
        f"Their errors: {list_values(errors)}.",
    )
    figures = {
        **prefix("sharpness", means_of(scores)),
        **prefix("sharpness inside", means_of(inside)),
        **prefix("error", errors),
    }
    return Finding(conclude(found), why, figures)


# --- rules: accuracy


def better_at_rates(
    evidence: Evidence,
    *,
    rivals: Sequence[str],
    lowest: float = 0.75,
    allowance: float = 0.0,
) -> Finding:
    """Is the mean accuracy over the rates from the lowest on higher than the rivals'?

    With an allowance, whether it is at most so much below.
    """
    dataset = evidence.rows[0][0]
    rows = [row for row in evidence.rows if row[0] == dataset and row[1] >= lowest]
    scores = evidence.splits("accuracy", (OURS, *rivals), [r for r in rows if r[1]])
    rates = scores.index.unique("rate").sort_values()
    by_split = scores.groupby(["seed", "fold"])
    scores = by_split.mean()[by_split.size() == len(rates)]
    if scores.empty:
        msg = "no results of all rates on the same rows"
        raise MissingResultsError(msg)
    found = compare(scores, rivals, over="splits", allowance=allowance)
    reported = evidence.reported("accuracy", scores, lowest)
    if len(scores) == 1:
        chance = "There is one split alone, which says nothing of chance."
    elif allowance:
        words = {1: "above", 0: "within chance of", -1: "below"}[found[0].side]
        chance = f"paper is {words} the other minus {allowance} (p = {found[0].p:.2g})."
    else:
        chance = describe(found)
    why = sentences(
        f"Mean accuracy at {join(f'{rate:.0%}' for rate in rates)} missing: "
        f"{list_values(means_of(scores))}.",
        chance,
        f"The paper's own: {list_values(reported)}."
        if allowance
        else describe_reported(reported, lower_is_better=False),
    )
    figures = {**means_of(scores), **prefix("reported", reported)}
    return Finding(conclude(found), why, figures)


def better_on_datasets(evidence: Evidence, *, rivals: Sequence[str]) -> Finding:
    """Is the accuracy over data sets higher than that of each rival?"""
    scores = evidence.datasets((OURS, *rivals))
    found = compare(scores, rivals)
    reported = evidence.reported("accuracy", scores)
    why = sentences(
        f"Mean accuracy on {_count_sets(evidence, scores)}: "
        f"{list_values(means_of(scores))}.",
        describe(found),
        describe_power(len(scores), len(rivals), "data set"),
        describe_reported(reported, lower_is_better=False),
    )
    figures = {
        **means_of(scores),
        **prefix("reported", reported),
        **prefix("p against", {each.rival: each.p for each in found}),
    }
    return Finding(conclude(found), why, figures)


def wins_almost_always(evidence: Evidence) -> Finding:
    """Does the method win in almost all cases, a data set and an imputation each?"""
    scores = evidence.datasets((OURS, *IMPUTATIONS)).round(DECIMALS)
    average = scores[list(IMPUTATIONS)].mean(axis=1)
    both = pd.DataFrame({OURS: scores[OURS], "imputation": average})
    (found,) = compare(both, ["imputation"])
    own = pd.DataFrame(evidence.experiment.reported["accuracy"].values())
    won, reported = _fraction_won(scores), _fraction_won(own)
    n_cases = len(scores) * len(IMPUTATIONS)
    power = describe_power(len(scores), 1, "data set")
    why = sentences(
        f"paper wins in {won:.0%} of {count(n_cases, 'case')}, on "
        f"{_count_sets(evidence, scores)}.",
        describe([found]),
        power,
        f"By the paper's own figures it wins in {reported:.0%}.",
    )
    outcome = OPEN
    if not power and (won <= HALF or found.side < 0):
        outcome = FAILS
    elif not power and won >= ALMOST_ALL and found.side > 0:
        outcome = HOLDS
    figures = {
        **means_of(scores),
        "fraction won": won,
        "reported fraction won": reported,
        "p": found.p,
    }
    return Finding(outcome, why, figures)


def _fraction_won(scores: pd.DataFrame) -> float:
    """Return the fraction of cases with a win; a tie is half of one."""
    rivals = scores[[key for key in IMPUTATIONS if key in scores]]
    gains = np.sign(rivals.rsub(scores[OURS], axis=0))
    return float(((gains + 1) / 2).to_numpy().mean())


def learned_density_better(evidence: Evidence, *, by_seed: bool = False) -> Finding:
    """Is a density that the network learns better than that of EM, kept as it is?"""
    methods = (OURS, "em-frozen", "em-joint")
    if by_seed:  # each has other points
        splits = evidence.splits("accuracy", methods)
        scores = splits.groupby(lambda at: f"seed {at[2]}").mean()
        rows = count(len(scores), "seed")
    else:
        scores = evidence.datasets(methods)
        rows = _count_sets(evidence, scores)
    learned = (OURS, "em-joint")
    found = {  # seen from the other side
        rival: Comparison("em-frozen", p, -side)
        for rival, p, side in compare(scores, learned, ours="em-frozen")
    }
    why = sentences(
        f"Mean accuracy on {rows}: {list_values(means_of(scores))}.",
        *(describe([each], method) for method, each in found.items()),
        describe_power(len(scores), len(learned), "seed" if by_seed else "data set"),
    )
    p_of = prefix("p of", {method: each.p for method, each in found.items()})
    return Finding(conclude([found[OURS]]), why, {**means_of(scores), **p_of})


def _count_sets(evidence: Evidence, scores: pd.DataFrame) -> str:
    """Return the number of data sets, and of how many if some have no results yet."""
    total = len({name for name, _ in evidence.rows})
    number = count(total, "data set")
    return number if len(scores) == total else f"{len(scores)} of {number}"


# --- rules: cost, MNIST, theorem 4.1


def costs_about_2k(evidence: Evidence) -> Finding:
    """Does the layer take about 2k times as long as an ordinary one?"""
    content = evidence.content
    components = np.array(content["components"])
    incomplete = np.array(content["shares"]) > 0
    figures: dict[str, float] = {}
    for name in ("forward", "step"):
        times = np.array(content[name])[:, incomplete].mean(axis=1)  # (components,)
        figures[f"{name} / 2k"] = float(np.exp(np.log(times / 2 / components).mean()))
        figures |= {f"{name} k={k}": t for k, t in zip(components, times, strict=True)}
    factors = [figures["forward / 2k"], figures["step / 2k"]]
    sides = [int(each > ABOUT) - int(each < 1 / ABOUT) for each in factors]
    sizes = content["sizes"]
    why = (
        f"In times of an ordinary layer it takes {factors[0]:.2g} times 2k forward and "
        f"{factors[1]:.2g} times 2k with gradients, in the mean over k = "
        f"{join(map(str, components))}. Measured with {sizes['batch']} rows of "
        f"{sizes['features']} columns and {sizes['units']} units."
    )
    outcome = HOLDS if not any(sides) else FAILS if abs(sum(sides)) == 2 else OPEN
    return Finding(outcome, why, figures)


def em_fails(evidence: Evidence) -> Finding:
    """Is EM unable to fit a mixture to MNIST?"""
    content = evidence.content
    default = max(each["floor"] for each in content["em"])
    floored = [each for each in content["em"] if each["floor"] == default]
    bare = [each for each in content["em"] if each["floor"] != default]

    def describe_fit(fit: Mapping[str, Any]) -> str:
        what = f"{fit['covariances']} covariances on {fit['n_rows']} images"
        if not fit["fitted"]:
            return f"{what} failed"
        verb = "converged" if fit["converged"] else "had not converged"
        return (
            f"{what} {verb} after {fit['n_iter']} iterations ({fit['seconds']:.3g} s)"
        )

    why = sentences(
        f"With {default:g} added to the variances: {join(map(describe_fit, floored))}.",
        f"With nothing added: {join(map(describe_fit, bare))}; {content['n_constant']} "
        f"of {content['n_pixels']} pixels never vary.",
    )
    outcome = OPEN if any(each["fitted"] for each in floored) else HOLDS
    if all(each["fitted"] for each in bare):
        outcome = FAILS
    return _only_of_mnist(evidence, Finding(outcome, why))


def mice_takes_days(evidence: Evidence) -> Finding:
    """Does mice need more than a day for MNIST?"""
    mice = evidence.content["mice"]
    least, most = sorted((mice["hours_by_line"], mice["hours_by_share"]))
    why = (
        f"One regression on {mice['n_rows'][-1]} images takes "
        f"{mice['seconds'][-1]:.2g} s of one core; the {mice['n_regressions']} of "
        f"{mice['n_rounds']} rounds on all {evidence.content['n_images']} would take "
        f"{least:.2g} to {most:.2g} hours for one completed table, by extrapolation."
    )
    outcome = FAILS if most <= DAY else HOLDS if least > DAY else OPEN
    return _only_of_mnist(evidence, Finding(outcome, why))


def _only_of_mnist(evidence: Evidence, finding: Finding) -> Finding:
    """Leave open what was seen on other images."""
    if not evidence.stand_ins:
        return finding
    why = f"{finding.why} Small digits say nothing of MNIST."
    return finding._replace(outcome=OPEN, why=why)


def loses_no_information(evidence: Evidence) -> Finding:
    """Do expected ReLUs distinguish measures, and does the proof work in numbers?"""
    content = evidence.content
    different, few = content["different"], content["few_units"]
    nearest = min(different, key=different.get)
    error = max(content["density"], content["characteristic"])
    why = sentences(
        f"Responses to one measure that is written in two ways differ by "
        f"{content['equal']:.1g}, those to {len(different)} pairs of measures by at "
        f"least {different[nearest]:.2g} ({nearest}).",
        f"Densities and characteristic functions are recovered from responses to "
        f"within {error:.1g}.",
        f"That is for all weights and biases: {few['units']} units respond alike "
        f"(to {few['their_gap']:.0g}) to two measures on different points.",
    )
    holds = (
        content["equal"] <= ROUNDING
        and different[nearest] >= SEEN
        and error <= RECOVERED
    )
    return Finding(HOLDS if holds else FAILS, why)


# --- the claims

_BEYOND_CHANCE = (
    "Holds if better than each rival beyond chance, does not hold if worse than one "
    "beyond chance, not decidable otherwise. Chance: "
)
_ERRORS = _BEYOND_CHANCE + (
    "with three seeds or more the corrected t-test over seeds (p at most 0.05, Holm "
    "over the rivals); with fewer, 10 per cent of the rival's error."
)
_SPLITS = _BEYOND_CHANCE + (
    "the corrected resampled t-test over folds and seeds, on means over the rates (p "
    "at most 0.05, Holm over the rivals)."
)
_DATASETS = _BEYOND_CHANCE + (
    "Wilcoxon's signed-rank test over data sets (p at most 0.05, Holm over the rivals)."
)
_ALMOST_ALL = (
    "A case is a data set and one of k-nn, mice, mean and gmm; a tie is half a win. "
    "Holds if paper wins in at least 75 per cent of the cases and is better than the "
    "mean of the imputations by Wilcoxon's test over data sets (p at most 0.05). Does "
    "not hold if it wins in at most half of the cases, or is worse by that test. Not "
    "decidable between: with so few data sets, some cases either way are chance."
)
_LEARNED = (
    "The density that paper learns against that of EM, which is kept (em-frozen), with "
    "the same network. Holds if paper is better beyond chance, does not hold if it is "
    "worse beyond chance. Chance: Wilcoxon's signed-rank test over {} (p at most 0.05, "
    "Holm over this and the same for em-joint, which starts from EM and is reported "
    "beside)."
)
_FOOTNOTE = "Section 5, multilayer perceptron, footnote on mice and EM"

CLAIMS = (
    Claim(
        "lower-error-inside",
        "Our method has lower error than imputation methods inside the mask.",
        "Section 5, autoencoder; table 1",
        "table-1",
        partial(lower_error, metric="mse_inside"),
        "Rivals are k-nn, mean and dropout, on the squared error inside. " + _ERRORS,
    ),
    Claim(
        "lower-error-outside",
        "Our method has lower error than imputation methods outside the mask.",
        "Section 5, autoencoder; table 1",
        "table-1",
        partial(lower_error, metric="mse_outside"),
        "Rivals are k-nn, mean and dropout, on the squared error outside. " + _ERRORS,
    ),
    Claim(
        "sharper-images",
        "Our method gives much sharper images than the competitive methods.",
        "Section 5, autoencoder; figure 2 and supplement, section 3",
        "figure-2",
        sharper_images,
        "Sharpness is the gradient energy of an image (squared differences of "
        "neighbouring pixels), divided by that of the original. Rivals are k-nn, mean, "
        f"dropout and CE. {_BEYOND_CHANCE}Wilcoxon's signed-rank test over the images "
        "of figure 2 (p at most 0.05, Holm over the rivals). Noise is sharp too: "
        "errors are reported beside, and sharpness without a lower error is no virtue.",
    ),
    Claim(
        "small-patches-alike",
        "If the removed patch is smaller, all methods perform very well and can't be "
        "visibly distinguished.",
        "Section 5, autoencoder, footnote on the size of the patch",
        "table-1",
        small_patches_alike,
        "Holds if, with the smallest patch, the largest error of k-nn, mean, dropout, "
        "paper and CE is at most 25 per cent above the smallest. Does not hold if it "
        "is not, and the two are at least half as far apart as with the paper's own "
        "patch. Not decidable between: small errors may differ by a factor and look "
        "the same.",
    ),
    Claim(
        "relu-worse-than-sigmoid",
        "With ReLU in the remaining layers (except the last one) the results are less "
        "plausible than with sigmoids.",
        "Section 5, autoencoder, footnote on the activations",
        "table-1",
        partial(lower_error, metric="mse", rivals=("paper-relu",)),
        "The rival is the same network with ReLU in all hidden layers (paper-relu), on "
        "the squared error in total. " + _ERRORS,
    ),
    Claim(
        "level-with-ce-on-images",
        "Our method overcomes CE on the whole area and outside the mask, and CE is "
        "only slightly better inside, though it requires complete data in training.",
        "Section 5, autoencoder; table 1",
        "table-1",
        level_with_ce_on_images,
        "Holds if the errors in total and outside are at most those of CE, and that "
        "inside at most 15 per cent above (the paper calls 14 per cent slightly). Does "
        "not hold if one is above that by another 10 per cent, not decidable between.",
    ),
    Claim(
        "mice-impossible-on-mnist",
        "Due to the high dimensionality of MNIST, mice is not able to construct "
        "imputations.",
        _FOOTNOTE,
        "claim-mnist",
        mice_takes_days,
        "Scikit-learn's IterativeImputer with draws, five rounds, one table, one core. "
        "A regression on all other pixels is timed on more and more images, and "
        "extrapolated to all of them, by a line and in proportion. Does not hold if "
        "both give at most 24 hours, holds if both give more, not decidable between or "
        "with stand-ins. The paper speaks of the packages of 2018.",
    ),
    Claim(
        "em-impossible-on-mnist",
        "EM is not able to fit a mixture to MNIST because of singular covariances.",
        _FOOTNOTE,
        "claim-mnist",
        em_fails,
        "Our EM on images with patches, five components, with diagonal and with factor "
        "covariances, with nothing added to variances and with 1e-6, as by default. "
        "Does not hold if both give a finite likelihood with nothing added, holds if "
        "neither does even with 1e-6. Not decidable between, where singular "
        "covariances are in the way and a floor is the way around, or with stand-ins.",
    ),
    Claim(
        "better-than-imputation-on-esr",
        "Our model has an advantage over classical imputation methods, which give "
        "reasonable results only for a low number of missing values.",
        "Section 5, multilayer perceptron; table 2",
        "table-2",
        partial(better_at_rates, rivals=IMPUTATIONS),
        "Rivals are k-nn, mice, mean and gmm, with 75 per cent missing or more. "
        + _SPLITS,
    ),
    Claim(
        "better-than-dropout-on-esr",
        "Our model is slightly better than dropout, which is more robust to the number "
        "of absent attributes than imputations.",
        "Section 5, multilayer perceptron; table 2",
        "table-2",
        partial(better_at_rates, rivals=("dropout",)),
        "The rival is dropout, with 75 per cent missing or more. " + _SPLITS,
    ),
    Claim(
        "level-with-ce-on-esr",
        "Our method gives comparable scores to CE, even though CE had access to "
        "complete training data.",
        "Section 5, multilayer perceptron; table 2",
        "table-2",
        partial(better_at_rates, rivals=("ce",), lowest=0.0, allowance=COMPARABLE),
        "On means over all rates. Holds if the accuracy is above that of CE minus 0.02 "
        "(the paper's own is up to 0.011 below), does not hold if it is below that, by "
        "the corrected resampled t-test over folds and seeds (p at most 0.05). Not "
        "decidable otherwise.",
    ),
    Claim(
        "better-than-imputation-on-table-4",
        "Our model outperformed imputation techniques in almost all cases.",
        "Section 5, radial basis function network; table 4",
        "table-4",
        wins_almost_always,
        _ALMOST_ALL,
    ),
    Claim(
        "better-than-imputation-on-table-6",
        "Our method outperformed imputation techniques in almost all cases, with 50 "
        "per cent of values removed.",
        "Supplement, section 4; table 6",
        "table-6",
        wins_almost_always,
        _ALMOST_ALL,
    ),
    Claim(
        "better-than-kernels-on-table-4",
        "Our model obtained more accurate results than modified kernel methods, which "
        "directly work on incomplete data.",
        "Section 5, radial basis function network; table 4",
        "table-4",
        partial(better_on_datasets, rivals=("karma", "geom")),
        "Rivals are karma and geom. " + _DATASETS,
    ),
    Claim(
        "better-than-karma-on-table-6",
        "Our method was slightly better than the karma algorithm.",
        "Supplement, section 4; table 6",
        "table-6",
        partial(better_on_datasets, rivals=("karma",)),
        "The rival is karma. " + _DATASETS,
    ),
    Claim(
        "joint-density-beats-em-on-the-toy",
        "Learning missing data density by the network helped to perform better "
        "classification than estimating GMM directly by EM.",
        "Supplement, section 6; its last figure",
        "figure-density",
        partial(learned_density_better, by_seed=True),
        _LEARNED.format("seeds, each with other points"),
    ),
    *(
        Claim(
            f"joint-density-beats-em-on-table-{number}",
            "Learning the density by the network is better than estimating it by EM "
            f"(said of the toy, and looked at on the sets of table {number}).",
            "Supplement, section 6; section 3, network architecture",
            f"table-{number}",
            learned_density_better,
            _LEARNED.format("data sets"),
        )
        for number in (4, 6)
    ),
    Claim(
        "needs-incomplete-rows",
        "If we want to use missing data in the testing stage, we need to feed the "
        "network with incomplete data in training, to fit an accurate density.",
        "Section 3, network architecture",
        "claim-rows",
        partial(better_on_datasets, rivals=("paper-complete",)),
        "The same method is trained on incomplete rows (paper) and on the same rows "
        "before values were removed (paper-complete), and tested on incomplete rows. "
        + _DATASETS,
    ),
    Claim(
        "cost-about-2k",
        "Generalised activations can be about 2k times slower than working on complete "
        "data, with k Gaussians.",
        "Supplement, section 5",
        "figure-cost",
        costs_about_2k,
        "Times of the layer in those of an ordinary one, averaged over fractions of "
        "missing values above 0, divided by 2k; the geometric mean over k. Holds if it "
        "is from 1/2 to 2, forward and with gradients; does not hold if both are above "
        "or both below, not decidable otherwise.",
    ),
    Claim(
        "no-loss-of-information",
        "Generalised ReLUs lose no information: if all of them respond alike to two "
        "probability measures, these are equal.",
        "Section 4, theorem 4.1",
        "claim-information",
        loses_no_information,
        "Holds if responses to one measure written in two ways agree to 1e-9, those to "
        "each pair of different measures differ by 1e-3 somewhere, and the density and "
        "the characteristic function of w'x, made of responses as in the proof, are "
        "right to 1e-4; does not hold otherwise. Numbers can refute a theorem, but not "
        "prove it.",
    ),
)
