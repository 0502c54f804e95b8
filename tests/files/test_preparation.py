"""Files learn a least width and the atoms of outcomes from their first rows."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import trueline as tl
from tests.files.cases import make_case, make_counts
from trueline.files import Columns, FileError, _passes, _source
from trueline.recalibration import _accumulator

COUNTS = ("normal", "quantiles", "samples")


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.usefixtures("small_chunks")
def test_the_map_of_a_file_of_counts_is_that_of_its_rows(kind, tmp_path):
    case = make_counts(kind)
    file = case.write(tmp_path / "past.csv")
    R = tl.Isotonic().fit(case.y, case.dist)
    assert len(R.atoms_) > 10
    assert tl.files.fit(file).to_json() == R.to_json()
    assert tl.files.fit(file, max_knots=500).to_json() == R.compress(500).to_json()


@pytest.mark.usefixtures("small_chunks")
def test_with_groups_and_weights(tmp_path):
    case = make_counts("normal")
    file = case.write(tmp_path / "past.csv")
    expected = tl.Grouped().fit(case.y, case.dist, case.weight, case.groups)
    found = tl.files.fit(file, columns=Columns(group="region", weight="weight"))
    assert found.to_json() == expected.to_json()


@pytest.mark.usefixtures("small_chunks")
def test_a_file_with_collapsed_forecasts_has_a_least_width(tmp_path):
    case = make_case("normal", n=3000)
    std = case.dist.scale.copy()
    std[2500] = 1e-9
    case.table = case.table.set_column(3, "std", pa.array(std))
    R = tl.files.fit(case.write(tmp_path / "past.parquet"))
    expected = tl.Isotonic().fit(case.y, tl.Normal(case.dist.loc, std))
    assert R.least_width_ > 0
    assert R.to_json() == expected.to_json()


def test_the_first_rows_decide_for_all_pieces(monkeypatch, tmp_path):
    """Pieces agree, however many threads work on them, and all rows are scored alike."""
    monkeypatch.setattr(_passes, "FIRST_ROWS", 1000)
    monkeypatch.setattr(_source, "_MOST_ROWS", 512)
    monkeypatch.setattr(_source, "PIECE", 2048)
    case = make_counts("normal", n=8000)
    file = case.write(tmp_path / "past.parquet")
    first = tl.Isotonic()._prepare(case.y[:1024], case.dist[:1024], None)
    expected = tl.Isotonic()._fit_prepared(first, case.y, case.dist)
    told = []
    R = tl.files.fit(file, n_jobs=2, progress=lambda rows, share: told.append((rows, share)))
    assert told[-1] == (8000, 1.0)
    assert R.to_json() == expected.to_json()
    assert R.to_json() == tl.files.fit(file, n_jobs=1).to_json()


def test_first_rows_come_from_as_many_files_as_it_takes(tmp_path):
    case = make_counts("normal", n=600)
    (tmp_path / "past").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(600), 40)):
        parquet.write_table(case.table.take(rows), tmp_path / "past" / f"{i:02d}.parquet")
    expected = tl.Isotonic().fit(case.y, case.dist)
    assert expected.atoms_ is not None
    assert tl.files.fit(tmp_path / "past").to_json() == expected.to_json()


def test_first_rows_without_weight_do_not_count(tmp_path):
    case = make_counts("normal")
    case.weight[:1100] = 0.0
    case.table = case.table.set_column(4, "weight", pa.array(case.weight))
    file = case.write(tmp_path / "past.parquet")
    R = tl.files.fit(file, columns=Columns(weight="weight"))
    assert R.to_json() == tl.Isotonic().fit(case.y, case.dist, case.weight).to_json()


def test_beyond_the_limit_intervals_are_spread_and_rounded(monkeypatch, tmp_path):
    case = make_counts("normal", n=20_000)
    file = case.write(tmp_path / "past.parquet")
    exact = tl.files.fit(file)
    monkeypatch.setattr(_accumulator, "LIMIT", 8000)
    monkeypatch.setattr(_accumulator, "_WAITING", 8000)
    monkeypatch.setattr(_source, "_MOST_ROWS", 1024)
    monkeypatch.setattr(_passes, "FIRST_ROWS", 20_000)
    R = tl.files.fit(file)
    assert R.scores_.rounded
    assert R.scores_.total == 20_000
    assert R.atoms_.tolist() == exact.atoms_.tolist()
    # The law by which intervals are spread is learned from 2,000 of the 20,000 rows. Its standard
    # error moves a point within its interval, so that the CDF changes by less than 1 / sqrt(2000).
    x = np.linspace(-4.0, 8.0, 1000)
    np.testing.assert_allclose(R.law_.cdf(x), exact.law_.cdf(x), rtol=0, atol=0.005)


def test_outcomes_beyond_what_the_first_rows_show_are_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(_passes, "FIRST_ROWS", 1000)
    monkeypatch.setattr(_source, "_MOST_ROWS", 1024)
    case = make_counts("normal", n=4000)
    y = case.y.copy()
    y[3000:3007] += 0.5
    case.table = case.table.set_column(0, "y", pa.array(y))
    file = case.write(tmp_path / "past.parquet")
    with pytest.warns(tl.CalibrationWarning, match="7 of 4,000 outcomes are not among the values"):
        tl.files.fit(file)


@pytest.mark.usefixtures("small_chunks")
def test_a_stated_support_names_the_first_bad_row(tmp_path):
    case = make_counts("normal")
    y = case.y.copy()
    y[[1100, 1200]] = 0.25
    case.table = case.table.set_column(0, "y", pa.array(y))
    file = case.write(tmp_path / "past.csv")
    with pytest.raises(FileError) as bad:
        tl.files.fit(file, tl.Isotonic(support="counts"))
    assert str(bad.value) == (
        f"{file}, line 1102, column 'y': found 0.25, which Support(low=0.0, step=1.0) excludes (2 "
        f"of the 476 rows around it); expected a multiple of 1 from 0 and a number of 0 or more. "
        f"Fix or drop the rows, or state another support."
    )
    # Rows without weight are not used.
    weight = np.where(y == 0.25, 0.0, 1.0)
    case.table = case.table.set_column(4, "weight", pa.array(weight))
    file = case.write(tmp_path / "weighted.csv")
    R = tl.files.fit(file, tl.Isotonic(support="counts"), columns=Columns(weight="weight"))
    assert R.to_json() == tl.Isotonic(support="counts").fit(y, case.dist, weight).to_json()


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.usefixtures("small_chunks")
def test_written_columns_are_values_that_can_occur(kind, tmp_path):
    case = make_counts(kind)
    file, out = case.write(tmp_path / "past.parquet"), tmp_path / "out.parquet"
    R = tl.files.fit(file)
    options = {"coverage": [0.9], "quantiles": [0.1, 0.5], "moments": True, "prefix": "r_"}
    tl.files.apply(R, file, out, **options)
    G = R.transform(case.dist)
    lower, upper = G.interval(0.9)
    expected = [lower, upper, *G.ppf([0.1, 0.5]).T, G.mean(), G.std()]
    found = parquet.read_table(out).columns[-6:]
    for column, values in zip(found, expected, strict=True):
        np.testing.assert_allclose(column.to_numpy(), values, rtol=1e-12)
    assert np.isin(np.concatenate([c.to_numpy() for c in found[:4]]), R.atoms_).all()
    inside = (lower <= case.y) & (case.y <= upper)
    assert inside.mean() >= 0.88  # three standard errors of 1,500 rows below 0.9 are 0.877
    overall = tl.files.evaluate(file, R).overall
    np.testing.assert_allclose(overall.coverage, inside.mean())
