"""Write a fitted map for use without Python: as an ONNX model or a SQL expression."""

from trueline.export._onnx import to_onnx
from trueline.export._sql import to_sql

__all__ = ["to_onnx", "to_sql"]
