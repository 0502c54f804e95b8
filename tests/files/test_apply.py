"""Files written by a map hold what the map says in Python."""

import csv as standard_csv
import errno
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trueline as tl
from tests.files.cases import ENDINGS, make_case
from trueline import _files, _partial
from trueline.files import Columns, FileError
from trueline.files._apply import AddedColumns


def read(path):
    if path.suffix in (".csv", ".tsv"):
        return csv.read_csv(
            path, parse_options=csv.ParseOptions(delimiter="," if path.suffix == ".csv" else "\t")
        )
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    return pa.ipc.open_file(path).read_all()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("to", ENDINGS)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.usefixtures("small_chunks")
def test_columns_are_those_of_the_map_in_python(ending, to, tmp_path):
    case = make_case("normal")
    file, out = case.write(tmp_path / f"new{ending}"), tmp_path / f"out{to}"
    R = tl.Isotonic().fit(case.y, case.dist)
    rows = tl.files.apply(R, file, out, coverage=[0.9, 0.5], quantiles=[0.1, 0.5], moments=True)
    assert rows == 5000
    table, G = read(out), R.transform(case.dist)
    assert table.column_names == [
        *case.table.column_names,
        *("lower_0.9", "upper_0.9", "lower_0.5", "upper_0.5", "q0.1", "q0.5"),
        *("recalibrated_mean", "recalibrated_std"),
    ]
    expected = [*G.interval(0.9), *G.interval(0.5), G.ppf(0.1), G.ppf(0.5), G.mean(), G.std()]
    for name, values in zip(table.column_names[-8:], expected, strict=True):
        np.testing.assert_array_equal(table[name].to_numpy(), values, err_msg=name)
    for name in ("y", "mean", "std", "weight"):
        np.testing.assert_array_equal(table[name].to_numpy(), case.table[name].to_numpy())
    assert table["region"].to_pylist() == case.table["region"].to_pylist()


@pytest.mark.usefixtures("small_chunks")
def test_every_kind_of_forecast(case, tmp_path):
    file, out = case.write(tmp_path / "new.parquet"), tmp_path / "out.parquet"
    R = tl.Isotonic().fit(case.y, case.dist)
    tl.files.apply(R, file, out, quantiles=[0.37])
    expected = R.transform(case.dist).ppf(0.37)
    np.testing.assert_allclose(read(out)["q0.37"].to_numpy(), expected, rtol=1e-14)


def test_isotonic_laws_of_a_document(normal, tmp_path):
    file, out = normal.write(tmp_path / "new.csv"), tmp_path / "out.csv"
    R = tl.IDR().fit(normal.y, normal.dist)
    R.to_json(tmp_path / "map.json")
    tl.files.apply(tl.load(tmp_path / "map.json"), file, out, quantiles=[0.37])
    expected = R.transform(normal.dist).ppf(0.37)
    np.testing.assert_array_equal(read(out)["q0.37"].to_numpy(), expected)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.usefixtures("small_chunks")
def test_groups(normal, ending, tmp_path):
    file, out = normal.write(tmp_path / f"new{ending}"), tmp_path / f"out{ending}"
    R = tl.Grouped().fit(normal.y, normal.dist, groups=normal.groups)
    tl.files.apply(R, file, out, columns=Columns(group="region"))
    lower, upper = R.transform(normal.dist, groups=normal.groups).interval(0.9)
    np.testing.assert_array_equal(read(out)["lower_0.9"].to_numpy(), lower)
    np.testing.assert_array_equal(read(out)["upper_0.9"].to_numpy(), upper)


@pytest.mark.usefixtures("small_chunks")
def test_groups_that_the_map_does_not_know_get_the_pooled_map(normal, tmp_path):
    known = normal.groups != "south"
    R = tl.Grouped().fit(normal.y[known], normal.dist[known], groups=normal.groups[known])
    file, out = normal.write(tmp_path / "new.csv"), tmp_path / "out.parquet"
    with pytest.warns(tl.CalibrationWarning) as caught:
        tl.files.apply(R, file, out, columns=Columns(group="region"))
    assert [str(w.message) for w in caught] == [
        (
            "1 of 3 groups were not there when the map was fitted and get the pooled map: 'south'. "
            "Its intervals hold on average over groups, but not for each group."
        )
    ]
    pooled = tl.Isotonic().fit(normal.y[known], normal.dist[known]).transform(normal.dist[~known])
    np.testing.assert_array_equal(
        read(out)["lower_0.9"].to_numpy()[~known], pooled.interval(0.9)[0]
    )


