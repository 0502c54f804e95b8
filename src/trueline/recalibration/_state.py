"""Scores of any number of rows in bounded memory, whatever their order and however they are split.

Up to a limit of distinct values scores are kept as they are. Beyond, they are rounded to 16 bits of
mantissa, which moves no score by more than a share of 2^-17 (7.6e-6) of itself, and rows with the
same value are counted. Rounding is a function of a score alone and counts add up, so parts that are
merged are the same, to the last bit, as the whole: rows without weights that is; sums of weights
round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Scores, combine_all

#: Distinct scores that are kept as they are: 8 MiB of them.
LIMIT = 1 << 20
# Rows that wait unsorted.
_WAITING = 1 << 18


class State:
    """Scores that more can be added to, and that merge.

    Parts double in size from the last to the first, so that a row is merged as often as the
    logarithm of the number of rows.

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts they come from.
    limit : int
        Distinct values up to which they are exact.

    Examples
    --------
    >>> from trueline.recalibration._rows import ScoreRows
    >>> from trueline.recalibration._state import State
    >>> state = State("residual")
    >>> state.add(ScoreRows.of_scores([2.0, 1.0], kind="residual"))
    >>> state.add(ScoreRows.of_scores([2.0], kind="residual"))
    >>> state.scores().values, state.scores().total
    (array([1., 2.]), 3.0)
    """

    def __init__(self, kind: str, limit: int = LIMIT) -> None:
        self.kind = kind
        self.limit = limit
        self._parts: list[Scores] = []
        self._rows: list[ScoreRows] = []
        self._held = 0

    @classmethod
    def of(cls, scores: Scores, limit: int = LIMIT) -> Self:
        """Begin with some scores."""
        state = cls(scores.kind, limit)
        state._push(scores)
        return state

    def add(self, rows: ScoreRows) -> None:
        """Add rows with finite scores and positive weights."""
        self._rows.append(rows.copy())
        self._held += len(rows)
        if self._held >= _WAITING:
            self._flush()

    def merge(self, other: State) -> Self:
        """Return a state of both; neither changes."""
        merged = type(self).of(self.scores(), self.limit)
        merged._push(other.scores())
        return merged

    def scores(self) -> Scores:
        """All scores, sorted."""
        self._flush()
        self._join(self._parts)
        return self._parts[0]

    @property
    def rounded(self) -> bool:
        """Whether scores were rounded; those that wait unsorted may yet take it there."""
        return any(part.rounded for part in self._parts)

    def __len__(self) -> int:
        """Return how many rows and values are held."""
        return self._held + sum(len(part.values) for part in self._parts)

    def _flush(self) -> None:
        if self._held:
            self._push(ScoreRows.concatenate(self._rows).sort())
            self._rows, self._held = [], 0

    def _push(self, part: Scores) -> None:
        """Add a part, and join the last ones until they double in size again."""
        self._parts.append(self._within_limit(part))
        last = 1
        while last < len(self._parts):
            joined = sum(len(p.values) for p in self._parts[-last:])
            if len(self._parts[-last - 1].values) > 2 * joined:
                break
            last += 1
        if last > 1:
            self._join(self._parts[-last:])
        if sum(len(p.values) for p in self._parts) > self.limit and not self._parts[0].rounded:
            # Values of different parts may be the same: only together they can be counted.
            self._join(self._parts)

    def _join(self, parts: Sequence[Scores]) -> None:
        """Join the last parts to one."""
        if len(parts) > 1:
            self._parts[-len(parts) :] = [self._within_limit(combine_all(parts))]

    def _within_limit(self, part: Scores) -> Scores:
        return part.round() if len(part.values) > self.limit else part
