"""Isotonic laws smoothed by a normal kernel, so that their quantiles do not jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from trueline._validation import FloatArray
from trueline.distributions import Cut, Distribution, Quantiles, Support, learn_support
from trueline.isotonic._forecast import LEVELS, IsotonicForecast
from trueline.isotonic._laws import IsotonicLaws

# Normal scores by which each quantile is moved, in units of the kernel's width, (levels, moves).
# They are spread otherwise at each level, so that equal quantiles become different ones.
_COUNT = 8
_SHIFTS = (np.arange(1, len(LEVELS) + 1) * 0.6180339887498949) % 1.0
_MOVES = ndtri((np.arange(_COUNT) + _SHIFTS[:, None]) / _COUNT)
# Widths that are tried, in units of the mean distance of outcomes from their median given x.
_SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
# Rows that the width is learned from, at most, and number of folds.
_MOST_ROWS = 3000
_FOLDS = 5
# Number of values that are sorted at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Kernel:
    """A normal kernel, and the ends of the range of outcomes if these pile up and stay there.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.isotonic import IsotonicForecast, IsotonicLaws, Kernel
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 6.0])
    >>> G = IsotonicForecast.at(IsotonicLaws.fit(x, y), np.array([2.0]))
    >>> G.ppf([0.2, 0.4]), Kernel(0.5)(G).ppf([0.2, 0.4]).round(2)
    (array([[4., 4.]]), array([[3.86, 4.29]]))
    """

    width: float
    ends: Support | None = None

    def __call__(self, forecast: IsotonicForecast) -> Distribution:
        """Return the smoothed forecasts, by 100 quantiles."""
        atoms = None if self.ends is None else self.ends.atoms(np.empty(0))
        low, high = (None, None) if self.ends is None else (self.ends.low, self.ends.high)
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        values = forecast._curve.values.copy()
        size = max(1, _BLOCK // (_MOVES.size))
        for first in range(0, len(values), size):
            v = values[first : first + size]
            free = ((v > low) & (v < high))[..., None]
            moved = (v[..., None] + self.width * _MOVES * free).reshape(len(v), -1)
            moved.sort(axis=1)
            smooth = moved.reshape(*v.shape, -1).mean(axis=2)
            values[first : first + size] = np.clip(smooth, low, high)
        smooth = Quantiles(LEVELS, values)
        return smooth if atoms is None else Cut(smooth, atoms)

    @classmethod
    def learn(cls, x: FloatArray, y: FloatArray, w: FloatArray | None = None) -> Kernel:
        """Return the kernel with the lowest CRPS on held-out rows; its width is 0 for few values.

        Rows are taken in the order of x, y and w, so that their own order does not matter.
        """
        support = learn_support(y)
        if support is not None and (support.step is not None or support.values is not None):
            return cls(0.0)
        order = np.lexsort((y, x) if w is None else (w, y, x))
        rows = order[:: -(-len(order) // _MOST_ROWS)]
        x, y, w = x[rows], y[rows], None if w is None else w[rows]
        fold = np.arange(len(rows)) % _FOLDS
        held_out = []
        for k in range(min(_FOLDS, len(rows)) if len(rows) > 1 else 0):
            held, others = fold == k, fold != k
            laws = IsotonicLaws.fit(x[others], y[others], None if w is None else w[others])
            held_out.append((np.flatnonzero(held), IsotonicForecast.at(laws, x[held])))
        share = np.ones(len(rows)) if w is None else w
        unit = sum(share[i] @ np.abs(y[i] - f.median()) for i, f in held_out) / share.sum()
        kernels = [cls(part * float(unit), support) for part in _SHARES]

        def loss(kernel: Kernel) -> float:
            return sum(float(share[i] @ kernel(f)._crps(y[i, None])[:, 0]) for i, f in held_out)

        return min(kernels, key=loss)
