"""`Online`: what it remembers, what it refuses, and that a file holds all of it."""

import copy
import json
import math
import pickle
import re

import numpy as np
import pytest

import trueline as tl
from tests.recalibration.documents import signed
from trueline.streams._memory import HALF_LIVES, Memory
from trueline.testing import check_recalibrator
from trueline.testing._trial import BASES

BOTH = (
    "window is 10 and half_life is 5; expected one of the two. "
    "Drop the one that you can do without."
)
HALF_LIFE = (
    "half_life is {}; expected a number of rows of 1 or more, math.inf to remember everything, or "
    "None to adapt."
)
QUERY = np.linspace(-6.0, 6.0, 97)[None, :]


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
    return loc + 1.7 * scale * rng.normal(size=n), tl.Normal(loc, scale)


def feed(online, y, dist, weight=None, sizes=(1, 7, 64, 3)):
    """Update in batches of changing size."""
    start = turn = 0
    while start < len(y):
        rows = slice(start, start + sizes[turn % len(sizes)])
        online.update(y[rows], dist[rows], None if weight is None else weight[rows])
        start, turn = rows.stop, turn + 1
    return online


def cdf(recalibrator):
    return recalibrator.transform(tl.Normal(0.0, 1.0)).cdf(QUERY)


# ---- the promises of every recalibrator. Merging and compressing are refused; if a stream forgets
# the order of rows counts, so that a window here is longer than the rows of the check.


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    "online",
    [
        tl.Online(half_life=math.inf),
        tl.Online(tl.Isotonic(finite_sample=False), half_life=math.inf),
        tl.Online(window=500),
        tl.Online(tl.BetaCalibration(), half_life=math.inf, coverage=0.8),
        tl.Online(tl.Smooth(), window=500, coverage=0.5),
    ],
    ids=repr,
)
def test_contract(online, base):
    check_recalibrator(online, [BASES[base]], tolerance=0.0)


# ---- equality with offline fits -----------------------------------------------------------


@pytest.mark.parametrize("inner", [tl.Isotonic(), tl.Isotonic(finite_sample=False)], ids=repr)
def test_without_a_limit_it_is_the_fit_on_all_rows(inner):
    y, dist = stream(4096)  # as many as are kept exactly
    online = feed(tl.Online(inner, half_life=math.inf), y, dist)
    np.testing.assert_array_equal(cdf(online), cdf(inner.fit(y, dist)))
    assert online.rows_seen_ == 4096


@pytest.mark.parametrize("inner", [tl.Smooth(), tl.Scaling(), tl.BetaCalibration()], ids=repr)
def test_other_maps_are_fitted_again_now_and_then(inner):
    y, dist = stream(900)
    online = tl.Online(inner, half_life=math.inf)
    fitted = []  # numbers of rows at which the map changed
    last = None
    for row in range(900):
        online.update(y[row], dist[[row]])
        if (law := online.law_) is not last:
            fitted.append(row + 1)
            last = law
            np.testing.assert_array_equal(
                cdf(online), cdf(inner.fit(y[: row + 1], dist[: row + 1]))
            )
    # A sixteenth of the rows is new, and no more.
    steps = np.diff(fitted[30:]) / np.array(fitted[30:-1])
    assert steps.min() >= 1 / 16
    assert steps.max() < 1 / 12


@pytest.mark.parametrize("window", [1, 2, 50, 300, 899, 900, 5000])
def test_a_window_is_the_fit_on_the_last_rows(window):
    y, dist = stream(900)
    online = tl.Online(window=window)
    for stop in (1, 2, 3, 60, 61, 500, 777, 778, 900):
        seen = online.rows_seen_ if online._is_fitted() else 0
        online.update(y[seen:stop], dist[seen:stop])
        rows = slice(max(0, stop - window), stop)
        offline = tl.Isotonic().fit(y[rows], dist[rows])
        np.testing.assert_array_equal(online.scores_.values, offline.scores_.values)
        np.testing.assert_array_equal(cdf(online), cdf(offline))


def test_a_window_of_tied_rows_forgets_one_of_them_at_a_time():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, size=400).astype(float)
    online = tl.Online(window=30)
    for stop in range(1, 401):
        online.update(y[stop - 1], tl.Point(0.0))
        if stop % 7 == 0:
            last = y[max(0, stop - 30) : stop]
            values, counts = np.unique(last, return_counts=True)
            np.testing.assert_array_equal(online.scores_.values, values)
            np.testing.assert_array_equal(online.scores_.points()[1], counts)


