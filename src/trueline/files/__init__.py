"""Recalibrate and evaluate forecasts in files: CSV, TSV, Parquet, Arrow, and folders of them.

Files are read in chunks, so that memory does not grow with their size.
"""

from trueline._files import FileError
from trueline.files._apply import apply
from trueline.files._columns import Columns
from trueline.files._forecasts import Forecasts, open_forecasts
from trueline.files._passes import evaluate, fit
from trueline.metrics import FileEvaluation, GroupEvaluation

__all__ = [
    "Columns",
    "FileError",
    "FileEvaluation",
    "Forecasts",
    "GroupEvaluation",
    "apply",
    "evaluate",
    "fit",
    "open_forecasts",
]
