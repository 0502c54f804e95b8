"""Distributions of torch, read in float64 on the CPU, without gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri, softmax

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution, Laplace, Mixture, Normal, StudentT
from trueline.interop._external import (
    EXP,
    POWER,
    SIGMOID,
    SOFTPLUS,
    TANH,
    External,
    Map,
    affine,
    as_rows,
    transformed,
)
from trueline.interop._numbers import plain
from trueline.interop._refusals import checked, refuse, refuse_multivariate, refuse_steps, rows_of
from trueline.interop._scipy.incoming import from_family
from trueline.laws import normal_score, solve_increasing

_Parameters = dict[str, FloatArray]

# A normal score beyond that of every probability in float64.
_FAR = 40.0


def from_torch(obj: Any, _kind: str | None = None) -> Distribution:
    """Convert a distribution of torch, or one that inherits from it."""
    library = sys.modules["torch"].distributions
    if not isinstance(obj, library.Distribution):
        refuse(obj)
    name = type(obj).__name__
    event = tuple(obj.event_shape)
    if event and event != (1,) and not isinstance(obj, library.Independent):
        refuse_multivariate(f"torch.{name}", "Normal(dist.mean, dist.stddev)")
    rows_of(tuple(obj.batch_shape) + event, f"torch {name}")
    return _flat(obj)


def _flat(obj: Any) -> Distribution:
    """Convert a batch of any shape to one row per member."""
    library = sys.modules["torch"].distributions
    name = type(obj).__name__
    if isinstance(obj, library.Independent):
        return _flat(obj.base_dist)
    if isinstance(obj, library.MixtureSameFamily):
        return _from_mixture(obj)
    own = getattr(library, name, None) is type(obj)
    if own and name in _FAMILIES:
        return _FAMILIES[name](_parameters(obj))
    if _is_plain_transform(obj, library):
        return _from_transforms(obj)
    if obj.event_shape:
        refuse_multivariate(f"torch.{name}", "Normal(dist.mean, dist.stddev)")
    if _is_discrete(obj):
        refuse_steps(f"torch.{name}", "dist.sample((1000,)).T")
    return _wrapped(obj)


def _is_discrete(obj: Any) -> bool:
    try:
        return bool(getattr(obj.support, "is_discrete", False))
    except NotImplementedError:  # a user's class may lack it
        return False


def _parameters(obj: Any) -> _Parameters:
    """Return the parameters of a torch distribution, in float64, one per row of the batch."""
    names = set(obj.arg_constraints)
    if "probs" in names:
        names.discard("logits")  # the same parameter
    shape = tuple(obj.batch_shape)
    return {
        key: np.broadcast_to(plain(getattr(obj, key)), shape).reshape(-1) for key in sorted(names)
    }


def _wrapped(obj: Any) -> Distribution:
    """Wrap a distribution that has its own formulas."""
    name = type(obj).__name__
    torch = sys.modules["torch"]
    try:
        parameters = {key: torch.tensor(p)[:, None] for key, p in _parameters(obj).items()}
        dist = TorchForecast(type(obj), parameters, int(np.prod(obj.batch_shape)))
        middle = dist._ppf(np.array([[0.5]]))
        dist._cdf(middle)
        dist._logpdf(middle)
    except (RuntimeError, TypeError):  # not implemented, not in float64, or other arguments
        raise TypeError(
            f"obj is a torch {name}; expected a distribution that can be made from its "
            f"arg_constraints in float64 and has cdf and log_prob. Give draws instead: "
            f"Samples(dist.sample((1000,)).T)."
        ) from None
    return checked(dist, f"torch {name}")


# ---- mixtures ------------------------------------------------------------------------


def _from_mixture(obj: Any) -> Distribution:
    # Read the parameter that was given: the other one is rounded twice in single precision.
    choice = obj.mixture_distribution
    if "probs" in vars(choice):
        weights = plain(choice.probs)
    else:
        weights = softmax(plain(choice.logits), axis=-1)
    k = weights.shape[-1]
    every = _flat(obj.component_distribution)
    rows = len(every) // k
    parts = [every._take(np.arange(rows) * k + j) for j in range(k)]
    return Mixture(parts, np.broadcast_to(weights, (*obj.batch_shape, k)).reshape(rows, k))


# ---- functions of a distribution -----------------------------------------------------


def _is_plain_transform(obj: Any, library: Any) -> bool:
    """Whether base and transforms define it, without formulas of its own."""
    base = library.TransformedDistribution
    return isinstance(obj, base) and all(
        getattr(type(obj), method) is getattr(base, method)
        for method in ("cdf", "icdf", "log_prob")
    )


def _from_transforms(obj: Any) -> Distribution:
    dist = _flat(obj.base_dist)
    shape = tuple(obj.batch_shape) + tuple(obj.event_shape)
    for step in _steps(obj.transforms):
        dist = _apply(dist, step, shape)
    return dist


def _steps(transforms: list[Any]) -> list[Any]:
    """Flatten transforms that consist of others."""
    steps = []
    for transform in transforms:
        name = type(transform).__name__
        if name == "ComposeTransform":
            steps += _steps(transform.parts)
        elif name == "IndependentTransform":
            steps += _steps([transform.base_transform])
        else:
            steps.append(transform)
    return steps


def _apply(dist: Distribution, step: Any, shape: tuple[int, ...]) -> Distribution:
    name = type(step).__name__
    inverse = name == "_InverseTransform"
    if inverse:
        step, name = step.inv, type(step.inv).__name__
        if name == "ComposeTransform":  # in reverse order
            for part in reversed(_steps(step.parts)):
                dist = _apply(dist, part.inv, shape)
            return dist
    own = type(step).__module__ == "torch.distributions.transforms"
    if own and name == "AffineTransform":
        loc, scale = (_column(p, shape) for p in (step.loc, step.scale))
        return affine(dist, -loc / scale, 1.0 / scale) if inverse else affine(dist, loc, scale)
    if own and name == "ExpTransform" and not inverse and isinstance(dist, Normal):
        return from_family("lognorm", {"s": dist.scale, "scale": np.exp(dist.loc)})
    if own and name == "PowerTransform":
        power = _column(step.exponent, shape)
        return transformed(dist, POWER, (1.0 / power if inverse else power,), power > 0)
    if not (own and name in _MAPS):
        raise TypeError(
            f"obj is a torch distribution with a {name}; expected transforms of one number that "
            f"rise or fall: Affine, Exp, Power, Sigmoid, Softplus, Tanh and their inverses. "
            f"Give draws instead: Samples(dist.sample((1000,)).T)."
        )
    return transformed(dist, _MAPS[name].inverted() if inverse else _MAPS[name])


def _column(parameter: Any, shape: tuple[int, ...]) -> FloatArray:
    value = np.asarray(plain(parameter), dtype=np.float64)
    return np.broadcast_to(value, shape).reshape(-1, 1)


_MAPS: dict[str, Map] = {
    "ExpTransform": EXP,
    "SigmoidTransform": SIGMOID,
    "SoftplusTransform": SOFTPLUS,
    "TanhTransform": TANH,
}


# ---- families ------------------------------------------------------------------------


def _scipy(family: str, **translate: str | Callable[[_Parameters], FloatArray]) -> Any:
    """Return a family of scipy; a translation is a name of torch or a function of the parameters.

    Without translations the names are the same. scipy also has the upper tails, and quantiles that
    torch lacks.
    """

    def make(p: _Parameters) -> Distribution:
        named = {key: p[of] if isinstance(of, str) else of(p) for key, of in translate.items()}
        return from_family(family, named or p)

    return make


_FAMILIES: dict[str, Callable[[_Parameters], Distribution]] = {
    "Normal": lambda p: Normal(**p),
    "StudentT": lambda p: StudentT(**p),
    "Laplace": lambda p: Laplace(**p),
    "Beta": _scipy("beta", a="concentration1", b="concentration0"),
    "Cauchy": _scipy("cauchy"),
    "Chi2": _scipy("chi2"),
    "Exponential": _scipy("expon", scale=lambda p: 1.0 / p["rate"]),
    "FisherSnedecor": _scipy("f", dfn="df1", dfd="df2"),
    "Gamma": _scipy("gamma", a="concentration", scale=lambda p: 1.0 / p["rate"]),
    "GeneralizedPareto": _scipy("genpareto", c="concentration", loc="loc", scale="scale"),
    "Gumbel": _scipy("gumbel_r"),
    "HalfCauchy": _scipy("halfcauchy"),
    "HalfNormal": _scipy("halfnorm"),
    "InverseGamma": _scipy("invgamma", a="concentration", scale="rate"),
    "LogNormal": _scipy("lognorm", s="scale", scale=lambda p: np.exp(p["loc"])),
    "Pareto": _scipy("pareto", b="alpha", scale="scale"),
    "Uniform": _scipy("uniform", loc="low", scale=lambda p: p["high"] - p["low"]),
    "Weibull": _scipy("weibull_min", c="concentration", scale="scale"),
}


class TorchForecast(External):
    """A family of ``torch.distributions``, with a float64 tensor of shape (n, 1) each."""

    _kind: ClassVar[str] = "from torch"

    # The upper tail is 1 - CDF, which has fewer than seven digits beyond 6.
    _reach: ClassVar[float] = 6.0

    def __init__(
        self, family: Callable[..., Any], parameters: Mapping[str, Any], rows: int
    ) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self._rows = rows
        # A validating distribution raises outside its support, where the density is 0.
        self._frozen = family(**self.parameters, validate_args=False)

    def __len__(self) -> int:
        return self._rows

    def _select(self, rows: Rows) -> External:
        index = np.ascontiguousarray(rows)  # as tensors require
        parameters = {name: p[index] for name, p in self.parameters.items()}
        return TorchForecast(self.family, parameters, len(rows))

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        with sys.modules["torch"].no_grad():
            answer = getattr(self._frozen, name)(_tensor(x))
        return as_rows(answer.numpy(), self._rows, x.shape[1])

    def _inside(self, y: FloatArray) -> FloatArray:
        check = self._frozen.support.check(_tensor(y))
        return as_rows(check.numpy(), self._rows, y.shape[1])

    def _cdf(self, y: FloatArray) -> FloatArray:
        above = y > as_rows(getattr(self._frozen.support, "lower_bound", -np.inf), self._rows, 1)
        return np.where(self._inside(y), self._ask("cdf", y), above)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return np.where(self._inside(y), self._ask("log_prob", y), -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        try:
            return self._ask("icdf", q)
        except NotImplementedError:
            return self._solve(q)

    def _solve(self, q: FloatArray) -> FloatArray:
        """Return quantiles of a distribution without ``icdf``."""
        target = np.broadcast_to(ndtri(q), (self._rows, q.shape[1]))
        rows = np.broadcast_to(np.arange(self._rows)[:, None], target.shape)
        mean, width = self._mean()[:, None], np.sqrt(self._var())[:, None]
        mean, width = np.where(np.isfinite(mean), mean, 0.0), np.where(width > 0, width, 1.0)
        start = np.broadcast_to(mean, target.shape).ravel()
        reach = np.broadcast_to(np.where(np.isfinite(width), width, 1.0), target.shape).ravel()
        root = solve_increasing(
            self._normal_excess, start - reach, start + reach, args=(target.ravel(), rows.ravel())
        )
        return root.reshape(target.shape)

    def _normal_excess(self, y: FloatArray, target: FloatArray, rows: Rows) -> FloatArray:
        part, values = self._select(rows.astype(np.intp)), y[:, None]
        score = normal_score(part._logcdf(values), part._logsf(values))[:, 0]
        return np.clip(score, -_FAR, _FAR) - target  # finite outside the support

    def _moment(self, name: str) -> FloatArray:
        try:
            moment = getattr(self._frozen, name).numpy()
        except NotImplementedError:
            moment = np.nan
        return as_rows(moment, self._rows, 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("variance")


def _tensor(x: FloatArray) -> Any:
    return sys.modules["torch"].tensor(np.ascontiguousarray(x))
