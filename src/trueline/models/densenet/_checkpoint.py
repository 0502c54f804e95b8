"""Checkpoints: training that was cut off goes on to the last bit as if it had not been.

A safetensors file, written whole or not at all: weights, moments of Adam, and in the header, as
JSON, the settings, the sum of the data, the seed and the losses so far. Nothing is executed.
"""

from __future__ import annotations

import json
import os
import reprlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from trueline._files import whole_file
from trueline.models.densenet._plan import Plan
from trueline.models.densenet._training import Progressed

FORMAT = "trueline-densenet-checkpoint"
VERSION = 1

_KEY = "trueline"
# What a checkpoint of another network differs in; all else is how it is trained.
_ARCHITECTURE = ("layers", "growth_rate", "first_channels", "aleatoric")


class Checkpoint:
    """A file, and the training that it may belong to."""

    def __init__(
        self, path: str | os.PathLike[str], plan: Plan, settings: dict[str, Any], data_sum: str
    ) -> None:
        self.path = Path(path)
        self.plan = plan
        self.settings = settings
        self.data_sum = data_sum

    def write(self, reached: Progressed, seed: int) -> None:
        """Keep where training is, in place of what was there."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "settings": self.settings,
            "data": self.data_sum,
            "seed": seed,
            "losses": reached.losses,
        }
        tensors: dict[str, NDArray[Any]] = {}
        for part in ("weights", "first", "second"):
            values = getattr(reached, part)
            tensors |= {f"{part}.{k}": np.ascontiguousarray(v) for k, v in values.items()}
        content = save(tensors, metadata={_KEY: json.dumps(document, allow_nan=False)})
        with whole_file(self.path) as file:
            file.write(content)

    def read(self, seed: int | None) -> tuple[Progressed | None, int | None]:
        """Where training was, if there is a file, and the seed: its own if none is asked for."""
        if not self.path.parent.is_dir():
            # To be told so after the first epoch would be late.
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
        document, tensors = self._content()
        self._check_same(document)
        found = document.get("seed")
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            self._refuse(f"its seed is {reprlib.repr(found)}")
        if seed is not None and found != seed:
            self._raise_other(f"random_state is {found} in it and {seed} here")
        return Progressed(**self._parts(tensors), losses=self._losses(document)), found

    def _content(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        try:
            with safe_open(self.path, framework="numpy") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, TypeError, ValueError) as error:
            self._refuse(f"it cannot be read as safetensors ({error})")
        try:
            document = json.loads(metadata.get(_KEY, "null"))
        except (ValueError, RecursionError):
            self._refuse("its header holds no valid JSON")
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            self._refuse(f"its header does not say {FORMAT!r}")
        if document.get("version") != VERSION:
            self._refuse(
                f"version is {reprlib.repr(document.get('version'))}, and this release reads "
                f"version {VERSION}"
            )
        return document, tensors

    def _check_same(self, document: dict[str, Any]) -> None:
        """Raise unless the file belongs to this network, these settings and these data."""
        theirs = document.get("settings")
        if not isinstance(theirs, dict) or set(theirs) != set(self.settings):
            self._refuse(f"its settings are {reprlib.repr(theirs)}")
        # As JSON has them: 1 and 1.0, tuples and lists are the same.
        ours = json.loads(json.dumps(self.settings))
        differing = [name for name in ours if theirs[name] != ours[name]]
        if differing:
            kind = (
                "another architecture" if set(differing) & set(_ARCHITECTURE) else "other settings"
            )
            said = ", ".join(
                f"{name} is {reprlib.repr(theirs[name])} in it and {ours[name]!r} here"
                for name in differing
            )
            self._raise_other(f"it has {kind}: {said}")
        if document.get("data") != self.data_sum:
            self._raise_other(
                "it was trained on other images, depths or masks: their SHA-256 is another one"
            )

    def _parts(self, tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
        learned, statistics = self.plan.shapes(), self.plan.statistics()
        wanted = {"weights": learned | statistics, "first": learned, "second": learned}
        names = {f"{part}.{name}" for part, shapes in wanted.items() for name in shapes}
        if names != set(tensors):
            odd = sorted(names ^ set(tensors))
            self._refuse(f"tensors are missing or unknown: {reprlib.repr(odd)}")
        for part, shapes in wanted.items():
            for name, shape in shapes.items():
                tensor = tensors[f"{part}.{name}"]
                if tensor.dtype != np.float32 or tensor.shape != shape:
                    found = f"{tensor.dtype} {tensor.shape}"
                    self._refuse(f"{part}.{name} is {found}, not float32 {shape}")
                if not np.isfinite(tensor).all():
                    self._refuse(f"{part}.{name} is not finite")
        return {
            part: {name: tensors[f"{part}.{name}"] for name in shapes}
            for part, shapes in wanted.items()
        }

    def _losses(self, document: dict[str, Any]) -> list[float]:
        losses: Any = document.get("losses")
        most = self.settings["n_epochs"]
        plain = isinstance(losses, list) and 0 < len(losses) <= most
        if not plain or not all(type(v) in (int, float) and np.isfinite(v) for v in losses):
            self._refuse(f"losses are {reprlib.repr(losses)}, not 1 to {most} finite numbers")
        return [float(v) for v in losses]

    def _refuse(self, fault: str) -> NoReturn:
        raise ValueError(
            f"{self.path} is not a checkpoint that can be gone on from: {fault}. Delete it to "
            f"begin anew, or name another file."
        )

    def _raise_other(self, difference: str) -> NoReturn:
        raise ValueError(
            f"{self.path} is a checkpoint of another training: {difference}. Give what it was "
            f"begun with to go on, delete it to begin anew, or name another file."
        )
