"""Checks of parameters, and of the packages that are needed, that all networks share."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from trueline._messages import EXTRAS, library
from trueline._validation import generator


def check_number(
    model: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
) -> None:
    """Raise unless a parameter is a finite number within bounds."""
    value = getattr(model, name)
    number = isinstance(value, Real) and not isinstance(value, bool)
    number = number and bool(np.isfinite(float(value)))
    bounds = [f"above {above:g}"] if above is not None else []
    bounds += [f"of {least:g} or more"] if least is not None else []
    bounds += [f"below {below:g}"] if below is not None else []
    if (
        not number
        or (above is not None and not value > above)
        or (least is not None and not value >= least)
        or (below is not None and not value < below)
    ):
        raise ValueError(f"{name} is {value!r}; expected a number {' and '.join(bounds)}.")


def check_widths(model: Any, name: str, least: int, expected: str) -> None:
    """Raise unless a parameter is a sequence of `least` or more integers above 0."""
    sizes: Any = getattr(model, name)
    plain = np.ndim(sizes) == 1 and len(sizes) >= least
    if not plain or not all(isinstance(n, Integral) and int(n) > 0 for n in sizes):
        raise ValueError(f"{name} is {sizes!r}; expected {expected}.")


def check_choice(model: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless a parameter is one of the names in `choices`."""
    if getattr(model, name) not in choices:
        raise ValueError(f"{name} is {getattr(model, name)!r}; expected one of {choices}.")


def as_seed(random_state: Any) -> int:
    """Convert a random state to an integer, which is stored so that forecasts repeat."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    return int(generator(random_state).integers(2**31))


def as_json(value: Any) -> Any:
    """Convert a parameter to a JSON type."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return [int(n) for n in value]
    return value.item() if isinstance(value, np.generic) else value


def require_torch(*packages: str) -> None:
    """Raise ImportError with the install command unless torch and safetensors can be imported."""
    for package in packages or ("torch", "safetensors"):
        library(package, "trueline.models", EXTRAS["torch"])
