"""Evaluations of files are those of their rows."""

import numpy as np
import pytest

import trueline as tl
from tests.files.cases import ENDINGS, make_case
from trueline.files import Columns, FileError, _source
from trueline.metrics import EvaluationAccumulator, _accumulator, _evaluate as metrics_evaluate
from trueline.metrics._accumulator import PitHistogram, SpreadCells


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_chunks")
def test_the_result_is_that_of_the_rows_to_the_last_bit(case, ending, tmp_path):
    file = case.write(tmp_path / f"past{ending}")
    result = tl.files.evaluate(file, coverage=0.8)
    assert result.exact
    assert result.groups == {}
    assert result.overall == tl.evaluate(case.y, case.dist, coverage=0.8)


@pytest.mark.usefixtures("small_chunks")
def test_with_weights(case, tmp_path):
    file = case.write(tmp_path / "past.csv")
    result = tl.files.evaluate(file, columns=Columns(weight="weight"))
    assert result.overall == tl.evaluate(case.y, case.dist, sample_weight=case.weight)


@pytest.mark.usefixtures("small_chunks")
def test_with_a_map(case, tmp_path):
    file = case.write(tmp_path / "past.parquet")
    R = tl.Isotonic().fit(case.y[:1000], case.dist[:1000])
    expected = tl.evaluate(case.y, R.transform(case.dist), n_fit=1000)
    assert tl.files.evaluate(file, R).overall == expected


@pytest.mark.usefixtures("small_chunks")
def test_with_a_map_a_group(normal, tmp_path):
    file = normal.write(tmp_path / "past.csv")
    R = tl.Grouped().fit(normal.y, normal.dist, groups=normal.groups)
    result = tl.files.evaluate(file, R, columns=Columns(group="region"))
    expected = tl.evaluate(normal.y, R.transform(normal.dist, groups=normal.groups), n_fit=5000)
    for name, value in expected.to_dict().items():
        np.testing.assert_allclose(getattr(result.overall, name), value, rtol=1e-12, err_msg=name)
    south = np.count_nonzero(normal.groups == "south")
    floor = tl.calibration_floor(south, south)
    np.testing.assert_allclose(result.groups["south"].calibration_floor, floor, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks")
def test_each_group_is_judged_as_if_alone(case, weighted, tmp_path):
    file = case.write(tmp_path / "past.csv")
    columns = Columns(group="region", weight="weight" if weighted else None)
    result = tl.files.evaluate(file, columns=columns)
    assert list(result.groups) == ["a,b", "north", "south"]
    for name, found in result.groups.items():
        rows = case.groups == name
        w = case.weight[rows] if weighted else None
        alone = tl.evaluate(case.y[rows], case.dist[rows], sample_weight=w).to_dict()
        # Steps are spread by other random numbers than those of the group alone.
        error, drawn = alone["calibration_error"], case.dist._has_atoms()
        np.testing.assert_allclose(found.calibration_error, error, rtol=0.05 if drawn else 1e-12)
        for field in ("n", "calibration_floor", "coverage", "coverage_expected", "crps"):
            np.testing.assert_allclose(getattr(found, field), alone[field], rtol=1e-12)
        np.testing.assert_allclose(found.interval_width, alone["interval_width"], rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.usefixtures("small_chunks")
def test_rows_that_are_too_many_to_sort(case, weighted, monkeypatch, tmp_path):
    monkeypatch.setattr(EvaluationAccumulator, "most_rows", 2000)
    file = case.write(tmp_path / "past.parquet")
    w = case.weight if weighted else None
    result = tl.files.evaluate(file, columns=Columns(weight="weight" if weighted else None))
    assert not result.exact
    expected = tl.evaluate(case.y, case.dist, sample_weight=w).to_dict()
    found = result.overall.to_dict()
    p_values = found.pop("p_value"), expected.pop("p_value")
    # A bin has 500 rows; at each of its ends two that share a cell may be on the other side.
    np.testing.assert_allclose(found.pop("ence"), expected.pop("ence"), rtol=4 / 500)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12, err_msg=name)
    # Of 5000 rows a difference of 1e-6 in the statistic changes the logarithm of the p-value
    # by up to 4 n d 1e-6 = 0.02.
    np.testing.assert_allclose(*np.log(np.maximum(p_values, 1e-300)), atol=0.02)


def test_blocks_of_evaluate_fill_chunks_of_files():
    # What the sums of a file are the same for, to the last bit.
    assert _source._MOST_ROWS % metrics_evaluate._BLOCK == 0
    assert (_source._VALUES // 256) % metrics_evaluate._BLOCK == 0


def test_the_histogram_has_the_distance_of_the_values():
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.beta(1.1, 1.0, size=20_000), [0.0, 1.0, 5e-324]])
    w = rng.random(u.size)
    for weight in (None, w):
        histogram = PitHistogram()
        for rows in (slice(0, 7000), slice(7000, None)):
            histogram.add(u[rows], None if weight is None else weight[rows])
        exact = _accumulator.Ecdf(u.copy(), weight)
        statistic, p = histogram.test(u.size)
        assert abs(statistic - exact.distance()) <= 1e-6
        np.testing.assert_allclose(p, exact.test(u.size)[1], rtol=1e-3)
        np.testing.assert_allclose(histogram.test(u.size, 500), exact.test(u.size, 500), rtol=1e-2)


