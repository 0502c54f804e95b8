"""Documents with arrays in few bytes: a JSON head, then the compressed arrays.

The layout is little-endian: 8 bytes that name the format, a 2-byte version, the 32-byte SHA-256
digest of the rest, the 4-byte length of the head, the head, the arrays one after the other. In the
head an array is ``{"array": i}``, and ``arrays`` holds for each the number of its values and bytes,
and whether it is stored as differences. Reading takes little more memory than the input and the
arrays in it, which together are no larger than a limit.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

MAGIC = b"TRUELINE"
VERSION = 1
_START = struct.Struct("<8sH32s")
_LENGTH = struct.Struct("<I")
_ITEM = 8
# Higher levels take longer and save little.
_LEVEL = 1
# Number of compressed bytes, and of values, that are worked on at a time.
_PIECE = 1 << 16

Refuse = Callable[[bool, str], None]


def encode(document: dict[str, Any]) -> bytes:
    """Return a document whose arrays are float64 as bytes."""
    arrays: list[dict[str, Any]] = []
    blobs: list[bytes] = []

    def place(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            rises = bool((value[1:] > value[:-1]).all())
            blob = zlib.compress(_shuffled(value, rises), _LEVEL)
            arrays.append({"count": len(value), "bytes": len(blob), "rises": rises})
            blobs.append(blob)
            return {"array": len(arrays) - 1}
        if isinstance(value, dict):
            return {key: place(item) for key, item in value.items()}
        if isinstance(value, list):
            return [place(item) for item in value]
        return value

    placed = place(document)
    head = json.dumps({"document": placed, "arrays": arrays}, allow_nan=False).encode()
    rest = b"".join([_LENGTH.pack(len(head)), head, *blobs])
    return _START.pack(MAGIC, VERSION, hashlib.sha256(rest).digest()) + rest


def decode(data: bytes, parse: Callable[[bytes], Any], expect: Refuse, max_bytes: int) -> Any:
    """Return the document; `expect` raises with its second argument unless its first holds."""
    begin = _START.size + _LENGTH.size
    expect(len(data) >= begin, "it ends within its first bytes")
    _, version, checksum = _START.unpack_from(data)
    expect(version == VERSION, f"its version is {version} and this release reads {VERSION}")
    intact = hashlib.sha256(memoryview(data)[_START.size :]).digest() == checksum
    expect(intact, "its bytes are not those that were written")
    (length,) = _LENGTH.unpack_from(data, _START.size)
    expect(length <= len(data) - begin, "it ends within its head")
    head = parse(data[begin : begin + length])
    expect(isinstance(head, dict) and set(head) == {"document", "arrays"}, "its head is not one")
    expect(isinstance(head["arrays"], list), "its head does not list arrays")
    blobs = memoryview(data)[begin + length :]
    arrays = _arrays(head["arrays"], blobs, expect, max_bytes - len(data))
    used = np.zeros(len(arrays), dtype=bool)

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            if set(value) == {"array"}:
                i = value["array"]
                expect(
                    type(i) is int and 0 <= i < len(arrays), "it names an array that is not there"
                )
                expect(not used[i], "an array stands twice")
                used[i] = True
                return arrays[i]
            return {key: fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item) for item in value]
        return value

    document = fill(head["document"])
    expect(bool(used.all()), "an array is not used")
    return document


def _arrays(
    entries: list[Any], data: memoryview, expect: Refuse, max_bytes: int
) -> list[FloatArray]:
    arrays: list[FloatArray] = []
    start = 0
    for entry in entries:
        good = isinstance(entry, dict) and set(entry) == {"count", "bytes", "rises"}
        expect(good, "an array is not described by count, bytes and rises")
        count, size, rises = entry["count"], entry["bytes"], entry["rises"]
        good = type(count) is int and type(size) is int and type(rises) is bool
        expect(good and count >= 0 and size >= 0, "an array is not described by whole numbers")
        expect(size <= len(data) - start, "it ends within an array")
        max_bytes -= _ITEM * count
        expect(max_bytes >= 0, "its arrays are larger than max_bytes")
        blob, start = data[start : start + size], start + size
        try:
            arrays.append(_unpacked(blob, count, rises))
        except zlib.error:
            expect(False, "an array is not as long as it says")
    expect(start == len(data), "it goes on after its end")
    return arrays


def _shuffled(values: FloatArray, rises: bool) -> bytes:
    """Return the bytes with equal significance side by side, which compress well."""
    bits = values.astype("<f8").view("<i8")
    if rises:
        bits = np.diff(_ordered(bits), prepend=np.int64(0))
    return bits.view(np.uint8).reshape(-1, _ITEM).T.tobytes()


def _unpacked(blob: memoryview, count: int, rises: bool) -> FloatArray:
    """Return the array whose `_shuffled` bytes were compressed; raise if its length differs."""
    bits = np.empty(count, dtype="<i8")
    reader = _Reader(blob)
    for plane in bits.view(np.uint8).reshape(count, _ITEM).T:
        done = 0
        while done < count:
            part = reader.read(count - done)
            if not part:
                raise zlib.error("too short")
            plane[done : done + len(part)] = np.frombuffer(part, dtype=np.uint8)
            done += len(part)
    if not reader.is_at_end():
        raise zlib.error("too long")
    if rises:
        np.cumsum(bits, out=bits)
        for start in range(0, count, _PIECE):
            bits[start : start + _PIECE] = _ordered(bits[start : start + _PIECE])
    return bits.view("<f8").astype(np.float64, copy=False)


class _Reader:
    """Decompresses bytes in pieces, so that no copies of them are held."""

    def __init__(self, blob: memoryview) -> None:
        self._pieces = (blob[i : i + _PIECE] for i in range(0, len(blob), _PIECE))
        self._zlib = zlib.decompressobj()

    def read(self, most: int) -> bytes:
        """Return 1 to `most` bytes, or none at the end."""
        waiting: bytes | memoryview = self._zlib.unconsumed_tail
        while not (found := self._zlib.decompress(waiting, most)) and not self._zlib.eof:
            waiting = self._zlib.unconsumed_tail or next(self._pieces, b"")
            if not waiting:
                break
        return found

    def is_at_end(self) -> bool:
        """Whether everything was read, and nothing follows it."""
        ended = not self.read(1) and self._zlib.eof
        return ended and not self._zlib.unused_data and not next(self._pieces, b"")


def _ordered(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert the bits of floats to integers in the same order, and back."""
    return bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))
