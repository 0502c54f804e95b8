"""Rows with a missing outcome or forecast: an error, or left out on request."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trueline as tl
from tests.files.cases import ENDINGS, Case
from trueline.files import FileError

WORDS = ["", "NaN", "NA", "null", " n/a ", "#N/A", "-nan"]


@pytest.fixture
def holes(normal):
    """The case with nulls in y and mean, and the rows that are complete."""
    rng = np.random.default_rng(1)
    gone = {name: rng.random(normal.y.size) < 0.1 for name in ("y", "mean")}
    columns = {name: normal.table[name] for name in normal.table.column_names}
    for name, mask in gone.items():
        columns[name] = pa.array(columns[name].to_numpy(), mask=mask)
    kept = ~(gone["y"] | gone["mean"])
    return Case(pa.table(columns), normal.y, normal.dist, normal.weight, normal.groups), kept


@pytest.mark.parametrize("ending", ENDINGS)
def test_fit_and_evaluate_use_the_other_rows(tmp_path, holes, small_chunks, ending):
    case, kept = holes
    path = case.write(tmp_path / f"f{ending}")
    R = tl.files.fit(path, skip_missing=True)
    expected = tl.Isotonic().fit(case.y[kept], case.dist[kept])
    np.testing.assert_array_equal(R.scores_.values, expected.scores_.values)
    found = tl.files.evaluate(path, skip_missing=True).overall
    assert found.n == kept.sum()
    assert found.crps == pytest.approx(tl.crps(case.y[kept], case.dist[kept]), rel=1e-12)
    forecasts = tl.files.open_forecasts(path, skip_missing=True)
    tl.files.fit(forecasts)
    assert (forecasts.source.rows, forecasts.source.skipped) == (kept.sum(), (~kept).sum())


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_apply_leaves_cells_empty(tmp_path, holes, small_chunks, out):
    case, _ = holes
    path = case.write(tmp_path / "f.parquet")
    there = np.array(case.table["mean"].is_valid())
    R = tl.Scaling().fit(case.y, case.dist)
    assert tl.files.apply(R, path, tmp_path / out, skip_missing=True) == case.y.size
    read = csv.read_csv if out.endswith("csv") else parquet.read_table
    table = read(tmp_path / out)
    lower = table["lower_0.9"]
    np.testing.assert_array_equal(np.array(lower.is_valid()), there)
    np.testing.assert_allclose(
        lower.drop_null().to_numpy(), R.transform(case.dist[there]).interval(0.9)[0], rtol=1e-12
    )
    assert table["region"].to_pylist() == case.table["region"].to_pylist()


@pytest.mark.parametrize("word", WORDS)
def test_words_for_missing_values(tmp_path, word):
    path = tmp_path / "f.csv"
    path.write_text(f"y,mean,std\n1,2,3\n{word},2,3\n4,{word},6\n4,5,6\n")
    assert tl.files.evaluate(path, skip_missing=True).overall.n == 2
    with pytest.raises(FileError, match=r"leave out all such rows with skip_missing=True\.$"):
        tl.files.evaluate(path)


def test_a_chunk_without_a_complete_row(tmp_path, small_chunks):
    path = tmp_path / "f.csv"
    path.write_text("y,mean,std\n" + "1,,1\n" * 1500 + "".join(f"{i / 9},2,1\n" for i in range(30)))
    R = tl.files.fit(path, skip_missing=True)
    assert R.n_fit() == 30
    tl.files.apply(R, path, tmp_path / "out.csv", skip_missing=True)
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert rows[0] == "1,,1,,"
    assert re.fullmatch(r"[\d.]+,2,1,[\d.e+-]+,[\d.e+-]+", rows[-1])


@pytest.mark.parametrize(
    "rows, row, column",
    [("1,,1,1\n1,2,x,1\n", 3, "'std': found 'x'"), ("1,,1,1\n1,2,1,\n", 3, "'w': the value is")],
)
def test_other_faults_stay_errors_and_name_their_line(tmp_path, rows, row, column):
    path = tmp_path / "f.csv"
    path.write_text("y,mean,std,w\n" + rows)
    with pytest.raises(FileError) as caught:
        tl.files.fit(path, columns=tl.files.Columns(weight="w"), skip_missing=True)
    assert f"f.csv, line {row}, column {column}" in str(caught.value)
    assert "skip_missing" not in str(caught.value)


def test_a_file_of_missing_values_is_an_error(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,mean,std\n1,,3\nNA,2,3\n")
    with pytest.raises(FileError) as caught:
        tl.files.fit(path, skip_missing=True)
    assert str(caught.value) == (
        f"{path} has no row to use: the outcome or the forecast is missing in all of its 2 rows; "
        f"expected at least one row without missing values. Its columns are mean, std, y."
    )
    path.write_text("y,mean,std\n1,,3\n")
    R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    with pytest.raises(FileError, match="the forecast is missing in its only row; expected"):
        tl.files.apply(R, path, tmp_path / "out.csv", skip_missing=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.csv").write_text("y,mean,std\n1,,3\n")
    with pytest.raises(FileError, match="the forecast is missing in its only row; expected"):
        tl.files.apply(R, folder, tmp_path / "out", skip_missing=True)
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "out").exists()
    (folder / "b.csv").write_text("y,mean,std\n1,2,3\n")
    assert tl.files.apply(R, folder, tmp_path / "out", skip_missing=True) == 2
