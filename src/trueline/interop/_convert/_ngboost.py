"""What NGBoost's ``pred_dist`` returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution, Normal
from trueline.interop._convert._errors import class_name, refuse, refuse_multivariate
from trueline.interop._convert._scipy import from_scipy
from trueline.interop._transformed import SIGMOID, transformed


def from_ngboost(obj: Any) -> Distribution:
    """Convert a batch of NGBoost's, or rows of one."""
    inner = getattr(obj, "dist", None)
    if type(obj).__name__ == "LogitNormal" and inner is None:
        return transformed(Normal(np.ravel(obj.mu), np.ravel(obj.sigma)), SIGMOID)
    if type(obj).__name__ == "MultivariateNormal" or getattr(obj, "multi_output", False):
        refuse_multivariate(class_name(obj), "Normal(dist.mean()[:, 0], std of that column)")
    if inner is None:
        refuse(obj)
    return from_scipy(inner)
