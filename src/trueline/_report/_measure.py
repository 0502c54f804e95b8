"""All numbers that the page shows for one forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from trueline._report._inputs import Inputs
from trueline._report._words import Facts
from trueline._validation import FloatArray, generator
from trueline.distributions import Distribution
from trueline.metrics import (
    CalibrationCurve,
    Evaluation,
    EvaluationAccumulator,
    FileEvaluation,
    GroupEvaluation,
    PITHistogram,
    Widths,
    calibration_curve,
    crps,
    interval_misses,
    interval_widths,
    pit_histogram,
)

# Rows worked on at a time, so that a forecast with many draws per row is never copied whole.
_BLOCK = 1 << 13
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Rows:
    """Results per row of a forecast.

    ``inside`` is 1.0 for outcomes in their interval, else 0.0; ``expected`` is the probability of
    that by the forecast itself.
    """

    inside: FloatArray
    expected: FloatArray
    width: FloatArray
    median: FloatArray
    crps: FloatArray


@dataclass(frozen=True, eq=False)
class Measured:
    """One forecast, measured; ``slot`` says how it is drawn, see `_style`."""

    name: str
    slot: str
    dist: Distribution
    facts: Facts
    groups: dict[str, GroupEvaluation]
    curve: CalibrationCurve
    histogram: PITHistogram
    widths: Widths
    rows: Rows

    @property
    def evaluation(self) -> Evaluation:
        """All its diagnostics."""
        return self.facts.evaluation


def measure(
    name: str, slot: str, dist: Distribution, inputs: Inputs, n_fit: float | None
) -> Measured:
    """Measure one forecast on checked rows; `n_fit` is the number of rows of its fit."""
    y, w, coverage, groups = inputs.y, inputs.w, inputs.coverage, inputs.groups
    accumulator = EvaluationAccumulator(coverage, grouped=groups is not None)
    codes, names = (None, []) if groups is None else (groups.codes, groups.labels)
    accumulator.add(y, dist, w, generator(inputs.random_state), codes, names)
    # Rows of weight 0 are left out before, so there is a result.
    found = cast(FileEvaluation, accumulator.finish(None if n_fit is None else lambda _: n_fit))
    options: dict[str, Any] = {
        "sample_weight": w,
        "confidence": CONFIDENCE,
        "n_fit": n_fit,
        "random_state": inputs.random_state,
    }
    curve, histogram = calibration_curve(y, dist, **options), pit_histogram(y, dist, **options)
    widths = interval_widths(dist, coverage, sample_weight=w)
    laws = dist._learned_laws()
    # The density of an isotonic map has steps.
    facts = Facts(name, found.overall, rough=not all(law.smooth for law in laws))
    rows = _rows(y, dist, coverage)
    return Measured(name, slot, dist, facts, found.groups, curve, histogram, widths, rows)


def _rows(y: FloatArray, dist: Distribution, coverage: float) -> Rows:
    inside, expected, width, median, score = np.empty((5, y.size))
    for start in range(0, y.size, _BLOCK):
        block = slice(start, min(start + _BLOCK, y.size))
        outcomes, part = y[block], dist._take(np.arange(block.start, block.stop))
        lower, upper = part._interval(np.array(coverage))
        inside[block] = interval_misses(outcomes, lower, upper) == 0.0
        expected[block] = part._interval_mass(coverage, lower, upper)
        width[block] = upper - lower
        median[block] = part.median()
        score[block] = crps(outcomes, part, reduce=False)
    return Rows(inside, expected, width, median, score)
