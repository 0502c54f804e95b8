"""The same input in scikit-learn's isotonic regression."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import trueline as tl

N = 500


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    loc, scale = rng.normal(size=N), rng.uniform(0.5, 2.0, size=N)
    return loc, scale, loc + 0.3 * scale + 1.5 * scale * rng.normal(size=N)


def empirical_frequency(p: np.ndarray) -> np.ndarray:
    """Eq. 6 of the paper: the share of the PIT values at or below each."""
    return (p[None, :] <= p[:, None]).mean(axis=1)


def test_equation_6_is_scikit_learns_isotonic_regression_at_the_knots(rows):
    loc, scale, y = rows
    forecast = tl.Normal(loc, scale)
    pit = forecast.cdf(y)
    reference = IsotonicRegression().fit(pit, empirical_frequency(pit)).predict(pit)
    recalibrated = tl.Isotonic(finite_sample=False).fit(y, forecast).transform(forecast)
    np.testing.assert_allclose(recalibrated.cdf(y), reference, rtol=0, atol=1e-12)


def test_equation_6_with_weights(rows):
    loc, scale, y = rows
    weight = np.random.default_rng(4).uniform(0.0, 1.0, size=N)
    forecast = tl.Normal(loc, scale)
    pit = forecast.cdf(y)
    frequency = ((pit[None, :] <= pit[:, None]) @ weight) / weight.sum()
    reference = IsotonicRegression().fit(pit, frequency, sample_weight=weight).predict(pit)
    map_ = tl.Isotonic(finite_sample=False).fit(y, forecast, sample_weight=weight)
    np.testing.assert_allclose(map_.transform(forecast).cdf(y), reference, rtol=0, atol=1e-12)


def test_equation_6_with_ties(rows):
    y = np.round(rows[2])
    forecast = tl.Normal(np.zeros(N), 1.0)
    pit = forecast.cdf(y)
    reference = IsotonicRegression().fit(pit, empirical_frequency(pit)).predict(pit)
    with pytest.warns(tl.CalibrationWarning, match="more than half are tied"):
        map_ = tl.Isotonic(finite_sample=False, support=None).fit(y, forecast)
    np.testing.assert_allclose(map_.transform(forecast).cdf(y), reference, rtol=0, atol=1e-12)
