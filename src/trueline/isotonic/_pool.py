"""Isotonic regression of many sequences at once, by pooling adjacent violators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# Passes over the blocks of all sequences; in the last, those of each sequence are pooled in turn.
_PASSES = 3


def pool(total: FloatArray, weight: FloatArray, length: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the blocks of the falling least-squares fits of sequences, and their means.

    Parameters
    ----------
    total, weight : (s * length,) array
        Weighted sum of the responses and weight, above 0, of each element of s sequences.
    length : int
        Number of elements of a sequence.

    Returns
    -------
    starts : (b,) array
        First element of each block; blocks end with their sequence.
    means : (b,) array
        Value of the fit on each block: weighted sum of its responses, divided by its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.isotonic import pool
    >>> pool(np.array([2.0, 0.0, 1.0, 0.0, 3.0, 1.0]), np.ones(6), 3)
    (array([0, 1, 3, 5]), array([2. , 0.5, 1.5, 1. ]))
    """
    firsts = np.arange(0, len(total), length)
    starts = at = _falls(total / weight, firsts)
    for step in range(_PASSES):
        firsts = np.searchsorted(at, firsts)
        total, weight = np.add.reduceat(total, at), np.add.reduceat(weight, at)
        means = total / weight
        at = _falls(means, firsts) if step < _PASSES - 1 else _blocks(means, weight, firsts)
        starts = starts[at]
    return starts, np.add.reduceat(total, at) / np.add.reduceat(weight, at)


def _falls(means: FloatArray, firsts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the blocks that are below the one before them, or begin a sequence.

    The others are pooled with the one before them in the fit, whatever else is. In ordinary data
    they are half of the blocks or more, and all sequences are done at once.
    """
    falls = np.empty(len(means), dtype=bool)
    np.less(means[1:], means[:-1], out=falls[1:])
    falls[firsts] = True
    return np.flatnonzero(falls)


def _blocks(means: FloatArray, weight: FloatArray, firsts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first element of each block of the fits of sequences that begin at `firsts`."""
    from scipy.optimize import isotonic_regression

    ends = np.append(firsts[1:], len(means))
    found = [
        first
        + isotonic_regression(means[first:end], weights=weight[first:end], increasing=False).blocks[
            :-1
        ]
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
    ]
    return np.concatenate(found)
