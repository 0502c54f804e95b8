"""Files larger than memory: fit, apply and evaluate, chunk by chunk."""

from trueline.scale._apply import apply_file
from trueline.scale._columns import Columns
from trueline.scale._errors import FileError
from trueline.scale._evaluate import FileEvaluation, GroupEvaluation, evaluate_file
from trueline.scale._fit import fit_file

__all__ = [
    "Columns",
    "FileError",
    "FileEvaluation",
    "GroupEvaluation",
    "apply_file",
    "evaluate_file",
    "fit_file",
]
