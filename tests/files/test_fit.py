"""Maps fitted on files are those fitted in Python."""

import numpy as np
import pyarrow as pa
import pytest

import trueline as tl
from tests.files.cases import ENDINGS, make_case
from trueline.files import Columns, FileError, _chunks, _passes
from trueline.recalibration import _accumulator
from trueline.scores import _sorted as _scores

METHODS = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto()]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_chunks")
def test_the_map_of_a_file_is_that_of_its_rows(case, ending, tmp_path):
    file = case.write(tmp_path / f"past{ending}")
    assert tl.files.fit(file).to_json() == tl.Isotonic().fit(case.y, case.dist).to_json()


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_with_every_recalibrator(normal, method, tmp_path):
    file = normal.write(tmp_path / "past.parquet")
    expected = method._unfitted_copy().fit(normal.y, normal.dist)
    assert tl.files.fit(file, method).to_json() == expected.to_json()
    assert not method._is_fitted()


@pytest.mark.usefixtures("small_chunks")
def test_with_weights(case, tmp_path):
    file = case.write(tmp_path / "past.csv")
    expected = tl.Isotonic().fit(case.y, case.dist, case.weight)
    assert tl.files.fit(file, columns=Columns(weight="weight")).to_json() == expected.to_json()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks")
def test_with_groups(case, weighted, tmp_path):
    file = case.write(tmp_path / "past.csv")
    weight = case.weight if weighted else None
    expected = tl.Grouped().fit(case.y, case.dist, weight, case.groups)
    columns = Columns(group="region", weight="weight" if weighted else None)
    assert tl.files.fit(file, columns=columns).to_json() == expected.to_json()


def test_groups_that_are_numbers(tmp_path):
    case = make_case("normal", n=400)
    groups = np.arange(400) % 3
    table = case.table.set_column(
        case.table.column_names.index("region"), "region", pa.array(groups)
    )
    case.table = table
    file = case.write(tmp_path / "past.parquet")
    R = tl.files.fit(file, columns=Columns(group="region"))
    assert R.groups_ == [0, 1, 2]
    assert R.to_json() == tl.Grouped().fit(case.y, case.dist, groups=groups).to_json()


def test_many_scores_are_compressed_as_in_python(normal, tmp_path):
    file = normal.write(tmp_path / "past.csv")
    R = tl.files.fit(file, max_knots=500)
    assert R.to_json() == tl.Isotonic().fit(normal.y, normal.dist).compress(500).to_json()


def test_groups_keep_their_scores_however_many_there_are(monkeypatch, tmp_path):
    monkeypatch.setattr(_accumulator, "_KNOTS", 3000)
    case = make_case("normal", n=12_000)
    file = case.write(tmp_path / "past.parquet")
    groups = np.arange(12_000) % 24  # of 500 rows
    names = case.table.column_names
    case.table = case.table.set_column(names.index("region"), "region", pa.array(groups))
    many = case.write(tmp_path / "many.parquet")
    columns = Columns(group="region")
    R = tl.files.fit(many, columns=columns)
    assert R.compression_error_ == 0
    assert R.to_json() == tl.Grouped().fit(case.y, case.dist, groups=groups).to_json()
    # Few groups share what all may hold together; the pooled map has its own.
    few = tl.files.fit(file, columns=columns)
    assert [len(scores.values) for scores in few._group_scores.values()] == [1000] * 3
    assert few.compression_error_ < 2 / 1000
    assert len(few.scores_.values) == 12_000
    fewer = tl.files.fit(file, columns=columns, max_knots=700)
    assert [len(scores.values) for scores in fewer._group_scores.values()] == [700] * 3
    assert len(fewer.scores_.values) == 700


@pytest.mark.parametrize(
    "sizes, whole, share",
    [
        ([5, 5, 5], 15, 5),
        ([5, 5, 6], 15, 5),
        ([1, 2, 30], 20, 17),
        ([30, 1, 30], 21, 10),
        ([7], 3, 3),
        ([4, 4], 100, 4),
    ],
)
def test_small_groups_leave_what_they_do_not_need(sizes, whole, share):
    assert _accumulator._share(sizes, whole) == share
    assert sum(min(size, share) for size in sizes) <= whole


def test_a_number_of_knots_that_is_none(normal, tmp_path):
    file = normal.write(tmp_path / "past.csv")
    with pytest.raises(ValueError, match="max_knots is 1; expected an integer of 2 or more"):
        tl.files.fit(file, max_knots=1)


@pytest.fixture
def small_states(monkeypatch):
    """Few rows are held as they are, and scores are rounded from a thousand on."""
    monkeypatch.setattr(_accumulator, "LIMIT", 1000)
    monkeypatch.setattr(_accumulator, "_WAITING", 2048)
    monkeypatch.setattr(_accumulator, "_COUNTED", 100)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks", "small_states")
def test_scores_that_are_too_many_are_those_of_partial_fit(weighted, tmp_path):
    case = make_case("normal", n=20_000)
    file = case.write(tmp_path / "past.parquet")
    R = tl.files.fit(file, columns=Columns(weight="weight" if weighted else None))
    w = case.weight if weighted else np.ones(20_000)
    scores = case.dist.score(case.y)
    expected = _scores.Exact("standardised", *_sorted(scores, w)).round()
    assert R.scores_.rounded
    np.testing.assert_array_equal(R.scores_.values, expected.values)
    np.testing.assert_array_equal(R.scores_.cumulative()[1], expected.cumulative()[1])
    assert R.compression_error_ == 0


