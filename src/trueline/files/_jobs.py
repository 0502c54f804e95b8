"""Work on pieces of files in threads; results do not depend on the number of threads.

numpy and pyarrow release the interpreter lock while they work, so that two threads keep two cores
busy without the memory and the start-up time of two processes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from trueline.files._chunks import Progress
from trueline.files._forecasts import Forecasts

T = TypeVar("T")

# More threads would mostly wait for each other.
_MOST = 2
# Seconds between two reports of progress.
_EVERY = 0.1


class _StoppedError(Exception):
    """Another piece failed, or the user interrupted."""


def check_jobs(n_jobs: int | None) -> int:
    """Return the number of threads; by default one per core, but at most two."""
    if n_jobs is None:
        # On Linux a process may be restricted to some cores.
        allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        return min(_MOST, len(allowed(0)))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs!r}; expected an integer of 1 or more, or None.")
    return n_jobs


def work_on(
    pieces: Sequence[Forecasts],
    work: Callable[[int, Progress], T],
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[T]:
    """Work on the pieces in threads; yield the results in order.

    Parameters
    ----------
    pieces : sequence of Forecasts
    work : callable
        Called with the number of a piece, and a function to report the progress in it.
    n_jobs : int
        Number of threads. With one job or one piece, the work is done in the caller's thread.
    progress : callable, optional
        Called in the caller's thread, with the number of rows done and their share of the total.
    """
    so_far = [(0, 0.0)] * len(pieces)
    sizes = [piece.source.size() for piece in pieces]

    def tell() -> None:
        if progress is not None:
            done = sum(share * size for (_, share), size in zip(so_far, sizes, strict=True))
            whole = all(share == 1.0 for _, share in so_far)
            progress(sum(rows for rows, _ in so_far), 1.0 if whole else done / max(sum(sizes), 1.0))

    if n_jobs == 1 or len(pieces) == 1:
        for i in range(len(pieces)):

            def report(rows: int, share: float, i: int = i) -> None:
                so_far[i] = rows, share
                tell()

            yield work(i, report)
        return

    stop = Event()

    def note(i: int, rows: int, share: float) -> None:
        so_far[i] = rows, share
        if stop.is_set():
            raise _StoppedError

    with ThreadPoolExecutor(n_jobs) as threads:
        futures: deque[Future[T]] = deque()
        try:
            for i in range(len(pieces)):
                futures.append(threads.submit(work, i, lambda *now, i=i: note(i, *now)))
                # At most one finished result per thread is held.
                if len(futures) > n_jobs:
                    yield _result(futures, tell)
            while futures:
                yield _result(futures, tell)
            tell()
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)


def _result(futures: deque[Future[T]], tell: Callable[[], None]) -> T:
    """Wait for the first result."""
    first = futures.popleft()
    while not first.done():
        wait([first], timeout=_EVERY)
        tell()
    return first.result()