def test_a_window_keeps_weights_with_their_rows():
    y, dist = stream(300)
    weight = np.random.default_rng(2).integers(0, 4, size=300).astype(float)
    online = feed(tl.Online(window=40), y, dist, weight, sizes=(20, 7, 64, 13))
    counted = np.flatnonzero(weight)[-40:]  # rows of weight 0 are not there
    offline = tl.Isotonic().fit(y[counted], dist[counted], weight[counted])
    np.testing.assert_array_equal(cdf(online), cdf(offline))
    assert online.rows_seen_ == np.count_nonzero(weight)


@pytest.mark.parametrize("half_life", [1, 3.5, 40])
def test_a_half_life_is_a_weighted_fit(half_life):
    y, dist = stream(2000)
    online = feed(tl.Online(half_life=half_life), y, dist)
    age = np.arange(2000)[::-1]
    kept = age < np.ceil(HALF_LIVES * half_life)  # the others weigh 2^-20 of all rows
    y, dist, weight = y[kept], dist[kept], 0.5 ** (age[kept] / half_life)
    rows = weight.sum() ** 2 / (weight**2).sum()
    assert online.n_fit() == pytest.approx(rows)
    # R rises by half the weight of a row to either side of its score; one row is in the tails.
    score = np.sort(dist.score(y))
    weight = weight[np.argsort(dist.score(y))] / weight.sum()
    expected = (rows * (np.cumsum(weight) - 0.5 * weight) + 0.5) / (rows + 1.0)
    least = 1.0 / (rows + 1.0)
    inside = (expected > least + 1e-5) & (expected < 1.0 - least - 1e-5)
    found = online.law_.cdf(score[inside])
    np.testing.assert_allclose(found, expected[inside], rtol=0, atol=1e-12)


def test_an_interval_is_that_of_the_whole_law():
    y, dist = stream(6000)
    levels = np.array([0.05, 0.5, 0.95])
    weights = np.random.default_rng(7).uniform(0.2, 3.0, 6000)
    for params in ({}, {"window": 500}, {"half_life": 30.0}, {"half_life": math.inf}):
        for weight in (None, weights):
            online = tl.Online(**params)
            for stop in (30, 700, 4000, 6000):
                seen = online.rows_seen_ if stop > 30 else 0
                rows = slice(seen, stop)
                online.update(y[rows], dist[rows], None if weight is None else weight[rows])
                found = online.transform(tl.Normal(0.0, 1.0)).ppf(levels)[0]
                np.testing.assert_allclose(found, online.law_.ppf(levels), rtol=0, atol=1e-11)


def test_what_was_forecast_does_not_change_later():
    y, dist = stream(300)
    for params in ({}, {"window": 100}, {"coverage": 0.8}, {"half_life": math.inf}):
        online = feed(tl.Online(**params), y[:200], dist[:200])
        early, twin = online.transform(dist[200:]), copy.deepcopy(online).transform(dist[200:])
        feed(online, 9.0 * y[200:], dist[200:])
        np.testing.assert_array_equal(early.crps(y[200:]), twin.crps(y[200:]))
        np.testing.assert_array_equal(early.interval(0.8), twin.interval(0.8))


# ---- rows that are too old to be kept exactly ------------------------------------------------


def rank_error(memory, mix, s, w):
    """Largest distance of the CDF of a memory from that of all rows."""
    sample = memory.sample(mix)
    order = np.argsort(s)
    true = np.cumsum(w[order]) / w.sum()
    found = np.cumsum(sample.weights())
    at = np.searchsorted(sample.x, s[order], side="right")
    return np.abs(np.concatenate([[0.0], found])[at] / found[-1] - true).max()


@pytest.mark.parametrize("drift", [False, True])
@pytest.mark.parametrize("half_life", [math.inf, 3000.0, 40_000.0])
def test_the_rank_error_of_a_long_stream_is_as_stated(half_life, drift):
    n = 200_000
    rng = np.random.default_rng(3)
    s = rng.standard_t(3, size=n) * (np.linspace(1.0, 20.0, n) if drift else 1.0)
    given = rng.uniform(0.5, 2.0, n)
    for w in (None, given):
        memory = Memory(
            "residual",
            np.array([half_life]),
            math.ceil(20 * half_life) if half_life < n else math.inf,
        )
        for start in range(0, n, 9973):
            rows = slice(start, start + 9973)
            memory.add(s[rows], None if w is None else w[rows])
        faded = np.exp2(-np.arange(n - 1, -1, -1) / half_life) * (1.0 if w is None else w)
        error = rank_error(memory, np.ones(1), s, faded)
        assert error <= memory.sketch.error <= 0.01
        assert error < 0.002  # errors of single steps cancel
        assert sum(len(chunk.items) for chunk in memory.sketch.chunks) < 30_000


