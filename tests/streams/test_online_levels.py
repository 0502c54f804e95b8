"""The adaptive mode: its bound holds against anyone, and what is judged is what was issued."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import trueline as tl
from trueline.streams._levels import ExtendedQuantiles, adapt_levels

ZERO = tl.Point(0.0)  # whose score is y itself, without rounding
COVERAGE, RATE = 0.8, 0.05
MOST = 1e6  # how far an adversary may go


def outside(lower, upper, t):
    """Just above, else just below, else anywhere."""
    above, below = np.nextafter(upper, np.inf), np.nextafter(lower, -np.inf)
    return above if above <= MOST else below if below >= -MOST else 0.0


def alternating(lower, upper, t):
    above, below = np.nextafter(upper, np.inf), np.nextafter(lower, -np.inf)
    y = above if t % 2 else below
    return y if abs(y) <= MOST else 0.0


def growing(lower, upper, t):
    return (-1.0) ** (t // 3) * 1.01**t


def lulling(lower, upper, t):
    """Quiet until the interval is narrow, then far away, now here, now there."""
    return [0.0, MOST, 0.0, -MOST][t // 75 % 4] + 1e-6 * math.sin(t)


def stuck(lower, upper, t):
    """Nothing but ties, then something else."""
    return 3.0 if t < 150 else np.nextafter(upper, np.inf) if upper < MOST else 3.0


def inside(lower, upper, t):
    """Always in the middle: the interval shrinks to nothing and the levels cross."""
    return 0.5 * (lower + upper)


ADVERSARIES = [outside, alternating, growing, lulling, stuck, inside]
MODES = [
    {},
    {"window": 60},
    {"half_life": 25.0},
    {"recalibrator": tl.Isotonic(finite_sample=False), "window": 60},
    {"recalibrator": tl.Scaling(), "window": 60},
    {"recalibrator": tl.Smooth(), "window": 200},
]
# Quantiles of a smooth map take a root finder.
ROWS = {"Smooth()": 200}


def play(online, adversary, rows):
    """Yield each row: whether it was missed, and what the bound depends on."""
    online.update(0.3, ZERO)
    for t in range(rows):
        lower, upper = (float(end[0]) for end in online.transform(ZERO).interval(COVERAGE))
        quantiles = online._stream._quantiles()
        y = float(adversary(lower, upper, t))
        before = online.levels_
        online.update(y, ZERO)
        yield y, lower, upper, quantiles, before, online.levels_


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("params", MODES, ids=str)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_the_bound_on_what_is_missed_holds_after_every_row(adversary, params):
    online = tl.Online(coverage=COVERAGE, rate=RATE, **params)
    missed, farthest, least = 0, 0.0, math.inf
    rows = ROWS.get(repr(online.recalibrator), 800)
    for t, row in enumerate(play(online, adversary, rows), start=1):
        y, lower, upper, quantiles, _, levels = row
        assert math.isfinite(lower)
        assert math.isfinite(upper)
        missed += not lower <= y <= upper
        farthest = max(farthest, abs(y), abs(quantiles.middle))
        least = min(least, quantiles.up, quantiles.down)
        k = max(0.0, math.log2(2.0 * farthest / least))
        bound = (1.0 - COVERAGE) * t + (1.0 - COVERAGE) / RATE + 2.0 * k + 1.0 + COVERAGE
        assert missed <= bound
        # Each level by itself, which is what the bound follows from. Sums of t steps round.
        slack = 1e-12 * t
        assert -RATE * (k + 1.0) - slack <= min(levels)
        assert max(levels) <= 1.0 + RATE * (k + 1.0) + slack


def test_the_bound_says_something():
    # Against the adversary who always steps outside, a map without levels misses every row.
    online = tl.Online(window=60).update(0.3, ZERO)
    missed = 0
    for t in range(300):
        lower, upper = online.law_.ppf(np.array([0.1, 0.9]))
        y = outside(lower, upper, t)
        missed += not lower <= y <= upper
        online.update(y, ZERO)
    assert missed > 0.9 * 300
    # With levels the bound leaves them a third of 800 rows, with a K of 50.
    assert 0.2 * 800 + 0.2 / RATE + 2.0 * 50.0 + 1.8 < 800 / 3


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("params", MODES, ids=str)
def test_rows_are_judged_by_the_interval_that_was_issued(params):
    rng = np.random.default_rng(0)

    def at_the_ends(lower, upper, t):
        ends = [lower, upper, np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)]
        y = [*ends, rng.normal(), 0.1 * rng.normal()][rng.integers(6)]
        return y if abs(y) <= MOST else 0.0

    online = tl.Online(coverage=COVERAGE, rate=RATE, **params)
    tail = 0.5 * (1.0 - COVERAGE)
    rows = ROWS.get(repr(online.recalibrator), 600)
    for y, lower, upper, _, before, after in play(online, at_the_ends, rows):
        assert before[0] <= before[1]  # else the issued ends are exchanged
        low = before[0] + RATE * (tail - (y < lower))
        high = before[1] + RATE * ((1.0 - tail) - (y <= upper))
        assert after == (low, high)


def test_a_batch_is_judged_row_by_row_by_the_map_before_it():
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.normal(size=1000), 3.0 * rng.normal(size=190)])
    y[::3] = np.round(y[::3], 1)
    online = tl.Online(coverage=0.9).fit(y[:1000], tl.Point(np.zeros(1000)))
    quantiles, central, levels = online._stream._quantiles(), online._stream.central, online.levels_
    for score in y[1000:]:
        levels = adapt_levels(quantiles, central, levels, np.array([score]))
    assert online.update(y[1000:], tl.Point(np.zeros(190))).levels_ == levels != central
    assert online.law_.n_fit == pytest.approx(online.n_fit())


def test_after_the_noise_doubles_coverage_is_back_within_1000_rows():
    rng = np.random.default_rng(2)
    before, after = 2000, 5000
    y = rng.normal(size=before + after) * np.repeat([1.0, 2.0], [before, after])
    start = y[:before], tl.Point(np.zeros(before))
    online, static = tl.Online(coverage=0.9).fit(*start), tl.Isotonic().fit(*start)
    ends = static.transform(ZERO).interval(0.9)
    held = np.zeros((2, after), dtype=bool)
    for t, value in enumerate(y[before:]):
        lower, upper = online.transform(ZERO).interval(0.9)
        held[0, t] = lower[0] <= value <= upper[0]
        held[1, t] = ends[0][0] <= value <= ends[1][0]
        online.update(value, ZERO)
    # From 1,000 rows after the change on, over 4,000 rows: a forecast that covers 90% would be
    # off by two points with a probability of 3e-5.
    n = after - 1000
    assert binom.cdf(0.88 * n - 1, n, 0.9) + binom.sf(0.92 * n, n, 0.9) < 3e-5
    adaptive, fixed = held[:, 1000:].mean(axis=1)
    assert abs(adaptive - 0.9) <= 0.02
    # The static map goes on covering as much as an interval of half the width it should have.
    assert binom.cdf(fixed * n, n, 0.7) < 1e-6


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "inner",
    [tl.Isotonic(), tl.Isotonic(finite_sample=False), tl.Smooth(), tl.Scaling()],
    ids=repr,
)
@pytest.mark.parametrize(
    "at",
    [(0.03, 0.99), (0.2, 0.6), (-0.02, 1.03), (1.01, 1.05), (-0.3, -0.1), (0.6, 0.4), (1.02, 1.02)],
)
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
def test_a_warped_law_is_a_law_with_the_quantiles_of_its_levels(at, inner, ties):
    y = np.random.default_rng(3).normal(size=300)
    law = inner.fit(np.round(y) if ties else y, tl.Point(np.zeros(300))).law_
    quantiles = ExtendedQuantiles(law, 0.01, 0.05)
    warped = quantiles.warped((0.05, 0.95), at)
    expected = [quantiles.quantile(min(at)), quantiles.quantile(max(at))]
    assert warped.ppf(np.array([0.05, 0.95])).tolist() == expected
    tl.testing.check_distribution(tl.Point([0.0, 1.0])._recalibrate(warped))


def test_levels_that_have_not_moved_leave_the_map_alone():
    law = tl.Smooth().fit(np.arange(50.0), tl.Point(np.zeros(50))).law_
    assert ExtendedQuantiles(law, 0.01, 0.05).warped((0.05, 0.95), (0.05, 0.95)) is law


@pytest.mark.parametrize("scale", [1e-97, 1.0, 1e97])
def test_levels_of_scores_undo_quantiles_of_levels(scale):
    y = scale * np.random.default_rng(4).normal(size=200)
    quantiles = ExtendedQuantiles(tl.Isotonic().fit(y, tl.Point(np.zeros(200))).law_, 0.01, 0.05)
    levels = np.concatenate([np.linspace(-0.3, 1.3, 321), [quantiles.low, quantiles.high]])
    s = np.array([quantiles.quantile(level) for level in levels])
    assert (np.diff(s[:-2]) >= 0).all()
    assert np.isfinite(s).all()
    for found in quantiles.levels(s):
        np.testing.assert_allclose(found, levels, rtol=0, atol=1e-10)


def test_quantiles_stay_finite_at_any_level_and_hold_any_score():
    quantiles = ExtendedQuantiles(
        tl.Isotonic().fit([1.0, 2.0], tl.Point([0.0, 0.0])).law_, 0.01, 0.05
    )
    assert quantiles.quantile(1e9) == -quantiles.quantile(-1e9) == 2.0**1021
    far = np.full(5000, np.finfo(float).max)
    assert adapt_levels(quantiles, (0.05, 0.95), (0.05, 0.95), far)[1] < 1.0 + 0.01 * 2100
    assert adapt_levels(quantiles, (0.05, 0.95), (0.05, 0.95), -far)[0] > -0.01 * 2100
