"""The ``lacunet`` command."""

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, and leave the interpreter with its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What stands behind ``lacunet``; that of this process by default.

    Examples
    --------
    >>> from lacunet.cli import main
    >>> try:
    ...     main(["profile", "--help"])
    ... except SystemExit as end:
    ...     end.code
    Usage: lacunet profile ...
    0
    """
    try:
        from lacunet.cli._main import lacunet
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        msg = "The command needs more packages: pip install 'lacunet[cli]'."
        raise SystemExit(msg) from error
    lacunet(arguments, prog_name="lacunet")
