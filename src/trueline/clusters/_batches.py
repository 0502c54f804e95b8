"""Forecasts that come in batches of arrays, such as the pixels of images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from trueline._validation import FloatArray, level
from trueline.distributions import Normal
from trueline.metrics import EvaluationAccumulator, FileEvaluation
from trueline.recalibration import (
    FIRST_ROWS,
    Isotonic,
    Recalibrator,
    ScoreAccumulator,
    ScoreRows,
)

# The message if there is no valid outcome.
_NONE = (
    "the batches hold no valid outcome; expected one or more. Check the masks, where True is "
    "valid, and whether an iterator was used up before: it can be read once."
)


class Batch(NamedTuple):
    """Outcomes and forecasts of one shape, such as the pixels of some images.

    Attributes
    ----------
    y, mean, std : array
        Outcomes, and the means and standard deviations of their normal forecasts.
    mask : array of bool, optional
        True where the outcome is valid; None means everywhere. Other outcomes are ignored and may
        be NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.clusters import Batch
    >>> depth = np.array([[1.0, np.nan], [2.0, 3.0]])
    >>> Batch(depth, np.ones((2, 2)), np.ones((2, 2)), np.isfinite(depth)).y.shape
    (2, 2)
    """

    y: Any
    mean: Any
    std: Any
    mask: Any = None


Batches = Batch | Iterable[Batch]


def fit_batches(batches: Batches, recalibrator: Recalibrator | None = None) -> Recalibrator:
    """Fit a recalibrator on batches, which are in memory one at a time.

    The map is that of one fit on all outcomes, whatever the batches and their order, if there are
    at most 2^20 distinct scores. With more, scores are rounded by at most 2^-17 of themselves,
    equally in any order. The least width of forecasts and the atoms of outcomes are learned from
    the first batches with at least 10,000 outcomes. Maps of parts for which the same was learned
    can be merged in any order: exact maps give the exact map of all outcomes, however many scores
    it holds.

    Parameters
    ----------
    batches : iterable of Batch, or Batch
        They are read once. A `Batch` of Dask arrays is computed block by block.
    recalibrator : Recalibrator, optional
        By default `Isotonic`. It is not modified.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.clusters import Batch, fit_batches
    >>> rng, ones = np.random.default_rng(0), np.ones((2, 4, 4))
    >>> R = fit_batches(Batch(rng.normal(size=(2, 4, 4)), ones, ones) for _ in range(2))
    >>> R.scores_
    <Exact standardised scores: 64 values of 64 rows>
    """
    checked = _checked(recalibrator)
    stated = checked._stated_support()
    found = (part for part in map(rows, each(batches)) if part is not None)
    first = _first(found)
    if not first:
        raise ValueError(_NONE)
    columns = zip(*((y, dist.loc, dist.scale) for y, dist in first), strict=True)
    y, mean, std = map(np.concatenate, columns)
    preparation = checked._unfitted_copy()._prepare(y, Normal(mean, std), None)
    accumulator = ScoreAccumulator("standardised", preparation=preparation)
    for outcomes, dist in chain(first, found):
        if stated is not None:
            stated.check(outcomes)
        accumulator.add(ScoreRows.of_outcomes(outcomes, preparation(dist)))
    return accumulator.finish(checked)


def _first(parts: Iterator[tuple[FloatArray, Normal]]) -> list[tuple[FloatArray, Normal]]:
    """Return the first batches, up to the number of outcomes that a preparation needs."""
    first: list[tuple[FloatArray, Normal]] = []
    while sum(len(y) for y, _ in first) < FIRST_ROWS:
        part = next(parts, None)
        if part is None:
            break
        first.append(part)
    return first


def _checked(recalibrator: Any) -> Recalibrator:
    if recalibrator is None:
        return Isotonic()
    usable = isinstance(recalibrator, Recalibrator) and recalibrator.learns_from_scores
    if not usable or recalibrator.needs_groups:
        found = getattr(recalibrator, "__name__", type(recalibrator).__name__)
        raise TypeError(
            f"recalibrator is {found}; expected one that learns a single map from scores, such as "
            f"Isotonic() or Scaling(), because batches hold no groups and no features."
        )
    checked: Recalibrator = recalibrator
    checked._check_params()
    return checked


def evaluate_batches(
    batches: Batches, recalibrator: Recalibrator | None = None, *, coverage: float = 0.9
) -> FileEvaluation:
    """Evaluate forecasts batch by batch, in constant memory.

    The result is that of `trueline.evaluate` on all outcomes, with the accuracy that
    `trueline.files.evaluate` states for many rows; the floor counts the rows that the map was
    fitted on. Floor and p-value assume independent outcomes, which those of one image are not.

    Parameters
    ----------
    batches : iterable of Batch, or Batch
        As for `fit_batches`.
    recalibrator : Recalibrator, optional
        A fitted map; the recalibrated forecasts are evaluated.
    coverage : float, default 0.9
        Probability of the central interval to evaluate.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.clusters import Batch, evaluate_batches, fit_batches
    >>> rng = np.random.default_rng(0)
    >>> def images(n):
    ...     for _ in range(n):
    ...         mean = rng.uniform(1.0, 5.0, size=(8, 6, 9))
    ...         yield Batch(rng.normal(mean, 0.5), mean, np.full(mean.shape, 0.1))
    >>> R = fit_batches(images(20))
    >>> round(evaluate_batches(images(20), R).overall.coverage, 2)
    0.9
    """
    evaluation = EvaluationAccumulator(level(coverage, "coverage"))
    # Nothing is drawn, because normal forecasts have no steps.
    rng = np.random.default_rng(0)
    for batch in each(batches):
        part = rows(batch)
        if part is not None:
            y, dist = part
            recalibrated = dist if recalibrator is None else recalibrator.transform(dist)
            evaluation.add(y, recalibrated, None, rng)
    n_fit = None
    if recalibrator is not None and recalibrator.is_exportable:
        n_fit = recalibrator.n_fit
    found = evaluation.finish(n_fit) if evaluation.n else None
    if found is None:
        raise ValueError(_NONE)
    return found


def each(batches: Batches) -> Iterator[Batch]:
    """Yield the batches; a batch of Dask arrays is computed block by block."""
    if not isinstance(batches, Batch | Iterable):
        raise TypeError(
            f"batches is a {type(batches).__name__}; expected an iterable of Batch(y, mean, std, "
            f"mask), or one of them."
        )
    if not isinstance(batches, Batch):
        for batch in batches:
            yield batch if isinstance(batch, Batch) else _batch(batch)
    elif hasattr(batches.y, "dask"):
        yield from _blocks(batches)
    else:
        yield batches


def _batch(given: Any) -> Batch:
    if isinstance(given, tuple) and len(given) in (3, 4):
        return Batch(*given)
    raise TypeError(
        f"a batch is a {type(given).__name__}; expected Batch(y, mean, std, mask), or a tuple of "
        f"these."
    )


def _blocks(batch: Batch) -> Iterator[Batch]:
    """Yield the blocks of Dask arrays; all arrays are cut like the outcomes."""
    import dask.base

    compute: Any = dask.base.compute  # which has no types
    arrays = [array for array in batch if array is not None]
    other = [type(array).__name__ for array in arrays if not hasattr(array, "dask")]
    if other:
        raise TypeError(f"a batch has Dask arrays and a {other[0]}; expected one kind.")
    if any(np.isnan(array.shape).any() for array in arrays):
        raise ValueError(
            "a batch has Dask arrays of unknown size; expected known ones. Call "
            "compute_chunk_sizes() on each first."
        )
    _check_shapes(batch)
    cut = [array.rechunk(batch.y.chunks) for array in arrays]
    for place in np.ndindex(*batch.y.numblocks):
        yield Batch(*compute(*(array.blocks[place] for array in cut)))


def _check_shapes(batch: Batch) -> None:
    shapes = {name: a.shape for name, a in batch._asdict().items() if a is not None}
    if len(set(shapes.values())) > 1:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"the arrays of a batch have the shapes {found}; expected one shape.")


def rows(batch: Batch) -> tuple[FloatArray, Normal] | None:
    """Return the valid outcomes and their forecasts; None if there is no valid outcome."""
    batch = Batch(*(None if array is None else np.asarray(array) for array in batch))
    kept = batch.mask
    if kept is not None and kept.dtype != np.bool_:
        raise ValueError(f"mask has the type {kept.dtype}; expected bool, True where y is valid.")
    _check_shapes(batch)
    y, mean, std = (
        (array.ravel() if kept is None else array[kept]).astype(np.float64) for array in batch[:3]
    )
    if not y.size:
        return None
    if not np.isfinite(y).all():
        raise ValueError(
            f"{np.count_nonzero(~np.isfinite(y)):,} of {y.size:,} valid outcomes of a batch are "
            f"not finite; expected numbers. Set the mask to False there."
        )
    for name, array, good in (("mean", mean, np.isfinite(mean)), ("std", std, std > 0)):
        if not good.all():
            raise ValueError(
                f"{name} holds {array[np.argmin(good)]} ({np.count_nonzero(~good):,} of {y.size:,} "
                f"valid outcomes of a batch); expected "
                f"{'finite numbers' if name == 'mean' else 'standard deviations above 0'}. Set the "
                f"mask to False there, or fix the forecast."
            )
    return y, Normal(mean, std)
