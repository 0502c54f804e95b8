"""Rounded scores, and sums over the rows that have the same one, in any order."""

from __future__ import annotations

import sys
from copy import copy
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

T = TypeVar("T", bound=np.generic)

#: Number of bits of mantissa that rounded scores keep.
ROUNDING_BITS = 16

# The number of a cell consists of the sign, the exponent and the first bits of the mantissa, which
# are all in the upper half of a float64.
_UPPER = slice(1 if sys.byteorder == "little" else 0, None, 2)
_DROPPED = np.uint32(20 - ROUNDING_BITS)
_HALF = np.uint32(1 << (19 - ROUNDING_BITS))
_WIDTH = 1 << ROUNDING_BITS  # number of cells of one sign and exponent
_NOWHERE = -_WIDTH
# Largest number of (sign, exponent) pairs with a table of half a megabyte per sum. Few data have
# more pairs; the cells of the others are sorted.
_MOST_TABLES = 64
# Number of cells that wait to be sorted.
_WAITING = 1 << 20
# Number of rows per block.
_BLOCK = 1 << 16


class Cells:
    """Sums over all rows whose value is the same once rounded to 16 bits of mantissa.

    Rounding is that of `round_scores`, except that the largest values round to infinity. It depends
    on the value alone, so the cells of parts add up to those of the whole.

    Parameters
    ----------
    sums : int
        Number of sums per cell. The first is the weight; cells without weight are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.scores._cells import Cells
    >>> cells = Cells(1)
    >>> cells.add(np.array([1.0, -2.0, 1.0 + 1e-9]), 1.0)
    >>> cells.filled()
    (array([-2.,  1.]), array([[1., 2.]]))
    """

    def __init__(self, sums: int) -> None:
        # Pages of zeros take no memory before something is written to them.
        self._table = np.zeros((sums, _MOST_TABLES * _WIDTH))
        self._used = 0
        # The position in the table at which the cells of a (sign, exponent) pair start.
        self._start = np.full(1 << 12, _NOWHERE)
        self._waiting: list[tuple[NDArray[np.uint32], FloatArray]] = []
        self._held = 0

    def add(self, x: FloatArray, *terms: FloatArray | float) -> None:
        """Add a term to each sum of the cells of values x."""
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            cell = np.ascontiguousarray(x[block]).view(np.uint32)[_UPPER] + _HALF
            cell >>= _DROPPED
            self._add(cell, [t[block] if isinstance(t, np.ndarray) else t for t in terms])

    def merge(self, other: Cells) -> Self:
        """Return the cells of both; neither changes."""
        merged = copy(self)
        merged._table, merged._start = np.zeros(self._table.shape), self._start.copy()
        merged._table[:, : self._used] = self._table[:, : self._used]
        merged._waiting = self._waiting.copy()
        cell, sums = other._sums()
        if len(cell):
            merged._add(cell, list(sums))
        return merged

    def __len__(self) -> int:
        """Return the number of cells with weight."""
        return int(np.count_nonzero(self._table[0, : self._used])) + self._held

    def filled(self) -> tuple[FloatArray, FloatArray]:
        """Return the rounded values that rows have, increasing, and the (k, m) sums."""
        cell, sums = self._sums()
        values = (cell.astype(np.uint64) << np.uint64(32 + _DROPPED)).view(np.float64)
        order = np.argsort(values, kind="stable")
        # Both signs of zero are the same value.
        return _join_equal(values[order], sums[:, order])

    def _add(self, cell: NDArray[np.uint32], terms: list[FloatArray | float]) -> None:
        place = self._places(cell)
        if place.min() < 0:
            self._make_room(cell)
            place = self._places(cell)
            if place.min() < 0:
                rest = place < 0
                columns = [np.broadcast_to(term, cell.shape) for term in terms]
                self._wait(cell[rest], np.array([column[rest] for column in columns]))
                place, terms = place[~rest], [column[~rest] for column in columns]
        for sums, term in zip(self._table, terms, strict=True):
            np.add.at(sums, place, term)

    def _places(self, cell: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the position of each cell in the table; below 0 if it has none."""
        place = self._start.take(cell >> np.uint32(ROUNDING_BITS))
        place += cell & np.uint32(_WIDTH - 1)
        return place

    def _make_room(self, cell: NDArray[np.uint32]) -> None:
        """Allocate a table for every new (sign, exponent) pair until the limit is reached."""
        seen = np.flatnonzero(np.bincount(cell >> np.uint32(ROUNDING_BITS)))
        room = (self._table.shape[1] - self._used) // _WIDTH
        new = seen[self._start[seen] < 0][:room]
        self._start[new] = self._used + _WIDTH * np.arange(len(new))
        self._used += _WIDTH * len(new)

    def _wait(self, cell: NDArray[np.uint32], sums: FloatArray) -> None:
        self._waiting.append((cell, sums))
        self._held += len(cell)
        # Joined cells keep waiting; joining again pays once as many new cells have come.
        if self._held > _WAITING + 2 * len(self._waiting[0][0]):
            self._waiting = [self._joined()]
            self._held = len(self._waiting[0][0])

    def _joined(self) -> tuple[NDArray[np.uint32], FloatArray]:
        """Return the waiting cells, each once, and their sums."""
        cell = np.concatenate([part for part, _ in self._waiting])
        sums = np.concatenate([part for _, part in self._waiting], axis=1)
        order = np.argsort(cell, kind="stable")
        return _join_equal(cell[order], sums[:, order])

    def _sums(self) -> tuple[NDArray[np.uint32], FloatArray]:
        """Return every cell that has weight, once, and its sums."""
        exponents = np.flatnonzero(self._start >= 0)
        exponents = exponents[np.argsort(self._start[exponents])]  # in the order of the table
        filled = np.flatnonzero(self._table[0, : self._used])
        cell = (exponents[filled // _WIDTH] * _WIDTH + filled % _WIDTH).astype(np.uint32)
        sums = self._table[:, filled]
        if not self._waiting:
            return cell, sums
        more, more_sums = self._joined()
        return np.concatenate([cell, more]), np.concatenate([sums, more_sums], axis=1)


def round_scores(s: FloatArray) -> FloatArray:
    """Round to 16 bits of mantissa, to the nearest, by a share of at most 2^-17.

    Order, zero and signs are preserved. Numbers that would round to infinity are not rounded.
    """
    bits = s.view(np.int64)
    # The bits rise with the magnitude, so a carry into the exponent is correct.
    rounded = (bits + (1 << (51 - ROUNDING_BITS))) & -(1 << (52 - ROUNDING_BITS))
    out: FloatArray = rounded.view(np.float64)
    return np.where(np.isfinite(out), out, s)


def _join_equal(x: NDArray[T], sums: FloatArray) -> tuple[NDArray[T], FloatArray]:
    """Join equal neighbours, and add up their sums."""
    new = np.ones(len(x), dtype=bool)
    np.not_equal(x[1:], x[:-1], out=new[1:])
    if new.all():
        return x, sums
    starts = np.flatnonzero(new)
    return x[starts], np.add.reduceat(sums, starts, axis=1)
