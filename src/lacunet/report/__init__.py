"""Results as figures and one HTML file."""

from lacunet.report._write import write_report

__all__ = ["write_report"]
