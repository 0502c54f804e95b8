"""Forecasts of pixels, judged image by image: pixels of one image are wrong together.

What is kept of an image is how many of its PIT values lie at or below each level, and a few sums.
From that come all measures of all pixels, and what chance does to them: images are drawn, not
pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.clusters import Batch
from trueline.clusters._batches import Batches, each, rows
from trueline.metrics._accumulator import levels_below
from trueline.metrics._calibration import check_levels, error_of
from trueline.metrics._evaluate import average, one_pass
from trueline.recalibration import Recalibrator

#: Levels that are counted at: those of Eq. 9, and as many between them for the curve.
LEVELS = np.arange(21) / 20
#: Those of Eq. 9.
_ERROR = slice(None, None, 2)
#: Coverage of the interval that is looked at.
COVERAGE = 0.9
DRAWS = 2_000
CONFIDENCE = 0.95
# Sums of an image, by the names of `one_pass`, and two of our own.
_SUMS = ("inside", "width", "crps", "squared_error", "relative_error")


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of each image.

    Attributes
    ----------
    n : ndarray, (k,)
        Valid pixels, 1 or more.
    below : ndarray, (k, 21)
        Pixels whose PIT is at or below each of the levels.
    sums : dict of str to ndarray, (k,)
        Sums over the pixels.
    place : ndarray, (k,)
        Which of the images that were shown it is: one without a valid pixel is left out.
    """

    n: FloatArray
    below: FloatArray
    sums: dict[str, FloatArray]
    place: NDArray[np.intp]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.n)

    @property
    def curve(self) -> FloatArray:
        """Share of all pixels at or below each of the levels."""
        return self.below.sum(axis=0) / self.n.sum()

    @property
    def calibration_error(self) -> float:
        """Eq. 9, at the levels 0, 0.1, ..., 1."""
        return float(errors(self.curve))

    def mean(self, name: str) -> float:
        """Mean of a measure over all pixels."""
        return float(self.sums[name].sum() / self.n.sum())

    @property
    def rmse(self) -> float:
        """Root of the mean squared error of the means of the forecasts."""
        return float(np.sqrt(self.mean("squared_error")))

    def variances(self, blocks: NDArray[Any] | None = None) -> FloatArray:
        """Variance of the curve by chance in the images, at each of the levels.

        Blocks, one label an image, go together; without them each image stands alone. With
        shares f_i of blocks i of n_i pixels, w_i = n_i / mean(n) and the curve f it is the sum
        of w_i^2 (f_i - f)^2 over k (k - 1): for images of one size their variance over k.
        """
        n, below = self.n, self.below
        if blocks is not None:
            _, label = np.unique(blocks[self.place], return_inverse=True)
            n = np.bincount(label, n).astype(np.float64)
            below = np.stack([np.bincount(label, column) for column in below.T], axis=1)
        k = len(n)
        if k < 2:
            return np.full(LEVELS.size, np.nan)
        off = (below - n[:, None] * self.curve) / n.mean()
        return np.square(off).sum(axis=0) / (k * (k - 1.0))

    def floor(self, blocks: NDArray[Any] | None = None) -> float:
        """Expected calibration error if only chance in the images took the curve off the diagonal.

        It is the sum of the variances over the levels of Eq. 9. A map adds the same of the images
        that it was fitted on, judged with that map.
        """
        return float(self.variances(blocks)[_ERROR].sum())

    def effective_pixels(self) -> float:
        """How many independent pixels would have so much chance in the error."""
        p = check_levels(None)
        return float((p * (1.0 - p)).sum() / self.floor())

    def resampled(self, draws: int = DRAWS, seed: int = 0) -> Resampled:
        """Draw as many images as there are, with replacement, again and again."""
        k = len(self)
        rng = np.random.default_rng(seed)
        times = rng.multinomial(k, np.full(k, 1.0 / k), draws).astype(np.float64)
        n = times @ self.n
        return Resampled(times @ self.below / n[:, None], times @ self.sums["inside"] / n)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Curves and coverages of images drawn with replacement, a row a draw."""

    curves: FloatArray
    coverage: FloatArray

    def error_interval(self) -> tuple[float, float]:
        """95% of the calibration errors."""
        return _middle(errors(self.curves))

    def coverage_interval(self) -> tuple[float, float]:
        """95% of the coverages."""
        return _middle(self.coverage)


def half_width(*parts: Judged, draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Return how far chance in the images takes a whole curve, at each level, in 95% of draws.

    Several parts, such as the images that are judged and those that a map was fitted on, are
    drawn on their own and their deviations added. The width is in proportion to the root of
    p (1 - p), as it is for independent pixels: at the outer levels a few images decide, and what
    they show of their own variance is too little as often as not.
    """
    off = sum(
        (part.resampled(draws, seed + i).curves - part.curve for i, part in enumerate(parts)),
        start=np.zeros((draws, LEVELS.size)),
    )
    shape = np.sqrt(LEVELS * (1.0 - LEVELS))
    worst = np.abs(off[:, 1:-1] / shape[1:-1]).max(axis=1)
    return shape * np.quantile(worst, CONFIDENCE)


