"""The ``lacunet`` command."""

import os
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
    # Threads that wait for others sleep, instead of spinning on the core that these
    # need: where other programs run, training is up to eight times as fast. It is read
    # when numpy, scikit-learn and torch are loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    lacunet(arguments, prog_name="lacunet")
