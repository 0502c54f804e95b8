"""Rows drawn from a file: all of few, a fair sample of many."""

import numpy as np
import pytest

from tests.files.cases import ENDINGS, make_case
from trueline.files import Columns, _layout
from trueline.files._passes import sample_rows


def draw(path, most, seed=0, **columns):
    return sample_rows(path, Columns(**columns), most=most, random_state=seed)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("small_chunks")
def test_all_rows_where_there_are_few(case, ending, tmp_path):
    file = case.write(tmp_path / f"past{ending}")
    sample = draw(file, 5000, group="region", weight="weight", x=("id", "region"))
    assert sample.n == 5000
    np.testing.assert_array_equal(sample.y, case.y)
    np.testing.assert_array_equal(sample.dist.ppf(0.3), case.dist.ppf(0.3))
    np.testing.assert_array_equal(sample.weight, case.weight)
    np.testing.assert_array_equal(sample.groups, case.groups)
    assert list(sample.features["id"]) == case.table["id"].to_pylist()
    np.testing.assert_array_equal(sample.features["region"], case.groups)


@pytest.mark.usefixtures("small_chunks")
def test_rows_of_many_belong_together_and_keep_their_order(normal, tmp_path):
    file = normal.write(tmp_path / "past.parquet")
    sample = draw(file, 700, group="region", x=("id",))
    assert (sample.n, len(sample.y), len(sample.dist)) == (5000, 700, 700)
    rows = np.array([int(name) for name in sample.features["id"]])
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(sample.y, normal.y[rows])
    np.testing.assert_array_equal(sample.dist.loc, normal.dist.loc[rows])
    np.testing.assert_array_equal(sample.groups, normal.groups[rows])


@pytest.mark.usefixtures("small_chunks")
def test_every_row_has_the_same_chance(tmp_path):
    case = make_case("normal", n=3000)
    file = case.write(tmp_path / "past.parquet")
    counts = np.zeros(3)
    for seed in range(60):
        rows = np.array([int(name) for name in draw(file, 300, seed, x=("id",)).features["id"]])
        counts += np.bincount(rows // 1000, minlength=3)
    # 18,000 draws, a third each: the standard deviation is below sqrt(18000 * 2 / 9) = 64
    np.testing.assert_allclose(counts, 6000, atol=4 * 64)


def test_wide_forecasts_give_fewer_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(_layout, "_MOST_VALUES", 1300)
    file = make_case("samples", n=500).write(tmp_path / "past.csv")
    assert len(draw(file, 400).y) == 100  # 12 draws and the outcome


def test_features_are_numbers_times_or_text(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text(
        "y,mean,whole,number,when,text\n1,2,3,,2020-01-01,a\n1,2,4,.5,2020-01-02 10:00:00,007\n"
    )
    features = draw(path, 10, x=("whole", "number", "when", "text", "y")).features
    kinds = {name: values.dtype.kind for name, values in features.items()}
    assert kinds == {"whole": "i", "number": "f", "when": "M", "text": "O", "y": "i"}
    assert np.isnan(features["number"][0])
