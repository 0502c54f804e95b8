"""Taking forecasts in from wherever they were made.

No optional library is imported here. An object of one can only come from a program that
has imported it, so its package is read off its class and found in ``sys.modules``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, as_float, vector
from trueline.distributions._abstract import Distribution
from trueline.distributions._external import (
    NEW_NAMES,
    External,
    ScipyForecast,
    SkproForecast,
    TorchForecast,
    skpro_exact,
)
from trueline.distributions._location_scale import Laplace, Logistic, Normal, Point, StudentT
from trueline.distributions._mixture import Mixture
from trueline.distributions._quantiles import Quantiles
from trueline.distributions._samples import Samples


def as_distribution(obj: Any) -> Distribution:
    """Convert a forecast of another library, or plain numbers, to a distribution.

    ======================================  ==============================================
    what                                    becomes
    ======================================  ==============================================
    a distribution of trueline              itself
    a tuple (loc, scale)                    `Normal`; any other tuple is refused
    numbers, one a row: list, array,        `Point`
    Series, tensor
    a dict {level: values}, or a            `Quantiles`
    DataFrame whose columns are levels
    ``scipy.stats``, frozen                 `Normal`, `StudentT`, `Laplace`, `Logistic`,
                                            or a wrapper of any continuous family
    ``torch.distributions``                 the same, and `Mixture`; without gradients
    ``skpro.distributions``, one column     the same, `Mixture`, and `Samples`
    NGBoost's ``pred_dist(X)``              what its scipy distribution becomes
    ======================================  ==============================================

    A wrapper answers with the library's own formulas. Its score is the normal score of the
    CDF between -8 and 8 (-6 and 6 for torch and skpro) and linear in y beyond, so that an
    outcome which the forecast held to be impossible, such as one below 0 under a gamma
    forecast, has a finite score.

    Parameters
    ----------
    obj : object
        Of shape (), (n,) or (n, 1): one distribution a row.

    Returns
    -------
    Distribution

    Raises
    ------
    TypeError
        If the object is of another kind, or discrete, or multivariate. A 2-D array is
        refused too: it may hold draws or quantiles.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.as_distribution(([1.0, 2.0], 0.5))
    Normal(2 rows)
    >>> from scipy.stats import gamma
    >>> F = tl.as_distribution(gamma(a=[2.0, 3.0]))
    >>> F.ppf(0.9).round(3)
    array([3.89 , 5.322])
    >>> F.score(-0.1).round(2)
    array([-8.08, -8.06])
    """
    if isinstance(obj, Distribution):
        return obj
    for cls in type(obj).__mro__:
        for package, convert in _CONVERTERS.items():
            if f"{cls.__module__}.".startswith(f"{package}."):
                return convert(obj)
    if isinstance(obj, tuple):
        return _from_tuple(obj)
    if isinstance(obj, Mapping):
        return _from_levels(obj.keys(), [vector(_plain(v), "obj") for v in obj.values()])
    return _from_numbers(obj)


# ---- plain numbers -------------------------------------------------------------------


def _plain(x: Any) -> Any:
    """Free a tensor of its gradient and device; leave the rest."""
    if isinstance(x, Distribution):
        _refuse(x, "inside another object")
    return x.detach().cpu().double().numpy() if hasattr(x, "detach") else x


def _from_tuple(obj: tuple[Any, ...]) -> Distribution:
    if len(obj) != 2:
        raise TypeError(
            f"obj is a tuple of length {len(obj)}; expected (loc, scale). For point forecasts "
            f"pass a list or an array; for others build the distribution yourself."
        )
    return Normal(_plain(obj[0]), _plain(obj[1]))


def _from_levels(levels: Iterable[Any], columns: list[FloatArray]) -> Distribution:
    keys = list(levels)
    odd = [key for key in keys if not isinstance(key, Real) or isinstance(key, bool)]
    if odd or not keys:
        found = f"the key {odd[0]!r}" if odd else "no keys"
        raise TypeError(
            f"obj is a dict with {found}; expected levels as keys, such as "
            f"{{0.1: values, 0.5: values, 0.9: values}}. Build other forecasts yourself: "
            f"Normal(loc, scale) or Samples(draws)."
        )
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(
            f"obj holds columns of {sorted(lengths)} rows; expected the same number at each level."
        )
    order = sorted(range(len(keys)), key=lambda i: float(keys[i]))
    values = np.stack([columns[i] for i in order], axis=1)
    return Quantiles([float(keys[i]) for i in order], values)


def _from_numbers(obj: Any) -> Distribution:
    if not (isinstance(obj, list | Real) or hasattr(obj, "__array__")):
        _refuse(obj)
    if isinstance(obj, list) and any(isinstance(item, Distribution) for item in obj):
        raise TypeError(
            "obj is a list of distributions; expected one. Use Mixture(obj) for their mixture, "
            "row by row."
        )
    a = as_float(_plain(obj), "obj")
    if a.ndim > 1:
        raise TypeError(
            f"obj has shape {a.shape}; expected one number a row, shape (n,), because a table "
            f"may hold draws or quantiles. Say which: Samples(draws) or "
            f"Quantiles(levels, values); or Point(obj.ravel()) for point forecasts."
        )
    return Point(a)


def _from_pandas(obj: Any) -> Distribution:
    if np.ndim(obj) != 2:
        return _from_numbers(obj)
    names = list(obj.columns)
    if not names or not all(isinstance(name, Real) and 0 < float(name) < 1 for name in names):
        raise TypeError(
            f"obj is a DataFrame with columns {_shown(names)}; expected levels between 0 and 1 as "
            f"columns, because a table may hold draws or quantiles. Say which: Samples(obj) or "
            f"Quantiles(levels, obj)."
        )
    values = as_float(obj, "obj")
    return _from_levels(names, list(values.T))


def _shown(names: list[Any]) -> str:
    return f"{names!r}" if len(names) < 4 else f"[{names[0]!r}, {names[1]!r}, ..., {names[-1]!r}]"


# ---- errors --------------------------------------------------------------------------


def _name(obj: Any) -> str:
    return f"{type(obj).__module__.split('.')[0]}.{type(obj).__name__}"


def _refuse(obj: Any, why: str = "") -> NoReturn:
    raise TypeError(
        f"cannot make a distribution of a {_name(obj)}{why and ' '}{why}; expected a distribution "
        f"of trueline, {', '.join(p for p in _CONVERTERS if p != 'pandas')}, a tuple (loc, scale), "
        f"one number a row, or quantiles in a dict or DataFrame with levels as keys. "
        f"Otherwise build it yourself: Normal(loc, scale), Samples(draws) or "
        f"Quantiles(levels, values)."
    )


def _refuse_steps(name: str, draws: str, kind: str = "discrete") -> NoReturn:
    raise TypeError(
        f"obj is a {kind} distribution ({name}); expected a continuous one, because steps have "
        f"no useful score. Give draws instead: Samples({draws})."
    )


def _refuse_multivariate(name: str, margins: str) -> NoReturn:
    raise TypeError(
        f"obj is a multivariate distribution ({name}); expected one number a row. "
        f"Give its margins: {margins}."
    )


def _rows(shape: tuple[int, ...], name: str) -> int:
    """Number of rows of a batch of this shape."""
    if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
        raise ValueError(
            f"the {name} distribution has shape {tuple(shape)}; expected one distribution a row, "
            f"shape (), (n,) or (n, 1). Convert one column at a time."
        )
    if 0 in shape:
        raise ValueError(f"the {name} distribution is empty; expected at least one row.")
    return shape[0] if shape else 1


def _checked(dist: External, name: str) -> Distribution:
    """Return it if its parameters make sense in every row: the library says NaN or raises."""
    bad = np.flatnonzero(~np.isfinite(dist._ppf(np.array([[0.5]]))[:, 0]))
    if len(bad):
        raise ValueError(
            f"row {bad[0]} of the {name} distribution has no finite median ({len(bad)} of "
            f"{len(dist)} have none); expected parameters within their domain. "
            f"Mend or drop those rows."
        )
    return dist


# ---- scipy ---------------------------------------------------------------------------


def _from_scipy(obj: Any) -> Distribution:
    stats = sys.modules["scipy.stats"]
    family = getattr(obj, "dist", None)
    if isinstance(family, stats.rv_continuous):
        return _from_frozen(obj)
    if isinstance(family, stats.rv_discrete):
        _refuse_steps(f"scipy.stats.{family.name}", "dist.rvs((1000, n)).T")
    if isinstance(obj, stats.rv_continuous | stats.rv_discrete):
        raise TypeError(
            f"obj is the family scipy.stats.{obj.name}, without parameters; expected a frozen "
            f"distribution. Call it with its parameters, such as norm(loc, scale)."
        )
    bases = {cls.__name__ for cls in type(obj).__mro__}
    if "DiscreteDistribution" in bases:
        _refuse_steps(f"scipy.stats.{type(obj).__name__}", "dist.sample(1000).T")
    if "ContinuousDistribution" in bases:
        return _from_scipy_object(obj)
    if type(obj).__name__.startswith("multivariate_"):
        _refuse_multivariate(_name(obj), "Normal(dist.mean, dist.cov.diagonal() ** 0.5)")
    return _refuse(obj)


def _from_frozen(obj: Any) -> Distribution:
    family = obj.dist
    shapes = family.shapes.split(", ") if family.shapes else []
    given = dict(zip([*shapes, "loc", "scale"], obj.args, strict=False)) | obj.kwds
    parameters = {
        key: as_float(value, key) for key, value in ({"loc": 0.0, "scale": 1.0} | given).items()
    }
    shape = np.broadcast_shapes(*(p.shape for p in parameters.values()))
    rows = _rows(shape, family.name)
    flat = {key: np.broadcast_to(p, shape).reshape(rows) for key, p in parameters.items()}
    return _from_family(family, flat)


def _from_family(family: Any, parameters: dict[str, FloatArray]) -> Distribution:
    """Make n rows of a scipy family from parameters of shape (n,)."""
    stats = sys.modules["scipy.stats"]
    for name, native in _SCIPY_NATIVE.items():
        if type(family) is type(getattr(stats, name)):
            return native(**parameters)
    columns = {key: p[:, None] for key, p in parameters.items()}
    rows = len(parameters["loc"])
    return _checked(ScipyForecast(family, columns, rows, {}), family.name)


def _from_scipy_object(obj: Any) -> Distribution:
    """Convert a distribution of scipy's newer infrastructure."""
    stats = sys.modules["scipy.stats"]
    name = type(obj).__name__
    shape = np.shape(obj.median())
    rows = _rows(shape, name)
    if isinstance(obj, stats.Normal):
        return Normal(np.ravel(obj.mu), np.ravel(obj.sigma))
    # scipy shows the parameters by name, but has no public list of the names.
    given = vars(obj).get("_original_parameters", {})
    try:
        parameters = {
            key: np.broadcast_to(as_float(p, key), shape).reshape(rows, 1)
            for key, p in given.items()
        }
        dist = ScipyForecast(type(obj), parameters, rows, NEW_NAMES)
    except TypeError:
        raise TypeError(
            f"obj is a scipy.stats.{name}, whose rows cannot be taken apart; expected a "
            f"distribution that its own parameters make. Give draws instead: "
            f"Samples(dist.sample(1000).T)."
        ) from None
    return _checked(dist, name)


