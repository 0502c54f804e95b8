"""Methods of a forecast with the shapes of scipy and torch: the last axis runs over the rows.

Values of shape (n,), (k, n) or (k, 1) are broadcast against the n rows; trueline's own methods
have the rows first. Nothing is refused: NaN and levels outside [0, 1] give NaN, and the levels 0
and 1 give the ends of the support.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions import Distribution

_Method = Callable[[FloatArray], FloatArray]

_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def result_shape(shape: tuple[int, ...], n: int, name: str) -> tuple[int, ...]:
    """Return the shape of the result for values of this shape, or raise."""
    try:
        return np.broadcast_shapes(shape, (n,))
    except ValueError:
        raise ValueError(
            f"{name} has shape {tuple(shape)} but the forecast has {n} rows; expected a last axis "
            f"of length {n} or 1: ({n},), (k, {n}), or (k, 1) for the same values in every row."
        ) from None


def values_at(F: Distribution, name: str, x: FloatArray) -> FloatArray:
    """Call a method of values (``cdf``, ``logpdf``, ...)."""
    missing = np.isnan(x)
    return _ask(getattr(F, name), len(F), np.where(missing, 0.0, x), missing, "x")


def quantiles_at(F: Distribution, q: FloatArray) -> FloatArray:
    """Return quantiles, with the warning of `Distribution.ppf`."""
    _warn_of_support(F, q)
    return _levels(F, F._ppf, q, swapped=False)


def upper_quantiles_at(F: Distribution, q: FloatArray) -> FloatArray:
    """Return values that are exceeded with probability q, however small."""
    # Where 1 - q rounds to 1 the level is still beyond what calibration rows support.
    _warn_of_support(F, np.minimum(1.0 - q, np.where(q > 0, _BELOW_ONE, 1.0)))
    return _levels(F, F._isf, q, swapped=True)


def ends(F: Distribution) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the support of each row, (n,) each."""
    with np.errstate(all="ignore"):
        low, middle, high = (F._ppf(np.array([[q]]))[:, 0] for q in (0.0, 0.5, 1.0))
    # Some special functions return NaN or the other infinity there.
    return np.where(low <= middle, low, -np.inf), np.where(high >= middle, high, np.inf)


def _levels(F: Distribution, invert: _Method, q: FloatArray, *, swapped: bool) -> FloatArray:
    inside = (q > 0) & (q < 1)
    out = _ask(invert, len(F), np.where(inside, q, 0.5), ~((q >= 0) & (q <= 1)), "q")
    if not inside.all():
        low, high = reversed(ends(F)) if swapped else ends(F)
        out = np.where(q == 0, low, np.where(q == 1, high, out))
    return out


def _ask(
    method: _Method, n: int, x: FloatArray, missing: NDArray[np.bool_], name: str
) -> FloatArray:
    shape = result_shape(x.shape, n, name)
    if x.size == 0:
        return np.empty(shape)
    # Values that are the same in every row are passed as one row, which is often faster.
    common = x.ndim == 0 or x.shape[-1] == 1 or n == 1
    columns = x.reshape(1, -1) if common else np.ascontiguousarray(x.reshape(-1, n).T)
    answer = method(columns)
    out = np.broadcast_to(answer, (n, columns.shape[1])).T.reshape(shape)
    return np.where(missing, np.nan, out) if missing.any() else out.copy()


def _warn_of_support(F: Distribution, q: FloatArray) -> None:
    """Give the warning of `Distribution.ppf` about levels that calibration does not support."""
    inside = q[(q > 0) & (q < 1)]
    if inside.size and F._supported != (0.0, 1.0):
        F._take(np.zeros(1, dtype=np.intp)).ppf(np.array([inside.min(), inside.max()]))