def errors(curves: FloatArray) -> FloatArray:
    """Eq. 9 of one curve, or of one a row."""
    p = check_levels(None)
    ones = np.ones_like(p)
    flat = np.atleast_2d(curves)[:, _ERROR]
    found = np.array([error_of(p, curve, ones) for curve in flat])
    return found if curves.ndim > 1 else found[0]


def judge(batches: Batches, maps: Mapping[str, Recalibrator | None]) -> dict[str, Judged]:
    """Judge the forecasts of each image by several maps; None leaves them as they are.

    Batches go through memory one by one, and once.
    """
    kept: dict[str, list[tuple[int, FloatArray, list[float]]]] = {name: [] for name in maps}
    place: list[int] = []
    shown = 0
    for batch in each(batches):
        for i in range(len(batch.y)):
            mask = None if batch.mask is None else batch.mask[i]
            found = rows(Batch(batch.y[i], batch.mean[i], batch.std[i], mask))
            if found is not None:
                place.append(shown)
                for name, recalibrator in maps.items():
                    kept[name].append(_image(*found, recalibrator))
            shown += 1
    if not place:
        raise ValueError("the batches hold no valid pixel; expected one or more.")
    return {name: _judged(images, place) for name, images in kept.items()}


def _image(
    y: FloatArray, dist: Any, recalibrator: Recalibrator | None
) -> tuple[int, FloatArray, list[float]]:
    """Pixels, those at or below each of the levels, and sums of an image."""
    mended = dist if recalibrator is None else recalibrator.transform(dist)
    # Nothing is drawn: the forecasts have no steps that a generator would be needed for.
    parts, found = one_pass(y, mended, None, COVERAGE, np.random.default_rng(0))
    sums = average(parts, 1.0)
    sums["squared_error"] = float(found.squared_error.sum())
    sums["relative_error"] = float((np.sqrt(found.squared_error) / np.abs(y)).sum())
    counts = np.bincount(levels_below(LEVELS, found.pit), minlength=LEVELS.size + 1)
    return y.size, np.cumsum(counts)[:-1].astype(np.float64), [sums[name] for name in _SUMS]


def _judged(images: Sequence[tuple[int, FloatArray, list[float]]], place: list[int]) -> Judged:
    n, below, sums = zip(*images, strict=True)
    columns = dict(zip(_SUMS, np.array(sums).T, strict=True))
    return Judged(np.array(n, dtype=np.float64), np.array(below), columns, np.array(place))


def _middle(values: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.5 - 0.5 * CONFIDENCE, 0.5 + 0.5 * CONFIDENCE])
    return float(low), float(high)
