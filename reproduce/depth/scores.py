"""Scores of pixels, image by image, because the errors of the pixels of an image are dependent.

For each image only the number of PIT values at or below each level and a few sums are kept. These
give all measures over all pixels, and their variation when images, not pixels, are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline.clusters import Batch
from trueline.distributions import Distribution, Normal
from trueline.metrics import crps, pit
from trueline.recalibration import Recalibrator

FloatArray = NDArray[np.float64]

#: Levels of the curve: those of Eq. 9 and the ones halfway between them.
LEVELS = np.arange(21) / 20
#: The levels of Eq. 9.
_ERROR = slice(None, None, 2)
#: Coverage of the interval.
COVERAGE = 0.9
DRAWS = 2_000
CONFIDENCE = 0.95
_SUMS = ("inside", "width", "crps", "squared_error", "relative_error")


@dataclass(frozen=True, eq=False)
class Judged:
    """The scores of each image.

    Attributes
    ----------
    n : ndarray, (k,)
        Number of valid pixels, 1 or more.
    below : ndarray, (k, 21)
        Number of pixels whose PIT is at or below each level.
    sums : dict of str to ndarray, (k,)
        Sums over the pixels.
    place : ndarray, (k,)
        The number of the image; images without a valid pixel are left out.
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
        """Share of all pixels at or below each level."""
        return self.below.sum(axis=0) / self.n.sum()

    @property
    def calibration_error(self) -> float:
        """Eq. 9, at the levels 0, 0.1, ..., 1."""
        return float(errors(self.curve))

    def mean(self, name: str) -> float:
        """Return the mean of a measure over all pixels."""
        return float(self.sums[name].sum() / self.n.sum())

    @property
    def rmse(self) -> float:
        """Root of the mean squared error of the means of the forecasts."""
        return float(np.sqrt(self.mean("squared_error")))

    def variances(self, blocks: NDArray[Any] | None = None) -> FloatArray:
        """Return the variance of the curve by chance in the images, at each level.

        Blocks are groups of dependent images, given by one label per image; by default each image
        is a block. With shares f_i of blocks i of n_i pixels, w_i = n_i / mean(n) and the curve f,
        the variance is the sum of w_i^2 (f_i - f)^2 / (k (k - 1)). For images of one size this is
        their variance divided by k.
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
        """Return the expected calibration error if the curve differs from the diagonal by chance.

        This is the sum of the variances over the levels of Eq. 9. A map adds the floor of the
        images that it was fitted on, with the scores of that map.
        """
        return float(self.variances(blocks)[_ERROR].sum())

    def effective_pixels(self) -> float:
        """Return the number of independent pixels that have the same floor."""
        p = LEVELS[_ERROR]
        return float((p * (1.0 - p)).sum() / self.floor())


# ---- chance ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resampled:
    """Scores of drawn images by several networks, and the weights of drawn networks.

    Attributes
    ----------
    curves : ndarray, (draws, networks, 21)
    coverage : ndarray, (draws, networks)
    weights : ndarray, (draws, networks)
        They add up to 1.
    """

    curves: FloatArray
    coverage: FloatArray
    weights: FloatArray

    @property
    def mean_curves(self) -> FloatArray:
        """Means of the curves of the drawn networks, (draws, 21)."""
        return np.einsum("dn,dnl->dl", self.weights, self.curves)

    def error_interval(self) -> tuple[float, float]:
        """Return the middle 95% of the mean calibration errors."""
        return _middle((self.weights * errors(self.curves)).sum(axis=1))

    def coverage_interval(self) -> tuple[float, float]:
        """Return the middle 95% of the mean coverages."""
        return _middle((self.weights * self.coverage).sum(axis=1))


def resampled(networks: Sequence[Judged], draws: int = DRAWS, seed: int = 0) -> Resampled:
    """Draw as many images as there are with replacement, and as many networks.

    All networks are scored on the same drawn images, because they forecast the same images.
    """
    k = len(networks[0])
    if any(not np.array_equal(one.place, networks[0].place) for one in networks):
        raise ValueError("the networks were judged on different images; expected the same.")
    images, trainings = np.random.default_rng(seed).spawn(2)
    times = images.multinomial(k, np.full(k, 1.0 / k), draws).astype(np.float64)
    curves, coverage = [], []
    for one in networks:
        n = times @ one.n
        curves.append(times @ one.below / n[:, None])
        coverage.append(times @ one.sums["inside"] / n)
    weights = _network_weights(len(networks), draws, trainings)
    return Resampled(np.stack(curves, axis=1), np.stack(coverage, axis=1), weights)


def _network_weights(count: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the weights of the networks in a mean over drawn networks, (draws, networks).

    The mean of m networks drawn with replacement has (m - 1) / m of the variance of the mean of m
    trainings. Deviations of the weights from 1 / m are therefore multiplied by the root of
    m / (m - 1), with which the variance is right on average.
    """
    equal = np.full((draws, count), 1.0 / count)
    if count == 1:
        return equal
    drawn = rng.multinomial(count, np.full(count, 1.0 / count), draws) / count
    return equal + np.sqrt(count / (count - 1.0)) * (drawn - equal)


