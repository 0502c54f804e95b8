"""The finite-sample map on a handful of rows: its coverage has an exact law, and it is met.

For continuous scores with CDF F the coverage F(S_(k)) of the map's knot k / (n + 1) is
Beta(k, n + 1 - k), whose mean is k / (n + 1). Repetitions are independent. Each test rejects at
1e-5, so that all of them together pass a correct map with probability above 0.998.
"""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta, binom, binomtest, kstest

import trueline as tl

SIZES = [1, 6, 19, 100]
REPETITIONS = 4000
REJECT = 1e-5


def quantiles_of_maps(n: int, levels: np.ndarray, finite_sample: bool = True) -> np.ndarray:
    """Quantiles of the scores, (repetitions, levels), from maps fitted on n normal scores."""
    y = np.random.default_rng(n).normal(size=(REPETITIONS, n))
    forecast, new = tl.Point(np.zeros(n)), tl.Point(0.0)
    out = np.empty((REPETITIONS, len(levels)))
    with warnings.catch_warnings():
        # With a handful of rows most levels lie in the extrapolated tail.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        for i in range(REPETITIONS):
            map_ = tl.Isotonic(finite_sample).fit(y[i], forecast)
            out[i] = map_.transform(new).ppf(levels)[0]
    return out


@pytest.mark.parametrize("n", SIZES)
def test_coverage_at_the_knots_has_its_beta_law(n):
    k = np.unique([1, 2, (n + 1) // 2, n - 1, n])
    k = k[(k >= 1) & (k <= n)]
    quantiles = quantiles_of_maps(n, k / (n + 1))
    fresh = np.random.default_rng(1000 + n).normal(size=REPETITIONS)
    for j, rank in enumerate(k):
        law = beta(rank, n + 1 - rank)
        assert kstest(ndtr(quantiles[:, j]), law.cdf).pvalue > REJECT
        covered = int((fresh <= quantiles[:, j]).sum())
        assert binomtest(covered, REPETITIONS, rank / (n + 1)).pvalue > REJECT


@pytest.mark.parametrize("n", SIZES)
def test_off_the_knots_the_error_is_one_over_n_plus_one(n):
    """|P(R(S) <= p) - p| <= 1 / (n + 1), in the tails as well."""
    p = np.array([0.001, 0.004, 0.07, 0.123, 0.333, 0.499, 0.62, 0.871, 0.93, 0.996, 0.999])
    quantiles = quantiles_of_maps(n, p)
    # R(S) <= p just where S is at most the quantile at p, which lies between two knots.
    low = np.floor(p * (n + 1)) / (n + 1)
    high = low + 1.0 / (n + 1)
    assert (np.abs(p - low) <= 1 / (n + 1)).all()
    assert (np.abs(p - high) <= 1 / (n + 1)).all()
    covered = (np.random.default_rng(2000 + n).normal(size=(REPETITIONS, 1)) <= quantiles).sum(0)
    assert (binom.cdf(covered, REPETITIONS, low) > REJECT).all()
    assert (binom.sf(covered - 1, REPETITIONS, high) > REJECT).all()
    # The same with the coverage of each map known exactly, which leaves little noise.
    coverage = ndtr(quantiles)
    error = 5.0 * coverage.std(axis=0) / np.sqrt(REPETITIONS)
    assert (coverage.mean(axis=0) >= low - error).all()
    assert (coverage.mean(axis=0) <= high + error).all()


@pytest.mark.parametrize("n", SIZES)
def test_the_cdf_of_a_fresh_outcome_says_the_same(n):
    """R(S) <= p and S <= R^-1(p) are one event, for the same map."""
    rng = np.random.default_rng(n)
    map_ = tl.Isotonic().fit(rng.normal(size=n), tl.Point(np.zeros(n)))
    recalibrated = map_.transform(tl.Point(np.zeros(500)))
    y, p = rng.normal(size=500), np.arange(1, n + 1) / (n + 1) + 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        below = y[:, None] <= recalibrated.ppf(p)
    np.testing.assert_array_equal(recalibrated.cdf(y)[:, None] <= p, below)


@pytest.mark.parametrize("n", SIZES)
def test_equation_6_is_biased_and_the_finite_sample_map_is_not(n):
    """Eq. 6 puts knot k at k / n, where the coverage is still k / (n + 1) on average."""
    k = (n + 1) // 2
    covered = ndtr(quantiles_of_maps(n, np.array([k / n - 1e-12]), finite_sample=False)[:, 0])
    error = 5.0 * covered.std() / np.sqrt(REPETITIONS)
    assert abs(covered.mean() - k / (n + 1)) < error + 1e-6
