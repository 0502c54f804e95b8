"""Moments and CRPS of a forecast with no closed form.

The forecast is Y = T(Z), where Z is its score with law R and T is the inverse of the score.
In every row, T is tabulated on values that resolve the base distribution and replaced by the
cubic Hermite interpolant in the score between them; R is integrated *exactly* against that
cubic, whatever its knots are. The only error is therefore that of T, which is of fourth order
in the spacing. Panels on which T bends too much for a cubic, as between the components of a
mixture, are divided until it does not. The relative error is below 1e-6 for a base with a
smooth density (tests/distributions/test_quadrature.py). If the base has kinks, as components of
a mixture that were recalibrated with `Isotonic` have, the slopes of the cubics come from
neighbouring values, and the error is about 1e-4 standard deviations: N kinks in a row add
noise of 1 / (panels * sqrt(N)). The table covers all but 1e-12 of the recalibrated mass on each
side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from trueline._validation import FloatArray, Rows
from trueline.laws import ScoreLaw

# Normal scores at which the base is tabulated, and the shares of the geometric steps from the
# last of them to the end of the recalibrated mass.
_SCORES = np.linspace(-8.0, 8.0, 129)
_REACH = np.linspace(0.0, 1.0, 33)[1:]
# The same for a base with kinks: errors depend on the mass between neighbours, not on curvature.
_DENSE = 2.0**0.5 * ndtri((np.arange(384) + 0.5) / 384)
_DENSE_SCORES = np.concatenate([np.linspace(-8.0, -4.5, 15), _DENSE, np.linspace(4.5, 8.0, 15)])
_TAIL = 1e-12
# Number of table elements in a block of rows.
_BLOCK = 1 << 19
# Below this width of the score, T jumps: R is constant there.
_JUMP = 1e-7
# Below this width, in units of the law, differences of its moments have lost their digits.
_NARROW = 3e-4
# Panels divided in four per row and round, rounds at most, and the error at which to stop, for a
# smooth base and for one with kinks.
_QUARTERED = 32
_ROUNDS = 20
_GOOD = 1e-8
_ROUGH = 2e-4
# Scores between which a CDF is integrated with the two nodes of Gauss and Legendre.
_FINE_SCORES = np.linspace(-8.0, 8.0, 257)
_NODE = 3.0**-0.5


class Base(Protocol):
    """The methods of a distribution that the quadrature uses."""

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Base: ...
    def _score(self, y: FloatArray) -> FloatArray: ...
    def _unscore(self, s: FloatArray) -> FloatArray: ...
    @property
    def _smooth(self) -> bool: ...
    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray: ...
    def _grid(self, z: FloatArray) -> FloatArray: ...


class Tabulated(Protocol):
    """The methods of a distribution that `integrals_below` uses."""

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Tabulated: ...
    def _cdf(self, y: FloatArray) -> FloatArray: ...
    def _grid(self, z: FloatArray) -> FloatArray: ...


class _Table:
    """Edges of the panels; ``data`` is (10, n, edges), in the order of the attributes."""

    def __init__(self, data: FloatArray) -> None:
        self.data = data
        #: Value, score, dT/ds and R at each edge.
        self.y, self.s, self.rise, self.cdf = data[:4]
        #: Integrals of R and of R squared below each edge, as `ScoreLaw.moments` returns them.
        self.moments = data[4:7], data[7:]

    def merged(self, other: _Table) -> _Table:
        """Edges of both, in order."""
        data = np.concatenate([self.data, other.data], axis=2)
        order = np.argsort(data[0], axis=1, kind="stable")
        return _Table(np.take_along_axis(data, order[None], axis=2))

    def smooth_rises(self) -> None:
        """Replace dT/ds by the slopes of parabolas through neighbouring edges."""
        h, total = np.diff(self.s, axis=1), np.diff(self.y, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = np.where(h > _JUMP, total / h, 0.0)
            inner = (chord[:, :-1] * h[:, 1:] + chord[:, 1:] * h[:, :-1]) / (h[:, :-1] + h[:, 1:])
        self.rise[:, 1:-1] = np.where(np.isfinite(inner), inner, 0.0)
        self.rise[:, [0, -1]] = chord[:, [0, -1]]

    def rows(self, index: Rows) -> _Table:
        return _Table(self.data[:, index])

    def panels(self) -> tuple[_Table, _Table]:
        """Left and right ends of all panels."""
        return _Table(self.data[:, :, :-1]), _Table(self.data[:, :, 1:])


class Quadrature:
    """Moments and CRPS of the base distribution when its score has the given law."""

    def __init__(self, base: Base, law: ScoreLaw) -> None:
        self.base = base
        self.law = law
        #: Width of the law, to which the width of a panel is compared.
        self._unit = float(np.sqrt(law.var))
        self._smooth = base._smooth
        self._scores = _SCORES if self._smooth else _DENSE_SCORES

    def _tabulate(self, base: Base, y: FloatArray) -> _Table:
        s = base._score(y)
        if self._smooth:
            with np.errstate(over="ignore"):
                rise = np.exp(-base._log_slope(y, s))
        else:  # the local slope between two kinks describes no panel
            rise = np.full_like(s, np.inf)
        moments = (*self.law.moments(s, 1), *self.law.moments(s, 2))
        return _Table(np.stack([y, s, rise, self.law.cdf(s), *moments]))

    def _edges(self, base: Base) -> FloatArray:
        inner = base._grid(self._scores)
        ends = self.law.ppf(np.array([[_TAIL, 1.0 - _TAIL]]))
        reach = base._unscore(ends)
        low, high = inner[:, :1], inner[:, -1:]
        # Steps are geometric in the distance from the centre, for light and heavy tails alike.
        centre = inner[:, inner.shape[1] // 2, None]
        growth = [
            np.maximum(np.abs(end - centre) / np.abs(edge - centre), 1.0)
            for end, edge in ((reach[:, :1], low), (reach[:, 1:], high))
        ]
        below = centre + (low - centre) * growth[0] ** _REACH[::-1]
        above = centre + (high - centre) * growth[1] ** _REACH
        return np.concatenate([below, inner, above], axis=1)

    def _blocks(self) -> Iterator[tuple[Rows, Base, _Table]]:
        """Yield rows, in blocks, with tables whose cubics are accurate enough."""
        n, smooth = len(self.base), self._smooth
        first = self.base._take(np.zeros(1, dtype=np.intp))
        width = first._grid(self._scores).shape[1] + 2 * len(_REACH)
        size = max(1, _BLOCK // width)
        for start in range(0, n, size):
            rows = np.arange(start, min(start + size, n))
            base = self.base._take(rows)
            table = self._tabulate(base, self._edges(base))
            for _ in range(_ROUNDS):
                if not smooth:
                    table.smooth_rises()
                error, scale = _estimated_error(table, self._unit, smooth=smooth)
                # Kinks err in both directions, so that the errors of panels add up as squares.
                whole = error.sum(axis=1) if smooth else np.sqrt((error**2).sum(axis=1))
                bad = np.flatnonzero(whole > (_GOOD if smooth else _ROUGH) * scale)
                if not bad.size:
                    break
                if bad.size < len(rows):
                    good = np.setdiff1d(np.arange(len(rows)), bad)
                    yield rows[good], base._take(good), table.rows(good)
                    rows, base, table = rows[bad], base._take(bad), table.rows(bad)
                table = table.merged(self._tabulate(base, _quarters(table.y, error[bad])))
            yield rows, base, table

    def mean(self) -> FloatArray:
        out = np.empty(len(self.base))
        for rows, _, table in self._blocks():
            out[rows] = _mean(table, self._unit)
        return out

    def var(self) -> FloatArray:
        out = np.empty(len(self.base))
        for rows, _, table in self._blocks():
            mean = _mean(table, self._unit)[:, None]
            start, stop = table.panels()
            start.y, stop.y = start.y - mean, stop.y - mean
            area = _integrate(start, stop, self._unit, 1, square=True).sum(axis=1)
            out[rows] = np.maximum(stop.y[:, -1] ** 2 - area, 0.0)
        return out

    def crps(self, y: FloatArray) -> FloatArray:
        out = np.empty((len(self.base), y.shape[1]))
        for rows, base, table in self._blocks():
            start, stop = table.panels()
            areas = _integrate(start, stop, self._unit, 1)
            dispersion = (areas - _integrate(start, stop, self._unit, 2)).sum(axis=1)
            below = np.zeros_like(table.y)
            np.cumsum(areas, axis=1, out=below[:, 1:])
            end, total = table.y[:, -1:], below[:, -1:]
            values = np.broadcast_to(y[rows] if len(y) > 1 else y, (len(end), y.shape[1]))
            for k in range(values.shape[1]):
                v = values[:, k : k + 1]
                inside = np.clip(v, table.y[:, :1], end)
                j = np.clip((table.y <= inside).sum(axis=1) - 1, 0, table.y.shape[1] - 2)[:, None]
                anchor = _Table(np.take_along_axis(table.data, j[None], axis=2))
                stop = self._tabulate(base, inside)
                if not self._smooth:
                    h = stop.s - anchor.s
                    chord = (stop.y - anchor.y) / np.where(h > 0, h, 1.0)
                    anchor.rise[:] = stop.rise[:] = chord
                partial = _integrate(anchor, stop, self._unit, 1)
                area = np.take_along_axis(below, j, axis=1) + partial
                area += np.maximum(v - end, 0.0)
                # 2 area - v + mean - dispersion; the mean is the end less the total area.
                out[rows, k] = (2.0 * area + ((end - v) - total))[:, 0] - dispersion
        return out


def _mean(table: _Table, unit: float) -> FloatArray:
    return table.y[:, -1] - _integrate(*table.panels(), unit, 1).sum(axis=1)


def _quarters(y: FloatArray, error: FloatArray) -> FloatArray:
    """Values that divide the worst panels of each row in four."""
    worst = np.argpartition(error, -_QUARTERED, axis=1)[:, -_QUARTERED:]
    a, b = (np.take_along_axis(y, worst + i, axis=1) for i in (0, 1))
    return np.sort(np.concatenate([a + share * (b - a) for share in (0.25, 0.5, 0.75)], axis=1))


def _narrow(a: _Table, h: FloatArray, unit: float) -> NDArray[np.bool_]:
    return h < _NARROW * (unit + np.abs(a.s))


def _estimated_error(table: _Table, unit: float, *, smooth: bool) -> tuple[FloatArray, FloatArray]:
    """Estimated error of each panel, and the scale of each row to compare it to.

    The difference between the end slopes of a panel and its chord is of second order in the
    spacing. The error of the cubic is of fourth order, so of the order of its square, unless the
    base has kinks or the panel is so narrow that R is taken as linear. It is weighted by the mass
    on the panel.
    """
    a, b = table.panels()
    total, h = b.y - a.y, b.s - a.s
    wide = (h > _JUMP) & (total > 0)
    chord = np.where(wide, total, 1.0) / np.where(wide, h, 1.0)
    slopes = [np.minimum(edge.rise, 3.0 * chord) for edge in (a, b)]
    bend = np.where(wide, np.abs(slopes[0] + slopes[1] - 2.0 * chord) / (4.0 * chord), 1.0)
    if smooth:
        bend = np.where(_narrow(a, h, unit), bend, bend**2)
    scale = total * 0.5 * (a.cdf * (1.0 - a.cdf) + b.cdf * (1.0 - b.cdf))
    return total * bend * (b.cdf - a.cdf), scale.sum(axis=1)


def _integrate(
    a: _Table, b: _Table, unit: float, power: int, *, square: bool = False
) -> FloatArray:
    """Integral of R**power dU between two edges, with U = T, or T squared.

    U is the cubic in v = s - a.s with the values and slopes of its ends.
    """
    h = b.s - a.s
    wide = h > _JUMP
    step = np.where(wide, h, 1.0)
    # A monotone cubic needs slopes of at most 3 chords; they may be larger where the base has
    # almost no density.
    chord = (b.y - a.y) / step
    d_a, d_b = np.minimum(a.rise, 3.0 * chord), np.minimum(b.rise, 3.0 * chord)
    if square:
        d_a, d_b = 2.0 * a.y * d_a, 2.0 * b.y * d_b
        total = (b.y - a.y) * (b.y + a.y)
        chord = total / step
    else:
        total = b.y - a.y
    f_a, f_b = a.cdf**power, b.cdf**power
    m0, m1, m2 = (q - p for p, q in zip(a.moments[power - 1], b.moments[power - 1], strict=True))
    # Differences of integrals lose digits by a factor of (s / h)^3. On a narrow panel R is
    # practically linear and only weights the curvature of U.
    narrow = _narrow(a, h, unit)
    n1 = np.where(narrow, h**2 * (f_a + 2.0 * f_b) / 6.0, m1 - a.s * m0)
    n2 = np.where(narrow, h**3 * (f_a + 3.0 * f_b) / 12.0, m2 - a.s * (2.0 * m1 - a.s * m0))
    c2 = (3.0 * chord - 2.0 * d_a - d_b) / step
    c3 = (d_a + d_b - 2.0 * chord) / step**2
    smooth = d_a * m0 + 2.0 * c2 * n1 + 3.0 * c3 * n2
    flat = 0.5 * (f_a + f_b) * total
    return np.where(wide, smooth, flat)


def integrals_below(dist: Tabulated, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Integrals below x of the CDF, of its square and of the first, by quadrature, (n, k) each.

    The CDF is integrated with two nodes between values that resolve the forecast.
    """
    n, k = len(dist), x.shape[1]
    out = np.zeros((3, n, k))
    x = np.broadcast_to(x, (n, k))
    size = max(1, _BLOCK // (len(_FINE_SCORES) + k))
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        part = dist._take(rows)
        edges = np.concatenate([part._grid(_FINE_SCORES), x[rows]], axis=1)
        order = np.argsort(edges, axis=1, kind="stable")
        edges = np.take_along_axis(edges, order, axis=1)
        half = 0.5 * np.diff(edges, axis=1)
        low, high = (part._cdf(edges[:, :-1] + (1.0 + node) * half) for node in (-_NODE, _NODE))
        area = half * (low + high)
        # The integral of (stop - x) F over a panel.
        inner = half**2 * ((1.0 + _NODE) * low + (1.0 - _NODE) * high)
        below = np.cumsum(area, axis=1) - area
        steps = (area, half * (low**2 + high**2), inner + 2.0 * half * below)
        place = np.argsort(order, axis=1)[:, -k:]
        for i, step in enumerate(steps):
            sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(step, axis=1)], axis=1)
            out[i, rows] = np.take_along_axis(sums, place, axis=1)
    return out[0], out[1], out[2]
