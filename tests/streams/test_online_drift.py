"""The drift alarm: how often it is false, and that it is heard."""

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

import trueline as tl
from trueline.streams._drift import CELLS

RATE = 0.05


def zeros(n):
    return tl.Point(np.zeros(n))


def test_the_statistic_is_that_of_two_samples_at_the_edges():
    rng = np.random.default_rng(0)
    first, block = rng.normal(size=900), rng.normal(0.6, 1.2, size=100)
    online = tl.Online(alarm_rows=100).fit(first, zeros(900)).update(block, zeros(100))
    exact = ks_2samp(block, first, method="exact")
    assert exact.statistic - 1.0 / CELLS <= online.drift_.statistic <= exact.statistic
    # The p-value is a bound, and not a loose one.
    d = online.drift_.statistic
    assert online.drift_.p_value == pytest.approx(2.0 * np.exp(-2.0 * d * d * 90.0))
    assert exact.pvalue <= online.drift_.p_value


@pytest.mark.parametrize("n, m", [(50, 20), (100, 30), (400, 50), (60, 60), (900, 100)])
def test_the_bound_on_the_p_value_is_one(n, m):
    # Against the exact law of the two-sample statistic, at values over its whole range.
    rng = np.random.default_rng(7)
    for shift in np.linspace(0.0, 2.0, 40):
        exact = ks_2samp(rng.normal(size=n), rng.normal(shift, size=m), method="exact")
        d = exact.statistic
        factor = 2.169 if n == m else 2.0
        assert exact.pvalue <= factor * np.exp(-2.0 * d * d * n * m / (n + m)) + 1e-12


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize(
    "params", [{}, {"window": 300}, {"half_life": 150.0}, {"window": 20}], ids=str
)
def test_false_alarms_are_no_more_frequent_than_stated(params, discrete):
    rng = np.random.default_rng(1)
    alarms = blocks = 0
    # Streams of their own: blocks of one stream may share what they are compared with.
    for _ in range(400):
        y = rng.standard_t(3, size=420)
        y = np.round(y) if discrete else y
        online = tl.Online(alarm_rows=60, alarm_rate=RATE, **params)
        online.update(y[:360], zeros(360)).update(y[360:], zeros(60))
        assert online.drift_.blocks == 1
        alarms += online.drift_.alarm
        blocks += 1
    # Were the rate what is stated, fewer alarms than this come with a probability of 0.999.
    assert alarms <= binom.ppf(0.999, blocks, RATE)


def test_false_alarms_in_one_long_stream():
    # All rows remembered: how a block falls among earlier rows says nothing of how those fell
    # among theirs, so the blocks are independent.
    rng = np.random.default_rng(2)
    online = tl.Online(alarm_rows=50, alarm_rate=RATE)
    for size in rng.integers(1, 400, size=300):
        online.update(rng.exponential(size=size), zeros(size))
    drift = online.drift_
    assert drift.blocks > 1000
    assert drift.alarms <= binom.ppf(0.999, drift.blocks, RATE)
    assert drift.alarms >= binom.ppf(0.001, drift.blocks, 0.2 * RATE)  # it is not deaf


@pytest.mark.parametrize("change", [lambda y: 2.0 * y, lambda y: 0.5 * y, lambda y: y + 0.5])
@pytest.mark.parametrize("params", [{}, {"window": 2000}, {"half_life": 700.0}], ids=str)
def test_a_change_is_heard_in_the_block_where_it_happens(params, change):
    rng = np.random.default_rng(3)
    online = tl.Online(**params).fit(rng.normal(size=3000), zeros(3000))
    online.update(rng.normal(size=1000), zeros(1000))
    assert not online.drift_.alarm
    online.update(change(rng.normal(size=500)), zeros(500))
    assert online.drift_.alarm
    assert online.drift_.p_value < 0.001


def test_a_window_gets_used_to_what_is_new():
    rng = np.random.default_rng(4)
    online = tl.Online(window=1000).fit(rng.normal(size=2000), zeros(2000))
    online.update(3.0 * rng.normal(size=2500), zeros(2500)).update(
        3.0 * rng.normal(size=1000), zeros(1000)
    )
    drift = online.drift_
    assert drift.alarms >= 1
    assert not drift.alarm


@pytest.mark.parametrize("params", [{}, {"window": 130}, {"half_life": 30.0}], ids=str)
def test_when_drift_is_asked_for_changes_nothing(params):
    y = np.random.default_rng(5).normal(size=3000)
    asked, silent = (tl.Online(alarm_rows=70, **params) for _ in range(2))
    for start in range(0, 3000, 37):
        rows = y[start : start + 37]
        for online in (asked, silent):
            online.update(rows, zeros(len(rows)))
        _ = asked.drift_
    assert asked.drift_ == silent.drift_
    # Two batches, of 74 rows, to compare with at first.
    assert asked.drift_.blocks == (3000 - 74) // 70


def test_a_weight_of_one_is_no_weight():
    y = np.random.default_rng(6).normal(size=900)
    plain = tl.Online(alarm_rows=100).fit(y[:500], zeros(500)).update(y[500:], zeros(400))
    ones = tl.Online(alarm_rows=100).fit(y[:500], zeros(500), np.ones(500))
    ones.update(y[500:], zeros(400), np.ones(400))
    assert ones.drift_ == plain.drift_
    assert plain.drift_.blocks == 4


def test_no_block_no_word():
    drift = tl.Online().fit([1.0, 2.0], zeros(2)).drift_
    assert (drift.alarm, drift.p_value, drift.blocks, drift.alarms) == (False, 1.0, 0, 0)
