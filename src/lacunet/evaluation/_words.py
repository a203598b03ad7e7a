"""Scores as words."""

import math
from collections.abc import Iterable, Sequence

from lacunet.evaluation._scores import Metric

_MINUS = "\N{MINUS SIGN}"


def choose_format(metric: Metric, values: Iterable[float | None]) -> str:
    """Return how the values of a metric are written, all with the same digits.

    Parameters
    ----------
    metric : Metric
    values : iterable of float or None

    Returns
    -------
    str
        A format of Python.

    Examples
    --------
    >>> from lacunet.evaluation import METRICS
    >>> from lacunet.evaluation._words import choose_format
    >>> choose_format(METRICS["classification"][0], [12.5])
    '.3f'
    >>> rmse = METRICS["regression"][0]
    >>> choose_format(rmse, [53.25, None]), choose_format(rmse, [1e-9])
    (',.2f', '.4g')
    """
    if metric.key != "rmse":
        return ".3f"  # whatever the unit of the target is
    largest = max((abs(each) for each in values if each is not None), default=0.0)
    power = math.floor(math.log10(largest)) if largest else 0
    return f",.{max(3 - power, 0)}f" if -4 < power < 9 else ".4g"


def show_score(value: float, form: str) -> str:
    """Return a score in this format.

    Parameters
    ----------
    value : float
    form : str

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet.evaluation._words import show_score
    >>> show_score(-0.25, ".3f")
    '−0.250'
    """
    return f"{value:{form}}".replace("-", _MINUS)


def show_with_error(mean: float, stderr: float | None, form: str) -> str:
    """Return a mean, with its standard error if there is one."""
    shown = show_score(mean, form)
    return shown if stderr is None else f"{shown} ± {show_score(stderr, form)}"


def tell_p(p: float, relation: str = "=") -> str:
    """Return a p-value; small ones as a bound, and 1 without decimals.

    Parameters
    ----------
    p : float
    relation : {"=", "≤", "≥"}, default="="

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet.evaluation._words import tell_p
    >>> tell_p(0.0123), tell_p(0.00001), tell_p(0.5, "≥")
    ('p = 0.012', 'p < 0.001', 'p ≥ 0.500')
    """
    if p > 0.9995:
        return "p = 1"
    return "p < 0.001" if p < 0.0005 else f"p {relation} {p:.3f}"


def join(words: Sequence[str]) -> str:
    """Return words with commas and an "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
