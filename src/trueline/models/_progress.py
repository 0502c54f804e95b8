"""Progress of training on the standard error, and the error of training that diverges."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called after an epoch with its number, the largest number of epochs and the networks finished.
ProgressCallback = Callable[[int, int, int], None]


@contextmanager
def training_progress(
    wanted: bool | ProgressCallback, label: str, n_networks: int
) -> Iterator[ProgressCallback | None]:
    """Yield the function to call after every epoch, or None if no progress is wanted."""
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
        yield _plain_lines(label, n_networks)
        return
    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None)

        def update(epoch: int, most: int, done: int) -> None:
            text = f"{label}: epoch {epoch}, {done} of {n_networks} networks done"
            bars.update(task, completed=epoch, total=most, description=text)

        yield update


def _plain_lines(label: str, n_networks: int) -> ProgressCallback:
    def write(epoch: int, most: int, done: int) -> None:
        if epoch % 10 == 0 or done == n_networks:
            text = f"{label}: epoch {epoch} of at most {most}, {done} of {n_networks} networks done"
            sys.stderr.write(text + "\n")

    return write


class DivergenceError(FloatingPointError, ValueError):
    """The loss of a network became NaN or infinite; the message says what to change.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DropoutRegressor
    >>> X = np.linspace(-1.0, 1.0, 40)[:, None]
    >>> DropoutRegressor(learning_rate=1e30, random_state=0).fit(X, X[:, 0])
    Traceback (most recent call last):
        ...
    trueline.models._progress.DivergenceError: the loss of network 0 is nan in epoch 1; ...
    """
