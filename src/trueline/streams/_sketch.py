"""A summary of the rows that are too old to be kept exactly.

Rows arrive in blocks of consecutive rows. Each block becomes a chunk: at most `ITEMS` scores, in
increasing order, that stand for the same weight each. Of three chunks on one level the two oldest
are merged to one chunk on the next level, so that n rows take about 1.5 log2(n) chunks.

The rank error. Picking `ITEMS` of the scores moves the CDF of a chunk by at most 0.75 / `ITEMS`,
and a chunk on level l is the result of l - 1 such steps (two blocks fit without any). The view that
laws are read from joins all chunks in `VIEWED` cells of equal weight, which adds at most 1 /
`VIEWED`. The largest distance between the CDF of the older rows and that of the view is therefore
at most 0.75 (l - 1) / 1024 + 1 / 1024, where 512 * 2^l is the number of rows of the largest chunk:
1% for 10 million rows. Measured errors are below 0.2%, because errors of single steps cancel.

Weights that fade multiply a whole chunk. With one half-life the scores of a chunk are picked
by faded weights, so that the bound above holds for them. With several half-lives a chunk has the
total weight of its rows for each, and the scores within a chunk are taken to be stationary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueline._validation import FloatArray

#: Number of rows in a block.
BLOCK = 512
#: Largest number of scores in a chunk.
ITEMS = 1024
#: Largest number of scores in the view of all chunks.
VIEWED = 1024
# Number of chunks per level; one more than this and two are merged.
_PER_LEVEL = 2
# A window drops rows by the chunk, so that chunks span at most this share of it.
_SHARE_OF_WINDOW = 1 / 16
# Chunks on this level are the largest.
_MOST_LEVELS = 40


@dataclass(frozen=True, eq=False)
class Chunk:
    """Scores that stand for consecutive rows.

    Attributes
    ----------
    items : (m,) array
        Scores, increasing; each stands for the same weight.
    weights : (k,) array
        Total weight of the rows for each half-life, when row `last` was the newest.
    rows, last, level : int
        Number of rows, number of the last row, and level.
    """

    items: FloatArray
    weights: FloatArray
    rows: int
    last: int
    level: int


@dataclass(frozen=True, eq=False)
class View:
    """All chunks as one weighted sample; weights as they are when `newest` is the newest row.

    Attributes
    ----------
    values : (m,) array
        Scores, increasing.
    weights : (k, m) array
        Their weights for each half-life.
    totals : (k,) array
        Sums of these weights.
    squares : (k, k) array
        Sums of products of the weights of rows, by two half-lives; the rows that a score stands for
        share its weight evenly.
    newest : int
        Number of the newest row.
    error : float
        Bound on the rank error.
    """

    values: FloatArray
    weights: FloatArray
    totals: FloatArray
    squares: FloatArray
    newest: int
    error: float

    @cached_property
    def is_even(self) -> bool:
        """Whether all rows have a weight of 1."""
        even = len(self.totals) == 1 and np.isclose(self.totals[0], self.squares[0, 0], 1e-9, 0.0)
        return bool(even)


def fade(ages: FloatArray | float, half_lives: FloatArray) -> FloatArray:
    """Return the weights of rows of these ages, one row for each half-life."""
    return np.exp2(-np.asarray(ages) / half_lives[:, None])


class Sketch:
    """Chunks of older rows, oldest first.

    Parameters
    ----------
    half_lives : (k,) array
        Half-lives, of which the last decides which scores of a chunk are kept.
    window : float
        Number of last rows that count, which may be infinite.
    """

    def __init__(self, half_lives: FloatArray, window: float) -> None:
        self.half_lives = half_lives
        self.window = window
        self.chunks: list[Chunk] = []
        self._fade = fade(np.arange(BLOCK - 1.0, -1.0, -1.0), half_lives)
        # Weights that fade need no such care.
        share = _SHARE_OF_WINDOW if np.isinf(half_lives[0]) else 1.0
        self._levels = int(min(np.log2(max(window * share / BLOCK, 1.0)), _MOST_LEVELS))

    def add(self, s: FloatArray, w: FloatArray, last: int) -> None:
        """Add `BLOCK` rows in the order of the stream, the newest of which is row `last`."""
        faded = w * self._fade
        order = np.argsort(s, kind="stable")
        items = _pick(s[order], faded[-1][order])
        self.chunks.append(Chunk(items, faded.sum(axis=1), len(s), last, 0))
        for level in range(self._levels):
            places = [i for i, chunk in enumerate(self.chunks) if chunk.level == level]
            if len(places) > _PER_LEVEL:
                self.chunks[places[0] : places[1] + 1] = [
                    self._merged(self.chunks[places[0]], self.chunks[places[1]])
                ]
        # Chunks lie in the order of time, so those that no row of the window is left of are first.
        while self.chunks and self.chunks[0].last <= last - self.window:
            del self.chunks[0]

    def _merged(self, old: Chunk, new: Chunk) -> Chunk:
        weights = old.weights * fade(new.last - old.last, self.half_lives)[:, 0]
        parts = ((old.items, weights[-1]), (new.items, new.weights[-1]))
        x = np.concatenate([items for items, _ in parts])
        w = np.concatenate([np.full(len(items), total / len(items)) for items, total in parts])
        order = np.argsort(x, kind="stable")
        items = _pick(x[order], w[order])
        rows = old.rows + new.rows
        return Chunk(items, weights + new.weights, rows, new.last, new.level + 1)

    @property
    def error(self) -> float:
        """Bound on the rank error of the view."""
        if not self.chunks:
            return 0.0
        picks = max(max(chunk.level for chunk in self.chunks) - 1, 0)
        return 0.75 * picks / ITEMS + 1.0 / VIEWED

    def view(self, newest: int) -> View | None:
        """Return all chunks as one weighted sample; None if there are none."""
        if not self.chunks:
            return None
        weights = np.stack([self._present(chunk, newest) for chunk in self.chunks], axis=1)
        sizes = np.array([len(chunk.items) for chunk in self.chunks])
        rows = np.array([self._left(chunk, newest) for chunk in self.chunks])
        x = np.concatenate([chunk.items for chunk in self.chunks])
        order = np.argsort(x, kind="stable")
        part = np.repeat(np.arange(len(sizes)), sizes)[order]
        x = x[order]
        # The mean share of an item in the laws of all half-lives; one that has faded has no law.
        totals = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
        share = (shares.mean(axis=0) / sizes)[part]
        cell = np.minimum((np.cumsum(share) - 0.5 * share) / share.sum() * VIEWED, VIEWED - 1)
        _, first, cell = np.unique(cell.astype(np.intp), return_index=True, return_inverse=True)
        middle = (first + np.append(first[1:], len(x))) // 2
        counts = np.bincount(cell * len(sizes) + part, minlength=len(first) * len(sizes))
        each = counts.reshape(len(first), len(sizes)) / sizes
        found = weights @ each.T
        squares = (found / np.maximum(each @ rows, 1e-9)) @ found.T
        return View(x[middle], found, found.sum(axis=1), squares, newest, self.error)

    def _left(self, chunk: Chunk, newest: int) -> float:
        """Return the number of rows of a chunk that are in the window."""
        return float(max(min(chunk.last - (newest - self.window), chunk.rows), 0.0))

    def _present(self, chunk: Chunk, newest: int) -> FloatArray:
        """Return the weights of a chunk now; a chunk that leaves the window counts in part."""
        share = self._left(chunk, newest) / chunk.rows
        return share * chunk.weights * fade(newest - chunk.last, self.half_lives)[:, 0]


def _pick(x: FloatArray, w: FloatArray) -> FloatArray:
    """Return at most `ITEMS` of the sorted scores, each of which stands for the same weight.

    Scores are taken a quarter before and after the middle of their share in turn, so that the
    errors of neighbours have opposite signs.
    """
    if len(x) <= ITEMS and (w == w[0]).all():
        return x
    place = np.arange(ITEMS)
    wanted = (place + 0.25 + 0.5 * (place & 1)) / ITEMS
    upper = np.cumsum(w)
    return x[np.minimum(np.searchsorted(upper, wanted * upper[-1]), len(x) - 1)]
