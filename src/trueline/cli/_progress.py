"""Progress of a command: a bar on a terminal, a line every few seconds in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Seconds between two lines.
_EVERY = 5.0
# Seconds over which the speed is averaged for the time left, because some steps take minutes.
_PERIOD = 3600.0

Progress = Callable[[int, float], None]


@contextmanager
def progress(label: str, unit: str = "rows") -> Iterator[Progress]:
    """Show progress on standard error; yield a function of the rows done and their share."""
    if sys.stderr.isatty():
        with _bar(label, unit) as report:
            yield report
    else:
        yield _Lines(label, unit)


@contextmanager
def _bar(label: str, unit: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        Progress as Bars,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[done]:,} {task.fields[unit]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, speed_estimate_period=_PERIOD) as bars:
        task = bars.add_task(escape(label), total=1.0, done=0, unit=escape(unit))

        def report(done: int, share: float) -> None:
            bars.update(task, completed=share, done=done)

        yield report


class _Lines:
    """Prints a line every few seconds."""

    def __init__(self, label: str, unit: str) -> None:
        self._label = label
        self._unit = unit
        self._began = self._last = time.monotonic()

    def __call__(self, done: int, share: float) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            unit = self._unit.removesuffix("s") if done == 1 else self._unit
            line = f"{self._label}: {share:.0%}, {done:,} {unit}"
            if 0.0 < share < 1.0:
                line += f", {_duration((now - self._began) * (1.0 / share - 1.0))} left"
            print(line, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min" if minutes >= 10 else f"{minutes} min {rest} s" if minutes else f"{rest} s"
    )
