"""Demand forecasts as probabilities of whole units."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.inventory._days import Mask

# A day's demand is followed up to a level that it stays below with all but this probability.
_TAIL = 1e-6


def masses(forecast: Distribution, closed: Mask, width: int, n: int) -> FloatArray:
    """Probabilities (days, n) of a demand of 0, width, ..., (n - 1) width units.

    Each point gets what the forecast holds within half a width of it; with a width of 1 that is
    the probability of the whole number that demand is rounded to. Negative demand is none, and
    what lies beyond the last point is put there. A closed day has no demand.
    """
    edges = (np.arange(n - 1) + 0.5) * width
    pmf = np.empty((len(forecast), n))
    below = forecast.cdf(edges[None, :]) if n > 1 else np.empty((len(forecast), 0))
    pmf[:, : n - 1] = below
    pmf[:, n - 1] = 1.0
    # A CDF may fall by a rounding error.
    pmf[:, 1:] = np.maximum(np.diff(pmf, axis=1), 0.0)
    pmf[closed] = 0.0
    pmf[closed, 0] = 1.0
    return pmf


def on_grid(fine: FloatArray, parts: int) -> FloatArray:
    """Split masses on a fine grid between the neighbours on one that is `parts` times coarser.

    The mass at a share w of the way between two points goes to them as 1 - w and w, so that the
    expectation of any function that is linear in between stays the same.
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
    """Units that demand stays below on every day, almost surely; at most `most`."""
    tops = 2.0 ** np.arange(most.bit_length() + 1)
    beyond = (forecast.cdf(tops[None, :]) < 1.0 - _TAIL).any(axis=0)
    return min(int(tops[np.count_nonzero(beyond)]) if not beyond.all() else most, most)


def total_masses(
    forecast: Distribution, closed: Mask, most: int, points: int
) -> tuple[FloatArray, int]:
    """Probabilities of the demand of all days together, which are taken as independent.

    Each day is counted in units of a width that gives it at most `points` values, up to `most`
    units. Returns the masses at 0, width, 2 width, ... and the width.
    """
    top = reach(forecast, most)
    width = -(-top // points)
    pmf = masses(forecast, closed, width, -(-top // width) + 1)
    total = pmf[0]
    for day in pmf[1:]:
        total = np.convolve(total, day)
    return total, width
