"""The report: a page that shows whether intervals hold, to keep and to send."""

from trueline._report._write import report

__all__ = ["report"]
