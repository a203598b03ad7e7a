"""Texts as truth values."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_BOOLEANS = {"true": True, "false": False}


def are_booleans(texts: Iterable[str]) -> bool:
    """Tell whether texts are true or false, in any case.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    bool
    """
    return {text.lower() for text in texts} <= _BOOLEANS.keys()


def read_booleans(texts: pa.StringArray) -> pa.BooleanArray:
    """Read texts as truth values.

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
    return pc.if_else(known, pc.equal(lower, "true"), pa.scalar(None, pa.bool_()))


def spell_booleans(texts: Iterable[str]) -> dict[bool, str]:
    """Return how true and false are written.

    Parameters
    ----------
    texts : iterable of str
        Some of them. What is not among them is written in the same case.

    Returns
    -------
    dict of bool to str

    Examples
    --------
    >>> spell_booleans(["FALSE"])
    {False: 'FALSE', True: 'TRUE'}
    """
    found = {_BOOLEANS[text.lower()]: text for text in texts}
    some = next(iter(found.values()), "True")
    for value in (False, True):
        text = str(value)
        cases = {some.lower(): text.lower(), some.upper(): text.upper()}
        found.setdefault(value, cases.get(some, text))
    return found
