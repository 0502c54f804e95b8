"""Assertions that report the broken promise, the numbers and their place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray


def require(holds: bool | np.bool_, fault: str) -> None:
    """Raise AssertionError unless a promise holds; ``python -O`` removes ``assert``."""
    if not holds:
        raise AssertionError(fault)


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


def require_quantiles(levels: FloatArray, values: FloatArray, when: str = "") -> None:
    """Require quantiles, (n, m), that are finite and rise in the level."""
    finite = np.isfinite(values)
    require_all(finite, f"a quantile is not finite{when}", level=levels, found=values)
    rises = np.diff(values, axis=1) >= 0
    fault = f"a quantile falls as its level rises{when}"
    require_all(rises, fault, level=levels[:-1], found=values[:, :-1], next=values[:, 1:])


def require_nested(coverage: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Require intervals, (n, m), of which the wider ones hold the narrower ones."""
    ends = {"coverage": coverage, "lower": lower, "upper": upper}
    require_all(lower <= upper, "an interval is upside down", **ends)
    nests = (np.diff(lower, axis=1) <= 0) & (np.diff(upper, axis=1) >= 0)
    require_all(nests, "intervals do not nest", **{k: v[..., 1:] for k, v in ends.items()})


def _plain(value: Any) -> str:
    """Return a number with all its digits, without the type of numpy."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def description(thing: object) -> str:
    """Return the ``repr`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))
