"""The verdict on a forecast, which `Evaluation`, the command line and the report print.

A deviation counts if it is both significant and relevant:

- Coverage. The number of outcomes inside intervals of a calibrated forecast is binomial. If a map
  was fitted on n_fit rows, the probability of its interval is itself random: by the law of order
  statistics it is Beta((n_fit + 1) c, (n_fit + 1) (1 - c)) for coverage c, and the number is
  beta-binomial. Chance explains a coverage between the 2.5% and the 97.5% quantile. Intervals of
  few draws can hold less than their target, and then need not hold more than they can; outcomes
  with atoms force intervals to hold more, and then they may hold as much as the atoms force.
- Calibration. Chance explains an error of up to twice its floor, and any error if the p-value of
  `calibration_test` is 0.01 or more: a perfect forecast exceeds twice its floor about once in eight
  times. With a map the test compares two samples, the rows of the fit and the rows judged.
- A gap that chance does not explain is too small to matter if the coverage is within 1 point and
  within a tenth of the misses of its target, or if the calibration curve is within 1 point of the
  diagonal (root mean square).
- Rows are too few to tell if chance explains the result and moves the coverage over more than 15
  points, or to 0% or 100%; for calibration if they are fewer than 50.

With weights the number of rows is Kish's effective number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from trueline._html import table
from trueline._messages import percent
from trueline._validation import FloatArray
from trueline.metrics._counts import law_of_counts

CoverageDecision = Literal[
    "holds", "too narrow", "too wide", "too few rows to tell", "no intervals"
]
CalibrationDecision = Literal[
    "at the floor", "explained by chance", "too small to matter", "too few rows to tell",
    "recalibrate",
]  # fmt: skip

#: Probability that chance moves the coverage of a calibrated forecast out of its range.
LEVEL = 0.05
_SIGNIFICANT = 0.01
_TIMES_FLOOR = 2.0
_NEGLIGIBLE_GAP = 0.01
_NEGLIGIBLE_SHARE_OF_MISSES = 0.1
_WIDEST_RANGE = 0.15
_FEWEST_ROWS = 50
# Mean of p (1 - p) over the levels 0.1, ..., 0.9: chance moves a level by it, divided by the rows.
_LEVEL_VARIANCE = 11 / 60
# Shares are compared up to this rounding error, in rows.
_ROUNDING = 1e-6
# The law of the counts needs probabilities a little above 0 and below 1.
_CERTAIN = 1e-12
# An expected coverage this far from the target is explained.
_WORTH_A_WORD = 0.005


@dataclass(frozen=True)
class CoverageVerdict:
    """Whether intervals hold, as part of a `Verdict`.

    Attributes
    ----------
    decision : str
        "holds", "too narrow", "too wide", "too few rows to tell", or "no intervals" if their width
        is 0.
    coverage, target : float
        Share of outcomes inside the interval, and what it should be.
    low, high : float
        Coverages between which chance alone moves a calibrated forecast, with probability 0.95.
    expected : float
        Coverage that the forecast itself expects: the target, unless it is given by few draws or
        has atoms.
    draws : int or None
        Number of draws per row, if the forecast is given by draws.

    Examples
    --------
    >>> from trueline.metrics import decide_coverage
    >>> print(decide_coverage(0.8, 0.9, low=0.87, high=0.92).sentence)
    90% intervals hold 80.0% of the time: too narrow.
    """

    decision: CoverageDecision
    coverage: float
    target: float
    low: float
    high: float
    expected: float
    draws: int | None = None

    @property
    def by_chance(self) -> bool:
        """Whether chance explains the coverage."""
        return self.low <= self.coverage <= self.high

    @property
    def gap(self) -> float:
        """Distance of the coverage from what the forecast expects."""
        return abs(self.coverage - self.expected)

    @property
    def negligible(self) -> bool:
        """Whether the gap is too small to matter, however many the rows."""
        nearest = min(max(self.coverage, min(self.target, self.expected)), self.expected)
        most = min(_NEGLIGIBLE_GAP, _NEGLIGIBLE_SHARE_OF_MISSES * (1.0 - nearest))
        return abs(self.coverage - nearest) <= most

    @property
    def off(self) -> bool:
        """Whether the intervals are known not to hold."""
        return self.decision not in {"holds", "too few rows to tell"}

    @property
    def few_rows(self) -> bool:
        """Whether chance alone moves the coverage too far to tell much."""
        # Atoms may force an interval to hold everything; that does not take more rows to tell.
        forced = self.expected - self.target
        full = self.high >= 1.0 and forced <= _ROUNDING
        return self.low <= 0.0 or full or self.high - self.low > _WIDEST_RANGE + max(forced, 0.0)

    @property
    def words(self) -> str:
        """The decision as the end of a sentence."""
        if self.decision != "holds":
            return self.decision
        reason = ", up to chance" if self.by_chance else "; the gap is too small to matter"
        return f"as they should{reason}"

    @property
    def sentence(self) -> str:
        """The decision as a sentence."""
        if self.decision == "no intervals":
            return "Point forecasts have no intervals of their own: fit a map to give them some."
        target = percent(self.target)
        return f"{target} intervals hold {self.coverage:.1%} of the time: {self.words}."

    @property
    def reason(self) -> str:
        """Why the forecast expects another coverage than the target; empty if it does not."""
        forced = self.expected - self.target
        if abs(forced) < _WORTH_A_WORD or self.decision == "no intervals":
            return ""
        target = percent(self.target)
        if self.draws is None or forced > 0.0:
            return (
                f"The forecasts put {self.expected:.1%} of their probability into their {target} "
                f"intervals, because an interval contains an atom, such as a count, as a whole."
            )
        k = self.draws
        return (
            f"{target} intervals of {k:,} draws per row must under-cover: the outcome is like one "
            f"more draw, so that these hold {self.expected:.1%}, and no interval of {k:,} draws "
            f"more than {k - 1:,} in {k + 1:,}. Draw more, or recalibrate."
        )


@dataclass(frozen=True)
class CalibrationVerdict:
    """Whether a forecast is calibrated, as part of a `Verdict`.

    Attributes
    ----------
    decision : str
        "at the floor", "explained by chance", "too small to matter", "too few rows to tell" or
        "recalibrate".
    error, floor : float
        Calibration error, and that of a perfect forecaster.
    distance : float
        Root mean square distance of the calibration curve from the diagonal.
    p_value : float
        P-value of the calibration test.
    recalibrated : bool
        Whether the forecast is known to have been recalibrated.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.evaluate([0.0, 1.0], tl.Normal([0.0, 0.0], 1.0)).verdict.calibration.decision
    'too few rows to tell'
    """

    decision: CalibrationDecision
    error: float
    floor: float
    distance: float
    p_value: float
    recalibrated: bool = False

    @property
    def negligible(self) -> bool:
        """Whether the curve is so close to the diagonal that the rest is too small to matter."""
        return self.distance <= _NEGLIGIBLE_GAP

    @property
    def sentence(self) -> str:
        """The decision as a sentence; empty without a floor."""
        if self.floor == 0.0:
            return ""
        times = f"Calibration error {self.error / self.floor:.3g} times its floor"
        rows = "more rows, or rows more like these" if self.recalibrated else "held-out rows"
        return {
            "at the floor": "Calibration error below twice its floor: no more to win there, "
            "CRPS decides.",
            "explained by chance": f"{times}, which chance can explain (p = {self.p_value:.2g}, "
            f"{_SIGNIFICANT} or more).",
            "too small to matter": f"{times}, but the gap is too small to matter.",
            "too few rows to tell": "Too few rows to tell chance from miscalibration.",
            "recalibrate": f"{times}: recalibrate on {rows}.",
        }[self.decision]


@dataclass(frozen=True)
class Verdict:
    """Whether intervals hold and a forecast is calibrated, as far as its rows can tell.

    A deviation counts if chance does not explain it, given the rows of the evaluation and those
    of the fit, and if it is large enough to matter: a coverage more than 1 point and more than a
    tenth of the misses from its target, or a calibration curve more than 1 point from the diagonal.

    Attributes
    ----------
    coverage : CoverageVerdict
    calibration : CalibrationVerdict
        Each has a ``decision``, its numbers and a ``sentence``.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> verdict = tl.evaluate(y, tl.Normal(np.zeros(1000), 0.5)).verdict
    >>> verdict.coverage.decision, verdict.calibration.decision
    ('too narrow', 'recalibrate')
    >>> print(verdict)
    90% intervals hold 61.2% of the time: too narrow.
    Calibration error 68.5 times its floor: recalibrate on held-out rows.
    """

    coverage: CoverageVerdict
    calibration: CalibrationVerdict

    def __str__(self) -> str:
        """Return the sentences, one per line."""
        found = self.coverage
        return "\n".join(filter(None, [found.sentence, found.reason, self.calibration.sentence]))

    def _repr_html_(self) -> str:
        """Return the decisions and their sentences as an HTML table."""
        found = self.coverage
        why = " ".join(filter(None, [found.sentence, found.reason]))
        cells = [
            ("coverage", found.decision, why),
            ("calibration", self.calibration.decision, self.calibration.sentence),
        ]
        return table(["verdict on", "decision", "in words"], cells)


def decide_coverage(
    coverage: float,
    target: float,
    low: float,
    high: float,
    *,
    width: float = math.inf,
    expected: float | None = None,
    draws: int | None = None,
) -> CoverageVerdict:
    """Return the verdict on the coverage of intervals, from the ends of `chance_range`.

    Parameters
    ----------
    coverage, target : float
        Share of outcomes inside the interval, and what it should be.
    low, high : float
        Coverages that chance explains.
    width : float, optional
        Mean width of the intervals.
    expected : float, optional
        Coverage that the forecast itself expects; by default the target.
    draws : int, optional
        Number of draws per row, if the forecast is given by draws.

    Examples
    --------
    >>> from trueline.metrics import chance_range, decide_coverage
    >>> low, high = chance_range(500, 0.9)
    >>> decide_coverage(0.8, 0.9, low, high).decision
    'too narrow'
    """
    own = target if expected is None else expected

    def verdict(decision: CoverageDecision) -> CoverageVerdict:
        return CoverageVerdict(decision, coverage, target, low, high, own, draws)

    found = verdict("holds")
    if width == 0.0:
        return verdict("no intervals")
    if found.by_chance:
        return verdict("too few rows to tell") if found.few_rows else found
    if found.negligible:
        return found
    return verdict("too narrow" if coverage < low else "too wide")


def decide_calibration(
    error: float, floor: float, p: float, n: float, n_fit: float | None
) -> CalibrationVerdict:
    """Return the verdict on the calibration of n rows, where p is the p-value of the test."""
    rows = n if n_fit is None else 1.0 / (1.0 / n + 1.0 / n_fit)
    # For the default levels this is sqrt(error / 9); the floor scales it to other levels.
    distance = math.sqrt(_LEVEL_VARIANCE * error / (floor * rows)) if floor > 0.0 else 0.0

    def verdict(decision: CalibrationDecision) -> CalibrationVerdict:
        return CalibrationVerdict(decision, error, floor, distance, p, n_fit is not None)

    found = verdict("at the floor")
    if error > _TIMES_FLOOR * floor and p < _SIGNIFICANT:
        return verdict("too small to matter" if found.negligible else "recalibrate")
    if rows < _FEWEST_ROWS and floor > 0.0:
        return verdict("too few rows to tell")
    return found if error <= _TIMES_FLOOR * floor else verdict("explained by chance")


def chance_range(
    n: ArrayLike,
    target: ArrayLike,
    n_fit: float | None = None,
    level: float = LEVEL,
    *,
    expected: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the coverages between which chance alone moves calibrated forecasts.

    Parameters
    ----------
    n : array-like
        Number of rows; with weights their effective number, rounded.
    target : array-like
        Probability of the interval.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on.
    level : float, default 0.05
        Probability outside, at most half of it on either side.
    expected : array-like, optional
        Coverage that the forecast itself expects. If it is below the target it takes its place;
        above the target it is the coverage that the upper end allows for.

    Returns
    -------
    low, high : ndarray, of the shape of n and target

    Examples
    --------
    >>> from trueline.metrics import chance_range
    >>> [f"{end:.3f}" for end in chance_range(1000, 0.9)]
    ['0.881', '0.918']
    >>> [f"{end:.3f}" for end in chance_range(1000, 0.9, n_fit=500)]
    ['0.866', '0.930']
    """
    rows = np.maximum(np.rint(np.asarray(n, dtype=np.float64)), 1.0)
    law = law_of_counts(rows.astype(np.int64), n_fit)
    aim = np.asarray(target, dtype=np.float64)
    top = np.clip(aim if expected is None else expected, _CERTAIN, 1.0 - _CERTAIN)
    low, high = (
        law.lower(np.minimum(aim, top), 0.5 * level),
        rows - law.lower(1.0 - top, 0.5 * level),
    )
    return np.maximum((low - _ROUNDING) / rows, 0.0), np.minimum((high + _ROUNDING) / rows, 1.0)
