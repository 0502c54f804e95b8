"""How far training has come, on the standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[int, int, int], None]


@contextmanager
def training_progress(wanted: bool | Told, label: str, n_networks: int) -> Iterator[Told | None]:
    """Yield what to tell of every epoch: the epoch, the most there can be, the networks done."""
    if callable(wanted):
        yield wanted
        return
    if not wanted:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _lines(label, n_networks)
        return
    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None)

        def told(epoch: int, most: int, done: int) -> None:
            text = f"{label}: epoch {epoch}, {done} of {n_networks} networks done"
            bars.update(task, completed=epoch, total=most, description=text)

        yield told


def _lines(label: str, n_networks: int) -> Told:
    def told(epoch: int, most: int, done: int) -> None:
        if epoch % 10 == 0 or done == n_networks:
            text = f"{label}: epoch {epoch} of at most {most}, {done} of {n_networks} networks done"
            sys.stderr.write(text + "\n")

    return told
