"""Recalibrate and evaluate forecasts in files: CSV, TSV, Parquet, Arrow, and folders of them.

Files are read in chunks, so that memory does not grow with their size.
"""

from trueline._files import FileError
from trueline.files._apply import apply
from trueline.files._columns import Columns
from trueline.files._forecasts import Forecasts, open_forecasts, open_stream
from trueline.files._layout import Layout
from trueline.files._passes import (
    MOST_ROWS as MOST_ROWS,
    Sample,
    evaluate,
    fit,
    sample_rows,
)
from trueline.files._tally import Tally
from trueline.metrics import FileEvaluation, GroupEvaluation

__all__ = [
    "Columns",
    "FileError",
    "FileEvaluation",
    "Forecasts",
    "GroupEvaluation",
    "Layout",
    "Sample",
    "Tally",
    "apply",
    "evaluate",
    "fit",
    "open_forecasts",
    "open_stream",
    "sample_rows",
]
