"""The report of the paper's results."""

from reproduction.report._write import write_report

__all__ = ["write_report"]
