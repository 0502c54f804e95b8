"""Sampled paths: what is fed back, what is known ahead, and what they amount to."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LinearRegression

import trueline as tl
from tests.series.cases import DAY, days, make, two_shops
from trueline.series import Paths, _paths, sample_paths, windows


class Recorder:
    """A model that keeps what it is asked and draws what it is told."""

    def __init__(self, drawn):
        self.drawn = drawn
        self.asked = []

    def _path_sampler(self, n_paths, random_state):
        self.started = n_paths, random_state

        def draw(X):
            self.asked.append(X.copy())
            return self.drawn(len(self.asked), X)

        return draw


def autoregression(coefficient=0.8, scale=1.0):
    """A model of an AR(1) process whose window ends with the last value."""

    class Model:
        def predict_dist(self, X):
            return tl.Normal(coefficient * X[:, -1], scale)

    return Model()


def test_each_step_sees_the_window_of_its_day():
    frame = two_shops()
    options = {"covariates": ["promotion"], "n_steps": 3}
    W = make(frame, **options)
    # Origins whose next four days are known too: what is drawn is what came, and so each window
    # asked for must be the one that W has for that day.
    rows = [i for i in range(len(W) - 4) if W.dates[i + 4] == W.dates[i] + 4 * DAY]
    rows = [i for i in rows if W.series[i] == W.series[i + 4]]
    assert len(rows) > 300

    def truth(step, X):
        return np.tile(W.y[np.array(rows) + step - 1], (2, 1))

    model = Recorder(truth)
    P = sample_paths(model, W[rows], 5, n_paths=2, random_state=7)
    assert model.started == (2, 7)
    assert len(model.asked) == 5
    for step, X in enumerate(model.asked):
        for path in X:
            np.testing.assert_array_equal(path, W.X[np.array(rows) + step])
        np.testing.assert_array_equal(P.values[:, 1, step], W.y[np.array(rows) + step])
        np.testing.assert_array_equal(P.dates[:, step], W.dates[np.array(rows) + step])
    assert P.series.tolist() == W.series[rows].tolist()


def test_each_path_feeds_on_its_own_values():
    W = make(calendar=())
    rng = np.random.default_rng(0)
    model = Recorder(lambda step, X: rng.normal(size=X.shape[:2]))
    P = sample_paths(model, W[:6], 7, n_paths=5)
    for step, X in enumerate(model.asked):
        past = np.concatenate([np.repeat(W.X[:6, None], 5, axis=1), P.values], axis=2)
        np.testing.assert_array_equal(X, np.moveaxis(past[:, :, step : step + 4], 0, 1))


def test_paths_of_an_autoregression_have_its_moments():
    n = 50
    W = windows({"date": days("2016-01-01", n), "value": np.linspace(-5, 5, n)}, calendar=())
    P = sample_paths(autoregression(0.8), W, 6, n_paths=4000, random_state=1)
    last = W.X[:, -1]
    for h in range(1, 7):
        var = (1 - 0.8 ** (2 * h)) / (1 - 0.8**2)
        error = P.normal(h).mean() - 0.8**h * last
        # 46 rows of 4000 paths each: five standard errors.
        assert np.abs(error).max() < 5 * np.sqrt(var / 4000)
        np.testing.assert_allclose(P.normal(h).var().mean(), var, rtol=5 * np.sqrt(2 / (46 * 4000)))
    # Days of a path depend on each other as those of the process do.
    noise = P.values - P.values.mean(axis=1, keepdims=True)
    correlation = np.corrcoef(noise[:, :, 4].ravel(), noise[:, :, 5].ravel())[0, 1]
    expected = 0.8 * np.sqrt((1 - 0.8**10) / (1 - 0.8**12))
    assert abs(correlation - expected) < 5 / np.sqrt(46 * 4000)


def test_any_regressor_with_a_spread_will_do():
    W = make()
    model = BayesianRidge().fit(W.X, W.y)
    P = sample_paths(model, W[:20], 3, n_paths=400)
    mean, std = model.predict(W.X[:20], return_std=True)
    assert np.abs((P.normal(1).mean() - mean) / std).max() < 5 / np.sqrt(400)
    again = sample_paths(model, W[:20], 3, n_paths=400)
    np.testing.assert_array_equal(P.values, again.values)
    other = sample_paths(model, W[:20], 3, n_paths=400, random_state=1)
    assert (P.values != other.values).all()
    with pytest.raises(TypeError, match="LinearRegression gives point forecasts") as caught:
        sample_paths(LinearRegression().fit(W.X, W.y), W, 3)
    assert "CalibratedRegressor" in str(caught.value)
    calibrated = tl.CalibratedRegressor(LinearRegression()).fit(W.X, W.y)
    assert sample_paths(calibrated, W[:20], 3, n_paths=5).values.shape == (20, 5, 3)


def test_values_are_raised_to_the_minimum_before_they_are_fed_back():
    W = make(calendar=())
    model = Recorder(lambda step, X: np.full(X.shape[:2], -3.0))
    P = sample_paths(model, W[:6], 3, n_paths=2, minimum=0.0)
    np.testing.assert_array_equal(P.values, 0.0)
    np.testing.assert_array_equal(model.asked[2][..., -2:], 0.0)


def test_blocks_hold_few_rows_and_change_no_window(monkeypatch):
    W = make()
    shapes = []

    def mean(step, X):
        shapes.append(X.shape)
        return X[..., W.value_columns].mean(axis=-1)

    whole = sample_paths(Recorder(mean), W, 4, n_paths=3)
    assert shapes == [(3, len(W), W.X.shape[1])] * 4
    monkeypatch.setattr(_paths, "_MOST_NUMBERS", 3 * W.X.shape[1] * 50)
    shapes.clear()
    blocks = sample_paths(Recorder(mean), W, 4, n_paths=3)
    assert max(n for _, n, _ in shapes) == 50
    np.testing.assert_array_equal(blocks.values, whole.values)


def test_a_horizon_past_the_known_covariates_is_refused():
    W = make(covariates=["promotion"])
    model = Recorder(lambda step, X: np.zeros(X.shape[:2]))
    last = W[W.series == "south"][-3:]
    assert sample_paths(model, last, 1, n_paths=2).values.shape == (3, 2, 1)
    with pytest.raises(
        ValueError, match="the horizon ends after the known covariates: 'promotion' of"
    ) as e:
        sample_paths(model, last, 2, n_paths=2)
    assert (
        "'promotion' of 2015-12-18, 2 steps ahead of the window of 2015-12-17 in series south"
        in str(e.value)
    )
    model = Recorder(lambda step, X: np.zeros(X.shape[:2]))
    sample_paths(model, last, 3, n_paths=2, unknown_covariates=0.25)
    np.testing.assert_array_equal(model.asked[2][0, :, -1], [last.X[2, -1], 0.25, 0.25])


def test_covariates_of_rows_without_a_value_are_known():
    value = np.append(np.arange(9.0), [np.nan, np.nan])
    frame = {"date": days("2016-01-01", 11), "value": value, "offer": np.arange(11.0)}
    W = windows(frame, covariates="offer", calendar=(), n_steps=1)
    model = Recorder(lambda step, X: np.full(X.shape[:2], 50.0 + step))
    sample_paths(model, W[-1], 3, n_paths=1)
    np.testing.assert_array_equal(np.concatenate(model.asked)[:, 0], [[7, 8], [51, 9], [52, 10]])


def test_a_day_after_a_gap_is_a_later_step_of_a_path():
    W = make()
    wanted = days("2015-07-08", 9)  # the north shop has no row on 2015-07-11
    rows, leads = W.latest(wanted, "north")
    assert leads.tolist() == [1, 1, 1, 2, 3, 4, 5, 6, 1]
    model = BayesianRidge().fit(W.X, W.y)
    P = sample_paths(model, W[rows], int(leads.max()), n_paths=50)
    F = P.at(leads)
    np.testing.assert_array_equal(P.dates[np.arange(9), leads - 1], wanted)
    np.testing.assert_array_equal(F.draws[4], np.sort(P.values[4, :, 2]))
    np.testing.assert_array_equal(P.normal(leads).loc[7], P.values[7, :, 5].mean())


def test_forecasts_on_days_are_those_of_the_last_origin():
    """Of two origins of one series the second is three days later; days between use the first."""
    first, later = days("2016-01-01", 5), days("2016-01-04", 5)
    values = np.arange(30.0).reshape(2, 3, 5)
    P = Paths(values, np.stack([first, later]), np.array(["a", "a"]))
    found = P.on(["2016-01-01", "2016-01-03", "2016-01-05"], 3)
    np.testing.assert_array_equal(found[0].draws, values[0].T[:3])
    np.testing.assert_array_equal(found[1].draws, values[0].T[2:])
    np.testing.assert_array_equal(found[2].draws, values[1].T[1:4])
    with pytest.raises(ValueError, match="4 steps from 2016-01-03 end 6 steps after the origin"):
        P.on(["2016-01-01", "2016-01-03"], 4)
    with pytest.raises(ValueError, match="on or before 2015-12-31"):
        P.on(["2015-12-31"], 1)


def test_forecasts_on_days_are_of_the_series_asked_for():
    dates = np.tile(days("2016-01-01", 2), (2, 1))
    P = Paths(np.arange(12.0).reshape(2, 3, 2), dates, np.array(["a", "b"]))
    (found,) = P.on(["2016-01-01"], 2, series="b")
    np.testing.assert_array_equal(found.draws, P.values[1].T)
    with pytest.raises(ValueError, match="have 2 series"):
        P.on(["2016-01-01"], 2)


def test_leads_are_checked():
    P = Paths(np.zeros((2, 3, 4)), np.zeros((2, 4), "M8[D]"), np.zeros(2))
    assert repr(P) == "Paths(2 rows, 3 paths, 4 steps ahead)"
    assert len(P[1]) == 1
    for lead in (0, 5, [1, 5]):
        with pytest.raises(
            ValueError, match=r"not within the forecast; expected 1, the target day, to 4"
        ):
            P.at(lead)
    for lead in (1.0, [1, 2, 3], "1"):
        with pytest.raises(ValueError, match="expected an integer, or one for each of the 2 rows"):
            P.normal(lead)
    assert (P.normal(1).scale > 0).all()  # all paths agree


@pytest.mark.parametrize("name", ["horizon", "n_paths"])
@pytest.mark.parametrize("value", [0, 1.5, True])
def test_counts_are_checked(name, value):
    options = {"horizon": 2, "n_paths": 2, name: value}
    with pytest.raises(ValueError, match=f"{name} is {value}; expected an integer of 1 or more"):
        sample_paths(autoregression(), make(), **options)


def test_no_windows_no_paths():
    with pytest.raises(ValueError, match="expected at least one window to start from"):
        sample_paths(autoregression(), make()[:0], 2)
