"""Plain numbers: tuples, lists, arrays, tensors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, as_float, detached, vector
from trueline.distributions import Distribution, Normal, Point, Quantiles, Samples
from trueline.interop._refusals import SAY_WHICH, refuse


def plain(x: Any) -> Any:
    """Return a tensor as an array in full precision; return other objects as they are."""
    if isinstance(x, Distribution):
        refuse(x, "inside another object")
    if isinstance(x, list | tuple) and any(_is_tensor(item) for item in x):
        return [plain(item) for item in x]
    if type(x).__module__.partition(".")[0] == "cupy":
        return x.get()
    return detached(x, "obj")


def _is_tensor(x: Any) -> bool:
    # Objects of NGBoost have an attribute of every name.
    return callable(getattr(x, "detach", None))


def check_labels(*columns: Any) -> None:
    """Raise if columns of pandas differ in their labels: rows are matched by position."""
    labelled = [x for x in columns if hasattr(x, "iloc") and hasattr(x, "index")]
    for other in labelled[1:]:
        if not other.index.equals(labelled[0].index):
            raise ValueError(
                "obj holds Series whose labels differ, or come in another order; expected the same "
                "labels, because rows are matched by position. Join them first, "
                "pd.concat([...], axis=1), or pass arrays."
            )


def row_numbers(x: Any, name: str) -> FloatArray:
    """Convert (n,) or (n, 1) to one number per row, (n,)."""
    a = as_float(plain(x), name)
    return vector(a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a, name)


def normal(mean: FloatArray, spread: FloatArray, name: str, *, variance: bool) -> Distribution:
    """Return normal forecasts from a mean and a standard deviation or variance."""
    if spread.min() < 0:
        i = int(np.argmax(spread < 0))
        kind = "variances" if variance else "standard deviations"
        raise ValueError(
            f"{name}[{i}] is {spread[i]}; expected {kind} above 0 ({int((spread < 0).sum())} of "
            f"{spread.size} are below). Models often give logarithms: if it is a log standard "
            f"deviation pass (mean, np.exp(x)), if a log variance (mean, np.exp(0.5 * x))"
            f"{', both without kind' if variance else ''}."
        )
    return Normal(mean, np.sqrt(spread) if variance else spread)


def from_tuple(obj: tuple[Any, ...], kind: str | None) -> Distribution:
    """Convert (loc, scale), or (mean, variance) if `kind` says so."""
    if kind in ("samples", "quantiles", "point"):
        return from_array(list(obj), kind)
    if len(obj) != 2:
        raise TypeError(
            f"obj is a tuple of length {len(obj)}; expected (loc, scale). For point forecasts "
            f"pass a list or an array; for others build the distribution yourself."
        )
    check_labels(*obj)
    variance = kind == "mean_var"
    names = ("mean", "variance") if variance else ("loc", "scale")
    loc, scale = (as_float(plain(x), name) for x, name in zip(obj, names, strict=True))
    if scale.ndim == 2 and scale.shape[1] > 1:
        _refuse_second(loc, scale)
    mean, spread = row_numbers(loc, names[0]), row_numbers(scale, names[1])
    return normal(mean, spread, names[1], variance=variance)


def _refuse_second(first: FloatArray, second: FloatArray) -> None:
    if second.shape == (first.size, first.size):
        guess = (
            "It looks like a covariance matrix: pass (mean, np.sqrt(np.diag(cov))), or ask the "
            "model for standard deviations."
        )
    elif second.shape[1] == first.size:
        guess = 'It looks like levels and values: pass {"levels": levels, "values": values}.'
    else:
        guess = "For draws or quantiles build the distribution: Samples or Quantiles."
    raise TypeError(
        f"obj is a tuple whose second item has shape {second.shape}; expected (loc, scale), one "
        f"number per row each. {guess}"
    )


def from_array(obj: Any, kind: str | None) -> Distribution:
    """Convert a list, an array, a tensor or a number."""
    if not (isinstance(obj, list | Real) or _is_array(obj) or _is_tensor(obj)):
        refuse(obj)
    if isinstance(obj, list) and any(_is_distribution(item) for item in obj):
        raise TypeError(
            "obj is a list of distributions; expected one. Use Mixture(obj) for their mixture, "
            "row by row, or trueline.distributions.Stacked for rows one after the other."
        )
    a = as_float(plain(obj), "obj")
    if kind == "point" and a.ndim == 2 and a.shape[1] == 1:
        a = a[:, 0]
    if kind in (None, "point"):
        if a.ndim > 1:
            raise TypeError(
                f"obj has shape {a.shape}; expected one number per row, shape (n,), because a "
                f'table may hold draws or quantiles. {SAY_WHICH}; or kind="point" with obj.ravel().'
            )
        return Point(a)
    if kind == "samples":
        return Samples(a)
    if kind == "quantiles":
        raise TypeError(
            f"obj has shape {a.shape} and no names, so its levels are not known; expected "
            f'{{"levels": levels, "values": obj}}, or a frame whose columns are levels.'
        )
    if a.ndim != 2 or a.shape[1] != 2:
        hint = " It looks transposed: pass obj.T." if a.ndim == 2 and a.shape[0] == 2 else ""
        raise TypeError(
            f"obj has shape {a.shape}; expected (n, 2) for kind={kind!r}, the mean and the "
            f"{'variance' if kind == 'mean_var' else 'standard deviation'} in each row, or a "
            f"tuple of both.{hint}"
        )
    mean, spread = (vector(a[:, j], f"obj[:, {j}]") for j in range(2))
    return normal(mean, spread, "obj[:, 1]", variance=kind == "mean_var")


def _is_distribution(item: Any) -> bool:
    if isinstance(item, Distribution):
        return True
    number = isinstance(item, Real | list | tuple | str) or _is_array(item)
    return not number and hasattr(item, "cdf")


def _is_array(x: Any) -> bool:
    return callable(getattr(x, "__array__", None))


def from_levels(levels: FloatArray, values: FloatArray, name: str) -> Distribution:
    """Convert quantiles, (n, m), at levels in any order."""
    if values.shape == levels.shape:
        values = values[None, :]
    if levels.ndim != 1 or values.ndim != 2 or levels.size not in values.shape:
        return Quantiles(levels, values)  # it raises the error
    order = np.argsort(levels, kind="stable")
    if values.shape[1] != levels.size or _looks_transposed(values, order):
        raise ValueError(
            f"{name} has shape {values.shape} with {levels.size} levels; expected "
            f"(n, {levels.size}), one row per forecast, in which values rise with the levels. "
            f"It looks transposed: pass {name}.T."
        )
    values = values[:, order]
    # Two quantiles in one row may cross; if all of more do, their order is wrong.
    if values.size > 2 and levels.size > 1 and bool((np.diff(values, axis=1) < 0).all()):
        raise ValueError(
            f"{name} falls from each level to the next in every row; expected values that rise "
            f"with their levels. The values are in the reverse order of the levels: reverse one "
            f"of them."
        )
    return Quantiles(levels[order], values)


def _looks_transposed(values: FloatArray, order: NDArray[np.intp]) -> bool:
    """Whether a square table rises with the levels down its columns but not along its rows."""
    if values.shape[0] != values.shape[1] or len(values) < 3:
        return False
    down, along = np.diff(values[order], axis=0), np.diff(values[:, order], axis=1)
    # One row may cross by chance, but not several while every column rises.
    return bool((down >= 0).all()) and int((along < 0).any(axis=1).sum()) > 1
