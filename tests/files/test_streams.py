"""CSV from a stream, and to one."""

import gc
import io
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import trueline as tl
from trueline.files import FileError, _spool, open_stream


class Broken(io.RawIOBase):
    """A pipe that breaks after its first bytes."""

    def __init__(self) -> None:
        self.parts = [b"y,mean\n"]

    def read(self, size=-1):
        if self.parts:
            return self.parts.pop()
        raise OSError(5, "Input/output error")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_stream_is_read_like_its_file(tmp_path, normal, small_chunks):
    path = normal.write(tmp_path / "f.csv")
    opened = partial(open_stream, io.BytesIO(path.read_bytes()))
    R = tl.files.fit(path)
    assert tl.files.fit(opened()).to_json() == R.to_json()
    with path.open("rb") as stream:
        assert tl.files.evaluate(open_stream(stream), R) == tl.files.evaluate(path, R)
    out, there = io.BytesIO(), tmp_path / "out.csv"
    tl.files.apply(R, path, there)
    with path.open("rb") as stream:
        assert tl.files.apply(R, open_stream(stream), out) == normal.y.size
    assert out.getvalue() == there.read_bytes()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_the_copy_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = descriptors()
    forecasts = open_stream(io.BytesIO(b"y,mean,std\n1,2,3\n"))
    assert list(tmp_path.iterdir()) == []  # it has no name
    del forecasts
    gc.collect()
    with pytest.raises(FileError):
        open_stream(io.BytesIO(b"1,2,3\n"))
    gc.collect()
    assert descriptors() == before


def test_readers_do_not_disturb_each_other():
    """The line of an error is found by a second reader, while the first is on its way."""
    rows = "".join(f"{i},{i},1\n" for i in range(200_000))
    forecasts = open_stream(io.BytesIO(f"y,mean,std\n{rows}7,x,1\n".encode()), name="the pipe")
    with pytest.raises(FileError) as caught:
        tl.files.fit(forecasts)
    assert str(caught.value) == (
        "the pipe, line 200002, column 'mean': found 'x'; expected a number. Fix or drop that row."
    )
    assert forecasts.source.size() == len(rows) + 17


def test_a_separator_can_be_named():
    stream = io.BytesIO(b"y\tmean\tstd\n1,5\t2,5\t3\n")
    forecasts = open_stream(stream, separator="\t", decimal=",")
    np.testing.assert_array_equal(next(forecasts.chunks()).y, [1.5])


@pytest.mark.parametrize(
    "stream, message",
    [
        (io.BytesIO(b""), "the stream is empty; expected rows of forecasts and outcomes."),
        (io.BytesIO(b"PAR1..."), "the stream holds Parquet; expected CSV. Name the file itself."),
        (
            io.BytesIO(b"\x1f\x8b\x08"),
            (
                "the stream holds compressed data; expected CSV. Unpack it on the way, such as "
                "with gunzip -c."
            ),
        ),
        (
            io.BytesIO(b"y\tmean\n1\t2\n"),
            "the stream has its columns separated by tab, not by commas. Use separator='\\t'.",
        ),
        (Broken(), "cannot read the stream: Input/output error."),
    ],
)
def test_streams_that_cannot_be_read(stream, message):
    with pytest.raises(FileError) as caught:
        open_stream(stream)
    assert str(caught.value) == message


def test_an_endless_row_does_not_fill_the_disk(monkeypatch):
    class Endless(io.RawIOBase):
        read_so_far = 0

        def read(self, size=-1):
            self.read_so_far += size
            return b"y" * size

    monkeypatch.setattr(_spool, "LONGEST_ROW", 1000)
    stream = Endless()
    with pytest.raises(FileError) as caught:
        open_stream(stream)
    assert stream.read_so_far == _spool._BLOCK
    assert str(caught.value) == (
        "the stream has a row that is longer than 1,000 characters, the limit of text files. Is it "
        "a table?"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk(monkeypatch):
    monkeypatch.setattr(
        "tempfile.TemporaryFile",
        lambda buffering: Path("/dev/full").open("wb", buffering),  # noqa: SIM115
    )
    monkeypatch.setattr("tempfile.tempdir", "/scratch")
    with pytest.raises(FileError) as caught:
        open_stream(io.BytesIO(b"y,mean\n1,2\n"))
    assert str(caught.value) == (
        "cannot copy the stream to /scratch, where it is kept while it is read: the disk is full. "
        "Set TMPDIR to a folder with room, or write a file first and name it."
    )


def test_a_folder_is_not_written_to_a_stream(tmp_path):
    (tmp_path / "past").mkdir()
    csv.write_csv(pa.table({"mean": [1.0], "std": [1.0]}), tmp_path / "past" / "a.csv")
    R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    with pytest.raises(FileError) as caught:
        tl.files.apply(R, tmp_path / "past", io.BytesIO())
    assert str(caught.value) == (
        f"{tmp_path / 'past'} holds several files, which are written to a folder and not to a "
        f"stream. Name a folder with out."
    )
