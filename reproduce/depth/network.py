"""The network of the depth experiment: its training images, and its forecasts in files.

Training continues from a checkpoint, and files of forecasts are kept, so that a stopped run can be
continued.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce import ExperimentError, Progress
from reproduce.depth.data import DepthImages, load_depth
from reproduce.journal import Journal
from trueline._files import whole_file
from trueline.clusters import Batch
from trueline.models import DenseNetRegressor

CHECKPOINT = "network.safetensors"
MOMENTS = "moments"
SEED = 0
#: Share of the training images that are held out, and the longest run among them. Many rooms are
#: more informative than many images of a few rooms.
HELD_OUT, LONGEST = 0.1, 5
#: The two forecasts of the network and their names. Dropout and noise together are the uncertainty
#: of Kendall and Gal.
FORECASTS = {"both": "dropout and noise", "dropout": "dropout alone"}
# Places of their standard deviations in a file.
_STD = {"dropout": 1, "both": 2}
# Images per file of forecasts.
_CHUNK = 32
# Measured cost of an image in an epoch of training, in forward passes.
_TRAINING = 2.5


class Size(NamedTuple):
    """The size of a run: every n-th image is used, and the parameters of the network."""

    every: int
    epochs: int
    samples: int
    layers: tuple[int, ...]
    growth_rate: int
    first_channels: int

    def network(self) -> DenseNetRegressor:
        """Return the untrained network."""
        return DenseNetRegressor(
            self.layers,
            growth_rate=self.growth_rate,
            first_channels=self.first_channels,
            aleatoric=True,
            n_samples=self.samples,
            n_epochs=self.epochs,
            random_state=SEED,
        )


FULL = Size(1, 60, 30, (2, 3, 5, 8), 16, 24)
QUICK = Size(12, 2, 4, (1, 1, 1), 6, 8)


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


# ---- training --------------------------------------------------------------------------


class Work:
    """The progress of a run, in forward passes of an image; work of earlier runs is not counted."""

    def __init__(self, progress: Progress, passes: float) -> None:
        self._progress = progress
        self._left = passes
        self._done = 0.0
        self._images = 0

    def skip(self, passes: float) -> None:
        """Leave out work that was done before."""
        self._left -= passes

    def did(self, images: int, passes: float) -> None:
        """Report images that are done, and their cost."""
        self._images += images
        self._done += passes
        self._progress(self._images, min(self._done / self._left, 1.0))


def cost(size: Size, found: dict[str, Part]) -> float:
    """Return the total number of forward passes of an image."""
    training = _TRAINING * size.epochs * len(found["train"])
    return training + size.samples * sum(map(len, found.values()))


def train(target: Path, size: Size, part: Part, work: Work) -> DenseNetRegressor:
    """Train the network, starting from the checkpoint if there is one."""
    checkpoint = target / CHECKPOINT
    epochs = Epochs(work, len(part), begun=checkpoint.exists())
    model = size.network().set_params(progress=epochs)
    d = part.data
    try:
        model.fit(d.images, d.depth, d.mask, checkpoint=checkpoint)
    except ValueError as error:
        if checkpoint.exists():  # it may be damaged or of another network
            raise ExperimentError(f"{error} Or start again with --fresh.") from error
        raise
    epochs.finish(size.epochs)
    return model


class Epochs:
    """Receives the epochs of training; continued training first reports where it starts."""

    def __init__(self, work: Work, images: int, *, begun: bool) -> None:
        self._work, self._images = work, images
        self._reached = None if begun else 0

    def __call__(self, epoch: int, _most: int, _done: int) -> None:
        """Report the end of an epoch."""
        if self._reached is None:
            self._work.skip(_TRAINING * epoch * self._images)
        elif epoch > self._reached:
            images = (epoch - self._reached) * self._images
            self._work.did(images, _TRAINING * images)
        self._reached = epoch

    def finish(self, epochs: int) -> None:
        """Report the end of training, which a network that was trained before does not."""
        self(epochs, epochs, 1)


def weights_sum(model: DenseNetRegressor) -> str:
    """Return the SHA-256 of the weights, which identifies the network of a forecast."""
    digest = hashlib.sha256()
    for name in sorted(model.weights_):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(model.weights_[name]).tobytes())
    return digest.hexdigest()


# ---- forecasts -------------------------------------------------------------------------


class Moments:
    """Means and standard deviations of all pixels, float32, in files of a few images each.

    There are two standard deviations: of dropout, and of dropout and noise. The journal has the
    checksums of every file and of its network, so that damaged files and files of another network
    are made again.
    """

    def __init__(self, target: Path, journal: Journal) -> None:
        self.folder = target / MOMENTS
        self.journal = journal

    def make(self, model: DenseNetRegressor, found: dict[str, Part], work: Work) -> int:
        """Make the missing forecasts; return the number of images that had one."""
        self.folder.mkdir(exist_ok=True)
        weights = weights_sum(model)
        known = {r["file"]: r for r in self.journal.records if r.get("kind") == "moments"}
        missing, there = [], 0
        for name, part in found.items():
            for file, some in _chunks(name, len(part)):
                images = some.stop - some.start
                if self._holds(known.get(file), weights):
                    there += images
                    work.skip(images * model.n_samples)
                else:
                    missing.append((file, part.data.images[some]))
        for file, images in missing:
            started = time.perf_counter()
            mean, doubt, noise = model.predict_parts(images)
            seconds = time.perf_counter() - started
            stds = np.sqrt(doubt), np.sqrt(doubt + noise)
            content = _npy(np.stack([mean, *stds]).astype(np.float32))
            with whole_file(self.folder / file) as out:
                out.write(content)
            self.journal.append(
                {
                    "kind": "moments",
                    "file": file,
                    "images": len(images),
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "weights": weights,
                    "seconds": round(seconds, 2),
                }
            )
            work.did(len(images), len(images) * model.n_samples)
        return there

    def _holds(self, record: dict[str, Any] | None, weights: str) -> bool:
        if record is None or record.get("weights") != weights:
            return False
        try:
            content = (self.folder / record["file"]).read_bytes()
        except OSError:
            return False
        return hashlib.sha256(content).hexdigest() == record.get("sha256")

    def seconds(self, name: str) -> float:
        """Return how long the forecasts of a part took."""
        last = {r["file"]: r for r in self.journal.records if r.get("kind") == "moments"}
        return sum(r["seconds"] for file, r in last.items() if file.startswith(f"{name}-"))

    def batches(self, name: str, part: Part, forecast: str) -> Iterator[Batch]:
        """Yield one of the forecasts of a part, file by file, with depths and masks."""
        for file, some in _chunks(name, len(part)):
            found = np.load(self.folder / file, allow_pickle=False)
            yield Batch(
                part.data.depth[some], found[0], found[_STD[forecast]], part.data.mask[some]
            )


def forget(target: Path) -> None:
    """Remove the network and its forecasts."""
    (target / CHECKPOINT).unlink(missing_ok=True)
    for name in ("train", "held", "test"):
        for file in (target / MOMENTS).glob(f"{name}-[0-9][0-9][0-9][0-9].npy"):
            file.unlink()


def _chunks(name: str, n: int) -> Iterator[tuple[str, slice]]:
    for i, start in enumerate(range(0, n, _CHUNK)):
        yield f"{name}-{i:04d}.npy", slice(start, min(start + _CHUNK, n))


def _npy(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()
