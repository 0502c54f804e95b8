"""What `trueline.interop` gives out, taken back in."""

from __future__ import annotations

from typing import Any

from trueline.distributions import Distribution


def from_interop(obj: Any) -> Distribution:
    """Return the forecast that an object of another library's kind was made of."""
    forecast: Distribution = obj.forecast
    return forecast