def half_width(*parts: Sequence[Judged], draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """Return the half-width of a band that holds the whole mean curve in 95% of draws.

    Each part is judged by every network. Several parts, such as the test images and those that a
    map was fitted on, are drawn separately and their deviations added. The width is proportional
    to the root of p (1 - p), as for independent pixels: the variance at the outer levels depends on
    a few images and is often underestimated.
    """
    off = np.zeros((draws, LEVELS.size))
    for i, part in enumerate(parts):
        off += resampled(part, draws, seed + i).mean_curves - mean_curve(part)
    shape = np.sqrt(LEVELS * (1.0 - LEVELS))
    worst = np.abs(off[:, 1:-1] / shape[1:-1]).max(axis=1)
    return shape * np.quantile(worst, CONFIDENCE)


def mean_curve(networks: Sequence[Judged]) -> FloatArray:
    """Return the mean of the curves of some networks."""
    return np.mean([one.curve for one in networks], axis=0)


def errors(curves: FloatArray) -> FloatArray:
    """Return Eq. 9 of one curve, or of each row."""
    return np.square(curves[..., _ERROR] - LEVELS[_ERROR]).sum(axis=-1)


# ---- scoring ---------------------------------------------------------------------------


def judge(batches: Iterable[Batch], maps: Mapping[str, Recalibrator | None]) -> dict[str, Judged]:
    """Score the forecasts of each image with several maps; None stands for no map.

    Batches are read one by one, and once.
    """
    kept: dict[str, list[tuple[int, FloatArray, list[float]]]] = {name: [] for name in maps}
    place: list[int] = []
    images = (image for batch in batches for image in _images(batch))
    for number, (y, mean, std, mask) in enumerate(images):
        if not mask.any():
            continue
        place.append(number)
        valid, *moments = (np.asarray(array[mask], dtype=np.float64) for array in (y, mean, std))
        forecast = Normal(*moments)
        for name, recalibrator in maps.items():
            dist = forecast if recalibrator is None else recalibrator.transform(forecast)
            kept[name].append(_image(valid, dist))
    if not place:
        raise ValueError("the batches hold no valid pixel; expected one or more.")
    return {name: _judged(scores, place) for name, scores in kept.items()}


def _images(batch: Batch) -> Iterator[tuple[Any, ...]]:
    mask = np.ones(batch.y.shape, dtype=bool) if batch.mask is None else batch.mask
    return zip(batch.y, batch.mean, batch.std, mask, strict=True)


def _image(y: FloatArray, dist: Distribution) -> tuple[int, FloatArray, list[float]]:
    """Return the number of pixels of an image, the counts below each level, and the sums."""
    below = np.searchsorted(np.sort(pit(y, dist)), LEVELS, side="right")
    lower, upper = dist.interval(COVERAGE)
    error = np.abs(y - dist.mean())
    sums = {
        "inside": ((lower <= y) & (y <= upper)).sum(),
        "width": (upper - lower).sum(),
        "crps": crps(y, dist, reduce=False).sum(),
        "squared_error": np.square(error).sum(),
        "relative_error": (error / np.abs(y)).sum(),
    }
    return y.size, below.astype(np.float64), [float(sums[name]) for name in _SUMS]


def _judged(images: list[tuple[int, FloatArray, list[float]]], place: list[int]) -> Judged:
    n, below, sums = zip(*images, strict=True)
    columns = dict(zip(_SUMS, np.array(sums).T, strict=True))
    return Judged(np.array(n, dtype=np.float64), np.array(below), columns, np.array(place))


def _middle(values: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.5 - 0.5 * CONFIDENCE, 0.5 + 0.5 * CONFIDENCE])
    return float(low), float(high)
