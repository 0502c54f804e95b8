"""Recalibrate and evaluate forecasts in files: CSV, TSV, Parquet, Arrow, and folders of them.

Files are read in chunks, so that memory does not grow with their size.
"""

from trueline._files import FileError
from trueline.files._apply import AddedColumns, apply
from trueline.files._chunks import GroupCodes
from trueline.files._columns import Columns, Layout
from trueline.files._forecasts import Forecasts, Transformer, open_forecasts
from trueline.files._passes import Sample, evaluate, fit, sample_rows
from trueline.files._source import File
from trueline.metrics import FileEvaluation, GroupEvaluation

__all__ = [
    "AddedColumns",
    "Columns",
    "File",
    "FileError",
    "FileEvaluation",
    "Forecasts",
    "GroupCodes",
    "GroupEvaluation",
    "Layout",
    "Sample",
    "Transformer",
    "apply",
    "evaluate",
    "fit",
    "open_forecasts",
    "sample_rows",
]
