"""Expectations of functions of the outcome, by quadrature with a bounded number of values.

The outcome is Y = T(S), where the score S has law R. Between the levels 1e-9 and 1 - 1e-9 the
function of S, func(T(s)), is replaced on panels by parabolas, and R is integrated exactly against
them, whatever its knots are. Panels on which one parabola and two half as wide disagree, as at a
kink or a jump of the function, are divided. The probability beyond those levels is integrated over
its normal score, where quantiles of small probabilities have all their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from trueline._messages import reason
from trueline._validation import FloatArray, Rows
from trueline.laws._abstract import ScoreLaw
from trueline.laws._elementary import normal_pdf

#: A function of outcomes, elementwise on an array of any shape.
Function = Callable[[FloatArray], FloatArray]

# Normal scores at the edges of the first panels. Each panel has five nodes, four steps apart.
_EDGES = np.linspace(-6.0, 6.0, 49)
_STEPS = 4
# Edges of the panels of the tails, and their Gauss-Legendre rule.
_FAR = np.array([6.0, 6.5, 7.0, 8.0, 9.5, 12.0, 16.0, 22.0, 30.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
# Share of the expected size of the function at which the error of a panel is small enough.
_GOOD = 1e-8
# Number of divisions of a panel, and of panels per row that are divided at a time.
_ROUNDS = 24
_DIVIDED = 64
# Number of values in a block of rows.
_BLOCK = 1 << 18
# Below this width, relative to the distance from 0, differences of moments have lost their digits.
_NARROW = 1e-6


class Forecast(Protocol):
    """The methods of a distribution that the quadrature uses."""

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Forecast: ...
    def _ppf(self, q: FloatArray) -> FloatArray: ...
    def _isf(self, q: FloatArray) -> FloatArray: ...
    def _from_score(self, s: FloatArray) -> FloatArray: ...
    @property
    def _reach(self) -> float: ...


def checked(func: Callable[[FloatArray], ArrayLike]) -> Function:
    """Return the function with a check that it returns one number per value."""

    def apply(y: FloatArray) -> FloatArray:
        try:
            out = np.asarray(func(y))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"func failed on an array of shape {y.shape} ({reason(error)}); expected a "
                f"function of arrays. Write it with numpy.where in place of if, and numpy.exp in "
                f"place of math.exp; or pass numpy.vectorize(func), which is slower."
            ) from error
        if out.dtype.kind not in "fiub":
            raise TypeError(
                f"func returned values of dtype {out.dtype}; expected one real number per value."
            )
        if out.shape != y.shape:
            raise ValueError(
                f"func returned shape {out.shape} for values of shape {y.shape}; expected one "
                f"number per value. Write it for arrays, with numpy.where in place of if."
            )
        return out.astype(np.float64, copy=False)

    return apply


def expected_of_masses(values: FloatArray, func: Function) -> FloatArray:
    """Mean of the function over equally likely values of each row, (n,)."""
    out = np.empty(len(values))
    size = max(1, _BLOCK // values.shape[1])
    for start in range(0, len(values), size):
        out[start : start + size] = func(values[start : start + size]).mean(axis=1)
    return out


def expected(dist: Forecast, law: ScoreLaw, func: Function) -> FloatArray:
    """E func(Y) of each row, (n,), where ``dist._from_score(S)`` is Y and S has the law."""
    levels = ndtr(_EDGES)
    edges = np.where(_EDGES < 0, law.ppf(levels[None, :])[0], law.isf(ndtr(-_EDGES)[None, :])[0])
    rule = _Rule(law, edges)
    reach = min(float(_FAR[-1]), dist._reach)
    out = np.empty(len(dist))
    size = max(1, _BLOCK // len(rule.nodes))
    for start in range(0, len(dist), size):
        rows = np.arange(start, min(start + size, len(dist)))
        part = dist._take(rows)
        total = _tails(part, func, reach)
        total += rule.integrate(part, func)
        out[rows] = total
    return out


def _tails(dist: Forecast, func: Function, reach: float) -> FloatArray:
    """Part of the expectation beyond the outermost edges."""
    ends = np.append(_FAR[reach > _FAR], reach)
    half = 0.5 * np.diff(ends)[:, None]
    s = ((ends[:-1, None] + half) + half * _NODES).ravel()
    weight = (half * _WEIGHTS).ravel() * normal_pdf(s)
    p = ndtr(-s)[None, :]
    # The probability beyond the last value belongs to it.
    weight[-1] += float(ndtr(-reach))
    with np.errstate(over="ignore"):
        return sum((func(y) @ weight for y in (dist._ppf(p), dist._isf(p))), np.zeros(len(dist)))


class _Rule:
    """Nodes and weights on the first panels, the same for all rows."""

    def __init__(self, law: ScoreLaw, edges: FloatArray) -> None:
        self.law = law
        shares = np.arange(_STEPS) / _STEPS
        inner = edges[:-1, None] + np.diff(edges)[:, None] * shares
        #: Scores of the nodes; every fourth is an edge.
        self.nodes = np.append(inner.ravel(), edges[-1])
        self.a, self.b = edges[:-1], edges[1:]
        middle = self.nodes[2::_STEPS]
        # Weights of one parabola, (panels, 3), and of two half as wide.
        self.one = _weights(law, self.a, self.b)
        self.two = _weights(law, self.a, middle), _weights(law, middle, self.b)
        # An atom at an outermost edge lies in part beyond it.
        cdf = law.cdf(edges[[0, -1]])
        self.rest = np.array([cdf[0] - ndtr(_EDGES[0]), ndtr(_EDGES[-1]) - cdf[1]])

    def integrate(self, dist: Forecast, func: Function) -> FloatArray:
        values = func(dist._from_score(self.nodes[None, :]))
        u = [values[:, i : len(self.nodes) - _STEPS + i : _STEPS] for i in range(_STEPS)]
        u.append(values[:, _STEPS::_STEPS])
        with np.errstate(invalid="ignore", over="ignore"):
            coarse = _weighted(self.one, u[0], u[2], u[4])
            fine = _weighted(self.two[0], *u[:3]) + _weighted(self.two[1], *u[2:])
            size = _weighted(np.abs(self.one), *(np.abs(u[i]) for i in (0, 2, 4))).sum(axis=1)
            error = np.abs(coarse - fine)
            row, panel = np.nonzero(error > _GOOD * size[:, None])
            total = fine.sum(axis=1) + self.rest[0] * values[:, 0] + self.rest[1] * values[:, -1]
        if not row.size:
            return total
        keep = _largest(error[row, panel], _DIVIDED * len(dist))
        row, panel = row[keep], panel[keep]
        start = _Panels(
            row,
            np.stack([self.a[panel], self.b[panel]], axis=1),
            np.stack([part[row, panel] for part in u], axis=1),
            fine[row, panel],
        )
        return total + _refined(dist, self.law, func, start, size)


class _Panels:
    """Panels of single rows: ends of the score (k, 2), five values (k, 5) and their integral."""

    def __init__(
        self, row: Rows, ends: FloatArray, values: FloatArray, integral: FloatArray
    ) -> None:
        self.row, self.ends, self.values, self.integral = row, ends, values, integral


def _refined(
    dist: Forecast, law: ScoreLaw, func: Function, panels: _Panels, size: FloatArray
) -> FloatArray:
    """Change of the expectation of each row when these panels are divided."""
    change = np.zeros(len(dist))
    for _ in range(_ROUNDS):
        count = len(panels.row)
        if not count:
            break
        a, b = panels.ends.T
        middle = 0.5 * (a + b)
        row = np.repeat(panels.row, 2)
        ends = np.stack([a, middle, middle, b], axis=1).reshape(-1, 2)
        known = panels.values[:, [0, 1, 2, 2, 3, 4]].reshape(-1, 3)
        width = ends[:, 1] - ends[:, 0]
        # Two more values in each half.
        new = ends[:, :1] + width[:, None] * np.array([0.25, 0.75])
        found = func(dist._take(row)._from_score(new))
        values = np.stack([known[:, 0], found[:, 0], known[:, 1], found[:, 1], known[:, 2]], axis=1)
        left, centre, right = ends[:, 0], ends.mean(axis=1), ends[:, 1]
        with np.errstate(invalid="ignore", over="ignore"):
            coarse = _weighted(_weights(law, left, right), *values[:, ::2].T)
            fine = _weighted(_weights(law, left, centre), *values[:, :3].T)
            fine += _weighted(_weights(law, centre, right), *values[:, 2:].T)
            error = np.abs(coarse - fine)
            wrong = error > _GOOD * size[row]
        narrow = width <= _NARROW * (np.sqrt(law.var) + np.abs(left))
        if narrow.any():
            # All probability of a narrow panel is taken to be at its median.
            cdf = law.cdf(ends[narrow])
            at = law.ppf(cdf.mean(axis=1)[:, None])
            fine[narrow] = (
                (func(dist._take(row[narrow])._from_score(at))[:, 0]) * np.diff(cdf)[:, 0]
            )
        change += np.bincount(row, fine, len(dist))
        change -= np.bincount(panels.row, panels.integral, len(dist))
        again = np.flatnonzero(wrong & ~narrow)
        again = again[_largest(error[again], _DIVIDED * len(dist))]
        panels = _Panels(row[again], ends[again], values[again], fine[again])
    return change


def _largest(error: FloatArray, most: int) -> NDArray[np.intp]:
    """Indices of the largest errors, at most so many."""
    if len(error) <= most:
        return np.arange(len(error))
    return np.sort(np.argpartition(error, -most)[-most:])


def _weighted(weights: FloatArray, *values: FloatArray) -> FloatArray:
    """Integral of each panel, from the weights (..., 3) of its start, middle and end."""
    return weights[..., 0] * values[0] + weights[..., 1] * values[1] + weights[..., 2] * values[2]


def _weights(law: ScoreLaw, a: FloatArray, b: FloatArray) -> FloatArray:
    """Weights of the values at a, (a + b) / 2 and b of the parabola through them, (..., 3)."""
    h = b - a
    wide = h > 0
    step = np.where(wide, h, 1.0)
    start, stop = law.cdf(a), law.cdf(b)
    (p0, p1, _), (q0, q1, _) = law.moments(a, 1), law.moments(b, 1)
    mass = stop - start
    area = q0 - p0
    # Integrals of t and t^2 against the law, where t = (s - a) / h.
    first = np.clip(stop - area / step, 0.0, mass)
    second = np.clip(stop - 2.0 * (q1 - p1 - a * area) / step**2, 0.0, first)
    # Without width all probability is at the end.
    first, second = np.where(wide, first, mass), np.where(wide, second, mass)
    return np.stack(
        [
            2.0 * second - 3.0 * first + mass,
            4.0 * (first - second),
            2.0 * second - first,
        ],
        axis=-1,
    )