def test_a_long_window_forgets_by_the_chunk():
    n, window = 60_000, 20_000
    rng = np.random.default_rng(5)
    s = rng.normal(size=n) * np.linspace(1.0, 5.0, n)
    memory = Memory("residual", np.array([math.inf]), window)
    for stop in range(1500, n + 1, 1500):
        memory.add(s[stop - 1500 : stop], None)
        if stop > window:
            last = s[stop - window : stop]
            # A sixteenth of the window is in part outside it.
            assert rank_error(memory, np.ones(1), last, np.ones(window)) < 1 / 64
            assert window <= memory.sample(np.ones(1)).total < window + 512.5


def test_rows_are_added_one_by_one_as_in_a_batch():
    y, dist = stream(5500)
    for params in ({"window": 60}, {"half_life": 20.0}, {"half_life": math.inf}):
        single, whole = tl.Online(**params), tl.Online(**params)
        for row in range(5500):
            single.update(y[row], dist[[row]])
            if row % 11 == 10:
                single.transform(dist[:1]).interval(0.5)
        for rows in (slice(0, 1), slice(1, 4000), slice(4000, 5500)):
            whole.update(y[rows], dist[rows])
        assert single.to_json() == whole.to_json()


def test_fit_starts_afresh():
    y, dist = stream(500)
    options = {"window": 100, "coverage": 0.9}
    used = feed(tl.Online(**options), y, dist).fit(y[:80], dist[:80])
    assert used.to_json() == tl.Online(**options).fit(y[:80], dist[:80]).to_json()


def test_partial_fit_is_update():
    y, dist = stream(100)
    by_update, by_partial_fit = tl.Online(window=30), tl.Online(window=30)
    for rows in (slice(0, 60), slice(60, 100)):
        by_update.update(y[rows], dist[rows])
        by_partial_fit.partial_fit(y[rows], dist[rows])
    assert by_update.to_json() == by_partial_fit.to_json()


# ---- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, message",
    [
        (
            {"window": 0},
            "window is 0; expected a number of rows of 1 or more, or None to adapt.",
        ),
        (
            {"window": 2.5},
            "window is 2.5; expected a number of rows of 1 or more, or None to adapt.",
        ),
        (
            {"half_life": 0.5},
            HALF_LIFE.format("0.5"),
        ),
        (
            {"half_life": float("nan")},
            HALF_LIFE.format("nan"),
        ),
        (
            {"window": 10, "half_life": 5},
            BOTH,
        ),
        (
            {"coverage": 1.5},
            "coverage is 1.5; expected a number in (0, 1), or None for no guarantee.",
        ),
        ({"rate": 0}, "rate is 0; expected a number in (0, 1)."),
        ({"alarm_rate": 1}, "alarm_rate is 1; expected a number in (0, 1)."),
        (
            {"on_alarm": "ring"},
            'on_alarm is \'ring\'; expected None, "warn", "forget", or a function of a Drift.',
        ),
        (
            {"recalibrator": tl.Grouped()},
            (
                "recalibrator is Grouped(); expected Isotonic, Smooth, "
                "BetaCalibration, Scaling or Auto."
            ),
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "update"])
def test_bad_parameters(params, message, method):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        getattr(tl.Online(**params), method)([1.0], tl.Point([0.0]))


