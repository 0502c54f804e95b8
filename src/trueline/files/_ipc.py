"""How much memory the compressed batches of an Arrow file take, known before they are unpacked.

pyarrow allocates what a file asks for. This reads only the descriptions of the batches: tables of
FlatBuffers, laid out as in Arrow's ``Message.fbs`` and ``File.fbs``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

MAGIC = b"ARROW1"  # the first and last bytes of a file; a stream starts otherwise

_CONTINUED = b"\xff\xff\xff\xff"
# Kinds of messages, and the places of fields in their tables.
_DICTIONARY, _BATCH = 2, 3
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_BUFFERS, _COMPRESSION = 2, 3
_DATA_OF_DICTIONARY = 1
_BLOCKS = (2, 3)  # of dictionaries and of batches, in the footer of a file
_BLOCK_SIZE, _BUFFER_SIZE = 24, 16


class Sizes(NamedTuple):
    """Bytes of a batch in the file, and in memory if it is compressed, otherwise 0."""

    packed: int
    unpacked: int


def batch_sizes(file: IO[bytes]) -> Iterator[Sizes]:
    """Yield the sizes of all batches and dictionaries of a file or a stream.

    Raises
    ------
    ValueError
        If they are not described as they should be.
    """
    try:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if file.read(len(MAGIC)) == MAGIC:
            for place in _blocks(file, size):
                found = _message(file, place)
                if found is not None:
                    yield found[0]
            return
        place = 0
        while (found := _message(file, place)) is not None:
            yield found[0]
            place = found[1]
    except struct.error:
        raise ValueError("a batch is not described as it should be") from None


def _blocks(file: IO[bytes], size: int) -> list[int]:
    """Return the places of batches that the footer lists."""
    end = struct.calcsize("<i") + len(MAGIC)
    file.seek(max(size - end, 0))
    (length,) = struct.unpack_from("<i", file.read(end))
    if not 0 <= length <= size - end:
        raise ValueError("its footer is not as long as it says")
    file.seek(size - end - length)
    footer = _Table.root(file.read(length))
    found = []
    for i in _BLOCKS:
        start, count = footer.vector(i)
        found += [footer.integer("<q", start + _BLOCK_SIZE * k) for k in range(count)]
    return found


def _message(file: IO[bytes], place: int) -> tuple[Sizes, int] | None:
    """Return the sizes of the batch in a message, and the place after it; None at the end."""
    if place < 0:
        raise ValueError("a batch lies before the file")
    file.seek(place)
    start = file.read(4)
    if start == _CONTINUED:  # messages of Arrow before 0.15 begin with their length at once
        start = file.read(4)
    if len(start) < 4 or start == bytes(4):
        return None
    (length,) = struct.unpack("<i", start)
    body = file.tell() + length
    message = _Table.root(file.read(max(length, 0)))
    size = message.value(_BODY_LENGTH, "<q")
    if size < 0:
        raise ValueError("a batch ends before it begins")
    kind = message.value(_HEADER_TYPE, "<B")
    batch = message.table(_HEADER) if kind in (_DICTIONARY, _BATCH) else None
    if batch is not None and kind == _DICTIONARY:
        batch = batch.table(_DATA_OF_DICTIONARY)
    unpacked = 0
    if batch is not None and batch.table(_COMPRESSION) is not None:
        first, count = batch.vector(_BUFFERS)
        for k in range(count):
            offset = batch.integer("<q", first + _BUFFER_SIZE * k)
            file.seek(max(body + offset, 0))
            # Each buffer starts with its length in memory; -1 marks one that is not compressed.
            prefix = file.read(8)
            if len(prefix) == 8:
                unpacked += max(struct.unpack("<q", prefix)[0], 0)
    return Sizes(size, unpacked), body + size


class _Table:
    """A table of FlatBuffers; reading outside of its bytes raises struct.error."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def integer(self, layout: str, place: int) -> int:
        found: int = struct.unpack_from(layout, self._data, place)[0]
        return found

    def _field(self, i: int) -> int | None:
        """Return the place of a field; None if it is left out."""
        fields = self._place - self.integer("<i", self._place)
        entry = 4 + 2 * i
        if fields < 0 or entry >= self.integer("<H", fields):
            return None
        offset = self.integer("<H", fields + entry)
        return self._place + offset if offset else None

    def value(self, i: int, layout: str) -> int:
        """Return a number; 0 if it is left out."""
        place = self._field(i)
        return 0 if place is None else self.integer(layout, place)

    def table(self, i: int) -> _Table | None:
        place = self._field(i)
        return None if place is None else _Table(self._data, place + self.integer("<I", place))

    def vector(self, i: int) -> tuple[int, int]:
        """Return the place and the number of the items of a vector."""
        place = self._field(i)
        if place is None:
            return 0, 0
        place += self.integer("<I", place)
        return place + 4, self.integer("<I", place)
