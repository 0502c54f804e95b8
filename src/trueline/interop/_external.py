"""Forecasts whose formulas belong to another library, and monotone functions of forecasts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, ndtr

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution, RecalibratedScores, ThroughLaw
from trueline.laws import LOG_SQRT_2PI, NormalLaw, ScoreLaw, normal_score

_SIGMA = np.array([[float(ndtr(-1.0))]])
_HALF = np.array([[0.5]])

# The CRPS is integrated over the score by Gauss-Legendre: edges of the panels, nodes and weights
# of one panel, and the number of elements that are computed at a time.
_EDGES = np.linspace(-8.0, 8.0, 33)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_PANELS = (len(_EDGES) - 1, len(_NODES))
_BLOCK = 1 << 19
# Share of a moment that may lie in the outermost panel. With more, the part beyond is unknown and
# may be infinite.
_OUTSIDE = 1e-6


class _Ends(NamedTuple):
    """Values at the ends of the normal score, and the rise of y per unit beyond; (n, 1)."""

    low: FloatArray
    high: FloatArray
    rise_low: FloatArray
    rise_high: FloatArray


def _between(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes from a to b, and their weights under the normal density; (n, nodes) each."""
    half = 0.5 * (b - a)[..., None]
    s = 0.5 * (a + b)[..., None] + half * _NODES
    weight = half * _WEIGHTS * np.exp(-0.5 * s * s - LOG_SQRT_2PI)
    return s.reshape(len(a), -1), weight.reshape(len(a), -1)


def _running(a: FloatArray) -> FloatArray:
    """Sums below each edge, from the sums over each panel, along the last axis."""
    return np.concatenate([np.zeros_like(a[..., :1]), np.cumsum(a, axis=-1)], axis=-1)


