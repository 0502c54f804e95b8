"""Every mistake in a file has its own message, with the place of it."""

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import trueline as tl
from trueline.files import Columns, FileError


def message_of(path, **options):
    with pytest.raises(FileError) as caught:
        tl.files.fit(path, **options)
    text = str(caught.value)
    assert str(path) in text
    return text.replace(str(path), path.name)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "f.csv is empty; expected rows of forecasts and outcomes."),
        (b"\n\n", "f.csv is empty; expected a line with the names of the columns."),
        (b"y,mean\n", "f.csv holds the names of columns but no rows; expected rows."),
        (b"y,mean", "f.csv holds the names of columns but no rows; expected rows."),
        (
            b"y,mean\n1,2\n3,abc\n",
            "f.csv, line 3, column 'mean': found 'abc'; expected a number. Fix or drop that row.",
        ),
        (
            b'y,mean,note\n1,2,"two\nlines"\n\n3,"1,5",\n',
            (
                "f.csv, line 5, column 'mean': found '1,5'; expected a number. It looks like a "
                "decimal comma: read the file with decimal=',', or write it with decimal points "
                '(pandas reads commas with decimal=",").'
            ),
        ),
        (
            b'y,mean\n1,"1,234,567"\n',
            (
                "f.csv, line 2, column 'mean': found '1,234,567'; expected a number. Fix or drop "
                "that row, or name another column if all rows are like it."
            ),
        ),
        (
            b"y,mean\n1,2\n3,\n",
            (
                "f.csv, line 3, column 'mean': the value is missing; expected a number. Drop that "
                "row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            b"y,mean\nNA,2\n",
            (
                "f.csv, line 2, column 'y': the value is missing (NA); expected a number. Drop "
                "that row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            b"y,mean\n1,2\n1,nan\n",
            (
                "f.csv, line 3, column 'mean': the value is missing (nan); expected a number. Drop "
                "that row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            b"y,mean\n1,2\n-inf,2\n",
            (
                "f.csv, line 3, column 'y': found -inf; expected a finite number. Fix or drop "
                "that row."
            ),
        ),
        (
            b"y,mean,std\n1,2,3\n1,2,0\n",
            (
                "f.csv, line 3, column 'std': found 0; expected a number above 0. A forecast "
                "without spread is a point forecast (Columns(kind='point')); otherwise add the "
                "noise that "
                "it leaves out."
            ),
        ),
        (
            b"y,mean,std\n1,2,-0.5\n",
            (
                "f.csv, line 2, column 'std': found -0.5; expected a number above 0. A standard "
                "deviation is never negative; is this the logarithm of one?"
            ),
        ),
        (
            b"y;mean;std\n1;2;3\n",
            "f.csv has its columns separated by ';', not by commas. Use separator=';'.",
        ),
        (
            b"y\tmean\n1\t2\n",
            "f.csv has its columns separated by tab, not by commas. Use separator='\\t'.",
        ),
        (
            b"y|mean|std\n1|2|3\n",
            "f.csv has its columns separated by '|', not by commas. Use separator='|'.",
        ),
        (
            b"1,2,3\n4,5,6\n",
            (
                "f.csv starts with numbers; expected a first line with the names of the columns, "
                "such as y,mean,std."
            ),
        ),
        (
            b"y,mean,mean\n1,2,3\n",
            "f.csv has two columns named 'mean'; expected every name once. Rename one.",
        ),
        (
            b"y,mean\n1,2\n3\n",
            (
                "f.csv, line 3: found 1 values, but the header names 2 columns. Fix that line; a "
                'value that holds the separator needs quotes: "...".'
            ),
        ),
        (
            b"y,mean\n1,2,3\n",
            (
                "f.csv, line 2: found 3 values, but the header names 2 columns. Fix that line; a "
                'value that holds the separator needs quotes: "...".'
            ),
        ),
        (
            b"y,mean,note\n1,2,a\n1,2,\xe9\n",
            "f.csv, line 3: found bytes that are not UTF-8 text. Save the file as UTF-8.",
        ),
        (
            "y,mean\n1,2\n".encode("utf-16"),
            "f.csv, line 1: found bytes that are not UTF-8 text. Save the file as UTF-8.",
        ),
    ],
)
def test_text_files(content, message, tmp_path):
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    columns = Columns(group="note" if b"\xe9" in content else None)
    assert message_of(path, columns=columns) == message


def test_the_line_is_right_far_into_a_file(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean\n" + "1,2\n" * 100_000 + "\n" + "1,2\n" * 50_000 + "1,oops\n")
    assert message_of(path).startswith("f.csv, line 150003, column 'mean': found 'oops'")


def test_long_text_is_shortened(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean\n1," + "x" * 1000 + "\n")
    assert message_of(path).startswith(f"f.csv, line 2, column 'mean': found '{'x' * 37}...';")


def table_file(tmp_path, **columns):
    path = tmp_path / "f.parquet"
    given = {"y": [1.0, 2.0], "mean": [1.0, 2.0], **columns}
    parquet.write_table(pa.table(given), path)
    return path


@pytest.mark.parametrize(
    "columns, asked, message",
    [
        (
            {"y": ["1", "abc"]},
            {},
            "f.parquet, row 2, column 'y': found 'abc'; expected a number. Fix or drop that row.",
        ),
        (
            {"y": [1.0, None]},
            {},
            (
                "f.parquet, row 2, column 'y': the value is missing; expected a number. Drop that "
                "row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            {"y": [float("nan"), 1.0]},
            {},
            (
                "f.parquet, row 1, column 'y': the value is missing (nan); expected a number. Drop "
                "that row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            {"y": pa.nulls(2)},
            {},
            (
                "f.parquet, row 1, column 'y': the value is missing; expected a number. Drop that "
                "row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            {"y": [True, False]},
            {},
            "f.parquet, column 'y' is of type bool; expected numbers. Convert it first.",
        ),
        (
            {"y": pa.array([1, 2], pa.timestamp("ms"))},
            {},
            "f.parquet, column 'y' is of type timestamp[ms]; expected numbers. Convert it first.",
        ),
        (
            {"y": [1, 2**53 + 1]},
            {},
            (
                "f.parquet, column 'y' holds integers beyond 2**53, which float64 cannot hold "
                "exactly. Subtract an offset or change the unit first."
            ),
        ),
        (
            {"w": [1.0, -1.0]},
            {"weight": "w"},
            (
                "f.parquet, row 2, column 'w': found -1; expected a weight of 0 or more. Fix or "
                "drop that row."
            ),
        ),
        (
            {"w": [0.0, 0.0]},
            {"weight": "w"},
            "f.parquet, column 'w' is 0 in every row; expected a weight above 0 in at least one.",
        ),
        (
            {"g": ["a", None]},
            {"group": "g"},
            (
                "f.parquet, row 2, column 'g': the group is missing; expected a name. Drop that "
                "row or give it a name."
            ),
        ),
        (
            {"g": [True, False]},
            {"group": "g"},
            "f.parquet, column 'g' is of type bool; expected text or numbers that name the groups.",
        ),
    ],
)
def test_typed_files(columns, asked, message, tmp_path):
    assert message_of(table_file(tmp_path, **columns), columns=Columns(**asked)) == message


def test_numbers_of_every_type_are_read(tmp_path):
    for values in (
        pa.array([1, 2], pa.int8()),
        pa.array([1, 2], pa.uint64()),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array(np.array([1, 2], np.float16)),
        pa.array([1, 2]).cast(pa.decimal128(21, 2)),
        pa.array(["1", " 2 "]),
        pa.array(["1", "2"], pa.large_string()),
        pa.array(["1", "2"]).dictionary_encode(),
    ):
        R = tl.files.fit(table_file(tmp_path, y=values, mean=[0.0, 0.0]))
        np.testing.assert_array_equal(R.scores_.values, [1.0, 2.0])


def test_a_parquet_file_without_rows(tmp_path):
    path = table_file(tmp_path, y=pa.array([], pa.float64()), mean=pa.array([], pa.float64()))
    assert message_of(path) == ("f.parquet holds the names of columns but no rows; expected rows.")


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".csv.gz"])
def test_a_file_that_is_not_what_its_ending_says(ending, tmp_path):
    path = tmp_path / f"f{ending}"
    path.write_bytes(b"this is no such file")
    text = message_of(path)
    assert text.startswith(f"f{ending} is damaged or not what its ending says: ")
    assert text.endswith(" Write it again.")


def test_a_parquet_file_cut_short(tmp_path):
    path = tmp_path / "f.parquet"
    n = 100_000
    numbers = np.random.default_rng(0).normal(size=n)
    parquet.write_table(pa.table({"y": numbers, "mean": numbers}), path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert message_of(path).startswith("f.parquet is damaged or not what its ending says: ")
    # The end is there, but not what it points to.
    path.write_bytes(data[:4] + bytes(len(data) // 2) + data[4 + len(data) // 2 :])
    assert message_of(path).startswith("f.parquet is damaged or not what its ending says: ")


def test_an_arrow_stream_is_read_too(tmp_path):
    path = tmp_path / "f.arrow"
    table = pa.table({"y": [1.0, 3.0], "mean": [0.0, 0.0]})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    np.testing.assert_array_equal(tl.files.fit(path).scores_.values, [1.0, 3.0])


@pytest.mark.parametrize(
    "name, message",
    [
        ("past.cvs", "there is no file past.cvs. Did you mean 'past.csv'?"),
        ("future.csv", "there is no file future.csv."),
        ("sheet.xlsx", ("sheet.xlsx ends in .xlsx; expected a file that ends in .csv, .tsv, "
         ".parquet, .arrow or .feather. Save the sheet as CSV first.")),
        ("plain", ("plain has no ending; expected a file that ends in .csv, .tsv, .parquet, .arrow "
         "or .feather.")),
        ("packed.parquet.gz", ("packed.parquet.gz ends in .gz; expected a file that ends in .csv, "
         ".tsv, .parquet, .arrow or .feather.")),
        ("folder", ("folder holds no files of forecasts; expected files that end in .parquet, "
         ".csv, .tsv, .arrow or .feather, in it or in its subfolders.")),
        ("nowhere/past.csv", ("there is no file nowhere/past.csv. There is no folder nowhere "
         "either.")),
    ],
)  # fmt: skip
def test_names_of_files(name, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for there in ("past.csv", "sheet.xlsx", "plain", "packed.parquet.gz"):
        (tmp_path / there).write_text("y,mean\n1,2\n")
    with pytest.raises(FileError) as caught:
        tl.files.fit(name)
    assert str(caught.value) == message


def test_a_file_that_may_not_be_read(monkeypatch, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean\n1,2\n")
    real = type(path).open

    def refuse(self, *args, **kwargs):
        if self == path:
            raise PermissionError(13, os.strerror(13))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(type(path), "open", refuse)
    assert message_of(path) == "f.csv may not be read. Change its permissions, or copy it."


def test_a_separator_for_a_file_without_one(tmp_path):
    assert message_of(table_file(tmp_path), separator=";") == (
        "f.parquet is not a text file and takes no separator. Leave that out."
    )


def test_tabs_where_there_are_commas(tmp_path):
    path = tmp_path / "f.tsv"
    path.write_text("y,mean\n1,2\n")
    assert message_of(path) == (
        "f.tsv has its columns separated by ',', not by tabs. Use separator=','."
    )


def test_a_decimal_comma_for_a_file_with_types(tmp_path):
    assert message_of(table_file(tmp_path), decimal=",") == (
        "f.parquet is not a text file and takes no decimal. Leave that out."
    )


def test_another_decimal_sign(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean\n1,2\n")
    with pytest.raises(FileError, match=r"^the decimal character is '_'; expected ',' or '\.'\.$"):
        tl.files.fit(path, decimal="_")


def test_a_point_beside_decimal_commas(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y;mean\n1,5;2\n1.234;5\n")
    assert message_of(path, separator=";", decimal=",") == (
        "f.csv, line 3, column 'y': found '1.234'; expected a number with a decimal comma and no "
        "point. Leave out decimal if it is a decimal point; take out the points between "
        "thousands."
    )


def test_pyarrow_is_asked_for_where_it_is_missing(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "f.csv"
    path.write_text("y,mean\n1,2\n")
    with pytest.raises(ImportError) as caught:
        tl.files.fit(path)
    assert str(caught.value) == (
        "reading or writing files needs pyarrow, which cannot be imported (import of pyarrow "
        'halted; None in sys.modules). Install it with: pip install "pyarrow>=17"'
    )


def test_arguments_that_are_something_else(tmp_path):
    past, out = tmp_path / "past.csv", tmp_path / "out.csv"
    past.write_text("y,mean,std\n1,2,3\n2,2,4\n")
    R = tl.files.fit(past)
    columns = r"^columns is \{'y': 'y'\}; expected Columns, such as trueline\.files\.Columns\("
    given = {"y": "y"}
    for call in (
        lambda: tl.files.fit(past, columns=given),
        lambda: tl.files.apply(R, past, out, columns=given),
        lambda: tl.files.evaluate(past, columns=given),
    ):
        with pytest.raises(TypeError, match=columns):
            call()
    for call in (
        lambda: tl.files.apply("map.json", past, out),
        lambda: tl.files.evaluate(past, "map.json"),
    ):
        with pytest.raises(TypeError, match=r"^recalibrator is 'map\.json'; expected a fitted"):
            call()
    with pytest.raises(TypeError, match=r"^recalibrator is 'isotonic'; expected a recalibrator"):
        tl.files.fit(past, "isotonic")
    for wrong in (R, [past, R], b"past.csv", 3):
        with pytest.raises(TypeError, match=r"^path is .*; expected the name of a file or folder"):
            tl.files.fit(wrong, past)
    assert not out.exists()


def test_a_column_whose_first_row_is_no_number_may_be_the_wrong_one(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("y,mean,region\n1,2,calm\n2,2,wild\n")
    assert message_of(path, columns=Columns(weight="region")) == (
        "past.csv, line 2, column 'region': found 'calm'; expected a number. Fix or drop that "
        "row, or name another column if all rows are like it."
    )
