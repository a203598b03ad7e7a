"""Results as figures and one HTML file."""

from lacunet.report._profile import write_profile
from lacunet.report._write import write_report

__all__ = ["write_profile", "write_report"]
