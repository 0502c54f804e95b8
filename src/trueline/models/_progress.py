"""Progress of training on the standard error, and the error of training that diverges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trueline._progress import QUIET, Steps, display

# Called after an epoch with its number, the largest number of epochs and the networks finished.
ProgressCallback = Callable[[int, int, int], None]


@contextmanager
def training_progress(
    wanted: bool | ProgressCallback, label: str, n_networks: int, steps: Steps = QUIET
) -> Iterator[ProgressCallback | None]:
    """Yield the function to call after every epoch, or None if no progress is wanted.

    If training is one of the `steps` of another fit, these show it.
    """

    def in_words(epoch: int, most: int, done: int) -> str:
        return f"epoch {epoch} of at most {most}, {done} of {n_networks} networks done"

    if callable(wanted):
        yield wanted
    elif steps.shown:
        yield lambda *now: steps.within(now[0] / now[1], in_words(*now))
    elif not wanted:
        yield None
    else:
        with display(label) as show:

            def update(epoch: int, most: int, done: int) -> None:
                ended = done == n_networks
                text = in_words(epoch, most, done)
                show(1.0 if ended else epoch / most, text, at_once=ended)

            yield update


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
