"""A recalibrated forecast of any kind, through its normal score."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions._abstract import Distribution
from trueline.distributions._quadrature import Quadrature
from trueline.laws import ScoreLaw


class RecalibratedScores(Distribution):
    """The law of the score replaced, for a base whose score is the normal score of its CDF.

    Mean, variance and CRPS are by `Quadrature`; the rest is exact. Made by ``transform``.
    """

    def __init__(self, base: Distribution, law: ScoreLaw) -> None:
        self.base = base
        self.law = law

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.base)

    def _take(self, rows: Rows) -> Distribution:
        return RecalibratedScores(self.base._take(rows), self.law)

    @property
    def _supported(self) -> tuple[float, float]:
        return self.law.supported

    def _score(self, y: FloatArray) -> FloatArray:
        return self.base._score(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.base._unscore(s)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self.law.cdf(self._score(y))

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self.law.cdf_left(self._score(y))

    def _sf(self, y: FloatArray) -> FloatArray:
        return self.law.sf(self._score(y))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self.law.logcdf(self._score(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self.law.logsf(self._score(y))

    def _logpdf(self, y: FloatArray) -> FloatArray:
        s = self._score(y)
        # Where even the score has run out there is no density left.
        with np.errstate(invalid="ignore"):
            out = self.law.logpdf(s) + self.base._log_slope(y, s)
        return np.where(np.isinf(s), -np.inf, out)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._unscore(self.law.ppf(q))

    def _grid(self, z: FloatArray) -> FloatArray:
        edges = [self.base._grid(z), self._unscore(self.law.edges(z))]
        return np.sort(np.concatenate(edges, axis=1), axis=1)

    def _mean(self) -> FloatArray:
        return Quadrature(self.base, self.law).mean()

    def _var(self) -> FloatArray:
        return Quadrature(self.base, self.law).var()

    def _crps(self, y: FloatArray) -> FloatArray:
        return Quadrature(self.base, self.law).crps(y)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return RecalibratedScores(self.base, law)
