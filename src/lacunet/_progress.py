"""How far a computation is: a line on standard error that others don't trip over."""

import shutil
import sys
import time
from collections.abc import Callable

_REWRITTEN = 0.1  # seconds from one text to the next at a terminal
_PRINTED = 10.0  # and elsewhere
_width = 0  # of the text that stands in the last line of the terminal


class ProgressLine:
    """At a terminal one line that is rewritten, elsewhere a line every ten seconds.

    Parameters
    ----------
    shown : bool, default=True
        Whether to write anything.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self.shown, self.is_rewritten = shown, shown and sys.stderr.isatty()
        self._pause = _REWRITTEN if self.is_rewritten else _PRINTED
        is_printed = shown and not self.is_rewritten
        self._next = time.monotonic() + _PRINTED if is_printed else 0.0

    def show(self, make_text: Callable[..., str], *facts: float | str) -> None:
        """Show what is now, unless the last text was shown a moment ago.

        Parameters
        ----------
        make_text : callable
            Returns the text.
        *facts : float or str
            What it is given.
        """
        global _width
        if not self.shown or (now := time.monotonic()) < self._next:
            return
        text = make_text(*facts)
        if self.is_rewritten:
            text = text[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"\r{text.ljust(_width)}")
            sys.stderr.flush()
            _width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)  # noqa: T201
        self._next = now + self._pause


def clear_line() -> None:
    """Remove the line from the terminal, before anything else is written there."""
    global _width
    if _width:
        sys.stderr.write(f"\r{' ' * _width}\r")
        sys.stderr.flush()
        _width = 0
