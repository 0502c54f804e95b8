"""pyarrow, imported when it is needed, and conversions between Arrow and numpy by their buffers.

pyarrow's own conversions import pandas wherever it is installed, which costs 60 MB of memory and
a quarter of a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._messages import library
from trueline._validation import FloatArray


def pyarrow() -> Any:
    """Import pyarrow, or say how to install it."""
    return library("pyarrow", "reading or writing files", '"pyarrow>=17"')


def to_numpy(column: Any) -> NDArray[Any]:
    """Return numbers without missing ones, as an array that may not be written to."""
    chunks = getattr(column, "chunks", [column])
    arrays = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.empty(0)


def to_arrow(values: FloatArray, there: NDArray[np.bool_] | None = None) -> Any:
    """Return numbers as an Arrow array that shares their memory.

    ``there`` marks the values that are not missing; None if none is.
    """
    pa = pyarrow()
    data = pa.py_buffer(np.ascontiguousarray(values, dtype=np.float64))
    bits = None if there is None else pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(values), [bits, data])


def texts(values: list[str]) -> Any:
    """Return texts as an Arrow array."""
    pa = pyarrow()
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *(len(value) for value in encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def text(value: str) -> Any:
    """Return one text as an Arrow scalar."""
    return texts([value])[0]
