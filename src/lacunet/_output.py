"""Files that are whole or not there, and that replace no other unasked."""

import gzip
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

STANDARD = "-"  # in place of a path: standard input or output


def check_target(path: Path, *, force: bool) -> None:
    """Refuse a path that can't be written to, before any work is done.

    Parameters
    ----------
    path : Path
    force : bool
        Whether a file that is there may be replaced.
    """
    if path.is_dir():
        msg = f"Got path={str(path)!r}, a folder, but expected the name of a file."
        raise IsADirectoryError(msg)
    if path.is_file() and not force:
        msg = (
            f"Got path={str(path)!r}, which exists, but expected a new file. Give "
            f"another name, or force=True (--force) to replace it."
        )
        raise FileExistsError(msg)


@contextmanager
def open_output(
    path: str | os.PathLike[str], *, force: bool = False
) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when all of it is written.

    Until then it has another name in the same folder; after an error or Ctrl-C nothing
    is left of it, and what was there before is as it was. What is no file (a pipe,
    ``/dev/null``) is written to directly.

    Parameters
    ----------
    path : str or PathLike
        ``-`` is standard output. What is written to a name that ends in ``.gz`` is
        compressed. The folder is made.
    force : bool, default=False
        Whether to replace a file that is there.

    Yields
    ------
    binary stream

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_output
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "out.csv"
    ...     with open_output(path) as stream:
    ...         n_bytes, early = stream.write(b"x"), path.exists()
    ...     early, path.read_bytes()
    (False, b'x')
    """
    target = Path(path)
    if str(path) == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_target(target, force=force)
    if target.exists() and not target.is_file():
        with target.open("wb") as stream, _packed(stream, target) as packed:
            yield packed
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with part.open("xb") as stream:
            with _packed(stream, target) as packed:
                yield packed
            stream.flush()
            os.fsync(stream.fileno())
        check_target(target, force=force)  # it may have come meanwhile
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _packed(stream: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Compress if the name asks for it; the file holds neither its name nor a time."""
    if path.suffix != ".gz":
        yield stream
        return
    with gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        yield packed  # type: ignore[misc]
