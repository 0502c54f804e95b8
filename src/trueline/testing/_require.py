"""How a broken promise is reported: which it is, the numbers seen, and where."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def require(holds: bool | np.bool_, fault: str) -> None:
    """Raise an AssertionError unless a promise holds; ``assert`` is gone under ``python -O``."""
    if not holds:
        raise AssertionError(fault)


def require_all(holds: ArrayLike, fault: str, **seen: ArrayLike) -> None:
    """Require a promise in every place; `seen` is shown for the first where it is broken."""
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
    """Require equal shapes and equal numbers, exactly unless a tolerance says otherwise."""
    a, b = np.asarray(found), np.asarray(expected)
    require(a.shape == b.shape, f"{fault}: found shape {a.shape}, expected {b.shape}")
    same = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    require_all(same, fault, found=a, expected=b)


def _plain(value: Any) -> str:
    """A number with all its digits, without the type that numpy puts around it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def description(thing: object) -> str:
    """Return the ``repr``, without the addresses of parts that have none of their own."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))
