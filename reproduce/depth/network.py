"""The networks of the depth experiment, their images, and their training.

Several networks are trained side by side, an epoch at a time and each with one thread. Training
continues from a checkpoint, so that a stopped run can be continued.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce import ExperimentError
from reproduce.depth.data import DepthImages, load_depth
from reproduce.depth.work import Times, Work, in_processes, one_thread
from reproduce.journal import Journal
from trueline.models import DenseNetRegressor

#: The seed of the held-out images and of drawn images.
SEED = 0
#: Share of the training images that are held out, and the longest run among them. Many rooms are
#: more informative than many images of a few rooms.
HELD_OUT, LONGEST = 0.1, 5
#: The two forecasts of a network and their names. Dropout and noise together are the uncertainty
#: of Kendall and Gal.
FORECASTS = {"both": "dropout and noise", "dropout": "dropout alone"}
# Measured cost of an image in an epoch of training, in forward passes.
_TRAINING = 4.4


class Size(NamedTuple):
    """The size of a run: every n-th image is used, and the parameters of the network."""

    every: int
    epochs: int
    samples: int
    layers: tuple[int, ...]
    growth_rate: int
    first_channels: int

    def network(self, seed: int) -> DenseNetRegressor:
        """Return an untrained network."""
        return DenseNetRegressor(
            self.layers,
            growth_rate=self.growth_rate,
            first_channels=self.first_channels,
            aleatoric=True,
            n_samples=self.samples,
            n_epochs=self.epochs,
            random_state=seed,
        )


FULL = Size(1, 40, 20, (2, 3, 5, 8), 16, 24)
QUICK = Size(12, 2, 4, (1, 1, 1), 6, 8)
#: Networks that are trained, each with a seed of its own.
SEEDS, QUICK_SEEDS = 3, 2


class Part(NamedTuple):
    """Some images; ``runs`` labels images that follow one another in the source."""

    data: DepthImages
    runs: NDArray[np.intp]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.data)

    def take(self, some: Any) -> Part:
        """Return some of the images."""
        d = self.data
        arrays = (d.images, d.depth, d.mask, d.index, d.split)
        return Part(DepthImages(d.name, *(array[some] for array in arrays)), self.runs[some])


def parts(every: int) -> dict[str, Part]:
    """Return the training images, the held-out training images, and the test images.

    Images are held out in whole runs of consecutive numbers in the source. A run ends where images
    of the other part of the split begin. If the images of a room follow one another and are in the
    same part, no held-out room was seen in training. The data have no names of rooms to check this.
    """
    data = load_depth()
    train, test = (_with_runs(data.part(split)) for split in ("train", "test"))
    held = held_out(train.runs)
    found = {"train": train.take(~held), "held": train.take(held), "test": test}
    return {name: part.take(slice(None, None, every)) for name, part in found.items()}


def held_out(runs: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which images are held out: runs are drawn until they hold a tenth of the images."""
    sizes = np.bincount(runs)
    short = np.flatnonzero((sizes > 0) & (sizes <= LONGEST))
    order = np.random.default_rng(SEED).permutation(short)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), HELD_OUT * len(runs))) + 1
    return np.isin(runs, order[:enough])


def _with_runs(data: DepthImages) -> Part:
    new = np.diff(data.index.astype(np.int64), prepend=data.index[0]) > 1
    return Part(data, np.cumsum(new))


def cost(size: Size, found: Mapping[str, Part]) -> float:
    """Return the number of forward passes of an image for one network."""
    training = _TRAINING * size.epochs * len(found["train"])
    return training + size.samples * sum(map(len, found.values()))


# ---- training --------------------------------------------------------------------------


class Training:
    """The training of some networks, each with a seed, a checkpoint and one thread.

    The journal has the time of every epoch.
    """

    def __init__(
        self, target: Path, size: Size, seeds: Sequence[int], part: Part, work: Work
    ) -> None:
        self._target, self._size, self._part, self._work = target, size, part, work
        self._cost = _TRAINING * len(part)
        self._epochs = {seed: train_until(*self._task(seed, 0))["epoch"] for seed in seeds}
        work.skip(self._cost * sum(self._epochs.values()))

    def run(self, journal: Journal, jobs: int) -> dict[int, DenseNetRegressor]:
        """Train all networks and return them; those with the fewest epochs go on first."""
        while behind := [s for s, done in self._epochs.items() if done < self._size.epochs]:
            behind.sort(key=lambda seed: self._epochs[seed])
            tasks = [self._task(seed, self._epochs[seed] + 1) for seed in behind[:jobs]]
            for record in in_processes(train_until, tasks, jobs):
                journal.append({"kind": "epoch", **record})
                self._epochs[record["seed"]] = record["epoch"]
                self._work.did(len(self._part), self._cost)
        return {seed: self._trained(seed) for seed in self._epochs}

    def _task(self, seed: int, until: int) -> tuple[DenseNetRegressor, DepthImages, Path, int]:
        checkpoint = self._target / checkpoint_of(seed)
        return self._size.network(seed), self._part.data, checkpoint, until

    def _trained(self, seed: int) -> DenseNetRegressor:
        """Return a network whose checkpoint has all epochs."""
        model, data, checkpoint, _ = self._task(seed, 0)
        _fit(model, data, checkpoint)
        return model


def train_until(
    model: DenseNetRegressor, data: DepthImages, checkpoint: Path, until: int
) -> dict[str, Any]:
    """Train a network until it has some epochs, if it has not; the rest is in the checkpoint.

    Returns the seed, the number of epochs that the network has, and the time.
    """
    began = Times.now()
    watch = _Watch(until)
    if until or checkpoint.exists():
        try:
            with one_thread():
                _fit(model.set_params(progress=watch), data, checkpoint)
        except _EnoughError:
            pass
    return {"seed": model.random_state, "epoch": watch.epoch, **began.since()}


class _EnoughError(Exception):
    """The network has the epochs that were asked for."""


class _Watch:
    """Stops training after an epoch; continued training first reports where it starts."""

    def __init__(self, until: int) -> None:
        self._until = until
        self.epoch = 0

    def __call__(self, epoch: int, _most: int, _done: int) -> None:
        """Receive the number of epochs done, which are in the checkpoint."""
        self.epoch = epoch
        if epoch >= self._until:
            raise _EnoughError


def _fit(model: DenseNetRegressor, data: DepthImages, checkpoint: Path) -> None:
    try:
        model.fit(data.images, data.depth, data.mask, checkpoint=checkpoint)
    except ValueError as error:
        if checkpoint.exists():  # it may be damaged or of another network
            raise ExperimentError(f"{error} Or start again with --fresh.") from error
        raise


def checkpoint_of(seed: int) -> str:
    """Return the name of the file of a network."""
    return f"network-{seed}.safetensors"


def training_seconds(journal: Journal, seed: int) -> float:
    """Return the processor time of all epochs of a network, in seconds.

    An epoch that was repeated counts once.
    """
    epochs = {
        record["epoch"]: record["cpu_seconds"]
        for record in journal.records
        if record.get("kind") == "epoch" and record.get("seed") == seed
    }
    return float(sum(epochs.values()))
