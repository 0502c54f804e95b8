"""How much the CDFs of the components of a mixture differ.

The CRPS of a mixture is the mean CRPS of its components less the integral of their squared
disagreement, sum_i w_i (F_i - F)^2. The line is divided into panels. On each of them F_i is a
straight line with the mean and the first moment of F_i, plus a rest. Means, first moments and
the mean squares of the rests are exact for components with closed integrals, whatever their
kinks and jumps, so the only error is the integral of products of different rests. By the
inequality of Cauchy and Schwarz it is bounded by their mean squares; the panels with the largest
bounds are divided until the sum of the bounds is small. Rests of components with kinks of their
own are hardly correlated, so that the error is usually far smaller than the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from trueline._validation import FloatArray, Rows

# Levels of the first edges. Between the outer ones their normal scores have the density of a wider
# normal, so that panels of a normal have nearly equal bounds.
_INNER = 2.0**0.5 * ndtri((np.arange(48) + 0.5) / 48)
_LEVELS = ndtr(np.concatenate([[-8.0, -6.0, -4.5], _INNER, [4.5, 6.0, 8.0]]))
# Number of edges in a block of rows.
_BLOCK = 1 << 15
# Bound of the error, in units of the integral of F (1 - F), number of panels per row that are
# divided in four in a round, and number of rounds.
_GOOD = 1e-5
_DIVIDED = 16
_ROUNDS = 30
_QUARTERS = np.linspace(0.0, 1.0, 5)
# Nodes and weights of Gauss and Legendre.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class Lines(NamedTuple):
    """A CDF on panels is mean + slope * t + a rest, for t from -1 to 1.

    ``rest`` is the mean square of the rest.
    """

    mean: FloatArray
    slope: FloatArray
    rest: FloatArray


class Component(Protocol):
    """The methods of a distribution that are used here."""

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Component: ...
    def _cdf(self, y: FloatArray) -> FloatArray: ...
    def _ppf(self, q: FloatArray) -> FloatArray: ...
    def _lines(self, edges: FloatArray) -> Lines: ...
    def _point_masses(self) -> FloatArray | None: ...
    def _expected_distance(self) -> FloatArray: ...


def lines_by_nodes(dist: Component, edges: FloatArray) -> Lines:
    """Lines on the panels between edges, (n, g, e) to (n, g, e - 1), with four nodes per panel."""
    half = 0.5 * np.diff(edges, axis=2)
    x = (edges[:, :, :-1] + half)[..., None] + half[..., None] * _NODES
    cdf = dist._cdf(x.reshape(len(x), -1)).reshape(x.shape)
    mean = cdf @ (0.5 * _WEIGHTS)
    slope = cdf @ (1.5 * _WEIGHTS * _NODES)
    square = (cdf - mean[..., None]) ** 2 @ (0.5 * _WEIGHTS)
    return Lines(mean, slope, np.maximum(square - slope**2 / 3.0, 0.0))


def lines_by_integrals(
    edges: FloatArray, cdf: FloatArray, integrals: tuple[FloatArray, FloatArray, FloatArray]
) -> Lines:
    """Lines on the panels between edges, (n, g, e), from the CDF and its integrals there.

    The integrals are those of ``Distribution._integrals``; they and the CDF are (n, g * e).
    """
    cdf, area, square, double = (a.reshape(edges.shape) for a in (cdf, *integrals))
    width = np.diff(edges, axis=2)
    h = np.where(width > 0, width, 1.0)
    # Differences of integrals lose digits far from the centre. An increasing function bounds them.
    rise = np.diff(cdf, axis=2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.diff(area, axis=2) / h
        mean = np.minimum(np.maximum(mean, cdf[:, :, :-1]), cdf[:, :, 1:])
        # The integral of (stop - x) F over a panel.
        inner = np.diff(double, axis=2) - width * area[:, :, :-1]
        slope = np.clip(3.0 * (mean - 2.0 * inner / h**2), 0.0, 0.75 * rise)
        rest = np.diff(square, axis=2) / h - mean**2 - slope**2 / 3.0
    return Lines(mean, slope, np.clip(rest, 0.0, 0.25 * rise**2))


class _Panels(NamedTuple):
    """Ends of panels, (n, p), the integrals over them, and the bounds of their errors."""

    start: FloatArray
    stop: FloatArray
    disagreement: FloatArray
    dispersion: FloatArray
    bound: FloatArray


def thinned(values: Sequence[FloatArray]) -> FloatArray:
    """Increasing values, (n, m + 2), from those of K components, (n, m) each.

    Every K-th of all values resolves the mixture as well as its own resolve each component, because
    they are dense where several components have their mass. The outermost are kept.
    """
    k = len(values)
    pooled = np.sort(np.concatenate(values, axis=1), axis=1)
    return pooled[:, np.r_[0, k // 2 : pooled.shape[1] : k, -1]]


def disagreement(weights: FloatArray, components: Sequence[Component]) -> FloatArray:
    """Integral of sum_i w_i (F_i - F)^2 of each row, (n,), with weights (1, K) or (n, K).

    The error is below 1e-5 times the integral of F (1 - F) for components whose `_lines` are exact.
    """
    n = len(components[0])
    out = np.zeros(n)
    used = np.flatnonzero(weights.any(axis=0)).tolist()
    if len(used) < 2:
        return out
    components, weights = [components[i] for i in used], weights[:, used]
    draws = [c._point_masses() for c in components]
    if all(values is not None for values in draws):
        return _between_draws(weights, components, [v for v in draws if v is not None])
    size = max(1, _BLOCK // len(_LEVELS))
    for first in range(0, n, size):
        rows = np.arange(first, min(first + size, n))
        parts = [c._take(rows) for c in components]
        shares = weights if len(weights) == 1 else weights[rows]
        edges = _edges(parts)
        panels = _panels(shares, parts, edges[:, None, :])
        for _ in range(_ROUNDS):
            out[rows] = panels.disagreement.sum(axis=1)
            bad = panels.bound.sum(axis=1) > _GOOD * panels.dispersion.sum(axis=1)
            if not bad.any():
                break
            kept = np.flatnonzero(bad)
            rows, parts = rows[kept], [c._take(kept) for c in parts]
            shares = shares if len(shares) == 1 else shares[kept]
            panels = _divided(shares, parts, _Panels(*(a[kept] for a in panels)))
    return out


def _between_draws(
    weights: FloatArray, components: Sequence[Component], draws: Sequence[FloatArray]
) -> FloatArray:
    """Disagreement of components whose mass is on draws: half the difference of distances."""
    values = np.concatenate(draws, axis=1)
    shares = [w[:, None] / v.shape[1] for w, v in zip(weights.T, draws, strict=True)]
    mass = np.concatenate(
        [np.broadcast_to(w, v.shape) for w, v in zip(shares, draws, strict=True)], axis=1
    )
    order = np.argsort(values, axis=1)
    cdf = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)[:, :-1]
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1)
    out: FloatArray = (gaps * cdf * (1.0 - cdf)).sum(axis=1)
    for w, c in zip(weights.T, components, strict=True):
        out -= 0.5 * w * c._expected_distance()
    return out


def _edges(components: Sequence[Component]) -> FloatArray:
    """Increasing values that resolve the components."""
    shape = (len(components[0]), len(_LEVELS))
    found = [np.broadcast_to(c._ppf(_LEVELS[None, :]), shape) for c in components]
    return thinned(found)


def _panels(weights: FloatArray, components: Sequence[Component], edges: FloatArray) -> _Panels:
    shape = (len(edges), edges.shape[1], edges.shape[2] - 1)
    mean, slope, squares, same, roots = np.zeros((5, *shape))
    for i, c in enumerate(components):
        w = weights[:, i, None, None]
        own = c._lines(edges)
        mean += w * own.mean
        slope += w * own.slope
        squares += w * (own.mean**2 + own.slope**2 / 3.0 + own.rest)
        same += w**2 * own.rest
        roots += w * np.sqrt(own.rest)
    h = np.diff(edges, axis=2)
    square = mean**2 + slope**2 / 3.0 + same
    parts = (
        edges[:, :, :-1],
        edges[:, :, 1:],
        h * (squares - square),
        h * (mean - square),
        h * (roots**2 - same),
    )
    return _Panels(*(a.reshape(len(a), -1) for a in parts))


def _divided(weights: FloatArray, components: Sequence[Component], panels: _Panels) -> _Panels:
    """Return the panels with the worst of each row divided in four."""
    count = min(_DIVIDED, panels.bound.shape[1])
    order = np.argpartition(panels.bound, -count, axis=1)
    kept, worst = order[:, :-count], order[:, -count:]
    start, stop = (np.take_along_axis(a, worst, axis=1)[..., None] for a in panels[:2])
    edges = start + (stop - start) * _QUARTERS
    edges[..., -1:] = stop
    new = _panels(weights, components, edges)
    return _Panels(
        *(
            np.concatenate([np.take_along_axis(old, kept, axis=1), added], axis=1)
            for old, added in zip(panels, new, strict=True)
        )
    )
