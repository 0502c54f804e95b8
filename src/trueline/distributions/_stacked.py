"""Rows from several forecasts in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions._abstract import Distribution
from trueline.laws import ScoreLaw


class Stacked(Distribution):
    """Forecasts of different kinds or laws, put together row by row.

    Parameters
    ----------
    parts : sequence of Distribution
    rows : sequence of integer arrays
        The row numbers that each part fills; together they are 0 to n - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.distributions import Normal, Laplace, Stacked
    >>> parts = [Normal([0.0, 2.0], 1.0), Laplace(1.0, 1.0)]
    >>> Stacked(parts, [np.array([0, 2]), np.array([1])]).mean()
    array([0., 1., 2.])
    """

    def __init__(self, parts: Sequence[Distribution], rows: Sequence[Rows]) -> None:
        self.parts = list(parts)
        self.rows = list(rows)
        kinds = {part.score_kind for part in self.parts}
        if len(kinds) > 1:
            raise ValueError(
                f"parts have scores of different kinds ({', '.join(sorted(kinds))}); "
                f"expected one kind."
            )
        self.score_kind = kinds.pop()  # type: ignore[misc]  # the parts' own

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(len(r) for r in self.rows)

    def _take(self, rows: Rows) -> Distribution:
        owner = np.empty(len(self), dtype=np.intp)
        place = np.empty(len(self), dtype=np.intp)
        for i, r in enumerate(self.rows):
            owner[r] = i
            place[r] = np.arange(len(r))
        chosen = owner[rows]
        used = [i for i in range(len(self.parts)) if (chosen == i).any()]
        where = [np.flatnonzero(chosen == i) for i in used]
        parts = [self.parts[i]._take(place[rows[w]]) for i, w in zip(used, where, strict=True)]
        return Stacked(parts, where)

    @property
    def _supported(self) -> tuple[float, float]:
        lows, highs = zip(*(part._supported for part in self.parts), strict=True)
        return max(lows), min(highs)

    def _gather(
        self, call: Callable[[Distribution, FloatArray], FloatArray], a: FloatArray
    ) -> FloatArray:
        out = np.empty((len(self), a.shape[1]))
        for part, r in zip(self.parts, self.rows, strict=True):
            out[r] = call(part, a if a.shape[0] == 1 else a[r])
        return out

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._cdf(a), y)

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._cdf_left(a), y)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._sf(a), y)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._logcdf(a), y)

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._logsf(a), y)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._logpdf(a), y)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._ppf(a), q)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._crps(a), y)

    def _score(self, y: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._score(a), y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self._gather(lambda part, a: part._unscore(a), s)

    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray:
        out = np.empty((len(self), y.shape[1]))
        for part, r in zip(self.parts, self.rows, strict=True):
            out[r] = part._log_slope(y if y.shape[0] == 1 else y[r], s[r])
        return out

    def _mean(self) -> FloatArray:
        return self._gather(lambda part, _: part._mean()[:, None], np.empty((1, 1)))[:, 0]

    def _var(self) -> FloatArray:
        return self._gather(lambda part, _: part._var()[:, None], np.empty((1, 1)))[:, 0]

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return Stacked([part._recalibrate(law) for part in self.parts], self.rows)

    def _continuous(self) -> Distribution:
        return Stacked([part._continuous() for part in self.parts], self.rows)
