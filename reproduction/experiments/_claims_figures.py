"""Rules for claims about cost, about MNIST, and about theorem 4.1."""

import numpy as np

from reproduction.experiments._claims_record import (
    DOES_NOT,
    HOLDS,
    OPEN,
    Evidence,
    Finding,
    Outcome,
)
from reproduction.experiments._claims_words import (
    join_words,
    prefixed,
    sentences,
)
from reproduction.experiments._record import DIGITS

# "About" is up to twice as much or half as much.
ABOUT = 2.0
DAY = 24.0  # hours
# Responses to one measure may differ by rounding, those to two by more than this.
ROUNDING, SEEN = 1e-9, 1e-3
RECOVERED = 1e-4  # error of what the proof makes of responses


def judge_cost(evidence: Evidence) -> Finding:
    """Judge whether the layer takes about 2k times as long as an ordinary one.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    found = evidence.figure("figure-cost")
    components = np.array(found["components"])
    holed = np.array(found["shares"]) > 0
    figures, sides, told = {}, [], []
    for name, words in (("forward", "forward"), ("step", "with gradients")):
        times = np.array(found[name])[:, holed].mean(axis=1)  # (components,)
        factor = float(np.exp(np.log(times / (2 * components)).mean()))
        sides.append(int(factor > ABOUT) - int(factor < 1 / ABOUT))
        told.append(f"{factor:.2g} times 2k {words}")
        figures[f"{name} / 2k"] = factor
        each = {f"k={k}": float(t) for k, t in zip(components, times, strict=True)}
        figures |= prefixed(name, each)
    sizes = found["sizes"]
    why = sentences(
        f"In times of an ordinary layer it takes {join_words(told)}, in the mean over "
        f"k = {join_words(map(str, components))}.",
        f"Measured with {sizes['batch']} rows of {sizes['features']} columns and "
        f"{sizes['units']} units.",
    )
    return Finding(_settle_sides(sides), why, figures)


def _settle_sides(sides: list[int]) -> Outcome:
    if not any(sides):
        return HOLDS
    return DOES_NOT if abs(sum(sides)) == len(sides) else OPEN


def judge_em(evidence: Evidence) -> Finding:
    """Judge whether EM can't fit a mixture to MNIST.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    found = evidence.figure("claim-mnist")
    default = max(each["floor"] for each in found["em"])
    fits = [each for each in found["em"] if each["floor"] == default]
    bare = [each for each in found["em"] if each["floor"] != default]
    why = sentences(
        f"With {default:g} added to the variances: {_tell_fits(fits)}.",
        f"With nothing added: {_tell_fits(bare)}; {found['n_constant']} of "
        f"{found['n_pixels']} pixels never vary.",
    )
    figures = {"constant pixels": float(found["n_constant"])}
    for each in found["em"]:
        name = f"{each['covariances']} + {each['floor']:g}"
        figures[f"fitted {name}"] = float(each["fitted"])
        figures[f"seconds {name}"] = each["seconds"]
        if each["peak_mb"] is not None:
            figures[f"peak MB {name}"] = each["peak_mb"]
    outcome = OPEN if any(each["fitted"] for each in fits) else HOLDS
    if all(each["fitted"] for each in bare):
        outcome = DOES_NOT
    return _about_mnist(evidence, Finding(outcome, why, figures))


def _tell_fits(fits: list[dict[str, object]]) -> str:
    return join_words(map(_tell_fit, fits))


def _tell_fit(fit: dict[str, object]) -> str:
    what = f"{fit['covariances']} covariances on {fit['n_rows']} images"
    seconds = f"{fit['seconds']:.3g} s"
    if not fit["fitted"]:
        return f"{what} failed"
    settled = "settled" if fit["converged"] else "had not settled"
    return f"{what} {settled} after {fit['n_iter']} iterations ({seconds})"


def judge_mice(evidence: Evidence) -> Finding:
    """Judge whether mice can't fill MNIST.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    found = evidence.figure("claim-mnist")
    mice = found["mice"]
    hours = sorted((mice["hours_by_line"], mice["hours_by_share"]))
    why = sentences(
        f"One regression on {mice['n_rows'][-1]} images takes "
        f"{mice['seconds'][-1]:.2g} s of one core; the {mice['n_regressions']} of "
        f"{mice['n_rounds']} rounds on all {found['n_images']} are reckoned to take "
        f"{hours[0]:.2g} to {hours[1]:.2g} hours for one completed table.",
        "Not all of it was run.",
    )
    outcome = OPEN
    if hours[1] <= DAY:
        outcome = DOES_NOT
    elif hours[0] > DAY:
        outcome = HOLDS
    figures = {
        "seconds of a regression": mice["seconds"][-1],
        "hours by line": mice["hours_by_line"],
        "hours by share": mice["hours_by_share"],
    }
    return _about_mnist(evidence, Finding(outcome, why, figures))


def _about_mnist(evidence: Evidence, finding: Finding) -> Finding:
    """Leave open what was seen on other images."""
    if evidence.data != DIGITS:
        return finding
    why = sentences(finding.why, "Small digits say nothing of MNIST.")
    return Finding(OPEN, why, finding.figures)


def judge_information(evidence: Evidence) -> Finding:
    """Judge whether expected ReLUs tell measures from each other.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    found = evidence.figure("claim-information")
    different = found["different"]
    nearest = min(different, key=different.get)
    few = found["few_units"]
    figures = {
        "equal": found["equal"],
        "different": different[nearest],
        "density error": found["density"],
        "characteristic function error": found["characteristic"],
        "few units": float(few["units"]),
        "few units, their gap": few["their_gap"],
        "few units, total variation": few["total_variation"],
    }
    why = sentences(
        f"Responses to one measure that is written in two ways differ by "
        f"{found['equal']:.1g}, those to {len(different)} pairs of measures by at "
        f"least {different[nearest]:.2g} ({nearest}).",
        f"Densities and characteristic functions come back from responses to within "
        f"{max(found['density'], found['characteristic']):.1g}.",
        f"That is for all weights and biases: {few['units']} units respond alike "
        f"(to {few['their_gap']:.0g}) to two measures on different points.",
    )
    holds = (
        found["equal"] <= ROUNDING
        and different[nearest] >= SEEN
        and max(found["density"], found["characteristic"]) <= RECOVERED
    )
    return Finding(HOLDS if holds else DOES_NOT, why, figures)
