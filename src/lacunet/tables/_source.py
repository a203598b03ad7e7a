"""The bytes of a table: where they come from, compression and encoding."""

import codecs
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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from lacunet._output import STANDARD
from lacunet.exceptions import TableError

_IN_MEMORY = 2**24  # bytes of a pipe that are not put on the disk
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
# Files that begin like this can't be read here.
_OTHER_FORMATS = {
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
UTF_8 = "utf-8"
# Byte order marks; that of UTF-32 begins like one of UTF-16.
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xef\xbb\xbf": UTF_8,
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# What the names without a byte order mean where there is no mark.
_UNMARKED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": UTF_8}


@dataclass(frozen=True)
class FileFormat:
    r"""How a file is written.

    Parameters
    ----------
    kind : {"csv", "parquet"}, default="csv"
        The other fields are about CSV.
    separator : str, default=","
        The character between cells.
    decimal : {".", ","}, default="."
        The decimal mark of numbers.
    encoding : str, default="utf-8"
        As Python names it.
    has_mark : bool, default=False
        Whether the file begins with the byte order mark (BOM) of its encoding.
    line_end : str, default="\n"
        What ends a line.
    quote : str, default='"'
        The character around cells that contain a separator.

    Examples
    --------
    >>> from lacunet.tables import FileFormat
    >>> FileFormat.of_name("out.parquet").kind
    'parquet'
    """

    kind: Literal["csv", "parquet"] = "csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = UTF_8
    has_mark: bool = False
    line_end: str = "\n"
    quote: str = '"'

    @classmethod
    def of_name(cls, path: str | os.PathLike[str]) -> "FileFormat":
        """Return the format that the name of a file asks for.

        Parameters
        ----------
        path : str or PathLike
            Parquet ends in ``.parquet`` or ``.pq``; ``.tsv`` has tabs; all else, also
            ``-``, is CSV with commas.

        Returns
        -------
        FileFormat
            With the defaults of all other fields.
        """
        name = os.fspath(path).lower()
        if name.endswith((".parquet", ".pq", ".parq")):
            return cls("parquet")
        return cls(separator="\t" if name.endswith((".tsv", ".tsv.gz")) else ",")


class Source:
    """The bytes of a table, which can be opened any number of times.

    What can be read only once (standard input, a pipe) is buffered: in memory if it is
    small, else in a file without a name, which the system removes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Path | None = None
        self._buffer: IO[bytes] | None = None
        if str(path) == STANDARD:
            self.name = "standard input"  # for messages
            self._buffer = _read_into_buffer(sys.stdin.buffer)
        else:
            self.name = str(path)
            self._find_file(Path(path))
        try:
            self._state = self._find_state()
            with self._open_raw() as stream:
                self._is_compressed = stream.read(len(_GZIP)) == _GZIP
            with self.open() as stream:
                self.start = stream.read(64)  # decompressed
            self._check_format()
        except BaseException:
            self.close()
            raise

    @property
    def is_parquet(self) -> bool:
        """Whether it begins as a Parquet file does."""
        return self.start.startswith(_PARQUET)

    def close(self) -> None:
        """Discard what was buffered of a pipe."""
        if self._buffer is not None:
            self._buffer.close()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the bytes from their beginning, decompressed."""
        with self._open_raw() as stream:
            if not self._is_compressed:
                yield stream
                return
            try:
                with gzip.GzipFile(fileobj=stream, mode="rb") as decompressed:
                    yield decompressed  # type: ignore[misc]
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                msg = (
                    f"Got {self.name}, compressed with gzip and damaged ({error}), but "
                    f"expected a whole file. Copy or compress it again."
                )
                raise TableError(msg) from error

    def _find_file(self, path: Path) -> None:
        """Take the path of a file, or buffer what comes out of a pipe."""
        with _explain_errors(path):
            if path.is_dir():
                raise IsADirectoryError(0, "a folder")
            regular = stat.S_ISREG(path.stat().st_mode)
            with path.open("rb") as stream:  # may it be read?
                if not regular:
                    self._buffer = _read_into_buffer(stream)
        if regular:
            self._path = path

    @contextmanager
    def _open_raw(self) -> Iterator[IO[bytes]]:
        if self._path is None:
            assert self._buffer is not None
            with io.BufferedReader(_SharedReader(self._buffer)) as reader:
                yield reader
            return
        with _explain_errors(self._path):
            stream = self._path.open("rb")
        with stream:
            if hasattr(self, "_state") and self._find_state() != self._state:
                msg = (
                    f"Got {self.name} changed since it was opened, but expected it to "
                    f"stay as it is while it is read. Run again when it is finished."
                )
                raise TableError(msg)
            yield stream

    def _find_state(self) -> tuple[int, int]:
        if self._path is None:
            return (0, 0)
        found = self._path.stat()
        return found.st_size, found.st_mtime_ns

    def _check_format(self) -> None:
        if not self.start:
            msg = f"Got {self.name}, which is empty, but expected a table."
            raise TableError(msg)
        # A name in the first line of a CSV file may begin like another format.
        if self.start.isascii() and not any(byte < ord("\t") for byte in self.start):
            return
        for start, what in _OTHER_FORMATS.items():
            if self.start.startswith(start):
                msg = f"Got {self.name}, but expected CSV or Parquet: it is {what}."
                raise TableError(msg)


class _SharedReader(io.RawIOBase):
    """A reader with a position of its own in a stream that it shares."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._stream.seek(self._position)
        self._position = self._stream.seek(offset, whence)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._stream.seek(self._position)
        found = self._stream.read(len(buffer))
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)


def _read_into_buffer(stream: IO[bytes]) -> IO[bytes]:
    # Closed by close(), or by the end of the process.
    buffer = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, buffer, 2**20)
    except BaseException:
        buffer.close()
        raise
    return buffer


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    """Raise what is wrong with a path as a TableError."""
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


# --- encodings


@dataclass(frozen=True)
class Encoding:
    """The encoding of a text file, with its byte order mark if it has one."""

    name: str
    mark: bytes = b""

    @classmethod
    def of_source(cls, source: Source, given: str | None) -> "Encoding":
        """Find the encoding by the mark; without one it is what is given, or UTF-8."""
        known = _UNMARKED.get(given, given) if given else None
        for mark, name in _MARKS.items():
            # To other encodings than its own a mark is text.
            agrees = known is None or name.startswith(known[:6])
            if agrees and source.start.startswith(mark):
                return cls(name, mark)
        return cls(known or UTF_8)

    @classmethod
    def of_format(cls, format: FileFormat) -> "Encoding":
        """Return the encoding of a format."""
        marks = [mark for mark, name in _MARKS.items() if name == format.encoding]
        return cls(format.encoding, marks[0] if format.has_mark and marks else b"")

    def encode(self, data: bytes) -> bytes:
        """Return UTF-8 in this encoding."""
        if self.name == UTF_8:
            return data
        try:
            return data.decode(UTF_8).encode(self.name)
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            msg = (
                f"Got {letter!r} to write, but the encoding of the table, {self.name}, "
                f"has no such character. Save the table in UTF-8 first."
            )
            raise TableError(msg) from error


def read_chunks(
    source: Source, encoding: Encoding, *, size: int, exact: bool = False
) -> Iterator[bytes]:
    """Read a file in chunks of UTF-8, without the mark.

    Bytes that are in UTF-8 already are not checked. ``exact`` refuses what could not be
    written back as it was.
    """
    with source.open() as stream:
        stream.read(len(encoding.mark))
        if encoding.name == UTF_8:
            while chunk := stream.read(size):
                yield chunk
        else:
            yield from _decode(stream, encoding, size, source.name, exact)


def check_text(data: bytes, line: int, source: str) -> None:
    """Refuse what is not UTF-8, and NUL bytes; ``line`` is the number of the first."""
    if b"\0" in data:
        line += data[: data.index(b"\0")].count(b"\n")
        msg = (
            f"Got a NUL byte in line {line} of {source}, but expected text. It is a "
            f"binary file, or in UTF-16 without a mark: then use --encoding utf-16."
        )
        raise TableError(msg)
    if data.isascii():
        return
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError as error:
        line += data[: error.start].count(b"\n")
        msg = (
            f"Got byte 0x{data[error.start]:02x} in line {line} of {source}, but "
            f"expected text in UTF-8. Name its encoding, such as --encoding latin-1 or "
            f"--encoding cp1252."
        )
        raise TableError(msg) from error


def _decode(
    stream: IO[bytes], encoding: Encoding, size: int, source: str, exact: bool
) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding.name)()
    encoder = codecs.getincrementalencoder(encoding.name)()
    pending = b""  # read, but not yet seen to be written back as it is
    n_lines = 0
    while True:
        chunk = stream.read(size)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            msg = (
                f"Got {source}, whose text after line {n_lines} is not in the encoding "
                f"{encoding.name} ({error.reason}). Name another with --encoding."
            )
            raise TableError(msg) from error
        if exact:
            pending += chunk
            written = encoder.encode(text)
            if not pending.startswith(written):
                msg = (
                    f"Got a table in the encoding {encoding.name} that can't be "
                    f"written back byte for byte. Save it in UTF-8 first."
                )
                raise TableError(msg)
            pending = pending[len(written) :]
        n_lines += text.count("\n")
        if text:
            yield text.encode(UTF_8)
        if not chunk:
            return
