"""Outcomes that take few values, with maps that are told of no support: atoms of the right mass.

With n rows, C_j of them at or below the value v_j, the finite-sample map has R(v_j) =
C_j / (n + 1). One row of every tie is spread over the way from the value below, as any single
row's is; the others are a jump at v_j. Everything else here is added up from that by hand.
"""

import warnings

import numpy as np
import pytest
from scipy.stats import betabinom

import trueline as tl

# Grades as in the red wine data of Cortez et al. (2009): 1599 rows, six values.
GRADES = np.repeat([3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [10, 53, 681, 638, 199, 18])

# Closer than this to a value there is nothing but its atom.
HAIR = 1e-9


def counts():
    return np.random.default_rng(0).poisson(3.0, size=400).astype(float)


# Constants that are sums of powers of two: scores and quantiles are then free of rounding.
FORECASTS = {
    "Point": lambda n: tl.Point(np.full(n, 5.5)),
    "Normal": lambda n: tl.Normal(np.full(n, 5.5), 0.5),
    "StudentT": lambda n: tl.StudentT(np.full(n, 4.25), 2.0, df=3.0),
}
OUTCOMES = {"grades": GRADES, "counts": counts(), "coin": np.repeat([0.0, 1.0], [30, 70])}


def recalibrated(y, forecast, finite_sample=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)  # of ties, which are meant
        map_ = tl.Isotonic(finite_sample, support=None).fit(y, forecast(len(y)))
    return map_.transform(forecast(1))


@pytest.fixture(params=OUTCOMES)
def y(request):
    return OUTCOMES[request.param]


@pytest.fixture(params=FORECASTS)
def forecast(request):
    return FORECASTS[request.param]


class ByHand:
    """The recalibrated law as a list of atoms, straight pieces and two exponential tails."""

    def __init__(self, y, dist):
        self.v, count = np.unique(y, return_counts=True)
        rows = len(y) + 1
        self.right = np.cumsum(count) / rows
        self.left = (np.cumsum(count) - count + 1) / rows
        self.tail = 1 / rows
        # An exponential excess has fallen to 1/e of its mass at its mean.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.CalibrationWarning)
            low, high = dist.ppf([self.tail / np.e, 1 - self.tail / np.e])[0]
        self.below, self.above = self.v[0] - low, high - self.v[-1]

    def moment(self, power, centre):
        """E (Y - centre)^power for power 1 or 2, part by part."""
        v = self.v - centre
        atoms = (self.right - self.left) @ v**power
        a, b = v[:-1], v[1:]
        mean = (a + b) / 2 if power == 1 else (a * a + a * b + b * b) / 3
        pieces = (self.left[1:] - self.right[:-1]) @ mean
        low, high = v[0] - self.below, v[-1] + self.above
        if power == 2:
            low, high = low**2 + self.below**2, high**2 + self.above**2
        return atoms + pieces + self.tail * (low + high)

    def crps(self, at):
        """Integral of (G(x) - 1{x >= at})^2, for `at` one of the values."""
        i = int(np.flatnonzero(self.v == at)[0])
        a, b, width = self.right[:-1], self.left[1:], np.diff(self.v)
        below = ((a * a + a * b + b * b) / 3 * width)[:i].sum()
        a, b = 1 - a, 1 - b
        above = ((a * a + a * b + b * b) / 3 * width)[i:].sum()
        return below + above + self.tail**2 / 2 * (self.below + self.above)


def test_atoms_carry_the_share_of_their_rows(y, forecast):
    dist = recalibrated(y, forecast)
    values, count = np.unique(y, return_counts=True)
    at = dist.cdf(values[None, :])[0]
    below = dist.cdf(values[None, :] - HAIR)[0]
    np.testing.assert_allclose(at, np.cumsum(count) / (len(y) + 1), rtol=1e-13)
    np.testing.assert_allclose(at - below, (count - 1) / (len(y) + 1), rtol=0, atol=HAIR)


def test_equation_6_gives_the_empirical_cdf(y, forecast):
    dist = recalibrated(y, forecast, finite_sample=False)
    values, count = np.unique(y, return_counts=True)
    at = dist.cdf(values[None, :])[0]
    np.testing.assert_allclose(at, np.cumsum(count) / len(y), rtol=1e-13)
    assert dist.cdf(values[-1])[0] == 1.0
    np.testing.assert_allclose(dist.ppf(1 - 1e-12), values[-1], rtol=1e-8)


def test_quantiles_are_values_that_were_seen(y, forecast):
    dist = recalibrated(y, forecast)
    values, count = np.unique(y, return_counts=True)
    reached = np.cumsum(count)
    # Anywhere in the jump of a value, which is all of its rows but one.
    for value, last, rows in zip(values, reached, count, strict=True):
        levels = np.linspace(last - rows + 1, last, 7) / (len(y) + 1)
        np.testing.assert_array_equal(dist.ppf(levels)[0], value)
    # So of all levels at most one row's worth a value, and one more, gives anything else.
    levels = np.linspace(1, len(y), 20_000) / (len(y) + 1)
    other = ~np.isin(dist.ppf(levels)[0], values)
    assert other.mean() <= (len(values) + 1) / (len(y) + 1)


def test_cdf_of_a_quantile_is_at_least_the_level(y, forecast):
    dist = recalibrated(y, forecast)
    levels = np.linspace(1, len(y), 2001) / (len(y) + 1)
    quantile = dist.ppf(levels)
    assert (dist.cdf(quantile)[0] >= levels - 1e-14).all()
    assert (dist.cdf(quantile - HAIR)[0] <= levels + 1e-14).all()


def test_mean_and_variance_by_summation(y, forecast):
    dist = recalibrated(y, forecast)
    hand = ByHand(y, dist)
    mean = hand.moment(1, 0.0)
    np.testing.assert_allclose(dist.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(dist.var(), hand.moment(2, mean), rtol=1e-10)


def test_crps_by_summation(y, forecast):
    dist = recalibrated(y, forecast)
    hand = ByHand(y, dist)
    for value in hand.v:
        np.testing.assert_allclose(dist.crps(value), hand.crps(value), rtol=1e-10)


def test_density_is_that_of_the_continuous_part(y, forecast):
    """Half a row's way from a value to the next, the density is one row over that way."""
    dist = recalibrated(y, forecast)
    values = np.unique(y)
    middle = (values[1:] + values[:-1])[None, :] / 2
    expected = 1 / ((len(y) + 1) * np.diff(values))
    np.testing.assert_allclose(dist.pdf(middle)[0], expected, rtol=1e-9)
    assert np.isfinite(dist.logpdf(values[None, :])).all()


def test_samples_are_values_that_were_seen(y, forecast):
    dist = recalibrated(y, forecast)
    draws = dist.sample(4000, random_state=0)[0]
    values, count = np.unique(y, return_counts=True)
    for value, rows in zip(values, count, strict=True):
        share = (draws == value).mean()
        expected = (rows - 1) / (len(y) + 1)
        assert abs(share - expected) < 5 * np.sqrt(expected / 4000 + 1e-6)


LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@pytest.mark.parametrize("seed", range(3))
def test_coverage_is_at_least_nominal(forecast, seed):
    """With ties P(Y <= quantile) is at least k / (n + 1): one side of test_coverage_law.py."""
    rng = np.random.default_rng(seed)
    n, m = 999, 5000
    old, new = rng.poisson(4.0, size=n), rng.poisson(4.0, size=m)
    dist = recalibrated(old.astype(float), forecast)
    covered = (new[:, None] <= dist.ppf(LEVELS)).sum(axis=0)
    k = np.round(LEVELS * (n + 1))
    assert (betabinom(m, k, n + 1 - k).cdf(covered) > 1e-5).all()
    # An interval with its ends holds at least what it says, up to the same noise.
    for coverage in (0.5, 0.9):
        lower, upper = dist.interval(coverage)
        inside = ((new >= lower) & (new <= upper)).mean()
        assert inside >= coverage - 5 * np.sqrt(coverage * (1 - coverage) * (1 / n + 1 / m))


@pytest.mark.parametrize("base", ["Samples", "Quantiles", "Mixture"])
def test_other_forecasts_of_a_constant(base):
    """The score of a value is the same in every row, so the atoms are there as well."""
    n = len(GRADES)
    if base == "Samples":
        forecast = tl.Samples(np.tile(np.linspace(4.1, 7.6, 20), (n, 1)))
    elif base == "Quantiles":
        forecast = tl.Quantiles([0.1, 0.5, 0.9], np.tile([4.5, 5.5, 7.0], (n, 1)))
    else:
        forecast = tl.Mixture([tl.Normal(np.full(n, 5.0), 0.5), tl.Normal(np.full(n, 6.0), 1.0)])
    with pytest.warns(tl.CalibrationWarning, match="1599 rows have only 6 distinct scores"):
        dist = tl.Isotonic(support=None).fit(GRADES, forecast).transform(forecast[:1])
    values, count = np.unique(GRADES, return_counts=True)
    np.testing.assert_allclose(
        dist.cdf(values[None, :])[0], np.cumsum(count) / (n + 1), rtol=0, atol=1e-12
    )
    levels = (np.cumsum(count) - count / 2) / (n + 1)
    np.testing.assert_allclose(dist.ppf(levels)[0], values, rtol=1e-12)
    jump = dist.cdf(values[None, :] + HAIR) - dist.cdf(values[None, :] - HAIR)
    np.testing.assert_allclose(jump[0], (count - 1) / (n + 1), rtol=0, atol=1e-6)
    assert np.isfinite(dist.mean()).all()
    assert np.isfinite(dist.crps(values[None, :])).all()
