"""How much groups differ, and what the scores of a small group may be.

The scores of group g are taken as a_g + b_g Z, where Z has the law of the pooled scores, b_g is the
group's scale and a_g its shift. A few rows say little about both. Their prior is learned from all
groups by empirical Bayes, and `GroupPrior.predict` returns the predictive law of a group: pooled
scores at the shifts and scales that its rows leave open, which is wider than at the best of them.

Scales are on a grid, and a group is either not shifted or shifted by its own median. The likelihood
is that of Student's t, so that a single far row does not make a group wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from trueline._validation import FloatArray
from trueline.scores import Exact, Scores, round_scores

# Scales relative to the pooled scores: 1/32 to 64, three per factor of two.
_LOG_SCALES = np.arange(-15, 19) / 3.0 * math.log(2.0)
_SCALES = np.exp(_LOG_SCALES)
# Before any group is seen, log scales are Cauchy with this spread, and this share is shifted.
_SPREAD = 1.4
_SHIFTED = 0.05
# The number of groups that this counts as, and the largest number of groups to learn from.
_PSEUDO_GROUPS = 8.0
_MOST_GROUPS = 1000
_STEPS = 30
# Number of points that stand for the rows of a group, and for the pooled scores.
_ROWS = 128
_POINTS = 256
_LEAST_SPREAD = 0.1
# Larger scores, in units of the pooled ones, count as this, so that their squares are finite.
_FARTHEST = 1e100
# Components with a smaller probability are left out of a predictive law.
_NEGLIGIBLE = 1e-3
# Student's t with 5 degrees of freedom, whose median absolute value is 0.7267.
_DF = 5.0
_T_SCALE = 1.0 / 0.7267
# Variance of the location of n rows, times n, relative to their squared median absolute deviation.
_LOCATION_VARIANCE = (_DF + 3.0) / (_DF + 1.0) * _T_SCALE**2


class GroupPrior:
    """The law of shifts and scales of groups, learned from the groups themselves.

    Parameters
    ----------
    pooled : Scores
        The scores of all groups.
    groups : iterable of Scores
        The scores of each group.

    Attributes
    ----------
    scales : (low, high)
        Scales between which nine in ten groups lie, relative to the pooled scores.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.recalibration._hierarchy import GroupPrior
    >>> rng = np.random.default_rng(0)
    >>> parts = [tl.Isotonic().fit_scores(s * rng.normal(size=50)).scores_ for s in (1, 1, 4)]
    >>> pooled = tl.Isotonic().fit_scores(np.concatenate([p.values for p in parts])).scores_
    >>> [round(scale, 1) for scale in GroupPrior(pooled, parts).scales]
    [0.7, 2.4]
    """

    scales = (1.0, 1.0)

    def __init__(self, pooled: Scores, groups: Iterable[Scores]) -> None:
        self.kind = pooled.kind
        self.points = quantiles(pooled, _POINTS)
        self.centre = float(np.median(self.points))
        self.spread = float(np.median(np.abs(self.points - self.centre)))
        base = 1.0 / (1.0 + (_LOG_SCALES / _SPREAD) ** 2)
        base /= base.sum()
        self.prior = np.stack([(1.0 - _SHIFTED) * base, _SHIFTED * base])
        if self.spread > 0:
            self._learn(groups)

    def _learn(self, groups: Iterable[Scores]) -> None:
        """Maximise the penalised likelihood of the groups by expectation maximisation."""
        base, known = self.prior, list(groups)
        every = max(len(known) // _MOST_GROUPS, 1)
        likelihood = np.stack([self._likelihood(part) for part in known[::every]])
        for _ in range(_STEPS):
            joint = likelihood * self.prior
            posterior = joint / joint.sum(axis=(1, 2), keepdims=True)
            self.prior = _PSEUDO_GROUPS * base + posterior.sum(axis=0)
            self.prior /= self.prior.sum()
        scales = np.exp((posterior.sum(axis=1) * _LOG_SCALES).sum(axis=1))
        self.scales = float(np.quantile(scales, 0.05)), float(np.quantile(scales, 0.95))
        self._standardise(known[::every], posterior[:, 1].sum(axis=1), scales)

    def _standardise(
        self, groups: Sequence[Scores], shifted: FloatArray, scales: FloatArray
    ) -> None:
        """Replace the pooled scores by those that groups have at their own shift and scale.

        The pooled scores of groups that differ have heavier tails than any of the groups.
        """
        parts = [quantiles(part, _ROWS) - self.centre for part in groups]
        alike = [
            (x - share * np.median(x)) / scale
            for x, share, scale in zip(parts, shifted, scales, strict=True)
        ]
        weights = np.repeat([part.total for part in groups], _ROWS)
        shape = _thinned(np.concatenate(alike), weights)
        # Where the scores of a group are all equal they have no shape.
        if np.median(np.abs(shape)) > _LEAST_SPREAD * self.spread:
            self.points = self.centre + shape

    def _likelihood(self, part: Scores) -> FloatArray:
        """Return the likelihood of a group without and with shift, (2, scales), up to a factor."""
        rows = part.effective_rows
        with np.errstate(over="ignore"):
            t = (quantiles(part, _ROWS) - self.centre) / self.spread
        t = np.clip(t, -_FARTHEST, _FARTHEST)
        shift = np.median(t)
        log = np.empty((2, _SCALES.size))
        for i, centred in enumerate((t, t - shift)):
            z = np.abs(centred)[:, None] / (_T_SCALE * _SCALES)
            density = -0.5 * (_DF + 1.0) * np.log1p(z * z / _DF)
            log[i] = rows * (density.mean(axis=0) - _LOG_SCALES)
        # The shift is integrated over, with a Cauchy prior, by Laplace's method.
        deviation = _SCALES * math.sqrt(_LOCATION_VARIANCE / rows)
        log[1] += 0.5 * math.log(2.0 * math.pi) + np.log(deviation)
        log[1] -= math.log(math.pi) + math.log1p(shift * shift)
        return np.asarray(np.exp(log - log.max()))

    def predict(self, part: Scores, worth: float) -> Exact:
        """Return scores that follow the predictive law of a group and count as `worth` rows."""
        points = self.points
        if self.spread > 0:
            posterior = self.prior * self._likelihood(part)
            posterior[posterior < _NEGLIGIBLE * posterior.sum()] = 0.0
            posterior /= posterior.sum()
            shifted, scale = np.nonzero(posterior)
            shift = np.median(quantiles(part, _ROWS)) - self.centre
            # The own location of a group is known with an error, which widens its scale.
            more = math.sqrt(1.0 + _LOCATION_VARIANCE / part.effective_rows)
            scales = _SCALES[scale] * np.where(shifted, more, 1.0)
            law = scales[:, None] * (points - self.centre) + (shift * shifted)[:, None]
            law = _thinned(law.ravel(), np.repeat(posterior[shifted, scale], _POINTS))
            # Rounding hides in which order weights were added up.
            points = self.centre + round_scores(law)
        values, count = np.unique(points, return_counts=True)
        weights = count * np.float64(np.float32(worth * part.unit / _POINTS))
        return Exact(self.kind, values, weights, squares=worth * part.unit**2)


def quantiles(scores: Scores, most: int) -> FloatArray:
    """Return quantiles of the scores at evenly spaced levels."""
    upper = scores.cumulative()[1]
    levels = (np.arange(most) + 0.5) / most * scores.total
    return scores.values[np.searchsorted(upper, levels)]


def _thinned(x: FloatArray, w: FloatArray) -> FloatArray:
    """Return values at evenly spaced ranks of a weighted sample."""
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(w[order])
    levels = (np.arange(_POINTS) + 0.5) / _POINTS * reached[-1]
    return x[order][np.searchsorted(reached, levels)]
