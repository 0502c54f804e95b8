"""Moments and the CRPS of one row by quadrature of its CDF."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution

Function = Callable[[FloatArray], FloatArray]

# Levels far into both tails; the upper tail ends where 1 - q has no digits left.
_TAIL = 10.0 ** -np.arange(12.0, 1.0, -1.0)
LEVELS = np.concatenate([_TAIL, np.linspace(0.02, 0.98, 49), 1.0 - _TAIL[::-1]])

# More panels than this are due to noise.
MOST_PANELS = 20_000

# Gauss-Lobatto nodes include the ends of a panel, so that no jump beside an end is missed.
_P9 = np.polynomial.Legendre.basis(9)
_NODES = np.concatenate([[-1.0], np.sort(_P9.deriv().roots().real), [1.0]])
_WEIGHTS = 2.0 / (90.0 * _P9(_NODES) ** 2)


def of_any_shape(method: Function) -> Function:
    """Return a method of a forecast of one row as a function of values of any shape."""
    return lambda y: method(y.reshape(1, -1)).reshape(y.shape)


def lobatto(f: Function, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the Gauss-Lobatto integral over each panel from a to b."""
    half = 0.5 * (b - a)
    return (f((a + half)[:, None] + half[:, None] * _NODES) @ _WEIGHTS) * half


def integrate(f: Function, edges: FloatArray) -> float:
    """Integrate f; every panel that differs from the sum of its halves is halved."""
    if edges.size < 2:
        return 0.0
    a, b = edges[:-1], edges[1:]
    whole = lobatto(f, a, b)
    scale = np.abs(whole).sum() + 1e-300
    total = 0.0
    for _ in range(60):
        middle = 0.5 * (a + b)
        left, right = lobatto(f, a, middle), lobatto(f, middle, b)
        bad = np.abs(left + right - whole) > 1e-13 * scale
        bad &= (middle > a) & (middle < b)
        if bad.sum() > MOST_PANELS:
            bad[:] = False
        total += float((left + right)[~bad].sum())
        if not bad.any():
            break
        a, b = np.concatenate([a[bad], middle[bad]]), np.concatenate([middle[bad], b[bad]])
        whole = np.concatenate([left[bad], right[bad]])
    else:
        total += float(whole.sum())
    return total


class RowIntegrals:
    """Integrals of the CDF of one row over its whole range."""

    def __init__(self, dist: Distribution) -> None:
        self.cdf, self.sf = of_any_shape(dist.cdf), of_any_shape(dist.sf)
        inner = np.unique(dist.ppf(LEVELS))
        self.middle = float(dist.median()[0])
        unit = float(inner[-1] - inner[0]) or 1.0
        growth = unit * 2.0 ** np.arange(0.0, 180.0)
        low, high = self.middle - growth, self.middle + growth
        # Keep values at which y^2 times the tail still contributes to the variance.
        low = low[self.cdf(low) * growth**2 > 1e-18 * unit**2]
        high = high[self.sf(high) * growth**2 > 1e-18 * unit**2]
        reach = np.abs(np.concatenate([low, high, [self.middle + unit]]) - self.middle).max()
        ends = self.middle + 2.0 * reach * np.array([-1.0, 1.0])
        self.edges = np.unique(np.concatenate([inner, low, high, ends]))

    def _split(self, y: float, below: Function, above: Function) -> float:
        """Integrate one function below y and another above, and add them."""
        edges = np.unique(np.concatenate([self.edges, [y]]))
        return integrate(below, edges[edges <= y]) + integrate(above, edges[edges >= y])

    def mean(self) -> float:
        """Return E Y."""
        return self.middle + self._split(self.middle, lambda y: -self.cdf(y), self.sf)

    def var(self, mean: float) -> float:
        """Return E (Y - mean)^2."""
        return 2.0 * self._split(
            mean, lambda y: (mean - y) * self.cdf(y), lambda y: (y - mean) * self.sf(y)
        )

    def crps(self, y: float) -> float:
        """Return the integral of (F(x) - 1{y <= x})^2."""
        return self._split(y, lambda x: self.cdf(x) ** 2, lambda x: self.sf(x) ** 2)
