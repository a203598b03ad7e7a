"""The bytes of a table: where they come from, what they are, and their encoding."""

import codecs
import lzma
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from lacunet._output import STANDARD
from lacunet.exceptions import TableError

Kind = Literal["csv", "parquet", "arrow", "json", "excel"]
_CODECS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"(\xb5/\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
}
_STARTS: dict[bytes, Kind] = {
    b"PAR1": "parquet",
    b"ARROW1\x00\x00": "arrow",
    b"PK\x03\x04": "excel",
    b"\xd0\xcf\x11\xe0": "excel",
}
_OTHERS = {
    b"FEA1": "a Feather file of the first version. Write it as Parquet",
    b"ORC": "an ORC file. Write it as Parquet",
    b"SQLite format 3": "a database. Export the table as CSV",
    b"%PDF": "a PDF document. Save the table as CSV",
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
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_IN_MEMORY = 2**24  # bytes of a pipe that are not put on the disk
_CHUNK = 2**20  # bytes that are checked at once


class Source:
    """The bytes of a table, which can be opened any number of times.

    What can be read only once (standard input, a pipe, an address) is buffered: in
    memory if it is small, else in a file without a name, which the system removes.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = "standard input" if str(path) == STANDARD else str(path)
        self.paths: list[str] = []  # of files of one table; empty if it is buffered
        self._buffer: pa.Buffer | None = None
        self._codec = ""
        if str(path) == STANDARD:
            self._buffer = _spool(sys.stdin.buffer)
        elif _URL.match(self.name):
            self._buffer = _download(self.name)
        else:
            self._find_files(Path(path))
        self._states = [*map(_find_state, self.paths)]
        with self.open() as stream:
            start = stream.read(64)
        for magic, codec in _CODECS.items():
            if start.startswith(magic):
                self._codec = codec
        with self.open() as stream:
            self.start: bytes = stream.read(2**18)  # decompressed
        self.kind: Kind = self._find_kind()

    def put(self, data: bytes) -> None:
        """Take CSV in place of what the file has."""
        self.paths, self._codec, self._buffer = [], "", pa.py_buffer(data)
        self.kind, self.start = "csv", data[:64]

    def close(self) -> None:
        """Discard what was buffered."""
        self._buffer = None

    @property
    def is_compressed(self) -> bool:
        """Whether all of it is compressed, as CSV often is."""
        return bool(self._codec)

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the bytes from their beginning, decompressed."""
        if self._buffer is None:
            for path, state in zip(self.paths, self._states, strict=True):
                if _find_state(path) != state:
                    msg = (
                        f"Got {path} changed since it was opened, but expected it to "
                        f"stay as it is. Run again when it is finished."
                    )
                    raise TableError(msg)
        raw = pa.OSFile(self.paths[0]) if self.paths else pa.BufferReader(self._buffer)
        with raw:
            if not self._codec:
                yield raw
                return
            try:
                if self._codec == "xz":
                    with lzma.open(raw) as stream:
                        yield stream
                else:
                    with pa.CompressedInputStream(raw, self._codec) as stream:
                        yield stream
            except (EOFError, lzma.LZMAError, OSError) as error:
                msg = (
                    f"Got {self.name}, compressed with {self._codec} and damaged "
                    f"({error}), but expected a whole file. Copy or compress it again."
                )
                raise TableError(msg) from error

    def _find_files(self, path: Path) -> None:
        """Take a file, the files of a folder or of a pattern, or buffer a pipe."""
        try:
            if path.is_dir():
                found = [p for p in sorted(path.rglob("*")) if not _is_hidden(p, path)]
                self.paths = [str(each) for each in found if each.is_file()]
            elif not path.exists() and any(mark in str(path) for mark in "*?["):
                parts = path.relative_to(path.anchor) if path.anchor else path
                self.paths = [*map(str, sorted(Path(path.anchor).glob(str(parts))))]
            elif stat.S_ISREG(path.stat().st_mode):
                self.paths = [str(path)]
            else:
                with path.open("rb") as stream:
                    self._buffer = _spool(stream)
            for each in self.paths:
                Path(each).open("rb").close()  # may it be read?
        except (FileNotFoundError, NotADirectoryError) as error:
            problem: OSError = error
            what = "where no file is"
        except PermissionError as error:
            problem, what = error, "which may not be read"
        else:
            if self.paths or self._buffer is not None:
                return
            problem, what = FileNotFoundError(str(path)), "where no file is"
        msg = f"Got {self.name!r}, {what}, but expected a table in a file."
        raise TableError(msg) from problem

    def _find_kind(self) -> Kind:
        """Return what the bytes are; a CSV file is what is nothing else."""
        start = self.start
        if not start:
            msg = f"Got {self.name}, which is empty, but expected a table."
            raise TableError(msg)
        kind: Kind = "csv"
        for magic, found in _STARTS.items():
            if start.startswith(magic):
                kind = found
        text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text.startswith(b"{"):
            kind = "json"
        what = "a JSON array. Write each of its objects in a line of its own"
        if not re.match(rb"\[\s*[{\[]", text):
            what = ""
        # A name in the first line of a CSV file may begin like another format.
        if not start.isascii() or min(start[:64]) < ord("\t"):
            what = next((x for k, x in _OTHERS.items() if start.startswith(k)), what)
        if start.startswith(b"PK") and not self._has_sheets():
            what = "a zip archive. Unpack it, and name the table in it"
        if what:
            msg = f"Got {self.name}, but expected a table: it is {what}."
            raise TableError(msg)
        if len(self.paths) > 1 and kind not in ("parquet", "arrow"):
            msg = (
                f"Got {self.name}, {len(self.paths)} files of which the first is no "
                f"Parquet file, but expected one table. Name a file, or a pattern such "
                f"as 'data/*.parquet'."
            )
            raise TableError(msg)
        return kind

    def _has_sheets(self) -> bool:
        with self.open() as stream:
            try:
                names = zipfile.ZipFile(stream).namelist()
            except (zipfile.BadZipFile, OSError, ValueError):
                return True  # and damaged: its reader reports it
        return any(
            name in ("xl/workbook.xml", "xl/workbook.bin") for name in names
        ) or ("content.xml" in names)


def _find_state(path: str) -> tuple[int, int]:
    found = Path(path).stat()
    return found.st_size, found.st_mtime_ns


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _spool(stream: IO[bytes]) -> pa.Buffer:
    """Return all bytes of a stream; many are in a file, and not in memory."""
    start = stream.read(_IN_MEMORY)
    if len(start) < _IN_MEMORY:
        return pa.py_buffer(start)
    with tempfile.TemporaryFile() as file:
        file.write(start)
        shutil.copyfileobj(stream, file, 2**20)
        file.flush()
        return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _download(address: str) -> pa.Buffer:
    try:
        import fsspec  # type: ignore[import-untyped]

        with fsspec.open(address, "rb") as stream:
            return _spool(stream)
    except ImportError as error:
        reason = f"{str(error).rstrip('.')}. Install that, or download the file first."
    except ValueError as error:
        reason = f"{str(error).rstrip('.')}. Download the file first."
    except OSError as error:
        reason = f"{str(error).rstrip('.') or type(error).__name__}."
    msg = f"Got {address}, which could not be opened: {reason}"
    raise TableError(msg)


# --- encodings


@dataclass(frozen=True)
class Encoding:
    """The encoding of a text file, with its byte order mark if it has one."""

    name: str
    mark: bytes = b""
    is_guessed: bool = False

    @classmethod
    def find(cls, source: Source, given: str | None) -> "Encoding":
        """Find the encoding: by its mark, what is given, UTF-8, or a guess."""
        known = _UNMARKED.get(given, given) if given else None
        for mark, name in _MARKS.items():
            # To other encodings than its own a mark is text.
            agrees = known is None or name.startswith(known[:6])
            if agrees and source.start.startswith(mark):
                return cls(name, mark)
        if known is not None:
            return cls(known)
        even, odd = (source.start[k::2].count(0) for k in (0, 1))
        # Of text in UTF-16, every other byte is zero.
        if max(even, odd) > max(len(source.start) / 5, 10 * min(even, odd)):
            return cls("utf-16-le" if odd > even else "utf-16-be")
        if even or odd or _is_utf_8(source):
            return cls(UTF_8)
        return cls._guess(source)

    @classmethod
    def _guess(cls, source: Source) -> "Encoding":
        from charset_normalizer import from_bytes

        # Lines with letters beyond ASCII, of the whole file.
        lines: list[bytes] = []
        with source.open() as stream:
            while (chunk := stream.read(2**20)) and sum(map(len, lines)) < 2**16:
                lines += [x for x in chunk.splitlines(keepends=True) if not x.isascii()]
        wide = ["utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_7"]
        found = from_bytes(b"".join(lines)[: 2**16], cp_exclusion=wide).best()
        if found is None or "cp1252" in found.could_be_from_charset:
            return cls("cp1252", is_guessed=True)
        return cls(codecs.lookup(found.encoding).name, is_guessed=True)

    @classmethod
    def of_name(cls, name: str, *, has_mark: bool) -> "Encoding":
        """Return an encoding with its mark, or without."""
        marks = [mark for mark, each in _MARKS.items() if each == name]
        return cls(name, marks[0] if has_mark and marks else b"")

    def encode(self, text: str) -> bytes:
        """Return a text in this encoding."""
        try:
            return text.encode(self.name)
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            msg = (
                f"Got {letter!r} to write, but the encoding of the table, {self.name}, "
                f"has no such character. Save the table in UTF-8 first."
            )
            raise TableError(msg) from error


def _is_utf_8(source: Source) -> bool:
    """Return whether all bytes are UTF-8; ASCII is found to be at little cost."""
    decoder = codecs.getincrementaldecoder(UTF_8)()
    with source.open() as stream:
        while chunk := stream.read(_CHUNK):
            if chunk.isascii() and decoder.getstate()[0] == b"":
                continue
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return False
    return decoder.getstate()[0] == b""
