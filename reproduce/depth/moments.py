"""The forecasts of the networks, in files, so that a stopped run can be continued."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.depth.network import Part
from reproduce.depth.work import Times, Work, in_processes, one_thread
from reproduce.journal import Journal
from trueline._files import whole_file
from trueline.clusters import Batch
from trueline.models import DenseNetRegressor

MOMENTS = "moments"
# Places of the standard deviations in a file.
_STD = {"dropout": 1, "both": 2}
# Images per file of forecasts.
_CHUNK = 32


class Moments:
    """Means and standard deviations of all pixels, float32, in files of a few images each.

    There are two standard deviations: of dropout, and of dropout and noise. The journal has the
    checksums of every file and of its network, so that damaged files and files of another network
    are made again. Each network, known by its seed, has a folder.
    """

    def __init__(self, target: Path, journal: Journal, found: Mapping[str, Part]) -> None:
        self._target, self._journal, self._found = target, journal, found

    def _records(self) -> dict[tuple[int, str], dict[str, Any]]:
        """Return the last record of each file."""
        records = [r for r in self._journal.records if r.get("kind") == "moments"]
        return {(record["seed"], record["file"]): record for record in records}

    def seeds(self) -> set[int]:
        """Return the seeds of the networks that have forecasts."""
        return {seed for seed, _ in self._records()}

    def make(self, models: Mapping[int, DenseNetRegressor], work: Work, jobs: int) -> int:
        """Make the missing forecasts; return how many were there, one per network and image."""
        known = self._records()
        tasks, there = [], 0
        for seed, model in models.items():
            self._folder(seed).mkdir(parents=True, exist_ok=True)
            weights = weights_sum(model)
            for name, part in self._found.items():
                for file, some in _chunks(name, len(part)):
                    if self._holds(known.get((seed, file)), weights):
                        there += some.stop - some.start
                        work.skip((some.stop - some.start) * model.n_samples)
                    else:
                        of = {"seed": seed, "file": file, "weights": weights}
                        tasks.append((model, part.data.images[some], of))
        for content, record in in_processes(forecast_images, tasks, jobs):
            with whole_file(self._folder(record["seed"]) / record["file"]) as out:
                out.write(content)
            self._journal.append({"kind": "moments", **record})
            work.did(record["images"], record["images"] * models[record["seed"]].n_samples)
        return there

    def _folder(self, seed: int) -> Path:
        return self._target / MOMENTS / f"seed{seed}"

    def _holds(self, record: dict[str, Any] | None, weights: str) -> bool:
        if record is None or record.get("weights") != weights:
            return False
        try:
            content = (self._folder(record["seed"]) / record["file"]).read_bytes()
        except OSError:
            return False
        return hashlib.sha256(content).hexdigest() == record.get("sha256")

    def seconds(self, seed: int) -> float:
        """Return the processor time of the forecasts of a network."""
        records = self._records().values()
        return float(sum(r["cpu_seconds"] for r in records if r["seed"] == seed))

    def files(self, seed: int) -> Files:
        """Return the forecasts of a network."""
        return Files(self._folder(seed), self._found)


class Files:
    """The forecasts of a network."""

    def __init__(self, folder: Path, found: Mapping[str, Part]) -> None:
        self._folder, self.found = folder, found

    def batches(self, name: str, forecast: str) -> Iterator[Batch]:
        """Yield one of the forecasts of a part, file by file, with depths and masks."""
        data = self.found[name].data
        for file, some in _chunks(name, len(data)):
            found = np.load(self._folder / file, allow_pickle=False)
            yield Batch(data.depth[some], found[0], found[_STD[forecast]], data.mask[some])


def forecast_images(
    model: DenseNetRegressor, images: NDArray[Any], of: dict[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    """Return the content of a file of forecasts, and its record."""
    began = Times.now()
    with one_thread():
        mean, doubt, noise = model.predict_parts(images)
    content = _npy(np.stack([mean, np.sqrt(doubt), np.sqrt(doubt + noise)]).astype(np.float32))
    sha256 = hashlib.sha256(content).hexdigest()
    return content, {**of, "images": len(images), "sha256": sha256, **began.since()}


def weights_sum(model: DenseNetRegressor) -> str:
    """Return the SHA-256 of the weights, which identifies the network of a forecast."""
    digest = hashlib.sha256()
    for name in sorted(model.weights_):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(model.weights_[name]).tobytes())
    return digest.hexdigest()


def forget(target: Path) -> None:
    """Remove the networks and their forecasts."""
    for file in target.glob("network-*.safetensors"):
        file.unlink()
    for name in ("train", "held", "test"):
        for file in (target / MOMENTS).glob(f"seed*/{name}-[0-9][0-9][0-9][0-9].npy"):
            file.unlink()


def _chunks(name: str, n: int) -> Iterator[tuple[str, slice]]:
    for i, start in enumerate(range(0, n, _CHUNK)):
        yield f"{name}-{i:04d}.npy", slice(start, min(start + _CHUNK, n))


def _npy(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()
