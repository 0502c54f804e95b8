"""Forecasts as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._messages import did_you_mean, library as imported
from trueline._validation import FloatArray, increasing_levels
from trueline.interop._as_distribution import as_distribution

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
    """Return quantiles or intervals of a forecast as a table of pandas, polars or pyarrow.

    Quantiles are in one column per level, named as in ``CalibratedRegressor.set_output``: 0.05,
    0.5, ... in pandas, and strings such as ``"0.05"`` in the others. `as_distribution` reads such
    a table back as `Quantiles`. The interval of one coverage is in the columns ``lower`` and
    ``upper``, those of several in ``lower_0.5``, ``upper_0.5``, ``lower_0.9``, and so on.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.
    levels : float or (m,) array-like, optional
        Increasing levels in (0, 1); without levels and coverage, 0.05, 0.25, 0.5, 0.75 and 0.95.
    coverage : float or (m,) array-like, optional
        Probabilities of central intervals, instead of levels.
    like : Series, DataFrame or Index of pandas, polars or pyarrow, or array-like, optional
        The n rows that the forecasts are for; an index of pandas is kept.
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
    module = imported(chosen, f"to_frame with library={chosen!r}")
    index = _index_of(like, len(forecast))
    columns: dict[Any, FloatArray]
    if coverage is None:
        p = increasing_levels(_LEVELS if levels is None else levels, "levels")
        values = forecast.ppf(p)
        # Column names of polars and pyarrow are strings.
        names = p.tolist() if chosen == "pandas" else [str(q) for q in p.tolist()]
        columns = {name: values[:, i] for i, name in enumerate(names)}
    else:
        c = increasing_levels(coverage, "coverage")
        suffixes = [f"_{k:g}" for k in c] if np.ndim(coverage) else [""]
        ends = zip(suffixes, *(end.T for end in forecast.interval(c)), strict=True)
        columns = {}
        for suffix, lower, upper in ends:
            columns |= {f"lower{suffix}": lower, f"upper{suffix}": upper}
    if chosen == "pandas":
        return module.DataFrame(columns, index=index)
    if chosen == "polars":
        return module.DataFrame(columns)
    return module.table({name: np.ascontiguousarray(v) for name, v in columns.items()})


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
    """Return the index of pandas that the table takes over, after a check of the number of rows."""
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
            f"like has {rows} rows but the forecast has {n}; expected the data that it is a "
            f"forecast of, row by row."
        )
    if hasattr(like, "to_series") and hasattr(like, "names"):
        return like  # an index itself
    return like.index if hasattr(like, "iloc") else None
