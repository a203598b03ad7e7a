"""Files that are whole or not there, and that replace no other unasked."""

import bz2
import errno
import glob
import gzip
import lzma
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

STANDARD = "-"  # in place of a path: standard input or output
_MARK = "lacunet-"  # in the names of temporary files: the process id stands behind it
_IN_USE: set[str] = set()  # names that this process is writing to
# What may be wrong with a disk, in words.
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
}


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
            f"another name, or force=True to replace it."
        )
        raise FileExistsError(msg)


def check_folder(folder: Path, *, n_bytes: int) -> None:
    """Refuse a folder in which nothing can be made, or which has no room for it.

    If it does not exist yet, the nearest folder above it is tried.
    """
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    try:
        with temporary_name(folder / "test") as trial:
            trial.mkdir()
        n_free = shutil.disk_usage(folder).free
    except OSError as error:
        msg = f"Could not write in {str(folder)!r}: {explain(error)}."
        raise OSError(msg) from error
    if n_free < n_bytes:
        msg = (
            f"Got {str(folder)!r} with {n_free / 2**20:.1f} MB of free space, but "
            f"expected {n_bytes / 2**20:.0f} MB. Free some, or write to another disk."
        )
        raise OSError(msg)


def explain(error: BaseException) -> str:
    """Return what went wrong in words, without the number of an error.

    Examples
    --------
    >>> explain(OSError(28, "No space left on device", "a.csv"))
    'the disk is full'
    """
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    reason = _REASONS.get(error.errno)
    return reason or (error.strerror or type(error).__name__).lower()


@contextmanager
def temporary_name(target: Path) -> Iterator[Path]:
    """Yield a name beside a file or folder, for what shall replace it when it is whole.

    What is there in the end is removed, and first of all what killed processes have
    left of the same target. A former folder that was set aside, with a name that ends
    in ``.old``, is removed only if there is another in its place.
    """
    for left in target.parent.glob(f".{glob.escape(target.name)}.{_MARK}*"):
        aside = left.suffix == ".old" and not target.exists()
        if not aside and not _is_in_use(left.name):
            _remove(left)
    name = f".{target.name}.{_MARK}{os.getpid()}-{secrets.token_hex(4)}"
    _IN_USE.add(name)
    try:
        yield target.with_name(name)
    finally:
        _remove(target.with_name(name))
        _IN_USE.discard(name)


def _is_in_use(name: str) -> bool:
    """Return whether the process that made a temporary file is still there."""
    pid = name.rpartition(_MARK)[2].partition("-")[0]
    if not pid.isdecimal() or name in _IN_USE:
        return True
    # Who had our number before is dead. Windows refuses to remove a file that is open,
    # and signal 0 would not be harmless there.
    if int(pid) == os.getpid() or os.name == "nt":
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def open_output(
    path: str | os.PathLike[str], *, force: bool = False
) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when all of it is written.

    Until then it has another name in the same folder; after an error or Ctrl-C nothing
    is left of it, and what was there before is as it was. What a killed process leaves
    is removed when the file is written the next time. What is no file (a pipe,
    ``/dev/null``) is written to directly.

    Parameters
    ----------
    path : str or PathLike
        ``-`` is standard output. What is written to a name that ends in ``.gz``,
        ``.bz2`` or ``.xz`` is compressed. The folder is made.
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
    with temporary_name(target) as part:
        try:
            with part.open("xb") as stream:
                with _packed(stream, target) as packed:
                    yield packed
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            if error.errno in _REASONS and error.filename is None:
                error.filename = str(target)  # which a full disk does not name
            raise
        check_target(target, force=force)  # it may have come meanwhile
        part.replace(target)


def _packed(stream: IO[bytes], path: Path) -> AbstractContextManager[Any]:
    """Compress if the name asks for it; the file holds neither its name nor a time."""
    if path.suffix == ".gz":
        return gzip.GzipFile("", "wb", 6, stream, mtime=0)
    if path.suffix == ".bz2":
        return bz2.BZ2File(stream, "wb")
    return lzma.LZMAFile(stream, "wb") if path.suffix == ".xz" else nullcontext(stream)
