"""Forests of quantile-forest."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution
from trueline.interop._reading import LEVELS, belongs_to, quantiles


def read_quantile_forest(model: Any, X: Any) -> Distribution | None:
    """Read a forest at its own levels if it has several, or else at `LEVELS`."""
    if not (belongs_to(model, "quantile_forest") and hasattr(model, "default_quantiles")):
        return None
    given = model.default_quantiles
    several = given is not None and not isinstance(given, str) and np.size(given) > 1
    levels = [float(level) for level in (given if several else LEVELS)]
    # The forest's default may be the mean or one quantile, so the levels are passed.
    return quantiles(model, levels, model.predict(X, quantiles=levels))
