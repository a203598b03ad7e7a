"""Numbers and names as words, for messages and pages."""

from collections.abc import Sequence

_MOST_NAMES = 5


def shorten(text: str, most: int = 40) -> str:
    """Return a text that fits into a message."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def list_names(names: Sequence[str]) -> str:
    """Return the first of some names in quotes, and how many more there are."""
    shown = ", ".join(repr(shorten(name)) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def join_words(words: Sequence[str]) -> str:
    """Return words with commas and an "and".

    Examples
    --------
    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def show_count(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> show_count(1, "cell"), show_count(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_percent(fraction: float) -> str:
    """Return a fraction in per cent; small ones are not 0%, nor large ones 100%.

    Examples
    --------
    >>> [show_percent(each) for each in (0, 0.0001, 0.042, 0.42, 0.9999, 1)]
    ['0%', '< 0.1%', '4.2%', '42%', '> 99.9%', '100%']
    """
    if 0 < fraction < 0.001:
        return "< 0.1%"
    if 0.999 < fraction < 1:
        return "> 99.9%"
    digits = 1 if 0 < fraction < 0.1 or 0.9 < fraction < 1 else 0
    return f"{fraction:.{digits}%}"


def show_p(p: float, relation: str = "=") -> str:
    """Return a p-value as a formula; small ones as a bound, and 1 without decimals.

    Examples
    --------
    >>> show_p(0.0123), show_p(0.00001), show_p(0.5, "≥")
    ('p = 0.012', 'p < 0.001', 'p ≥ 0.500')
    """
    if p > 0.9995:
        return "p = 1"
    return "p < 0.001" if p < 0.0005 else f"p {relation} {p:.3f}"


def show_number(value: float, digits: int = 4) -> str:
    """Return a number in a few digits that count; a large one with all before the mark.

    Examples
    --------
    >>> show_number(0.0123456), show_number(73755.2), show_number(-5.0), show_number(0)
    ('0.01235', '73,755', '-5.000', '0')
    >>> show_number(999.96)
    '1,000'
    """
    if value == 0 or float(f"{abs(value):.{digits}g}") >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:#.{digits}g}"


def show_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
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


def clock_time(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    Examples
    --------
    >>> clock_time(65.4), clock_time(3600)
    ('1:05', '1:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def show_score(value: float | None, form: str) -> str:
    """Return a score in a format of Python; a dash if it is undefined.

    Examples
    --------
    >>> show_score(-0.25, ".3f"), show_score(-0.0001, ".3f"), show_score(2, "+.1f")
    ('−0.250', '0.000', '+2.0')
    """
    if value is None:
        return "\N{EN DASH}"
    sign = "+" if form.startswith("+") else ""
    return f"{value:{sign}z{form.removeprefix('+')}}".replace("-", "\N{MINUS SIGN}")


def show_error(error: float | None, form: str) -> str:
    """Return a standard error behind its sign; nothing if it is unknown."""
    return "" if error is None else f"± {show_score(error, form)}"
