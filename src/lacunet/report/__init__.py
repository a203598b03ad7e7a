"""Pages: what is missing in a table, how good a model is, methods compared."""

from lacunet.report._compare import write_comparison
from lacunet.report._fit import write_fit
from lacunet.report._page import (
    write_page as write_page,
)  # for other pages: demo, reproduction
from lacunet.report._profile import write_profile

__all__ = ["write_comparison", "write_fit", "write_profile"]
