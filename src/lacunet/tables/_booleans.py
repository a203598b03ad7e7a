"""Texts as truth values."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_PAIRS = (
    *(("False", "True"), ("F", "T"), ("No", "Yes"), ("N", "Y")),
    *(("0", "1"), ("0.0", "1.0")),
)
_BOOLEANS = {
    text.lower(): bool(value) for pair in _PAIRS for value, text in enumerate(pair)
}
_TRUE = [text for text, value in _BOOLEANS.items() if value]


def are_booleans(texts: Iterable[str]) -> bool:
    """Tell whether texts are true or false, in any case.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    bool
    """
    return {text.lower() for text in texts} <= {"false", "true"}


def read_booleans(texts: pa.StringArray) -> pa.BooleanArray:
    """Read texts as truth values: true, yes, y, t or 1, and their opposites.

    Parameters
    ----------
    texts : StringArray

    Returns
    -------
    BooleanArray
        Null where a text is none.
    """
    lower = pc.ascii_lower(texts)
    known = pc.is_in(lower, value_set=pa.array([*_BOOLEANS]))
    truth = pc.is_in(lower, value_set=pa.array(_TRUE))
    return pc.if_else(known, truth, pa.scalar(None, pa.bool_()))


def spell_booleans(texts: Iterable[str]) -> dict[bool, str]:
    """Return how true and false are written.

    Parameters
    ----------
    texts : iterable of str
        Some of them; others may be among them. What is not is written alike.

    Returns
    -------
    dict of bool to str

    Examples
    --------
    >>> spell_booleans(["FALSE"])
    {False: 'FALSE', True: 'TRUE'}
    """
    known = [text for text in texts if text.lower() in _BOOLEANS]
    found = {_BOOLEANS[text.lower()]: text for text in known}
    some = next(iter(found.values()), "True")
    (pair,) = (pair for pair in _PAIRS if some.title() in pair)
    for value, text in enumerate(pair):
        cases = {some.lower(): text.lower(), some.upper(): text.upper()}
        found.setdefault(bool(value), cases.get(some, text))
    return found
