"""Beyond memory and beyond Python: files and folders in chunks, batches, clusters, ONNX and SQL.

``trueline.scale.dask`` and ``trueline.scale.spark`` are for data frames of those.
"""

from trueline.scale import dask as dask, spark as spark
from trueline.scale._apply import apply_file, apply_parquet
from trueline.scale._batches import Batch, evaluate_batches, fit_batches
from trueline.scale._columns import Columns
from trueline.scale._errors import FileError
from trueline.scale._evaluate import evaluate_file, evaluate_parquet
from trueline.scale._fit import fit_file, fit_parquet
from trueline.scale._judging import FileEvaluation, GroupEvaluation
from trueline.scale._onnx import to_onnx
from trueline.scale._sql import to_sql

__all__ = [
    "Batch",
    "Columns",
    "FileError",
    "FileEvaluation",
    "GroupEvaluation",
    "apply_file",
    "apply_parquet",
    "evaluate_batches",
    "evaluate_file",
    "evaluate_parquet",
    "fit_batches",
    "fit_file",
    "fit_parquet",
    "to_onnx",
    "to_sql",
]
