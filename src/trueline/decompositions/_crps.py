"""The CRPS split into miscalibration, discrimination and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.isotonic import pool
from trueline.metrics import check_rows, crps

# Up to this number of rows every threshold counts; beyond, so many of them do.
_MOST_ROWS = 5000
_MOST = 1000
# Number of probabilities that are held at a time.
_BLOCK = 1 << 20
# Digits of probabilities, and of means in units of the spread of outcomes, below which forecasts
# count as equal: they may differ by rounding.
_DIGITS = 12


@dataclass(frozen=True)
class CrpsDecomposition:
    """Result of `crps_decomposition`: crps = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    crps : float
        Mean CRPS of the forecasts.
    miscalibration : float
        What recalibrated forecasts would have gained, 0 or more: lower is better.
    discrimination : float
        What the recalibrated forecasts gain on one forecast for all rows: higher is better.
    uncertainty : float
        CRPS of that forecast, the distribution of the outcomes themselves. It is the same for all
        models of the same rows.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.crps_decomposition([1.0, 2.0, 4.0], tl.Point([2.0, 3.0, 5.0]))
    CRPS 1 = miscalibration 1 - discrimination 0.6667 + uncertainty 0.6667
    """

    crps: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def __repr__(self) -> str:
        """Return the equation."""
        return (
            f"CRPS {self.crps:.4g} = miscalibration {self.miscalibration:.4g} - discrimination "
            f"{self.discrimination:.4g} + uncertainty {self.uncertainty:.4g}"
        )


def crps_decomposition(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: ArrayLike | None = None
) -> CrpsDecomposition:
    r"""Split the mean CRPS into miscalibration, discrimination and uncertainty.

    .. math::

        \text{CRPS} = \underbrace{(\text{CRPS} - \text{CRPS}_\text{rc})}_\text{miscalibration}
        - \underbrace{(\text{CRPS}_\text{mg} - \text{CRPS}_\text{rc})}_\text{discrimination}
        + \underbrace{\text{CRPS}_\text{mg}}_\text{uncertainty}

    exactly. The index mg stands for the distribution of the outcomes as one forecast for all rows,
    and rc for the forecasts after isotonic recalibration on the rows themselves: at every threshold
    t the probabilities F(t) are replaced by the isotonic regression of the event y <= t on them;
    rows with equal F(t) are in the order of the means of their forecasts. As the CRPS is the
    integral of the Brier score over t, neither term is negative. A model with low discrimination
    knows little about the outcomes; one with high miscalibration says it wrongly, which a
    recalibrator may repair.

    Where the forecasts of any two rows are ordered, one above the other at every level, as points
    and forecasts of one width are, this is the isotonicity-based decomposition (Arnold et al.,
    2023, arXiv 2311.14122): the recalibrated forecasts are those of isotonic distributional
    regression. In general that one compares only rows whose forecasts are ordered, which takes a
    quadratic program for every threshold, overfits where few are, and gives both terms a value that
    is not smaller than here. The recalibrated probabilities are fitted on the same rows, so that
    with few rows both terms are too high; compare models on the same rows.

    With up to 5,000 rows there is a threshold between any two neighbouring outcomes, halfway.
    Beyond, there are 1,000, spread by what they add to the uncertainty. Miscalibration may be below
    0 by the error of these sums.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution of n rows, or what `as_distribution` takes
        Their forecasts.
    sample_weight : (n,) array-like, optional
        Weights of the rows.

    Examples
    --------
    Of two models that know the same, one is too sure:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 2000))
    >>> tl.crps_decomposition(x + noise, tl.Normal(x, 1.0))
    CRPS 0.5644 = miscalibration 0.01698 - discrimination 0.2412 + uncertainty 0.7886
    >>> tl.crps_decomposition(x + noise, tl.Normal(x, 0.2))
    CRPS 0.7053 = miscalibration 0.1579 - discrimination 0.2412 + uncertainty 0.7886
    """
    outcomes, forecast, w = check_rows(y, dist, sample_weight)
    score = crps(outcomes, forecast, sample_weight=w)
    share = np.full(len(outcomes), 1.0 / len(outcomes)) if w is None else w / w.sum()
    kept = np.flatnonzero(share > 0)
    outcomes, forecast, share = outcomes[kept], forecast._take(kept), share[kept]
    t, length, uncertainty = _thresholds(outcomes, share)
    discrimination = float(length @ _gains(outcomes, forecast, share, t))
    return CrpsDecomposition(
        crps=float(score),
        miscalibration=float(score) - (uncertainty - discrimination),
        discrimination=discrimination,
        uncertainty=uncertainty,
    )


def _thresholds(y: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return thresholds, their lengths in an integral over t, and the uncertainty."""
    z, place = np.unique(y, return_inverse=True)
    below = np.cumsum(np.bincount(place, share))[:-1]
    gaps, spread = np.diff(z), below * (1.0 - below)
    parts = gaps * spread
    total = float(parts.sum())
    if len(y) <= _MOST_ROWS or len(gaps) <= _MOST:
        return z[:-1] + 0.5 * gaps, gaps, total
    sums = np.cumsum(parts)
    wanted = (np.arange(_MOST) + 0.5) / _MOST * sums[-1]
    k = np.searchsorted(sums, wanted)
    inside = 1.0 - (sums[k] - wanted) / parts[k]
    return z[k] + inside * gaps[k], total / _MOST / spread[k], total


def _gains(y: FloatArray, dist: Distribution, share: FloatArray, t: FloatArray) -> FloatArray:
    """Return how much the recalibrated Brier score is below that of the base rate, at each t."""
    n, unit = len(y), float(np.ptp(y)) or 1.0
    mean = np.round((dist._centre() - y[0]) / unit, _DIGITS)
    # Sorting by F(t) keeps this order of equal rows. With events last, rows that are equal in both
    # are pooled.
    first = np.lexsort((-y, mean))
    y, dist, share = y[first], dist._take(first), share[first]
    out, size = np.empty(len(t)), max(1, _BLOCK // n)
    for start in range(0, len(t), size):
        at = t[start : start + size]
        cdf = np.round(np.broadcast_to(dist._cdf(at[None, :]), (n, len(at))), _DIGITS)
        order = np.argsort(-cdf.T, axis=1, kind="stable")
        weight = share[order]
        event = np.where(y[order] <= at[:, None], weight, 0.0)
        starts, found = pool(event.ravel(), weight.ravel(), n)
        row = starts // n
        mass = np.add.reduceat(weight.ravel(), starts)
        gain = mass * (found - event.sum(axis=1)[row]) ** 2
        out[start : start + size] = np.bincount(row, gain, len(at))
    return out
