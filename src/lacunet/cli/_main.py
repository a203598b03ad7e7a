"""The command, and how it ends: errors, Ctrl-C, warnings."""

import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lacunet._output import explain as explain_error
from lacunet._progress import clear_line
from lacunet.cli._check import check
from lacunet.cli._compare import compare
from lacunet.cli._demo import demo
from lacunet.cli._explain import explain
from lacunet.cli._fit import fit
from lacunet.cli._impute import impute
from lacunet.cli._next import next as next_
from lacunet.cli._options import COMMON
from lacunet.cli._predict import predict
from lacunet.cli._profile import profile
from lacunet.cli._terminal import Terminal, echo, forget_reader
from lacunet.exceptions import LacunetError

# What public functions raise for bad data, files, models and parameters. Everything
# else is a bug, and its traceback is shown.
EXPECTED = (LacunetError, ValueError, OSError, ImportError)
_MOST_LINES = 3  # of a message
# Exit codes, as of programs that SIGINT or SIGPIPE have ended.
INTERRUPTED, UNREAD = 130, 141
# Commands of 0.1.0 and what they are now.
_MOVED = {"datasets": "data", "report": "report", "reproduce": "run"}
# Warnings of the estimators that say once more what is said of the columns of the file.
_IN_NOTICES = ("Got columns without one observed", "Got columns with one value only")


class CommandGroup(click.Group):
    """Commands that end with a short message when something is wrong."""

    def resolve_command(self, context: click.Context, arguments: list[str]) -> Any:
        if arguments[0] in _MOVED:
            msg = (
                f"'lacunet {arguments[0]}' has moved beside the package, into its "
                f"repository. There: python -m reproduction {_MOVED[arguments[0]]}"
            )
            raise click.UsageError(msg, context)
        return super().resolve_command(context, arguments)

    def invoke(self, context: click.Context) -> Any:
        signals: list[int] = []
        try:
            with warnings.catch_warnings(), _signals_end_it(signals):
                # Without the place in the code that they come from.
                warnings.showwarning = lambda text, *_, **__: Terminal().warn(str(text))
                for said in _IN_NOTICES:
                    warnings.filterwarnings("ignore", said)
                return super().invoke(context)
        except (KeyboardInterrupt, SystemExit) as end:
            code = end.code if isinstance(end, SystemExit) else INTERRUPTED
            if signals:  # Ray puts another code in its place
                code = 128 + signals[0]
            if code != INTERRUPTED:
                raise SystemExit(code) from None
            # At a terminal, below its own ^C.
            echo("\nStopped." if sys.stderr.isatty() else "Stopped.", err=True)
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:  # as in `lacunet predict model table.csv | head`
            forget_reader(sys.stdout)
            raise SystemExit(UNREAD) from None
        except EXPECTED as error:
            if context.ensure_object(Terminal).debug:
                raise
            lines = _describe(error).splitlines()[:_MOST_LINES]
            raise click.ClickException("\n".join(lines)) from error
        finally:
            clear_line()


def _describe(error: BaseException) -> str:
    """Return the message of an error, in sentences."""
    text = str(error).strip() or type(error).__name__
    if isinstance(error, OSError) and error.errno is not None:
        place = f"{error.filename}: " if error.filename else ""
        text = f"{place}{explain_error(error)}."
    if text.startswith("No module named"):
        text += ". Install what is missing with pip install 'lacunet[all]'."
    return re.sub(r"\[errno \d+\] ?", "", text, flags=re.IGNORECASE)


@contextmanager
def _signals_end_it(seen: list[int]) -> Iterator[None]:
    """End the command on SIGINT and SIGTERM, after all that is to be cleaned up.

    Not by KeyboardInterrupt, after which estimators keep what they have learned so far.
    The number of a signal is added to ``seen``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        seen.append(number)
        raise SystemExit(128 + number)

    signals = (signal.SIGINT, signal.SIGTERM)
    former = [signal.signal(number, end) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, former, strict=True):
            signal.signal(number, handler)


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog="Help and examples of a command: lacunet COMMAND --help",
)
@click.version_option(package_name="lacunet", message="%(prog)s %(version)s")
def lacunet() -> None:
    """Train neural networks on tables with missing values, without imputation."""


lacunet.params += COMMON
for _command in (
    *(demo, profile, fit, predict, check, explain),
    *(next_, impute, compare),
):
    lacunet.add_command(_command)
