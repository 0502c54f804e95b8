"""Rows of a journal as bytes: records with a checksum, one after the other.

A file starts with `START`. A record is a head and a body, little-endian: 4 bytes that name it, the
number of its first row (8 bytes), the number of rows (4), 1 if they have weights and else 0 (4),
the CRC-32 of the body and that of the head (4 each); then the scores as float64, the weights, and a
byte that is not 0. A write that was cut short leaves the beginning of a record, and perhaps zeros
after it. Anything else that is not a whole record is damage.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from trueline._validation import FloatArray

#: The first bytes of a file; the number is that of the format.
START = b"TLROWS\x01\n"
_NAME = b"TLrw"
_END = b"\n"
_HEAD = struct.Struct("<4sQIIII")
_ITEM = 8

Record = tuple[int, FloatArray, FloatArray | None]


class DamagedError(Exception):
    """A record is not as it was written; the message says where."""


def encode(row: int, scores: FloatArray, weights: FloatArray | None) -> bytes:
    """Return the record of rows, the first of which has this number."""
    parts = [scores] if weights is None else [scores, weights]
    body = b"".join(part.astype("<f8").tobytes() for part in parts)
    head = _HEAD.pack(_NAME, row, len(scores), len(parts) - 1, zlib.crc32(body), 0)
    return head[:-4] + struct.pack("<I", zlib.crc32(head[:-4])) + body + _END


def decode(data: bytes) -> tuple[list[Record], int]:
    """Return the records of a file and the number of bytes that they take.

    A last record that was cut short is left out: its rows were never acknowledged.
    """
    if not data.startswith(START):
        if START.startswith(data.rstrip(b"\0")):
            return [], 0  # the file itself was cut short
        raise DamagedError("it does not start as a journal of this release does")
    records, place, end = [], len(START), len(data.rstrip(b"\0"))
    while place + _HEAD.size <= end:
        name, row, rows, parts, checksum, own = _HEAD.unpack_from(data, place)
        begin = place + _HEAD.size
        stop = begin + _ITEM * rows * (parts + 1)
        good = name == _NAME and zlib.crc32(data[place : begin - 4]) == own and parts <= 1 and rows
        if good and stop >= end:
            break  # cut short
        body = data[begin:stop]
        if not good or zlib.crc32(body) != checksum or data[stop : stop + 1] != _END:
            raise DamagedError(f"the record at byte {place} is not as it was written")
        numbers = np.frombuffer(body, dtype="<f8").astype(np.float64)
        records.append((row, numbers[:rows], numbers[rows:] if parts else None))
        place = stop + 1
    return records, place
