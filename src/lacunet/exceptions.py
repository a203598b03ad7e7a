"""Errors and warnings of lacunet's own."""

import sys
import warnings

__all__ = ["AdaptError", "LacunetError", "TableError", "warn_user"]

# Whose frames are no place to send a reader to.
_INSIDE = ("lacunet", "sklearn", "contextlib")


class LacunetError(Exception):
    """Base of the errors that only lacunet raises."""


class AdaptError(LacunetError, ValueError):
    """Raised when adapt() cannot replace the first layer of a model."""


class TableError(LacunetError, ValueError):
    """A file of a table that can't be read as it is, or not written back."""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, at the line outside of the library that led here.

    Parameters
    ----------
    message : str
    category : type of Warning, default=UserWarning
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] in _INSIDE
