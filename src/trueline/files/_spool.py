"""Text that comes from a stream, such as standard input, which can be read only once."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from trueline._files import FileError
from trueline.files._limits import LONGEST_ROW

_BLOCK = 1 << 20
# Bytes of a character in UTF-8, at most.
_WIDEST = 4
# The first bytes of files that are not text.
_PACKED = "compressed data", "Unpack it on the way, such as with gunzip -c"
_OTHERS = {
    b"\x1f\x8b": _PACKED,
    b"BZh": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"PAR1": ("Parquet", "Name the file itself"),
    b"ARROW1": ("Arrow", "Name the file itself"),
}


class Spool:
    """A copy of a stream in a temporary file, which can be read several times, also in parallel.

    The file has no name where the system permits it, and only its user may read it. It vanishes
    with the process, however that ends.

    Parameters
    ----------
    stream : binary stream
    name : str
        What messages call the stream.

    Examples
    --------
    >>> import io
    >>> from trueline.files._spool import Spool
    >>> spool = Spool(io.BytesIO(b"y,mean,std"), "standard input")
    >>> spool.size, spool.open().read(), spool.open().read(1)
    (10, b'y,mean,std', b'y')
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.size = 0
        self._lock = Lock()
        with tempfile.TemporaryFile(buffering=0) as file:
            for block in _checked(stream, name):
                try:
                    file.write(block)
                except OSError as error:
                    raise _cannot_copy(name, error) from None
                self.size += len(block)
            self._handle = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._handle)

    def open(self) -> io.RawIOBase:
        """Return a new reader, which starts at the beginning."""
        return _Reader(self)

    def read_at(self, place: int, buffer: Any) -> int:
        """Fill the buffer with bytes from this place; return their number."""
        with self._lock:  # readers share one position
            os.lseek(self._handle, place, os.SEEK_SET)
            data = os.read(self._handle, len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Reader(io.RawIOBase):
    """Reads a spool from a position of its own."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        number = self._spool.read_at(self._place, buffer)
        self._place += number
        return number

    def tell(self) -> int:
        return self._place


def _checked(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the content in blocks; raise before what cannot be used fills the disk."""
    first, length = True, 0
    while True:
        try:
            block = stream.read(_BLOCK)
        except OSError as error:
            raise FileError(f"cannot read {name}: {error.strerror}.") from None
        if not block:
            return
        if first:
            _check_start(block, name)
            first = False
        end = block.rfind(b"\n")
        length = len(block) - end - 1 if end >= 0 else length + len(block)
        if length > _WIDEST * LONGEST_ROW:
            raise FileError(
                f"{name} has a row that is longer than {LONGEST_ROW:,} characters, the limit of "
                f"text files. Is it a table?"
            )
        yield block


def _check_start(block: bytes, name: str) -> None:
    for start, (what, remedy) in _OTHERS.items():
        if block.startswith(start):
            raise FileError(f"{name} holds {what}; expected CSV. {remedy}.")


def _cannot_copy(name: str, error: OSError) -> FileError:
    folder = Path(tempfile.gettempdir())
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "the disk is full" if full else os.strerror(error.errno or 0)
    return FileError(
        f"cannot copy {name} to {folder}, where it is kept while it is read: {why}. Set TMPDIR to "
        f"a folder with room, or write a file first and name it."
    )