@pytest.mark.parametrize("use", ["transform", "drift_", "levels_", "rows_seen_", "law_", "scores_"])
def test_before_the_first_row(use):
    online = tl.Online()
    with pytest.raises(tl.NotFittedError) as caught:
        online.transform(tl.Point(0.0)) if use == "transform" else getattr(online, use)
    expected = "Online has seen no rows: call update(y, dist) or fit(y, dist) first."
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    "params",
    [{}, {"window": 40}, {"half_life": 7.0}, {"window": 40, "coverage": 0.8}],
    ids=str,
)
def test_after_an_error_it_is_as_it_was_before(params):
    y, dist = stream(150)
    online = feed(tl.Online(**params), y, dist)
    before = online.to_json()
    bad = [
        ([np.nan], tl.Normal(0.0, 1.0), None, "y[0] is nan; expected finite numbers"),
        ([1.0, np.inf], tl.Normal([0.0, 0.0], 1.0), None, "y[1] is inf; expected finite numbers"),
        ([1e300], tl.Normal(0.0, 1e-300), None, "a score is inf"),
        ([1.0], tl.Point(0.0), None, "this Online was fitted on 'standardised' scores"),
        ([1.0, 2.0], tl.Normal(0.0, 1.0), None, "y has 2 rows but dist has 1"),
        ([1.0], tl.Normal(0.0, 1.0), [-1.0], "sample_weight[0] is -1.0"),
        ([1.0], tl.Normal(0.0, 1.0), [0.0], "sample_weight is zero in every row"),
    ]
    for outcome, forecast, weight, message in bad:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            online.update(outcome, forecast, weight)
        assert online.to_json() == before
    with pytest.raises(TypeError, match=r"dist is of type tuple, which trueline\.as_distribution"):
        online.update([1.0], (0.0, 1.0, 2.0))
    for method in (online.fit, online.partial_fit):
        with pytest.raises(ValueError, match=r"takes no groups\. Keep one Online per group"):
            method([1.0], tl.Normal(0.0, 1.0), groups=["a"])
    assert online.to_json() == before


def test_an_error_at_the_first_row_leaves_nothing():
    online = tl.Online()
    with pytest.raises(ValueError, match="expected finite numbers"):
        online.update(np.nan, tl.Point(0.0))
    assert not online._is_fitted()
    online.update(1.0, tl.Normal(0.0, 1.0))  # of another kind
    assert online.rows_seen_ == 1


def test_parameters_stay_while_it_learns():
    y, dist = stream(20)
    online = tl.Online(window=10).fit(y, dist).set_params(window=5)
    with pytest.raises(ValueError, match="a parameter was changed after the first rows"):
        online.update(y, dist)
    assert online.fit(y, dist).scores_.total == 5


@pytest.mark.parametrize("method", ["merge", "compress"])
def test_what_has_an_order_does_not_merge(method):
    y, dist = stream(20)
    online = tl.Online().fit(y, dist)
    with pytest.raises(NotImplementedError, match=f"Online does not {method}"):
        getattr(online, method)(online if method == "merge" else 10)


# ---- files --------------------------------------------------------------------------------

MODES = [
    {},
    {"on_alarm": "forget", "coverage": 0.8},
    {"half_life": math.inf},
    {"window": 70},
    {"window": 70, "coverage": 0.8, "rate": 0.05},
    {"half_life": 9.0},
    {"half_life": 9.0, "coverage": 0.6, "recalibrator": tl.Smooth()},
]


