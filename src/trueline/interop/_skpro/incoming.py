"""Distributions of skpro, with one column."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, Rows, as_float
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
from trueline.interop._external import External, as_rows
from trueline.interop._refusals import checked, refuse, refuse_steps, rows_of
from trueline.interop._scipy.incoming import from_family

_HALF = np.array([[0.5]])


def from_skpro(obj: Any, _kind: str | None = None) -> Distribution:
    """Convert a distribution of skpro."""
    name = type(obj).__name__
    if not hasattr(obj, "get_tag"):
        refuse(obj)
    rows = rows_of(tuple(obj.shape), f"skpro {name}")
    own = type(obj).__module__.startswith("skpro.distributions.")
    if own and name in FAMILIES:
        native, translation = FAMILIES[name]
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
    missing = [what for what in ("cdf", "ppf", "pdf") if what not in _exact(obj)]
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
        table.ppf(_HALF)
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


def _empirical_draws(obj: Any) -> NDArray[Any]:
    if not obj.shape:
        return np.reshape(obj.spl, (1, -1))
    by_row = obj.spl.iloc[:, 0].unstack(0).loc[obj.index]
    return np.asarray(by_row)


#: Families by their name in skpro, and the names of the parameters here and there.
FAMILIES: dict[str, tuple[Callable[..., Distribution], dict[str, str]]] = {
    "Normal": (Normal, {"loc": "mu", "scale": "sigma"}),
    "TDistribution": (StudentT, {"loc": "mu", "scale": "sigma", "df": "df"}),
    "Laplace": (Laplace, {"loc": "mu", "scale": "scale"}),
    "Logistic": (Logistic, {"loc": "mu", "scale": "scale"}),
    "Cauchy": (partial(StudentT, df=1.0), {"loc": "mu", "scale": "scale"}),
    "Delta": (Point, {"loc": "c"}),
    # skpro bisects for the quantiles of this one.
    "Exponential": (lambda rate: from_family("expon", {"scale": 1.0 / rate}), {"rate": "rate"}),
}


class SkproForecast(External):
    """A distribution of skpro with one column."""

    _kind: ClassVar[str] = "from skpro"
    _reach: ClassVar[float] = 6.0  # as for torch

    def __init__(self, dist: Any) -> None:
        self.dist = dist

    def __len__(self) -> int:
        return len(self.dist)

    def _select(self, rows: Rows) -> External:
        return SkproForecast(self.dist.iloc[rows])

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        # skpro takes one value per row, and some of its classes do not select a row twice.
        out = np.empty((len(self), x.shape[1]))
        method = getattr(self.dist, name)
        with np.errstate(all="ignore"):
            for j in range(x.shape[1]):
                column = np.broadcast_to(x[:, j : j + 1], (len(self), 1))
                out[:, j] = np.asarray(method(column))[:, 0]
        return out

    def _cdf(self, y: FloatArray) -> FloatArray:
        p = self._ask("cdf", y)
        return np.where(np.isnan(p), y > self._ppf(_HALF), p)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            log = (
                self._ask("log_pdf", y)
                if "log_pdf" in _exact(self.dist)
                else np.log(self._ask("pdf", y))
            )
        return np.where(np.isnan(log), -np.inf, log)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._ask("ppf", q)

    def _moment(self, name: str) -> FloatArray:
        # skpro draws a sample if it has no formula.
        exact = name in _exact(self.dist)
        moment = np.asarray(getattr(self.dist, name)()) if exact else np.nan
        return as_rows(moment, len(self), 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("var")


def _exact(dist: Any) -> list[str]:
    """Return the methods that skpro computes by a formula."""
    return dist.get_tag("capabilities:exact", [], raise_error=False) or []
