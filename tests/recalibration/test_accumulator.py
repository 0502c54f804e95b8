"""One accumulator behind partial_fit, files, clusters and batches."""

import itertools
import json

import numpy as np
import pytest

import trueline as tl
from trueline import documents
from trueline.recalibration import Preparation, ScoreAccumulator, _accumulator
from trueline.recalibration._document import InvalidMapError
from trueline.scores import ScoreRows

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
    with pytest.raises(ValueError, match="a score is nan"):
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
    large.add(ScoreRows.points("residual", np.arange(2.0), np.full(2, 9e29)))
    with pytest.raises(ValueError, match=r"sample_weight sums to 1\.8e\+30, beyond what float64"):
        large.finish(tl.Isotonic())


def test_bytes_of_something_else_are_refused():
    (one, *_), *_ = parts()
    with pytest.raises(ValueError, match="the scores are not those that a worker sent"):
        ScoreAccumulator.from_bytes(one.to_bytes()[:-3], MOST)


def test_rounded_scores_are_counted_in_cells_as_they_would_be_sorted(monkeypatch):
    monkeypatch.setattr(_accumulator, "LIMIT", 100)
    monkeypatch.setattr(_accumulator, "_WAITING", 64)
    s = np.random.default_rng(0).normal(size=2000)
    s[7:11] = [2.0**332, np.nextafter(2.0**332, 0.0), 2.0**-332, 0.0]
    found = []
    for counted in (1, 1 << 30):  # all in cells, and none
        monkeypatch.setattr(_accumulator, "_COUNTED", counted)
        one, two = ScoreAccumulator("residual"), ScoreAccumulator("residual")
        for place in np.array_split(np.arange(2000), 37):
            (one if place[0] % 2 else two).add(ScoreRows.points("residual", s[place]))
        found.append(one.merge(two).finish(tl.Isotonic()).to_bytes())
    assert found[0] == found[1]
    assert tl.load(found[0]).scores_.rounded  # the limits of scores hold for rounded ones


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


def interval_parts(preparation, sizes=(400, 1, 299)):
    """Accumulators of parts of rows on atoms, and the map of all rows in memory."""
    rng = np.random.default_rng(0)
    n = sum(sizes)
    mean = rng.gamma(2.0, 1.0, size=n)
    y, dist = rng.poisson(mean).astype(float), tl.Normal(mean, np.sqrt(mean))
    codes, made = rng.integers(0, 3, size=n), []
    for place in np.split(np.arange(n), np.cumsum(sizes)[:-1]):
        part = ScoreAccumulator(dist.score_kind, preparation=preparation)
        rows = ScoreRows.of_outcomes(y[place], preparation(dist[place]))
        part.add(rows, codes[place], NAMES)
        made.append(part)
    whole = tl.Grouped()._fit_prepared(preparation, y, dist, None, np.array(NAMES)[codes])
    return made, whole


COUNTS = Preparation(0.1, tl.Support(low=0, step=1).atoms(np.arange(10.0)))


@pytest.mark.parametrize("preparation", [COUNTS, Preparation(0.25)], ids=["atoms", "width"])
def test_the_preparation_and_intervals_go_with_the_scores(preparation):
    made, whole = interval_parts(preparation)
    assert whole.least_width_ == preparation.least_width
    for order in itertools.permutations(made):
        sent = [ScoreAccumulator.from_bytes(part.to_bytes(), MOST) for part in order]
        for one, two, three in (order, sent):
            assert one.merge(two.merge(three)).finish(tl.Grouped()).to_bytes() == whole.to_bytes()


def test_scores_of_forecasts_that_were_prepared_differently_do_not_merge():
    one, two = (interval_parts(p)[0][0] for p in (COUNTS, Preparation()))
    with pytest.raises(ValueError, match=r"a least width of 0\.1 and atoms at 0, 1, 2") as bad:
        one.merge(two)
    assert "with no least width and no atoms; expected the same" in str(bad.value)


@pytest.mark.parametrize(
    "field, value",
    [
        ("n", 0),
        ("n", 1.5),
        ("excluded", 401),
        ("kind", "other"),
        ("preparation", {"least_width": -1.0, "atoms": None}),
        ("preparation", {"least_width": 0.0, "atoms": {"values": [1.0, 0.0], "cuts": [0.5]}}),
    ],
)
def test_bytes_are_checked_completely(field, value):
    (one, *_), _ = interval_parts(COUNTS)
    document = documents.decode(one.to_bytes(), json.loads, _accumulator._expect, MOST)
    assert document.keys() >= {field}
    with pytest.raises((ValueError, InvalidMapError)):
        ScoreAccumulator.from_bytes(documents.encode(document | {field: value}), MOST)


def test_outcomes_that_the_preparation_excludes_are_counted():
    (one, two, _), _ = interval_parts(COUNTS)
    rows = ScoreRows.of_outcomes([0.5, 2.0, -1.0], COUNTS(tl.Normal(np.ones(3), 1.0)))
    one.add(rows, np.zeros(3, dtype=int), NAMES)
    merged = ScoreAccumulator.from_bytes(one.to_bytes(), MOST).merge(two)
    assert merged.excluded == 2
    with pytest.warns(tl.CalibrationWarning, match="2 of 404 outcomes are not among the values"):
        merged.finish(tl.Grouped(), warn=True)


def test_later_parts_that_the_first_excludes_are_warned_of():
    y = np.random.default_rng(0).poisson(1.2, size=200).astype(float)
    F = tl.Normal(np.full(200, 1.2), 1.1)
    R = tl.Isotonic().partial_fit(y, F)
    with pytest.warns(tl.CalibrationWarning, match="1 of 203 outcomes are not among") as found:
        R.partial_fit([0.0, 1.5, 2.0], F[:3])
    assert found[0].filename == __file__
    R.partial_fit([0.0, 1.0, 2.0], F[:3])  # said once
