"""What a fit adds up: the scores of any number of rows, in bounded memory, that merge."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import RecalibratedLocationScale
from trueline.files._groups import Codes, GroupCodes
from trueline.laws import NormalLaw
from trueline.recalibration import Key, Recalibrator
from trueline.recalibration._cells import Cells
from trueline.recalibration._common import warn_if_weak
from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Exact, Scores, combine_all
from trueline.recalibration._state import LIMIT, State

# Rows that are held as they are: enough to see that more scores differ than a state keeps.
_ROWS = LIMIT + (1 << 16)
# Scores of all groups that are held in states; beyond, groups are compressed. They share these
# knots, but each has a fewest number.
_HELD = 1 << 22
_KNOTS = 1 << 20
_FEWEST_KNOTS = 256
# A map of a group with fewer knots than this would be off by more than its rows leave open.
_FEWEST_IN_MAP = 500
# A score from here on would round to infinity.
_LARGEST = np.ldexp(1.0, 1023)


class Fitting:
    """Scores of the rows so far.

    Up to 2^20 rows they are held as they are, and the map is the one that ``fit`` gives. Beyond,
    they are those of `State`: rounded by a share of at most 2^-17 once more than 2^20 differ.
    Groups have a state each; where that is too much, groups are compressed, and their
    ``compression_error_`` says what it cost.

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts.

    Examples
    --------
    Parts add up to the whole:

    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.files._fitting import Fitting
    >>> parts = []
    >>> for scores in ([1.0, -1.0], [5.0]):
    ...     part = Fitting("residual")
    ...     part.add(np.array(scores), None)
    ...     parts.append(part)
    >>> parts[0].merge(parts[1]).finish(tl.Isotonic(), 100).scores_.values
    array([-1.,  1.,  5.])
    """

    def __init__(self, kind: str) -> None:
        self.n = 0
        self._kind = kind
        self._codes = GroupCodes()
        self._pooled = _Tally(kind)
        self._groups = _GroupTally(kind)
        self._let_go()

    def _let_go(self) -> None:
        self._held: list[tuple[FloatArray, FloatArray | None, Codes | None]] = []
        self._rows = 0

    def add(
        self,
        scores: FloatArray,
        w: FloatArray | None,
        codes: Codes | None = None,
        groups: GroupCodes | None = None,
    ) -> None:
        """Take the finite scores of more rows, with the codes of their groups."""
        self._codes = groups or self._codes
        self.n += len(scores) if w is None else int(np.count_nonzero(w))
        if codes is None and self._pooled.counts:
            self._pooled.add(*_counting(scores, w))
        else:
            self._hold(scores, w, codes)

    def _hold(self, scores: FloatArray, w: FloatArray | None, codes: Codes | None) -> None:
        self._held.append((scores, w, codes))
        self._rows += len(scores)
        if self._rows >= _ROWS:
            self._count()

    def _count(self) -> None:
        """Add what is held to the states."""
        scores, w, codes = self._joined()
        self._let_go()
        if codes is None:
            self._pooled.add(*_counting(scores, w))
            return
        if w is not None:
            codes = codes[w > 0]
        scores, w = _counting(scores, w)
        self._groups.add(scores, w, codes, self._codes.names)
        self._pooled.add(scores, w)

    def _joined(self) -> tuple[FloatArray, FloatArray | None, Codes | None]:
        scores, w, codes = (list(column) for column in zip(*self._held, strict=True))
        return (
            np.concatenate(scores),
            None if w[0] is None else np.concatenate(w),
            None if codes[0] is None else np.concatenate(codes),
        )

    def merge(self, other: Fitting) -> Self:
        """Return the scores of both; neither changes."""
        merged = copy(self)
        merged._codes = GroupCodes(where=self._codes.where)
        merged._codes.add(self._codes.names)
        place = merged._codes.add(other._codes.names)
        merged._pooled = self._pooled.merge(other._pooled)
        merged._groups = self._groups.merge(other._groups)
        merged._held = self._held.copy()
        merged.n = self.n + other.n
        for scores, w, codes in other._held:
            merged._hold(scores, w, None if codes is None else place[codes])
        return merged

    def finish(self, recalibrator: Recalibrator, max_knots: int) -> Recalibrator | None:
        """Return the map of all rows; None if they have no weight."""
        if not self._pooled.seen and self._rows <= LIMIT:
            made = self._fit(recalibrator)
        else:
            if self._held:
                self._count()
            made = self._learn(recalibrator)
        return None if made is None else _with_knots(made, max_knots)

    def _fit(self, recalibrator: Recalibrator) -> Recalibrator | None:
        """Fit on the rows that are held."""
        scores, w, codes = self._joined()
        if w is not None and not w.max() > 0:
            return None
        # A map is learned from scores alone, so a forecast whose score is y itself will do.
        n = scores.size
        dist = RecalibratedLocationScale(
            np.broadcast_to(0.0, n), np.broadcast_to(1.0, n), NormalLaw(), self._kind
        )
        made = recalibrator._unfitted_copy().fit(scores, dist, w, codes)
        return made.rename_groups(dict(enumerate(self._codes.names))) if made.needs_groups else made

    def _learn(self, recalibrator: Recalibrator) -> Recalibrator | None:
        """Learn from the states."""
        if not self._pooled.seen:
            return None
        scores = self._pooled.scores()
        if not scores.rounded:  # rounding ties scores that differ
            warn_if_weak(scores, self.n)
        made = recalibrator._unfitted_copy()
        made._check_params()
        return made._learn(scores, self._groups.scores())


def _with_knots(made: Recalibrator, max_knots: int) -> Recalibrator:
    """Compress a map; groups hold no more scores together than a state does."""
    if not made.needs_groups:
        return made.compress(max_knots)
    groups = made._group_scores
    share = _share([len(scores.values) for scores in groups.values()], _KNOTS)
    share = min(max(share, _FEWEST_IN_MAP), max_knots)
    parts = {key: scores.compress(share) for key, scores in groups.items()}
    return made._unfitted_copy()._learn(made.scores_.compress(max_knots), parts)


def _share(sizes: Sequence[int], whole: int) -> int:
    """Return what each may have of the whole, where the small leave what they do not need."""
    wanted = np.sort(sizes)
    left = whole - np.cumsum(wanted) + wanted  # once all that are smaller have theirs
    share = left // np.arange(len(sizes), 0, -1)
    short = np.flatnonzero(wanted > share)
    return int(share[short[0]] if short.size else wanted[-1])


def _counting(s: FloatArray, w: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
    """Return the rows that count."""
    if w is None or w.min() > 0:
        return s, w
    return s[w > 0], w[w > 0]


class _Tally:
    """Scores of all rows: a state, and once it rounds, cells, which are faster to count in."""

    def __init__(self, kind: str) -> None:
        self.seen = False
        self._state = State(kind, LIMIT)
        self._cells: Cells | None = None

    @property
    def counts(self) -> bool:
        """Whether scores are rounded, so that rows need not come in large numbers."""
        return self._cells is not None

    def add(self, s: FloatArray, w: FloatArray | None) -> None:
        """Take finite scores, and their positive weights if they have any."""
        if not len(s):
            return
        self.seen = True
        if self._cells is None and not len(self._state) and _distinct(s) > LIMIT:
            self._cells = Cells(1)  # they would be rounded: without the state that is faster
        if self._cells is None:
            self._state.add(ScoreRows.points(self._state.kind, s, w))
            self._count_if_rounded()
            return
        if max(-s.min(), s.max()) >= _LARGEST:
            near = np.abs(s) < _LARGEST
            far = ScoreRows.points(self._state.kind, s, w).take(~near)
            self._state.add(far)
            s, w = s[near], None if w is None else w[near]
        self._cells.add(s, 1.0 if w is None else w)

    def _count_if_rounded(self) -> None:
        if self._state.rounded:
            self._cells = Cells(1)

    def merge(self, other: _Tally) -> Self:
        """Return the scores of both; neither changes."""
        merged = copy(self)
        merged.seen = self.seen or other.seen
        if self._cells is not None or other._cells is not None:
            merged._cells = (self._cells or Cells(1)).merge(other._cells or Cells(1))
        merged._state = _merged(self._state, other._state)
        if merged._cells is None:
            merged._count_if_rounded()
        return merged

    def scores(self) -> Scores:
        """Return all scores, sorted."""
        if self._cells is None:
            return self._state.scores()
        values, (weight,) = self._cells.filled()
        if not len(values):
            return self._state.scores()
        counted = Exact(self._state.kind, values, weight, rounded=True)
        return _merged(self._state, State.of(counted, LIMIT)).scores()


def _distinct(s: FloatArray) -> int:
    """Return how many scores differ; of no more rows than the limit it does not matter."""
    if len(s) <= LIMIT:
        return 0
    s = np.sort(s)
    return 1 + int(np.count_nonzero(s[1:] != s[:-1]))


def _merged(first: State, second: State) -> State:
    """Return a state of both, which may hold nothing; neither changes."""
    states = [state for state in (first, second) if len(state)]
    if len(states) == 2:
        return first.merge(second)
    return State.of(states[0].scores(), LIMIT) if states else State(first.kind, LIMIT)


class _GroupTally:
    """Scores by group: a state each, and parts that were compressed."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._states: dict[Key, State] = {}
        self._parts: list[tuple[int, dict[Key, Scores]]] = []

    def add(self, s: FloatArray, w: FloatArray | None, codes: Codes, names: Sequence[Key]) -> None:
        """Take scores, their weights if they have any, and the numbers of their groups."""
        order = np.argsort(codes.astype(np.uint16), kind="stable")  # which sorts by digits
        s, w = s[order], None if w is None else w[order]
        stops = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
        for name, start, stop in zip(names, [0, *stops], stops, strict=False):
            if stop > start:
                state = self._states.setdefault(name, State(self._kind, LIMIT))
                state.add(ScoreRows.points(self._kind, s, w).take(slice(start, stop)))
        self._compress_if_many()

    def _compress_if_many(self) -> None:
        if sum(len(state) for state in self._states.values()) > _HELD:
            self._push(1, {key: state.scores() for key, state in self._states.items()})
            self._states = {}

    def _push(self, size: int, part: dict[Key, Scores]) -> None:
        """Add a part, and join parts of equal size, so that each is compressed few times."""
        part = _compressed(part)
        while self._parts and self._parts[-1][0] <= size:
            more, before = self._parts.pop()
            part, size = _compressed(_union([before, part])), size + more
        self._parts.append((size, part))

    def merge(self, other: _GroupTally) -> Self:
        """Return the scores of both; neither changes."""
        merged = copy(self)
        nothing = State(self._kind, LIMIT)
        merged._states = {
            key: _merged(self._states.get(key, nothing), other._states.get(key, nothing))
            for key in self._states | other._states
        }
        merged._parts = self._parts.copy()
        for size, part in other._parts:
            merged._push(size, part)
        merged._compress_if_many()
        return merged

    def scores(self) -> dict[Key, Scores]:
        """Return the scores of each group, in the order of their names."""
        parts = [part for _, part in self._parts]
        parts.append({key: state.scores() for key, state in self._states.items()})
        found = _union(parts)
        return {key: found[key] for key in sorted(found)}


def _compressed(part: dict[Key, Scores]) -> dict[Key, Scores]:
    knots = max(_KNOTS // len(part), _FEWEST_KNOTS)
    return {key: scores.compress(knots) for key, scores in part.items()}


def _union(parts: Sequence[dict[Key, Scores]]) -> dict[Key, Scores]:
    """Return the scores of all parts together, by group."""
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: combine_all([part[key] for part in parts if key in part]) for key in keys}
