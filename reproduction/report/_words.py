"""Numbers and lists as words."""

import math
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


def show_value(value: float, metric: str) -> str:
    """Return a score with as many digits as the paper gives.

    Parameters
    ----------
    value : float
    metric : str

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.report._words import show_value
    >>> show_value(0.5984, "accuracy"), show_value(0.010561, "mse")
    ('0.598', '0.01056')
    """
    return f"{value:.{_digits(metric)}f}".replace("-", MINUS)


def show_difference(difference: float, metric: str) -> str:
    """Return a difference with its sign; that of nothing is 0."""
    text = f"{difference:+.{_digits(metric)}f}"
    return "±0" if float(text) == 0 else text.replace("-", MINUS)


def show_p(p: float) -> str:
    """Return a p-value; small ones as a bound.

    Examples
    --------
    >>> from reproduction.report._words import show_p
    >>> show_p(0.0123), show_p(0.00001)
    ('0.012', '< 0.001')
    """
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def tell_p(p: float) -> str:
    """Return a p-value as a formula.

    Examples
    --------
    >>> from reproduction.report._words import tell_p
    >>> tell_p(0.0123), tell_p(0.00001)
    ('p = 0.012', 'p < 0.001')
    """
    shown = show_p(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def show_small(number: float) -> str:
    """Return a small number with two digits that count, never as a power of ten."""
    if not 0 < number < 1:
        return f"{number:.2g}"
    return f"{number:.{1 - math.floor(math.log10(number))}f}"


def show_number(number: float) -> str:
    """Return any number with four digits that count."""
    if number == int(number) and abs(number) < 1e6:
        return str(int(number)).replace("-", MINUS)
    return f"{number:.4g}".replace("-", MINUS)


def show_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> from reproduction.report._words import show_seconds
    >>> show_seconds(0.0312), show_seconds(75), show_seconds(9000)
    ('0.03 s', '75 s', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def show_list(words: Sequence[str]) -> str:
    """Return words with commas and an "and".

    Examples
    --------
    >>> from reproduction.report._words import show_list
    >>> show_list(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def show_count(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> from reproduction.report._words import show_count
    >>> show_count(1, "cell"), show_count(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_place(number: int) -> str:
    """Return which of many.

    Examples
    --------
    >>> from reproduction.report._words import show_place
    >>> [show_place(i) for i in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    like = ("0th", "1st", "2nd", "3rd")
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return f"{number}{like[last if last < len(like) else 0][1:]}"


def _digits(metric: str) -> int:
    return 5 if metric.startswith("mse") else 3
