"""Training of a DenseNet, an epoch at a time, so that it can go on where it was cut off.

What is drawn in an epoch (the order of the images, their windows, what is dropped) depends on the
seed and the number of the epoch alone. So weights, moments of Adam and the number of epochs done
are all that a checkpoint needs to go on to the last bit as if nothing had happened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trueline.models._errors import DivergenceError
from trueline.models._recipe import Standardiser
from trueline.models.densenet._data import Pictures
from trueline.models.densenet._network import Drop, Network, initial, kept, split
from trueline.models.densenet._plan import Plan

# Beyond so many standard deviations of the depths, Huber's loss is linear.
_HUBER = 0.5

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Course:
    """How to train."""

    dropout: float
    loss: str
    learning_rate: float
    schedule: str
    weight_decay: float
    batch_size: int
    n_epochs: int
    flip: bool
    crop: float
    device: str


@dataclass
class Progressed:
    """How far training has come: all that is needed to go on."""

    weights: Arrays
    first: Arrays  # Adam's mean of gradients
    second: Arrays  # and of their squares
    losses: list[float] = field(default_factory=list)  # mean over pixels, an epoch each

    @property
    def n_epochs(self) -> int:
        """Epochs done."""
        return len(self.losses)


def begin(plan: Plan, seed: int) -> Progressed:
    """Before the first epoch."""
    zeros = {name: np.zeros(shape, np.float32) for name, shape in plan.shapes().items()}
    copies = {name: value.copy() for name, value in zeros.items()}
    return Progressed(initial(plan, _sequence(seed, 0)), zeros, copies)


class Trainer:
    """Takes a network from one epoch to the next."""

    def __init__(
        self,
        plan: Plan,
        course: Course,
        pictures: Pictures,
        standardiser: Standardiser,
        seed: int,
        reached: Progressed,
    ) -> None:
        self.plan, self.course, self.seed = plan, course, seed
        self.pictures, self.standardiser = pictures, standardiser
        self.losses = list(reached.losses)
        self.epoch_steps = -(-len(pictures) // course.batch_size)
        self.state = {
            name: torch.from_numpy(value.copy()).to(course.device)
            for name, value in reached.weights.items()
        }
        self.adam = self._optimiser(reached)

    def _optimiser(self, reached: Progressed) -> torch.optim.Adam:
        names = list(self.plan.shapes())
        for name in names:
            self.state[name].requires_grad_()
        heavy = [self.state[name] for name in names if name.endswith(".weight")]
        light = [self.state[name] for name in names if not name.endswith(".weight")]
        groups: list[dict[str, Any]] = [
            {"params": heavy, "weight_decay": self.course.weight_decay},
            {"params": light},
        ]
        adam = torch.optim.Adam(groups, lr=self.course.learning_rate, fused=True)
        if reached.n_epochs:
            done = float(reached.n_epochs * self.epoch_steps)
            for name in names:
                adam.state[self.state[name]] = {
                    "step": torch.tensor(done, device=self.course.device),
                    "exp_avg": torch.from_numpy(reached.first[name].copy()).to(self.course.device),
                    "exp_avg_sq": torch.from_numpy(reached.second[name].copy()).to(
                        self.course.device
                    ),
                }
        return adam

    def run(self, after: Callable[[Trainer], None]) -> None:
        """Train to the end; `after` is called after every epoch."""
        while len(self.losses) < self.course.n_epochs:
            self.losses.append(self._epoch(len(self.losses)))
            after(self)

    def reached(self) -> Progressed:
        """Where training is, as arrays of its own."""
        names = self.plan.shapes()
        moments = {name: self.adam.state[self.state[name]] for name in names}
        return Progressed(
            self.weights(),
            {name: moment["exp_avg"].cpu().numpy().copy() for name, moment in moments.items()},
            {name: moment["exp_avg_sq"].cpu().numpy().copy() for name, moment in moments.items()},
            list(self.losses),
        )

    def weights(self) -> Arrays:
        """Weights and running statistics, as arrays of their own."""
        return {name: v.detach().cpu().numpy().copy() for name, v in self.state.items()}

    def _epoch(self, epoch: int) -> float:
        """One pass over all images; the mean loss of the valid pixels it saw."""
        masks = np.random.Generator(np.random.SFC64(_sequence(self.seed, 1, epoch)))
        network = Network(self.plan, self.state, self._drop(masks), training=True)
        total, pixels = 0.0, 0.0
        rng = np.random.default_rng(_sequence(self.seed, 2, epoch))
        for step, (x, y, valid) in enumerate(self._batches(rng)):
            count = float(valid.sum())
            self._set_learning_rate(epoch * self.epoch_steps + step)
            losses = pixel_losses(self.course.loss, network.outputs(x), y)
            loss = (losses * valid).sum() / max(count, 1.0)
            value = float(loss.detach())
            if not math.isfinite(value):
                self._raise_diverged(epoch, value)
            self.adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.adam.step()
            total += value * count
            pixels += count
        return total / max(pixels, 1.0)

    def _set_learning_rate(self, step: int) -> None:
        done = step / (self.course.n_epochs * self.epoch_steps)
        share = 0.5 * (1.0 + math.cos(math.pi * done)) if self.course.schedule == "cosine" else 1.0
        for group in self.adam.param_groups:
            group["lr"] = share * self.course.learning_rate

    def _drop(self, rng: np.random.Generator) -> Drop:
        rate, device = self.course.dropout, self.course.device
        if rate == 0.0:
            return lambda h: h
        return lambda h: h * kept(rng, tuple(h.shape), rate, device)

    # ---- batches -----------------------------------------------------------------------

    def _batches(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Images, standardised depths and which of them are valid, as the network reads them."""
        order = rng.permutation(len(self.pictures))
        for start in range(0, len(order), self.course.batch_size):
            chosen = order[start : start + self.course.batch_size]
            windows = [self._window(i, rng) for i in chosen]
            images, depth, valid = (np.stack(parts) for parts in zip(*windows, strict=True))
            x = read_images(images, self.standardiser, self.plan, self.course.device)
            unit = self.standardiser
            y = torch.from_numpy((depth - unit.y_mean) / unit.y_scale).to(self.course.device)
            there = torch.from_numpy(valid).to(self.course.device)
            beyond = (0, x.shape[3] - depth.shape[2], 0, x.shape[2] - depth.shape[1])
            yield (
                x,
                functional.pad(y.to(torch.float32), beyond),
                functional.pad(there, beyond).to(torch.float32),
            )

    def _window(self, i: int, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """A part of an image, perhaps seen in a mirror, with its depths."""
        parts = self.pictures.images[i], self.pictures.depth[i], self.pictures.valid[i]
        height, width = (self._side(n) for n in parts[1].shape)
        top, left = (
            int(rng.integers(n - side + 1))
            for n, side in zip(parts[1].shape, (height, width), strict=True)
        )
        mirrored = bool(self.course.flip and rng.random() < 0.5)
        columns = slice(left, left + width)
        found = [part[top : top + height, columns] for part in parts]
        return tuple(part[:, ::-1] if mirrored else part for part in found)

    def _side(self, n: int) -> int:
        """Height or width of windows: one that can be halved, unless they are whole images."""
        if self.course.crop == 1.0:
            return n
        multiple = self.plan.multiple
        return max(2 * multiple, int(self.course.crop * n) // multiple * multiple)

    def _raise_diverged(self, epoch: int, loss: float) -> None:
        rate = self.course.learning_rate
        raise DivergenceError(
            f"the loss is {loss} in epoch {epoch + 1}; expected a finite number. Lower "
            f"learning_rate, {rate:g}, for instance to {rate / 10:g}, and look for depths far "
            f"from all others: they are standardised, so a few huge ones leave the rest alike."
        )


def pixel_losses(loss: str, outputs: Tensor, y: Tensor) -> Tensor:
    """Loss of each pixel: of its error, or minus the log of the normal density less a constant."""
    mean, log_var = split(outputs)
    if log_var is not None:
        # Kendall and Gal (2017), equation 8.
        return 0.5 * (torch.exp(-log_var) * torch.square(y - mean) + log_var)
    if loss == "huber":
        return functional.huber_loss(mean, y, reduction="none", delta=_HUBER)
    return 0.5 * torch.square(y - mean)


def read_images(
    images: NDArray[Any], standardiser: Standardiser, plan: Plan, device: str
) -> Tensor:
    """Images as the network reads them: standardised, channels first, sides that can be halved.

    What is missing of such a side is filled by reflection, on the right and below.
    """
    unit = 255.0 if images.dtype == np.uint8 else 1.0
    scale = (1.0 / (unit * standardiser.x_scale)).astype(np.float32)
    shift = (-standardiser.x_mean / standardiser.x_scale).astype(np.float32)
    x = torch.from_numpy(images.astype(np.float32) * scale + shift).to(device)
    # Channels stay last in memory, which the convolutions like best.
    x = x.permute(0, 3, 1, 2)
    height, width = (-side % plan.multiple for side in x.shape[2:])
    if height or width:
        x = functional.pad(x, (0, width, 0, height), mode="reflect")
    return x.contiguous(memory_format=torch.channels_last)


def _sequence(seed: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=key)