class External(Distribution):
    """A continuous forecast of another library, through its CDF, quantiles and density.

    These are the library's own, as are mean and variance, which are NaN if it has none. The score
    is the normal score of the CDF up to 8 on each side, or up to 6 if the library has no survival
    function. Beyond, the CDF runs out of digits or, at the end of a bounded support, of
    probability, so that the score is linear in y. Its unit is then that of the chord from the
    median to the end, but at least half the width of the central 68%: the first suits heavy
    tails, the second bounded ones, and for a normal forecast both are its standard deviation.
    So the score is finite and increasing for all y, a map can be fitted to outcomes outside the
    support, and its forecasts reach as far as they do.
    """

    #: Normal score from which the score is linear in y. Beyond 8 lie 6e-16 of the mass.
    _reach: ClassVar[float] = 8.0

    @abstractmethod
    def _select(self, rows: Rows) -> External:
        """Return the rows at these indices."""

    def _take(self, rows: Rows) -> External:
        taken = self._select(rows)
        if "_ends" in vars(self):
            vars(taken)["_ends"] = _Ends(*(end[rows] for end in self._ends))
        return taken

    @cached_property
    def _ends(self) -> _Ends:
        tail = np.array([[float(ndtr(-self._reach))]])
        low, middle, high = self._ppf(tail), self._ppf(_HALF), self._isf(tail)
        left, right = self._ppf(_SIGMA), self._isf(_SIGMA)
        chord = np.concatenate([middle - low, high - middle], axis=1) / self._reach
        rise = np.maximum(np.where(np.isfinite(chord), chord, 0.0), 0.5 * (right - left))
        # In a row without spread the rise is just large enough to keep scores finite.
        rise = np.where(rise > 0, rise, 1e-9 * np.where(middle == 0, 1.0, np.abs(middle)))
        return _Ends(low, high, rise[:, :1], rise[:, 1:])

    def _score(self, y: FloatArray) -> FloatArray:
        low, high, rise_low, rise_high = self._ends
        reach = self._reach
        inside = np.clip(y, low, high)
        s = normal_score(self._logcdf(inside), self._logsf(inside))
        s = np.clip(s, -reach, reach)
        with np.errstate(over="ignore", invalid="ignore"):
            s = np.where(y <= low, (y - low) / rise_low - reach, s)
            s = np.where(y >= high, (y - high) / rise_high + reach, s)
        # An infinite y at an infinite end.
        return np.where(np.isnan(s), np.copysign(np.inf, y), s)

    def _unscore(self, s: FloatArray) -> FloatArray:
        low, high, rise_low, rise_high = self._ends
        reach = self._reach
        if s.shape[0] == 1:
            y = np.empty((len(self), s.shape[1]))
            upper = s[0] > 0
            for side, columns in ((self._below, ~upper), (self._above, upper)):
                if columns.any():
                    y[:, columns] = side(s[:, columns])
        else:
            y = np.where(s > 0, self._above(s), self._below(s))
        y = np.clip(y, low, high)
        y = np.where(s < -reach, low + rise_low * (s + reach), y)
        return np.where(s > reach, high + rise_high * (s - reach), y)

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._ppf(1.0 - q)

    def _below(self, s: FloatArray) -> FloatArray:
        """Value at a score of at most 0."""
        return self._ppf(ndtr(np.clip(s, -self._reach, 0.0)))

    def _above(self, s: FloatArray) -> FloatArray:
        """Value at a score of at least 0."""
        return self._isf(ndtr(-np.clip(s, 0.0, self._reach)))

    def _grid(self, z: FloatArray) -> FloatArray:
        return self._unscore(z[None, :])

    def _crps(self, y: FloatArray) -> FloatArray:
        """Integrate the pinball loss over all levels.

        With T the inverse of the score, CRPS(F, y) is twice the integral of |T(s) - y| times
        the density of s and the probability beyond s, seen from y. No term is negative, so that
        heavy tails lose no digits; the error is below 1e-6 where the density is smooth.
        """
        n, k = len(self), y.shape[1]
        out = np.empty((n, k))
        size = max(1, _BLOCK // (len(_EDGES) * len(_NODES)))
        for start in range(0, n, size):
            rows = np.arange(start, min(start + size, n))
            values = y if y.shape[0] == 1 else y[rows]
            out[rows] = self._take(rows)._pinball(np.broadcast_to(values, (len(rows), k)))
        return out

    def _pinball(self, y: FloatArray) -> FloatArray:
        s, ds = _between(_EDGES[None, :-1], _EDGES[None, 1:])
        centre = self._ppf(_HALF)
        offset = (self._unscore(s) - centre).reshape(len(self), *_PANELS)
        # Weights of the levels, for values below y and above it, and the offsets under them.
        weights = [(ds * ndtr(side * s)).reshape(_PANELS) for side in (1.0, -1.0)]
        mass = [_running(w.sum(axis=1)) for w in weights]
        moment = [_running(np.einsum("npk,pk->np", offset, w)) for w in weights]
        at = np.clip(self._score(y), _EDGES[0], _EDGES[-1])
        panel = np.clip(np.searchsorted(_EDGES, at, side="right") - 1, 0, _PANELS[0] - 1)
        out = np.empty(y.shape)
        for j in range(y.shape[1]):
            value, i, here = y[:, [j]], panel[:, [j]], at[:, [j]]
            d = value - centre
            # Whole panels below the one that holds y, whole panels above it, and its halves.
            loss = d * mass[0][i] - np.take_along_axis(moment[0], i, axis=1)
            loss -= d * (mass[1][-1] - mass[1][i + 1])
            loss += moment[1][:, -1:] - np.take_along_axis(moment[1], i + 1, axis=1)
            for a, b, side in ((_EDGES[i], here, 1.0), (here, _EDGES[i + 1], -1.0)):
                s, ds = _between(a, b)
                half = ds * ndtr(side * s) * side * (value - self._unscore(s))
                loss += half.sum(axis=1, keepdims=True)
            out[:, j] = 2.0 * loss[:, 0]
        return out

    def _integrate(self, f: Callable[[FloatArray, Rows], FloatArray]) -> FloatArray:
        """Return the expectation of f(y, rows) by the same panels; NaN if the outermost count."""
        out = np.empty(len(self))
        size = max(1, _BLOCK // (len(_EDGES) * len(_NODES)))
        s, ds = _between(_EDGES[None, :-1], _EDGES[None, 1:])
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            with np.errstate(all="ignore"):
                terms = f(self._take(rows)._unscore(s), rows) * ds
                share = np.abs(terms).reshape(len(rows), *_PANELS).sum(axis=2)
                outer = np.maximum(share[:, 0], share[:, -1])
                settled = outer <= _OUTSIDE * share.sum(axis=1)
            out[rows] = np.where(settled, terms.sum(axis=1), np.nan)
        return out

    def _continuous(self) -> Distribution:
        return Continued(self)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return RecalibratedScores(Continued(self), law)


class Continued(ThroughLaw):
    """The distribution whose score is that of an `External` forecast and standard normal.

    It is that forecast except for a mass of 6e-16 (1e-9) on each side, which has a normal tail.
    Its density is therefore never zero, and a map of the score can move it to any outcome.
    """

    law = NormalLaw()

    def __init__(self, base: External) -> None:
        self.base = base
        self._ends = base._ends

    def __len__(self) -> int:
        return len(self.base)

    def _take(self, rows: Rows) -> Distribution:
        return Continued(self.base._take(rows))

    def _score(self, y: FloatArray) -> FloatArray:
        return self.base._score(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.base._unscore(s)

    def _grid(self, z: FloatArray) -> FloatArray:
        return self.base._grid(z)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        low, high, rise_low, rise_high = self._ends
        s = self._score(y)
        tail = -0.5 * s * s - LOG_SQRT_2PI
        density = self.base._logpdf(np.clip(y, low, high))
        density = np.where(y <= low, tail - np.log(rise_low), density)
        return np.where(y >= high, tail - np.log(rise_high), density)


def as_rows(answer: Any, n: int, k: int) -> FloatArray:
    """Return an answer of another library as a float64 array of shape (n, k)."""
    a = np.asarray(answer, dtype=np.float64)
    return a if a.shape == (n, k) else np.broadcast_to(a, (n, k)).copy()


# ---- functions of a forecast ---------------------------------------------------------


@dataclass(frozen=True)
class Map:
    """A monotone function, its inverse, the log of its slope, its domain and its image.

    The three functions take the rows' parameters, (n, 1) each, after their first argument.
    """

    forward: Callable[..., FloatArray]
    inverse: Callable[..., FloatArray]
    log_slope: Callable[..., FloatArray]
    domain: tuple[float, float] = (-np.inf, np.inf)
    image: tuple[float, float] = (-np.inf, np.inf)

    def inverted(self) -> Map:
        """Return the inverse."""
        return Map(
            self.inverse,
            self.forward,
            lambda y, *p: -self.log_slope(self.inverse(y, *p), *p),
            self.image,
            self.domain,
        )


AFFINE = Map(
    lambda x, loc, scale: loc + scale * x,
    lambda y, loc, scale: (y - loc) / scale,
    lambda x, _, scale: np.log(np.abs(scale)) + np.zeros_like(x),
)
EXP = Map(np.exp, np.log, lambda x: x, image=(0.0, np.inf))
POWER = Map(
    lambda x, power: x**power,
    lambda y, power: y ** (1.0 / power),
    lambda x, power: np.log(np.abs(power)) + (power - 1.0) * np.log(x),
    (0.0, np.inf),
    (0.0, np.inf),
)
SIGMOID = Map(expit, logit, lambda x: log_expit(x) + log_expit(-x), image=(0.0, 1.0))
TANH = Map(
    np.tanh,
    np.arctanh,
    lambda x: np.log(4.0) + log_expit(2.0 * x) + log_expit(-2.0 * x),
    image=(-1.0, 1.0),
)
SOFTPLUS = Map(
    lambda x: np.logaddexp(0.0, x),
    lambda y: y + np.log(-np.expm1(-y)),
    log_expit,
    image=(0.0, np.inf),
)


def affine(base: Distribution, loc: FloatArray, scale: FloatArray) -> Distribution:
    """Return loc + scale * Y, with loc and scale (n, 1) and scale other than 0."""
    if base._affine_score:
        # The families are symmetric, so that a change of sign changes the centre only.
        centre, width = scale[:, 0] * base._centre(), np.abs(scale[:, 0]) * base._width()
        family = base._with(loc[:, 0] + centre, width)
        if family is not None:
            return family
    return transformed(base, AFFINE, (loc, scale), scale > 0)


def transformed(
    base: Distribution,
    by: Map,
    parameters: tuple[FloatArray, ...] = (),
    rising: NDArray[np.bool_] | bool = True,
) -> Distribution:
    """Return the forecast of a monotone function of the outcome that the base forecasts."""
    low, high = (np.array([[end]]) for end in by.domain)
    outside = base._cdf(low)[:, 0] + base._sf(high)[:, 0]
    if outside.max() > 0:
        i = int(np.argmax(outside > 0))
        raise ValueError(
            f"row {i} of obj takes a function that is defined between {by.domain[0]:g} and "
            f"{by.domain[1]:g} of a forecast with a share of {outside[i]:.3g} outside; expected "
            f"a forecast within. Fix the transform."
        )
    return Transformed(base, by, parameters, rising)


class Transformed(External):
    """A monotone function of another forecast. CDF, quantiles and density are exact.

    Mean and variance are integrated over the score. They are NaN if the tails beyond the last
    panel may contribute.
    """

    _kind: ClassVar[str] = "transformed"

    def __init__(
        self,
        base: Distribution,
        by: Map,
        parameters: tuple[FloatArray, ...],
        rising: NDArray[np.bool_] | bool,
    ) -> None:
        self.base = base
        self.by = by
        self.parameters = parameters
        self.rising = np.broadcast_to(np.asarray(rising, dtype=bool), (len(base), 1))
        self._reach = min(External._reach, base._reach)  # type: ignore[misc]  # differs by base

    def __len__(self) -> int:
        return len(self.base)

    def _select(self, rows: Rows) -> External:
        parameters = tuple(p[rows] for p in self.parameters)
        return Transformed(self.base._take(rows), self.by, parameters, self.rising[rows])

    def _inverse(self, y: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.by.inverse(np.clip(y, *self.by.image), *self.parameters)

    def _forward(self, x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.by.forward(x, *self.parameters)

    def _either(self, rising: str, falling: str, x: FloatArray) -> FloatArray:
        """One method of the base in rows where the function rises, another where it falls."""
        if self.rising.all():
            return self._ask(rising, x)
        if not self.rising.any():
            return self._ask(falling, x)
        return np.where(self.rising, self._ask(rising, x), self._ask(falling, x))

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        answer: FloatArray = getattr(self.base, name)(x)
        return answer

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._either("_cdf", "_sf", self._inverse(y))

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._either("_sf", "_cdf", self._inverse(y))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._either("_logcdf", "_logsf", self._inverse(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._either("_logsf", "_logcdf", self._inverse(y))

    def _logpdf(self, y: FloatArray) -> FloatArray:
        low, high = self.by.image
        x = self._inverse(y)
        with np.errstate(all="ignore"):
            log = self.base._logpdf(x) - self.by.log_slope(x, *self.parameters)
        return np.where((y > low) & (y < high) & ~np.isnan(log), log, -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._forward(self._either("_ppf", "_isf", q))

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._forward(self._either("_isf", "_ppf", q))

    def _mean(self) -> FloatArray:
        if self.by is AFFINE:
            return self._forward(self.base._mean()[:, None])[:, 0]
        return self._integrate(lambda y, _: y)

    def _var(self) -> FloatArray:
        if self.by is AFFINE:
            return self.base._var() * self.parameters[1][:, 0] ** 2
        mean = self._mean()[:, None]
        return self._integrate(lambda y, rows: (y - mean[rows]) ** 2)
