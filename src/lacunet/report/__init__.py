"""Results as figures and one HTML file."""

from lacunet.report._compare import write_comparison
from lacunet.report._fit import write_fit
from lacunet.report._profile import write_profile
from lacunet.report._write import write_report

__all__ = ["write_comparison", "write_fit", "write_profile", "write_report"]
