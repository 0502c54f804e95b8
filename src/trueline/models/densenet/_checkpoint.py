"""Checkpoints, from which training continues to the same bits as without an interruption.

A checkpoint is a safetensors file with the weights and the moments of Adam. Its header holds, as
JSON, the settings, the hash of the data, the seed and the losses so far.
"""

from __future__ import annotations

import json
import os
import reprlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueline.models._persistence import TensorFile, write
from trueline.models.densenet._plan import Plan
from trueline.models.densenet._training import TrainingState

FORMAT = "trueline-densenet-checkpoint"
VERSION = 1

# Settings that define the network; the others define how it is trained.
_ARCHITECTURE = ("layers", "growth_rate", "first_channels", "aleatoric")


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
