"""Names that the comparison still imports from here."""

from lacunet._text import join_words as join
from lacunet._text import show_p as tell_p
from lacunet.evaluation._scores import Estimate
from lacunet.evaluation._scores import choose_format as choose_format
from lacunet.evaluation._scores import show_score as show_score

__all__ = ["choose_format", "join", "show_score", "show_with_error", "tell_p"]


def show_with_error(mean: float, stderr: float | None, form: str) -> str:
    """Return a mean, with its standard error if there is one."""
    return Estimate(mean, stderr).show(form)
