"""A stream that loses no row if its process is killed."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self

from numpy.typing import ArrayLike

from trueline._files import whole_file
from trueline._messages import count
from trueline._validation import FloatArray, check_count
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.recalibration import BY_NAME, Recalibrator
from trueline.recalibration._document import read
from trueline.streams._online import Online
from trueline.streams._records import START, DamagedError, decode, encode

_STATE, _ROWS, _LOCK = "stream.bin", "rows.log", "lock"
_MOST_BYTES = 1 << 28
_STORED: list[type[Recalibrator]] = [*BY_NAME.values(), Online]
_CLASSES = {c.__name__: c for c in _STORED if c.is_stored}


class Journal:
    """An `Online` in a folder: every row is on disk before ``update`` returns.

    ``update`` checks and scores the rows, appends their scores to a file, syncs it, and then learns
    them. Now and then the state is written as a whole and the file of rows starts again. Opening
    the folder, after a restart or a kill at any moment, reads the state and learns the rows since:
    the stream is equal to the last bit to one that was never interrupted. A record that was cut
    short, of an ``update`` that did not return, is dropped. Files hold numbers with checksums,
    and nothing in them is executed.

    One journal may have a folder open at a time; the lock ends with its process. Any number of
    threads may call ``update`` and ``transform``.

    The folder holds ``stream.bin``, the state; ``rows.log``, the rows since it was written; and
    ``lock``. Copy the folder as a whole, while no journal has it open. If ``stream.bin`` is lost or
    damaged, the stream is lost. If ``rows.log`` is damaged, delete it to go on without its rows, at
    most `compact_every` and one update; opening the folder then warns.

    Parameters
    ----------
    folder : path
        Folder of the stream; it is made if it is not there.
    online : Online, optional
        The stream to begin with if the folder holds none, by default ``Online()``; it may be
        fitted. If the folder holds one, that goes on, and `online` must have the same parameters
        and, if fitted, the same kind of forecasts; its rows are not learned again. Its
        ``on_alarm``, which may be a function, is used from then on.
    sync : bool, default True
        Whether each row is synced to disk. Without it rows survive a kill of the process, but not
        of the machine.
    compact_every : int, default 4096
        Number of rows after which the state is written as a whole.

    Attributes
    ----------
    online : Online
        The stream. Read from it what you like, but add rows by ``update`` of the journal only.

    Examples
    --------
    >>> import tempfile
    >>> import trueline as tl
    >>> from trueline.streams import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(folder, tl.Online(window=100)) as journal:
    ...         for y in (5.0, 1.0, 2.0, 3.0):
    ...             _ = journal.update(y, tl.Point(0.0))
    ...     with Journal(folder) as journal:
    ...         journal.online.rows_seen_, journal.transform(tl.Point(10.0)).median()
    (4, array([12.5]))
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        online: Online | None = None,
        *,
        sync: bool = True,
        compact_every: int = 4096,
    ) -> None:
        if online is not None and not isinstance(online, Online):
            raise TypeError(f"online is {online!r}; expected an Online, or None.")
        if not os.fspath(folder):
            raise ValueError("folder is empty; expected the name of a folder, such as 'stream'.")
        self._compact_every = check_count(compact_every, "compact_every")
        self._sync = bool(sync)
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._file = -1
        self._seen = self._rows = 0  # rows of the stream, and of the file
        self._is_whole = True  # whether the stream has learned every row in the file
        self._locked = _locked(self._folder / _LOCK)
        try:
            self._clear()
            self._open(online)
        except BaseException:
            self.close()
            raise

    # ---- opening --------------------------------------------------------------------------

    def _clear(self) -> None:
        """Remove what a process that was killed while it wrote the state has left."""
        for left in self._folder.glob(f".{_STATE}.*.tmp"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _open(self, online: Online | None) -> None:
        state, rows = self._folder / _STATE, self._folder / _ROWS
        known, missing = state.exists(), not rows.exists()
        if known:
            self.online = self._stored(state, online)
        else:
            self.online = Online() if online is None else online
        if known and missing:
            warnings.warn(
                f"{rows} is missing, and with it the rows since {state} was written; the stream "
                f"goes on with {count(self.online.rows_seen_, 'row')}.",
                UserWarning,
                stacklevel=3,
            )
        self._file = os.open(rows, os.O_RDWR | os.O_CREAT, 0o666)
        self._learn_again(rows, START if missing else _read(self._file), known)
        if online is not None:
            self.online.on_alarm = online.on_alarm
        if self.online._is_fitted():
            self._seen = self.online.rows_seen_
        if not known and self.online._is_fitted():
            self.compact()
        elif self._end <= len(START):
            self._empty()
        else:
            os.ftruncate(self._file, self._end)  # drop what was cut short

    def _stored(self, path: Path, wanted: Online | None) -> Online:
        remedy = "Restore it from a copy of the folder, or begin a new stream in an empty folder."
        try:
            found = read(path, _MOST_BYTES, _CLASSES)
        except ValueError as error:
            raise ValueError(f"{error.args[0]} {remedy}") from None
        if not isinstance(found, Online):
            raise ValueError(
                f"{path} holds a {type(found).__name__}; expected an Online. Name another folder."
            )
        if wanted is not None:
            self._check_same(found, wanted)
        return found

    def _check_same(self, found: Online, wanted: Online) -> None:
        has, asked = (stream._describe()["params"] for stream in (found, wanted))
        differ = [name for name in has if name != "on_alarm" and has[name] != asked[name]]
        if not differ and wanted._is_fitted() and found.score_kind_ != wanted.score_kind_:
            differ = [f"kind of scores: {found.score_kind_!r}, not {wanted.score_kind_!r}"]
        if differ:
            raise ValueError(
                f"{self._folder} holds the stream of {found._call()}, but online is "
                f"{wanted._call()}; expected "
                f"the same {' and '.join(differ)}. Open it with Journal(folder), or begin a new "
                f"stream in an empty folder."
            )

    def _learn_again(self, path: Path, data: bytes, known: bool) -> None:
        """Learn the rows that came after the state was written."""
        state = self._folder / _STATE
        remedy = (
            f"Restore it from a copy, or delete it to go on without the rows since {state} was "
            f"written."
        )
        try:
            records, self._end = decode(data)
        except DamagedError as error:
            raise ValueError(f"{path} is damaged: {error}. {remedy}") from None
        if known and not self._end:
            raise ValueError(f"{path} is damaged: it is empty. {remedy}")
        if records and not known:
            raise ValueError(
                f"{state} is missing, but {path} holds rows that came after it was written. "
                f"Restore both from a copy, or begin a new stream in an empty folder."
            )
        for row, scores, weights in records:
            seen = self.online.rows_seen_
            if row + len(scores) <= seen:
                continue  # the state was written after these rows
            if row != seen:
                raise ValueError(
                    f"{path} goes on with row {row}, but {state} holds {count(seen, 'row')}. "
                    f"{remedy}"
                )
            self.online._learn_again(scores, weights)
            self._rows += len(scores)

    # ---- use ------------------------------------------------------------------------------

    def update(
        self, y: ArrayLike, dist: ForecastLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more row, or several; once it returns they are on disk.

        If something is wrong with the rows, or they cannot be written, nothing changes. The
        parameters are those of `Online.update`.
        """
        with self._lock:
            self._check_open()
            first = not self.online._is_fitted()
            if not first and self.online.rows_seen_ != self._seen:
                raise RuntimeError(
                    f"rows were added to the Online of {self._folder} that are not in the journal; "
                    f"expected them to come by Journal.update. Open the folder again to go on "
                    f"without them."
                )
            drift = self.online._update(y, dist, sample_weight, None if first else self._append)
            self._seen, self._is_whole = self.online.rows_seen_, True
            if first or self._rows >= self._compact_every:
                self.compact()
        if drift is not None:
            self.online._report(drift)
        return self

    def transform(self, dist: ForecastLike) -> Distribution:
        """Return the recalibrated forecasts; see `Online.transform`."""
        return self.online.transform(dist)

    def _append(self, scores: FloatArray, weights: FloatArray | None) -> None:
        record = encode(self._seen, scores, weights)
        try:
            _write(self._file, record, self._end)
            if self._sync:
                os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            self.close()  # after a failed sync it is not known what is on disk
            path = self._folder / _ROWS
            raise OSError(
                error.errno,
                f"cannot write {path}: {error.strerror}. The rows were not learned; make room and "
                f"open the folder again",
            ) from None
        self._end += len(record)
        self._rows += len(scores)
        self._is_whole = False  # until the stream has learned them

    def compact(self) -> None:
        """Write the state as a whole, so that the folder opens quickly."""
        with self._lock:
            self._check_open()
            with whole_file(self._folder / _STATE) as file:
                file.write(self.online.to_bytes())
            self._empty()

    def _empty(self) -> None:
        """Start the file of rows again. Until it is empty, its rows are known to the state."""
        _write(self._file, START, 0)
        os.ftruncate(self._file, len(START))
        if self._sync:
            os.fsync(self._file)
        self._end, self._rows = len(START), 0

    def _check_open(self) -> None:
        if self._file < 0:
            raise ValueError(f"the journal of {self._folder} is closed; open it with Journal(...).")
        if not self._is_whole:
            raise RuntimeError(
                f"an update of {self._folder} was interrupted; open the folder again to go on."
            )

    def close(self) -> None:
        """Close the folder, so that another journal can open it. Nothing is lost without it."""
        with self._lock:
            handles = self._file, self._locked
            self._file = self._locked = -1
            for handle in handles:
                if handle >= 0:
                    os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Journal({str(self._folder)!r}, {self.online!r})"


def _locked(path: Path) -> int:
    """Open a file that one process at a time may have open; a kill of the process frees it."""
    try:
        import fcntl
    except ImportError:
        raise NotImplementedError(
            "Journal needs file locks of POSIX, which this system has not. Write the state after "
            "every row instead: online.to_bytes(path)."
        ) from None
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise RuntimeError(
            f"{path.parent} is in use by another Journal, of this or another process; expected one "
            f"at a time. Close it first."
        ) from None
    return handle


def _read(handle: int) -> bytes:
    with os.fdopen(os.dup(handle), "rb") as file:
        file.seek(0)
        return file.read()


def _write(handle: int, data: bytes, place: int) -> None:
    while data:
        done = os.pwrite(handle, data, place)
        data, place = data[done:], place + done
