"""How the work of the depth experiment is done: processes, progress and measured times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from reproduce import Progress


class Work:
    """The progress of a run, in forward passes of an image; work of earlier runs is not counted."""

    def __init__(self, progress: Progress, passes: float) -> None:
        self._progress = progress
        self._left = passes
        self._done = 0.0
        self._images = 0

    def skip(self, passes: float) -> None:
        """Leave out work that was done before."""
        self._left -= passes

    def did(self, images: int, passes: float) -> None:
        """Report images that are done, and their cost."""
        self._images += images
        self._done += passes
        self._progress(self._images, min(self._done / self._left, 1.0))


class Times(NamedTuple):
    """Processor time and elapsed time, in seconds."""

    cpu: float
    elapsed: float

    @classmethod
    def now(cls) -> Times:
        """Return the time since an arbitrary moment."""
        return cls(time.process_time(), time.perf_counter())

    def since(self) -> dict[str, float]:
        """Return how long ago this was, as entries of a journal."""
        now = Times.now()
        return {
            "cpu_seconds": round(now.cpu - self.cpu, 2),
            "seconds": round(now.elapsed - self.elapsed, 2),
        }


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, so that results do not depend on the number of processes."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_processes(function: Callable[..., Any], tasks: Sequence[Any], jobs: int) -> Iterator[Any]:
    """Yield what a function returns for each tuple of arguments, as soon as it is there."""
    from sklearn.utils.parallel import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    yield from parallel(delayed(function)(*task) for task in tasks)