def _sorted(scores, w):
    order = np.argsort(scores[w > 0])
    return scores[w > 0][order], w[w > 0][order]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks", "small_states")
def test_many_groups_stay_within_the_stated_bound(weighted, monkeypatch, tmp_path):
    monkeypatch.setattr(_passes, "_MAX_VALUES", 3000)
    monkeypatch.setattr(_accumulator, "_KNOTS", 1500)
    case = make_case("normal", n=20_000)
    file = case.write(tmp_path / "past.parquet")
    R = tl.files.fit(file, columns=Columns(group="region", weight="weight" if weighted else None))
    w = case.weight if weighted else np.ones(20_000)
    assert R.scores_.error == 0  # all rows together are counted, not compressed
    assert R.scores_.total == w.sum()
    assert R.groups_ == ["a,b", "north", "south"]
    assert 0 < R.compression_error_ < 0.02
    for name, found in R._group_scores.items():
        scores, weight = _sorted(case.dist.score(case.y), np.where(case.groups == name, w, 0.0))
        assert found.total == weight.sum()
        reached = found.at(scores)[1] / found.total
        # A score that was rounded up has its own weight above it.
        bound = found.error + weight.max() / found.total
        np.testing.assert_allclose(reached, np.cumsum(weight) / found.total, rtol=0, atol=bound)


@pytest.mark.usefixtures("small_chunks", "small_states")
def test_discrete_scores_stay_exact_however_many_rows(tmp_path):
    y = np.random.default_rng(0).integers(0, 50, size=9000).astype(float)
    path = tmp_path / "past.csv"
    path.write_text("y,mean\n" + "".join(f"{value},10\n" for value in y))
    expected = tl.Isotonic(support=None)
    with pytest.warns(tl.CalibrationWarning, match="only 50 distinct scores"):
        expected.fit(y, tl.Point(np.full(9000, 10.0)))
    with pytest.warns(tl.CalibrationWarning, match="only 50 distinct scores") as caught:
        R = tl.files.fit(path, tl.Isotonic(support=None))
    assert len(caught) == 1
    assert R.compression_error_ == 0
    assert R.to_json() == expected.to_json()


@pytest.mark.usefixtures("small_chunks", "small_states")
def test_rows_without_weight_may_fill_whole_parts(tmp_path):
    y = np.random.default_rng(0).normal(size=6000)
    path = tmp_path / "past.csv"
    rows = (f"{value},0,1,{0 if i < 5000 else 1}\n" for i, value in enumerate(y))
    path.write_text("y,mean,std,w\n" + "".join(rows))
    R = tl.files.fit(path, columns=Columns(weight="w"))
    np.testing.assert_array_equal(R.scores_.values, np.sort(y[5000:]))


def test_the_share_read_grows_to_the_whole(case, tmp_path):
    for ending in ENDINGS:
        told: list[tuple[int, float]] = []
        file = case.write(tmp_path / f"past{ending}")
        tl.files.fit(file, progress=lambda rows, share: told.append((rows, share)))  # noqa: B023
        assert told[-1] == (5000, 1.0)


@pytest.mark.usefixtures("small_chunks")
def test_progress_is_told_of_every_chunk(normal, tmp_path):
    told: list[tuple[int, float]] = []
    tl.files.fit(
        normal.write(tmp_path / "past.parquet"), progress=lambda *so_far: told.append(so_far)
    )
    assert [rows for rows, _ in told] == [1024, 2048, 3072, 4096, 5000]
    np.testing.assert_allclose(
        [share for _, share in told], np.array([rows for rows, _ in told]) / 5000
    )


def test_a_score_beyond_numbers_names_its_row(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("y,mean,std\n1,2,3\n1e300,0,1e-300\n")
    with pytest.raises(FileError) as caught:
        tl.files.fit(path)
    assert str(caught.value) == (
        f"{path}, line 3: a score is inf, beyond what float64 can carry; expected 0 or a size of "
        f"about 1e-100 to 1e+100. Check for a forecast whose scale is almost 0 or huge, and for "
        f"outcomes in another unit."
    )


@pytest.mark.parametrize(
    "recalibrator, columns, message",
    [
        (tl.Conditional(), {}, "is learned from features and cannot be fitted on a file"),
        (tl.IDR(), {}, "IDR() is not learned from sorted scores and cannot be fitted on a file"),
        (tl.Grouped(), {}, "needs the column of the groups. Name it with Columns(group=...)."),
        (tl.BetaCalibration(), {"group": "region"}, "expected Grouped(BetaCalibration())."),
        (None, {"group": "id"}, "Is it a name of each row rather than of a group?"),
    ],
    ids=["features", "no scores", "no groups", "groups", "too many groups"],
)
def test_what_cannot_be_fitted_on_a_file(
    normal, recalibrator, columns, message, monkeypatch, tmp_path
):
    monkeypatch.setattr(_chunks, "MOST_GROUPS", 100)
    file = normal.write(tmp_path / "past.csv")
    with pytest.raises(FileError) as caught:
        tl.files.fit(file, recalibrator, columns=Columns(**columns))
    assert message in str(caught.value)
