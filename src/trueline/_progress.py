"""Progress of long work on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# Seconds between two lines, and before the bar of a command.
_EVERY = 5.0
_SOON = 1.0

# Called with the number of things done, such as rows, and their share of the total.
Progress = Callable[[int, float], None]


@contextmanager
def progress(label: str, unit: str = "rows") -> Iterator[Progress]:
    """Show the progress of work that is counted in a unit.

    Nothing is shown of short work: a bar appears after a second, lines every five seconds.
    """
    with display(label, after=_SOON) as show:

        def report(done: int, share: float) -> None:
            show(share, f"{done:,} {unit.removesuffix('s') if done == 1 else unit}")

        yield report


@contextmanager
def display(label: str, *, after: float = 0.0) -> Iterator[Display]:
    """Yield a function that shows how much of the work is done, in a bar `after` some seconds."""
    shown = Display(label, after)
    try:
        yield shown
    finally:
        shown.close()


class Display:
    """Shows a share of work and a text; made by `display`."""

    # One bar at a time can be on the screen. The others are lines above it.
    _with_bar: Display | None = None

    def __init__(self, label: str, after: float) -> None:
        self.began = self._last = time.monotonic()
        self._label, self._after = label, after
        self._bars: Any = None

    def __call__(
        self, share: float, text: str, left: float | None = None, *, at_once: bool = False
    ) -> None:
        """Show the share, 0 to 1, what has been done, and the time left.

        Parameters
        ----------
        left : float, optional
            Seconds; by default those of the present speed.
        at_once : bool, default False
            Whether to write a line even if the last one is less than five seconds old.
        """
        now = time.monotonic()
        if left is None and 0.0 < share < 1.0:
            left = (now - self.began) * (1.0 / share - 1.0)
        if left is not None and left >= 0.5:
            text += f", {duration(left)} left"
        if self._bars is not None or (now - self.began >= self._after and self._start_bar()):
            self._bars.update(self._bars.task_ids[0], completed=share, text=text)
        elif at_once or now - self._last >= _EVERY:
            self._last = now
            self.line(f"{share:.0%}, {text}")

    def line(self, text: str) -> None:
        """Write a line, above the bar if there is one."""
        sys.stderr.write(f"{self._label}: {text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = Display._with_bar = None

    def _start_bar(self) -> bool:
        """Start a bar, unless there is one, or the processes of joblib share the terminal."""
        from multiprocessing import parent_process

        if Display._with_bar is not None or not sys.stderr.isatty() or parent_process():
            return False
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress as Bars, TextColumn, TimeElapsedColumn
        except ImportError:
            return False
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False),
        )
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)
        self._bars.add_task(self._label, total=1.0, text="")
        self._bars.start()
        Display._with_bar = self
        return True


@contextmanager
def show_steps(label: str, verbose: int) -> Iterator[Steps]:
    """Yield the steps of a fit, which are shown if `verbose` is 1, with details if it is 2.

    Examples
    --------
    >>> from trueline._progress import show_steps
    >>> with show_steps("Model", verbose=0) as steps:
    ...     with steps.step("fold 1 of 5", fits=0.8):
    ...         pass  # fit it
    """
    if not verbose:
        yield QUIET
        return
    with display(label) as show:
        yield Steps(show, detailed=verbose > 1)
    took = time.monotonic() - show.began
    show.line(f"done in {f'{took:.1f} s' if took < 60 else duration(took)}")


class Steps:
    """Shows which step of a fit is under way, the share that is done, and the time left.

    A fit of a model is expected to take as long as those before it, in proportion to `fits`, its
    number of rows as a share of all rows. Other steps are expected to take the seconds announced.
    """

    def __init__(self, show: Display | None, *, detailed: bool) -> None:
        self.shown = show is not None
        self._show, self._detailed = show, detailed
        self._fits_left = 0.0
        self._seconds_left: dict[str, float] = {}
        self._fits_done = self._seconds_fitting = 0.0
        # The present step.
        self._text, self._fits, self._began = "", 0.0, 0.0

    def __reduce__(self) -> tuple[Callable[[], Steps], tuple[()]]:
        # The workers of joblib show nothing, because this process shows what they return.
        return _quiet, ()

    def expect(self, *, fits: float = 0.0, seconds: Mapping[str, float] | None = None) -> None:
        """Announce work: a number of fits, and the seconds of other steps, by their texts."""
        self._fits_left += fits
        self._seconds_left |= seconds or {}

    @contextmanager
    def step(self, text: str, *, fits: float = 0.0) -> Iterator[None]:
        """Show a step while it is under way; `fits` is its share of the fits announced."""
        if self._show is None:
            yield
            return
        self._text, self._fits, self._began = text, fits, time.monotonic()
        self._tell(0.0, text, at_once=True)
        yield
        took = time.monotonic() - self._began
        self._seconds_left.pop(text, None)
        if fits:
            self._fits_left -= fits
            self._fits_done += fits
            self._seconds_fitting += took
        self.detail(f"{text} took {took:.1f} s")

    def within(self, share: float, text: str) -> None:
        """Show the share of the present step that is done, and what has been done of it."""
        self._tell(share, f"{self._text}, {text}")

    def detail(self, text: str) -> None:
        """Write a line that only ``verbose=2`` shows."""
        if self._show is not None and self._detailed:
            self._show.line(text)

    def _tell(self, share: float, text: str, *, at_once: bool = False) -> None:
        if self._show is None:
            return
        now = time.monotonic()
        done = self._fits_done + share * self._fits
        still = self._fits_left - share * self._fits
        fitting = self._seconds_fitting + (now - self._began if self._fits else 0.0)
        left = None if still > 0.0 and not done else sum(self._seconds_left.values())
        if left is not None and still > 0.0:
            left += still * fitting / done
        passed = now - self._show.began
        # As long as no fit is done, the time left is not known.
        share = 0.0 if left is None else min(passed / (passed + left + 1e-9), 0.99)
        self._show(share, text, left, at_once=at_once)


# Steps that are not shown.
QUIET = Steps(None, detailed=False)


def _quiet() -> Steps:
    return QUIET


def duration(seconds: float) -> str:
    """Return a time in words: seconds, or minutes and seconds below ten minutes."""
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min" if minutes >= 10 else f"{minutes} min {rest} s" if minutes else f"{rest} s"
    )