@pytest.mark.parametrize("numbers_first", [True, False])
def test_a_group_may_be_a_number_in_one_file_and_text_in_another(numbers_first, tmp_path):
    rng = np.random.default_rng(0)
    y, codes = rng.normal(size=300), np.arange(300) % 3
    table = pa.table({"y": y, "mean": np.zeros(300), "g": codes})
    parquet.write_table(table, tmp_path / "numbers.parquet")
    csv.write_csv(table, tmp_path / "text.csv")
    files = [tmp_path / "numbers.parquet", tmp_path / "text.csv"]
    first, second = files if numbers_first else files[::-1]
    R = tl.files.fit(first, columns=Columns(group="g"))
    tl.files.apply(R, second, tmp_path / "out.parquet", columns=Columns(group="g"))
    expected = tl.Grouped().fit(y, tl.Point(np.zeros(300)), groups=codes)
    np.testing.assert_array_equal(
        read(tmp_path / "out.parquet")["lower_0.9"].to_numpy(),
        expected.transform(tl.Point(np.zeros(300)), groups=codes).interval(0.9)[0],
    )


R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))


def test_text_stays_as_it_is(tmp_path):
    text = (
        "id,note,mean,std,when\n"
        '007,"a, b",1.50,1e0,2020-01-01\n'
        '008,"he said ""no""",  2,1,\n'
        '009,"two\nlines",3,1.0,x\n'
        ",é ü,4,01,y\n"
    )
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    tl.files.apply(R, tmp_path / "new.csv", tmp_path / "out.csv", quantiles=[0.5])
    written = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert written == (
        "id,note,mean,std,when,q0.5\n"
        '007,"a, b",1.50,1e0,2020-01-01,1.5\n'
        '008,"he said ""no""",  2,1,,2\n'
        '009,"two\nlines",3,1.0,x,3\n'
        ",é ü,4,01,y,4\n"
    )


