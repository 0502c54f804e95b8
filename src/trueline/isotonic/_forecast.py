"""Forecasts whose CDFs are read off isotonic laws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution, Quantiles
from trueline.isotonic._laws import IsotonicLaws
from trueline.laws import Function, ScoreLaw

# Levels of the quantiles whose curve gives scores and densities.
LEVELS = (np.arange(100) + 0.5) / 100
# Number of values of CDFs that are held at a time.
_BLOCK = 1 << 20


class IsotonicForecast(Distribution):
    """Forecasts with jumps at common thresholds, in which the law rises with a covariate.

    CDF, quantiles, moments and CRPS are those of the step function. A step function has no density
    and no useful score, so ``pdf``, ``logpdf`` and ``score`` are those of the continuous curve
    through 100 of its quantiles, see `Quantiles`. Made by ``transform`` of `trueline.IDR`.

    Examples
    --------
    >>> import trueline as tl
    >>> G = tl.IDR().fit([5.0, 4.0, 6.0], tl.Point([1.0, 2.0, 3.0])).transform(tl.Point([1.5, 2.5]))
    >>> G, G.cdf([[4.0, 5.0, 6.0]])
    (IsotonicForecast(2 rows), array([[0.5 , 1.  , 1.  ],
           [0.25, 0.5 , 1.  ]]))
    """

    _kind: ClassVar[str] = "isotonic laws"
    _closed_crps: ClassVar[bool] = True
    _exact_integrals: ClassVar[bool] = True
    _discrete: ClassVar[bool] = True
    _may_have_atoms = True
    _smooth = False

    def __init__(
        self,
        laws: IsotonicLaws,
        place: NDArray[np.intp],
        share: FloatArray,
        n_fit: float | None = None,
    ) -> None:
        self.laws = laws
        self.place = place
        self.share = share
        self.n_fit = n_fit

    @classmethod
    def at(cls, laws: IsotonicLaws, x: FloatArray, n_fit: float | None = None) -> IsotonicForecast:
        """Return the forecasts at covariates x."""
        return cls(laws, *laws.locate(x), n_fit)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.place)

    def _take(self, rows: Rows) -> IsotonicForecast:
        taken = IsotonicForecast(self.laws, self.place[rows], self.share[rows], self.n_fit)
        if "_curve" in self.__dict__:
            taken.__dict__["_curve"] = self._curve._take(rows)
        return taken

    @property
    def _n_fit(self) -> float | None:
        return self.n_fit

    # ---- the step function ------------------------------------------------------------

    def _at_threshold(self, k: NDArray[np.intp]) -> FloatArray:
        """CDF at thresholds k, (n, j) or (1, j); 0 where k is -1."""
        place = self.place[:, None]
        low = self.laws.cdf(place, k)
        between = np.flatnonzero(self.share)
        if between.size:
            some = k if len(k) == 1 else k[between]
            high = self.laws.cdf(place[between] + 1, some)
            low[between] += self.share[between, None] * (high - low[between])
        return low

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._at_threshold(np.searchsorted(self.laws.thresholds, y, side="right") - 1)

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self._at_threshold(np.searchsorted(self.laws.thresholds, y, side="left") - 1)

    def _ppf(self, q: FloatArray) -> FloatArray:
        # Bisection. In the order of x quantiles rise, so that the search goes through memory once.
        order = np.argsort(self.place, kind="stable")
        rows = self._take(order)
        target = np.broadcast_to(q, (len(self), q.shape[1]))[order]
        low = np.zeros(target.shape, dtype=np.intp)
        high = np.full(target.shape, len(self.laws.thresholds) - 1)
        for _ in range(len(self.laws.thresholds).bit_length()):
            middle = (low + high) // 2
            reached = rows._at_threshold(middle) >= target
            high = np.where(reached, middle, high)
            low = np.where(reached, low, np.minimum(middle + 1, high))
        out = np.empty(target.shape)
        out[order] = self.laws.thresholds[high]
        return out

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._ppf(1.0 - q)  # the number of rows is small beside the digits of 1 - q

    # ---- integrals --------------------------------------------------------------------

    def _blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield parts of the rows, and their CDFs at all thresholds, (K, rows)."""
        size = max(1, _BLOCK // len(self.laws.thresholds))
        for first in range(0, len(self), size):
            rows = slice(first, min(first + size, len(self)))
            place, share = self.place[rows], self.share[rows]
            after = np.minimum(place + 1, len(self.laws.x) - 1)
            used, index = np.unique([place, after], return_inverse=True)
            cdf = self.laws.cdfs(used)
            low, high = (cdf.take(i, axis=1) for i in index.reshape(2, -1))
            high -= low
            high *= share
            low += high
            yield rows, low

    def _expect(self, func: Function) -> FloatArray:
        at, out = func(self.laws.thresholds), np.empty(len(self))
        for rows, cdf in self._blocks():
            out[rows] = at @ np.diff(cdf, axis=0, prepend=0.0)
        return out

    def _mean(self) -> FloatArray:
        return self._expect(lambda z: z)

    def _var(self) -> FloatArray:
        out, z = np.empty(len(self)), self.laws.thresholds
        for rows, cdf in self._blocks():
            mass = np.diff(cdf, axis=0, prepend=0.0)
            out[rows] = (mass * (z[:, None] - z @ mass) ** 2).sum(axis=0)
        return np.maximum(out, 0.0)

    def _expected_distance(self) -> FloatArray:
        out, gaps = np.empty(len(self)), np.diff(self.laws.thresholds)
        for rows, cdf in self._blocks():
            inner = cdf[:-1]
            out[rows] = 2.0 * (gaps @ (inner * (1.0 - inner)))
        return out

    def _crps(self, y: FloatArray) -> FloatArray:
        # 2 (integral of F below y) - y + mean - (integral of F (1 - F)).
        rest = self._mean() - 0.5 * self._expected_distance()
        return 2.0 * self._integrals_below(y, 1)[0] - y + rest[:, None]

    def _integrals(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        area, square, double = self._integrals_below(x, 3)
        return area, square, double

    def _integrals_below(self, x: FloatArray, count: int) -> FloatArray:
        """Return the first of the integrals below x; see `Distribution._integrals`."""
        z = self.laws.thresholds
        gaps, out = np.diff(z)[:, None], np.empty((count, len(self), x.shape[1]))
        for rows, cdf in self._blocks():
            some = x if len(x) == 1 else x[rows]
            at = np.maximum(np.searchsorted(z, some, side="right") - 1, 0)
            rest = np.maximum(some - z[at], 0.0)
            level, inner = _columns(cdf, at), cdf[:-1]
            steps = inner * gaps
            areas = _summed(steps)
            area = _columns(areas, at)
            out[0, rows] = area + rest * level
            if count > 1:
                out[1, rows] = _columns(_summed(inner * steps), at) + rest * level**2
                double = _columns(_summed(gaps * (areas[:-1] + 0.5 * steps)), at)
                out[2, rows] = double + rest * (area + 0.5 * rest * level)
        return out

    # ---- the continuous curve ---------------------------------------------------------

    @cached_property
    def _curve(self) -> Quantiles:
        return Quantiles(LEVELS, self._ppf(LEVELS[None, :]))

    def _continuous(self) -> Distribution:
        return self._curve

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._curve._logpdf(y)

    def _score(self, y: FloatArray) -> FloatArray:
        return self._curve._score(y)

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._curve._score_bounds(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self._curve._unscore(s)

    def _grid(self, z: FloatArray) -> FloatArray:
        return self._curve._grid(z)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return self._curve._recalibrate(law)

    def _widened(self, e: float) -> Distribution:
        return self if e == 0.0 else self._curve._widened(e)


def _summed(steps: FloatArray) -> FloatArray:
    """Sums of the rows before each row, and of all rows at the end."""
    out = np.zeros((len(steps) + 1, steps.shape[1]))
    np.cumsum(steps, axis=0, out=out[1:])
    return out


def _columns(a: FloatArray, k: NDArray[np.intp]) -> FloatArray:
    """Elements of each column of (K, n) at its own rows k, (n, j) or (1, j)."""
    return np.take_along_axis(a, np.broadcast_to(k, (a.shape[1], k.shape[1])).T, axis=0).T
