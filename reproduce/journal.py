"""Results written down one by one, so that a long run can go on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproduce import ExperimentError
from trueline._files import write_text

_HEAD = "settings"


class Journal:
    """A file of JSON lines: what the results depend on, then a result a line.

    Parameters
    ----------
    path : Path
    settings : mapping
        Text by name. Results of other settings are not mixed with these.
    fresh : bool
        Whether to begin again even if there are results.
    """

    def __init__(self, path: Path, settings: Mapping[str, str], *, fresh: bool = False) -> None:
        self._path = path
        self.records: list[dict[str, Any]] = []
        if not fresh and path.exists() and path.stat().st_size:
            self._read(dict(settings))
        # Written anew: a line that was cut off goes.
        lines = [{_HEAD: dict(settings)}, *self.records]
        write_text(path, "".join(map(_line, lines)))

    def append(self, record: dict[str, Any]) -> None:
        """Add a result to the file."""
        self.records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(record))

    def _read(self, settings: dict[str, str]) -> None:
        head, *records = self._lines() or [{}]
        before = head.get(_HEAD)
        if not isinstance(before, dict):
            raise ExperimentError(
                f"{self._path} is not a journal of results: its first line does not say with what "
                f"they were made. {_WAYS}"
            )
        if before != settings:
            names = sorted({*before, *settings})
            told = ", ".join(
                f"{name} {before.get(name, 'none')} rather than {settings.get(name, 'none')}"
                for name in names
                if before.get(name) != settings.get(name)
            )
            raise ExperimentError(f"the results in {self._path} were made with {told}. {_WAYS}")
        self.records = records

    def _lines(self) -> list[dict[str, Any]]:
        """Whole lines; the last may have been cut off."""
        return list(_parsed(self._path.read_text(encoding="utf-8")))


_WAYS = "Begin again with --fresh, or name another folder with --output."


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _parsed(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            return
        if not isinstance(record, dict):
            return
        yield record
