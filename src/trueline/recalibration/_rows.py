"""Scores of rows, as they come and before they are sorted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, check_finite, same_length, vector, weights
from trueline.distributions import Distribution
from trueline.recalibration._scores import KINDS, Exact, Scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """Scores of some rows, each an interval of scores, and the weights of the rows.

    Attributes
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    lower, upper : (n,) array
        Ends of the intervals. They are the same object, because both ends are equal for now.
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
        cls, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Check outcomes, forecasts and weights, and score the outcomes.

        Scores that are not finite are found when they are sorted, which spares a pass over them.
        """
        if not isinstance(dist, Distribution):
            raise TypeError(
                f"dist is a {type(dist).__name__}; expected a trueline distribution. "
                f"Convert it with trueline.as_distribution(dist)."
            )
        outcomes = vector(y, "y", finite=False)
        same_length(len(dist), outcomes, "y", "dist", dist._draw_count)
        w = _checked_weights(sample_weight, len(dist), "y")
        with np.errstate(over="ignore", invalid="ignore"):
            s = dist._score(outcomes[:, None])[:, 0]
        return cls(dist.score_kind, s, s, w, outcomes)

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
        lower = vector(scores, "scores")
        if upper is not None:
            _check_upper(lower, vector(upper, "upper"))
        w = _checked_weights(sample_weight, len(lower), "scores")
        return cls.points(kind, lower.copy(), w)  # because `sort` overwrites them

    @classmethod
    def concatenate(cls, parts: Sequence[ScoreRows]) -> Self:
        """Return the rows of all parts, without their outcomes."""
        w = None
        if any(part.weights is not None for part in parts):
            ones = (np.ones(len(p)) if p.weights is None else p.weights for p in parts)
            w = np.concatenate(list(ones))
        return cls.points(parts[0].kind, np.concatenate([part.lower for part in parts]), w)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lower)

    @property
    def n_weighted(self) -> int:
        """The number of rows with a weight above 0."""
        return len(self) if self.weights is None else int(np.count_nonzero(self.weights))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Self:
        """Return some of the rows."""
        s = self.lower[rows]
        return type(self)(
            self.kind,
            s,
            s,
            None if self.weights is None else self.weights[rows],
            None if self.outcomes is None else self.outcomes[rows],
        )

    def weighted(self) -> Self:
        """Return the rows with a weight above 0; raise unless their scores are finite."""
        rows = self
        if self.weights is not None and not self.weights.min() > 0:
            rows = self.take(self.weights > 0)
        if not np.isfinite(rows.lower).all():
            rows._raise_not_finite()
        return rows

    def sort(self) -> Exact:
        """Sort the scores, which is all of an isotonic fit. The rows are overwritten."""
        s, w = self.lower, self.weights
        if w is None:
            s.sort()
        else:
            order = np.argsort(s)
            s, w = s[order], w[order]
            s, w = s[w > 0], w[w > 0]
        # A NaN or an infinity sorts to an end.
        if not (math.isfinite(s[0]) and math.isfinite(s[-1])):
            self._raise_not_finite()
        return Scores.of_sorted(self.kind, s, w)

    def _raise_not_finite(self) -> NoReturn:
        if self.outcomes is not None:
            check_finite(self.outcomes, "y")
        raise ValueError(
            "a score is not finite: y lies further from its forecast than float64 can count "
            "in units of the forecast's scale. Check for a scale that is almost 0."
        )


def _checked_weights(sample_weight: ArrayLike | None, n: int, what: str) -> FloatArray | None:
    w = weights(sample_weight, n, what)
    with np.errstate(over="ignore"):
        if w is not None and not np.isfinite(w.sum()):
            raise ValueError(
                "sample_weight sums to more than float64 can hold; expected a finite sum. "
                "Divide the weights by their mean."
            )
    return w


def _check_upper(lower: FloatArray, upper: FloatArray) -> None:
    same_length(len(lower), upper, "upper", "scores")
    if (lower == upper).all():
        return
    i = int(np.argmin(lower == upper))
    found = f"scores[{i}] is {lower[i]} and upper[{i}] is {upper[i]}"
    if upper[i] < lower[i]:
        raise ValueError(f"{found}; expected an upper end that is not below the lower one.")
    raise NotImplementedError(
        f"{found}; expected equal ends, because maps do not learn from intervals of scores yet. "
        f"Leave out upper."
    )
