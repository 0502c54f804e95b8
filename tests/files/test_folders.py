"""Folders are read as one file, and become folders."""

import gzip
import os
import threading
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trueline as tl
from tests.files.cases import make_case
from trueline.files import Columns, FileError, _chunks, _folder, _forecasts, _passes, _source
from trueline.files._passes import sample_rows
from trueline.metrics import EvaluationAccumulator
from trueline.recalibration import ScoreAccumulator, _accumulator


def split(case, folder, cuts, ending=".parquet"):
    """Write the rows of a case to files of a folder, cut at these rows."""
    folder.mkdir(exist_ok=True)
    starts, stops = [0, *cuts], [*cuts, len(case.y)]
    for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        path = folder / f"part-{i}{ending}"
        table = case.table.slice(start, stop - start)
        if ending == ".csv":
            csv.write_csv(table, path)
        else:
            parquet.write_table(table, path, row_group_size=300)
    return folder


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, **columns):
    """Write a small Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)


GOOD = {"y": [1.0, 2.0, 4.0], "mean": [1.0, 1.0, 1.0], "std": [1.0, 1.0, 2.0]}


@pytest.fixture
def pieces(monkeypatch):
    """Pieces, chunks and states small enough that a test's folder has many of each."""
    monkeypatch.setattr(_source, "PIECE", 700)
    monkeypatch.setattr(_source, "_MOST_ROWS", 256)
    monkeypatch.setattr(_accumulator, "LIMIT", 500)
    monkeypatch.setattr(_accumulator, "_WAITING", 600)
    monkeypatch.setattr(_accumulator, "_COUNTED", 100)
    monkeypatch.setattr(EvaluationAccumulator, "most_rows", 1000)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.usefixtures("small_chunks")
def test_a_folder_is_its_files_one_after_the_other(case, ending, tmp_path):
    folder = split(case, tmp_path / "past", [1000, 1001, 3500], ending)
    assert tl.files.fit(folder).to_json() == tl.Isotonic().fit(case.y, case.dist).to_json()
    found, expected = tl.files.evaluate(folder).overall, tl.evaluate(case.y, case.dist)
    for name, value in expected.to_dict().items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-12, err_msg=name)


def test_ways_to_name_several_files(normal, tmp_path):
    folder = split(normal, tmp_path / "past", [1000, 3500])
    expected = tl.files.fit(folder).to_json()
    files = [folder / f"part-{i}.parquet" for i in range(3)]
    for given in (str(folder), str(folder / "*.parquet"), files, [str(files[0]), *files[1:]]):
        assert tl.files.fit(given).to_json() == expected
    first = tl.Isotonic().fit(normal.y[:1000], normal.dist[:1000]).to_json()
    assert tl.files.fit(folder / "*-0.parquet").to_json() == first
    assert tl.files.fit([folder, tmp_path / "past" / "part-0.parquet"]).scores_.total == 6000


def test_a_file_whose_name_looks_like_a_pattern(normal, tmp_path):
    file = normal.write(tmp_path / "[past].parquet")
    assert tl.files.fit(file).scores_.total == 5000


