"""Assertions that report the broken promise, the numbers and their place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray
from trueline.distributions import Distribution


def require(holds: bool | np.bool_, fault: str) -> None:
    """Raise AssertionError unless a promise holds; ``python -O`` removes ``assert``."""
    if not holds:
        raise AssertionError(fault)


def require_equal(found: object, expected: object, what: str) -> None:
    """Require two equal things; `what` is the start of the message, which ends with both."""
    require(found == expected, f"{what} {found}; expected {expected}")


def require_all(holds: ArrayLike, fault: str, **seen: ArrayLike) -> None:
    """Require a promise at every place; the message shows `seen` at the first failure."""
    kept = np.asarray(holds)
    if kept.all():
        return
    where = np.argwhere(~kept)
    place = tuple(int(i) for i in where[0])
    shown = [
        f"{name} = {_plain(np.broadcast_to(np.asarray(value), kept.shape)[place])}"
        for name, value in seen.items()
    ]
    spot = [f"at {list(place)}, one of {len(where)} of {kept.size} places"] if place else []
    raise AssertionError(f"{fault}: {', '.join([*shown, *spot])}")


def require_same(
    found: ArrayLike, expected: ArrayLike, fault: str, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Require equal shapes and equal numbers, exact unless a tolerance is given."""
    a, b = np.asarray(found), np.asarray(expected)
    require(a.shape == b.shape, f"{fault}: found shape {a.shape}, expected {b.shape}")
    same = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    require_all(same, fault, found=a, expected=b)


def require_rising(
    values: FloatArray, fault: str, *, slack: FloatArray | float = 0.0, **at: FloatArray
) -> None:
    """Require values, (n, m), that rise along each row, or fall by no more than `slack`."""
    seen = {name: where[..., :-1] for name, where in at.items()}
    found, following = values[:, :-1], values[:, 1:]
    # A difference of equal infinite values would be NaN.
    require_all(following >= found - slack, fault, **seen, found=found, next=following)


def require_quantiles(levels: FloatArray, values: FloatArray, when: str = "") -> None:
    """Require quantiles, (n, m), that are finite and rise in the level."""
    finite = np.isfinite(values)
    require_all(finite, f"a quantile is not finite{when}", level=levels, found=values)
    require_rising(values, f"a quantile falls as its level rises{when}", level=levels)


def require_inverse(
    dist: Distribution, q: FloatArray, y: FloatArray, hair: FloatArray, slack: FloatArray | float
) -> None:
    """Require that y = ppf(q), (n, m), is the smallest value with cdf(y) >= q.

    y is exact up to rounding, so the CDF is evaluated at a distance of `hair` on both sides of it:
    at an atom q lies between the two, and without atoms both are q.
    """
    below, above = dist.cdf(y - hair), dist.cdf(y + hair)
    require_all(above >= q - slack, "cdf(ppf(q)) < q", q=q, y=y, found=above)
    fault = "ppf(q) is not the smallest y with cdf(y) >= q"
    require_all(below <= q + slack, fault, q=q, smaller_y=y - hair, found=below)


def require_nested(
    coverage: FloatArray, lower: FloatArray, upper: FloatArray, slack: FloatArray | float = 0.0
) -> None:
    """Require intervals, (n, m), of which the wider ones hold the narrower ones."""
    ends = {"coverage": coverage, "lower": lower, "upper": upper}
    require_all(lower <= upper, "an interval is upside down", **ends)
    nests = (np.diff(lower, axis=1) <= slack) & (np.diff(upper, axis=1) >= -slack)
    inner = {"inner_lower": lower[:, :-1], "inner_upper": upper[:, :-1]}
    outer = {name: value[..., 1:] for name, value in ends.items()}
    require_all(nests, "intervals do not nest", **outer, **inner)


def error_of(call: Callable[[], object]) -> Exception | None:
    """Return the error of a wrong call, or None if it raises none."""
    try:
        call()
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        return error
    return None


def _plain(value: Any) -> str:
    """Return a number with all its digits, without the type of numpy."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def description(thing: object) -> str:
    """Return the ``repr`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))
