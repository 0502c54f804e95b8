"""Mixtures of forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from trueline._validation import FloatArray, Rows, as_float, check_finite
from trueline.distributions._abstract import Distribution, RecalibratedScores
from trueline.distributions._disagreement import disagreement, thinned
from trueline.distributions._location_scale import Normal
from trueline.distributions._roots import (
    ROUNDING,
    relative_excess,
    scaled_excess,
    solve_rows,
)
from trueline.laws import Function, NormalLaw, ScoreLaw, normal_score

# Normal scores within which the quantiles of the components bracket those of the mixture.
_BRACKET = 8.0
# Levels of the component quantiles that bracket those of the mixture, levels from which they surely
# do, and the level above which quantiles are solved for the survival function.
_LEAST = float(ndtr(-_BRACKET))
_ENCLOSED = 1e-6
_HIGH = 0.009
# Number of levels up to which averages of the component quantiles are the first guesses.
_FEW_LEVELS = 2
# Targets are lowered by this share at jumps.
_LEVEL_ROUNDING = 4.0 * ROUNDING
# Levels at minus one, zero and plus one standard deviation of a normal.
_CENTRAL = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))
# Share of the score that is linear in y.
_LINEAR = 0.05
# Few scores, where only the jumps between them matter.
_COARSE = np.linspace(-2.0, 2.0, 33)
# Number of scores that are inverted together.
_UNSCORED = 1 << 12
_NORMAL = NormalLaw()


class Mixture(Distribution):
    """Weighted mixtures: row i is the mixture of row i of every component.

    CDF, density, mean and variance are exact. Quantiles come from a bracketing root finder
    on the normal score of the CDF and are exact to rounding, far into both tails. The CRPS is
    exact for normal components (Grimit et al., 2006, doi:10.1256/qj.05.235). For others it is
    the exact mean CRPS of the components less the integral of their squared disagreement,
    by quadrature with a relative error below 1e-6 where the densities are smooth.

    The score is the normal score of the CDF plus one part in twenty that is linear in y.
    Between components that lie far apart the CDF is flat in floating point, and in heavy tails
    a normal score hardly grows; the linear part distinguishes values there. It changes nothing
    for a single normal component.

    Parameters
    ----------
    components : sequence of Distribution
        All with the same number of rows.
    weights : (K,) or (n, K) array-like, optional
        Weights of 0 or more, equal by default; they are scaled to sum to 1.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Mixture([tl.Normal([0.0], 1.0), tl.Normal([4.0], 1.0)])
    >>> F.cdf(2.0), F.ppf(0.5).round(6)
    (array([0.5]), array([2.]))
    """

    _kind: ClassVar[str] = "mixture"

    def __init__(
        self, components: Sequence[Distribution], weights: ArrayLike | None = None
    ) -> None:
        if isinstance(components, Distribution) or not all(
            isinstance(c, Distribution) for c in components
        ):
            raise TypeError(
                "components must be a sequence of distributions, such as [F1, F2]; "
                "convert others with as_distribution."
            )
        self.components = list(components)
        if not self.components:
            raise ValueError("components is empty; expected at least one distribution.")
        lengths = [len(c) for c in self.components]
        if len(set(lengths)) > 1:
            raise ValueError(f"components have {lengths} rows; expected the same number in each.")
        self.weights = _weights(weights, len(self.components), lengths[0])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.components[0])

    def _take(self, rows: Rows) -> Mixture:
        taken = object.__new__(Mixture)
        taken.components = [c._take(rows) for c in self.components]
        taken.weights = self.weights if len(self.weights) == 1 else self.weights[rows]
        if "_frame" in self.__dict__:
            centre, width = self._frame
            taken.__dict__["_frame"] = (centre[rows], width[rows])
        return taken

    @property
    def _component_support(self) -> tuple[float, float]:
        lows, highs = zip(*(c._supported for c in self.components), strict=True)
        return max(lows), min(highs)

    @property
    def _n_fit(self) -> float | None:
        """Number of rows with the sampling noise of this average of maps; None if one is unknown.

        Each map adds the square of its weight, divided by its rows, to the variance of the PIT, so
        K maps of n / K rows each are worth n rows. Different maps are taken to be fitted on
        different rows, as those of cross-validation are; the rows of a map that several
        components share count once.
        """
        weight: dict[int, float] = {}
        rows: dict[int, float] = {}
        for share, part in zip(self.weights.mean(axis=0).tolist(), self.components, strict=True):
            if part._n_fit is None:
                return None
            law = next(iter(part._learned_laws()), part)
            weight[id(law)] = weight.get(id(law), 0.0) + share
            rows[id(law)] = part._n_fit
        return 1.0 / sum(share**2 / rows[law] for law, share in weight.items())

    def _pit_bounds(self, y: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        bounds = [(w, c._pit_bounds(y, c._cdf(y))) for w, c in self._pairs()]
        lower, upper = (_sum([w * ends[i] for w, ends in bounds]) for i in (0, 1))
        return lower, upper

    @property
    def _smooth(self) -> bool:
        return all(c._smooth for c in self.components)

    def _has_atoms(self) -> bool:
        return any(c._has_atoms() for c in self.components)

    def _pairs(self) -> list[tuple[FloatArray, Distribution]]:
        """Weight, (n, 1) or (1, 1), and component."""
        return [(self.weights[:, i : i + 1], c) for i, c in enumerate(self.components)]

    def _cdf(self, y: FloatArray) -> FloatArray:
        return _sum([w * c._cdf(y) for w, c in self._pairs()])

    def _cdf_and_slope(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = [(w, c._cdf_and_slope(y)) for w, c in self._pairs()]
        cdf, slope = (_sum([w * both[i] for w, both in found]) for i in (0, 1))
        return cdf, slope

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return _sum([w * c._cdf_left(y) for w, c in self._pairs()])

    def _sf(self, y: FloatArray) -> FloatArray:
        return _sum([w * c._sf(y) for w, c in self._pairs()])

    def _log_sum(self, logs: list[FloatArray]) -> FloatArray:
        """Log of the weighted sum; scipy's logsumexp takes several times longer."""
        pairs = [(w, log) for (w, _), log in zip(self._pairs(), logs, strict=True)]
        top = np.full_like(logs[0], -np.inf)
        for w, log in pairs:
            np.maximum(top, log, out=top, where=w > 0)
        shift = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            terms = [np.where(w > 0, w * np.exp(log - shift), 0.0) for w, log in pairs]
            return shift + np.log(_sum(terms))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._log_sum([c._logcdf(y) for c in self.components])

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._log_sum([c._logsf(y) for c in self.components])

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._log_sum([c._logpdf(y) for c in self.components])

    def _continuous(self) -> Mixture:
        if all(c._continuous() is c for c in self.components):
            return self
        smooth = object.__new__(Mixture)
        smooth.components = [c._continuous() for c in self.components]
        smooth.weights = self.weights
        return smooth

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        # The score belongs to the continuous curves, so the map applies to them.
        return RecalibratedScores(self._continuous(), law)

    def _widened(self, e: float) -> Distribution:
        components = [c._widened(e) for c in self.components]
        if all(wide is c for wide, c in zip(components, self.components, strict=True)):
            return self
        wider = object.__new__(Mixture)
        wider.components, wider.weights = components, self.weights
        return wider

    @cached_property
    def _frame(self) -> tuple[FloatArray, FloatArray]:
        """Centre and width of each row, (n, 1), from the components' central quantiles."""
        low, middle, high = ([c._ppf(np.array([[q]])) for c in self.components] for q in _CENTRAL)
        weights = [w for w, _ in self._pairs()]
        centre = _sum([w * m for w, m in zip(weights, middle, strict=True)])
        within = [w * (b - a) / 2.0 for w, a, b in zip(weights, low, high, strict=True)]
        between = [w * (m - centre) ** 2 for w, m in zip(weights, middle, strict=True)]
        width = _sum(within) + np.sqrt(_sum(between))
        return centre, np.where(width > 0, width, 1e-9 * (1.0 + np.abs(centre)))

    def _score(self, y: FloatArray) -> FloatArray:
        smooth = self._continuous()
        centre, width = smooth._frame
        score = normal_score(smooth._logcdf(y), smooth._logsf(y))
        return (score + _LINEAR * (y - centre) / width) / (1.0 + _LINEAR)

    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray:
        centre, width = self._frame
        normal = (1.0 + _LINEAR) * s - _LINEAR * (y - centre) / width
        steep = Distribution._log_slope(self, y, normal)
        return np.logaddexp(steep, np.log(_LINEAR / width)) - np.log1p(_LINEAR)

    def _unscore(self, s: FloatArray) -> FloatArray:
        smooth = self._continuous()
        n, m = len(self), s.shape[1]
        s = np.broadcast_to(s, (n, m))
        out = np.empty((n, m))
        size = max(1, _UNSCORED // m)
        for start in range(0, n, size):
            # Each value has a row of its own, so that none depends on which others are asked for.
            target = s[start : start + size].reshape(-1, 1)
            part = smooth._take(np.repeat(np.arange(start, min(start + size, n)), m))
            guesses = part._guesses(ndtr(np.clip(target, -_BRACKET, _BRACKET)))
            found = solve_rows(part, _score_and_slope, scaled_excess, guesses, target)
            out[start : start + size] = found.reshape(-1, m)
        return out

    def _ppf(self, q: FloatArray) -> FloatArray:
        y = self._quantile(q, 1.0 - q)
        if len(q) == 1:
            # Each root has a rounding error, by which neighbouring quantiles must not cross.
            order = np.argsort(q[0])
            y[:, order] = np.maximum.accumulate(y[:, order], axis=1)
        return y

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._quantile(1.0 - q, q)

    def _quantile(self, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Quantiles with these probabilities below and above, of which the smaller is exact."""
        out = np.empty((len(self), lower.shape[1]))
        breaks = Mixture._breaks if self._has_atoms() else None
        high = upper < _HIGH
        for side, p, f in ((~high, lower, _cdf_and_slope), (high, -upper, _sf_and_slope)):
            columns = np.flatnonzero(side.any(axis=0))
            if not columns.size:
                continue
            # The level of a jump is a sum of weights, which may be rounded down.
            aim = p if breaks is None else p - _LEVEL_ROUNDING * np.abs(p)
            # An infinite target is not solved for.
            aim = np.where(side, aim, np.inf)[:, columns]
            q = lower[:, columns]
            guesses = self._guesses(np.clip(q, _LEAST, 1.0 - _LEAST))
            known = breaks is None and bool((np.minimum(q, 1.0 - q) > _ENCLOSED).all())
            found = solve_rows(self, f, relative_excess, guesses, aim, breaks, enclosed=known)
            out[:, columns] = np.where(side[:, columns], found, out[:, columns])
        return np.where(lower <= 0.0, -np.inf, np.where(upper <= 0.0, np.inf, out))

    def _guesses(self, q: FloatArray) -> FloatArray:
        """Values around the quantiles at levels q, in increasing order, (n, m + 2).

        All quantiles of the mixture lie between the extreme quantiles of its components. The
        averages of these are close to a few of them, unless components are far apart; a share of
        the quantiles of all components is close to many.
        """
        shape = (len(self), q.shape[1])
        found = [np.broadcast_to(c._ppf(q), shape) for c in self.components]
        if shape[1] > _FEW_LEVELS:
            return thinned(found)
        pooled = np.concatenate(found, axis=1)
        low, high = pooled.min(axis=1, keepdims=True), pooled.max(axis=1, keepdims=True)
        averages = _sum([w * own for (w, _), own in zip(self._pairs(), found, strict=True)])
        return np.concatenate([low, np.sort(np.clip(averages, low, high), axis=1), high], axis=1)

    def _breaks(self) -> FloatArray:
        """Values between which no component with atoms has a jump or is flat, (n, c)."""
        found = [c._grid(_COARSE) for c in self.components if c._may_have_atoms]
        return np.sort(np.concatenate(found, axis=1), axis=1)

    def _grid(self, z: FloatArray) -> FloatArray:
        return thinned([c._grid(z) for c in self.components])

    def _mean(self) -> FloatArray:
        return _sum([w[:, 0] * c._mean() for w, c in self._pairs()])

    def _var(self) -> FloatArray:
        mean = self._mean()
        return _sum([w[:, 0] * (c._var() + (c._mean() - mean) ** 2) for w, c in self._pairs()])

    def _expect(self, func: Function) -> FloatArray:
        return _sum([w[:, 0] * c._expect(func) for w, c in self._pairs()])

    def _crps(self, y: FloatArray) -> FloatArray:
        normals = [c for c in self.components if isinstance(c, Normal)]
        if len(normals) < len(self.components):
            own = _sum([w * c._crps(y) for w, c in self._pairs()])
            return np.where(
                np.isinf(own), own, own - disagreement(self.weights, self.components)[:, None]
            )
        distance = _sum(
            [
                w * _normal_distance(y - c.loc[:, None], c.scale[:, None])
                for (w, _), c in zip(self._pairs(), normals, strict=True)
            ]
        )
        return distance - 0.5 * self._normal_spread(normals)[:, None]

    def _normal_spread(self, normals: list[Normal]) -> FloatArray:
        """Expected distance of two independent draws."""
        spread = np.zeros(len(self))
        for i, a in enumerate(normals):
            for j, b in enumerate(normals[: i + 1]):
                both = (1.0 if i == j else 2.0) * self.weights[:, i] * self.weights[:, j]
                spread += both * _normal_distance(a.loc - b.loc, np.hypot(a.scale, b.scale))
        return spread

    def _sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        edges = np.cumsum(self.weights, axis=1)[:, :-1]
        choice = (rng.random((len(self), size, 1)) > edges[:, None, :]).sum(axis=2)
        draws = np.empty((len(self), size))
        for i, c in enumerate(self.components):
            mine = choice == i
            draws[mine] = c._sample(size, rng)[mine]
        return draws


def _sum(terms: list[FloatArray]) -> FloatArray:
    """Sum of arrays that broadcast."""
    return sum(terms[1:], terms[0])


def _cdf_and_slope(dist: Mixture, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    return dist._cdf_and_slope(y)


def _sf_and_slope(dist: Mixture, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Minus the survival function, which increases, and its slope."""
    return -dist._sf(y), dist._cdf_and_slope(y)[1]


def _score_and_slope(dist: Mixture, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    score = dist._score(y)
    with np.errstate(over="ignore", invalid="ignore"):
        return score, np.exp(dist._log_slope(y, score))


def _normal_distance(offset: FloatArray, scale: FloatArray) -> FloatArray:
    """E|X| for X ~ N(offset, scale^2)."""
    z = offset / scale
    return scale * (2.0 * _NORMAL.integral(z) - z)


def _weights(weights: ArrayLike | None, k: int, n: int) -> FloatArray:
    """Check mixture weights; return them as (1, K) or (n, K) that sum to 1 in each row."""
    if weights is None:
        return np.full((1, k), 1.0 / k)
    w = np.atleast_2d(as_float(weights, "weights"))
    if w.ndim != 2 or w.shape[1] != k or w.shape[0] not in (1, n):
        raise ValueError(
            f"weights has shape {np.shape(weights)}; expected ({k},) or ({n}, {k}), "
            f"one per component."
        )
    check_finite(w, "weights")
    if w.min() < 0 or not (w.sum(axis=1) > 0).all():
        raise ValueError(
            "weights holds a negative number or a row of zeros; expected weights of 0 or more "
            "with a positive sum."
        )
    return w / w.sum(axis=1, keepdims=True)
