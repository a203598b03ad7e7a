"""Numbers and cells in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacunet.results import Cell


def clock_time(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet.cli._words import clock_time
    >>> clock_time(65.4), clock_time(3600)
    ('1:05', '1:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def place_of(cell: "Cell") -> str:
    """Return what a cell is a cell of, in words.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    str
        Data set, rate, method, and fold and seed if they are not the first.
    """
    rate = "" if cell.rate is None else f" {cell.rate:g}"
    fold = f", fold {cell.fold}" if cell.fold else ""
    seed = f", seed {cell.seed}" if cell.seed else ""
    return f"{cell.dataset}{rate}, {cell.method}{fold}{seed}"
