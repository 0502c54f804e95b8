"""Checks of arguments: errors say what was received, what was expected and how to fix it.

Everything below this layer may assume plain float64 arrays of the right shape.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._messages import Worded

FloatArray = NDArray[np.float64]
#: Row numbers of a batch.
Rows = NDArray[np.intp]
RandomState = int | np.random.Generator | None

# Every integer up to this one is exact in float64.
_EXACT_INTEGERS = 2**53


class CalibrationWarning(Worded, UserWarning):
    """A result is weaker than it looks.

    It is issued if the calibration data cannot support a result: a quantile beyond the outermost
    score, a coverage that needs more rows, or scores most of which are tied.

    Examples
    --------
    >>> import warnings
    >>> import trueline as tl
    >>> R = tl.Isotonic().fit([0.1, 0.4, 0.9], tl.Point([0.0, 0.0, 0.0]))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     lower, upper = R.transform(tl.Point([2.0])).interval(0.9)
    >>> caught[0].category.__name__
    'CalibrationWarning'
    """


class UnknownGroupsWarning(CalibrationWarning):
    """Rows of groups that were not there at ``fit`` get the pooled map, right on average only."""


class NotFittedError(ValueError, AttributeError):
    """A recalibrator was used before ``fit``.

    Inherits from both `ValueError` and `AttributeError`, as scikit-learn's does.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.Isotonic().transform(tl.Normal(0, 1))
    Traceback (most recent call last):
        ...
    trueline._validation.NotFittedError: Isotonic is not fitted: call fit(y, dist) first.
    """


def is_missing(item: Any) -> bool:
    """Whether an item is None, NaN, or NA or NaT of pandas."""
    if item is None or type(item).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(item, float) and math.isnan(item)


def detached(x: Any, name: str) -> Any:
    """Convert a tensor to a NumPy array in full precision; return other objects as they are."""
    if not callable(getattr(x, "detach", None)):
        return x
    if getattr(x, "is_meta", False):
        raise TypeError(
            f"{name} holds a tensor on the meta device, which has a shape but no numbers; expected "
            f"one that was computed. Run the model on a CPU or GPU first."
        )
    x = x.detach().cpu()
    return (x.double() if x.is_floating_point() else x).numpy()


def as_float(x: ArrayLike, name: str) -> FloatArray:
    """Convert to float64; refuse types that NumPy would convert wrongly without an error."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array; expected a plain array, because the values under the "
            f"mask would be used. Drop the masked rows first: {name}.compressed()."
        )
    x = detached(x, name)
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise TypeError(
            f"{name} is a sparse array; expected a dense one. Convert it with {name}.toarray()."
        )
    try:
        a = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"{name} is ragged; expected rows of equal length. Cut or fill the shorter ones."
        ) from None
    if a.dtype == np.float64:
        return a
    kind = a.dtype.kind
    if kind == "f" and a.dtype.itemsize > 8:
        raise TypeError(
            f"{name} has dtype {a.dtype}; expected float64 or narrower. "
            f"Convert it with {name}.astype(float) if you can lose the extra digits."
        )
    if kind in "iu" and a.size and max(int(a.max()), -int(a.min())) > _EXACT_INTEGERS:
        _raise_inexact(name)
    if kind in "fiu":
        return a.astype(np.float64)
    found = {
        "c": "complex numbers",
        "b": "booleans",
        "U": "strings",
        "S": "bytes",
        "M": "datetimes",
        "m": "timedeltas",
    }.get(kind, f"values of dtype {a.dtype}")
    if kind == "O":
        strange = [type(item).__name__ for item in a.flat if not _is_number(item)]
        if not strange:
            if any(isinstance(i, Integral) and abs(int(i)) > _EXACT_INTEGERS for i in a.flat):
                _raise_inexact(name)
            return a.astype(np.float64)
        found = f"an object of type {strange[0]}"
    raise TypeError(f"{name} holds {found}; expected real numbers. Convert it to floats first.")