def _cauchy(loc: FloatArray, scale: FloatArray) -> Distribution:
    return StudentT(loc, scale, 1.0)


_SCIPY_NATIVE: dict[str, Callable[..., Distribution]] = {
    "norm": Normal,
    "t": StudentT,
    "cauchy": _cauchy,
    "laplace": Laplace,
    "logistic": Logistic,
}


# ---- torch ---------------------------------------------------------------------------


def _from_torch(obj: Any) -> Distribution:
    library = sys.modules["torch"].distributions
    if not isinstance(obj, library.Distribution):
        _refuse(obj)
    name = type(obj).__name__
    if isinstance(obj, library.Independent):
        return _from_torch(obj.base_dist)
    if isinstance(obj, library.MixtureSameFamily):
        weights = _plain(obj.mixture_distribution.probs)
        parts = [
            _from_torch(_component(obj.component_distribution, (..., j)))
            for j in range(weights.shape[-1])
        ]
        return Mixture(parts, weights.reshape(-1, weights.shape[-1]))
    if obj.event_shape:
        _refuse_multivariate(f"torch.{name}", "Normal(dist.mean, dist.stddev)")
    if obj.support is not None and obj.support.is_discrete:
        _refuse_steps(f"torch.{name}", "dist.sample((1000,)).T")
    rows = _rows(tuple(obj.batch_shape), f"torch {name}")
    tensors = {key: p.reshape(rows, 1) for key, p in _tensors(obj).items()}
    if getattr(library, name, None) is type(obj):
        flat = {key: p.numpy()[:, 0] for key, p in tensors.items()}
        if name in _TORCH_NATIVE:
            return _TORCH_NATIVE[name](**flat)
        if name in _TORCH_TO_SCIPY:
            family, translate = _TORCH_TO_SCIPY[name]
            parameters = {"loc": np.zeros(rows), "scale": np.ones(rows)} | translate(flat)
            return _from_family(getattr(import_module("scipy.stats"), family), parameters)
    try:
        dist = TorchForecast(type(obj), tensors, rows)
        middle = dist._ppf(np.array([[0.5]]))
        dist._cdf(middle)
        dist._logpdf(middle)
    except (RuntimeError, TypeError):  # not implemented, not in float64, or other arguments
        raise TypeError(
            f"obj is a torch {name}; expected a distribution that can be made from its "
            f"arg_constraints in float64 and has cdf, icdf and log_prob. Give draws instead: "
            f"Samples(dist.sample((1000,)).T)."
        ) from None
    return _checked(dist, f"torch {name}")


