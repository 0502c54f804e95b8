"""Distributions of scipy.stats, frozen ones and objects of its newer infrastructure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from trueline._validation import FloatArray, Rows, as_float
from trueline.distributions import Distribution, Laplace, Logistic, Mixture, Normal, StudentT
from trueline.interop._external import External, affine, as_rows
from trueline.interop._refusals import (
    checked,
    class_name,
    refuse,
    refuse_multivariate,
    refuse_steps,
    rows_of,
)

_Parameters = dict[str, FloatArray]

# Names of the methods in scipy's newer distributions.
_NEW_NAMES = {"ppf": "icdf", "isf": "iccdf", "sf": "ccdf", "logsf": "logccdf", "var": "variance"}


def from_scipy(obj: Any, _kind: str | None = None) -> Distribution:
    """Convert a distribution of scipy.stats."""
    stats = import_module("scipy.stats")
    family = getattr(obj, "dist", None)
    if isinstance(family, stats.rv_continuous):
        return _from_frozen(obj)
    if isinstance(family, stats.rv_discrete):
        refuse_steps(f"scipy.stats.{family.name}", "dist.rvs((1000, n)).T")
    if isinstance(obj, stats.rv_continuous | stats.rv_discrete):
        raise TypeError(
            f"obj is the family scipy.stats.{obj.name}, without parameters; expected a frozen "
            f"distribution. Call it with its parameters, such as norm(loc, scale)."
        )
    bases = {cls.__name__ for cls in type(obj).__mro__}
    if "DiscreteDistribution" in bases:
        refuse_steps(f"scipy.stats.{type(obj).__name__}", "dist.sample(1000).T")
    if "ContinuousDistribution" in bases:
        return _from_object(obj)
    if bases & {"Mixture"} and hasattr(obj, "components"):
        return Mixture([from_scipy(part) for part in obj.components], obj.weights)
    if type(obj).__name__.startswith("multivariate_"):
        refuse_multivariate(class_name(obj), "Normal(dist.mean, dist.cov.diagonal() ** 0.5)")
    return refuse(obj)


# ---- frozen --------------------------------------------------------------------------


def _from_frozen(obj: Any) -> Distribution:
    family = obj.dist
    shapes = family.shapes.split(", ") if family.shapes else []
    given = dict(zip([*shapes, "loc", "scale"], obj.args, strict=False)) | obj.kwds
    parameters = {
        key: as_float(value, key) for key, value in ({"loc": 0.0, "scale": 1.0} | given).items()
    }
    shape = np.broadcast_shapes(*(p.shape for p in parameters.values()))
    rows = rows_of(shape, family.name)
    flat = {key: np.broadcast_to(p, shape).reshape(rows) for key, p in parameters.items()}
    return from_family(family, flat)


def from_family(family: Any, parameters: _Parameters) -> Distribution:
    """Return n rows of a scipy family, or of the family of that name, from parameters (n,)."""
    stats = import_module("scipy.stats")
    family = getattr(stats, family) if isinstance(family, str) else family
    for name, native in _NATIVE.items():
        if type(family) is type(getattr(stats, name)):
            return native(**parameters)
    rows = max(len(p) for p in parameters.values())
    columns = {"loc": np.zeros((rows, 1)), "scale": np.ones((rows, 1))}
    columns |= {key: p[:, None] for key, p in parameters.items()}
    return checked(ScipyForecast(family, columns, rows, {}), family.name)


_NATIVE: dict[str, Callable[..., Distribution]] = {
    "norm": Normal,
    "t": StudentT,
    "cauchy": partial(StudentT, df=1.0),
    "laplace": Laplace,
    "logistic": Logistic,
}


# ---- objects -------------------------------------------------------------------------


def _from_object(obj: Any) -> Distribution:
    """Convert a distribution of scipy's newer infrastructure."""
    stats = import_module("scipy.stats")
    name = type(obj).__name__
    # scipy has no public list of the names of parameters.
    given = vars(obj).get("_original_parameters", {})
    shape = np.broadcast_shapes(*(np.shape(p) for p in given.values()))
    rows = rows_of(shape, name)
    if isinstance(obj, stats.Normal):
        return Normal(np.ravel(obj.mu), np.ravel(obj.sigma))
    try:
        parameters = {
            key: np.broadcast_to(as_float(p, key), shape).reshape(rows, 1)
            for key, p in given.items()
        }
        if name == "ShiftedScaledDistribution":
            inner = _from_object(obj._dist)
            if inner._affine_score:
                stretched = inner._take(np.zeros(rows, np.intp)) if len(inner) < rows else inner
                loc = parameters.get("loc", np.zeros((rows, 1)))
                return affine(stretched, loc, parameters.get("scale", np.ones((rows, 1))))
        dist = ScipyForecast(_Rebuild(obj), parameters, rows, _NEW_NAMES)
    except (AttributeError, TypeError):
        raise TypeError(
            f"obj is a scipy.stats.{name}, whose rows cannot be taken apart; expected a "
            f"distribution that its own parameters make. Give draws instead: "
            f"Samples(dist.sample(1000).T)."
        ) from None
    return checked(dist, name)


class _Rebuild:
    """Makes a distribution like the one given, with other parameters.

    A function of a distribution, such as ``stats.exp(X)``, has its own parameters and those of X.
    """

    #: Attributes of a function of a distribution that are not parameters.
    _FUNCTIONS = ("g", "h", "dh", "logdh", "increasing")

    def __init__(self, obj: Any) -> None:
        self._type = type(obj)
        self._inner: _Rebuild | None = None
        self._own: list[str] = []
        self._functions: dict[str, Any] = {}
        if "TransformedDistribution" not in {cls.__name__ for cls in type(obj).__mro__}:
            return
        inner = obj._dist
        self._inner = _Rebuild(inner)
        self._own = [
            key for key in obj._original_parameters if key not in inner._original_parameters
        ]
        if type(obj).__name__ == "MonotonicTransformedDistribution":
            self._functions = {key: getattr(obj, f"_{key}") for key in self._FUNCTIONS}

    def __call__(self, **parameters: FloatArray) -> Any:
        if self._inner is None:
            return self._type(**parameters)
        own = {key: parameters.pop(key) for key in self._own}
        return self._type(self._inner(**parameters), **own, **self._functions)


class ScipyForecast(External):
    """A family of ``scipy.stats`` with parameters of shape (n, 1)."""

    _kind: ClassVar[str] = "from scipy"

    def __init__(
        self,
        family: Callable[..., Any],
        parameters: Mapping[str, FloatArray],
        rows: int,
        names: Mapping[str, str],
    ) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self._rows = rows
        self._names = names
        self._frozen = family(**self.parameters)

    def __len__(self) -> int:
        return self._rows

    def _select(self, rows: Rows) -> External:
        parameters = {name: p[rows] for name, p in self.parameters.items()}
        return ScipyForecast(self.family, parameters, len(rows), self._names)

    def _ask(self, name: str, *x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            answer = getattr(self._frozen, self._names.get(name, name))(*x)
        return as_rows(answer, self._rows, x[0].shape[1] if x else 1)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._ask("cdf", y)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._ask("sf", y)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._ask("logcdf", y)

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._ask("logsf", y)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._ask("logpdf", y)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._ask("ppf", q)

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._ask("isf", q)

    def _mean(self) -> FloatArray:
        return self._ask("mean")[:, 0]

    def _var(self) -> FloatArray:
        return self._ask("var")[:, 0]
