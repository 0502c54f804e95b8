"""A fully convolutional DenseNet as a function of its weights, and its forecasts.

Forecasts are running moments over thinned networks. A sample drops the same units in every image.
Some samples of one image are computed at a time, and never with other images. A forecast is
therefore the same to the last bit in any batch, and no array holds samples x pixels of more than
one image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trueline._validation import FloatArray
from trueline.models._recipe import Standardiser, Weights
from trueline.models.densenet._data import MOMENTUM, Plan

# Bounds of log variances, in units of the variance of the target. Without them, a few pixels that
# are forecast almost exactly would dominate the loss.
LOG_VARIANCE = (-10.0, 10.0)
# Samples x pixels of an image computed at a time, and the largest number of samples.
_CELLS = 1 << 15
_SAMPLES = 4
# Key of the random numbers of forecasts; those of training have keys 0, 1 and 2.
_FORECASTS = 3

Drop = Callable[[Tensor], Tensor]


class Network:
    """The network with its weights.

    Training normalises features by the statistics of the batch, forecasts by running statistics.
    Both drop units, so the running statistics are those of the thinned networks that forecast;
    features without dropout vary less.
    """

    def __init__(
        self, plan: Plan, state: Mapping[str, Tensor], drop: Drop, *, training: bool
    ) -> None:
        self.plan = plan
        self.state = state
        self.drop = drop
        self.training = training

    def outputs(self, x: Tensor) -> Tensor:
        """Return outputs (n, outputs, h, w) of images (n, 3, h, w); sides can be halved."""
        blocks = self.plan.layers[:-1]
        h = self._convolve("first", x)
        skipped = []
        for i, n in enumerate(blocks):
            h = torch.cat([h, self._block(f"down{i}", h, n)], dim=1)
            skipped.append(h)
            h = functional.max_pool2d(self._unit(f"pool{i}", h), 2)
        new = self._block("bottom", h, self.plan.layers[-1])
        for i, n in reversed(list(enumerate(blocks))):
            h = torch.cat([self._rise(f"rise{i}", new), skipped.pop()], dim=1)
            new = self._block(f"up{i}", h, n)
        return self._convolve("head", torch.cat([h, new], dim=1))

    def _block(self, name: str, h: Tensor, n: int) -> Tensor:
        """Return the features that n layers add; each reads the inputs and all earlier layers."""
        new: list[Tensor] = []
        for j in range(n):
            inputs = torch.cat([h, *new], dim=1) if new else h
            new.append(self._unit(f"{name}.{j}", inputs))
        return torch.cat(new, dim=1)

    def _unit(self, name: str, h: Tensor) -> Tensor:
        """Normalise, rectify, convolve, drop."""
        h = functional.batch_norm(
            h,
            self.state[f"{name}.mean"],
            self.state[f"{name}.var"],
            self.state[f"{name}.gain"],
            self.state[f"{name}.shift"],
            training=self.training,
            momentum=MOMENTUM,
        )
        return self.drop(self._convolve(name, torch.relu_(h)))

    def _convolve(self, name: str, h: Tensor) -> Tensor:
        weight, bias = self.state[f"{name}.weight"], self.state[f"{name}.bias"]
        return functional.conv2d(h, weight, bias, padding=weight.shape[-1] // 2)

    def _rise(self, name: str, h: Tensor) -> Tensor:
        weight, bias = self.state[f"{name}.weight"], self.state[f"{name}.bias"]
        return functional.conv_transpose2d(h, weight, bias, stride=2, padding=1, output_padding=1)


def kept(rng: np.random.Generator, shape: tuple[int, ...], dropout: float, device: str) -> Tensor:
    """Draw a dropout mask (n, features, h, w), channels last in memory: 0 or 1 / (1 - rate).

    It uses two random bytes per unit and takes a third of the time of torch.
    """
    n, features, height, width = shape
    count = max(1, round((1.0 - dropout) * 65536))
    bits = np.frombuffer(rng.bytes(2 * math.prod(shape)), dtype=np.uint16)
    mask = np.multiply(bits < count, np.float32(65536 / count), dtype=np.float32)
    drawn = torch.from_numpy(mask.reshape(n, height, width, features)).to(device)
    return drawn.permute(0, 3, 1, 2)


def split(outputs: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return mean and log variance of pixels, (n, h, w); the latter may be None."""
    if outputs.shape[1] == 1:
        return outputs[:, 0], None
    return outputs[:, 0], outputs[:, 1].clamp(*LOG_VARIANCE)


def initial(plan: Plan, seed: np.random.SeedSequence) -> dict[str, NDArray[Any]]:
    """Draw the initial weights, uniform as of He et al., and running statistics."""
    rng = np.random.default_rng(seed)
    state: dict[str, NDArray[Any]] = {}
    convolutions = plan.convolutions()
    for name, shape in plan.shapes().items():
        unit, _, part = name.rpartition(".")
        if part == "weight":
            convolution = convolutions[unit]
            # The head is not rectified and starts near 0, the mean of all pixels.
            gain = 0.06 if unit == "head" else 6.0
            bound = np.sqrt(gain / (convolution.inner * convolution.size**2))
            value = rng.uniform(-bound, bound, shape)
        else:
            value = np.ones(shape) if part == "gain" else np.zeros(shape)
        state[name] = value.astype(np.float32)
    for name, shape in plan.statistics().items():
        value = np.ones(shape) if name.endswith(".var") else np.zeros(shape)
        state[name] = value.astype(np.float32)
    return state


def read_images(
    images: NDArray[Any], standardiser: Standardiser, plan: Plan, device: str
) -> Tensor:
    """Standardise images, put channels first and pad the sides until they can be halved.

    The padding, on the right and below, is a reflection of the image.
    """
    unit = 255.0 if images.dtype == np.uint8 else 1.0
    scale = (1.0 / (unit * standardiser.x_scale)).astype(np.float32)
    shift = (-standardiser.x_mean / standardiser.x_scale).astype(np.float32)
    x = torch.from_numpy(images.astype(np.float32) * scale + shift).to(device)
    # Channels stay last in memory, where convolutions are fastest.
    x = x.permute(0, 3, 1, 2)
    height, width = (-side % plan.multiple for side in x.shape[2:])
    if height or width:
        x = functional.pad(x, (0, width, 0, height), mode="reflect")
    return x.contiguous(memory_format=torch.channels_last)


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
