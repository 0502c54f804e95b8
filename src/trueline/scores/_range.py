"""The scores that calculations can carry; all others are refused, wherever scores come in.

Laws square and cube scores and divide by their differences, which float64 can hold for these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# Powers of two, so that rounding to fewer bits leaves no score out of range.
LEAST_SCORE, MOST_SCORE = 2.0**-332, 2.0**332
#: Largest sum of weights; groups square it and hold it in 32 bits.
MOST_WEIGHT = 1e30
# Number of rows per block, whose temporaries stay in the cache.
_BLOCK = 1 << 14


def score_fault(score: float) -> str:
    """Return what is wrong with a score that is out of range, and how to fix it."""
    return (
        f"a score is {score:g}, beyond what float64 can carry; expected 0 or a size of about "
        f"1e-100 to 1e+100. Check for a forecast whose scale is almost 0 or huge, and for outcomes "
        f"in another unit."
    )


def check_total_weight(total: float) -> None:
    """Raise if the weights of rows are too large."""
    if not total <= MOST_WEIGHT:
        raise ValueError(
            f"sample_weight sums to {total:g}, beyond what float64 can carry; expected at most "
            f"{MOST_WEIGHT:g}. Divide the weights by their mean."
        )


def in_range(s: FloatArray) -> NDArray[np.bool_]:
    """Return which scores are in range; NaN and infinities are not."""
    size = np.abs(s)
    return (size <= MOST_SCORE) & ((size >= LEAST_SCORE) | (size == 0.0))


def in_range_or_infinite(s: FloatArray) -> NDArray[np.bool_]:
    """Return which ends of intervals of scores are in range."""
    return in_range(s) | np.isinf(s)


def first_out_of_range(s: FloatArray) -> int | None:
    """Return the first score that is out of range."""
    for start in range(0, len(s), _BLOCK):
        block = s[start : start + _BLOCK]
        size = np.abs(block)
        if size.max() <= MOST_SCORE and size.min() >= LEAST_SCORE:
            continue
        good = in_range(block)
        if not good.all():
            return start + int(np.argmin(good))
    return None


def sorted_are_in_range(s: FloatArray) -> bool:
    """Whether all scores are in range; they are sorted, with NaN at the end."""
    if not (s[0] >= -MOST_SCORE and s[-1] <= MOST_SCORE):
        return False
    small = s[np.searchsorted(s, -LEAST_SCORE, "right") : np.searchsorted(s, LEAST_SCORE)]
    return not small.any()