def _is_number(item: object) -> bool:
    """Return whether an element of an object array is a real number."""
    # bool is an integer type of Python, and timedelta64 one of NumPy.
    return isinstance(item, Real | Decimal) and not isinstance(item, bool | np.timedelta64)


def _raise_inexact(name: str) -> NoReturn:
    raise ValueError(
        f"{name} holds integers beyond 2**53, which float64 cannot hold exactly; expected smaller "
        f"ones. Subtract an offset or change the unit first."
    )


def all_finite(a: FloatArray) -> bool:
    """Return whether all elements are finite; if so, in one pass without a temporary."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = a.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(a).all())


def check_finite(a: FloatArray, name: str) -> None:
    """Raise if an element is NaN or infinite; the message names the first."""
    if not all_finite(a):
        refuse(a, ~np.isfinite(a), name, "finite numbers", "Drop or impute those rows first")


def refuse(a: FloatArray, bad: NDArray[np.bool_], name: str, expected: str, remedy: str) -> None:
    """Raise if an element is bad; the message names the first."""
    if not np.any(bad):
        return
    where = np.argwhere(bad)
    spot = f"[{', '.join(str(int(i)) for i in where[0])}]" if a.ndim else ""
    verb = "is" if len(where) == 1 else "are"
    raise ValueError(
        f"{name}{spot} is {a[tuple(where[0])]}; expected {expected} "
        f"({len(where)} of {a.size} {verb} not). {remedy}."
    )


def check_positive(a: FloatArray, name: str, remedy: str) -> None:
    """Raise if an element is NaN or not above zero; the message names the first."""
    if not a.min() > 0:
        refuse(a, ~(a > 0), name, "numbers above 0", remedy)


def check_no_nan(a: FloatArray, name: str) -> None:
    """Raise if an element is NaN; infinities are allowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = a.sum()
    if np.isnan(total) and np.isnan(a).any():
        refuse(a, np.isnan(a), name, "real numbers", "Drop or impute those rows first")


def vector(x: ArrayLike, name: str, *, finite: bool = True) -> FloatArray:
    """Convert to a non-empty 1-D float64 array; a scalar becomes one row."""
    a = np.atleast_1d(as_float(x, name))
    if a.ndim != 1:
        raise ValueError(
            f"{name} has shape {a.shape}; expected one number per row, shape (n,). "
            f"Use {name}.ravel() if that is what it holds."
        )
    if a.size == 0:
        raise ValueError(f"{name} is empty; expected at least one row.")
    if finite:
        check_finite(a, name)
    return a


def matrix(x: ArrayLike, name: str, columns: str) -> FloatArray:
    """Convert to a non-empty, finite (n, k) float64 array."""
    a = as_float(x, name)
    if a.ndim != 2:
        raise ValueError(
            f"{name} has shape {a.shape}; expected (n, {columns}), one row per forecast. "
            f"A single forecast is {name}[None, :]."
        )
    if a.size == 0:
        raise ValueError(f"{name} is empty, with shape {a.shape}; expected at least one row.")
    check_finite(a, name)
    return a


def group_names(groups: ArrayLike, n: int) -> NDArray[Any]:
    """Return the group of each of `n` rows as an array, (n,)."""
    try:
        names = np.asarray(groups)
    except ValueError:
        raise ValueError("groups is ragged; expected one name per row.") from None
    if names.shape != (n,):
        raise ValueError(
            f"groups has shape {names.shape} but y has {n} rows; expected one name per row, ({n},)."
        )
    return names


def same_length(n: int, a: FloatArray, name: str, what: str, draws: int | None = None) -> None:
    """Raise unless `a` has `n` rows; `draws` is the number per row of a forecast of draws."""
    if len(a) == n:
        return
    hint = ""
    if draws == len(a):
        hint = (
            f" It has {len(a)} draws in each row, so it looks transposed: draws are (rows, draws). "
            f"Transpose draws of shape (draws, rows): draws.T."
        )
    raise ValueError(
        f"{name} has {len(a)} rows but {what} has {n}; expected the same number.{hint}"
    )


