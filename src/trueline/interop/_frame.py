"""A forecast as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._messages import did_you_mean
from trueline._validation import FloatArray, increasing_levels
from trueline.interop import as_distribution
from trueline.interop._library import library as imported

LIBRARIES = ("pandas", "polars", "pyarrow")
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def to_frame(
    F: Any,
    levels: ArrayLike | None = None,
    coverage: ArrayLike | None = None,
    *,
    like: Any = None,
    library: str | None = None,
) -> Any:
    """Give quantiles or intervals of a forecast as a table of pandas, polars or pyarrow.

    Quantiles come in one column a level, named by it as in the tables of
    ``CalibratedRegressor.set_output``: 0.05, 0.5, ... in pandas, ``"0.05"``, ``"0.5"``, ... in
    the others, whose names are strings. `as_distribution` reads such a table back as
    `Quantiles`. The interval of one coverage comes in the columns ``lower`` and ``upper``;
    those of several in ``lower_0.5``, ``upper_0.5``, ``lower_0.9``, ``upper_0.9`` and so on.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.
    levels : float or (m,) array-like, optional
        Increasing levels in (0, 1). If neither they nor a coverage is given: 0.05, 0.25, 0.5,
        0.75 and 0.95.
    coverage : float or (m,) array-like, optional
        Probabilities of central intervals, instead of levels.
    like : Series, DataFrame or Index of pandas, polars or pyarrow, or array-like, optional
        What the forecasts are for, n rows of it: the index of pandas is kept.
    library : {"pandas", "polars", "pyarrow"}, optional
        That of ``like`` by default, or else pandas.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Examples
    --------
    >>> import pandas as pd
    >>> import trueline as tl
    >>> days = pd.Index(["Mon", "Tue"], name="day")
    >>> F = tl.Normal([10.0, 20.0], [1.0, 2.0])
    >>> tl.interop.to_frame(F, [0.1, 0.5, 0.9], like=days).round(2)
           0.1   0.5    0.9
    day
    Mon   8.72  10.0  11.28
    Tue  17.44  20.0  22.56
    >>> tl.interop.to_frame(F, coverage=0.9, like=days).round(2)
         lower  upper
    day
    Mon   8.36  11.64
    Tue  16.71  23.29
    """
    forecast = as_distribution(F)
    if levels is not None and coverage is not None:
        raise ValueError(
            "both levels and coverage are given; expected one of them. For both tables call "
            "to_frame twice."
        )
    chosen = _library_for(like, library)
    imported(chosen, f"to_frame with library={chosen!r}")
    index = _index_of(like, len(forecast))
    if coverage is None:
        p = increasing_levels(_LEVELS if levels is None else levels, "levels")
        return _table(forecast.ppf(p), p, index, chosen)
    c = increasing_levels(coverage, "coverage")
    lower, upper = forecast.interval(c)
    names = [(f"lower_{k:g}", f"upper_{k:g}") for k in c] if np.ndim(coverage) else [_ENDS]
    columns = {
        name: values
        for i, pair in enumerate(names)
        for name, values in zip(pair, (lower[:, i], upper[:, i]), strict=True)
    }
    return _joined(columns, index, chosen)


_ENDS = ("lower", "upper")


def _table(values: FloatArray, p: FloatArray, index: Any, chosen: str) -> Any:
    """Quantiles, with a column a level."""
    from trueline.interop._frames import framed  # which stands on scikit-learn

    if chosen == "pyarrow":
        return _joined({str(q): values[:, i] for i, q in enumerate(p.tolist())}, index, chosen)
    return framed(values, "", p, index, chosen)


def _joined(columns: dict[str, FloatArray], index: Any, chosen: str) -> Any:
    """Columns by name, beside one another."""
    from trueline.interop._frames import framed

    module = imported(chosen, "to_frame")
    if chosen == "pyarrow":
        return module.table({name: np.ascontiguousarray(v) for name, v in columns.items()})
    parts = [framed(values, name, None, index, chosen) for name, values in columns.items()]
    return module.concat(parts, axis=1) if chosen == "pandas" else module.DataFrame(parts)


def _library_for(like: Any, library: str | None) -> str:
    if library is None:
        own = type(like).__module__.split(".", maxsplit=1)[0]
        return own if own in LIBRARIES else "pandas"
    if library not in LIBRARIES:
        raise ValueError(
            f"library is {library!r}; expected one of {', '.join(map(repr, LIBRARIES))}."
            f"{did_you_mean(str(library), LIBRARIES)}"
        )
    return library


def _index_of(like: Any, n: int) -> Any:
    """Return what `framed` takes an index from, after a look at its length."""
    if like is None:
        return None
    try:
        rows = len(like)
    except TypeError:
        raise TypeError(
            f"like is of type {type(like).__name__}; expected a Series, DataFrame or Index with "
            f"the {n} rows of the forecast."
        ) from None
    if rows != n:
        raise ValueError(
            f"like has {rows} rows but the forecast has {n}; expected what it is a forecast of, "
            f"row by row."
        )
    # An index of pandas has no iloc, by which frames are told; the series of its labels has.
    return like.to_series() if hasattr(like, "to_series") and hasattr(like, "names") else like
