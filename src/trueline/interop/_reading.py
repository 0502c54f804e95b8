"""What the readers of models share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal, Quantiles

Reader = Callable[[Any, Any], Distribution | None]

#: Asked of a model that can give any quantile. Those of the forecast hubs of epidemiology: dense
#: enough that the law between two of them hardly matters, the ends of the usual intervals (50%,
#: 80%, 90%, 95%, 98%) are the model's own, and 0.01 is as far out as a few hundred rows can tell.
LEVELS = (0.01, 0.025, *(round(0.05 * k, 2) for k in range(1, 20)), 0.975, 0.99)

# Trees may agree, and a Gaussian process has no doubt on a row it was trained on: a spread this
# small beside the prediction is none, and no scale.
_LEAST = 1e-9


def belongs_to(model: Any, *packages: str) -> bool:
    """Whether the class of a model, or a parent of it, is of a package: nothing is imported."""
    homes = tuple(f"{package}." for package in packages)
    return any(f"{cls.__module__}.".startswith(homes) for cls in type(model).__mro__)


def normal(mean: FloatArray, std: Any) -> Distribution:
    """Return normal forecasts, whose scale is never nothing."""
    return Normal(mean, np.maximum(np.asarray(std, np.float64), _LEAST * (1.0 + np.abs(mean))))


def quantiles(model: Any, levels: Sequence[float], values: Any) -> Distribution:
    """Return forecasts by their values at levels in any order, one column a level.

    Models that are trained a level at a time give quantiles that cross here and there, in every
    fit. Sorting them is the known remedy and lowers no row's score (Chernozhukov, Fernández-Val
    and Galichon, 2010, doi:10.3982/ECTA7880), so that nobody is warned of it.
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
    """Return a prediction as numbers, of which there must be one a row."""
    a = np.asarray(prediction, dtype=np.float64)
    if a.ndim == 2 and a.shape[1] == 1:
        a = a[:, 0]
    if a.ndim != 1:
        raise ValueError(
            f"{type(model).__name__}.predict gave an array of shape {a.shape}; expected one "
            f"number a row. Say what its forecast is with dist=, a callable (estimator, X) -> "
            f"Distribution."
        )
    return a
