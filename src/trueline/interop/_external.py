"""Forecasts whose formulas belong to another library."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution, RecalibratedScores
from trueline.laws import LOG_SQRT_2PI, ScoreLaw, normal_score, solve_increasing

_SIGMA = np.array([[float(ndtr(-1.0))]])
_HALF = np.array([[0.5]])
# A normal score beyond all that a probability has.
_FAR = 40.0

# The CRPS is integrated over the score by Gauss-Legendre: edges of the panels, nodes and
# weights of one; rows are worked on in blocks of this many elements.
_EDGES = np.linspace(-8.0, 8.0, 33)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_PANELS = (len(_EDGES) - 1, len(_NODES))
_BLOCK = 1 << 19
# Share of a moment that may lie in the outermost panel: with more, there is no telling what lies
# beyond, or whether the moment is finite.
_OUTSIDE = 1e-6


class _Ends(NamedTuple):
    """Values where the score reaches its ends, and the rise of y per unit of it beyond; (n, 1)."""

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

    These are the library's own everywhere, as are mean and variance, NaN where it has none.
    The score is the normal score of the CDF up to 8 on each side, or up to 6 if the library
    has no survival function. There the CDF runs out of digits or, at the end of a bounded
    support, of probability; so the score goes on linearly in y. A unit of it is then that
    of the chord from the median to the end, but at least half the width of the central 68%:
    the first suits heavy tails, the second bounded ones, and for a normal forecast both are
    its standard deviation. So the score is finite and increasing for all y. A map can be
    fitted to outcomes outside the support, and its forecasts reach where they were.
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
        # A row without spread gets a rise just large enough to keep its scores finite.
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
        the density of s and the probability on its far side from y. No term is negative, so
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
        """Expectation of f(y, rows), by the same panels; NaN if the outermost still count."""
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


class Continued(Distribution):
    """The distribution whose score is an `External` forecast's and standard normal.

    It is that forecast but for a mass of 6e-16 (1e-9) on each side, which has a normal tail:
    so its density is never zero, and a map of the score carries it wherever outcomes fell.
    """

    def __init__(self, base: External) -> None:
        self.base = base
        self._ends = base._ends

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.base)

    def _take(self, rows: Rows) -> Distribution:
        return Continued(self.base._take(rows))

    def _score(self, y: FloatArray) -> FloatArray:
        return self.base._score(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.base._unscore(s)

    def _grid(self, z: FloatArray) -> FloatArray:
        return self.base._grid(z)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return np.asarray(ndtr(self._score(y)))

    def _sf(self, y: FloatArray) -> FloatArray:
        return np.asarray(ndtr(-self._score(y)))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return np.asarray(log_ndtr(self._score(y)))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return np.asarray(log_ndtr(-self._score(y)))

    def _logpdf(self, y: FloatArray) -> FloatArray:
        low, high, rise_low, rise_high = self._ends
        s = self._score(y)
        tail = -0.5 * s * s - LOG_SQRT_2PI
        density = self.base._logpdf(np.clip(y, low, high))
        density = np.where(y <= low, tail - np.log(rise_low), density)
        return np.where(y >= high, tail - np.log(rise_high), density)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._unscore(np.asarray(ndtri(q)))

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return RecalibratedScores(self, law)


#: What scipy's newer distributions call the methods of the older ones.
NEW_NAMES = {"ppf": "icdf", "isf": "iccdf", "sf": "ccdf", "logsf": "logccdf", "var": "variance"}


class ScipyForecast(External):
    """A family of ``scipy.stats``, with a parameter array of shape (n, 1) each."""

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
        """Return the number of rows."""
        return self._rows

    def _select(self, rows: Rows) -> External:
        parameters = {name: p[rows] for name, p in self.parameters.items()}
        return ScipyForecast(self.family, parameters, len(rows), self._names)

    def _ask(self, name: str, *x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            answer = getattr(self._frozen, self._names.get(name, name))(*x)
        return _stretch(answer, self._rows, x[0].shape[1] if x else 1)

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


class TorchForecast(External):
    """A family of ``torch.distributions``, with a float64 tensor of shape (n, 1) each."""

    _kind: ClassVar[str] = "from torch"

    # 1 - CDF is all there is of the upper tail: beyond 6 it has fewer than seven digits.
    _reach: ClassVar[float] = 6.0

    def __init__(
        self, family: Callable[..., Any], parameters: Mapping[str, Any], rows: int
    ) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self._rows = rows
        # Outside its support a validating distribution raises; here that is a density of 0.
        self._frozen = family(**self.parameters, validate_args=False)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def _select(self, rows: Rows) -> External:
        index = np.ascontiguousarray(rows)  # a tensor takes no other
        parameters = {name: p[index] for name, p in self.parameters.items()}
        return TorchForecast(self.family, parameters, len(rows))

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        with sys.modules["torch"].no_grad():
            answer = getattr(self._frozen, name)(_tensor(x))
        return _stretch(answer.numpy(), self._rows, x.shape[1])

    def _inside(self, y: FloatArray) -> FloatArray:
        check = self._frozen.support.check(_tensor(y))
        return _stretch(check.numpy(), self._rows, y.shape[1])

    def _cdf(self, y: FloatArray) -> FloatArray:
        above = y > _stretch(getattr(self._frozen.support, "lower_bound", -np.inf), self._rows, 1)
        return np.where(self._inside(y), self._ask("cdf", y), above)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return np.where(self._inside(y), self._ask("log_prob", y), -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        try:
            return self._ask("icdf", q)
        except NotImplementedError:
            return self._solve(q)

    def _solve(self, q: FloatArray) -> FloatArray:
        """Quantiles of a distribution that torch knows the CDF of only."""
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
        return _stretch(moment, self._rows, 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("variance")


class SkproForecast(External):
    """A distribution of skpro with one column."""

    _kind: ClassVar[str] = "from skpro"

    _reach: ClassVar[float] = 6.0  # as for torch

    def __init__(self, dist: Any) -> None:
        self.dist = dist

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.dist)

    def _select(self, rows: Rows) -> External:
        return SkproForecast(self.dist.iloc[rows])

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        # skpro takes one value a row, and some of its classes do not take rows twice.
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
                if "log_pdf" in skpro_exact(self.dist)
                else np.log(self._ask("pdf", y))
            )
        return np.where(np.isnan(log), -np.inf, log)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._ask("ppf", q)

    def _moment(self, name: str) -> FloatArray:
        # skpro draws a sample for what it has no formula for.
        exact = name in skpro_exact(self.dist)
        moment = np.asarray(getattr(self.dist, name)()) if exact else np.nan
        return _stretch(moment, len(self), 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("var")


def skpro_exact(dist: Any) -> list[str]:
    """Methods that skpro computes by a formula."""
    return dist.get_tag("capabilities:exact", [], raise_error=False) or []


def _tensor(x: FloatArray) -> Any:
    return sys.modules["torch"].tensor(np.ascontiguousarray(x))


def _stretch(answer: Any, n: int, k: int) -> FloatArray:
    """Make a library's answer a float64 array of shape (n, k) of its own."""
    a = np.asarray(answer, dtype=np.float64)
    return a if a.shape == (n, k) else np.broadcast_to(a, (n, k)).copy()
