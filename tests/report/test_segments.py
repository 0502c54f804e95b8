"""Groups and segments: what is really off is found, and noise is not."""

import numpy as np
import pytest
from scipy.stats import binom

import trueline as tl
from trueline._report._inputs import Inputs, parts
from trueline._report._measure import measure
from trueline._report._segments import by_group, worst_segments
from trueline.features import Parts, categories


def measured(y, dist, w=None, n_fit=None):
    inputs = Inputs(y, w, {}, {}, None, "", 0.9, n_fit, 0)
    return measure("f", "after", dist, inputs, n_fit)


@pytest.fixture(scope="module")
def planted():
    """1,000 rows of which those with x in the upper tenth are much wilder than predicted."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3))
    wild = x[:, 1] > np.quantile(x[:, 1], 0.9)
    y = rng.normal(size=1000) * np.where(wild, 4.0, 1.0)
    return x, y, tl.Normal(np.zeros(1000), 1.0)


def test_the_worst_segment_is_the_planted_one(planted):
    x, y, F = planted
    columns = {f"x{j}": x[:, j] for j in range(3)}
    found = worst_segments(columns, [measured(y, F)], None, 100)
    worst = found.segments[0]
    assert worst.feature == "x1"
    assert worst.label.startswith("above ")
    assert worst.n == 100
    assert worst.shares[0].verdict.decision == "too narrow"
    # Of its own column no other part is off; in others the wild rows are spread thinly.
    assert not [s for s in found.segments[1:] if s.feature == "x1" and s.shares[-1].verdict.off]
    assert found.segments[1].shares[-1].evidence < 0.2 * worst.shares[-1].evidence


def test_its_numbers_are_those_of_its_rows(planted):
    x, y, F = planted
    worst = worst_segments({"x1": x[:, 1]}, [measured(y, F)], None, 10).segments[0]
    inside = x[:, 1] > np.sort(x[:, 1])[899]
    assert worst.shares[0].verdict.coverage == pytest.approx(tl.coverage(y[inside], F[inside]))
    lower, upper = F[inside].interval(0.9)
    assert worst.shares[0].width == pytest.approx(np.mean(upper - lower))


def test_segments_are_sorted_by_the_last_forecast(planted):
    x, y, F = planted
    group = categories(np.where(x[:, 1] > np.quantile(x[:, 1], 0.9), "wild", "calm"))
    true = tl.Normal(np.zeros(1000), np.where(group.codes == 1, 4.0, 0.2))  # calm ones are off
    found = by_group(group, [measured(y, F), measured(y, true)], None, 10)
    assert [s.label for s in found.segments] == ["calm", "wild"]
    found = by_group(group, [measured(y, true), measured(y, F)], None, 10)
    assert [s.label for s in found.segments] == ["wild", "calm"]


def test_noise_is_seldom_taken_for_a_fault():
    """Segments of a calibrated forecast are all within chance 19 times out of 20, or more.

    100 repetitions; with a chance of 0.05 each, 12 or fewer are off with probability 0.998.
    """
    rng = np.random.default_rng(0)
    off = 0
    for _ in range(100):
        x = rng.normal(size=(200, 4))
        y = rng.normal(size=200)
        F = tl.Normal(np.zeros(200), 1.0)
        columns = {str(j): x[:, j] for j in range(4)}
        off += worst_segments(columns, [measured(y, F)], None, 10).off > 0
    assert off <= 12
    assert binom.cdf(12, 100, 0.05) > 0.998


def test_weights_make_rows_worth_less():
    rng = np.random.default_rng(0)
    y, F = rng.normal(size=1000), tl.Normal(np.zeros(1000), 1.0)
    group = categories(np.arange(1000) % 2)
    plain = by_group(group, [measured(y, F)], None, 10).segments[0].shares[0].verdict
    w = rng.exponential(size=1000)
    heavy = by_group(group, [measured(y, F, w)], w, 10).segments[0].shares[0].verdict
    assert heavy.high - heavy.low > 1.2 * (plain.high - plain.low)


def test_many_rows_do_not_make_a_small_gap_a_fault():
    n = 400_000
    y = np.random.default_rng(0).normal(size=n)
    F = tl.Normal(np.zeros(n), 1.02)  # 90.7% instead of 90%: certain, and of no consequence
    found = by_group(categories(np.zeros(n)), [measured(y, F)], None, 10)
    verdict = found.segments[0].shares[0].verdict
    assert not verdict.by_chance
    assert verdict.words == "as they should; the gap is too small to matter"
    assert found.off == 0


def test_of_many_groups_the_worst_are_kept():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(200), 20)
    y = rng.normal(size=4000) * np.where(code == 150, 30.0, 1.0)
    F = tl.Normal(np.zeros(4000), 1.0)
    found = by_group(Parts([f"g{i}" for i in range(200)], code), [measured(y, F)], None, 30)
    assert found.looked_at == 200
    assert len(found.segments) == 30
    assert found.segments[0].label == "g150"
    evidence = [s.shares[-1].evidence for s in found.segments]
    assert evidence == sorted(evidence, reverse=True)


def inside_outside(*shares, n):
    """Groups of n rows each, of which these shares lie in a 90% interval; as outcomes and parts."""
    y = np.concatenate([np.where(np.arange(n) < round(share * n), 0.0, 9.0) for share in shares])
    return y, Parts([f"{share:.0%}" for share in shares], np.repeat(np.arange(len(shares)), n))


def test_the_least_likely_by_chance_stand_first_and_those_off_before_all():
    """By the size of the gap alone a few rows at 78% would stand above many at 96%, or not."""
    y, group = inside_outside(0.9, 0.96, 0.78, n=1000)
    few, _ = inside_outside(0.78, n=50)
    y = np.append(y, few)
    group = Parts([*group.labels, "78%, few"], np.append(group.codes, np.full(50, 3)))
    F = tl.Normal(np.zeros(y.size), 1.0)
    found = by_group(group, [measured(y, F)], None, 10)
    assert [s.label for s in found.segments] == ["78%", "96%", "78%, few", "90%"]
    assert [s.shares[0].verdict.decision for s in found.segments] == [
        "too narrow",
        "too wide",
        "too few rows to tell",
        "holds",
    ]
    # The likelihood of what was seen, against that of the best share: 780 of 1,000.
    ratio = binom.logpmf(780, 1000, 0.78) - binom.logpmf(780, 1000, 0.9)
    assert found.segments[0].shares[0].evidence == pytest.approx(ratio)
    assert found.segments[-1].shares[0].evidence == 0.0


@pytest.mark.parametrize(
    "n, verdict",
    [
        (1, "too few rows to tell"),
        (35, "too few rows to tell"),  # 0.9 ** 35 = 0.0250..: all inside is within chance
        (65, "too few rows to tell"),  # a range of 16 points
        (100, "holds"),
    ],
)
def test_where_nothing_could_be_found_off_nothing_is_said_to_hold(n, verdict):
    y = np.where(np.arange(n) < round(0.9 * n), 0.0, 9.0)
    found = by_group(categories(np.zeros(n)), [measured(y, tl.Normal(np.zeros(n), 1.0))], None, 10)
    assert found.segments[0].shares[0].verdict.decision == verdict
    assert found.too_few == (verdict != "holds")
    assert found.off == 0


def test_few_rows_that_are_off_all_the_same_are_told_so():
    y = np.full(12, 9.0)
    found = by_group(categories(y), [measured(y, tl.Normal(np.zeros(12), 1.0))], None, 10)
    assert found.segments[0].shares[0].verdict.decision == "too narrow"
    assert (found.off, found.too_few) == (1, 0)


def test_parts_of_a_column_are_of_about_equal_count():
    x = np.random.default_rng(0).exponential(size=1003)
    cut = parts(x, 10)
    counts = np.bincount(cut.codes)
    assert counts.min() >= 100
    assert counts.max() <= 101
    tops = [x[cut.codes == k].max() for k in range(10)]
    assert tops == sorted(tops)
    assert cut.labels[0].startswith("up to ")
    assert cut.labels[-1].startswith("above ")


def test_ties_stay_in_one_part():
    x = np.repeat([0.0, 1.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [500, *[3] * 9])
    cut = parts(x, 4)
    for value in np.unique(x):
        assert np.unique(cut.codes[x == value]).size == 1
    assert len(cut.labels) == cut.codes.max() + 1


@pytest.mark.parametrize(
    "values, labels",
    [
        (np.array(["b", "a", "b"]), ["a", "b"]),
        (np.array([True, False, True]), ["False", "True"]),
        (np.array([1.0, 0.0, np.nan]), ["(missing)", "0", "1"]),
        (np.array([None, "x", float("nan")], dtype=object), ["(missing)", "x"]),
        (np.array([[1], (2,), "x"], dtype=object), ["(2,)", "[1]", "x"]),
        (np.array(["", "  "]), ["(empty)"]),
        (np.array([b"raw", b"\xff"]), ["raw", "\ufffd"]),
    ],
)
def test_values_of_any_kind_are_named(values, labels):
    found = categories(values)
    assert found.labels == labels
    assert found.codes.size == len(values)


def test_missing_numbers_and_times_are_a_part_of_their_own():
    x = np.arange(100.0)
    x[:40] = np.nan
    cut = parts(x, 3)
    assert cut.labels[-1] == "(missing)"
    assert (cut.codes[:40] == len(cut.labels) - 1).all()
    day = np.datetime64("2024-01-01") + np.arange(100)
    day[5] = np.datetime64("NaT", "D")
    cut = parts(day, 2)
    assert cut.labels == ["up to 2024-02-20", "above 2024-02-20", "(missing)"]
    assert cut.codes[5] == 2


def test_a_column_without_differences_is_not_cut():
    assert parts(np.ones(50), 5) is None
    assert parts(np.array(["a"] * 50), 5) is None
    assert parts(np.full(50, np.nan), 5) is None


def test_a_column_may_be_called_like_one_of_ours(planted):
    x, y, _ = planted
    F = tl.Normal(x[:, 0], 1.0)
    found = worst_segments({"predicted median": x[:, 1]}, [measured(y, F)], None, 100)
    assert (found.given, found.added, found.looked_at) == (1, ("predicted median",), 20)
