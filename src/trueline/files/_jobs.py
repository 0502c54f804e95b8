"""Pieces of files worked on in threads, with results that do not depend on how many there are.

numpy and pyarrow leave the interpreter to others while they work, so that two threads keep two
cores busy without the memory and the start of two processes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from trueline.files._chunks import Progress
from trueline.files._source import Source

T = TypeVar("T")

# More threads wait for one another rather than work.
_MOST = 2
# Seconds between two looks at how far they have come.
_EVERY = 0.1


class _StoppedError(Exception):
    """Another piece failed, or the user has had enough."""


def check_jobs(n_jobs: int | None) -> int:
    """Return the number of threads; by default one a core, but two at most."""
    if n_jobs is None:
        # Linux knows how many cores this process may use.
        allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        return min(_MOST, len(allowed(0)))
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs!r}; expected an integer of 1 or more, or None.")
    return n_jobs


def work_on(
    pieces: Sequence[Source],
    work: Callable[[int, Progress], T],
    n_jobs: int,
    progress: Progress | None,
) -> Iterator[T]:
    """Work on the pieces in threads; yield the results in order.

    Parameters
    ----------
    pieces : sequence of Source
    work : callable
        Takes the number of a piece, and what to tell the progress in it.
    n_jobs : int
        Threads. With one, or one piece, there is none but the caller's.
    progress : callable, optional
        Is told the rows so far and the share of them all, by the caller's thread.
    """
    so_far = [(0, 0.0)] * len(pieces)
    sizes = [piece.size() for piece in pieces]

    def tell() -> None:
        if progress is not None:
            done = sum(share * size for (_, share), size in zip(so_far, sizes, strict=True))
            whole = all(share == 1.0 for _, share in so_far)
            progress(sum(rows for rows, _ in so_far), 1.0 if whole else done / max(sum(sizes), 1.0))

    if n_jobs == 1 or len(pieces) == 1:
        for i in range(len(pieces)):

            def told(rows: int, share: float, i: int = i) -> None:
                so_far[i] = rows, share
                tell()

            yield work(i, told)
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
                # No more results wait than there are threads.
                if len(futures) > n_jobs:
                    yield _result(futures, tell)
            while futures:
                yield _result(futures, tell)
            tell()
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)


def _result(futures: deque[Future[T]], tell: Callable[[], None]) -> T:
    """Wait for the first one."""
    first = futures.popleft()
    while not first.done():
        wait([first], timeout=_EVERY)
        tell()
    return first.result()
