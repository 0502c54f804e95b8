"""What the readers of models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal, Quantiles

Reader = Callable[[Any, Any], Distribution | None]

#: Levels for models that give any quantile, as in the forecast hubs of epidemiology: they include
#: the ends of the usual intervals (50%, 80%, 90%, 95%, 98%), and are so dense that the law between
#: two of them hardly matters. A few hundred rows do not support levels below 0.01.
LEVELS = (0.01, 0.025, *(round(0.05 * k, 2) for k in range(1, 20)), 0.975, 0.99)

# Trees may agree, and a Gaussian process has no uncertainty on its training rows. A spread that is
# smaller than this share of the prediction is raised to it.
_LEAST = 1e-9


def belongs_to(model: Any, *packages: str) -> bool:
    """Whether the class of a model, or a parent of it, is of a package; it imports nothing."""
    homes = tuple(f"{package}." for package in packages)
    return any(f"{cls.__module__}.".startswith(homes) for cls in type(model).__mro__)


def normal(mean: FloatArray, std: Any) -> Distribution:
    """Return normal forecasts, whose scale is above zero."""
    return Normal(mean, np.maximum(np.asarray(std, np.float64), _LEAST * (1.0 + np.abs(mean))))


def quantiles(model: Any, levels: Sequence[float], values: Any) -> Distribution:
    """Return forecasts from their values at levels in any order, one column per level.

    Models that are trained one level at a time give quantiles that cross in every fit. Sorting
    them lowers no row's score (Chernozhukov, Fernández-Val and Galichon, 2010,
    doi:10.3982/ECTA7880), so that there is no warning.
    """
    a = np.asarray(values, dtype=np.float64)
    if a.ndim != 2 or a.shape[1] != len(levels):
        raise ValueError(
            f"{type(model).__name__} gave quantiles of shape {a.shape}; expected a column for each "
            f"of its {len(levels)} levels. It may predict several outcomes: fit a model for each."
        )
    order = np.argsort(levels, kind="stable")
    return Quantiles(np.asarray(levels, dtype=np.float64)[order], np.sort(a[:, order], axis=1))


def one_per_row(model: Any, prediction: Any) -> FloatArray:
    """Return a prediction as an array of one number per row."""
    a = np.asarray(prediction, dtype=np.float64)
    if a.ndim == 2 and a.shape[1] == 1:
        a = a[:, 0]
    if a.ndim != 1:
        raise ValueError(
            f"{type(model).__name__}.predict gave an array of shape {a.shape}; expected one "
            f"number per row. Pass its forecast with dist=, a callable (estimator, X) -> "
            f"Distribution."
        )
    return a