def cells_of(variance, squared_error, step):
    """Rows in parts, and the parts merged."""
    cells = SpreadCells()
    for start in range(0, variance.size, step):
        part = SpreadCells()
        part.add(variance[start : start + step], squared_error[start : start + step], None)
        cells = cells.merge(part)
    return cells


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_cells_of_equal_variance(order):
    rng = np.random.default_rng(0)
    n = 100_000
    variance = rng.lognormal(sigma=0.5, size=n)
    if order == "sorted":
        variance.sort()
    squared_error = variance * rng.chisquare(1, size=n) * (1 + (variance > 1))
    cells = cells_of(variance, squared_error, 10_000)
    np.testing.assert_allclose(cells.means(), (variance.mean(), squared_error.mean()), rtol=1e-12)
    exact = _accumulator.binned_error(variance, squared_error, 10, None)
    # A bin has 10,000 rows. A cell has three of them at most, and a row is worth 1e-4 of its bin.
    np.testing.assert_allclose(cells.ence(), exact, rtol=1e-3)


def test_rows_of_one_variance_stay_one_cell():
    squared_error = np.random.default_rng(0).chisquare(1, size=1000)
    cells = cells_of(np.full(1000, 4.0), squared_error, 100)
    expected = abs(2.0 - np.sqrt(squared_error.mean())) / 2.0
    np.testing.assert_allclose(cells.ence(), expected, rtol=1e-12)


def test_weights_that_are_all_zero(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text("y,mean,std,w\n1,2,3,0\n4,5,6,0\n")
    with pytest.raises(FileError) as caught:
        tl.files.evaluate(path, columns=Columns(weight="w"))
    assert str(caught.value) == (
        f"{path}, column 'w' is 0 in every row; expected a weight above 0 in at least one."
    )


@pytest.mark.usefixtures("small_chunks")
def test_a_coverage_that_the_map_cannot_support_warns_once(normal, tmp_path):
    file = normal.write(tmp_path / "past.csv")
    R = tl.Isotonic().fit(normal.y[:10], normal.dist[:10])
    with pytest.warns(tl.CalibrationWarning, match="Fit on at least 19 rows") as caught:
        tl.files.evaluate(file, R)
    assert len(caught) == 1


@pytest.mark.usefixtures("small_chunks")
def test_quantiles_that_cross_are_counted_over_the_file(tmp_path):
    case = make_case("quantiles")
    values = case.dist.values.copy()
    values[::10] = values[::10, ::-1]
    for i, name in enumerate(n for n in case.table.column_names if n.startswith("q")):
        place = case.table.column_names.index(name)
        case.table = case.table.set_column(place, name, [values[:, i]])
    file = case.write(tmp_path / "past.parquet")
    with pytest.warns(tl.CalibrationWarning) as caught:
        result = tl.files.evaluate(file)
    assert [str(w.message) for w in caught] == [
        "quantiles cross in 500 of 5,000 rows; those rows are sorted."
    ]
    assert result.overall == tl.evaluate(case.y, case.dist)


def test_a_result_prints_as_plain_numbers(normal, tmp_path):
    file = normal.write(tmp_path / "past.parquet")
    columns = Columns(group="region", weight="weight")
    R = tl.Grouped().fit(normal.y, normal.dist, groups=normal.groups)
    result = tl.files.evaluate(file, R, columns=columns)
    assert "np." not in repr(result)
    assert all(type(value) in (int, float) for value in vars(result.groups["south"]).values())


def test_it_prints_the_evaluation_and_a_line_per_group(tmp_path):
    rows = "".join(f"{i % 3},0,1,{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "past.csv").write_text(f"y,mean,std,region\n{rows}")
    found = tl.files.evaluate(tmp_path / "past.csv", columns=Columns(group="region"))
    head, *groups = repr(found).removeprefix(f"{found.overall!r}\n").splitlines()
    assert head == "2 groups"
    assert groups == [
        f"  {name}: 30 rows, coverage {group.coverage:.4g}, CRPS {group.crps:.4g}"
        for name, group in found.groups.items()
    ]
