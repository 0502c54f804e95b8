"""A fully convolutional DenseNet as a function of its weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trueline.models.densenet._plan import MOMENTUM, Plan

# Bounds of log variances, in units of the variance of the target. Without them, a few pixels that
# are forecast almost exactly would dominate the loss.
LOG_VARIANCE = (-10.0, 10.0)

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
