"""The bytes of a table: a file, a pipe or standard input, read more than once."""

import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lacunet._output import STANDARD
from lacunet.exceptions import TableError

_IN_MEMORY = 2**24  # bytes of a pipe that are not put on the disk
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
# What begins like this is no table that is read here.
_STRANGERS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook. Save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save the sheet as CSV",
    b"ARROW1": "an Arrow file. Write it as Parquet",
    b"FEA1": "a Feather file. Write it as Parquet",
    b"ORC": "an ORC file. Write it as Parquet",
    b"SQLite format 3": "a database. Export the table as CSV",
    b"%PDF": "a PDF document. Save the table as CSV",
    b"BZh": "compressed with bzip2. Unpack it first, or use gzip",
    b"\xfd7zXZ": "compressed with xz. Unpack it first, or use gzip",
    b"(\xb5/\xfd": "compressed with zstd. Unpack it first, or use gzip",
}


class Source:
    """The bytes of a table, which can be opened any number of times.

    What can be read only once (standard input, a pipe) is kept: in memory if it is
    small, else in a file without a name, which the system removes.

    Parameters
    ----------
    path : str or PathLike
        ``-`` is standard input.

    Attributes
    ----------
    name : str
        For messages.
    start : bytes
        The first bytes, unpacked.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Path | None = None
        self._kept: IO[bytes] | None = None
        if str(path) == STANDARD:
            self.name = "standard input"
            self._kept = _keep(sys.stdin.buffer)
        else:
            self.name = str(path)
            self._take(Path(path))
        try:
            self._state = self._find_state()
            with self._open_raw() as stream:
                self._is_packed = stream.read(len(_GZIP)) == _GZIP
            with self.open() as stream:
                self.start = stream.read(64)
            self._check_known()
        except BaseException:
            self.close()
            raise

    @property
    def is_packed(self) -> bool:
        """Whether the bytes are compressed, with gzip."""
        return self._is_packed

    @property
    def is_parquet(self) -> bool:
        """Whether it begins as a Parquet file does."""
        return self.start.startswith(_PARQUET)

    def close(self) -> None:
        """Forget what was kept of a pipe."""
        if self._kept is not None:
            self._kept.close()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the bytes from their beginning, unpacked.

        Yields
        ------
        binary stream
        """
        with self._open_raw() as stream:
            if not self._is_packed:
                yield stream
                return
            try:
                with gzip.GzipFile(fileobj=stream, mode="rb") as unpacked:
                    yield unpacked  # type: ignore[misc]
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                msg = (
                    f"Got {self.name}, compressed with gzip and damaged ({error}), but "
                    f"expected a whole file. Copy or compress it again."
                )
                raise TableError(msg) from error

    def _take(self, path: Path) -> None:
        """Find a file, or keep what comes out of a pipe."""
        with _told(path):
            if path.is_dir():
                raise IsADirectoryError(0, "a folder")
            regular = stat.S_ISREG(path.stat().st_mode)
            with path.open("rb") as stream:  # may it be read?
                if not regular:
                    self._kept = _keep(stream)
        if regular:
            self._path = path

    @contextmanager
    def _open_raw(self) -> Iterator[IO[bytes]]:
        if self._path is None:
            assert self._kept is not None
            with io.BufferedReader(_Again(self._kept)) as kept:
                yield kept
            return
        with _told(self._path):
            stream = self._path.open("rb")
        with stream:
            self._check_same()
            yield stream

    def _find_state(self) -> tuple[int, int]:
        if self._path is None:
            return (0, 0)
        found = self._path.stat()
        return found.st_size, found.st_mtime_ns

    def _check_same(self) -> None:
        if hasattr(self, "_state") and self._find_state() != self._state:
            msg = (
                f"Got {self.name} changed since it was opened, but expected it to stay "
                f"as it is while it is read. Run again when it is finished."
            )
            raise TableError(msg)

    def _check_known(self) -> None:
        if not self.start:
            msg = f"Got {self.name}, which is empty, but expected a table."
            raise TableError(msg)
        for start, what in _STRANGERS.items():
            # A name in the first line of a CSV file may begin alike.
            if self.start.startswith(start) and not _is_text(self.start):
                msg = f"Got {self.name}, but expected CSV or Parquet: it is {what}."
                raise TableError(msg)


class _Again(io.RawIOBase):
    """A reader with a place of its own in a stream that it shares.

    Parameters
    ----------
    stream : binary stream
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._stream.seek(self._place)
        self._place = self._stream.seek(offset, whence)
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        self._stream.seek(self._place)
        found = self._stream.read(len(buffer))
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)


def _is_text(start: bytes) -> bool:
    return start.isascii() and not any(byte < ord("\t") for byte in start)


def _keep(stream: IO[bytes]) -> IO[bytes]:
    # Closed by close(), or by the end of the process.
    kept = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, kept, 2**20)
    except BaseException:
        kept.close()
        raise
    return kept


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell what is wrong with a path in words."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        problem: OSError = error
        what = "where no file is"
    except IsADirectoryError as error:
        problem, what = error, "a folder"
    except PermissionError as error:
        problem, what = error, "which may not be read"
    else:
        return
    msg = f"Got {str(path)!r}, {what}, but expected a CSV or Parquet file."
    raise TableError(msg) from problem
