"""Scores and weights at the edges of floating point. Float warnings are errors here."""

import warnings

import numpy as np
import pytest

import trueline as tl

RECALIBRATORS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(cv=2),
]
LEVELS = np.array([1e-12, 1e-6, 0.1, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12])
RNG = np.random.default_rng(0)

SCORES = {
    "one rounding apart": 1.0 + np.arange(50) * 2.0**-52,
    "far from zero": 1e15 + np.arange(20.0),
    "far from zero and wide": 1e9 + RNG.normal(size=50),
    "one outlier": np.append(RNG.normal(size=50), 1e12),
    "two outliers": np.append(RNG.normal(size=50), [-1e9, 1e9]),
    "heavy tails": RNG.standard_cauchy(size=200) ** 3,
    "tiny": 1e-80 * RNG.normal(size=20),
    "huge": 1e80 * RNG.normal(size=20),
    "of all sizes": 10.0 ** RNG.uniform(-6, 6, size=40) * RNG.choice([-1, 1], size=40),
    "two clusters": np.repeat([0.0, 1.0], 25) + 1e-14 * RNG.normal(size=50),
    "zero and almost zero": np.array([0.0, 1e-80, 1.0, 2.0]),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_extreme_scores(recalibrator, name):
    y = SCORES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        dist = recalibrator.fit(y, tl.Point(np.zeros(len(y)))).transform(tl.Point(0.0))
        quantiles = dist.ppf(LEVELS)
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    at = np.unique(np.concatenate([y, quantiles[0]]))[None, :]
    cdf = dist.cdf(at)
    assert ((cdf >= 0) & (cdf <= 1)).all()
    assert (np.diff(cdf) >= -1e-12).all()
    assert np.isfinite(dist.mean()).all()
    assert np.isfinite(dist.var()).all()
    assert (dist.var() >= 0).all()
    assert np.isfinite(dist.crps(at)).all()
    assert not np.isnan(dist.logpdf(at)).any()
    assert not np.isnan(dist.logsf(at)).any()


WEIGHTS = {
    "of all sizes": 10.0 ** RNG.uniform(-8, 8, size=20),
    "one beyond all others": np.append(1e17, np.ones(19)),
    "the last beyond all others": np.append(np.ones(19), 1e17),
    "tiny": np.full(20, 1e-300),
    "huge": np.full(20, 1e28),
    "thirds": np.full(20, 1 / 3),
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_extreme_weights(recalibrator, name):
    y = np.linspace(-2.0, 3.0, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        recalibrator.fit(y, tl.Point(np.zeros(20)), sample_weight=WEIGHTS[name])
        dist = recalibrator.transform(tl.Point(0.0))
        quantiles = dist.ppf(LEVELS)
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    cdf = dist.cdf(np.linspace(-9.0, 9.0, 50)[None, :])
    assert ((cdf >= 0) & (cdf <= 1)).all()
    for value in (dist.mean(), dist.std(), dist.crps(1.0)):
        assert np.isfinite(value).all()
    assert not np.isnan(dist.logpdf(y[None, :])).any()


def test_the_last_knot_of_equation_6_is_exactly_one():
    """Sums of weights round; a CDF above 1 would leave the upper tail a negative mass."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 60))
        y, weight = rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
        map_ = tl.Isotonic(finite_sample=False)
        dist = map_.fit(y, tl.Point(np.zeros(n)), sample_weight=weight).transform(tl.Point(0.0))
        assert dist.cdf(y.max()) == 1.0
        assert dist.logsf(y.max() + 1.0) == -np.inf


@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
def test_scores_that_all_tie_but_for_a_rounding_in_their_mean(recalibrator):
    """The spread is the distance from the forecast, not what rounding leaves of zero."""
    y = np.full(10, 0.1)
    with pytest.warns(tl.CalibrationWarning, match="10 rows have only 1 distinct scores"):
        recalibrator.fit(y, tl.Point(np.zeros(10)))
    assert recalibrator.transform(tl.Point(0.0)).std()[0] > 0.01


def test_a_forecast_a_million_times_too_sure():
    y = 3.0 + np.random.default_rng(1).normal(size=1000)
    for base in (
        tl.Normal(np.zeros(1000), 1e-6),
        tl.Samples(1e-6 * np.random.default_rng(2).normal(size=(1000, 50))),
        tl.Quantiles([0.1, 0.5, 0.9], np.tile([-1e-6, 0.0, 1e-6], (1000, 1))),
    ):
        for recalibrator in RECALIBRATORS:
            dist = recalibrator.fit(y, base).transform(base)
            lower, upper = dist.interval(0.9)
            assert np.isfinite(lower).all()
            assert np.isfinite(upper).all()
            inside = ((y >= lower) & (y <= upper)).mean()
            assert 0.85 < inside < 0.95


def test_arrays_of_any_kind_and_layout():
    rng = np.random.default_rng(3)
    y, loc = rng.normal(size=(2, 60))
    expected = tl.Isotonic().fit(y, tl.Normal(loc, 1.0)).to_json()
    every_second = np.repeat(y, 2)[::2]
    read_only = y.copy()
    read_only.flags.writeable = False
    for form in (y.tolist(), tuple(y), every_second, y[::-1][::-1], read_only):
        assert tl.Isotonic().fit(form, tl.Normal(loc, 1.0)).to_json() == expected
    narrow = tl.Isotonic().fit(y.astype(np.float32), tl.Point(np.zeros(60)))
    assert narrow.scores_.values.dtype == np.float64
    whole = tl.Isotonic().fit(np.arange(5), tl.Point(np.zeros(5)))
    assert whole.scores_.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_pandas_series():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    index = [5, 3, 9, 1]
    y = pandas.Series([1.0, 2.0, 3.0, 4.0], index=index)
    groups = pandas.Series(["a", "b", "a", "b"], index=index)
    plain = tl.Grouped().fit(y.to_numpy(), tl.Point(np.zeros(4)), groups=groups.tolist())
    assert tl.Grouped().fit(y, tl.Point(np.zeros(4)), groups=groups).to_json() == plain.to_json()
    kinds = tl.Grouped().fit(y, tl.Point(np.zeros(4)), groups=groups.astype("category"))
    assert kinds.to_json() == plain.to_json()