@pytest.mark.parametrize("form", ["json", "bytes", "pickle"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", MODES, ids=str)
def test_it_goes_on_where_it_was_bit_for_bit(params, weighted, form, tmp_path):
    y, dist = stream(400)
    y[::5] = dist.loc[::5]  # ties
    y[180:] *= 3.0  # which rings the alarm
    weight = np.random.default_rng(5).uniform(0.1, 3.0, 400) if weighted else None
    first = None if weight is None else weight[:233]
    rest = None if weight is None else weight[233:]
    one = feed(tl.Online(**params), y[:233], dist[:233], first)
    if form == "json":
        one.to_json(tmp_path / "map.json")
        two = tl.load(tmp_path / "map.json")
    elif form == "bytes":
        two = tl.load(one.to_bytes())
    else:
        one.to_json()
        two = pickle.loads(pickle.dumps(one))
    assert two.to_json() == one.to_json()
    for online in (one, two):
        feed(online, y[233:], dist[233:], rest)
    np.testing.assert_array_equal(cdf(two), cdf(one))
    assert (two.levels_, two.drift_) == (one.levels_, one.drift_)
    assert two.drift_.alarms == 1
    assert two.to_json() == one.to_json()


def document():
    y, dist = stream(100)
    online = tl.Online(window=50, coverage=0.8).fit(y[:60], dist[:60])
    return json.loads(feed(online, y[60:], dist[60:]).to_json())


def all_paths(value, path=()):
    """Paths to every value of a JSON document."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from all_paths(value[key], (*path, key))
    elif isinstance(value, list) and value:
        yield from all_paths(value[0], (*path, 0))


STATE_PATHS = [path for path in all_paths(document()) if path and path[0] == "state"]
WRONG = [None, True, -1, 0.5, 1e400, "x", [], {}, [[]], 10**30, [-1.0, "x"], {"kind": 1}]


def loaded_or_none(file):
    """What a file holds, or None if it is refused; any other error is a fault."""
    try:
        return tl.load(file)
    except ValueError as error:
        if "is not a valid trueline map" not in str(error):
            raise
        return None


@pytest.mark.parametrize("path", STATE_PATHS, ids=lambda path: ".".join(map(str, path)))
def test_a_spoiled_file_is_refused_or_valid(path, tmp_path):
    file = tmp_path / "map.json"
    refused = 0
    for wrong in WRONG:
        spoiled = document()
        place = spoiled
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        file.write_text(signed(spoiled))
        online = loaded_or_none(file)
        if online is None:
            refused += 1
            continue
        # What passes must work.
        y, dist = stream(200, seed=6)
        online.update(y, dist)
        assert np.isfinite(online.transform(dist[:2]).interval(0.8)).all()
        assert 0 <= online.drift_.p_value <= 1
    assert refused >= len(WRONG) // 2


def test_spoiled_half_lives_and_chunks_are_refused_or_valid(tmp_path):
    y, dist = stream(6000)
    document = json.loads(tl.Online().fit(y, dist).to_json())
    file, refused = tmp_path / "map.json", 0
    memory, experts = document["state"]["memory"], document["state"]["experts"]
    for place in (memory["chunks"], experts):
        for name, value in list(place.items()):
            for wrong in (None, -1, [], value[:-1], value[::-1]) if name != "renewed" else (None,):
                place[name] = wrong
                file.write_text(signed(document))
                online = loaded_or_none(file)
                if online is None:
                    refused += 1
                else:
                    online.update(y[:50], dist[:50])
                    assert np.isfinite(online.transform(dist[:2]).interval(0.8)).all()
            place[name] = value
    assert refused > 35
    file.write_text(signed(document))
    assert tl.load(file).rows_seen_ == 6000


def test_a_file_without_one_of_its_parts_is_refused(tmp_path):
    file = tmp_path / "map.json"
    for path in STATE_PATHS:
        if isinstance(path[-1], str):
            spoiled = document()
            place = spoiled
            for key in path[:-1]:
                place = place[key]
            del place[path[-1]]
            file.write_text(signed(spoiled))
            with pytest.raises(ValueError, match="is not a valid trueline map"):
                tl.load(file)


def test_what_a_stream_cannot_do_is_said_with_a_way_out():
    R = tl.Online().update(1.0, tl.Point(0.0))
    with pytest.raises(NotImplementedError, match=r"depend on the order of rows.*Isotonic"):
        R.merge(R)
    with pytest.raises(NotImplementedError, match=r"needs its rows to go on.*window"):
        R.compress(10)
    with pytest.raises(tl.NotFittedError):
        tl.Online().merge(R)


# ---- forecasts that are far too narrow -----------------------------------------------------


def collapsed(n):
    """A stream with one forecast that is a million times too narrow."""
    y, dist = stream(n)
    scale = dist.scale.copy()
    scale[5] = 1e-6
    return y, tl.Normal(dist.loc, scale)


@pytest.mark.parametrize("method", ["fit", "update"])
def test_a_least_width_is_learned_from_the_first_rows_and_kept(method, tmp_path):
    y, dist = collapsed(600)
    online = getattr(tl.Online(window=10_000), method)(y[:200], dist[:200])
    assert online.least_width_ == tl.Isotonic().fit(y[:200], dist[:200]).least_width_ > 0
    online.to_json(tmp_path / "map.json")
    for used in (online, tl.load(tmp_path / "map.json")):
        width = used.least_width_
        feed(used, y[200:], dist[200:])
        assert used.least_width_ == width
        expected = tl.Isotonic(support=None)._fit_prepared(used._preparation, y, dist)
        np.testing.assert_array_equal(cdf(used), cdf(expected))
        # The collapsed row is as wide as the others.
        assert used.transform(dist[[5]]).std()[0] < 2.0


def test_without_enough_first_rows_the_least_width_is_zero():
    y, dist = collapsed(300)
    online = tl.Online()
    for rows in (slice(0, 19), slice(19, 300)):
        online.update(y[rows], dist[rows])
    assert online.least_width_ == 0.0
    # A state without a width has no preparation.
    assert "preparation" not in json.loads(online.to_json())["state"]
    assert tl.Online().update(y[:20], dist[:20]).least_width_ > 0
