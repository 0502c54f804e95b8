"""Forecasts in open files: their rows, work on pieces of them in threads, and fitted maps.

numpy and pyarrow release the interpreter lock while they work, so that two threads keep two cores
busy without the memory and the start-up time of two processes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Event
from typing import BinaryIO, TypeVar

from trueline._files import FileError
from trueline._messages import Option, Part, listed
from trueline._warnings import warn
from trueline.files._chunks import Chunk, GroupCodes, Progress, checked_chunk
from trueline.files._columns import Columns, find_in
from trueline.files._folder import Paths, open_source
from trueline.files._formats import open_text
from trueline.files._layout import Layout
from trueline.files._scoring import Scoring
from trueline.files._source import Source, no_rows
from trueline.files._spool import Spool
from trueline.files._tally import Tally
from trueline.recalibration import ScoreAccumulator

T = TypeVar("T")

# More threads would mostly wait for each other.
_MOST_THREADS = 2
# The most values of the first rows, which are held in memory at once, and their fewest rows.
_FIRST_VALUES = 1 << 24
_FEWEST_FIRST = 200
# Seconds between two reports of progress.
_EVERY = 0.1


class Forecasts:
    r"""Forecasts in an open file or folder, whose columns have been found.

    `trueline.files.fit`, `apply` and `evaluate` take it in place of a path.

    Parameters
    ----------
    source : Source
        The rows.
    layout : Layout
        The columns that are used.
    skip_missing : bool, optional
        Whether to leave out rows with a missing outcome or forecast, which raise otherwise. With
        None they raise, and the message does not suggest this option.

    Attributes
    ----------
    groups : GroupCodes or None
        Names of the groups that `chunks` has met so far; None without a column of groups.
    tally : Tally or None
        If it is set, `accumulate` counts how far off the forecasts were.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import open_forecasts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n")
    ...     forecasts = open_forecasts(file)
    ...     outcomes = [chunk.y for chunk in forecasts.chunks()]
    >>> forecasts.layout.describe(), outcomes
    ('normal forecasts (mean, std)', [array([1.5, 3. ])])
    """

    def __init__(self, source: Source, layout: Layout, skip_missing: bool | None = None) -> None:
        self.source = source
        self.layout = layout
        self.skip_missing = skip_missing
        self.groups = self.group_codes()
        self.tally: Tally | None = None
        # Chunks that were read by `begin`, each with the progress up to it, and those behind them.
        self._first: deque[tuple[Chunk, int, float]] = deque()
        self._rest: Iterator[Chunk] | None = None

    def group_codes(self) -> GroupCodes | None:
        """Return new codes for the groups of these rows; None without a column of groups."""
        if self.layout.group is None:
            return None
        return GroupCodes(where=f"{self.source.path}, column {self.layout.group!r}")

    def pieces(self) -> list[Forecasts]:
        """Return parts that can be read independently; they depend on the rows alone."""
        pieces = [self.part(piece) for piece in self.source.pieces()]
        if self.tally is not None:
            for piece in pieces:
                piece.tally = Tally(self.tally.coverage)
        return pieces

    def part(self, source: Source) -> Forecasts:
        """Return the forecasts in a part of the source, such as a file of a folder."""
        return Forecasts(source, self.layout, self.skip_missing)

    def chunks(
        self, *, whole: bool = False, n_maps: int = 0, progress: Progress | None = None
    ) -> Iterator[Chunk]:
        """Read the rows chunk by chunk, and check every value that is used.

        Parameters
        ----------
        whole : bool, default False
            Whether the tables hold all columns, or only those that are used. Chunks of which all
            rows are left out are yielded only if so.
        n_maps : int, default 0
            Number of maps of groups that each chunk is recalibrated by; for many, chunks are
            larger.
        progress : callable, optional
            Called with the number of rows done and their share of the total.

        Raises
        ------
        FileError
            At the first value that is not a number, is missing or is not positive where it must be.
        """
        source = self.source
        source.rows = source.crossing = source.skipped = 0
        self.groups = self.group_codes()
        rows = 0
        for file in source.files:
            start = 0
            for table in file.chunks(None if whole else self.layout.used, n_maps):
                chunk, crossing = checked_chunk(
                    file, table, start, self.layout, self.groups, self.skip_missing
                )
                start += table.num_rows
                rows += len(chunk)
                source.rows = rows  # a file has counted all of the table's rows meanwhile
                source.crossing += crossing
                source.skipped += chunk.n_skipped
                if whole or len(chunk):
                    yield chunk
                if progress is not None:
                    progress(source.rows, source.share())

    def begin(self, rows: int) -> list[Chunk]:
        """Read chunks up to this number of rows that have a weight; `accumulate` goes on there.

        Rows of many columns are fewer.
        """
        self._rest = self.chunks()
        self._first.clear()
        rows = min(rows, max(_FIRST_VALUES // len(self.layout.used), _FEWEST_FIRST))
        chunks: list[Chunk] = []
        while sum(map(Chunk.n_weighted, chunks)) < rows:
            chunk = next(self._rest, None)
            if chunk is None:
                break
            chunks.append(chunk)
            self._first.append((chunk, self.source.rows, self.source.share()))
        return chunks

    def accumulate(
        self,
        scoring: Scoring,
        *,
        max_values: int | None = None,
        progress: Progress | None = None,
    ) -> ScoreAccumulator:
        """Score all rows and return their scores; see `ScoreAccumulator` for `max_values`."""
        scores = ScoreAccumulator(self.layout.score_kind, max_values, scoring.preparation)
        for chunk, rows, share in self._all_chunks():
            names = () if self.groups is None else self.groups.names
            scores.add(scoring.rows(chunk), chunk.groups, names)
            if self.tally is not None:
                self.tally.add(chunk, self.groups)
            if progress is not None:
                progress(rows, share)
        return scores

    def _all_chunks(self) -> Iterator[tuple[Chunk, int, float]]:
        """Yield all chunks, those of `begin` first, with the rows and their share up to each."""
        rest, self._rest = self._rest, None
        while self._first:
            yield self._first.popleft()
        for chunk in self.chunks() if rest is None else rest:
            yield chunk, self.source.rows, self.source.share()

    def conclude(self, pieces: Sequence[Forecasts] = ()) -> None:
        """Raise if no row was read; warn about crossing quantiles and unused columns.

        If the rows were read in pieces, their numbers are added up first.
        """
        source = self.source
        if pieces:
            source.rows = sum(piece.source.rows for piece in pieces)
            source.crossing = sum(piece.source.crossing for piece in pieces)
            source.skipped = sum(piece.source.skipped for piece in pieces)
            if self.tally is not None:
                self.tally.merge(piece.tally for piece in pieces if piece.tally is not None)
        self.check_rows(source.rows, source.skipped)
        if self.layout.doubt:
            warn(*self.layout.doubt)
        if source.crossing:
            crossing = f"{source.crossing:,} of {source.rows:,} rows"
            parts: list[Part] = [f"quantiles cross in {crossing}; those rows are sorted."]
            if self.layout.is_stated_interval and source.crossing == source.rows:
                parts += [" Are ", Option("lower"), " and ", Option("upper"), " swapped?"]
            warn(*parts)

    def check_rows(self, rows: int, skipped: int) -> None:
        """Raise if no row was used, for these numbers of rows that were used and left out."""
        if rows:
            return
        if not skipped:
            raise no_rows(self.source.path)
        raise FileError(
            f"{self.source.path} has no row to use: {self.missing()} is missing in "
            f"{'its only row' if skipped == 1 else f'all of its {skipped:,} rows'}; expected at "
            f"least one row without missing values. Its columns are "
            f"{listed(self.layout.must_be_there, most=5)}."
        )

    def missing(self) -> str:
        """Return what may be missing in a row that is left out, for messages."""
        return "the forecast" if self.layout.y is None else "the outcome or the forecast"

    def no_weight(self) -> FileError:
        """Return the error that no row has a weight."""
        return FileError(
            f"{self.source.path}, column {self.layout.weight!r} is 0 in every row; expected a "
            f"weight above 0 in at least one."
        )


def open_forecasts(
    path: Paths | Forecasts,
    columns: Columns | None = None,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    skip_missing: bool = False,
    y: bool = True,
) -> Forecasts:
    r"""Open a file or folder and find its columns; headers are read and checked.

    Parameters
    ----------
    path : path or sequence of paths
        See `trueline.files.fit`. What is open already is returned as it is.
    columns, separator, decimal, skip_missing : optional
        See `trueline.files.fit`.
    y : bool, default True
        Whether the outcomes are needed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import open_forecasts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,q0.1,q0.9\n1.5,1,2\n")
    ...     print(open_forecasts(file).layout.describe())
    quantile forecasts (q0.1, q0.9)
    """
    if isinstance(path, Forecasts):
        return path
    source = open_source(path, separator, decimal)
    return Forecasts(source, find_in(source, columns, y=y), skip_missing)


def open_stream(
    stream: BinaryIO,
    columns: Columns | None = None,
    *,
    name: str = "the stream",
    separator: str | None = None,
    decimal: str | None = None,
    skip_missing: bool = False,
    y: bool = True,
) -> Forecasts:
    r"""Open CSV that comes from a stream, such as standard input.

    The stream is read to its end and kept in a temporary file, which has the limits of other text
    files. The file has no name where the system permits it, and vanishes with the process.

    Parameters
    ----------
    stream : binary stream
        Text in UTF-8, such as ``sys.stdin.buffer``.
    name : str
        What messages call the stream.
    columns, separator, decimal, skip_missing, y : optional
        See `open_forecasts`.

    Examples
    --------
    >>> import io
    >>> from trueline import files
    >>> forecasts = files.open_stream(io.BytesIO(b"y,mean,std\n1.5,1,0.1\n3,2,0.5\n"))
    >>> files.fit(forecasts).n_fit()
    2.0
    """
    source = open_text(Spool(stream, name), name, separator, decimal)
    return Forecasts(source, find_in(source, columns, y=y), skip_missing)


def first_chunks(pieces: Iterable[Forecasts], rows: int) -> list[Chunk]:
    """Return the first chunks of all pieces, which hold this number of rows if there are any.

    Rows without weight do not count. `Forecasts.accumulate` does not read the chunks again.
    """
    chunks: list[Chunk] = []
    for piece in pieces:
        missing = rows - sum(map(Chunk.n_weighted, chunks))
        if missing <= 0:
            break
        chunks += piece.begin(missing)
    return chunks


class _StoppedError(Exception):
    """Another piece failed, or the user interrupted."""


def check_jobs(n_jobs: int | None) -> int:
    """Return the number of threads; by default one per core, but at most two."""
    if n_jobs is None:
        # On Linux a process may be restricted to some cores.
        allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
        return min(_MOST_THREADS, len(allowed(0)))
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

    in_threads = n_jobs > 1 and len(pieces) > 1
    stop = Event()

    def note(i: int, rows: int, share: float) -> None:
        so_far[i] = rows, share
        if not in_threads:
            tell()
        elif stop.is_set():
            raise _StoppedError

    if not in_threads:
        for i in range(len(pieces)):
            yield work(i, partial(note, i))
        return
    with ThreadPoolExecutor(n_jobs) as threads:
        futures: deque[Future[T]] = deque()
        try:
            for i in range(len(pieces)):
                futures.append(threads.submit(work, i, partial(note, i)))
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
