"""Probabilities of whole units of demand, and expectations over the demand of a day.

A shelf holds few batches: two or three with orders on three days per week and a shelf life of five
days. A table has one axis per batch, oldest first, in steps of u units. Demand takes from the
oldest batch first: with x_1, ..., x_k units in the batches and S_j = x_1 + ... + x_j, a demand d
between S_{j-1} and S_j leaves 0, ..., 0, S_j - d, x_{j+1}, ..., x_k. The expected value is
therefore a sum over j of convolutions of the demand with the values along axis j, and no array is
larger than the tables.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import toeplitz

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.inventory._store import Mask

# Probability that the demand of a day is above the largest level considered.
_TAIL = 1e-6


def masses(forecast: Distribution, closed: Mask, width: int, n: int) -> FloatArray:
    """Return probabilities (days, n) of a demand of 0, width, ..., (n - 1) width units.

    Each point gets the probability of the forecast within half a width of it; with a width of 1
    that is the probability of the rounded demand. Negative demand counts as 0 and demand beyond
    the last point as the last point. A closed day has no demand.
    """
    edges = (np.arange(n - 1) + 0.5) * width
    pmf = np.empty((len(forecast), n))
    below = forecast.cdf(edges[None, :]) if n > 1 else np.empty((len(forecast), 0))
    pmf[:, : n - 1] = below
    pmf[:, n - 1] = 1.0
    # A CDF may fall by rounding.
    pmf[:, 1:] = np.maximum(np.diff(pmf, axis=1), 0.0)
    pmf[closed] = 0.0
    pmf[closed, 0] = 1.0
    return pmf


def on_grid(fine: FloatArray, parts: int) -> FloatArray:
    """Split masses on a fine grid between the points of a grid that is `parts` times coarser.

    Mass at a share w of the way between two points is split into 1 - w and w, so that the
    expectation of a function that is linear in between does not change.
    """
    if parts == 1:
        return fine
    days, n = fine.shape
    cells = -(-n // parts)
    padded = np.zeros((days, cells * parts))
    padded[:, :n] = fine
    shares = np.arange(parts) / parts
    cell = padded.reshape(days, cells, parts)
    coarse = np.zeros((days, cells + 1))
    coarse[:, :-1] = cell @ (1.0 - shares)
    coarse[:, 1:] += cell @ shares
    return coarse


def reach(forecast: Distribution, most: int) -> int:
    """Return a level that the demand of no day exceeds, almost surely; at most `most`."""
    tops = 2.0 ** np.arange(most.bit_length() + 1)
    beyond = (forecast.cdf(tops[None, :]) < 1.0 - _TAIL).any(axis=0)
    return min(int(tops[np.count_nonzero(beyond)]) if not beyond.all() else most, most)


def total_masses(
    forecast: Distribution, closed: Mask, most: int, points: int
) -> tuple[FloatArray, int]:
    """Return probabilities of the total demand of independent days, and the width of the grid.

    The probabilities are those of 0, width, 2 width, ... units. The width gives each day at most
    `points` values up to `most` units.
    """
    top = reach(forecast, most)
    width = -(-top // points)
    pmf = masses(forecast, closed, width, -(-top // width) + 1)
    total = pmf[0]
    for day in pmf[1:]:
        total = np.convolve(total, day)
    return total, width


class DayOfDemand:
    """Demand of a day on the grid: its probabilities p at 0, u, 2 u, ... units, with u = `step`.

    p has more entries than any stock has steps; the last is the probability of all larger demand.
    """

    def __init__(self, p: FloatArray, step: int) -> None:
        self.p = p
        below = np.concatenate([[0.0], np.cumsum(p)[:-1]])
        self.below = below  # P(demand < g u)
        self.at_least = np.maximum(1.0 - below, 0.0)
        # E min(demand, S) is the sum of P(demand >= s) over s = 1, ..., S.
        self.sales = step * np.concatenate([[0.0], np.cumsum(self.at_least[1:])])

    def expect(self, value: FloatArray, sizes: tuple[int, ...], *, spoils: bool) -> FloatArray:
        """Return the expected value of tomorrow's stock, by today's stock.

        Parameters
        ----------
        value : ndarray, (sizes[spoils:], ...)
            Value by the rest of each batch; further axes are kept.
        sizes : tuple of int
            Number of points of each of today's batches, oldest first.
        spoils : bool
            Whether the oldest batch is thrown away at the end of the day, so that the value does
            not depend on its rest.

        Returns
        -------
        ndarray, (sizes, ...)
        """
        k = len(sizes)
        rest = value.shape[k - spoils :]
        if k == 0:
            return value.copy()
        stock = total_steps(sizes)
        nothing = value[(0,) * (k - spoils)]
        out = self.at_least[stock].reshape(sizes + (1,) * len(rest)) * nothing
        for j in range(k):
            left = sizes[:j]
            if j == 0 and spoils:
                whole = self.below[: sizes[0]].reshape((-1,) + (1,) * value.ndim)
                out += whole * value
                continue
            # Older batches are sold; batch j has at least one step left, the younger are whole.
            table = value[(0,) * (j - spoils)]
            if j == 0:
                part = self._first(table)
            else:
                part = self._later(table, sum(left) - j + 1)
                if j > 1:
                    part = part[total_steps(left)]
            out += part
        return out

    def _first(self, table: FloatArray) -> FloatArray:
        """Return B[x], the sum over y = 1, ..., x of p(x - y) table[y]."""
        n = table.shape[0]
        weights = toeplitz(self.p[:n], np.zeros(n))
        weights[:, 0] = 0.0
        return (weights @ table.reshape(n, -1)).reshape(table.shape)

    def _later(self, table: FloatArray, n: int) -> FloatArray:
        """Return B[s, x], the sum over y = 1, ..., x of p(s + x - y) table[y], s = 0, ..., n - 1.

        B[s, x] = B[s + 1, x - 1] + p(s) table[x], so each x costs one product.
        """
        m = table.shape[0]
        flat = table.reshape(m, -1)
        out = np.zeros((n, m, flat.shape[1]))
        so_far = np.zeros((n + m - 1, flat.shape[1]))
        for x in range(1, m):
            so_far = so_far[1:] + self.p[: n + m - 1 - x, None] * flat[x]
            out[:, x] = so_far[:n]
        return out.reshape((n, *table.shape))


def total_steps(sizes: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Return the number of steps in all batches together, at every point of their grid."""
    total = np.zeros((1,) * len(sizes), dtype=np.intp)
    for axis, n in enumerate(sizes):
        shape = [1] * len(sizes)
        shape[axis] = n
        total = total + np.arange(n).reshape(shape)
    return total
