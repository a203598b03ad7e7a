"""Files of results: JSON lines that are only ever appended to."""

import os
from collections.abc import Iterable
from pathlib import Path

from lacunet.exceptions import LacunetError, warn_user
from reproduction.statistics._json import is_whole
from reproduction.statistics._record import Cell, Key, from_line, order, to_line

AnyPath = str | os.PathLike[str]

# Put behind what a killed process left of a line. No record ends like this.
_UNFINISHED = b" # unfinished"


class ResultFile:
    """A file of results: one line of JSON a cell, only ever appended to.

    Several processes may append to one file. If one of them is killed while it writes,
    what it left of its last line is passed over with a warning when the file is read,
    and the next one to append marks it as unfinished and begins a new line. Any other
    line that is damaged is an error. Nothing of a file is run.

    What others append is seen: each use reads what is new in the file.

    Parameters
    ----------
    path : str or PathLike
        A missing file has no cells. It is made, with its folder, by the first
        ``append``.

    Attributes
    ----------
    path : Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from reproduction.statistics import Cell, ResultFile
    >>> cell = Cell(
    ...     "table-4", "pima", None, "paper", fold=0, seed=0, protocol="quick",
    ...     metric="accuracy", value=0.75, params={}, seconds=2.5, versions={},
    ...     commit=None,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ResultFile(Path(folder) / "table-4.jsonl")
    ...     before = cell.key in file
    ...     file.append([cell])
    ...     before, cell.key in file, file.cells == [cell]
    (False, True, True)
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)
        self._forget()

    def __repr__(self) -> str:
        """Name the file."""
        return f"ResultFile({str(self.path)!r})"

    def __contains__(self, key: object) -> bool:
        """Tell whether there is a cell of this key, with a value or without."""
        self._read()
        return (key.key if isinstance(key, Cell) else key) in self._cells

    @property
    def cells(self) -> list[Cell]:
        """The cells, in the order of the file; of one key the last."""
        self._read()
        return list(self._cells.values())

    def append(self, cells: Iterable[Cell]) -> None:
        """Write cells to the end of the file, and to the disk.

        All lines are written in one go, so that those of several processes do not mix.

        Parameters
        ----------
        cells : iterable of Cell
        """
        lines = b"".join(to_line(_check_cell(cell)) for cell in cells)
        if not lines:
            return
        end_of_last = self._read()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _write(self.path, end_of_last + lines)

    def _forget(self) -> None:
        self._cells: dict[Key, Cell] = {}
        self._n_bytes = 0  # read so far, all of whole lines
        self._n_lines = 0

    def _read(self) -> bytes:
        """Read what is new; return what the last line lacks of its end."""
        new = self._new_bytes()
        *lines, rest = new.split(b"\n")
        for number, line in enumerate(lines, self._n_lines + 1):
            self._take(line, number)
        self._n_bytes += len(new) - len(rest)
        self._n_lines += len(lines)
        return self._read_rest(rest)

    def _new_bytes(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._n_bytes:
                    self._forget()  # another file has taken its place
                file.seek(self._n_bytes)
                return file.read()
        except FileNotFoundError:
            self._forget()
            return b""

    def _take(self, line: bytes, number: int) -> None:
        """Keep the cell of a line; a blank or unfinished one has none."""
        written = line.rstrip()  # Windows ends lines with one character more
        text = written.removesuffix(_UNFINISHED)
        if not text or (text != written and not is_whole(text)):
            return
        cell = from_line(text, f"line {number} of {self.path}")
        self._cells.pop(cell.key, None)  # to come at its own place
        self._cells[cell.key] = cell

    def _read_rest(self, rest: bytes) -> bytes:
        """Keep a last line if all but its newline is there; return its end."""
        if not rest.strip() or is_whole(rest):
            self._take(rest, self._n_lines + 1)
            return b"\n" if rest else b""
        warn_user(
            f"Got line {self._n_lines + 1} of {self.path}, the last, unfinished: it is "
            f"passed over. A process was killed while it wrote it, or is writing. Run "
            f"that experiment again to fill the gap."
        )
        return _UNFINISHED + b"\n"


def read_results(path: AnyPath) -> list[Cell]:
    """Read the cells of a file, or of all files in a folder.

    Parameters
    ----------
    path : str or PathLike
        A file, or a folder whose ``*.jsonl`` files are read, but not those of folders
        in it. What does not exist has no cells.

    Returns
    -------
    list of Cell
        Sorted by their keys. In one file the last cell of a key is taken; if two files
        have different cells of one key, it is an error.

    Examples
    --------
    >>> from reproduction.statistics import read_results
    >>> read_results("no-such-folder")
    []
    """
    place = Path(path)
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    found: dict[Key, tuple[Cell, Path]] = {}
    for file in files:
        for cell in ResultFile(file).cells:
            known, where = found.setdefault(cell.key, (cell, file))
            _check_equal(cell, known, f"{where} and {file}")
    return sorted((cell for cell, _ in found.values()), key=order)


def _check_cell(cell: object) -> Cell:
    if not isinstance(cell, Cell):
        msg = f"Got {cell!r}, but expected a Cell."
        raise TypeError(msg)
    return cell


def _check_equal(cell: Cell, known: Cell, files: str) -> None:
    if cell != known:
        msg = (
            f"Got two different cells {cell.key} in {files}, but expected one. Read "
            f"the files one by one, or move one of them away."
        )
        raise LacunetError(msg)


def _write(path: Path, data: bytes) -> None:
    """Append to a file in a single write, and wait until it is on the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        n_written = os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if n_written < len(data):
        msg = (
            f"Wrote only {n_written} of {len(data)} bytes to {path}. Make room on the "
            f"disk and run that experiment again; what is in the file is not lost."
        )
        raise LacunetError(msg)
