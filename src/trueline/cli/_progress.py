"""How far a command has come: a bar on a terminal, now and then a line in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds between two lines.
_EVERY = 5.0

Progress = Callable[[int, float], None]


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show progress on the standard error, where it disturbs no result."""
    if sys.stderr.isatty():
        with _bar(label) as told:
            yield told
    else:
        yield _Lines(label)


@contextmanager
def _bar(label: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress as Bars, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(escape(label), total=1.0, rows=0)

        def told(rows: int, share: float) -> None:
            bars.update(task, completed=share, rows=rows)

        yield told


class _Lines:
    """A plain line every few seconds."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._last = time.monotonic()

    def __call__(self, rows: int, share: float) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            print(f"{self._label}: {share:.0%}, {rows:,} rows", file=sys.stderr, flush=True)
