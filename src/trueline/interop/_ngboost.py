"""Models of NGBoost, and the distributions that they predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution, Normal
from trueline.interop._external import SIGMOID, transformed
from trueline.interop._reading import belongs_to
from trueline.interop._refusals import class_name, refuse, refuse_multivariate
from trueline.interop._scipy.incoming import from_scipy


def from_ngboost(obj: Any, _kind: str | None = None) -> Distribution:
    """Convert what ``pred_dist`` returns, or rows of it."""
    inner = getattr(obj, "dist", None)
    if type(obj).__name__ == "LogitNormal" and inner is None:
        return transformed(Normal(np.ravel(obj.mu), np.ravel(obj.sigma)), SIGMOID)
    if type(obj).__name__ == "MultivariateNormal" or getattr(obj, "multi_output", False):
        refuse_multivariate(class_name(obj), "Normal(dist.mean()[:, 0], std of that column)")
    if inner is None:
        refuse(obj)
    return from_scipy(inner)


def read_ngboost(model: Any, X: Any) -> Distribution | None:
    """Read a fitted NGBoost model, whatever family it was trained with."""
    if not (belongs_to(model, "ngboost") and hasattr(model, "pred_dist")):
        return None
    return from_ngboost(model.pred_dist(X))
