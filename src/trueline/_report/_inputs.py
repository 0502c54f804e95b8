"""Arguments of a report, checked before the work begins, and columns cut into parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._messages import listed
from trueline._report._markup import clean
from trueline._report._numbers import number, span
from trueline._report._style import MOST_FORECASTS
from trueline._validation import (
    FloatArray,
    RandomState,
    check_row_count,
    generator,
    group_names,
    level,
    same_length,
    vector,
    weights,
)
from trueline.distributions import Distribution
from trueline.features import MISSING, Parts, categories, is_continuous, read_columns
from trueline.interop import as_distribution
from trueline.metrics import check_forecast

# Columns of numbers with at most this number of different values have one part per value.
_FEW_VALUES = 8
# Number of rows that the ends of the bins are computed from.
_ROWS_FOR_EDGES = 100_000


@dataclass(frozen=True, eq=False)
class Inputs:
    """Checked arguments of `report`, without rows of weight 0; forecasts and columns by name."""

    y: FloatArray
    w: FloatArray | None
    forecasts: dict[str, Distribution]
    columns: dict[str, NDArray[Any]]
    groups: Parts | None
    group_name: str
    coverage: float
    n_fit: float | None
    random_state: RandomState


def check_inputs(
    y: ArrayLike,
    forecasts: object,
    x: Any,
    groups: Any,
    coverage: float,
    sample_weight: ArrayLike | None,
    n_fit: float | None,
    random_state: RandomState,
) -> Inputs:
    """Check the arguments of `report` and leave out rows of weight 0."""
    named = _check_forecasts(forecasts)
    outcomes, w = _check_rows(y, named, sample_weight)
    c = level(coverage, "coverage")
    if n_fit is not None:
        check_row_count(n_fit, "n_fit")
    generator(random_state)  # raises if it is wrong
    columns = {} if x is None else read_columns(x, outcomes.size)
    parts, group_name = _check_groups(groups, outcomes.size)
    if w is not None and not w.min() > 0:
        kept = np.flatnonzero(w > 0)
        outcomes, w = outcomes[kept], w[kept]
        named = {name: dist._take(kept) for name, dist in named.items()}
        columns = {name: values[kept] for name, values in columns.items()}
        parts = None if parts is None else _only_used(parts, kept)
    return Inputs(outcomes, w, named, columns, parts, group_name, c, n_fit, random_state)


def check_path(path: str | os.PathLike[str]) -> Path:
    """Raise before the work begins if the file could not be written after it."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path is of type {type(path).__name__}; expected the name of the file to write, such "
            f'as "report.html".'
        )
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"{target} is a folder; expected the name of a file, such as {target / 'report.html'}."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target}: there is no folder {target.parent}. Make it first, or name "
            f"another."
        )
    return target


def _check_forecasts(forecasts: object) -> dict[str, Distribution]:
    if not isinstance(forecasts, Mapping):
        if isinstance(forecasts, list | tuple) and any(
            isinstance(f, Distribution) for f in forecasts
        ):
            raise TypeError(
                f"forecasts is a {type(forecasts).__name__} of forecasts; expected them by name: "
                f'{{"ridge": F, "forest": G}}.'
            )
        return {"forecast": check_forecast(forecasts, "forecasts")}
    if not forecasts:
        raise ValueError(
            f"forecasts holds no forecast; expected 1 to {MOST_FORECASTS} by name: "
            f'{{"before": F, "after": G}}.'
        )
    if _is_one_forecast(forecasts):
        raise TypeError(
            f"forecasts has the keys {listed(map(repr, forecasts))}, which are columns of one "
            f"forecast; expected forecasts by name. Name it: "
            f'{{"model": {{{next(map(repr, forecasts))}: ...}}}}.'
        )
    if len(forecasts) > MOST_FORECASTS:
        raise ValueError(
            f"forecasts holds {len(forecasts)} forecasts; expected at most {MOST_FORECASTS}, so "
            f"that their curves can be told apart and the page stays below a megabyte. "
            f"Leave some out: trueline.crps(y, F) tells which are the best."
        )
    for name in forecasts:
        if not isinstance(name, str) or not clean(name):
            raise TypeError(f"forecasts has the name {name!r}; expected a text that is not empty.")
    found = {
        clean(name): check_forecast(dist, f"forecasts[{name!r}]")
        for name, dist in forecasts.items()
    }
    if len(found) < len(forecasts):
        raise ValueError(f"forecasts has the same name twice: {list(forecasts)}.")
    return found


def _is_one_forecast(forecasts: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds the columns of one forecast, such as mean and std."""
    if any(isinstance(f, Distribution) for f in forecasts.values()):
        return False
    try:
        as_distribution(forecasts)
    except (TypeError, ValueError):
        return False
    return True


def _check_rows(
    y: ArrayLike, named: dict[str, Distribution], sample_weight: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    if isinstance(y, Distribution):
        raise TypeError(
            f"y is of type {type(y).__name__}; expected outcomes, shape (n,). "
            f"Outcomes come first, then the forecasts: report(y, forecasts, path)."
        )
    outcomes = vector(y, "y")
    for name, dist in named.items():
        same_length(len(dist), outcomes, "y", f"the forecast {name!r}")
    return outcomes, weights(sample_weight, outcomes.size)


def _check_groups(groups: Any, n: int) -> tuple[Parts | None, str]:
    if groups is None:
        return None, ""
    return categories(group_names(groups, n), _six_digits), clean(
        getattr(groups, "name", None) or ""
    ) or "group"


def _only_used(parts: Parts, kept: NDArray[np.intp]) -> Parts:
    used, codes = np.unique(parts.codes[kept], return_inverse=True)
    return Parts([parts.labels[code] for code in used], codes.astype(np.intp))


def _six_digits(value: float) -> str:
    return number(value, 6)


def parts(values: NDArray[Any], bins: int) -> Parts | None:
    """Return bins of about equal count, or one part per value; None if there is one part."""
    if not is_continuous(values):
        found = categories(values, _six_digits)
    elif values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        numbers = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64))
        found = _quantile_bins(numbers, bins, _date)
    elif _few_values(values):
        found = categories(values, _six_digits)
    else:
        found = _quantile_bins(values, bins, number)
    return found if len(found.labels) > 1 else None


def _few_values(values: FloatArray) -> bool:
    some = values[:1000]
    return np.unique(some).size <= _FEW_VALUES and np.unique(values).size <= _FEW_VALUES


def _quantile_bins(values: FloatArray, bins: int, show: Any) -> Parts:
    missing = np.isnan(values)
    known = values[~missing]
    if known.size == 0:
        return Parts([MISSING], np.zeros(values.size, dtype=np.intp))
    some = np.sort(known[:: -(-known.size // _ROWS_FOR_EDGES)])
    edges = np.unique(some[-(-np.arange(1, bins) * some.size // bins) - 1])
    edges = edges[edges < known.max()]
    codes = np.searchsorted(edges, values, side="left").astype(np.intp)
    codes[missing] = edges.size + 1
    ends = [show(edge) for edge in edges]
    labels = [f"up to {ends[0]}"] if ends else ["all"]
    labels += [span(a, b) for a, b in pairwise(ends)]
    labels += [f"above {ends[-1]}"] if ends else []
    if missing.any():
        labels.append(MISSING)
    return Parts(labels, codes)


def _date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")
