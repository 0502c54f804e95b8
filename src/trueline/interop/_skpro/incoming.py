"""Distributions of skpro, with one column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, as_float
from trueline.distributions import (
    Distribution,
    Laplace,
    Logistic,
    Mixture,
    Normal,
    Point,
    Samples,
    StudentT,
)
from trueline.interop._refusals import checked, refuse, refuse_steps, rows_of
from trueline.interop._scipy.incoming import cauchy, from_family
from trueline.interop._skpro.forecast import SkproForecast, skpro_exact


def from_skpro(obj: Any, _kind: str | None = None) -> Distribution:
    """Convert a distribution of skpro."""
    name = type(obj).__name__
    if not hasattr(obj, "get_tag"):
        refuse(obj)
    rows = rows_of(tuple(obj.shape), f"skpro {name}")
    own = type(obj).__module__.startswith("skpro.distributions.")
    if own and name in _NATIVE:
        native, translation = _NATIVE[name]
        columns = {
            ours: np.broadcast_to(as_float(getattr(obj, theirs), theirs), (rows, 1))[:, 0]
            for ours, theirs in translation.items()
        }
        return native(**columns)
    if own and name == "Mixture":
        parts = [part[1] if isinstance(part, tuple) else part for part in obj.distributions]
        return Mixture([from_skpro(part) for part in parts], obj.weights)
    if own and name == "NormalMixture":
        return _normal_mixture(obj, rows)
    if own and name == "Empirical" and obj.weights is None:
        return Samples(_empirical_draws(obj))
    draws = "dist.sample(1000).to_numpy().reshape(1000, -1).T"
    kind = obj.get_tag("distr:measuretype")
    if kind != "continuous":
        refuse_steps(f"skpro.{name}", draws, kind)
    missing = [what for what in ("cdf", "ppf", "pdf") if what not in skpro_exact(obj)]
    if missing:
        raise TypeError(
            f"obj is a skpro {name}, whose {' and '.join(missing)} skpro approximates; expected a "
            f"distribution with exact ones. Give draws instead: Samples({draws})."
        )
    table = obj if obj.shape else _one_row(obj, draws)
    return checked(SkproForecast(table), f"skpro {name}")


def _one_row(obj: Any, draws: str) -> Any:
    """Convert a scalar distribution of skpro to a table of one row and column."""
    given = obj.get_params(deep=False) | {"index": [0], "columns": [0]}
    table = type(obj)(**given)
    try:
        table.ppf(np.array([[0.5]]))
    except ValueError:  # it holds another distribution, which is still a scalar
        raise TypeError(
            f"obj is a scalar skpro {type(obj).__name__}, which cannot be made a table; expected "
            f"one row and one column. Give draws instead: Samples({draws})."
        ) from None
    return table


def _normal_mixture(obj: Any, rows: int) -> Distribution:
    """Convert weights, means and standard deviations by row and component."""
    weights = np.atleast_2d(as_float(obj.pi, "pi"))
    k = weights.shape[-1]
    mean, width = (
        np.broadcast_to(as_float(p, name).reshape(-1, k), (rows, k))
        for p, name in ((obj.mu, "mu"), (obj.sigma, "sigma"))
    )
    return Mixture([Normal(mean[:, j], width[:, j]) for j in range(k)], weights)


def _exponential(rate: FloatArray) -> Distribution:
    return from_family("expon", {"scale": 1.0 / rate})


def _empirical_draws(obj: Any) -> NDArray[Any]:
    if not obj.shape:
        return np.reshape(obj.spl, (1, -1))
    by_row = obj.spl.iloc[:, 0].unstack(0).loc[obj.index]
    return np.asarray(by_row)


_NATIVE: dict[str, tuple[Callable[..., Distribution], dict[str, str]]] = {
    "Normal": (Normal, {"loc": "mu", "scale": "sigma"}),
    "TDistribution": (StudentT, {"loc": "mu", "scale": "sigma", "df": "df"}),
    "Laplace": (Laplace, {"loc": "mu", "scale": "scale"}),
    "Logistic": (Logistic, {"loc": "mu", "scale": "scale"}),
    "Cauchy": (cauchy, {"loc": "mu", "scale": "scale"}),
    "Delta": (Point, {"loc": "c"}),
    "Exponential": (_exponential, {"rate": "rate"}),  # skpro bisects for its quantiles
}
