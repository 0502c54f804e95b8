"""What is counted about forecasts while a map is fitted on them."""

import numpy as np
import pytest

import trueline as tl
from trueline.files import Columns, Tally, open_forecasts


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_it_counts_what_an_evaluation_finds(tmp_path, normal, small_chunks, ending, weight):
    path = normal.write(tmp_path / f"f{ending}")
    columns = Columns(group="region", weight=weight)
    forecasts = open_forecasts(path, columns)
    forecasts.tally = tally = Tally(0.7)
    R = tl.files.fit(forecasts)
    assert R.to_json() == tl.files.fit(path, columns=columns).to_json()
    result = tl.files.evaluate(path, columns=columns, coverage=0.7)
    assert tally.held == pytest.approx(result.overall.coverage, rel=1e-12)
    held = {str(name): share for name, (share, _) in tally.held_by_group().items()}
    assert held == pytest.approx({k: g.coverage for k, g in result.groups.items()}, rel=1e-12)
    w = np.ones(normal.y.size) if weight is None else normal.weight
    above = np.average(normal.y > normal.dist.median(), weights=w)
    assert tally.above == pytest.approx(above, rel=1e-12)
    assert tally.effective_rows == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-12)
    # 5,000 rows are more than twice those that are kept: every fourth of each piece is.
    dist, groups = tally.some_rows()
    rows = np.searchsorted(order := np.sort(normal.dist.mean()), dist.mean())
    rows = np.argsort(normal.dist.mean())[rows]
    assert order.size // 4 - 8 <= rows.size <= order.size // 4 + 8
    assert (np.diff(rows) > 0).all()
    assert np.diff(rows).max() <= 7
    np.testing.assert_array_equal(dist.std(), normal.dist.std()[rows])
    np.testing.assert_array_equal(groups, normal.groups[rows])


def test_outcomes_at_the_median_count_half(tmp_path):
    (tmp_path / "f.csv").write_text("y,mean\n1,1\n3,2\n1,2\n2,2\n")
    forecasts = open_forecasts(tmp_path / "f.csv")
    forecasts.tally = Tally(0.9)
    tl.files.fit(forecasts)
    assert forecasts.tally.above == 0.5
