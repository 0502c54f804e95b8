"""Recalibrate and evaluate forecasts in files: CSV, TSV, Parquet, Arrow, and folders of them.

Files are read in chunks, so that memory does not grow with their size.
"""

from trueline._files import FileError
from trueline.files._apply import apply
from trueline.files._columns import Columns
from trueline.files._evaluate import evaluate
from trueline.files._fit import fit
from trueline.metrics import FileEvaluation, GroupEvaluation

__all__ = [
    "Columns",
    "FileError",
    "FileEvaluation",
    "GroupEvaluation",
    "apply",
    "evaluate",
    "fit",
]
