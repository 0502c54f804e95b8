"""A drift alarm: a test of whether recent scores have the distribution of earlier ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from trueline._validation import FloatArray
from trueline.scores import round_scores
from trueline.streams._memory import Memory

#: Number of cells of equal probability in which PIT values are counted.
CELLS = 64
# Two samples of the same size need this number of rows each for the factor 2; smaller samples have
# the larger factor.
_EQUAL_FROM, _EQUAL_FACTOR = 458, 2.169
# Number of rows that wait to be tested together.
_TOGETHER = 1 << 15


@dataclass(frozen=True)
class Drift:
    """Result of the drift alarm of `Online`.

    Attributes
    ----------
    alarm : bool
        Whether the last whole block of rows left the band.
    p_value : float
        The p-value of that block: without drift it is at most p with probability at most p.
    statistic : float
        Largest distance of the block's PIT values from uniform.
    blocks, alarms : int
        Number of blocks tested so far, and number of alarms among them.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> R = tl.Online().fit(rng.normal(size=2000), tl.Point(np.zeros(2000)))
    >>> R.update(rng.normal(size=500), tl.Point(np.zeros(500))).drift_.alarm
    False
    >>> R.update(2.0 * rng.normal(size=500), tl.Point(np.zeros(500))).drift_.alarm
    True
    """

    alarm: bool = False
    p_value: float = 1.0
    statistic: float = 0.0
    blocks: int = 0
    alarms: int = 0


class Alarm:
    """Tests blocks of rows, each once, against the rows kept before the block began.

    The statistic is that of the two-sample Kolmogorov-Smirnov test, with n kept rows and m rows in
    the block: the distance of their empirical CDFs, which is the distance of the block's PIT values
    (by the empirical map) from uniform ones. If all rows are exchangeable its law is known
    whatever their distribution, and P(D >= d) <= 2 exp(-2 d^2 n m / (n + m)) for n other than m
    unless both are below 4 (Wei and Dudley, "Two-sample Dvoretzky-Kiefer-Wolfowitz inequalities",
    2012: found by computation up to 200 rows, and conjectured beyond). For n = m it is a theorem
    from 458 rows on, and holds with 2.169 in place of 2 before. D is computed at the edges of 64
    cells only, which can only lower it, as ties do. The rate of false alarms per block is
    therefore at most the stated one.

    With weights n and m are Kish's effective numbers, and the rate is approximate.
    """

    def __init__(self, rows: int, rate: float) -> None:
        self.rows = rows
        self.rate = rate
        self.reference: Reference | None = None
        self._drift = Drift()
        # Rows that are not tested yet; testing many blocks at once costs less.
        self._waiting: list[tuple[FloatArray, FloatArray | None]] = []
        self._held = 0

    @property
    def drift(self) -> Drift:
        """The result for the last whole block."""
        self._test()
        return self._drift

    def look(self, s: FloatArray, w: FloatArray | None, memory: Memory) -> None:
        """Add rows that are not in the memory yet."""
        if self._due(memory):
            # The reference changes between two blocks, so that no block is compared with itself.
            rest = -self._held % self.rows
            if rest:
                self._take(s[:rest], None if w is None else w[:rest])
                s, w = s[rest:], None if w is None else w[rest:]
            if self._held % self.rows == 0:
                self._test()
                self.reference = Reference.of(memory)
        if self.reference is not None and len(s):
            self._take(s, w)

    def _due(self, memory: Memory) -> bool:
        if self.reference is None:
            return memory.rows >= min(self.rows, memory.span)
        return memory.is_renewed(self.reference.taken)

    def _take(self, s: FloatArray, w: FloatArray | None) -> None:
        self._waiting.append((s, w))
        self._held += len(s)
        if self._held >= max(_TOGETHER, self.rows):
            self._test()

    def _test(self) -> None:
        """Test the waiting whole blocks, each once."""
        blocks = self._held // self.rows
        if not blocks or self.reference is None:
            return
        s, w = self.rest()
        stop = blocks * self.rows
        self.restore(s[stop:], None if w is None else w[stop:])
        p, distance = self.reference.compare(s[:stop], None if w is None else w[:stop], blocks)
        alarms = p <= self.rate
        self._drift = Drift(
            bool(alarms[-1]),
            float(p[-1]),
            float(distance[-1]),
            self._drift.blocks + blocks,
            self._drift.alarms + int(alarms.sum()),
        )

    def is_waiting(self) -> bool:
        """Whether rows wait."""
        return self._held > 0

    def rest(self) -> tuple[FloatArray, FloatArray | None]:
        """Return scores and weights of the waiting rows; there must be at least one."""
        s = np.concatenate([s for s, _ in self._waiting])
        if all(w is None for _, w in self._waiting):
            return s, None
        return s, np.concatenate([np.ones(len(s)) if w is None else w for s, w in self._waiting])

    def restore(self, s: FloatArray, w: FloatArray | None, drift: Drift | None = None) -> None:
        """Replace the waiting rows."""
        self._waiting, self._held = [(s, w)] if len(s) else [], len(s)
        self._drift = drift or self._drift


@dataclass
class Reference:
    """The rows that blocks are compared with: their weight up to each of some edges.

    Attributes
    ----------
    edges : (k,) array
        Scores with nearly the same weight between them.
    reached : (k + 1,) array
        Weight up to each edge, and the total weight.
    squares : float
        Sum of the squared weights.
    taken : int
        Number of rows seen when the reference was made.
    rounded : bool
        Whether the scores were rounded.
    grows : bool
        Whether tested rows are added to it, because the memory keeps all rows.
    """

    edges: FloatArray
    reached: FloatArray
    squares: float
    taken: int
    rounded: bool
    grows: bool

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Make a reference from the rows of a memory."""
        scores = memory.scores()
        upper = scores.cumulative()[1]
        at = np.unique(np.searchsorted(upper, upper[-1] / CELLS * np.arange(1, CELLS)))
        squares = float(upper[-1]) ** 2 / memory.effective_rows()
        reached = np.append(upper[at], upper[-1])
        grows = math.isinf(memory.span)
        return cls(scores.values[at], reached, squares, memory.seen, scores.rounded, grows)

    def compare(
        self, s: FloatArray, w: FloatArray | None, blocks: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return p-values and statistics of blocks of rows, which are then added if it grows."""
        s = (round_scores(s) if self.rounded else s).reshape(blocks, -1)
        if w is None:
            # Sorting a block and looking up the edges is faster than looking up every row.
            s = np.sort(s, axis=1)
            below = np.stack([block.searchsorted(self.edges, side="right") for block in s])
            reached = np.insert(below.astype(np.float64), self.edges.size, s.shape[1], axis=1)
            squares = reached[:, -1]
        else:
            w = w.reshape(s.shape)
            cells = [self.edges.searchsorted(block) for block in s]
            width = self.reached.size
            counts = [np.bincount(c, v, width) for c, v in zip(cells, w, strict=True)]
            reached = np.cumsum(counts, axis=1)
            squares = (w * w).sum(axis=1)
        known, known_squares = self.reached[None, :], np.array([self.squares])
        if self.grows:
            known = np.cumsum(np.concatenate([known, reached]), axis=0)
            known_squares = np.cumsum(np.concatenate([known_squares, squares]))
            self.reached, self.squares = known[-1].copy(), float(known_squares[-1])
            known, known_squares = known[:-1], known_squares[:-1]
        gap = reached[:, :-1] / reached[:, -1:] - known[:, :-1] / known[:, -1:]
        distance = np.abs(gap).max(axis=1)
        # Kish's effective numbers of rows.
        n, m = known[:, -1] ** 2 / known_squares, reached[:, -1] ** 2 / squares
        factor = np.where((n == m) & (n < _EQUAL_FROM), _EQUAL_FACTOR, 2.0)
        p = factor * np.exp(-2.0 * distance**2 * n * m / (n + m))
        return np.minimum(p, 1.0), distance
