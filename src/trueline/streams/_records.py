"""Rows of a journal as bytes: records with a checksum, one after the other.

A file starts with `START`. A record is a head and a body, little-endian: 4 bytes that name it, the
number of its first row (8 bytes), the number of rows (4), 1 if they have weights and else 0 (4),
the CRC-32 of the body and that of the head (4 each); then the scores as float64, and the weights.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

from trueline._validation import FloatArray

#: The first bytes of a file; the number is that of the format.
START = b"TLROWS\x01\n"
_NAME = b"TLrw"
_HEAD = struct.Struct("<4sQIIII")
_ITEM = 8

Record = tuple[int, FloatArray, FloatArray | None]


class DamagedError(Exception):
    """A record that is not the last one is not as it was written; the message says where."""


def encode(row: int, scores: FloatArray, weights: FloatArray | None) -> bytes:
    """Return the record of rows, the first of which has this number."""
    parts = [scores] if weights is None else [scores, weights]
    body = b"".join(part.astype("<f8").tobytes() for part in parts)
    head = _HEAD.pack(_NAME, row, len(scores), len(parts) - 1, zlib.crc32(body), 0)
    return head[:-4] + struct.pack("<I", zlib.crc32(head[:-4])) + body


def decode(data: bytes) -> tuple[list[Record], int]:
    """Return the records of a file and the number of bytes that they take.

    What follows the last whole record is left out if no whole record comes after it: it is what a
    write that was cut short has left, of rows that were never acknowledged.
    """
    if not data.startswith(START):
        if START.startswith(data[: len(START)]) or not data.strip(b"\0"):
            return [], 0  # the file itself was cut short
        raise DamagedError("it does not start as a journal of this release does")
    records, place = [], len(START)
    while place < len(data):
        found = _record(data, place)
        if found is None:
            if any(_record(data, later) for later in _names(data, place + 1)):
                raise DamagedError(f"the record at byte {place} is not as it was written")
            break
        records.append(found[0])
        place = found[1]
    return records, place


def _names(data: bytes, place: int) -> Iterator[int]:
    """Yield the places at which a record may begin."""
    place = data.find(_NAME, place)
    while place >= 0:
        yield place
        place = data.find(_NAME, place + 1)


def _record(data: bytes, place: int) -> tuple[Record, int] | None:
    """Return the record at a place and where it ends; None if there is no whole one."""
    if len(data) - place < _HEAD.size:
        return None
    name, row, rows, parts, checksum, own = _HEAD.unpack_from(data, place)
    begin = place + _HEAD.size
    if name != _NAME or zlib.crc32(data[place : begin - 4]) != own or parts > 1 or not rows:
        return None
    end = begin + _ITEM * rows * (parts + 1)
    body = data[begin:end]
    if end > len(data) or zlib.crc32(body) != checksum:
        return None
    numbers = np.frombuffer(body, dtype="<f8").astype(np.float64)
    return (row, numbers[:rows], numbers[rows:] if parts else None), end
