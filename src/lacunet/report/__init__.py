"""Pages: what is missing in a table, how good a model is, methods compared."""

# mypy: implicit-reexport
from lacunet.report._check import write_check
from lacunet.report._compare import write_comparison
from lacunet.report._drawing import (  # noqa: F401
    ACCENT,
    FIRST_CLASS,
    INK,
    LINE,
    MISSING,
    MUTED,
    SECOND,
    SECOND_CLASS,
    THIRD,
    WIDTH,
    drawing,
    to_svg,
)
from lacunet.report._explain import write_explanation
from lacunet.report._fit import write_fit
from lacunet.report._page import write_page  # noqa: F401
from lacunet.report._profile import write_profile
from lacunet.report._sensitivity import write_sensitivity

__all__ = [
    "write_check",
    "write_comparison",
    "write_explanation",
    "write_fit",
    "write_profile",
    "write_sensitivity",
]
