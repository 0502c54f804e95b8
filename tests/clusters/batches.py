"""Batches that the tests of streaming share."""

import numpy as np

import trueline as tl
from trueline.clusters import Batch


def pictures(n, seed=0, size=(6, 8), shared=1.0):
    """Images whose pixels are wrong together, by a forecast that is too sure."""
    rng = np.random.default_rng(seed)
    shape = (n, *size)
    mean = rng.uniform(1.0, 5.0, shape)
    y = mean + shared * rng.normal(size=(n, 1, 1)) + 0.5 * rng.normal(size=shape)
    mask = rng.uniform(size=shape) < 0.9
    return Batch(
        np.where(mask, y, np.nan).astype(np.float32),
        mean.astype(np.float32),
        np.full(shape, 0.3, dtype=np.float32),
        mask,
    )


def cut(batch, *sizes):
    """Cut a batch into smaller ones."""
    stops = np.cumsum(sizes)
    assert stops[-1] == len(batch.y)
    return [
        Batch(*(part[stop - size : stop] for part in batch))
        for size, stop in zip(sizes, stops, strict=True)
    ]


def rows(batch):
    """The valid outcomes of a batch, and their forecasts."""
    y, mean, std = (part[batch.mask].astype(np.float64) for part in batch[:3])
    return y, tl.Normal(mean, std)
