"""Sorted scores: the empirical CDF of the rows that a map is learned from."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from trueline._validation import CalibrationWarning, FloatArray
from trueline.scores._cells import round_scores

#: The name of a group.
Key = str | int | float | bool

#: Kinds of scores, with the forecasts that have them.
KINDS = {
    "standardised": "Normal, StudentT, Laplace, Logistic",
    "residual": "Point",
    "normal score": "Samples, Quantiles, Mixture and others",
}
_BLOCK = 1 << 16
# Share by which a sum of weights may be off.
_ROUNDING = 1e-9
_LARGEST = float(np.finfo(np.float64).max)


class Scores(ABC):
    """Scores as a cumulative weight: the empirical CDF, times the number of rows.

    Attributes
    ----------
    kind : str
        The ``score_kind`` of the forecasts they came from.
    values : (m,) array
        Strictly increasing.
    error : float
        Largest distance of this CDF from the one before compression.
    rounded : bool
        Whether scores were rounded, see `round_scores`.
    squares : float or None
        Sum of the squared weights of the rows, which are not those of the values, because rows
        may tie. None stands for rows of weight one.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.Isotonic().fit([1.0, 3.0, 2.0], tl.Point([0.0, 0.0, 0.0])).scores_
    <Exact residual scores: 3 values of 3 rows>
    """

    kind: str
    values: FloatArray
    error: float
    rounded: bool
    squares: float | None

    def __repr__(self) -> str:
        """Return a summary in one line; the scores themselves are in ``values``."""
        rounded = ", rounded" if self.rounded else ""
        off = f", error {self.error:.2g}" if self.error else ""
        rows = f"{len(self)} values of {self.total:.15g} rows"
        return f"<{type(self).__name__} {self.kind} scores: {rows}{rounded}{off}>"

    @staticmethod
    def of_sorted(
        kind: str, s: FloatArray, w: FloatArray | None, given: FloatArray | None = None
    ) -> Exact:
        """Return the exact scores of rows that are sorted by score, with their weights.

        `given` are the weights before rows faded, because a row that has faded is less than a row.
        """
        return Exact(kind, *collapse(s, w), squares=sum_of_squares(w, given))

    @property
    @abstractmethod
    def total(self) -> float:
        """Total weight, which is the number of rows if every row has a weight of one."""

    @property
    def distinct(self) -> int:
        """Number of distinct scores."""
        return len(self.values)

    @property
    def unit(self) -> float:
        """The weight that counts as one row: sum(w^2) / sum(w) over the rows, but at least 1.

        That is the weight which a new row is expected to have. Guarantees depend on the number of
        rows: a row with a large weight is one row, and a row with a weight below one, such as one
        of several forecasts of the same row, is less than one.
        """
        if self.squares is None:
            return 1.0
        return max(min(self.squares / self.total, self.total), 1.0)

    @property
    def effective_rows(self) -> float:
        """Number of rows that the scores count as: the smaller of `total` and Kish's number."""
        return self.total / self.unit

    def __len__(self) -> int:
        """Return the number of values that are kept, or of intervals."""
        return len(self.values)

    @abstractmethod
    def cumulative(self) -> tuple[FloatArray, FloatArray]:
        """Return the cumulative weight just below and at each value; it is linear in between.

        Of the weight of a value, up to one `unit` is spread over the interval from the value
        below, and the rest is a jump. Without jumps the same array is returned twice.
        """

    def slack(self) -> FloatArray | float:
        """Return half of what the weight of a value lacks of one `unit`.

        Positions shifted by it lie in the middle of the row that they are part of, so that they
        are the same from above and from below. It is 0 for whole rows.
        """
        return 0.0

    @abstractmethod
    def round(self) -> Scores:
        """Return these scores, rounded."""

    @abstractmethod
    def points(self) -> tuple[FloatArray, FloatArray]:
        """Return the scores as a weighted sample: points and their weights."""

    def rows(self) -> tuple[FloatArray, FloatArray, FloatArray | None] | None:
        """Return the ends of the intervals of scores, and weights; None if rows are not kept."""
        return None

    def normal_law(self) -> tuple[float, float] | None:
        """Return mean and standard deviation of the law by which intervals are spread, if any."""
        return None

    def spread_by(self, normal: tuple[float, float] | None) -> Scores:
        """Return the scores as points; intervals are spread by this law, by default their own."""
        return self

    def join(self, other: Scores) -> Scores | None:
        """Return the scores of both as intervals, if this part has some and both keep rows."""
        return None

    def mean_and_std(self) -> tuple[float, float]:
        """Return the weighted mean and standard deviation; the latter is never zero."""
        x, w = self.points()
        # Relative to the middle score, so that tied scores have a deviation of exactly zero.
        centre = x[len(x) // 2]
        offset = float(np.average(x - centre, weights=w))
        std = float(np.sqrt(np.average((x - centre - offset) ** 2, weights=w)))
        return float(centre) + offset, std if std > 0 else fallback_scale(x[0], self.kind)

    def warn_if_weak(self, rows: int, stacklevel: int = 4) -> None:
        """Warn of ties and small weights, which make a map weaker than its rows suggest."""
        distinct = self.distinct
        if rows > 2 and distinct < 0.5 * rows:
            warnings.warn(
                f"{rows} rows have only {distinct} distinct scores: more than half are tied, so "
                f"the recalibrated forecasts have atoms and no reliable density.",
                CalibrationWarning,
                stacklevel=stacklevel,
            )
        if rows > 1 and self.total <= 1.0 + 1e-9:
            warnings.warn(
                f"sample_weight sums to {self.total:.4g} over {rows} rows. A weight below 1 counts "
                f"as less than a row, so these are worth one row: scale them to sum to {rows}.",
                CalibrationWarning,
                stacklevel=stacklevel,
            )

    def compress(self, max_knots: int) -> Scores:
        """Keep at most `max_knots` values, evenly spaced in rank; ``error`` is the change."""
        if len(self.values) <= max_knots:
            return self
        lower, upper = self.cumulative()
        wanted = np.linspace(upper[0], self.total, max_knots)
        if np.any(self.slack()) and max_knots > 3:
            # Tails begin at the outermost effective rows, so that these are among the values.
            inside = (upper + self.slack() >= self.unit) & (lower + self.slack() <= self.total)
            ends = upper[inside][[0, -1]] if inside.any() else upper[[0, -1]]
            wanted = np.concatenate(
                [upper[:1], np.linspace(ends[0], ends[1], max_knots - 2), upper[-1:]]
            )
        keep = np.unique(np.minimum(np.searchsorted(upper, wanted), len(upper) - 1))
        kept = Compressed(
            self.kind,
            self.values[keep],
            lower[keep],
            upper[keep],
            0.0,
            rounded=self.rounded,
            squares=self.squares,
        )
        worst = 0.0
        for start in range(0, len(self.values), _BLOCK):  # in blocks, to save memory
            rows = slice(start, start + _BLOCK)
            low, high = kept.at(self.values[rows])
            off = max(np.abs(low - lower[rows]).max(), np.abs(high - upper[rows]).max())
            worst = max(worst, float(off))
        kept.error = min(self.error + worst / self.total, 1.0)
        return kept

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the cumulative weight just below and at any x; it is 0 below the first value."""
        lower, upper = self.cumulative()
        j = np.searchsorted(self.values, x, side="right") - 1
        start = np.clip(j, 0, len(self.values) - 1)
        stop = np.minimum(start + 1, len(self.values) - 1)
        width = np.where(stop > start, self.values[stop] - self.values[start], 1.0)
        share = (x - self.values[start]) / width
        high = np.where(
            stop > start, upper[start] + share * (lower[stop] - upper[start]), upper[start]
        )
        high = np.where(j < 0, 0.0, high)
        low = np.where((j >= 0) & (x == self.values[start]), lower[start], high)
        return low, high


@dataclass(eq=False, repr=False)
class Exact(Scores):
    """All scores, ties collapsed; ``weights`` is None if each value has a weight of one."""

    kind: str
    values: FloatArray
    weights: FloatArray | None
    error: float = field(default=0.0, init=False)
    rounded: bool = field(default=False, kw_only=True)
    squares: float | None = field(default=None, kw_only=True)

    def round(self) -> Exact:
        if self.rounded:
            return self
        parts = collapse(round_scores(self.values), self.weights)
        return Exact(self.kind, *parts, rounded=True, squares=self.squares)

    @property
    def total(self) -> float:
        if self.weights is None:
            return float(len(self.values))
        # The same sum as in `cumulative`, so that both round in the same way.
        return float(np.cumsum(self.weights)[-1])

    def cumulative(self) -> tuple[FloatArray, FloatArray]:
        if self.weights is None:
            ranks = np.arange(1.0, len(self.values) + 1.0)
            return ranks, ranks
        upper = np.cumsum(self.weights)
        if self.weights.max() <= self.unit * (1.0 + _ROUNDING):
            return upper, upper
        # Added to the value below, because a large weight minus one row would lose the row.
        lower = np.minimum(self.weights, self.unit)
        lower[1:] += upper[:-1]
        return lower, upper

    def slack(self) -> FloatArray | float:
        if self.weights is None or self.weights.min() >= self.unit * (1.0 - _ROUNDING):
            return 0.0
        return 0.5 * np.maximum(self.unit - self.weights, 0.0)

    def points(self) -> tuple[FloatArray, FloatArray]:
        w = np.broadcast_to(1.0, self.values.shape) if self.weights is None else self.weights
        return self.values, w

    def rows(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        return self.values, self.values, self.weights


@dataclass(eq=False, repr=False)
class Compressed(Scores):
    """Some of the scores, with their cumulative weights."""

    kind: str
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    error: float
    rounded: bool = field(default=False, kw_only=True)
    squares: float | None = field(default=None, kw_only=True)

    def round(self) -> Compressed:
        if self.rounded:
            return self
        values = round_scores(self.values)
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        last = np.append(first[1:] - 1, len(values) - 1)
        return Compressed(
            self.kind,
            values[first],
            self.lower[first],
            self.upper[last],
            self.error,
            rounded=True,
            squares=self.squares,
        )

    @property
    def total(self) -> float:
        return float(self.upper[-1])

    def cumulative(self) -> tuple[FloatArray, FloatArray]:
        return self.lower, self.upper

    def slack(self) -> float:
        # The weights of single values are not kept; the first is taken for all.
        return 0.5 * max(self.unit - float(self.lower[0]), 0.0)

    def points(self) -> tuple[FloatArray, FloatArray]:
        # Weight that is spread between two values is put in their middle; jumps, and the weight
        # below the first value, are put at the value.
        x = np.empty(2 * len(self.values) - 1)
        w = np.empty_like(x)
        x[::2], w[::2] = self.values, self.upper - self.lower
        x[1::2] = 0.5 * (self.values[1:] + self.values[:-1])
        w[1::2] = self.lower[1:] - self.upper[:-1]
        w[0] += self.lower[0]
        return x[w > 0], w[w > 0]


def combine(first: Scores, second: Scores) -> Scores:
    """Return the scores of both parts together."""
    rounded = first.rounded or second.rounded
    if rounded:
        first, second = first.round(), second.round()
    if isinstance(first, Exact) and isinstance(second, Exact):
        return _combine_exact([first, second])
    for part, other in ((first, second), (second, first)):
        joined = part.join(other)
        if joined is not None:
            return joined
    x = np.union1d(first.values, second.values)
    lower, upper = (a + b for a, b in zip(first.at(x), second.at(x), strict=True))
    total = first.total + second.total
    # Between its values each part has an error of up to one row more.
    unit = max(first.unit, second.unit)
    error = min((first.error * first.total + second.error * second.total + unit) / total, 1.0)
    squares = joint_squares([first, second])
    return Compressed(first.kind, x, lower, upper, error, rounded=rounded, squares=squares)


def combine_all(parts: Sequence[Scores]) -> Scores:
    """Return the scores of all parts together."""
    exact = [part for part in parts if isinstance(part, Exact)]
    rest = [part for part in parts if not isinstance(part, Exact)]
    return reduce(combine, [*rest, *([_combine_exact(exact)] if exact else [])])


def _combine_exact(parts: Sequence[Exact]) -> Exact:
    rounded = any(part.rounded for part in parts)
    if rounded:
        parts = [part.round() for part in parts]
    x = np.concatenate([part.values for part in parts])
    if all(part.weights is None for part in parts):
        x.sort()
        return Exact(parts[0].kind, *collapse(x, None), rounded=rounded)
    order = np.argsort(x, kind="stable")
    w = np.concatenate([part.points()[1] for part in parts])[order]
    squares = joint_squares(parts)
    return Exact(parts[0].kind, *collapse(x[order], w), rounded=rounded, squares=squares)


def sum_of_squares(w: FloatArray | None, given: FloatArray | None = None) -> float | None:
    """Return `Scores.squares` of rows with these weights; `given` are those before fading."""
    given = w if given is None else given
    if w is None or given is None or (given == 1.0).all():
        return None
    with np.errstate(over="ignore"):
        return min(float(w @ given), _LARGEST)


def joint_squares(parts: Sequence[Scores]) -> float | None:
    """Return `Scores.squares` of several parts together."""
    if all(part.squares is None for part in parts):
        return None
    squares = sum(part.total if part.squares is None else part.squares for part in parts)
    return min(squares, _LARGEST)


def collapse(s: FloatArray, w: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
    """Collapse ties in sorted scores to one value with their joint weight."""
    new = s[1:] != s[:-1]
    if new.all():
        if w is not None and (w == 1.0).all():
            w = None
        return s, w
    starts = np.flatnonzero(np.concatenate([[True], new]))
    joint = np.ones_like(s) if w is None else w
    return s[starts], np.add.reduceat(joint, starts)


def fallback_scale(x: float, kind: str) -> float:
    """Return a scale for equal scores: their distance from the forecast, or one."""
    # A rounding error is not a distance, but residuals may be in any unit.
    least = 0.0 if kind == "residual" else 1e-12
    return float(abs(x)) if abs(x) > least else 1.0
