"""Forecasts of a trained DenseNet by running moments over thinned networks.

A sample drops the same units in every image. Some samples of one image are computed at a time, and
never with other images. A forecast is therefore the same to the last bit in any batch, and no
array holds samples x pixels of more than one image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trueline._validation import FloatArray
from trueline.models._recipe import Standardiser, Weights
from trueline.models.densenet._network import Drop, Network, kept, split
from trueline.models.densenet._plan import Plan
from trueline.models.densenet._training import read_images

# Samples x pixels of an image computed at a time, and the largest number of samples.
_CELLS = 1 << 15
_SAMPLES = 4
# Key of the random numbers of forecasts; those of training have keys 0, 1 and 2.
_FORECASTS = 3


class Forecaster:
    """A trained network that forecasts."""

    def __init__(
        self, plan: Plan, weights: Weights, standardiser: Standardiser, seed: int, device: str
    ) -> None:
        self.plan, self.standardiser, self.seed, self.device = plan, standardiser, seed, device
        self.state = {name: torch.from_numpy(v).to(device) for name, v in weights.items()}

    @torch.no_grad()
    def moments(self, images: NDArray[Any], n_samples: int, dropout: float) -> FloatArray:
        """Return mean, variance of the mean and mean variance, standardised, (3, n, h, w)."""
        if dropout == 0.0:  # every sample is the network itself
            n_samples = 1
        result = np.zeros((3, *images.shape[:3]))
        chunk = max(1, min(_SAMPLES, _CELLS // (images.shape[1] * images.shape[2])))
        for start in range(0, n_samples, chunk):
            samples = range(start, min(start + chunk, n_samples))
            masks = self.masks(images.shape[1], images.shape[2], samples, dropout)
            for image, running in zip(images, result.swapaxes(0, 1), strict=True):
                merge(running, start, *self.outputs(image, masks, len(samples)))
        result[1] /= n_samples
        return result

    def outputs(
        self, image: NDArray[Any], masks: Sequence[Tensor], n_samples: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance by each of some samples, (samples, h, w)."""
        x = read_images(image[None], self.standardiser, self.plan, self.device)
        x = x.expand(n_samples, -1, -1, -1).contiguous(memory_format=torch.channels_last)
        network = Network(self.plan, self.state, _replayed(masks), training=False)
        found = network.outputs(x)[:, :, : image.shape[0], : image.shape[1]].to(torch.float64)
        mean, log_var = split(found)
        var = torch.zeros_like(mean) if log_var is None else torch.exp(log_var)
        return mean.cpu().numpy(), var.cpu().numpy()

    def masks(
        self, height: int, width: int, samples: Sequence[int], dropout: float
    ) -> list[Tensor]:
        """Draw the masks (samples, features, h, w) of these samples, one tensor per layer.

        Each sample has its own generator, so it does not depend on the samples drawn with it.
        """
        if dropout == 0.0:
            return []
        multiple = self.plan.multiple
        height, width = (-(-side // multiple) * multiple for side in (height, width))
        rngs = [_generator(self.seed, sample) for sample in samples]
        return [
            torch.cat([kept(rng, (1, *shape), dropout, self.device) for rng in rngs])
            for shape in self.plan.sites(height, width)
        ]


def _generator(seed: int, sample: int) -> np.random.Generator:
    key = (_FORECASTS, sample)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def _replayed(masks: Sequence[Tensor]) -> Drop:
    """Return a function that applies the next mask at each call."""
    if not masks:
        return lambda h: h
    left = iter(masks)
    return lambda h: h.mul_(next(left))


def merge(running: FloatArray, n: int, mean: FloatArray, var: FloatArray) -> None:
    """Add samples, (samples, ...), to the mean, squares and mean variance of n earlier samples.

    Squares are summed about the mean (Chan et al. 1979) to avoid cancellation.
    """
    k = len(mean)
    centre = mean.mean(axis=0)
    gap = centre - running[0]
    running[1] += np.square(mean - centre).sum(axis=0) + np.square(gap) * (n * k / (n + k))
    running[0] += gap * (k / (n + k))
    running[2] += (var.mean(axis=0) - running[2]) * (k / (n + k))
