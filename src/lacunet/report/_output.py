"""Files that are whole or not there, and that replace no other unasked."""

import os
import secrets
from pathlib import Path


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
    if path.exists() and not force:
        msg = (
            f"Got path={str(path)!r}, which exists, but expected a new file. Give "
            f"another name, or force=True (--force) to replace it."
        )
        raise FileExistsError(msg)


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file under another name, and rename it when all is on the disk.

    Parameters
    ----------
    path : Path
        Its folder is made.
    text : str
    force : bool
        Whether a file that is there may be replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with part.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        check_target(path, force=force)  # it may have come meanwhile
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
