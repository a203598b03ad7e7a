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
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, Literal

from lacunet._output import STANDARD
from lacunet.exceptions import TableError

FileKind = Literal["csv", "parquet"]

_PARQUET_NAMES = (".parquet", ".pq", ".parq")


@dataclass(frozen=True)
class FileFormat:
    r"""How a file is written.

    Parameters
    ----------
    kind : {"csv", "parquet"}, default="csv"
        The other fields are about CSV.
    separator : str, default=","
    decimal : {".", ","}, default="."
        What stands before the decimals of a number.
    encoding : str, default="utf-8"
    has_mark : bool, default=False
        Whether the file begins with the mark of its encoding (a BOM).
    line_end : str, default="\n"
    quote : str, default='"'

    Examples
    --------
    >>> from lacunet.tables import FileFormat
    >>> FileFormat.of_name("out.parquet").kind
    'parquet'
    """

    kind: FileKind = "csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    has_mark: bool = False
    line_end: str = "\n"
    quote: str = '"'

    @classmethod
    def of_name(cls, path: str | PathLike[str]) -> "FileFormat":
        """Return the format that a name asks for.

        Parameters
        ----------
        path : str or PathLike
            Parquet ends in ``.parquet`` or ``.pq``; ``.tsv`` has tabs; all else, also
            ``-``, is CSV with commas.

        Returns
        -------
        FileFormat
        """
        name = fspath(path).lower()
        if name.endswith(_PARQUET_NAMES):
            return cls("parquet")
        return cls(separator="\t" if name.endswith((".tsv", ".tsv.gz")) else ",")


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
        """Open the bytes from their beginning, unpacked."""
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
    """A reader with a place of its own in a stream that it shares."""

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


UTF_8 = "utf-8"
# The marks at the beginning of a file; that of UTF-32 begins like one of UTF-16.
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xef\xbb\xbf": UTF_8,
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
# What the names without an order of bytes mean where there is no mark.
_UNMARKED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": UTF_8}


@dataclass(frozen=True)
class Encoding:
    """The encoding of a file."""

    name: str
    mark: bytes = b""

    @property
    def is_utf_8(self) -> bool:
        """Whether its bytes are used as they are."""
        return self.name == UTF_8

    def encode(self, data: bytes) -> bytes:
        """Return UTF-8 in this encoding."""
        if self.is_utf_8:
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


def find_encoding(source: Source, wanted: str | None) -> Encoding:
    """Find the encoding of a file by its mark; without one it is UTF-8."""
    for mark, name in _MARKS.items():
        if source.start.startswith(mark) and _agrees(name, wanted):
            return Encoding(name, mark)
    return Encoding(_UNMARKED.get(wanted, wanted) if wanted else UTF_8)


def encoding_of(form: FileFormat) -> Encoding:
    """Return the encoding of a format, with its mark if it has one."""
    marks = [mark for mark, name in _MARKS.items() if name == form.encoding]
    return Encoding(form.encoding, marks[0] if form.has_mark and marks else b"")


def read_chunks(
    source: Source, encoding: Encoding, *, size: int, exact: bool = False
) -> Iterator[bytes]:
    """Read a file in pieces of UTF-8, without the mark.

    Bytes that are in UTF-8 already are not checked.
    """
    with source.open() as stream:
        stream.read(len(encoding.mark))
        if encoding.is_utf_8:
            while chunk := stream.read(size):
                yield chunk
        else:
            yield from _decode(stream, encoding, size, source.name, exact)


def check_text(data: bytes, line: int, source: str) -> None:
    """Refuse what is no UTF-8, and bytes that no text has."""
    if b"\0" in data:
        place = line + data[: data.index(b"\0")].count(b"\n")
        msg = (
            f"Got a NUL byte in line {place} of {source}, but expected text. It is a "
            f"binary file, or in UTF-16 without a mark: then say --encoding utf-16."
        )
        raise TableError(msg)
    if data.isascii():
        return
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError as error:
        place = line + data[: error.start].count(b"\n")
        msg = (
            f"Got byte 0x{data[error.start]:02x} in line {place} of {source}, but "
            f"expected text in UTF-8. Name its encoding, such as --encoding latin-1 or "
            f"--encoding cp1252."
        )
        raise TableError(msg) from error


def _agrees(name: str, wanted: str | None) -> bool:
    """Tell whether a mark is one: to other encodings it is text."""
    return wanted is None or name.startswith(_UNMARKED.get(wanted, wanted)[:6])


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
            pending = _check_exact(pending + chunk, encoder.encode(text), encoding)
        n_lines += text.count("\n")
        if text:
            yield text.encode(UTF_8)
        if not chunk:
            return


def _check_exact(read: bytes, written: bytes, encoding: Encoding) -> bytes:
    if not read.startswith(written):
        msg = (
            f"Got a table in the encoding {encoding.name} that can't be written back "
            f"byte for byte. Save it in UTF-8 first."
        )
        raise TableError(msg)
    return read[len(written) :]
