"""The levels that a model knows, among what a file has in their place."""

import re
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

Level = str | int | float | bool

MOST_UNSEEN = 3  # kept of a column, to be named
# With zeros in front it is a code: 007 is not 7.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)


class Levels:
    """The levels of a column that a model was trained on.

    Parameters
    ----------
    levels : sequence of str, int, float or bool

    Attributes
    ----------
    unseen : list of str
        A few of the values that were read and are none of them.

    Examples
    --------
    >>> levels = Levels(["1.0", "2.0"])
    >>> texts = pa.array(["2", "3", None])
    >>> levels.settle(texts, texts).to_pylist()
    ['2.0', '3', None]
    >>> levels.unseen
    ['3']
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.unseen: list[str] = []
        self._texts = [level for level in levels if isinstance(level, str)]
        self._others = [level for level in levels if not isinstance(level, str)]
        self._by_number: dict[Decimal | None, str | None] = {}
        for level in self._texts:
            number = _as_number(level)
            if number is not None:
                # Two of one value can only be told by their spelling.
                again = number in self._by_number
                self._by_number[number] = None if again else level

    def settle(self, values: pa.Array, found: pa.Array) -> pa.Array:
        """Return values as levels, and take note of those that are none.

        Parameters
        ----------
        values : Array of shape (rows,)
            Read in the type of the levels. A number among texts becomes the level that
            is the same number, also if that is spelled in another way.
        found : Array of shape (rows,)
            What stands in the file, null where a value is missing.

        Returns
        -------
        Array of shape (rows,)
        """
        known = self._known(values.type)
        if pc.all(pc.or_(pc.is_in(values, known), found.is_null())).as_py():
            return values
        if values.type == pa.string():
            values = self._respell(values)
        others = pc.and_(pc.invert(pc.is_in(values, known)), found.is_valid())
        self._note(pc.unique(found.filter(others)))
        return values

    def _known(self, type_: pa.DataType) -> pa.Array:
        if type_ == pa.string():
            return pa.array(self._texts, type_)
        if type_ == pa.bool_():
            return pa.array(self._others, type_)
        return pa.array([*map(float, self._others)], type_)

    def _respell(self, texts: pa.StringArray) -> pa.StringArray:
        exact = set(self._texts)
        coded = texts.dictionary_encode()
        spelled = [
            text if text in exact else self._by_number.get(_as_number(text)) or text
            for text in coded.dictionary.to_pylist()
        ]
        return pa.array(spelled, pa.string()).take(coded.indices)

    def _note(self, values: pa.Array) -> None:
        room = MOST_UNSEEN - len(self.unseen)
        texts = dict.fromkeys(map(str, values[: room + MOST_UNSEEN].to_pylist()))
        self.unseen += [text for text in texts if text not in self.unseen][:room]


def _as_number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None
