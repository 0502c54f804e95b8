"""Forecasts of GluonTS: one per series, with one row per step ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueline._validation import FloatArray, as_float
from trueline.distributions import Distribution, Samples
from trueline.interop._numbers import from_levels
from trueline.interop._refusals import class_name, refuse, refuse_kind


def from_gluonts(obj: Any, kind: str | None) -> Distribution:
    """Convert a forecast, whose row i is the step i ahead, or a list of them, one after another."""
    forecasts = obj if isinstance(obj, list | tuple) else [obj]
    classes = [{cls.__name__ for cls in type(f).__mro__} for f in forecasts]
    for name, (is_a, convert) in _FORECASTS.items():
        if all(name in parents for parents in classes):
            if kind not in (None, is_a):
                refuse_kind(kind, forecasts[0], f"a forecast of {is_a}")
            return convert(forecasts)
    if len(forecasts) == 1:
        refuse(forecasts[0])
    names = sorted({class_name(f) for f in forecasts})
    raise TypeError(
        f"obj is a list of {', '.join(names)}; expected forecasts of one class. Convert each "
        f"class separately."
    )


def _samples(forecasts: Sequence[Any]) -> Distribution:
    return Samples(_stacked([f.samples for f in forecasts], "draws"))


def _quantiles(forecasts: Sequence[Any]) -> Distribution:
    keys = [key for key in forecasts[0].forecast_keys if key != "mean"]
    for i, f in enumerate(forecasts):
        if {key for key in f.forecast_keys if key != "mean"} != set(keys):
            raise ValueError(
                f"forecast {i} has levels {sorted(f.forecast_keys)} but forecast 0 has "
                f"{sorted(forecasts[0].forecast_keys)}; expected the same in each."
            )
    # The first axis of the array is that of the keys, whose order may differ between forecasts.
    arrays = [
        as_float(f.forecast_array, "forecast_array")[[f.forecast_keys.index(k) for k in keys]]
        for f in forecasts
    ]
    levels = np.array([float(key) for key in keys])
    return from_levels(levels, _stacked(arrays, "levels"), "forecast_array")


def _stacked(arrays: Sequence[Any], what: str) -> FloatArray:
    """Transpose arrays (k, steps) and concatenate them, (rows, k)."""
    for i, a in enumerate(arrays):
        if np.ndim(a) != 2:
            raise ValueError(
                f"forecast {i} has an array of shape {np.shape(a)}; expected ({what}, steps). "
                f"Choose one of several variables: forecast.copy_dim(0)."
            )
        if len(a) != len(arrays[0]):
            raise ValueError(
                f"forecast {i} has {len(a)} {what} but forecast 0 has {len(arrays[0])}; expected "
                f"the same number in each."
            )
    return np.concatenate([as_float(a, what).T for a in arrays])


_FORECASTS = {
    "SampleForecast": ("samples", _samples),
    "QuantileForecast": ("quantiles", _quantiles),
}