def _tensors(obj: Any) -> dict[str, Any]:
    """Parameters of a torch distribution: float64, on the CPU, in the shape of the batch."""
    names = set(obj.arg_constraints)
    if "probs" in names:
        names.discard("logits")  # the same parameter in other words
    return {
        key: getattr(obj, key).detach().cpu().double().expand(obj.batch_shape)
        for key in sorted(names)
    }


def _component(obj: Any, index: tuple[Any, ...]) -> Any:
    """Take one component of the components of a mixture, which are its last batch axis."""
    if isinstance(obj, sys.modules["torch"].distributions.Independent):
        inner = index + (slice(None),) * obj.reinterpreted_batch_ndims
        return type(obj)(_component(obj.base_dist, inner), obj.reinterpreted_batch_ndims)
    parameters = {key: p[index] for key, p in _tensors(obj).items()}
    return type(obj)(**parameters, validate_args=False)


_TORCH_NATIVE: dict[str, Callable[..., Distribution]] = {
    "Normal": Normal,
    "StudentT": StudentT,
    "Laplace": Laplace,
}

# scipy has the upper tail of these too, and quantiles that torch lacks for some.
_Parameters = dict[str, FloatArray]
_TORCH_TO_SCIPY: dict[str, tuple[str, Callable[[_Parameters], _Parameters]]] = {
    "Beta": ("beta", lambda p: {"a": p["concentration1"], "b": p["concentration0"]}),
    "Cauchy": ("cauchy", lambda p: p),
    "Chi2": ("chi2", lambda p: p),
    "Exponential": ("expon", lambda p: {"scale": 1.0 / p["rate"]}),
    "FisherSnedecor": ("f", lambda p: {"dfn": p["df1"], "dfd": p["df2"]}),
    "Gamma": ("gamma", lambda p: {"a": p["concentration"], "scale": 1.0 / p["rate"]}),
    "GeneralizedPareto": (
        "genpareto",
        lambda p: {"c": p["concentration"], "loc": p["loc"], "scale": p["scale"]},
    ),
    "Gumbel": ("gumbel_r", lambda p: p),
    "HalfCauchy": ("halfcauchy", lambda p: p),
    "HalfNormal": ("halfnorm", lambda p: p),
    "InverseGamma": ("invgamma", lambda p: {"a": p["concentration"], "scale": p["rate"]}),
    "LogNormal": ("lognorm", lambda p: {"s": p["scale"], "scale": np.exp(p["loc"])}),
    "Pareto": ("pareto", lambda p: {"b": p["alpha"], "scale": p["scale"]}),
    "Uniform": ("uniform", lambda p: {"loc": p["low"], "scale": p["high"] - p["low"]}),
    "Weibull": ("weibull_min", lambda p: {"c": p["concentration"], "scale": p["scale"]}),
}


