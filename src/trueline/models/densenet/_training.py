"""Training of a DenseNet, one epoch at a time, so that it can continue from a checkpoint.

All random numbers of an epoch (the order of the images, their windows, the dropped units) depend
only on the seed and the number of the epoch. A checkpoint therefore needs only the weights, the
moments of Adam and the losses so far to continue to the same bits. It is a safetensors file; its
header holds, as JSON, the settings, the hash of the data, the seed and the losses.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trueline.models._persistence import TensorFile, write
from trueline.models._progress import DivergenceError
from trueline.models._recipe import Standardiser
from trueline.models.densenet._data import Pictures, Plan
from trueline.models.densenet._network import Drop, Network, initial, kept, read_images, split

FORMAT = "trueline-densenet-checkpoint"
VERSION = 1

# Settings that define the network; the others define how it is trained.
_ARCHITECTURE = ("layers", "growth_rate", "first_channels", "aleatoric")
# Huber's loss is linear beyond this error, in standard deviations of the depths.
_HUBER = 0.5

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class TrainingSettings:
    """Parameters of `DenseNetRegressor` that training uses."""

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
class TrainingState:
    """Everything that training needs to continue after an epoch."""

    weights: Arrays
    first: Arrays  # Adam's running means of gradients
    second: Arrays  # Adam's running means of squared gradients
    losses: list[float] = field(default_factory=list)  # mean over pixels, one per epoch

    @property
    def n_epochs(self) -> int:
        """Number of epochs done."""
        return len(self.losses)


def initial_state(plan: Plan, seed: int) -> TrainingState:
    """Return the state before the first epoch."""
    zeros = {name: np.zeros(shape, np.float32) for name, shape in plan.shapes().items()}
    copies = {name: value.copy() for name, value in zeros.items()}
    return TrainingState(initial(plan, _sequence(seed, 0)), zeros, copies)


class Trainer:
    """Trains a network, one epoch at a time."""

    def __init__(
        self,
        plan: Plan,
        settings: TrainingSettings,
        pictures: Pictures,
        standardiser: Standardiser,
        seed: int,
        state: TrainingState,
    ) -> None:
        self.plan, self.settings, self.seed = plan, settings, seed
        self.pictures, self.standardiser = pictures, standardiser
        self.losses = list(state.losses)
        self.epoch_steps = -(-len(pictures) // settings.batch_size)
        self.tensors = {
            name: torch.from_numpy(value.copy()).to(settings.device)
            for name, value in state.weights.items()
        }
        self.adam = self._optimiser(state)

    def _optimiser(self, state: TrainingState) -> torch.optim.Adam:
        names = list(self.plan.shapes())
        for name in names:
            self.tensors[name].requires_grad_()
        decayed = [self.tensors[name] for name in names if name.endswith(".weight")]
        others = [self.tensors[name] for name in names if not name.endswith(".weight")]
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": self.settings.weight_decay},
            {"params": others},
        ]
        adam = torch.optim.Adam(groups, lr=self.settings.learning_rate, fused=True)
        if state.n_epochs:
            done, device = float(state.n_epochs * self.epoch_steps), self.settings.device
            for name in names:
                adam.state[self.tensors[name]] = {
                    "step": torch.tensor(done, device=device),
                    "exp_avg": torch.from_numpy(state.first[name].copy()).to(device),
                    "exp_avg_sq": torch.from_numpy(state.second[name].copy()).to(device),
                }
        return adam

    def run(self, after_epoch: Callable[[Trainer], None]) -> None:
        """Train all epochs that are left, and call `after_epoch` after each."""
        while len(self.losses) < self.settings.n_epochs:
            self.losses.append(self._epoch(len(self.losses)))
            after_epoch(self)

    def state(self) -> TrainingState:
        """Return a copy of the present state."""
        names = self.plan.shapes()
        moments = {name: self.adam.state[self.tensors[name]] for name in names}
        return TrainingState(
            self.weights(),
            {name: moment["exp_avg"].cpu().numpy().copy() for name, moment in moments.items()},
            {name: moment["exp_avg_sq"].cpu().numpy().copy() for name, moment in moments.items()},
            list(self.losses),
        )

    def weights(self) -> Arrays:
        """Return copies of the weights and running statistics."""
        return {name: v.detach().cpu().numpy().copy() for name, v in self.tensors.items()}

    def _epoch(self, epoch: int) -> float:
        """Make one pass over all images and return the mean loss of their valid pixels."""
        masks = np.random.Generator(np.random.SFC64(_sequence(self.seed, 1, epoch)))
        network = Network(self.plan, self.tensors, self._drop(masks), training=True)
        total, pixels = 0.0, 0.0
        rng = np.random.default_rng(_sequence(self.seed, 2, epoch))
        for step, (x, y, valid) in enumerate(self._batches(rng)):
            count = float(valid.sum())
            self._set_learning_rate(epoch * self.epoch_steps + step)
            losses = pixel_losses(self.settings.loss, network.outputs(x), y)
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
        done = step / (self.settings.n_epochs * self.epoch_steps)
        cosine = self.settings.schedule == "cosine"
        share = 0.5 * (1.0 + math.cos(math.pi * done)) if cosine else 1.0
        for group in self.adam.param_groups:
            group["lr"] = share * self.settings.learning_rate

    def _drop(self, rng: np.random.Generator) -> Drop:
        rate, device = self.settings.dropout, self.settings.device
        if rate == 0.0:
            return lambda h: h
        return lambda h: h * kept(rng, tuple(h.shape), rate, device)

    # ---- batches -----------------------------------------------------------------------

    def _batches(self, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield images, standardised depths and validity masks, padded for the network."""
        order = rng.permutation(len(self.pictures))
        for start in range(0, len(order), self.settings.batch_size):
            chosen = order[start : start + self.settings.batch_size]
            windows = [self._window(i, rng) for i in chosen]
            images, depth, valid = (np.stack(parts) for parts in zip(*windows, strict=True))
            x = read_images(images, self.standardiser, self.plan, self.settings.device)
            unit = self.standardiser
            y = torch.from_numpy((depth - unit.y_mean) / unit.y_scale).to(self.settings.device)
            there = torch.from_numpy(valid).to(self.settings.device)
            padding = (0, x.shape[3] - depth.shape[2], 0, x.shape[2] - depth.shape[1])
            yield (
                x,
                functional.pad(y.to(torch.float32), padding),
                functional.pad(there, padding).to(torch.float32),
            )

    def _window(self, i: int, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """Cut a random window from image i, its depths and mask, and perhaps mirror it."""
        parts = self.pictures.images[i], self.pictures.depth[i], self.pictures.valid[i]
        height, width = (self._side(n) for n in parts[1].shape)
        top, left = (
            int(rng.integers(n - side + 1))
            for n, side in zip(parts[1].shape, (height, width), strict=True)
        )
        mirrored = bool(self.settings.flip and rng.random() < 0.5)
        columns = slice(left, left + width)
        cut = [part[top : top + height, columns] for part in parts]
        return tuple(part[:, ::-1] if mirrored else part for part in cut)

    def _side(self, n: int) -> int:
        """Return the side of windows: n for whole images, otherwise one that can be halved."""
        if self.settings.crop == 1.0:
            return n
        multiple = self.plan.multiple
        return max(2 * multiple, int(self.settings.crop * n) // multiple * multiple)

    def _raise_diverged(self, epoch: int, loss: float) -> None:
        rate = self.settings.learning_rate
        raise DivergenceError(
            f"the loss is {loss} in epoch {epoch + 1}; expected a finite number. Lower "
            f"learning_rate, {rate:g}, for instance to {rate / 10:g}, and look for outliers in "
            f"the depths: they are standardised, so a few huge ones make the rest almost equal."
        )


def pixel_losses(loss: str, outputs: Tensor, y: Tensor) -> Tensor:
    """Return the loss of each pixel; with a variance, the negative normal log-density."""
    mean, log_var = split(outputs)
    if log_var is not None:
        # Kendall and Gal (2017), equation 8.
        return 0.5 * (torch.exp(-log_var) * torch.square(y - mean) + log_var)
    if loss == "huber":
        return functional.huber_loss(mean, y, reduction="none", delta=_HUBER)
    return 0.5 * torch.square(y - mean)


def _sequence(seed: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=key)


class _CheckpointFile(TensorFile):
    kind = "a checkpoint that training can continue from"
    remedy = "Delete it to start again, or name another file."
    format = FORMAT
    version = VERSION


class Checkpoint:
    """A file, and the training that it should belong to."""

    def __init__(
        self, path: str | os.PathLike[str], plan: Plan, settings: dict[str, Any], data_hash: str
    ) -> None:
        self.path = Path(path)
        self.plan = plan
        self.settings = settings
        self.data_hash = data_hash

    def write(self, state: TrainingState, seed: int) -> None:
        """Replace the file by one with this state."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings,
            "data": self.data_hash,
            "seed": seed,
            "losses": state.losses,
        }
        tensors: dict[str, NDArray[Any]] = {}
        for part in ("weights", "first", "second"):
            tensors |= {f"{part}.{k}": v for k, v in getattr(state, part).items()}
        write(self.path, document, tensors)

    def read(self, seed: int | None) -> tuple[TrainingState | None, int | None]:
        """Return the state in the file, None if there is no file, and the seed to use.

        The seed is that of the file if `seed` is None.
        """
        if not self.path.parent.is_dir():
            # The write after the first epoch would fail; raise before any training.
            raise FileNotFoundError(
                f"cannot write the checkpoint {self.path}: there is no folder {self.path.parent}. "
                f"Make it first, or name another file."
            )
        if self.path.is_dir():
            raise IsADirectoryError(
                f"cannot write the checkpoint {self.path}, which is a folder; expected a file. "
                f"Name one in it, such as {self.path / 'network.safetensors'}."
            )
        if not self.path.exists():
            return None, seed
        file = _CheckpointFile(self.path)
        self._check_same(file)
        found = file.integer("seed", 0)
        if seed is not None and found != seed:
            self._raise_other(f"random_state is {found} in it and {seed} here")
        losses = file.numbers("losses", 1, self.settings["n_epochs"])
        return TrainingState(**self._parts(file), losses=[float(v) for v in losses]), found

    def _check_same(self, file: TensorFile) -> None:
        """Raise unless the file belongs to this network, these settings and these data."""
        theirs = file.document.get("settings")
        if not isinstance(theirs, dict) or set(theirs) != set(self.settings):
            file.refuse(f"its settings are {reprlib.repr(theirs)}")
        # Compare as JSON, where tuples and lists are the same.
        ours = json.loads(json.dumps(self.settings))
        differing = [name for name in ours if theirs[name] != ours[name]]
        if differing:
            of_network = set(differing) & set(_ARCHITECTURE)
            kind = "another architecture" if of_network else "other settings"
            differences = ", ".join(
                f"{name} is {reprlib.repr(theirs[name])} in it and {ours[name]!r} here"
                for name in differing
            )
            self._raise_other(f"it has {kind}: {differences}")
        if file.document.get("data") != self.data_hash:
            self._raise_other("it was trained on images, depths or masks with another SHA-256 hash")

    def _parts(self, file: TensorFile) -> dict[str, Any]:
        learned, statistics = self.plan.shapes(), self.plan.statistics()
        parts = {"weights": learned | statistics, "first": learned, "second": learned}
        file.check_tensors(
            {
                f"{part}.{name}": (np.float32, shape)
                for part, shapes in parts.items()
                for name, shape in shapes.items()
            }
        )
        return {
            part: {name: file.tensors[f"{part}.{name}"] for name in shapes}
            for part, shapes in parts.items()
        }

    def _raise_other(self, difference: str) -> NoReturn:
        raise ValueError(
            f"{self.path} is a checkpoint of another training: {difference}. Use the settings and "
            f"data it was started with to continue, delete it to start again, or name another file."
        )
