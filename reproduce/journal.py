"""A file of results, written one by one, so that a stopped run can be continued."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduce import ExperimentError
from trueline._files import write_text

_HEAD = "settings"
_CHECKSUM = "checksum"
_REMEDY = "Start again with --fresh, or name another folder with --output."


class Journal:
    """A file of JSON lines: first the settings, then one result per line, each with a checksum.

    Parameters
    ----------
    path : Path
    settings : mapping
        What the results depend on, text by name. Results with other settings are not mixed in.
    fresh : bool
        Whether to discard the results that exist.
    """

    def __init__(self, path: Path, settings: Mapping[str, str], *, fresh: bool = False) -> None:
        self._path = path
        self.records: list[dict[str, Any]] = []
        if not fresh and path.exists() and path.stat().st_size:
            self._read(dict(settings))
        # Writing the file again removes a last line that was cut off.
        lines = [{_HEAD: dict(settings)}, *self.records]
        write_text(path, "".join(map(_line, lines)))

    def append(self, record: dict[str, Any]) -> None:
        """Add a result to the file."""
        self.records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(record))

    def _read(self, settings: dict[str, str]) -> None:
        lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        found = [_record(line) for line in lines]
        if None in found[1:-1]:
            raise ExperimentError(
                f"{self._path} is damaged in line {found.index(None, 1) + 1}. Delete that line, "
                f"and its result is computed again. {_REMEDY}"
            )
        head, *records = (record or {} for record in found)
        before = head.get(_HEAD)
        if not isinstance(before, dict):
            raise ExperimentError(
                f"{self._path} is not a journal of results: its first line does not hold the "
                f"settings. {_REMEDY}"
            )
        if before != settings:
            differences = ", ".join(
                f"{name} {before.get(name, 'none')} rather than {settings.get(name, 'none')}"
                for name in sorted({*before, *settings})
                if before.get(name) != settings.get(name)
            )
            raise ExperimentError(
                f"the results in {self._path} were made with {differences}. {_REMEDY}"
            )
        self.records = [record for record in records if record]


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps({**record, _CHECKSUM: _digest(record)}) + "\n"


def _record(line: str) -> dict[str, Any] | None:
    """Return the record in a line; None if the line was cut off or damaged."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.pop(_CHECKSUM, None) != _digest(record):
        return None
    return record


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record).encode()).hexdigest()
