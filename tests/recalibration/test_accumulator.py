"""One accumulator behind partial_fit, files, clusters and batches."""

import itertools

import numpy as np
import pytest

import trueline as tl
from trueline.recalibration import ScoreAccumulator, ScoreRows, _accumulator

NAMES = ["south", "north", "west"]
MOST = 1 << 30


def parts(n=900, weighted=False, kind="residual"):
    """Accumulators of three parts of the same rows, and the rows."""
    rng = np.random.default_rng(0)
    s, codes = rng.normal(size=n).round(2) + 0.0, rng.integers(0, 3, size=n)
    w = rng.integers(0, 4, size=n).astype(float) if weighted else None
    rows = ScoreRows.points(kind, s, w)
    made = []
    for place in np.array_split(np.arange(n), 3):
        part = ScoreAccumulator(kind)
        part.add(rows.take(place), codes[place], NAMES)
        made.append(part)
    return made, s, w, np.array(NAMES)[codes]


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_parts_in_any_order_and_as_bytes_are_the_whole(weighted):
    made, s, w, groups = parts(weighted=weighted)
    expected = tl.Grouped().fit_scores(s, w, groups, kind="residual")
    for order in itertools.permutations(made):
        merged = order[0].merge(order[1]).merge(order[2])
        assert merged.finish(tl.Grouped()).to_bytes() == expected.to_bytes()
        sent = [ScoreAccumulator.from_bytes(part.to_bytes(), MOST) for part in order]
        merged = sent[0].merge(sent[1].merge(sent[2]))
        assert merged.finish(tl.Grouped()).to_bytes() == expected.to_bytes()
        assert merged.n == (len(s) if w is None else np.count_nonzero(w))
        assert merged.names == sorted(NAMES)


def test_merging_changes_neither():
    (one, two, _), *_ = parts()
    before = one.to_bytes(), two.to_bytes()
    merged = one.merge(two)
    merged.add(ScoreRows.points("residual", np.zeros(5)), np.zeros(5, dtype=int), ["new"])
    assert (one.to_bytes(), two.to_bytes()) == before


def test_bad_rows_change_nothing():
    (one, *_), *_ = parts()
    before = one.to_bytes()
    with pytest.raises(ValueError, match="a score is not finite"):
        one.add(ScoreRows.points("residual", np.array([1.0, np.nan])), np.zeros(2, int), NAMES)
    assert one.to_bytes() == before


def test_rows_without_weight_are_none():
    empty = ScoreAccumulator("residual")
    empty.add(ScoreRows.points("residual", np.ones(3), np.zeros(3)), np.arange(3), NAMES)
    assert empty.n == 0
    assert empty.names == []
    assert empty.to_bytes() == b""


def test_weights_beyond_float64_are_refused():
    large = ScoreAccumulator("residual")
    large.add(ScoreRows.points("residual", np.arange(2.0), np.full(2, 1.7e308)))
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="sample_weight sums to more than float64 can hold"),
    ):
        large.finish(tl.Isotonic())


def test_bytes_of_something_else_are_refused():
    (one, *_), *_ = parts()
    with pytest.raises(ValueError, match="the scores are not those that a worker sent"):
        ScoreAccumulator.from_bytes(one.to_bytes()[:-3], MOST)


def test_rounded_scores_are_counted_in_cells_as_they_would_be_sorted(monkeypatch):
    monkeypatch.setattr(_accumulator, "LIMIT", 100)
    monkeypatch.setattr(_accumulator, "_WAITING", 64)
    s = np.random.default_rng(0).normal(size=2000)
    s[7] = 1.7e308
    found = []
    for counted in (1, 1 << 30):  # all in cells, and none
        monkeypatch.setattr(_accumulator, "_COUNTED", counted)
        one, two = ScoreAccumulator("residual"), ScoreAccumulator("residual")
        for place in np.array_split(np.arange(2000), 37):
            (one if place[0] % 2 else two).add(ScoreRows.points("residual", s[place]))
        found.append(one.merge(two).finish(tl.Isotonic()).to_bytes())
    assert found[0] == found[1]


def test_groups_are_compressed_only_if_they_hold_many_values(monkeypatch):
    monkeypatch.setattr(_accumulator, "_KNOTS", 300)
    monkeypatch.setattr(_accumulator, "_FEWEST_KNOTS", 10)
    rng = np.random.default_rng(0)
    for digits, compressed in ((1, False), (9, True)):
        bounded = ScoreAccumulator("residual", max_values=1000)
        for _ in range(10):
            rows = ScoreRows.points("residual", rng.normal(size=500).round(digits))
            bounded.add(rows, rng.integers(0, 3, size=500), NAMES)
        R = bounded.finish(tl.Grouped())
        assert (R.compression_error_ > 0) is compressed
        assert R.compression_error_ < 0.05
        assert R.scores_.error == 0
        assert R.scores_.total == 5000