def levels(q: ArrayLike, name: str, *, closed: bool = False) -> FloatArray:
    """Convert to float64 probabilities of at most one dimension, in (0, 1) or [0, 1]."""
    a = as_float(q, name)
    if a.ndim > 1:
        raise ValueError(
            f"{name} has shape {a.shape}; expected a scalar or a 1-D array of levels, "
            f"the same for every row."
        )
    if a.size == 0:
        raise ValueError(f"{name} is empty; expected at least one level.")
    inside = (a >= 0) & (a <= 1) if closed else (a > 0) & (a < 1)
    if not inside.all():
        outside = np.atleast_1d(a)[~np.atleast_1d(inside)]
        # A level of 2 to 100 is a percentage; 1 may not be.
        percents = outside[(outside >= 2) & (outside <= 100)]
        worst = percents[0] if percents.size else outside[0]
        bounds = "[0, 1]" if closed else "(0, 1)"
        hint = f" Write {worst:g}% as {worst / 100:g}." if percents.size else ""
        raise ValueError(f"{name} holds {worst}; expected levels in {bounds}.{hint}")
    return a


def level(q: float, name: str) -> float:
    """Convert to one probability in (0, 1)."""
    a = levels(q, name)
    if a.ndim:
        raise ValueError(f"{name} has shape {a.shape}; expected one number in (0, 1).")
    return float(a)


def increasing_levels(q: ArrayLike, name: str, *, closed: bool = False) -> FloatArray:
    """Convert to a 1-D array of strictly increasing levels."""
    a = np.atleast_1d(levels(q, name, closed=closed))
    if not (np.diff(a) > 0).all():
        i = int(np.argmin(np.diff(a) > 0))
        fault = "repeats" if a[i] == a[i + 1] else "are not sorted:"
        found = f"{a[i]}" if a[i] == a[i + 1] else f"{a[i]} comes before {a[i + 1]}"
        raise ValueError(
            f"{name} {fault} {found}; expected strictly increasing levels. "
            f"Sort them, with their values, and drop repeats."
        )
    return a


def weights(w: ArrayLike | None, n: int, what: str = "y") -> FloatArray | None:
    """Convert sample weights; None, which means a weight of 1 for every row, stays None."""
    a = new_weights(w, n, what)
    if a is not None and not a.max() > 0:
        raise ValueError("sample_weight is zero in every row; expected at least one above 0.")
    return a


def new_weights(w: ArrayLike | None, n: int, what: str = "dist") -> FloatArray | None:
    """Convert the weights of new rows, which may all be 0; None stays None."""
    if w is None:
        return None
    a = vector(w, "sample_weight")
    same_length(n, a, "sample_weight", what)
    refuse(a, a < 0, "sample_weight", "weights of 0 or more", "Drop rows that must not count")
    return a


def check_max_knots(max_knots: int) -> None:
    """Raise unless `max_knots` is an integer of at least 2."""
    if not isinstance(max_knots, int | np.integer) or max_knots < 2:
        raise ValueError(f"max_knots is {max_knots!r}; expected an integer of 2 or more.")


def check_count(value: int, name: str, expected: str = "an integer of 1 or more") -> int:
    """Raise unless `value` is an integer of 1 or more."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected {expected}.")
    return int(value)


def check_row_count(value: float, name: str) -> None:
    """Raise unless `value` is a number of rows; effective numbers need not be whole."""
    if not isinstance(value, int | float | np.number) or not 1 <= value < np.inf:
        call = " Call the method: R.n_fit()." if callable(value) else ""
        raise ValueError(f"{name} is {value!r}; expected a number of rows, 1 or more.{call}")


def generator(random_state: RandomState) -> np.random.Generator:
    """Convert a seed, a Generator or None to a Generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise TypeError(
        f"random_state is {random_state!r}; expected None, an integer of 0 or more, "
        f"or a numpy.random.Generator."
    )
