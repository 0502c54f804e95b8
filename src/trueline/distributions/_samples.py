"""Forecasts given by draws."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueline._labels import labels_of
from trueline._validation import FloatArray, Rows, matrix
from trueline.distributions._abstract import Distribution
from trueline.distributions._disagreement import Lines, lines_by_integrals
from trueline.distributions._quantiles import RecalibratedQuantiles
from trueline.laws import NormalLaw, ScoreLaw, count_in_rows


class Samples(Distribution):
    """Forecasts given by draws: posterior samples, ensemble members, simulated paths.

    The forecast is the empirical distribution of the draws: CDF, quantiles, mean, variance
    (divided by k) and CRPS are those of the draws. A step function has no density and no
    useful score, so ``pdf``, ``logpdf`` and ``score`` are those of the continuous curve through
    the sorted draws at levels (i - 1/2) / k, whose normal score is linear between and outside
    them. Recalibrated samples are continuous, unless outcomes have atoms. A row whose draws are all
    equal has no width, and its score is in billionths of the value: use `Point` for such forecasts.

    Parameters
    ----------
    draws : (n, k) array-like

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Samples([[0.0, 1.0]])
    >>> F.crps(0.0), F.crps(2.0)
    (array([0.25]), array([1.25]))
    """

    _kind: ClassVar[str] = "samples"
    _row_parameters: ClassVar[tuple[str, ...]] = ("draws",)
    _closed_crps: ClassVar[bool] = True
    _discrete: ClassVar[bool] = True
    _smooth = False

    draws: FloatArray

    def __init__(self, draws: ArrayLike) -> None:
        self.draws = np.sort(matrix(draws, "draws", "k"), axis=1)
        self._labels = labels_of(draws)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.draws)

    def _take(self, rows: Rows) -> Distribution:
        taken = object.__new__(Samples)
        taken.draws = self.draws[rows]
        return taken

    @cached_property
    def _curve(self) -> RecalibratedQuantiles:
        k = self.draws.shape[1]
        if k < 2:
            raise ValueError(
                "draws has 1 column; expected at least 2, because one draw says nothing about the "
                "spread. Use Point for a single value."
            )
        return RecalibratedQuantiles(self.draws, self._nodes, NormalLaw())

    @property
    def _nodes(self) -> FloatArray:
        """Normal scores of the sorted draws, (k,)."""
        k = self.draws.shape[1]
        return np.asarray(ndtri((np.arange(k) + 0.5) / k))

    def _widened(self, e: float) -> Distribution:
        if e == 0.0:
            return self
        wider = object.__new__(Samples)
        wider.draws = self.draws + e * self._nodes
        return wider

    def _continuous(self) -> Distribution:
        return self._curve

    def _point_masses(self) -> FloatArray:
        return self.draws

    def _lines(self, edges: FloatArray) -> Lines:
        # The CDF and its integrals are sums over the draws up to x. Values count from the median,
        # because differences of sums lose digits far from 0.
        k = self.draws.shape[1]
        centre = self.draws[:, [k // 2]]
        x, draws = edges.reshape(len(edges), -1) - centre, self.draws - centre
        count = count_in_rows(draws, x)
        share = np.arange(1.0, k + 1.0) / k
        gaps = np.diff(draws, axis=1, append=draws[:, -1:])
        sums = (draws, draws**2, gaps * share**2)
        first, second, squares = (
            np.take_along_axis(np.pad(np.cumsum(a, axis=1), ((0, 0), (1, 0))), at, axis=1)
            for a, at in zip(sums, (count, count, np.maximum(count - 1, 0)), strict=True)
        )
        last = np.take_along_axis(draws, np.maximum(count - 1, 0), axis=1)
        cdf = count / k
        area = (count * x - first) / k
        square = squares + np.where(count > 0, cdf**2 * (x - last), 0.0)
        double = 0.5 * (count * x**2 - 2.0 * x * first + second) / k
        return lines_by_integrals(edges, cdf, (area, square, double))

    @property
    def _draw_count(self) -> int:
        return self.draws.shape[1]

    def _cdf(self, y: FloatArray) -> FloatArray:
        return count_in_rows(self.draws, y) / self.draws.shape[1]

    def _cdf_and_slope(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        cdf = self._cdf(y)
        return cdf, np.zeros_like(cdf)

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return count_in_rows(self.draws, y, strict=True) / self.draws.shape[1]

    def _pit_bounds(self, y: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The outcome and the k draws are exchangeable if the forecast is calibrated, so the
        # rank of the outcome among all k + 1 is uniform.
        k = self.draws.shape[1]
        return self._cdf_left(y) * k / (k + 1), (cdf * k + 1.0) / (k + 1)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._curve._logpdf(y)

    def _interval_mass(self, coverage: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
        # The outcome is equally likely at any of the k + 1 places among the draws, so it falls
        # between draws l and u with probability (u - l) / (k + 1). An outcome outside is equal to
        # an end with the probability of ties among the draws there.
        k = self.draws.shape[1]
        first, last = self._place(np.array([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)]))
        places = np.full(len(self), float(last - first))
        if first < last:
            places += (self.draws[:, : first + 1] == self.draws[:, [first + 1]]).sum(axis=1)
            places += (self.draws[:, last:] == self.draws[:, [last - 1]]).sum(axis=1)
        return places / (k + 1.0)

    def _place(self, q: FloatArray) -> Rows:
        """Index of the smallest draw with CDF >= q."""
        k = self.draws.shape[1]
        # q k is rounded up, unless it exceeds an integer by a rounding error only.
        return np.clip(np.ceil(np.round(q * k, 9)).astype(np.intp) - 1, 0, k - 1)

    def _ppf(self, q: FloatArray) -> FloatArray:
        j = self._place(q)
        if j.shape[0] == 1:
            return self.draws[:, j[0]]
        return np.take_along_axis(self.draws, j, axis=1)

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._ppf(1.0 - q)  # the number of draws is small beside the digits of 1 - q

    def _mean(self) -> FloatArray:
        return self.draws.mean(axis=1)

    def _var(self) -> FloatArray:
        return self.draws.var(axis=1)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._mean_distance(y) - self._spread() / self.draws.shape[1] ** 2

    def _mean_distance(self, y: FloatArray) -> FloatArray:
        """Mean |draw - y|, from cumulative sums of the draws below and above y."""
        n, k = self.draws.shape
        centre = self._mean()[:, None]
        sums = np.zeros((n, k + 1))
        np.cumsum(self.draws - centre, axis=1, out=sums[:, 1:])
        count = count_in_rows(self.draws, y)
        below = np.take_along_axis(sums, count, axis=1)
        return (y - centre) * (2.0 * count / k - 1.0) + (sums[:, -1:] - 2.0 * below) / k

    def _spread(self) -> FloatArray:
        """Sum over pairs i < j of |draw_i - draw_j|, (n, 1)."""
        k = self.draws.shape[1]
        centred = self.draws - self._mean()[:, None]
        return (centred @ (2.0 * np.arange(k) - (k - 1.0)))[:, None]

    def _expected_distance(self) -> FloatArray:
        return 2.0 * self._spread()[:, 0] / self.draws.shape[1] ** 2

    def crps_fair(self, y: ArrayLike) -> FloatArray:
        """CRPS without the penalty for having few draws.

        ``crps`` is the score of the draws themselves. This is an unbiased estimate of the
        score of the distribution that they were drawn from: the sum over pairs is divided by
        k (k - 1) instead of k^2 (Ferro, 2014, doi:10.1002/qj.2270).

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Samples([[0.0, 1.0]]).crps_fair(0.0)
        array([0.])
        """
        return self._at("_crps_fair", y, limit=np.inf)

    def _crps_fair(self, y: FloatArray) -> FloatArray:
        k = self.draws.shape[1]
        if k < 2:
            raise ValueError("draws has 1 column; the fair CRPS needs at least 2 draws per row.")
        return self._mean_distance(y) - self._spread() / (k * (k - 1.0))

    def _sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        n, k = self.draws.shape
        return np.take_along_axis(self.draws, rng.integers(k, size=(n, size)), axis=1)

    def _score(self, y: FloatArray) -> FloatArray:
        return self._curve._score(y)

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        s = self._score(y)
        below, at = count_in_rows(self.draws, y, strict=True), count_in_rows(self.draws, y)
        on_draw = at > below
        if not on_draw.any():
            return s, s
        lower, upper = (ndtri(count / self.draws.shape[1]) for count in (below, at))
        return np.where(on_draw, lower, s), np.where(on_draw, upper, s)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self._curve._unscore(s)

    def _grid(self, z: FloatArray) -> FloatArray:
        if self.draws.shape[1] < 2:
            return self.draws
        return self._curve._grid(z)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return self._curve._recalibrate(law)