# ---- skpro ---------------------------------------------------------------------------


def _from_skpro(obj: Any) -> Distribution:
    name = type(obj).__name__
    if not hasattr(obj, "get_tag"):
        _refuse(obj)
    rows = _rows(tuple(obj.shape), f"skpro {name}")
    own = type(obj).__module__.startswith("skpro.distributions.")
    if own and name in _SKPRO_NATIVE:
        native, translation = _SKPRO_NATIVE[name]
        columns = {
            ours: np.broadcast_to(as_float(getattr(obj, theirs), theirs), (rows, 1))[:, 0]
            for ours, theirs in translation.items()
        }
        return native(**columns)
    if own and name == "Mixture":
        parts = [part[1] if isinstance(part, tuple) else part for part in obj.distributions]
        return Mixture([_from_skpro(part) for part in parts], obj.weights)
    if own and name == "Empirical" and obj.weights is None:
        return Samples(_empirical_draws(obj))
    draws = "dist.sample(1000).to_numpy().reshape(1000, -1).T"
    kind = obj.get_tag("distr:measuretype")
    if kind != "continuous":
        _refuse_steps(f"skpro.{name}", draws, kind)
    missing = [what for what in ("cdf", "ppf", "pdf") if what not in skpro_exact(obj)]
    if missing:
        raise TypeError(
            f"obj is a skpro {name}, whose {' and '.join(missing)} skpro approximates; expected a "
            f"distribution with exact ones. Give draws instead: Samples({draws})."
        )
    table = obj if obj.shape else _one_row(obj, draws)
    return _checked(SkproForecast(table), f"skpro {name}")


