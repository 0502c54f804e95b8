"""Scores of rows, before they are sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, check_finite, same_length, vector, weights
from trueline.distributions import Distribution
from trueline.interop import ForecastLike, check_forecast
from trueline.scores._intervals import Intervals, draw_within
from trueline.scores._range import (
    check_total_weight,
    first_out_of_range,
    in_range,
    in_range_or_infinite,
    score_fault,
    sorted_are_in_range,
)
from trueline.scores._sorted import KINDS, Scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """Scores of some rows, each an interval of scores, and the weights of the rows.

    Attributes
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    lower, upper : (n,) array
        Ends of the intervals, the same object if all intervals are points. They differ where the
        outcome is an atom of its forecast, and may then be infinite.
    weights : (n,) array or None
        None stands for a weight of one in every row.
    outcomes : (n,) array or None
        The outcomes that were scored, for messages.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.recalibration import ScoreRows
    >>> rows = ScoreRows.of_outcomes([3.0, 1.0], tl.Normal([1.0, 1.0], 2.0))
    >>> rows.lower, rows.upper is rows.lower
    (array([1., 0.]), True)
    """

    kind: str
    lower: FloatArray
    upper: FloatArray
    weights: FloatArray | None = None
    outcomes: FloatArray | None = None

    @classmethod
    def of_outcomes(
        cls, y: ArrayLike, dist: ForecastLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Check outcomes, forecasts and weights, and score the outcomes.

        Scores out of range are found when they are sorted, which spares a pass over them.
        """
        dist = check_forecast(dist, y=y)
        outcomes, w = check_outcomes(y, dist, sample_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = dist._score_bounds(outcomes[:, None])
        lower, upper = low[:, 0], high[:, 0]
        if low is high or np.array_equal(lower, upper):
            lower = upper
        return cls(dist.score_kind, lower, upper, w, outcomes)

    @classmethod
    def points(cls, kind: str, scores: FloatArray, weights: FloatArray | None = None) -> Self:
        """Return rows whose intervals are points; nothing is checked or copied."""
        return cls(kind, scores, scores, weights)

    @classmethod
    def of_scores(
        cls,
        scores: ArrayLike,
        upper: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        kind: str = "standardised",
    ) -> Self:
        """Check scores and weights; see `CommonMap.fit_scores`."""
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; expected one of {', '.join(map(repr, KINDS))}.")
        lower = vector(scores, "scores", finite=upper is None)
        w = _checked_weights(sample_weight, len(lower), "scores")
        if upper is not None:
            ends = vector(upper, "upper", finite=False)
            _check_upper(lower, ends)
            if (lower < ends).any():
                return cls(kind, lower, ends, w)
        return cls.points(kind, lower.copy(), w)  # because `sort` overwrites them

    @classmethod
    def concatenate(cls, parts: Sequence[ScoreRows]) -> Self:
        """Return the rows of all parts, without their outcomes."""
        w = None
        if any(part.weights is not None for part in parts):
            ones = (np.ones(len(p)) if p.weights is None else p.weights for p in parts)
            w = np.concatenate(list(ones))
        lower = np.concatenate([part.lower for part in parts])
        if not any(part.are_intervals for part in parts):
            return cls.points(parts[0].kind, lower, w)
        return cls(parts[0].kind, lower, np.concatenate([part.upper for part in parts]), w)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lower)

    @property
    def are_intervals(self) -> bool:
        """Whether some rows have an interval of scores instead of a score."""
        return self.lower is not self.upper

    @property
    def n_weighted(self) -> int:
        """The number of rows with a weight above 0."""
        return len(self) if self.weights is None else int(np.count_nonzero(self.weights))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Self:
        """Return some of the rows."""
        lower = self.lower[rows]
        return type(self)(
            self.kind,
            lower,
            self.upper[rows] if self.are_intervals else lower,
            None if self.weights is None else self.weights[rows],
            None if self.outcomes is None else self.outcomes[rows],
        )

    def weighted(self) -> Self:
        """Return the rows with a weight above 0; raise unless their scores are in range."""
        rows = self
        if self.weights is not None and not self.weights.min() > 0:
            rows = self.take(self.weights > 0)
        row = rows.first_invalid()
        if row is not None:
            rows._refuse(rows.fault(row))
        return rows

    def scaled(self, factor: float) -> Self:
        """Return the rows with their scores multiplied by a factor above 0."""
        lower = factor * self.lower
        upper = factor * self.upper if self.are_intervals else lower
        return type(self)(self.kind, lower, upper, self.weights, self.outcomes)

    def drawn(self, rng: np.random.Generator) -> Self:
        """Return the rows with a score drawn from each interval, by the normal law of scores."""
        if not self.are_intervals:
            return self
        wide = np.flatnonzero(self.lower < self.upper)
        s = self.lower.copy()
        s[wide] = draw_within(self.lower[wide], self.upper[wide], rng)
        return type(self)(self.kind, s, s, self.weights, self.outcomes)

    def first_invalid(self) -> int | None:
        """Return the first row whose score is out of range; ends of an interval may be infinite."""
        if not self.are_intervals:
            return first_out_of_range(self.lower)
        lower, upper = self.lower, self.upper
        good = np.where(lower < upper, in_range_or_infinite(lower), lower == upper)
        good &= np.where(lower < upper, in_range_or_infinite(upper), in_range(upper))
        return None if good.all() else int(np.argmin(good))

    def fault(self, row: int) -> str:
        """Return what is wrong with an invalid row, and how to fix it."""
        lower, upper = self.lower[row], self.upper[row]
        return score_fault(float(upper if in_range_or_infinite(lower) else lower))

    def sort(self) -> Scores:
        """Sort the scores, which is all of an isotonic fit. The rows are overwritten."""
        if self.are_intervals:
            rows = self.weighted()
            return Intervals.of_rows(rows.kind, rows.lower, rows.upper, rows.weights)
        s, w = self.lower, self.weights
        if w is None:
            s.sort()
        else:
            order = np.argsort(s)
            s, w = s[order], w[order]
            s, w = s[w > 0], w[w > 0]
        if not sorted_are_in_range(s):
            self._refuse(score_fault(float(s[np.argmin(in_range(s))])))
        return Scores.of_sorted(self.kind, s, w)

    def _refuse(self, fault: str) -> NoReturn:
        if self.outcomes is not None:
            check_finite(self.outcomes, "y")
        raise ValueError(fault)


def check_outcomes(
    y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    """Check outcomes, forecasts and weights; return outcomes and weights, which may be NaN."""
    outcomes = vector(y, "y", finite=False)
    same_length(len(dist), outcomes, "y", "dist", dist._draw_count)
    return outcomes, _checked_weights(sample_weight, len(dist), "y")


def _checked_weights(sample_weight: ArrayLike | None, n: int, what: str) -> FloatArray | None:
    w = weights(sample_weight, n, what)
    if w is not None:
        with np.errstate(over="ignore"):
            check_total_weight(float(w.sum()))
    return w


def _check_upper(lower: FloatArray, upper: FloatArray) -> None:
    same_length(len(lower), upper, "upper", "scores")
    bad = ~((lower < upper) | ((lower == upper) & np.isfinite(lower)))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"scores[{i}] is {lower[i]} and upper[{i}] is {upper[i]}; expected an upper end that "
            f"is not below the lower one, and finite ends where both are equal."
        )
