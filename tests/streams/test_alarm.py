"""The drift alarm: how often it is false, that it is heard, and what it does."""

import copy
import threading

import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import binom, kstest, spearmanr

import trueline as tl
from trueline.streams._alarm import _LAWS, Alarm, uniform

RATE = 0.2


def zeros(n):
    return tl.Point(np.zeros(n))


def test_p_values_of_exchangeable_rows_are_uniform_and_independent():
    # Ties, and an order that is drawn last: exchangeable, but far from independent rows.
    rng = np.random.default_rng(0)
    p = []
    for stream in range(40):
        scores = rng.permutation(np.round(np.linspace(0.0, 6.0, 250) ** 2))
        alarm = Alarm(1e-9)
        alarm.look(scores[:100], 0)
        for row, s in enumerate(scores[100:], start=1000 * stream):
            p.append(alarm._p_value(s, row))
            alarm._tested += 1
    p = np.array(p).reshape(40, 150)
    assert kstest(p.ravel(), "uniform").pvalue > 0.01
    assert abs(spearmanr(p[:, :-1].ravel(), p[:, 1:].ravel()).statistic) < 3 / np.sqrt(40 * 149)


def test_bets_are_densities():
    p = (np.arange(200_000) + 0.5) / 200_000
    for a, b in _LAWS:
        log_f = (a - 1.0) * np.log(p) + (b - 1.0) * np.log1p(-p)
        assert np.exp(log_f - betaln(a, b)).mean() == pytest.approx(1.0, abs=2e-3)


def test_the_capital_is_a_martingale(monkeypatch):
    # Its mean over the p-value of the next row, which is uniform, is what it was.
    start = Alarm(1e-9)
    start.look(np.random.default_rng(1).normal(size=130), 0)
    u = (np.arange(4000) + 0.5) / 4000
    capital = []
    for p in u:
        alarm = copy.deepcopy(start)
        monkeypatch.setattr(alarm, "_p_value", lambda score, row, p=p: p)
        alarm.look(np.zeros(1), 130)
        capital.append(alarm.capital)
    assert np.mean(capital) == pytest.approx(start.capital, rel=5e-3)


def test_uniform_numbers_of_rows_are_uniform():
    u = np.array([uniform(row) for row in range(5000)])
    assert kstest(u, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 3 / np.sqrt(5000)


@pytest.mark.parametrize("discrete", [False, True])
def test_false_alarms_are_no_more_frequent_than_stated(discrete):
    rng = np.random.default_rng(1)
    rang = 0
    for stream in range(60):
        s = rng.exponential(size=1500)
        alarm = Alarm(RATE)
        alarm.look(np.floor(2.0 * s) if discrete else s, 10_000 * stream)
        rang += alarm.alarms > 0
    # Were the probability what is stated, fewer streams than this ring with a probability of 0.999.
    assert rang <= binom.ppf(0.999, 60, RATE)
    assert rang > 0  # it is not deaf


@pytest.mark.parametrize(
    "change", [lambda y: 2.0 * y, lambda y: 0.5 * y, lambda y: y + 0.7, lambda y: y - 0.7]
)
def test_a_change_is_heard_soon_and_dated(change):
    rng = np.random.default_rng(3)
    for _ in range(5):
        alarm = Alarm(0.01)
        alarm.look(rng.normal(size=2000), 0)
        assert alarm.alarms == 0
        alarm.look(change(rng.normal(size=200)), 2000)
        assert alarm.alarms == 1
        assert alarm.drift.alarm
        assert alarm.drift.e_value >= 100.0
        assert 1980 <= alarm.change <= 2060
        # A new test begins, which the new rows do not ring.
        alarm.look(change(rng.normal(size=1000)), 2200)
        assert (alarm.alarms, alarm.drift.alarm) == (1, False)
        assert alarm.drift.rows > 800


def test_rows_one_by_one_are_a_batch():
    y = np.random.default_rng(5).normal(size=600)
    y[400:] *= 3.0
    whole, single = Alarm(0.01), Alarm(0.01)
    whole.look(y, 0)
    drifts = []
    for row in range(600):
        single.look(y[row : row + 1], row)
        drifts.append(single.drift)
    assert [d.alarm for d in drifts].count(True) == 1
    assert whole.drift == next(d for d in drifts if d.alarm)  # the batch reports it
    assert (whole.capital, whole.counts, whole.stakes) == (
        single.capital,
        single.counts,
        single.stakes,
    )


def test_no_rows_no_word():
    drift = tl.Online().fit([1.0, 2.0], zeros(2)).drift_
    assert (drift.alarm, drift.e_value, drift.p_value, drift.alarms) == (False, 1.0, 1.0, 0)
    assert drift.change is None


# ---- what happens on an alarm ---------------------------------------------------------------


def rings(**params):
    """A stream that has rung its alarm: the noise is ten times as large from row 300 on."""
    rng = np.random.default_rng(6)
    online = tl.Online(**params).fit(rng.normal(size=300), zeros(300))
    for y in 10.0 * rng.normal(size=60):
        online.update(y, tl.Point(0.0))
        if online.drift_.alarm:
            return online
    raise AssertionError("the alarm did not ring")


def test_by_default_it_is_only_reported():
    online = rings()
    assert online.drift_.alarms == 1
    assert 295 <= online.drift_.change <= 320


def test_it_warns():
    with pytest.warns(tl.CalibrationWarning, match=r"have changed from about row \d+ on"):
        rings(on_alarm="warn", window=200)


def test_it_forgets_the_rows_before_the_change():
    online = rings(on_alarm="forget", half_life=float("inf"))
    rows = max(online.rows_seen_ - online.drift_.change, 20)
    assert online.scores_.total == rows < 40
    assert online.rows_seen_ > 300
    online.update(np.ones(50), zeros(50))
    assert online.scores_.total == rows + 50
    assert rings(on_alarm="forget").n_fit() < 40


def test_it_calls_back_outside_the_lock():
    calls = []

    def called(drift):
        # Another thread can read and update meanwhile.
        thread = threading.Thread(target=lambda: calls.append(held[0].update(1.0, tl.Point(0.0))))
        thread.start()
        thread.join(timeout=10.0)
        calls.append(drift)

    held = [tl.Online(on_alarm=called)]
    rng = np.random.default_rng(6)
    held[0].fit(rng.normal(size=300), zeros(300))
    held[0].update(10.0 * rng.normal(size=60), zeros(60))
    assert held[0].rows_seen_ == 361
    assert calls[0] is held[0]
    assert calls[1].alarm
    assert len(calls) == 2
    assert tl.load(held[0].to_bytes()).on_alarm is None  # a function is not stored
