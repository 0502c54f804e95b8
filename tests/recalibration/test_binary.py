"""Maps as bytes: exact, small, and robust against anything that is not one."""

import errno
import hashlib
import json
import os
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

import trueline as tl
from benchmarks.fuzz import make_maps, mutate
from trueline.documents import _binary

rng = np.random.default_rng(0)


def sealed(head, blobs=b"", magic=_binary.MAGIC, version=_binary.VERSION):
    """Bytes with a right checksum, whatever they hold."""
    rest = struct.pack("<I", len(head)) + head + blobs
    return struct.pack("<8sH32s", magic, version, hashlib.sha256(rest).digest()) + rest


def test_every_map_comes_back_to_the_last_bit():
    for R in make_maps():
        back = tl.load(R.to_bytes())
        assert type(back) is type(R)
        assert back.to_json() == R.to_json()
        assert back.to_bytes() == R.to_bytes()


def test_bytes_are_few():
    y = np.random.default_rng(0).normal(size=2_000_000)
    R = tl.Isotonic().partial_fit(y, tl.Point(np.zeros(len(y))))
    assert R.scores_.rounded
    # A byte or so a distinct value, where JSON takes some 20.
    assert len(R.to_bytes()) < 1.5 * len(R.scores_.values)


def test_a_file_of_bytes_is_read_as_well(tmp_path):
    R = tl.Isotonic().fit([0.3, -0.1, 2.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    (tmp_path / "map.bin").write_bytes(R.to_bytes())
    assert tl.load(tmp_path / "map.bin").to_json() == R.to_json()


def test_values_of_either_sign_and_any_size():
    y = np.array([-1e99, -1.0, -1e-99, 0.0, 1e-99, 1e-10, 1.0, 1e99])
    R = tl.Isotonic().fit(y, tl.Point(np.zeros(len(y))))
    np.testing.assert_array_equal(tl.load(R.to_bytes()).scores_.values, y)


def test_a_file_of_bytes_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    R, file = tl.Isotonic().fit([0.5, 1.5], tl.Point([0.0, 0.0])), tmp_path / "map.bin"
    assert R.to_bytes(file) == file.read_bytes() == R.to_bytes()
    monkeypatch.setattr("os.fsync", _disk_full)
    with pytest.raises(OSError, match=r"cannot write .*: No space left on device"):
        tl.Isotonic().fit([5.0], tl.Point([0.0])).to_bytes(file)
    assert [path.name for path in tmp_path.iterdir()] == ["map.bin"]
    assert file.read_bytes() == R.to_bytes()


def _disk_full(handle):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello world",
        b"\x80\x04\x95pickle",
        b"TRUE",
        b'{"a": 1',
    ],
)
def test_bytes_that_are_something_else(data):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        tl.load(data)
    assert str(caught.value) == (
        "the input is not a valid trueline map: its format is not 'trueline-recalibrator'. "
        "Write it again with to_bytes."
    )


GOOD = tl.Isotonic().fit([0.5, 1.5], tl.Point([0.0, 0.0])).to_bytes()
BEGIN = 46  # of the head: 8 bytes of magic, 2 of version, 32 of checksum, 4 of length
(LENGTH,) = struct.unpack_from("<I", GOOD, 42)
HEAD, BLOBS = json.loads(GOOD[BEGIN : BEGIN + LENGTH]), GOOD[BEGIN + LENGTH :]


def head(**changes):
    return json.dumps({**HEAD, **changes}).encode()


def arrays(**changes):
    return head(arrays=[{**HEAD["arrays"][0], **changes}])


@pytest.mark.parametrize(
    "data, fault",
    [
        (GOOD[:9], "it ends within its first bytes"),
        (GOOD[:-1], "its bytes are not those that were written"),
        (GOOD + b"x", "its bytes are not those that were written"),
        (sealed(head(), BLOBS, version=9), "its version is 9 and this release reads 1"),
        (sealed(b"{}"), "its head is not one"),
        (sealed(b"\xff"), "it is not UTF-8 text"),
        (sealed(head(arrays=3), BLOBS), "its head does not list arrays"),
        (sealed(head(arrays=[]), BLOBS), "it goes on after its end"),
        (sealed(head(arrays=[]), b""), "it names an array that is not there"),
        (sealed(arrays(count=3), BLOBS), "an array is not as long as it says"),
        (sealed(arrays(count=1), BLOBS), "an array is not as long as it says"),
        (sealed(arrays(count=-1), BLOBS), "an array is not described by whole numbers"),
        (sealed(arrays(count=True), BLOBS), "an array is not described by whole numbers"),
        (sealed(arrays(count=1 << 60), BLOBS), "its arrays are larger than max_bytes"),
        (sealed(arrays(bytes=1000), BLOBS), "it ends within an array"),
        (sealed(arrays(rises=False), BLOBS), "a score is 3.33761e-308, beyond"),
        (sealed(head(document={}), BLOBS), "an array is not used"),
        (sealed(head(document={"a": {"array": 0}, "b": {"array": 0}}), BLOBS), "stands twice"),
    ],
)
def test_what_is_wrong_is_said(data, fault):
    with pytest.raises(ValueError, match=fault) as caught:
        tl.load(data)
    assert str(caught.value).startswith("the input is not a valid trueline map: ")
    assert str(caught.value).endswith(". Write it again with to_bytes.")


def test_values_that_do_not_rise_are_refused():
    blob = zlib.compress(np.array([[2.0, 1.0]]).view(np.uint8).reshape(-1, 8).T.tobytes())
    entry = {"count": 2, "bytes": len(blob), "rises": False}
    with pytest.raises(ValueError, match="values do not increase"):
        tl.load(sealed(head(arrays=[entry]), blob))


def test_a_small_input_makes_no_large_allocation():
    """A compressed array of zeros, a thousand times its size, is refused before it is unpacked."""
    blob = zlib.compress(bytes(80_000_000), 9)
    data = sealed(head(arrays=[{"count": 1 << 40, "bytes": len(blob), "rises": True}]), blob)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="larger than max_bytes"):
            tl.load(data)
        with pytest.raises(ValueError, match="larger than max_bytes"):
            tl.load(data, max_bytes=100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data) + 1_000_000


def test_mutated_bytes_give_an_error_or_a_valid_map():
    """The same in larger number: ``python benchmarks/fuzz.py``."""
    counts = mutate(3000, seed=0)
    assert counts["valid"] > 0
    assert counts["refused"] > 0
    assert sum(counts.values()) == 3000
