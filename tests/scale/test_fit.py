"""Maps fitted on files are those fitted in Python."""

import numpy as np
import pyarrow as pa
import pytest

import trueline as tl
from tests.scale.cases import ENDINGS, make_case
from trueline.scale import Columns, FileError, _fit, _groups, fit_file

METHODS = [tl.Isotonic(), tl.Smooth(), tl.Beta(), tl.Scaling(), tl.Auto()]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_chunks")
def test_the_map_of_a_file_is_that_of_its_rows(case, ending, tmp_path):
    file = case.write(tmp_path / f"past{ending}")
    assert fit_file(file).to_json() == tl.Isotonic().fit(case.y, case.dist).to_json()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_with_every_recalibrator(normal, method, tmp_path):
    file = normal.write(tmp_path / "past.parquet")
    expected = method._unfitted_copy().fit(normal.y, normal.dist)
    assert fit_file(file, method).to_json() == expected.to_json()
    assert not method._is_fitted()


@pytest.mark.usefixtures("small_chunks")
def test_with_weights(case, tmp_path):
    file = case.write(tmp_path / "past.csv")
    expected = tl.Isotonic().fit(case.y, case.dist, case.weight)
    assert fit_file(file, columns=Columns(weight="weight")).to_json() == expected.to_json()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks")
def test_with_groups(case, weighted, tmp_path):
    file = case.write(tmp_path / "past.csv")
    weight = case.weight if weighted else None
    expected = tl.Grouped().fit(case.y, case.dist, weight, case.groups)
    columns = Columns(group="region", weight="weight" if weighted else None)
    assert fit_file(file, columns=columns).to_json() == expected.to_json()


def test_groups_that_are_numbers(tmp_path):
    case = make_case("normal", n=400)
    groups = np.arange(400) % 3
    table = case.table.set_column(
        case.table.column_names.index("region"), "region", pa.array(groups)
    )
    case.table = table
    file = case.write(tmp_path / "past.parquet")
    R = fit_file(file, columns=Columns(group="region"))
    assert R.groups_ == [0, 1, 2]
    assert R.to_json() == tl.Grouped().fit(case.y, case.dist, groups=groups).to_json()


def test_many_scores_are_compressed_as_in_python(normal, tmp_path):
    file = normal.write(tmp_path / "past.csv")
    R = fit_file(file, max_knots=500)
    assert R.to_json() == tl.Isotonic().fit(normal.y, normal.dist).compress(500).to_json()


@pytest.mark.parametrize("grouped", [False, True], ids=["pooled", "grouped"])
@pytest.mark.usefixtures("small_chunks")
def test_more_rows_than_are_held_stay_within_the_stated_bound(grouped, monkeypatch, tmp_path):
    monkeypatch.setattr(_fit, "_ROWS", 2048)
    monkeypatch.setattr(_fit, "_ROWS_WITH_MORE", 2048)
    monkeypatch.setattr(_fit, "_KNOTS", 2000)
    case = make_case("normal", n=20_000)
    file = case.write(tmp_path / "past.parquet")
    columns = Columns(group="region" if grouped else None)
    R = fit_file(file, columns=columns)
    whole = R.scores_
    assert whole.total == 20_000
    assert 0 < R.compression_error_ < 0.02
    scores = np.sort(case.dist.score(case.y))
    reached = whole.at(scores)[1] / whole.total
    np.testing.assert_allclose(
        reached, np.arange(1, 20_001) / 20_000, rtol=0, atol=R.compression_error_ + 1e-12
    )
    if grouped:
        assert R.groups_ == ["a,b", "north", "south"]
        counts = [R._group_scores[name].total for name in R.groups_]
        assert counts == [np.count_nonzero(case.groups == name) for name in R.groups_]


@pytest.mark.usefixtures("small_chunks")
def test_discrete_scores_stay_exact_however_many_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(_fit, "_ROWS", 2048)
    monkeypatch.setattr(_fit, "_ROWS_WITH_MORE", 2048)
    monkeypatch.setattr(_fit, "_KNOTS", 100)
    y = np.random.default_rng(0).integers(0, 50, size=9000).astype(float)
    path = tmp_path / "past.csv"
    path.write_text("y,mean\n" + "".join(f"{value},10\n" for value in y))
    expected = tl.Isotonic()
    with pytest.warns(tl.CalibrationWarning, match="only 50 distinct scores"):
        expected.fit(y, tl.Point(np.full(9000, 10.0)))
    with pytest.warns(tl.CalibrationWarning, match="only 50 distinct scores") as caught:
        R = fit_file(path)
    assert len(caught) == 1
    assert R.compression_error_ == 0
    assert R.to_json() == expected.to_json()


@pytest.mark.usefixtures("small_chunks")
def test_rows_without_weight_may_fill_whole_parts(monkeypatch, tmp_path):
    monkeypatch.setattr(_fit, "_ROWS", 1024)
    monkeypatch.setattr(_fit, "_ROWS_WITH_MORE", 1024)
    y = np.random.default_rng(0).normal(size=3000)
    path = tmp_path / "past.csv"
    rows = (f"{value},0,1,{0 if i < 2048 else 1}\n" for i, value in enumerate(y))
    path.write_text("y,mean,std,w\n" + "".join(rows))
    R = fit_file(path, columns=Columns(weight="w"))
    np.testing.assert_array_equal(R.scores_.values, np.sort(y[2048:]))


def test_the_share_read_grows_to_the_whole(case, tmp_path):
    for ending in ENDINGS:
        told: list[tuple[int, float]] = []
        file = case.write(tmp_path / f"past{ending}")
        fit_file(file, progress=lambda rows, share: told.append((rows, share)))  # noqa: B023
        assert told[-1] == (5000, 1.0)


@pytest.mark.usefixtures("small_chunks")
def test_progress_is_told_of_every_chunk(normal, tmp_path):
    told: list[tuple[int, float]] = []
    fit_file(normal.write(tmp_path / "past.parquet"), progress=lambda *so_far: told.append(so_far))
    assert [rows for rows, _ in told] == [1024, 2048, 3072, 4096, 5000]
    np.testing.assert_allclose(
        [share for _, share in told], np.array([rows for rows, _ in told]) / 5000
    )


def test_a_score_beyond_numbers_names_its_row(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("y,mean,std\n1,2,3\n1e300,0,1e-300\n")
    with pytest.raises(FileError) as caught:
        fit_file(path)
    assert str(caught.value) == (
        f"{path}, line 3: the outcome lies further from its forecast than float64 can count in "
        f"units of the forecast's scale. Check for a scale that is almost 0."
    )


@pytest.mark.parametrize(
    "recalibrator, columns, message",
    [
        (tl.Conditional(), {}, "is learned from features and cannot be fitted on a file"),
        (tl.Grouped(), {}, "needs the column of the groups. Name it with --group."),
        (tl.Beta(), {"group": "region"}, "expected Grouped(Beta())."),
        (None, {"group": "id"}, "Is it a name of each row rather than of a group?"),
    ],
    ids=["features", "no groups", "groups", "too many groups"],
)
def test_what_cannot_be_fitted_on_a_file(
    normal, recalibrator, columns, message, monkeypatch, tmp_path
):
    monkeypatch.setattr(_groups, "MOST_GROUPS", 100)
    file = normal.write(tmp_path / "past.csv")
    with pytest.raises(FileError) as caught:
        fit_file(file, recalibrator, columns=Columns(**columns))
    assert message in str(caught.value)
