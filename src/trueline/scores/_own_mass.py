"""Recalibrated forecasts in which the mass of a new row differs from row to row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions import Cut, Distribution
from trueline.laws import Function, Law, ScoreLaw

# Share of the rows whose tails decide which levels a batch supports.
_MOST_ROWS = 0.95
_LAST = float(np.nextafter(1.0, 0.0))


class OwnMass(Distribution):
    """Mixtures of two recalibrations of a forecast, with a share of the second for each row.

    The first gives a new row no mass, the second gives it all, half below and half above the
    scores. Both have the same tails, so that quantiles are those of the first at other levels, and
    everything else follows from both in closed form. Made by ``transform(..., sample_weight=)``.

    Parameters
    ----------
    parts : sequence of three Distributions of n rows
        The forecast under the law without mass for the new row, under the law with nothing else,
        and under the equal mixture of both.
    law : ScoreLaw
        The first of these laws.
    share : (n,) array
        The share of the second law in each row, in [0, 1].

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Point([0.0, 0.0])
    >>> R = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point([0.0, 0.0, 0.0]))
    >>> R.transform(F, sample_weight=[1.0, 2.0]).cdf(3.0)
    array([0.75, 0.6 ])
    """

    _may_have_atoms = True

    def __init__(self, parts: Sequence[Distribution], law: ScoreLaw, share: FloatArray) -> None:
        self.plain, self.outer, self.half = parts
        self.law = law
        self.share = share
        self.score_kind = self.plain.score_kind  # type: ignore[misc]  # that of the base forecast
        self._closed_crps = self.plain._closed_crps  # type: ignore[misc]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.share)

    def _take(self, rows: Rows) -> Distribution:
        parts = [part._take(rows) for part in (self.plain, self.outer, self.half)]
        return OwnMass(parts, self.law, self.share[rows])

    # ---- levels ----------------------------------------------------------------------

    @property
    def _tails(self) -> tuple[FloatArray, FloatArray, float, float]:
        """Mass of the lower and the upper tail of each row, (n, 1), and of the first law."""
        low, high = self.law.supported
        own = self.share[:, None]
        return (
            (1.0 - own) * low + 0.5 * own,
            (1.0 - own) * (1.0 - high) + 0.5 * own,
            low,
            1.0 - high,
        )

    def _level(self, q: FloatArray) -> FloatArray:
        """Return the levels of the first law at the quantiles of level q, (n, m)."""
        lower, upper, low, high = self._tails
        own = self.share[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(own < 1.0, (q - 0.5 * own) / (1.0 - own), 0.5)
        inner = np.clip(inner, low, 1.0 - high)
        above = 1.0 - (1.0 - q) * (high / upper)
        level = np.where(q < lower, q * (low / lower), np.where(1.0 - q < upper, above, inner))
        # Next to 1 a level has too few digits to be inverted.
        return np.where(q < 1.0, np.minimum(level, _LAST), 1.0)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self.plain._ppf(self._level(q))

    def _isf(self, q: FloatArray) -> FloatArray:
        _, upper, _, high = self._tails
        # In the upper tail a small q has more digits than the level.
        inside = 1.0 - self._level(1.0 - q)
        return self.plain._isf(np.where(q < upper, q * (high / upper), inside))

    @property
    def _supported(self) -> tuple[float, float]:
        # A few rows that are unlike all others say little about the batch.
        lower, upper = (np.quantile(tail, _MOST_ROWS) for tail in self._tails[:2])
        return float(lower), 1.0 - float(upper)

    # ---- both laws together ----------------------------------------------------------

    def _mixed(self, of: Callable[[Distribution], FloatArray]) -> FloatArray:
        """Average what is linear in the CDF, (n,) or (n, k)."""
        # The second law is flat between its tails, where infinite values make 0 times infinity.
        with np.errstate(invalid="ignore"):
            first, second = of(self.plain), of(self.outer)
            own = self.share if first.ndim == 1 else self.share[:, None]
            mixed = (1.0 - own) * first + own * second
        return np.where(own == 0.0, first, np.where(own == 1.0, second, mixed))

    def _log_mixed(self, of: Callable[[Distribution], FloatArray]) -> FloatArray:
        own = self.share[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.logaddexp(np.log1p(-own) + of(self.plain), np.log(own) + of(self.outer))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._mixed(lambda part: part._cdf(y))

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self._mixed(lambda part: part._cdf_left(y))

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._mixed(lambda part: part._sf(y))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return _log_of(self._log_mixed(lambda part: part._logcdf(y)), self._sf(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return _log_of(self._log_mixed(lambda part: part._logsf(y)), self._cdf(y))

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._log_mixed(lambda part: part._logpdf(y))

    def _pit_bounds(self, y: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = (
            self._mixed(lambda part, i=i: part._pit_bounds(y, part._cdf(y))[i])  # type: ignore[misc]
            for i in (0, 1)
        )
        return lower, upper

    def _atom_mass(self, y: FloatArray) -> FloatArray:
        return self._mixed(lambda part: part._atom_mass(y))

    def _interval_mass(self, coverage: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
        if not self._has_atoms():
            return np.full(len(self), coverage)
        low, high = lower[:, None], upper[:, None]
        return (self._pit_bounds(high, high)[1] - self._pit_bounds(low, low)[0])[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment(lambda part: part._mean())

    def _var(self) -> FloatArray:
        mean = self._mean()
        return self._moment(lambda part: part._var() + (part._mean() - mean) ** 2)

    def _moment(self, of: Callable[[Distribution], FloatArray]) -> FloatArray:
        """Return a moment from those of the first law and the equal mixture.

        The second law has mass in its tails alone, on which quadrature has fewer digits.
        """
        twice = 2.0 * self.share
        with np.errstate(invalid="ignore"):
            mixed = (1.0 - twice) * of(self.plain) + twice * of(self.half)
        infinite = ~np.isfinite(mixed)
        return np.where(infinite, self._mixed(of), mixed) if infinite.any() else mixed

    def _expect(self, func: Function) -> FloatArray:
        return self._mixed(lambda part: part._expect(func))

    def _crps(self, y: FloatArray) -> FloatArray:
        own = self.share * (1.0 - self.share) * self._disagreement()
        return self._mixed(lambda part: part._crps(y)) - own[:, None]

    def _expected_distance(self) -> FloatArray:
        own = 2.0 * self.share * (1.0 - self.share) * self._disagreement()
        return self._mixed(lambda part: part._expected_distance()) + own

    def _disagreement(self) -> FloatArray:
        """Integral of the squared difference of both CDFs, (n,); the equal mixture shows it."""
        apart = [part._expected_distance() for part in (self.plain, self.outer)]
        return 2.0 * self.half._expected_distance() - apart[0] - apart[1]

    def _integrals(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        own = self.share[:, None]
        first, second, both = (p._integrals(x) for p in (self.plain, self.outer, self.half))
        area, square, double = (
            (1.0 - own) * a + own * b for a, b in zip(first, second, strict=True)
        )
        squared_difference = 2.0 * (first[1] + second[1]) - 4.0 * both[1]
        return area, square - own * (1.0 - own) * squared_difference, double

    def _grid(self, z: FloatArray) -> FloatArray:
        both = [self.plain._grid(z), self.outer._grid(z)]
        return np.sort(np.concatenate(both, axis=1), axis=1)

    # ---- what it was made of ---------------------------------------------------------

    @property
    def _smooth(self) -> bool:
        return self.plain._smooth

    @property
    def _n_fit(self) -> float | None:
        return self.plain._n_fit

    @property
    def _name(self) -> str:
        return self.plain._name

    def _has_atoms(self) -> bool:
        return self.plain._has_atoms()

    def _learned_laws(self) -> list[Law]:
        return self.plain._learned_laws()

    def _score(self, y: FloatArray) -> FloatArray:
        return self.plain._score(y)

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.plain._score_bounds(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.plain._unscore(s)

    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray:
        return self.plain._log_slope(y, s)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return self.plain._recalibrate(law)

    def _continuous(self) -> Distribution:
        parts = [part._continuous() for part in (self.plain, self.outer, self.half)]
        return OwnMass(parts, self.law, self.share)


def _log_of(log: FloatArray, rest: FloatArray) -> FloatArray:
    """Return the log of a probability, computed from what is left to 1 where that is small."""
    return np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), log)


def recalibrated(dist: Distribution, law: ScoreLaw, weight: FloatArray | None) -> Distribution:
    """Return the forecasts whose scores have this law.

    If the weights of the rows are given, (n,), each row has the mass of its own weight, where the
    law leaves mass to a new row.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.scores import recalibrated
    >>> law = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point([0.0, 0.0, 0.0])).law()
    >>> recalibrated(tl.Point([0.0]), law, None).cdf(3.0)
    array([0.75])
    """
    if weight is None or law.weights is None:
        return dist._recalibrate(law)
    laws = [law.with_new_mass(share) for share in (0.0, 1.0, 0.5)]
    parts = [dist._recalibrate(each) for each in laws]
    share = _share(weight, *law.weights)
    atoms = parts[0]._atoms
    if atoms is None:
        return OwnMass(parts, laws[0], share)
    return Cut(OwnMass([part._uncut() for part in parts], laws[0], share), atoms)


def _share(weight: FloatArray, total: float, usual: float) -> FloatArray:
    """Return the share of the second law of `OwnMass` in rows of these weights.

    In weighted conformal prediction a row of weight v, among rows of total weight W, knows its
    level up to v / (W + v). Where v is above the weight u of the mean new row, that is the mass of
    each tail, so that no quantile inside the scores is claimed beyond these levels. Otherwise the
    level is in the middle of that range, at which the tails have the mass (u + v) / 2 / (W + v).
    """
    light = weight / (total + weight)
    if total <= usual:
        return np.where(weight < usual, light, 1.0)
    rest = np.maximum(total - weight, 0.0) / (total + weight)
    return np.where(weight <= usual, light, 1.0 - rest * total / (total - usual))
