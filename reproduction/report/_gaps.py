"""What is missing in a table, and why."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from reproduction.report._blocks import Note
from reproduction.report._slices import Row, Slice, name_method, name_row
from reproduction.report._words import show_count, show_list
from reproduction.statistics import Cell

Spot = tuple[Row, str, str]  # a data set and rate, a metric, a method


@dataclass(frozen=True)
class Reason:
    """Why something is missing, and where."""

    text: str
    method: str
    row: Row


def find_reasons(part: Slice) -> dict[Spot, str]:
    """Return why cells have no value; of several reasons the first."""
    found: dict[Spot, str] = {}
    for cell in part.cells:
        if cell.value is None:
            spot = ((cell.dataset, cell.rate), cell.metric, cell.method)
            found.setdefault(spot, why(cell))
    return found


def why(cell: Cell) -> str:
    """Return the reason of a cell without a value."""
    return str(cell.params.get("why", "no reason is given"))


class Marks:
    """Letters for reasons, each reason once."""

    def __init__(self) -> None:
        self._places: dict[str, list[Reason]] = {}

    def give(self, reason: Reason) -> str:
        """Return the letter of a reason."""
        self._places.setdefault(reason.text, []).append(reason)
        return _letter(list(self._places).index(reason.text))

    def notes(self, part: Slice) -> tuple[Note, ...]:
        """Return what the letters stand for, and where."""
        return tuple(
            Note(_letter(i), f"{_where(part, reasons)}: {_as_sentence(text)}")
            for i, (text, reasons) in enumerate(self._places.items())
        )


def _letter(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


def _where(part: Slice, reasons: Sequence[Reason]) -> str:
    """Return the methods of reasons, each with its data sets."""
    rows: dict[str, dict[str, None]] = defaultdict(dict)
    for reason in reasons:
        rows[name_method(reason.method)][name_row(part.experiment, reason.row)] = None
    n_rows = len(part.rows)
    return "; ".join(
        f"{method} on all data sets"
        if len(names) == n_rows > 1
        else f"{method} on {show_list(list(names))}"
        for method, names in rows.items()
    )


def _as_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."


def tell_unrun(part: Slice) -> str:
    """Return which data sets of the experiment have no cell yet, as a sentence."""
    if part.data == "other":
        return ""
    experiment = part.experiment
    of_kind = experiment.settings if part.data == "paper" else experiment.stand_ins
    rows = [(each.dataset, each.rate) for each in of_kind]
    missing = [name_row(experiment, row) for row in rows if row not in part.rows]
    if not missing:
        return ""
    count = show_count(len(missing), "row")
    return f"{count} of the table not run yet: {show_list(missing)}."
