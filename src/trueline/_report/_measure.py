"""Everything that the page shows of one forecast, computed before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from trueline._report._kinds import is_recalibrated, is_rough
from trueline._report._words import Difference, Facts
from trueline._validation import FloatArray, RandomState
from trueline.distributions import Distribution
from trueline.metrics import (
    CalibrationCurve,
    Evaluation,
    PITHistogram,
    Widths,
    calibration_curve,
    evaluate,
    interval_widths,
    pit_histogram,
)
from trueline.metrics._intervals import miss_rows
from trueline.metrics._mean import effective_size, mean
from trueline.metrics._pit import pit_rows
from trueline.metrics._scores import crps_rows

# Rows worked on at a time, so that a forecast of many draws a row is never copied whole.
_BLOCK = 1 << 13
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of every row of a forecast.

    Attributes
    ----------
    inside : ndarray, (n,)
        1.0 where the outcome lies in its interval, 0.0 elsewhere.
    width, median, crps, pit : ndarray, (n,)
    """

    inside: FloatArray
    width: FloatArray
    median: FloatArray
    crps: FloatArray
    pit: FloatArray


@dataclass(frozen=True, eq=False)
class Measured:
    """One forecast, measured.

    Attributes
    ----------
    name : str
    slot : str
        "before" or "after": how it is drawn.
    dist : Distribution
    n_fit : float or None
        Rows that it was recalibrated on.
    facts : Facts
    evaluation, curve, histogram, widths, rows
    """

    name: str
    slot: str
    dist: Distribution
    n_fit: float | None
    facts: Facts
    evaluation: Evaluation
    curve: CalibrationCurve
    histogram: PITHistogram
    widths: Widths
    rows: Rows


def measure(
    name: str,
    slot: str,
    y: FloatArray,
    dist: Distribution,
    w: FloatArray | None,
    *,
    coverage: float,
    n_fit: float | None,
    random_state: RandomState,
) -> Measured:
    """Measure one forecast on checked rows."""
    evaluation = evaluate(
        y, dist, coverage=coverage, sample_weight=w, n_fit=n_fit, random_state=random_state
    )
    curve = calibration_curve(y, dist, sample_weight=w, confidence=CONFIDENCE)
    histogram = pit_histogram(
        y, dist, sample_weight=w, confidence=CONFIDENCE, random_state=random_state
    )
    widths = interval_widths(dist, coverage, sample_weight=w)
    low, high = chance_range(curve.n_effective, coverage, n_fit, 1.0 - CONFIDENCE)
    facts = Facts(
        name=name,
        rows=curve.n_effective,
        n_fit=n_fit,
        coverage=evaluation.coverage,
        target=coverage,
        low=float(low),
        high=float(high),
        width=evaluation.interval_width,
        error=evaluation.calibration_error,
        floor=evaluation.calibration_floor,
        in_band=curve.inside,
        crps=evaluation.crps,
        log_score=evaluation.log_score,
        recalibrated=n_fit is not None or is_recalibrated(dist),
        rough=is_rough(dist),
    )
    rows = _rows(y, dist, coverage)
    return Measured(name, slot, dist, n_fit, facts, evaluation, curve, histogram, widths, rows)


def _rows(y: FloatArray, dist: Distribution, coverage: float) -> Rows:
    inside, width, median, crps, pit = np.empty((5, y.size))
    tail = 0.5 * (1.0 - coverage)
    for start in range(0, y.size, _BLOCK):
        block = slice(start, min(start + _BLOCK, y.size))
        outcomes, part = y[block], dist._take(np.arange(block.start, block.stop))
        lower, upper = part._quantiles(np.array(tail)), part._quantiles(np.array(1.0 - tail))
        inside[block] = miss_rows(outcomes, lower, upper) == 0.0
        width[block] = upper - lower
        median[block] = part.median()
        crps[block] = crps_rows(outcomes, part)
        pit[block] = pit_rows(outcomes, part)
    return Rows(inside, width, median, crps, pit)


def binomial_rows(n: ArrayLike, n_fit: float | None) -> FloatArray:
    """Return the rows whose binomial law the coverage follows, a whole number of them.

    A map fitted on n_fit rows adds its own noise; as in `calibration_floor` it is that of
    1 / (1 / n + 1 / n_fit) rows.
    """
    fit = 0.0 if n_fit is None else 1.0 / n_fit
    return np.maximum(np.rint(1.0 / (1.0 / np.asarray(n, dtype=np.float64) + fit)), 1.0)


def chance_range(
    n: ArrayLike, coverage: float, n_fit: float | None, level: float
) -> tuple[FloatArray, FloatArray]:
    """Shares between which the coverage of a calibrated forecast lies on n rows.

    All but a probability of `level` of them: the central interval of the binomial law.
    """
    rows = binomial_rows(n, n_fit)
    low, high = binom.interval(1.0 - level, rows, coverage)
    return np.asarray(low) / rows, np.asarray(high) / rows


def score_difference(first: Measured, last: Measured, w: FloatArray | None) -> Difference:
    """Mean difference of the CRPS of the same rows, with its standard error."""
    with np.errstate(invalid="ignore"):
        rows = last.rows.crps - first.rows.crps
        centre = mean(rows, w)
        spread = np.sqrt(mean(np.square(rows - centre), w))
    n = effective_size(w, rows.size)
    return Difference(centre, float(spread / np.sqrt(max(n - 1.0, 1.0))))