def test_names_of_columns_are_quoted_where_they_must_be(tmp_path):
    (tmp_path / "new.csv").write_text('"a,b",mean\n1,2\n')
    point = tl.Scaling().fit([-1.0, 1.0], tl.Point([0.0, 0.0]))
    tl.files.apply(point, tmp_path / "new.csv", tmp_path / "out.csv", quantiles=[0.5])
    rows = list(standard_csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows == [["a,b", "mean", "q0.5"], ["1", "2", "2"]]


def test_other_separators_line_ends_and_packing(tmp_path):
    import gzip

    expected = "y,mean,std,q0.5\n1,2,3,2\n4,5,6,5\n"
    cases = {
        "bom.csv": b"\xef\xbb\xbfy,mean,std\r\n1,2,3\r\n4,5,6\r\n",
        "packed.csv.gz": gzip.compress(b"y,mean,std\n1,2,3\n4,5,6\n"),
        "blank.csv": b"y,mean,std\n\n1,2,3\n\n\n4,5,6\n\n",
        "unended.csv": b"y,mean,std\n1,2,3\n4,5,6",
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        tl.files.apply(R, tmp_path / name, tmp_path / "out.csv", quantiles=[0.5], force=True)
        assert (tmp_path / "out.csv").read_text() == expected, name
    (tmp_path / "semicolon.csv").write_bytes(b"y;mean;std\n1;2;3\n4;5;6\n")
    file, out = tmp_path / "semicolon.csv", tmp_path / "out.csv"
    tl.files.apply(R, file, out, separator=";", quantiles=[0.5], force=True)
    assert out.read_text() == expected


@pytest.mark.usefixtures("small_chunks")
def test_text_becomes_typed_where_the_format_has_types(tmp_path):
    n = 3000
    rows = [
        f"{i},{i}{'.5' if i > 2500 else ''},{i if i < 2900 else 'x'},0{i},,1,1" for i in range(n)
    ]
    (tmp_path / "new.csv").write_text("whole,number,text,zeros,none,mean,std\n" + "\n".join(rows))
    tl.files.apply(R, tmp_path / "new.csv", tmp_path / "out.parquet")
    table = read(tmp_path / "out.parquet")
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types == {
        "whole": "int64",
        "number": "double",
        "text": "string",
        "zeros": "string",
        "none": "int64",
        "mean": "int64",
        "std": "int64",
        "lower_0.9": "double",
        "upper_0.9": "double",
    }
    assert table["text"].to_pylist()[-101:-98] == ["2899", "x", "x"]
    assert table["number"].to_pylist()[2500:2502] == [2500.0, 2501.5]
    assert table["none"].null_count == n


def test_types_and_metadata_stay(tmp_path):
    table = pa.table(
        {
            "when": pa.array([1, 2], pa.timestamp("s")),
            "tags": pa.array([["a"], []]),
            "mean": pa.array([1.0, 2.0], pa.float32()),
            "std": pa.array([1, 2], pa.int8()),
            "kind": pa.array(["x", "y"]).dictionary_encode(),
        }
    ).replace_schema_metadata({"made": "here"})
    parquet.write_table(table, tmp_path / "new.parquet")
    tl.files.apply(R, tmp_path / "new.parquet", tmp_path / "out.parquet", quantiles=[0.5])
    out = read(tmp_path / "out.parquet")
    assert out.select(table.column_names).equals(read(tmp_path / "new.parquet"))
    assert out.schema.metadata[b"made"] == b"here"
    with pytest.raises(FileError) as caught:
        tl.files.apply(R, tmp_path / "new.parquet", tmp_path / "out.csv")
    assert str(caught.value) == (
        "column 'tags' is of type list<element: string>, which text cannot hold. Write Parquet or "
        "Arrow instead: out with an ending of .parquet or .arrow."
    )
    assert names_in(tmp_path) == ["new.parquet", "out.parquet"]


def test_missing_values_in_columns_of_no_concern(tmp_path):
    table = pa.table({"y": [1.0, None], "mean": [1.0, 2.0], "std": [1.0, 1.0]})
    parquet.write_table(table, tmp_path / "new.parquet")
    tl.files.apply(R, tmp_path / "new.parquet", tmp_path / "out.csv", quantiles=[0.5])
    assert (tmp_path / "out.csv").read_text() == "y,mean,std,q0.5\n1,1,1,1\n,2,1,2\n"


def test_a_level_that_lacks_support_warns_once(tmp_path):
    case = make_case("normal", n=50)
    file = case.write(tmp_path / "new.csv")
    small = tl.Isotonic().fit(case.y[:10], case.dist[:10])
    with pytest.warns(tl.CalibrationWarning, match="Fit on at least 19 rows") as caught:
        tl.files.apply(small, file, tmp_path / "out.csv")
    assert len(caught) == 1


# ---- whole or not at all -------------------------------------------------------------


@pytest.fixture
def new(tmp_path):
    (tmp_path / "new.csv").write_text("mean,std\n" + "1,2\n" * 3000)
    return tmp_path / "new.csv"


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_error_in_the_middle_leaves_nothing(ending, tmp_path):
    (tmp_path / "new.csv").write_text("mean,std\n" + "1,2\n" * 70_000 + "1,oops\n")
    with pytest.raises(FileError, match="line 70002, column 'std': found 'oops'"):
        tl.files.apply(R, tmp_path / "new.csv", tmp_path / f"out{ending}")
    assert names_in(tmp_path) == ["new.csv"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing(new, ending, code, monkeypatch, tmp_path):
    real = os.fdopen

    def full(*args, **kwargs):
        file = real(*args, **kwargs)

        class Full:
            def __getattr__(self, name):
                return getattr(file, name)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, data):
                raise OSError(code, os.strerror(code))

        return Full()

    monkeypatch.setattr(_files.os, "fdopen", full)
    out = tmp_path / f"out{ending}"
    with pytest.raises(FileError) as caught:
        tl.files.apply(R, new, out)
    assert str(caught.value) == (
        f"cannot write {out}: the disk is full. Nothing was left behind; make room, or write to "
        f"another disk."
    )
    assert names_in(tmp_path) == ["new.csv"]


def test_any_other_fault_of_the_disk_is_told(new, monkeypatch, tmp_path):
    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(_files.os, "fsync", fail)
    with pytest.raises(FileError) as caught:
        tl.files.apply(R, new, tmp_path / "out.csv")
    start = f"cannot write {tmp_path / 'out.csv'}: Input/output error."
    assert str(caught.value).startswith(start)
    assert names_in(tmp_path) == ["new.csv"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_interrupt_leaves_nothing(new, ending, tmp_path):
    def interrupt(rows, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tl.files.apply(R, new, tmp_path / f"out{ending}", progress=interrupt)
    assert names_in(tmp_path) == ["new.csv"]


def test_a_file_that_is_there_stays_unless_forced(new, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    with pytest.raises(FileError, match=r"is there already\. Replace it with force=True"):
        tl.files.apply(R, new, out)
    assert out.read_text() == "precious"
    tl.files.apply(R, new, out, force=True)
    assert out.read_text().startswith("mean,std,lower_0.9,upper_0.9\n1,2,")


def test_a_file_can_be_replaced_by_itself(new):
    tl.files.apply(R, new, new, force=True)
    assert new.read_text().startswith("mean,std,lower_0.9,upper_0.9\n1,2,")
    assert new.read_text().count("\n") == 3001


def test_the_file_has_the_mode_of_any_new_file(new, tmp_path):
    tl.files.apply(R, new, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").stat().st_mode == new.stat().st_mode


def test_a_folder_that_may_not_be_written_to(new, monkeypatch, tmp_path):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(_partial.os, "open", refuse)
    with pytest.raises(FileError) as caught:
        tl.files.apply(R, new, tmp_path / "out.csv")
    assert str(caught.value) == (
        f"cannot write {tmp_path / 'out.csv'}: the folder may not be written to. Name another "
        f"with out."
    )


def test_the_map_counts_unknown_groups_anew_when_types_widen(tmp_path):
    case = make_case("normal", n=100)
    grouped = tl.Grouped().fit(case.y, case.dist, groups=np.arange(100) % 2)
    rows = "".join(f"{i if i < 66_000 else 'x'},1,1,{2 + i % 2}\n" for i in range(66_001))
    (tmp_path / "new.csv").write_text("note,mean,std,g\n" + rows)
    with pytest.warns(tl.CalibrationWarning) as caught:
        tl.files.apply(
            grouped, tmp_path / "new.csv", tmp_path / "o.parquet", columns=Columns(group="g")
        )
    assert [str(w.message) for w in caught] == [
        (
            "2 of 2 groups were not there when the map was fitted and get the pooled map: 2, 3. "
            "Its intervals hold on average over groups, but not for each group."
        )
    ]


def test_one_level_may_stand_alone(tmp_path):
    assert AddedColumns(0.5, 0.1, False, "").names == ["lower_0.5", "upper_0.5", "q0.1"]
    assert AddedColumns(np.float64(0.5), np.array([0.1]), False, "").names[-1] == "q0.1"
    (tmp_path / "new.csv").write_text("mean,std\n1,2\n")
    tl.files.apply(R, tmp_path / "new.csv", tmp_path / "out.csv", coverage=0.5)
    assert (tmp_path / "out.csv").read_text().startswith("mean,std,lower_0.5,upper_0.5\n")


def test_default_is_the_ninety_percent_interval():
    assert AddedColumns((), (), False, "").names == ["lower_0.9", "upper_0.9"]
    assert AddedColumns((), (), True, "").names == ["recalibrated_mean", "recalibrated_std"]
    assert AddedColumns((0.9, 0.90), (), False, "new_").names == ["new_lower_0.9", "new_upper_0.9"]


def test_an_online_map_is_applied_as_it_stands(tmp_path):
    case = make_case("normal")
    file, out = case.write(tmp_path / "new.csv"), tmp_path / "out.parquet"
    R = tl.Online().fit(case.y, case.dist)
    tl.files.apply(R, file, out)
    lower, upper = R.transform(case.dist).interval(0.9)
    written = parquet.read_table(out)
    np.testing.assert_array_equal(written["lower_0.9"].to_numpy(), lower)
    np.testing.assert_array_equal(written["upper_0.9"].to_numpy(), upper)
    assert tl.files.evaluate(file, R).overall.n == len(case.y)
