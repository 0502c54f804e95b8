"""The mergeable state: exact up to a limit, rounded beyond, whatever the order of rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trueline as tl
from trueline.recalibration import ScoreAccumulator, ScoreRows, _accumulator
from trueline.recalibration._accumulator import State
from trueline.scores import round_scores

# The promise for states that are rounded: either of these.
RANK, RELATIVE = 2e-5, 1e-5


def rows(values, weights=None):
    return ScoreRows.points("residual", values, weights)


def whole(values, weights=None):
    return rows(values.copy(), weights).sort()


def same(one, other):
    """Equal to the last bit."""
    assert one.rounded == other.rounded
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.points()[1], other.points()[1])


@st.composite
def split_rows(draw):
    """Rows of which many tie, in any order, cut into any parts."""
    values = draw(st.lists(st.integers(-30, 30), min_size=1, max_size=60))
    cuts = draw(st.lists(st.integers(0, len(values)), max_size=6))
    parts = np.split(np.array(values, dtype=float) / 7.0, sorted(cuts))
    return [part for part in parts if len(part)]


@given(split_rows(), st.integers(1, 40), st.randoms())
@settings(max_examples=200, deadline=None)
def test_parts_in_any_order_merge_to_the_whole(parts, limit, random):
    everything = State("residual", limit)
    everything.add(rows(np.concatenate(parts)))
    expected = everything.scores()
    exact = whole(np.concatenate(parts))
    assert expected.rounded == (len(exact.values) > limit)
    same(expected, exact.round() if expected.rounded else exact)

    states = []
    for part in parts:
        state = State("residual", limit)
        state.add(rows(part))
        states.append(state)
    random.shuffle(states)
    # Any tree of merges.
    while len(states) > 1:
        first, second = states.pop(random.randrange(len(states))), states.pop()
        states.append(first.merge(second))
    same(states[0].scores(), expected)

    one_by_one = State("residual", limit)
    for part in parts:
        one_by_one.add(rows(part))
        one_by_one.scores()
    same(one_by_one.scores(), expected)


@pytest.mark.parametrize("n, batch", [(300_000, 1000), (300_000, 65_537), (100, 1)])
def test_batches_of_any_size_give_what_a_fit_gives(n, batch):
    y = np.random.default_rng(0).normal(size=n)
    state = State("residual")
    for start in range(0, n, batch):
        state.add(rows(y[start : start + batch]))
    same(state.scores(), whole(y))


def test_a_state_holds_no_more_than_its_values_need():
    """Rounded scores of a normal law take no more room as rows come in."""
    rng = np.random.default_rng(0)
    state = State("residual", limit=1 << 12)
    sizes = []
    for _ in range(40):
        state.add(rows(round_scores(rng.integers(0, 3000, size=70_000) / 8.0)))
        sizes.append(len(state))
    assert max(sizes) <= 3 * 3000 + _accumulator._WAITING


def test_weights_add_up():
    values = np.array([3.0, 1.0, 3.0, 2.0])
    weights = np.array([0.5, 2.0, 1.0, 4.0])
    state = State("residual")
    state.add(rows(values[:1], weights[:1]))
    state.add(rows(values[1:], weights[1:]))
    state.add(rows(np.array([1.0])))  # weighs 1
    same(
        state.scores(),
        whole(np.append(values, 1.0), np.append(weights, 1.0)),
    )


def test_rounding_keeps_order_sign_and_relative_size():
    rng = np.random.default_rng(0)
    s = np.concatenate([rng.standard_cauchy(10_000) * 10.0 ** rng.uniform(-200, 200, 10_000), [0]])
    rounded = round_scores(s)
    assert np.abs(rounded[:-1] / s[:-1] - 1.0).max() <= 2.0**-17
    assert rounded[-1] == 0.0
    assert (np.diff(round_scores(np.sort(s))) >= 0).all()
    np.testing.assert_array_equal(round_scores(rounded), rounded)
    np.testing.assert_array_equal(round_scores(-s), -rounded)
    largest = np.array([np.finfo(float).max])
    np.testing.assert_array_equal(round_scores(largest), largest)


def scores(name, n, rng):
    z = rng.normal(size=n)
    return {
        "calibrated": lambda: z,
        "5 times over-confident": lambda: 5.0 * z,
        "50 times over-confident": lambda: 50.0 * z,
        "biased by 3 sigma": lambda: z + 3.0,
        "Cauchy": lambda: rng.standard_cauchy(n),
        "99% within 1e-6 of two points": lambda: np.where(
            rng.random(n) < 0.99, rng.choice([0.3, -1.7], n) + 1e-6 * rng.uniform(-1, 1, n), z
        ),
        "discrete targets": lambda: rng.poisson(3.0, n) - 2.6,
    }[name]()


@pytest.mark.parametrize(
    "name",
    [
        "calibrated",
        "5 times over-confident",
        "50 times over-confident",
        "biased by 3 sigma",
        "Cauchy",
        "99% within 1e-6 of two points",
        "discrete targets",
    ],
)
def test_error_of_a_rounded_state(name):
    """At every rank the score is off by 1e-5 of itself, or the rank by 2e-5."""
    n = 200_000
    exact = np.sort(scores(name, n, np.random.default_rng(1)))
    state = State("residual", limit=1)
    for part in np.array_split(np.random.default_rng(2).permutation(exact), 7):
        state.add(rows(part))
    found = state.scores()
    assert found.rounded
    assert found.total == n
    # The score at each rank: rows of a value have the ranks up to its cumulative weight.
    read = np.repeat(found.values, found.points()[1].astype(int))
    relative = np.abs(read - exact) <= RELATIVE * np.abs(exact)
    low = np.searchsorted(exact, read, side="left") / n
    high = np.searchsorted(exact, read, side="right") / n
    rank = (np.arange(n) + 0.5) / n
    off = np.maximum(np.maximum(low - rank, rank - high), 0.0)
    assert (relative | (off <= RANK)).all()


def forecast(n):
    return tl.Normal(np.zeros(n), 1.0)


@pytest.mark.parametrize("make", [tl.Isotonic, tl.Smooth, tl.BetaCalibration, tl.Scaling, tl.Auto])
def test_partial_fit_is_fit(make):
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=500), rng.integers(0, 3, size=500).astype(float)
    expected = make().fit(y, forecast(500), w)
    R = make()
    for rows in np.array_split(np.arange(500), 4):
        assert R.partial_fit(y[rows], forecast(len(rows)), w[rows]) is R
    assert R.to_json() == expected.to_json()
    levels = [0.01, 0.5, 0.99]
    np.testing.assert_array_equal(
        R.transform(forecast(2)).ppf(levels), expected.transform(forecast(2)).ppf(levels)
    )


def test_partial_fit_goes_on_from_a_fit_a_merge_and_a_file(tmp_path):
    y = np.random.default_rng(0).normal(size=90)
    first, second, third = np.split(y, 3)
    start = tl.Isotonic().fit(first, forecast(30)).merge(tl.Isotonic().fit(second, forecast(30)))
    start.to_json(tmp_path / "map.json")
    R = tl.load(tmp_path / "map.json").partial_fit(third, forecast(30))
    assert R.to_json() == tl.Isotonic().fit(y, forecast(90)).to_json()
    # and fit begins again
    assert R.fit(first, forecast(30)).to_json() == tl.Isotonic().fit(first, forecast(30)).to_json()


def test_grouped_partial_fit_is_fit():
    rng = np.random.default_rng(0)
    y, groups = rng.normal(size=400), rng.choice(["a", "b", "c"], size=400)
    groups[:100] = "a"
    weights = rng.integers(0, 2, size=400).astype(float)
    expected = tl.Grouped().fit(y, forecast(400), weights, groups)
    R = tl.Grouped()
    for rows in np.array_split(np.arange(400), 5):
        R.partial_fit(y[rows], forecast(len(rows)), weights[rows], groups[rows])
    assert R.to_json() == expected.to_json()
    names = ["a", "b", "c"]
    np.testing.assert_array_equal(
        R.transform(forecast(3), names).ppf(0.9), expected.transform(forecast(3), names).ppf(0.9)
    )


@pytest.mark.parametrize(
    "y, dist, message",
    [
        ([np.nan, 1.0], forecast(2), r"y\[0\] is nan"),
        ([1.0], forecast(2), "y"),
        ([1.0, 2.0], tl.Point([0.0, 0.0]), "was fitted on 'standardised' scores"),
        ([1e300, 2.0], tl.Normal([0.0, 0.0], 1e-200), "a score is inf"),
    ],
)
@pytest.mark.parametrize("make", [tl.Isotonic, tl.Grouped])
def test_rows_that_are_wrong_leave_the_map_as_it_was(make, y, dist, message):
    def extra(n):
        return {"groups": ["g"] * n} if make is tl.Grouped else {}

    R = make().partial_fit([0.5, 1.5, 2.5], forecast(3), **extra(3))
    before = R.to_json()
    with pytest.raises((ValueError, TypeError), match=message):
        R.partial_fit(y, dist, **extra(len(y)))
    assert R.to_json() == before
    assert R.partial_fit([9.0], forecast(1), **extra(1)).scores_.total == 4.0


def test_parts_stay_within_the_limit_when_merged(monkeypatch):
    monkeypatch.setattr(_accumulator, "LIMIT", 100)
    y = np.random.default_rng(0).normal(size=180)
    parts = [tl.Isotonic().partial_fit(part, forecast(60)) for part in np.split(y, 3)]
    assert not any(part.scores_.rounded for part in parts)
    one, two, three = (ScoreAccumulator.of(part.scores_, {}) for part in parts)
    joined = one.merge(two).merge(three).finish(tl.Isotonic())
    other = three.merge(one.merge(two)).finish(tl.Isotonic())
    assert joined.scores_.rounded
    assert joined.to_bytes() == other.to_bytes()
    assert joined.to_bytes() == tl.Isotonic().partial_fit(y, forecast(180)).to_bytes()
    # To merge is to fit on both, exactly.
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.to_json() == tl.Isotonic().fit(y, forecast(180)).to_json()


def test_a_recalibrator_of_ones_own_need_not_learn_in_parts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), rng.normal(size=200)
    R = tl.Conditional(random_state=0).fit(y, forecast(200), X=X)
    with pytest.raises(NotImplementedError, match="Conditional does not learn in parts"):
        R.partial_fit(y, forecast(200))


def test_scores_say_in_a_line_what_they_are():
    y = np.random.default_rng(0).normal(size=1000)
    R = tl.Isotonic().fit(y, tl.Point(np.zeros(1000)))
    assert repr(R.scores_) == "<Exact residual scores: 1000 values of 1000 rows>"
    small = R.compress(10)
    off = f"{small.compression_error_:.2g}"
    expected = f"<Compressed residual scores: 10 values of 1000 rows, error {off}>"
    assert repr(small.scores_) == expected
    assert repr(R.scores_.round()).endswith(" rows, rounded>")


def test_rounding_is_not_counted_as_compression(monkeypatch):
    monkeypatch.setattr(State.__init__, "__defaults__", (100,))
    y = np.random.default_rng(0).standard_cauchy(size=1000)
    R = tl.Isotonic().partial_fit(y, tl.Point(np.zeros(1000)))
    assert R.scores_.rounded
    assert R.compression_error_ == 0
    # What is said of rounding instead: each by so much of itself.
    levels = np.arange(1, 1001) / 1001
    found = R.transform(tl.Point(0.0)).ppf(levels)[0]
    np.testing.assert_allclose(found, np.sort(y), rtol=2.0**-17)
