"""Rows of a diagnostic: checks at the public edge, and weighted means of values per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._labels import check_labels
from trueline._validation import FloatArray, check_row_count, same_length, vector, weights
from trueline.distributions import Distribution
from trueline.interop import ForecastLike, check_forecast


def check_rows(
    y: ArrayLike, dist: ForecastLike, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, Distribution, FloatArray | None]:
    """Check outcomes, forecast and weights; return the arrays as float64, (n,).

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.metrics import check_rows
    >>> check_rows([1], tl.Point([1.0]))[0]
    array([1.])
    """
    forecast = check_forecast(dist, y=y)
    check_labels(4, y=y, dist=forecast, sample_weight=sample_weight)
    outcomes = vector(y, "y")
    same_length(len(forecast), outcomes, "y", "the forecast", forecast._draw_count)
    return outcomes, forecast, weights(sample_weight, outcomes.size)


def rows_of_fit(n_fit: float | None, dist: Distribution) -> float | None:
    """Return the given number of rows of the fit, checked; for None, what the forecast knows."""
    if n_fit is None:
        return dist._n_fit
    check_row_count(n_fit, "n_fit")
    return n_fit


def rows_of_fits(
    n_fit: float | Mapping[str, float] | None, names: Iterable[str]
) -> dict[str, float]:
    """Return the given numbers of rows of the fits of several forecasts by name, checked.

    Examples
    --------
    >>> from trueline.metrics import rows_of_fits
    >>> rows_of_fits(100, ["a", "b"]), rows_of_fits({"b": 50}, ["a", "b"])
    ({'a': 100, 'b': 100}, {'b': 50})
    """
    if n_fit is None:
        return {}
    if not isinstance(n_fit, Mapping):
        check_row_count(n_fit, "n_fit")
        return dict.fromkeys(names, n_fit)
    known = list(names)
    for key, value in n_fit.items():
        if key not in known:
            raise ValueError(f"n_fit names {key!r}; expected names of forecasts: {known}.")
        check_row_count(value, f"n_fit[{key!r}]")
    return dict(n_fit)


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
    """Kish's effective number of rows, (sum w)^2 / sum w^2.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics import effective_size
    >>> effective_size(None, 4), effective_size(np.array([1.0, 1.0, 0.0, 0.0]), 4)
    (4.0, 2.0)
    """
    if w is None:
        return float(n)
    scaled = w / w.max()
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def levels_below(levels: FloatArray, u: FloatArray) -> NDArray[np.intp]:
    """Return the number of levels below each value."""
    # A pass for each of a few levels is faster than a search, whose branches are unpredictable.
    place = np.zeros(u.size, dtype=np.min_scalar_type(levels.size))
    for level in levels:
        place += u > level
    return place.astype(np.intp)
