"""Arguments of a report, checked before the work begins."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._report._columns import Parts, categories, read_columns
from trueline._report._markup import clean
from trueline._validation import (
    FloatArray,
    RandomState,
    check_row_count,
    generator,
    level,
    same_length,
    vector,
    weights,
)
from trueline.distributions import Distribution


@dataclass(frozen=True, eq=False)
class Inputs:
    """Checked arguments of `report`, without rows of weight 0.

    Attributes
    ----------
    y, w : ndarray, (n,)
        Outcomes and weights; no weights are None.
    forecasts : dict
        Name -> forecast, one or two.
    columns : dict
        Name -> (n,) array; empty if there is no table of features.
    groups : Parts or None
    group_name : str
    coverage : float
    n_fit : float or None
    random_state : None, int or numpy.random.Generator
    """

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
    if isinstance(forecasts, Distribution):
        return {"forecast": forecasts}
    if not isinstance(forecasts, Mapping):
        raise TypeError(
            f"forecasts is of type {type(forecasts).__name__}; expected a Distribution, or one or "
            f'two by name: {{"before": F, "after": G}}. '
            f"Convert other forecasts first: trueline.as_distribution(forecast)."
        )
    if not 1 <= len(forecasts) <= 2:
        raise ValueError(
            f"forecasts holds {len(forecasts)} forecasts; expected one or two: "
            f'{{"before": F, "after": G}}.'
        )
    for name, dist in forecasts.items():
        if not isinstance(name, str) or not clean(name):
            raise TypeError(f"forecasts has the name {name!r}; expected a text that is not empty.")
        if not isinstance(dist, Distribution):
            raise TypeError(
                f"forecasts[{name!r}] is of type {type(dist).__name__}; expected a Distribution. "
                f"Convert it first: trueline.as_distribution(forecast)."
            )
    found = {clean(name): dist for name, dist in forecasts.items()}
    if len(found) < len(forecasts):
        raise ValueError(f"forecasts has the same name twice: {list(forecasts)}.")
    return found


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
    try:
        values = np.asarray(groups)
    except ValueError:
        raise ValueError("groups is ragged; expected one name per row.") from None
    if values.shape != (n,):
        raise ValueError(
            f"groups has shape {values.shape} but y has {n} rows; expected one name per row, "
            f"({n},)."
        )
    return categories(values), clean(getattr(groups, "name", None) or "") or "group"


def _only_used(parts: Parts, kept: NDArray[np.intp]) -> Parts:
    used, codes = np.unique(parts.codes[kept], return_inverse=True)
    return Parts([parts.labels[code] for code in used], codes.astype(np.intp))
