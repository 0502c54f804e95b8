"""Weighted means over rows that may be infinite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueline._validation import FloatArray


def total(rows: FloatArray, w: FloatArray | None) -> float:
    """Return the sum of w * rows; +inf wins over -inf, and rows of weight 0 do not count."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = rows.sum() if w is None else w @ rows
    if np.isfinite(result):
        return float(result)
    if w is not None:
        kept = w > 0
        rows, w = rows[kept], w[kept]
    return add(rows if w is None else w * rows)


def add(terms: FloatArray | Sequence[float]) -> float:
    """Return the sum of terms; +inf wins over -inf."""
    terms = np.asarray(terms)
    if (terms == np.inf).any():
        return np.inf
    with np.errstate(over="ignore"):
        return float(terms.sum())


def mean(rows: FloatArray, w: FloatArray | None) -> float:
    """Weighted mean of rows; see `total`."""
    return total(rows, w) / size(w, rows.size)


def size(w: FloatArray | None, n: int) -> float:
    """Sum of the weights."""
    return float(n) if w is None else float(w.sum())


def effective_size(w: FloatArray | None, n: int) -> float:
    """Kish's effective number of rows, (sum w)^2 / sum w^2."""
    if w is None:
        return float(n)
    scaled = w / w.max()
    return float(scaled.sum() ** 2 / (scaled @ scaled))
