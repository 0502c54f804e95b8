"""Pixels batch by batch: what a map is fitted on, and what it is judged on, never all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions import Normal
from trueline.recalibration import Recalibrator

R = TypeVar("R", bound=Recalibrator)


class Batch(NamedTuple):
    """Outcomes and forecasts of some images, arrays of one shape, images first.

    ``mask`` is True where the outcome is valid; None stands for everywhere. What the outcome is
    elsewhere is never looked at, and may be NaN.
    """

    y: NDArray[Any]
    mean: NDArray[Any]
    std: NDArray[Any]
    mask: NDArray[np.bool_] | None = None


def rows(batch: Batch) -> tuple[FloatArray, Normal] | None:
    """Return the valid pixels and their forecasts; None if there is no valid pixel.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.experiments._depth_stream import Batch, rows
    >>> depth = np.array([[[1.0, np.nan]]])
    >>> y, dist = rows(Batch(depth, np.ones((1, 1, 2)), np.ones((1, 1, 2)), np.isfinite(depth)))
    >>> y, len(dist)
    (array([1.]), 1)
    """
    y, mean, std = (np.asarray(array) for array in batch[:3])
    kept = None if batch.mask is None else np.asarray(batch.mask)
    shapes = {"y": y.shape, "mean": mean.shape, "std": std.shape}
    if kept is not None:
        shapes["mask"] = kept.shape
        if kept.dtype != np.bool_:
            raise ValueError(
                f"mask has the type {kept.dtype}; expected bool, True where y is valid."
            )
    if len(set(shapes.values())) > 1:
        told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"the arrays of a batch have the shapes {told}; expected one shape.")
    y, mean, std = (
        (array.ravel() if kept is None else array[kept]).astype(np.float64)
        for array in (y, mean, std)
    )
    if not y.size:
        return None
    if not np.isfinite(y).all():
        raise ValueError(
            f"{np.count_nonzero(~np.isfinite(y)):,} of {y.size:,} valid pixels of a batch have an "
            f"outcome that is not finite; expected numbers. Set the mask to False there."
        )
    return y, Normal(mean, std)


def fit(recalibrator: R, batches: Iterable[Batch]) -> R:
    """Fit a map on the pixels of all batches, which go through memory one by one.

    The map is that of one fit on all pixels, whatever the batches and their order, while there
    are at most 2^20 distinct scores. Beyond, scores are rounded by a share of at most 2^-17 of
    themselves, the same ones in any order. Maps of parts `merge`.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.experiments._depth_stream import Batch, fit
    >>> ones = np.ones((2, 4, 4))
    >>> R = fit(tl.Isotonic(), (Batch(ones * depth, ones, ones) for depth in (0.5, 2.0)))
    >>> R.scores_.values, R.scores_.total
    (array([-0.5,  1. ]), 64.0)
    """
    some = False
    for batch in batches:
        found = rows(batch)
        if found is not None:
            recalibrator.partial_fit(*found)
            some = True
    if not some:
        raise ValueError(
            "the batches hold no valid pixel; expected one or more. Check the masks: True is valid."
        )
    return recalibrator


def blocks(y: Any, mean: Any, std: Any, mask: Any = None) -> Iterator[Batch]:
    """Yield the blocks of Dask arrays, each computed when it is asked for.

    Arrays are cut as ``y`` is.

    Examples
    --------
    >>> import dask.array as da
    >>> from trueline.experiments._depth_stream import blocks
    >>> y = da.ones((6, 4, 4), chunks=(4, 4, 4))
    >>> [batch.y.shape for batch in blocks(y, 2 * y, y)]
    [(4, 4, 4), (2, 4, 4)]
    """
    import dask.base

    compute: Any = dask.base.compute  # which has no types
    arrays = [y, mean, std] if mask is None else [y, mean, std, mask]
    if len({array.shape for array in arrays}) > 1:
        told = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"the arrays have the shapes {told}; expected one shape.")
    cut = [array.rechunk(y.chunks) for array in arrays]
    for place in np.ndindex(*y.numblocks):
        yield Batch(*compute(*(array.blocks[place] for array in cut)))
