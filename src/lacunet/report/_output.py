"""Reports as files that are whole or not there, and that replace no other unasked."""

from pathlib import Path

from lacunet._output import check_target, open_output

__all__ = ["check_target", "write_text"]


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
    with open_output(path, force=force) as stream:
        stream.write(text.encode("utf-8"))
