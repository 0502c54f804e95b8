"""Limits are named before memory is spent; what is below them can be read."""

import bz2
import csv
import gzip
import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import trueline as tl
from trueline.files import Columns, FileError, _limits, _text


def message_of(path, **options):
    with pytest.raises(FileError) as caught:
        tl.files.evaluate(path, **options)
    return str(caught.value).replace(str(path), path.name)


@pytest.fixture
def small(monkeypatch):
    """Lower limits, so that small files reach them."""
    monkeypatch.setattr(_limits, "_SMALL", 1 << 20)
    for module in (_limits, _text):
        monkeypatch.setattr(module, "MOST_COLUMNS", 1_000)
        monkeypatch.setattr(module, "MOST_BLANK", 1_000)
        monkeypatch.setattr(module, "LONGEST_ROW", 1 << 16)
    monkeypatch.setattr(_text, "_SMALLEST_BLOCK", 1 << 11)
    monkeypatch.setattr(_text, "_LARGEST_BLOCK", 1 << 17)


def test_thirty_thousand_draws_in_rows_above_half_a_megabyte(tmp_path):
    draws = np.random.default_rng(0).normal(size=(3, 30_000)).round(17)
    names = [f"sample_{i}" for i in range(draws.shape[1])]
    rows = "".join(f"{y}," + ",".join(map(str, row.tolist())) + "\n" for y, row in enumerate(draws))
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["y", *names]) + "\n" + rows)
    assert len(rows) / 3 > 1 << 19
    found = tl.files.evaluate(path).overall
    assert found.crps == tl.evaluate([0.0, 1.0, 2.0], tl.Samples(draws)).crps


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_rows_that_outgrow_the_blocks_are_read_once_each(tmp_path, ending):
    # Long cells in every hundredth row, the longest last; blank lines and quotes in between.
    y = np.arange(5_000.0)
    notes = ["x" * (20 * i) if i % 100 == 0 else "" for i in range(len(y) - 1)]
    notes.append('"' + "long\n" * 13_000 + '"')
    lines = [f"{value},0.5,1,{note}\n" for value, note in zip(y, notes, strict=True)]
    text = "y,mean,std,note\n" + "\n".join(lines)
    path = tmp_path / f"a{ending}"
    path.write_bytes(text.encode() if ending == ".csv" else gzip.compress(text.encode()))
    found = [chunk.y for chunk in tl.files.open_forecasts(path).chunks()]
    np.testing.assert_array_equal(np.concatenate(found), y)
    limit = csv.field_size_limit()
    assert message_of(path, columns=Columns(mean="note")).startswith(f"a{ending}, line 2, column")
    assert csv.field_size_limit() == limit  # it belongs to the whole process


LONG = (
    "the row is longer than 65,536 characters, the limit of text files. Is a quote not closed? "
    "Otherwise leave out the long column, or write the file as Parquet."
)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "text, message",
    [
        ("x" * 70_000, f"a.csv, line 1: {LONG}"),
        ("y,mean,std\n1,2," + "3" * 70_000, f"a.csv, line 2: {LONG}"),
        ('y,mean,std\n1,2,3\n4,5,"6\n' + "1,2,3\n" * 40_000, f"a.csv, line 3: {LONG}"),
        ("y,mean,n\n" + "1,2,3\n" * 9_000 + "1,2," + "x" * 300_000, f"a.csv, line 9002: {LONG}"),
        (
            "y,mean," + ",".join(map(str, range(1_000))),
            (
                "a.csv has more than 1,000 columns, the limit of files. Keep fewer draws, or write "
                "quantiles of them."
            ),
        ),
        (
            "y,mean," + "x" * 1_001 + "\n1,2,3\n",
            (
                "a.csv has a column whose name has 1,001 characters, and starts with "
                "'xxxxxxxxxxxxxxxxxxxx'; expected at most 1,000. Is its first line the names of "
                "the columns?"
            ),
        ),
        (
            "y,mean\n" + "\n" * 1_002,
            (
                "a.csv, line 1002: found more than 1,000 blank lines, the limit of text files. "
                "Delete them."
            ),
        ),
    ],
)
def test_text_beyond_a_limit(text, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert message_of(path) == message


def arrow(table, compression, **options):
    """Return a table in the format of Arrow, in one batch."""
    content = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression, **options)
    with pa.ipc.new_file(content, table.schema, options=options) as writer:
        writer.write_table(table)
    return content.getvalue()


def bombs():
    """Return files that unpack to 2 MB and more, and how to go on."""
    rows = b"y,mean,std\n" + b"1,2,3\n" * 350_000
    table = pa.table({name: np.ones(350_000) for name in ("y", "mean", "std")})
    words = pa.table({"y": [1.0], "mean": [1.0], "g": ["x" * 2_000_000]})
    content = io.BytesIO()
    parquet.write_table(table, content, compression="zstd", use_dictionary=False)
    yield "a.csv.gz", gzip.compress(rows), "unpack it first: gunzip a.csv.gz"
    yield "a.csv.bz2", bz2.compress(rows), "unpack it first: bunzip2 a.csv.bz2"
    yield "a.csv.zst", pa.compress(rows, "zstd", asbytes=True), "unpack it first: unzstd a.csv.zst"
    again = "write it again without compression"
    yield "a.arrow", arrow(table, "zstd"), again
    words = words.set_column(2, "g", words["g"].dictionary_encode())
    yield "a.feather", arrow(words, "zstd"), again
    yield "a.parquet", content.getvalue(), again


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name, content, remedy", [*bombs()], ids=[name for name, *_ in bombs()])
def test_what_unpacks_to_far_too_much(name, content, remedy, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    assert message_of(path) == (
        f"{name} unpacks to more than 200 times its size, the limit of compressed files. If it is "
        f"what you expect, {remedy}."
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_arrow_below_the_limit(legacy, compression, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=100_000) for name in ("y", "mean")})
    (tmp_path / "a.arrow").write_bytes(arrow(table, compression, use_legacy_format=legacy))
    assert tl.files.evaluate(tmp_path / "a.arrow").overall.n == 100_000


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_one_flipped_bit_in_arrow_is_read_or_refused(stream, compression, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"y": rng.normal(size=20), "mean": rng.normal(size=20), "g": ["süd"] * 20})
    made = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with new(made, table.schema, options=options) as writer:
        writer.write_table(table)
    path = tmp_path / "a.arrow"
    refused = 0
    for _ in range(150):
        content = bytearray(made.getvalue())
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        try:
            tl.files.fit(path, columns=Columns(group="g", kind="point"), n_jobs=1)
        except FileError:
            refused += 1
    assert 30 < refused < 140


@pytest.mark.usefixtures("small")
def test_other_faults_do_not_enlarge_the_blocks(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("y,mean,std\n" + "1,2,3\n" * 5_000 + "1,2\n")
    sizes = []
    blocks = _text.Text._blocks
    monkeypatch.setattr(
        _text.Text, "_blocks", lambda self, names: sizes.append(self._block) or blocks(self, names)
    )
    assert message_of(path).startswith("a.csv, line 5002: found 2 values, but the header names 3")
    assert set(sizes) == {1 << 11}
