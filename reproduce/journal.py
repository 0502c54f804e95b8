"""A file of results, written one by one, so that a stopped run can be continued."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproduce import ExperimentError
from trueline._files import write_text

_HEAD = "settings"
_REMEDY = "Start again with --fresh, or name another folder with --output."


class Journal:
    """A file of JSON lines: first the settings, then one result per line.

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
        head, *records = list(_parsed(self._path.read_text(encoding="utf-8"))) or [{}]
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
        self.records = records


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _parsed(text: str) -> Iterator[dict[str, Any]]:
    """Yield the records up to the first line that cannot be read."""
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            return
        if not isinstance(record, dict):
            return
        yield record
