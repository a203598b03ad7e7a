"""Bytes of a text file as UTF-8, whatever its encoding, and back."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from lacunet.exceptions import TableError
from lacunet.tables._format import FileFormat
from lacunet.tables._source import Source

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
    """The encoding of a file.

    Parameters
    ----------
    name : str
    mark : bytes
        What the file begins with, if it is marked.
    """

    name: str
    mark: bytes = b""

    @property
    def is_utf_8(self) -> bool:
        """Whether its bytes are used as they are."""
        return self.name == UTF_8

    def encode(self, data: bytes) -> bytes:
        """Return UTF-8 in this encoding.

        Parameters
        ----------
        data : bytes

        Returns
        -------
        bytes
        """
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
    """Find the encoding of a file by its mark; without one it is UTF-8.

    Parameters
    ----------
    source : Source
    wanted : str or None
        The encoding that a user has named.

    Returns
    -------
    Encoding
    """
    for mark, name in _MARKS.items():
        if source.start.startswith(mark) and _agrees(name, wanted):
            return Encoding(name, mark)
    return Encoding(_UNMARKED.get(wanted, wanted) if wanted else UTF_8)


def encoding_of(form: FileFormat) -> Encoding:
    """Return the encoding of a format, with its mark if it has one.

    Parameters
    ----------
    form : FileFormat

    Returns
    -------
    Encoding
    """
    marks = [mark for mark, name in _MARKS.items() if name == form.encoding]
    return Encoding(form.encoding, marks[0] if form.has_mark and marks else b"")


def read_chunks(
    source: Source, encoding: Encoding, *, size: int, exact: bool = False
) -> Iterator[bytes]:
    """Read a file in pieces of UTF-8, without the mark.

    Bytes that are in UTF-8 already are not checked.

    Parameters
    ----------
    source : Source
    encoding : Encoding
    size : int
        Bytes that are read at once.
    exact : bool, default=False
        Whether to refuse what could not be written back as it was.

    Yields
    ------
    bytes
    """
    with source.open() as stream:
        stream.read(len(encoding.mark))
        if encoding.is_utf_8:
            while chunk := stream.read(size):
                yield chunk
        else:
            yield from _decode(stream, encoding, size, source.name, exact)


def check_text(data: bytes, line: int, source: str) -> None:
    """Refuse what is no UTF-8, and bytes that no text has.

    Parameters
    ----------
    data : bytes
        Whole characters.
    line : int
        Number of the first line.
    source : str
        Name of the file.
    """
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