def test_files_that_are_left_out(normal, tmp_path):
    folder = split(normal, tmp_path / "past", [2000])
    for name in ("_SUCCESS", "_metadata", ".part-0.parquet.crc", "_temporary/part-9.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"not to be read")
    write(folder / "part-3.parquet", y=pa.array([], pa.float64()), note=pa.array([], pa.string()))
    R = tl.files.fit(folder)
    assert R.to_json() == tl.Isotonic().fit(normal.y, normal.dist).to_json()
    assert tl.files.apply(R, folder, tmp_path / "out") == 5000
    assert names_in(tmp_path / "out") == ["part-0.parquet", "part-1.parquet", "part-3.parquet"]


def test_files_without_rows_are_written_without_rows(tmp_path):
    none = {"y": pa.array([], pa.float64()), "note": pa.array([], pa.dictionary(pa.int8(), "str"))}
    write(tmp_path / "new" / "a.parquet", **none)
    write(tmp_path / "new" / "b.parquet", **GOOD)
    write(tmp_path / "new" / "day=2" / "c.parquet", **none)
    assert tl.files.apply(a_map(), tmp_path / "new", tmp_path / "out") == 3
    for name in ("a.parquet", "day=2/c.parquet"):
        before, after = (
            parquet.ParquetFile(tmp_path / folder / name).read() for folder in ("new", "out")
        )
        assert after.num_rows == 0
        assert after.schema.names == ["y", "note", "lower_0.9", "upper_0.9"]
        assert after.schema.types == [*before.schema.types, pa.float64(), pa.float64()]
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.csv").write_text("mean,std\n")
    (tmp_path / "text" / "b.csv").write_text("mean,std\n1,2\n")
    tl.files.apply(a_map(), tmp_path / "text", tmp_path / "csv", quantiles=[0.5])
    assert (tmp_path / "csv" / "a.csv").read_text() == "mean,std,q0.5\n"
    # Its columns are looked at as those of the others are.
    write(tmp_path / "new" / "d.parquet", **none, **{"lower_0.9": pa.array([], pa.float64())})
    assert "d.parquet has a column 'lower_0.9' already" in refused(tmp_path / "new", tmp_path / "o")


def test_text_files_without_rows_are_left_out(tmp_path):
    for name, rows in {"a.csv": "", "b.csv": "1,0\n3,0\n", "c.csv": ""}.items():
        (tmp_path / name).write_text("y,mean\n" + rows)
    np.testing.assert_array_equal(tl.files.fit(tmp_path).scores_.values, [1.0, 3.0])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("pieces")
def test_subfolders_that_name_a_column(n_jobs, tmp_path):
    case = make_case("normal")
    for name in ("north", "south", "a,b"):
        rows = np.flatnonzero(case.groups == name)
        table = case.table.drop_columns("region").take(rows)
        folder = tmp_path / "past" / f"region={name.replace(',', '%2C')}"
        folder.mkdir(parents=True)
        parquet.write_table(table, folder / "part.parquet", row_group_size=300)
    columns = Columns(group="region")
    R = tl.files.fit(tmp_path / "past", columns=columns, n_jobs=n_jobs)
    counts = {name: R._group_scores[name].total for name in R.groups_}
    assert counts == {
        name: np.count_nonzero(case.groups == name) for name in ("a,b", "north", "south")
    }
    assert tl.files.apply(R, tmp_path / "past", tmp_path / "out", columns=columns) == 5000
    out = parquet.ParquetFile(tmp_path / "out" / "region=south" / "part.parquet").read()
    # The name of the folder has it, and still does.
    assert "region" not in out.column_names
    rows = np.flatnonzero(case.groups == "south")
    expected = R.transform(case.dist[rows], groups=case.groups[rows]).interval(0.9)
    np.testing.assert_array_equal(out["lower_0.9"].to_numpy(), expected[0])
    # ... and so it comes back with the files.
    result = tl.files.evaluate(tmp_path / "out", columns=Columns(group="region", kind="normal"))
    assert list(result.groups) == ["a,b", "north", "south"]


@pytest.mark.parametrize("grouped", [False, True], ids=["pooled", "grouped"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("pieces")
def test_results_do_not_depend_on_the_number_of_threads(case, grouped, weighted, tmp_path):
    # Weights that are no whole numbers: sums of them round, and so must do it in the same order.
    weight = case.weight / 3.0
    place = case.table.column_names.index("weight")
    case.table = case.table.set_column(place, "weight", pa.array(weight))
    folder = split(case, tmp_path / "past", [17, 1000, 1001, 3500])
    columns = Columns(group="region" if grouped else None, weight="weight" if weighted else None)
    maps = [tl.files.fit(folder, columns=columns, n_jobs=n) for n in (1, 2, 3)]
    assert len({R.to_json() for R in maps}) == 1
    found = [tl.files.evaluate(folder, columns=columns, n_jobs=n) for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
    assert not found[0].exact
    after = [tl.files.evaluate(folder, maps[0], columns=columns, n_jobs=n) for n in (1, 2)]
    assert after[0] == after[1]


@pytest.mark.usefixtures("pieces")
def test_pieces_come_to_the_same_as_the_whole(normal, monkeypatch, tmp_path):
    folder = split(normal, tmp_path / "past", [17, 1000, 1001, 3500])
    opened = _folder.open_source(folder)
    assert len(opened.pieces()) > 3
    assert sum(piece.n_rows for piece in opened.pieces()) == 5000
    file = normal.write(tmp_path / "past.parquet")
    in_pieces = [tl.files.fit(folder), tl.files.fit(file)]
    monkeypatch.setattr(_source, "PIECE", 1 << 23)
    assert len(_folder.open_source(folder).pieces()) == 1
    for R in in_pieces:
        assert R.to_json() == tl.files.fit(folder).to_json()


@pytest.mark.usefixtures("pieces")
def test_threads_work_on_pieces_while_the_caller_tells_the_progress(normal, monkeypatch, tmp_path):
    folder = split(normal, tmp_path / "past", [1000, 3500])
    at_work, telling, told = set(), set(), []
    real = ScoreAccumulator.add

    def add(self, *rows):
        at_work.add(threading.get_ident())
        real(self, *rows)

    def progress(rows, share):
        telling.add(threading.get_ident())
        told.append((rows, share))

    monkeypatch.setattr(ScoreAccumulator, "add", add)
    tl.files.fit(folder, n_jobs=2, progress=progress)
    assert threading.get_ident() not in at_work
    assert telling == {threading.get_ident()}
    assert told == sorted(told)
    assert told[-1] == (5000, 1.0)


@pytest.mark.usefixtures("pieces")
def test_with_one_thread_the_caller_is_told_of_every_chunk(normal, tmp_path):
    folder = split(normal, tmp_path / "past", [1000, 3500])
    told: list[tuple[int, float]] = []
    tl.files.fit(folder, n_jobs=1, progress=lambda *now: told.append(now))
    assert told == sorted(told)
    assert len(told) >= 5000 / 256
    assert told[-1] == (5000, 1.0)


@pytest.mark.parametrize("n_jobs", [0, -1, 1.5, True])
def test_a_number_of_threads_that_is_none(normal, n_jobs, tmp_path):
    folder = split(normal, tmp_path / "past", [1000])
    expected = f"n_jobs is {n_jobs!r}; expected an integer of 1 or more, or None."
    with pytest.raises(ValueError, match=f"^{expected}$"):
        tl.files.fit(folder, n_jobs=n_jobs)


def test_threads_by_default(monkeypatch):
    for cores, threads in ((1, 1), (2, 2), (64, 2)):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False
        )
        assert _forecasts.check_jobs(None) == threads


# ---- apply -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("small_chunks")
def test_a_folder_becomes_a_folder(normal, ending, n_jobs, tmp_path):
    folder = split(normal, tmp_path / "new", [1000, 3500], ending)
    R = tl.Isotonic().fit(normal.y, normal.dist)
    out = tmp_path / "out"
    assert tl.files.apply(R, folder, out, quantiles=[0.3], n_jobs=n_jobs) == 5000
    assert names_in(out) == names_in(folder)
    read = csv.read_csv if ending == ".csv" else parquet.read_table
    found = pa.concat_tables([read(out / name) for name in names_in(out)])
    np.testing.assert_array_equal(found["q0.3"].to_numpy(), R.transform(normal.dist).ppf(0.3))
    assert found.column_names == [*normal.table.column_names, "q0.3"]
    assert names_in(tmp_path) == ["new", "out"]
    assert (out.stat().st_mode & 0o777) == (folder.stat().st_mode & 0o777)


def test_packed_text_is_written_unpacked(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.csv.gz").write_bytes(gzip.compress(b"mean,std\n1,2\n"))
    R = tl.Scaling().fit([-1.0, 1.0], tl.Normal([0.0, 0.0], 1.0))
    tl.files.apply(R, tmp_path / "new", tmp_path / "out", quantiles=[0.5])
    assert (tmp_path / "out" / "a.csv").read_text() == "mean,std,q0.5\n1,2,1\n"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_groups_that_the_map_does_not_know_are_named_once(normal, n_jobs, tmp_path):
    folder = split(normal, tmp_path / "new", [1000, 2000, 3500])
    known = normal.groups == "north"
    R = tl.Grouped().fit(normal.y[known], normal.dist[known], groups=normal.groups[known])
    columns = Columns(group="region")
    unknown = list(dict.fromkeys(str(name) for name in normal.groups if name != "north"))
    expected = (
        "2 of 3 groups were not there when the map was fitted and get the pooled map: "
        f"{unknown[0]!r}, {unknown[1]!r}. "
        "Its intervals hold on average over groups, but not for each group."
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tl.files.apply(R, folder, tmp_path / "out", columns=columns, n_jobs=n_jobs)
        tl.files.evaluate(folder, R, columns=columns, n_jobs=n_jobs)
    assert [str(warning.message) for warning in caught] == [expected] * 2
    out = pa.concat_tables(
        [parquet.read_table(tmp_path / "out" / f"part-{i}.parquet") for i in range(4)]
    )
    pooled = tl.Isotonic().fit(normal.y[known], normal.dist[known]).transform(normal.dist)
    np.testing.assert_array_equal(
        out["lower_0.9"].to_numpy()[~known], pooled.interval(0.9)[0][~known]
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_unknown_groups_are_counted_among_those_of_the_data(n_jobs, tmp_path):
    case = make_case("normal", n=300)
    R = tl.Grouped().fit(case.y, case.dist, groups=case.groups)
    for i, name in enumerate(["mars", "mars", "north"]):
        write(tmp_path / "new" / f"{i}.parquet", **GOOD, region=[name] * 3)
    columns, text = Columns(group="region"), "were not there when the map was fitted"
    with pytest.warns(tl.CalibrationWarning, match=f"^1 of 2 groups {text}"):
        tl.files.apply(R, tmp_path / "new", tmp_path / "out", columns=columns, n_jobs=n_jobs)
    with pytest.warns(tl.CalibrationWarning, match=f"^1 of 1 groups {text}"):
        tl.files.evaluate(tmp_path / "new" / "[01].parquet", R, columns=columns, n_jobs=n_jobs)


def test_crossing_quantiles_are_counted_over_the_folder(tmp_path):
    for i in range(3):
        columns = {"y": [1.0, 2.0], "q0.1": [1.0, 0.0], "q0.9": [0.0, 3.0]}
        write(tmp_path / "past" / f"{i}.parquet", **columns)
    with pytest.warns(tl.CalibrationWarning) as caught:
        tl.files.evaluate(tmp_path / "past")
    assert [str(w.message) for w in caught] == [
        "quantiles cross in 3 of 6 rows; those rows are sorted."
    ]


def a_map():
    return tl.Scaling().fit([-1.0, 1.0], tl.Normal([0.0, 0.0], 1.0))


def refused(path, out=None, **options):
    """Message of a fit, or of an apply that leaves everything as it was."""
    function, given = (
        (tl.files.fit, [path]) if out is None else (tl.files.apply, [a_map(), path, out])
    )
    with pytest.raises(FileError) as caught:
        function(*given, **options)
    return str(caught.value)


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_folders_that_are_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "new" / "a.parquet", **GOOD)
    write(tmp_path / "old" / "a.parquet", **GOOD)
    write(tmp_path / "mine" / "a.parquet", **GOOD)
    (tmp_path / "mine" / ".notes").write_text("precious")
    (tmp_path / "file").write_text("precious")
    before = everything(tmp_path)
    assert refused("new", "old") == (
        "old is there already. Replace it with force=True, or name another folder."
    )
    assert refused("new", "mine", force=True) == (
        "mine holds .notes, which would be deleted; expected nothing but files that are written "
        "anew. Delete it yourself, or name another folder."
    )
    for name in ("out.parquet", "file"):
        assert refused("new", name) == (
            f"{name} is the name of a file, but several files are written to a folder. Name a "
            f"folder with out."
        )
    assert refused("new", "nowhere/out") == (
        "cannot write nowhere/out: there is no folder nowhere. Make it first."
    )
    write(tmp_path / "all" / "new" / "a.parquet", **GOOD)
    assert refused("all/new", "all", force=True) == (
        "all/new/a.parquet lies in all, which would be replaced. Name another folder with out."
    )
    assert refused(["new/a.parquet", "old/a.parquet"], "out") == (
        "new/a.parquet and old/a.parquet would both be written to a.parquet; expected files of "
        "different names. Rename one."
    )
    assert [p for p in everything(tmp_path) if not p.startswith("all")] == before


def test_only_what_was_written_before_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "new" / "a.parquet", **GOOD)
    write(tmp_path / "new" / "day=2" / "b.parquet", **GOOD)
    tl.files.apply(a_map(), "new", "out", quantiles=[0.5])
    tl.files.apply(a_map(), "new", "out", force=True)
    assert "lower_0.9" in parquet.read_table("out/a.parquet").column_names
    # Forecasts of another data set are not ours to delete.
    write(tmp_path / "out" / "day=2" / "other.parquet", **GOOD)
    before = everything(tmp_path)
    assert refused("new", "out", force=True) == (
        "out holds day=2/other.parquet, which would be deleted; expected nothing but files that "
        "are written anew. Delete it yourself, or name another folder."
    )
    assert everything(tmp_path) == before


def test_a_file_that_comes_while_a_folder_is_made_is_not_deleted(tmp_path):
    write(tmp_path / "new" / "a.parquet", **GOOD)
    (tmp_path / "out").mkdir()

    def interfere(rows, share):
        (tmp_path / "out" / "mine.parquet").write_text("precious")

    with pytest.raises(FileError, match=r"holds mine\.parquet, which would be deleted"):
        tl.files.apply(
            a_map(), tmp_path / "new", tmp_path / "out", force=True, n_jobs=1, progress=interfere
        )
    assert everything(tmp_path) == ["new", "new/a.parquet", "out", "out/mine.parquet"]


def test_an_empty_folder_is_one_to_write_to(tmp_path):
    write(tmp_path / "new" / "a.parquet", **GOOD)
    (tmp_path / "out" / "empty").mkdir(parents=True)
    tl.files.apply(a_map(), tmp_path / "new", tmp_path / "out")
    assert everything(tmp_path / "out") == ["a.parquet"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("given", ["new", "new/*.parquet", "**/*.parquet"])
def test_a_folder_is_not_replaced_by_itself(given, force, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "new" / "a.parquet", **GOOD)
    assert refused(given, "new", force=force) == (
        "new/a.parquet lies in new, which would be replaced. Name another folder with out."
    )
    (tmp_path / "link").symlink_to("new")
    message = "a.parquet lies in link, which would be replaced. Name another folder with out."
    assert refused("new", "link", force=force) == f"new/{message}"
    assert everything(tmp_path) == ["link", "new", "new/a.parquet"]


def test_what_is_written_is_not_read_the_next_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "new" / "day1" / "a.parquet", **GOOD)
    cases = ["new", "new/**/*.parquet", "new/*/a.parquet", "new/*/*.parquet", ["new/*/*.parquet"]]
    for given in cases:
        (named,) = given if isinstance(given, list) else [given]
        assert refused(given, "new/out") == (
            f"new/out lies in {named}, and would be read with it the next time. Name a folder "
            f"elsewhere with out."
        )
    # A pattern that does not reach it is no hindrance.
    assert tl.files.apply(a_map(), "new/day*/*.parquet", "new/out") == 3
    assert tl.files.apply(a_map(), "new/day1/*.parquet", "new/day1/out") == 3


def test_what_a_link_leads_to_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "out" / "a.parquet", **GOOD)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.parquet").symlink_to(tmp_path / "out" / "a.parquet")
    assert refused("new", "out", force=True) == (
        "new/a.parquet lies in out, which would be replaced. Name another folder with out."
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_one_file_leaves_no_folder(n_jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(4):
        write(tmp_path / "new" / f"{i}.parquet", **GOOD)
    write(tmp_path / "new" / "2.parquet", **(GOOD | {"std": [1.0, -1.0, 1.0]}))
    write(tmp_path / "out" / "3.parquet", **GOOD)
    assert refused("new", "out", n_jobs=n_jobs, force=True) == (
        "new/2.parquet, row 2, column 'std': found -1; expected a number above 0. A standard "
        "deviation is never negative; is this the logarithm of one?"
    )
    assert everything(tmp_path) == [
        "new",
        *(f"new/{i}.parquet" for i in range(4)),
        *("out", "out/3.parquet"),
    ]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_no_folder(n_jobs, tmp_path):
    for i in range(4):
        write(tmp_path / "new" / f"{i}.parquet", **GOOD)

    def interrupt(rows, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tl.files.apply(
            a_map(), tmp_path / "new", tmp_path / "out", n_jobs=n_jobs, progress=interrupt
        )
    assert names_in(tmp_path) == ["new"]


def test_a_column_that_one_file_has_already(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "new" / "a.parquet", **GOOD)
    write(tmp_path / "new" / "b.parquet", **GOOD, q0=[1, 2, 3], **{"lower_0.9": ["x"] * 3})
    assert refused("new", "out", columns=Columns(kind="normal")) == (
        "new/b.parquet has a column 'lower_0.9' already, which would be written. Give the new "
        "columns other names: prefix='recalibrated_'."
    )


# ---- bad folders -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "second, message",
    [
        (
            {"y": [1.0], "mean": [1.0]},
            (
                "f/b.parquet has no column 'std', which f/a.parquet has; expected the same columns "
                "in every file. Write it again, or leave it out."
            ),
        ),
        (
            {"mean": [1.0], "std": [1.0]},
            (
                "f/b.parquet has no column 'y', which f/a.parquet has; expected the same columns "
                "in every file. Write it again, or leave it out."
            ),
        ),
        (
            {"y": ["1"], "mean": [1.0], "std": [1.0]},
            (
                "f/b.parquet, column 'y' is of type string, but of type double in f/a.parquet; "
                "expected the same type in every file. Convert it first."
            ),
        ),
        (
            {"y": [True], "mean": [1.0], "std": [1.0]},
            (
                "f/b.parquet, column 'y' is of type bool, but of type double in f/a.parquet; "
                "expected the same type in every file. Convert it first."
            ),
        ),
        (
            {"y": [1.0], "mean": [1.0], "std": [1.0], "q0.1": [0.0], "q0.9": [2.0]},
            (
                "f/b.parquet holds forecasts of several kinds: normal (mean, std); quantiles "
                "(q0.1, q0.9). Choose one: Columns(kind='normal') or Columns(kind='quantiles')."
            ),
        ),
        (
            {"y": [1.0, None], "mean": [1.0, 1.0], "std": [1.0, 1.0]},
            (
                "f/b.parquet, row 2, column 'y': the value is missing; expected a number. Drop "
                "that row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
        (
            {"y": pa.nulls(1), "mean": [1.0], "std": [1.0]},
            (
                "f/b.parquet, row 1, column 'y': the value is missing; expected a number. Drop "
                "that row or fill it in, or leave out all such rows with skip_missing=True."
            ),
        ),
    ],
    ids=["no std", "no y", "text", "bool", "more", "missing value", "all missing"],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_that_do_not_go_together(second, message, n_jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_source, "PIECE", 1)
    write(tmp_path / "f" / "a.parquet", **GOOD)
    write(tmp_path / "f" / "b.parquet", **second)
    write(tmp_path / "f" / "c.parquet", **GOOD)
    assert refused("f", n_jobs=n_jobs) == message


def test_a_forecast_that_only_later_files_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "a.parquet", y=[1.0], mean=[1.0])
    write(tmp_path / "f" / "b.parquet", **GOOD)
    assert refused("f") == (
        "f/b.parquet has a column 'std' to use, which f/a.parquet does not have; expected the same "
        "columns in every file. Choose the forecast with Columns(kind=...)."
    )
    assert tl.files.fit("f", columns=Columns(kind="point")).scores_.total == 4


def test_numbers_of_several_types_and_more_columns_go_together(tmp_path):
    write(tmp_path / "a.parquet", **GOOD)
    other = {name: pa.array(values, pa.float32()) for name, values in GOOD.items()}
    write(tmp_path / "b.parquet", note=["x"] * 3, **other)
    assert tl.files.fit(tmp_path).scores_.total == 6


def test_rows_of_a_folder_are_drawn_as_those_of_a_file(tmp_path):
    write(tmp_path / "a.parquet", **GOOD, x=pa.array([1.0, 2.0, 3.0], pa.float32()))
    write(tmp_path / "b.parquet", **GOOD, x=[4.0, 5.0, 6.0])
    sample = sample_rows(tmp_path, Columns(x=("x",)))
    assert sample.n == 6
    np.testing.assert_array_equal(sample.y, GOOD["y"] * 2)
    np.testing.assert_array_equal(sample.features["x"], [1, 2, 3, 4, 5, 6])


def test_groups_that_are_text_in_one_file_and_numbers_in_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "a.parquet", **GOOD, g=[1, 2, 3])
    write(tmp_path / "f" / "b.parquet", **GOOD, g=["1", "2", "3"])
    assert refused("f", columns=Columns(group="g")) == (
        "f/b.parquet, column 'g' is of type string, but of type int64 in f/a.parquet; expected the "
        "same type in every file. Convert it first."
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("pieces")
def test_the_row_is_counted_in_its_file(n_jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = make_case("normal")
    y = case.y.copy()
    y[[3600, 4444]] = np.nan
    case.table = case.table.set_column(case.table.column_names.index("y"), "y", pa.array(y))
    split(case, tmp_path / "f", [1000, 2000])
    # The first of two, whichever thread finds its own first.
    assert refused("f", n_jobs=n_jobs).startswith("f/part-2.parquet, row 1601, column 'y': ")


def test_a_score_beyond_numbers_names_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "a.parquet", **GOOD)
    write(tmp_path / "f" / "b.parquet", y=[1.0, 1e300], mean=[0.0, 0.0], std=[1.0, 1e-300])
    # The first file alone shows no forecast that is far too narrow.
    monkeypatch.setattr(_passes, "FIRST_ROWS", 1)
    assert refused("f").startswith("f/b.parquet, row 2: a score is inf, beyond what")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_cut_short(n_jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = make_case("normal")
    split(case, tmp_path / "f", [2000])
    path = tmp_path / "f" / "part-1.parquet"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    start, end = "f/part-1.parquet is damaged or not what its ending says: ", " Write it again."
    for out in (None, "out"):
        message = refused("f", out, n_jobs=n_jobs)
        assert message.startswith(start)
        assert message.endswith(end)
    # The end is there, but not what it points to.
    path.write_bytes(data[:4] + bytes(len(data) // 2) + data[4 + len(data) // 2 :])
    for out in (None, "out"):
        assert refused("f", out, n_jobs=n_jobs).startswith(start)
    path.write_bytes(b"")
    assert refused("f") == ("f/part-1.parquet is empty; expected rows of forecasts and outcomes.")
    assert names_in(tmp_path) == ["f"]


def test_folders_without_anything_to_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "_SUCCESS").write_text("")
    for given in ("f", "f/*.parquet"):
        assert refused(given) == (
            f"{given} holds no files of forecasts; expected files that end in .parquet, .csv, "
            f".tsv, .arrow or .feather, in it or in its subfolders."
        )
    assert refused([]) == "no file was given; expected at least one."
    none = {name: pa.array([], pa.float64()) for name in GOOD}
    write(tmp_path / "f" / "a.parquet", **none)
    write(tmp_path / "f" / "b.parquet", **none)
    assert refused("f") == "f holds the names of columns but no rows; expected rows."
    assert refused("f", "out").endswith(" holds the names of columns but no rows; expected rows.")
    assert names_in(tmp_path) == ["f"]


def test_folders_with_something_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "a.parquet", **GOOD)
    (tmp_path / "f" / "notes.txt").write_text("mine")
    assert refused("f") == (
        "f/notes.txt ends in .txt; expected a file that ends in .csv, .tsv, .parquet, .arrow or "
        ".feather."
    )
    (tmp_path / "f" / "notes.txt").rename(tmp_path / "f" / "b.csv")
    (tmp_path / "f" / "b.csv").write_text("y,mean\n1,2\n")
    assert refused("f") == (
        "f holds files of several formats, such as a.parquet, b.csv; expected one. Name those of "
        "one format with a pattern: 'f/*.parquet'."
    )
    assert tl.files.fit("f/*.parquet").scores_.total == 3


def test_a_folder_that_names_a_column_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "g=1" / "a.parquet", **GOOD, g=[1, 2, 3])
    assert refused("f") == (
        "f/g=1/a.parquet has a column 'g', which the name of its folder gives as well; expected "
        "one of them. Drop the column or rename the folder."
    )


def test_a_folder_of_rows_without_a_group(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "f" / "g=__HIVE_DEFAULT_PARTITION__" / "a.parquet", **GOOD)
    assert refused("f", columns=Columns(group="g")) == (
        "f/g=__HIVE_DEFAULT_PARTITION__/a.parquet, row 1, column 'g': the group is missing; "
        "expected a name. Drop that row or give it a name."
    )


def test_too_many_groups_in_several_pieces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_source, "PIECE", 1)
    monkeypatch.setattr(_chunks, "MOST_GROUPS", 5)
    write(tmp_path / "f" / "a.parquet", **GOOD, g=[1, 2, 3])
    write(tmp_path / "f" / "b.parquet", **GOOD, g=[4, 5, 6])
    message = (
        "f, column 'g' holds more than 5 groups; expected fewer. Is it a name of each row rather "
        "than of a group?"
    )
    assert refused("f", columns=Columns(group="g")) == message
    with pytest.raises(FileError) as caught:
        tl.files.evaluate("f", columns=Columns(group="g"))
    assert str(caught.value) == message
