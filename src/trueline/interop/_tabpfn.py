"""Models of TabPFN."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution
from trueline.interop._reading import LEVELS, belongs_to, quantiles


def read_tabpfn(model: Any, X: Any) -> Distribution | None:
    """Read the quantiles of TabPFN, run locally or by its client."""
    if not (belongs_to(model, "tabpfn", "tabpfn_client") and hasattr(model, "predict")):
        return None
    columns = model.predict(X, output_type="quantiles", quantiles=list(LEVELS))
    return quantiles(model, LEVELS, np.stack([np.asarray(c) for c in columns], axis=1))