def _one_row(obj: Any, draws: str) -> Any:
    """Make a scalar distribution of skpro a table of one row and column."""
    given = obj.get_params(deep=False) | {"index": [0], "columns": [0]}
    table = type(obj)(**given)
    try:
        table.ppf(np.array([[0.5]]))
    except ValueError:  # it holds another distribution, which is a scalar still
        raise TypeError(
            f"obj is a scalar skpro {type(obj).__name__}, which cannot be made a table; expected "
            f"one row and one column. Give draws instead: Samples({draws})."
        ) from None
    return table


def _exponential(rate: FloatArray) -> Distribution:
    stats = sys.modules["scipy.stats"]
    return _from_family(stats.expon, {"loc": np.zeros_like(rate), "scale": 1.0 / rate})


def _empirical_draws(obj: Any) -> NDArray[Any]:
    if not obj.shape:
        return np.reshape(obj.spl, (1, -1))
    by_row = obj.spl.iloc[:, 0].unstack(0).loc[obj.index]
    return np.asarray(by_row)


_SKPRO_NATIVE: dict[str, tuple[Callable[..., Distribution], dict[str, str]]] = {
    "Normal": (Normal, {"loc": "mu", "scale": "sigma"}),
    "TDistribution": (StudentT, {"loc": "mu", "scale": "sigma", "df": "df"}),
    "Laplace": (Laplace, {"loc": "mu", "scale": "scale"}),
    "Logistic": (Logistic, {"loc": "mu", "scale": "scale"}),
    "Cauchy": (_cauchy, {"loc": "mu", "scale": "scale"}),
    "Exponential": (_exponential, {"rate": "rate"}),  # skpro bisects for its quantiles
}


# ---- ngboost -------------------------------------------------------------------------


def _from_ngboost(obj: Any) -> Distribution:
    if not hasattr(obj, "dist"):
        _refuse(obj)
    return _from_scipy(obj.dist)


#: Packages whose objects are converted; a class belongs to one if it or a parent does.
_CONVERTERS: dict[str, Callable[[Any], Distribution]] = {
    "ngboost.distns": _from_ngboost,
    "scipy.stats": _from_scipy,
    "skpro.distributions": _from_skpro,
    "torch.distributions": _from_torch,
    "pandas": _from_pandas,
}
