"""Probabilities of whole units of demand, from forecasts."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.inventory._days import Mask

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
