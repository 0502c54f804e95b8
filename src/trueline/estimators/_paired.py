"""Candidates compared by the losses of the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from trueline._validation import FloatArray
from trueline.recalibration._least_width import mean_and_error

# A more elaborate candidate must gain this many standard errors of the paired differences.
_MARGIN = 1.0


def simplest(
    losses: Mapping[str, FloatArray], w: FloatArray | None, sizes: Sequence[int] | None = None
) -> str:
    """Return the first candidate that no later one beats by more than the noise.

    Parameters
    ----------
    losses : dict of (n,) arrays
        Losses of the same rows, the simplest candidate first.
    w : (n,) array, optional
        Weights of the rows.
    sizes : sequence of int, optional
        See `mean_and_noise`.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.estimators._paired import simplest
    >>> loss = np.random.default_rng(0).normal(size=100)
    >>> simplest({"plain": loss, "better": loss - 1.0, "elaborate": loss - 1.0}, None)
    'better'
    """
    best, *others = losses
    for name in others:
        gain, noise = mean_and_noise(losses[best] - losses[name], w, sizes)
        if gain > _MARGIN * noise:
            best = name
    return best


def mean_and_noise(
    d: FloatArray, w: FloatArray | None, sizes: Sequence[int] | None = None
) -> tuple[float, float]:
    """Return the weighted mean of paired differences, and its standard error.

    The error is that of independent rows. If rows of one split may resemble each other, as those of
    a group do, `sizes` are the numbers of rows of the splits, and the error is the larger of that
    and the one of independent splits.
    """
    mean, noise = mean_and_error(d, w)
    if sizes is not None:
        k = len(sizes)
        of_splits = mean_and_error(d, w, np.repeat(np.arange(k), sizes))[1]
        noise = max(noise, of_splits * math.sqrt(k / max(k - 1, 1)))
    return mean, noise
