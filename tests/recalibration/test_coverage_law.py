"""Coverage on fresh rows follows its exact law, however wrong the forecast was.

The law. Let S_(1) < ... < S_(n) be the calibration scores, exchangeable with the fresh ones and
without ties. Whatever the distribution F of the scores, F(S_(k)) ~ Beta(k, n + 1 - k), so of m
fresh rows the number at or below S_(k) is Beta-binomial(m, k, n + 1 - k). The quantile at level
q of the finite-sample map lies between S_(k) and S_(k+1) with k = floor(q (n + 1)). The count N
at or below it is therefore held between two counts that have exact laws:

    P(N <= c) <= P(BetaBinomial(m, k, n + 1 - k) <= c),
    P(N >= c) <= P(BetaBinomial(m, k + 1, n - k) >= c).

With n = 20,000 the two differ by one rank in 20,001. A case fails where one of these is below
its share of 0.1%, divided by the number of all levels, cases, bases and sides (Bonferroni), so
that a correct map fails any of them with probability 0.001 at most. The seed is fixed.
"""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import betabinom

import trueline as tl

N_CAL = N_NEW = 20_000
LEVELS = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
BIASES = [0.0, 0.5, 1.0, 2.0, 3.0]
SCALES = [0.02, 0.2, 0.5, 1.0, 3.0, 1e-6]
CASES = list(product(BIASES, SCALES))
BASES = ["Normal", "Samples", "Quantiles", "Point"]
SHARE = 0.001 / (len(CASES) * len(BASES) * len(LEVELS) * 2)

GRID = np.arange(1, 100) / 100


@lru_cache
def count_law(k: int) -> tuple[np.ndarray, np.ndarray]:
    """P(N <= c) and P(N >= c), for the count of fresh rows up to the k-th of the scores."""
    pmf = betabinom.pmf(np.arange(N_NEW + 1), N_NEW, k, N_CAL + 1 - k)
    return np.cumsum(pmf), np.cumsum(pmf[::-1])[::-1]


def tail_probability(level: float, count: int) -> float:
    """How likely so extreme a count is, at most, under the law above."""
    k = int(np.floor(level * (N_CAL + 1)))
    too_few, _ = count_law(k)
    _, too_many = count_law(k + 1)
    return float(min(too_few[count], too_many[count]))


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(20180710)
    return {part: np.sort(rng.normal(size=(N_CAL, 200)), axis=1) for part in ("old", "new")}


def forecast(base: str, scale: float, draws: np.ndarray) -> tl.Distribution:
    """N(0, scale) as each kind of forecast tells it."""
    match base:
        case "Normal":
            return tl.Normal(np.zeros(N_CAL), scale)
        case "Samples":
            return tl.Samples(scale * draws)
        case "Quantiles":
            return tl.Quantiles(GRID, np.tile(scale * ndtri(GRID), (N_CAL, 1)))
        case _:
            return tl.Point(np.zeros(N_CAL))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("bias, scale", CASES)
def test_coverage_of_quantiles_on_fresh_rows(base, bias, scale, draws):
    seed = [BASES.index(base), *(round(x * 1e6) for x in (bias, scale))]
    y_old, y_new = bias + np.random.default_rng(seed).normal(size=(2, N_CAL))
    map_ = tl.Isotonic().fit(y_old, forecast(base, scale, draws["old"]))
    recalibrated = map_.transform(forecast(base, scale, draws["new"]))

    quantiles = recalibrated.ppf(LEVELS)
    assert np.isfinite(quantiles).all()
    counts = (y_new[:, None] <= quantiles).sum(axis=0)
    for level, count in zip(LEVELS, counts, strict=True):
        assert tail_probability(level, count) > SHARE, f"{count} of {N_NEW} below the {level}"

    # The CDF counts the same rows, and nothing anywhere is infinite or NaN.
    pit = recalibrated.cdf(y_new)
    np.testing.assert_array_equal((pit[:, None] <= LEVELS).sum(axis=0), counts)
    lower, upper = recalibrated.interval([0.9, 0.999])
    for values in (pit, lower, upper, recalibrated.mean(), recalibrated.std()):
        assert np.isfinite(values).all()
    assert np.isfinite(recalibrated.crps(y_new)).all()
    assert not np.isnan(recalibrated.logpdf(y_new)).any()


def test_the_law_tells_a_wrong_forecast_from_a_right_one():
    y = 0.1 + np.random.default_rng(0).normal(size=N_NEW)
    biased = tl.Normal(np.zeros(N_NEW), 1.0)
    counts = (y[:, None] <= biased.ppf(LEVELS)).sum(axis=0)
    failed = [tail_probability(q, c) <= SHARE for q, c in zip(LEVELS, counts, strict=True)]
    assert sum(failed) >= 4


def test_forecasts_that_differ_from_row_to_row():
    """Scores, not forecasts, are exchangeable: a location and a scale for each row."""
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=(2, 2, N_CAL))
    scale = np.exp(scale)
    y = loc + scale * rng.standard_t(3, size=(2, N_CAL))
    map_ = tl.Isotonic().fit(y[0], tl.Normal(loc[0], 0.1 * scale[0]))
    quantiles = map_.transform(tl.Normal(loc[1], 0.1 * scale[1])).ppf(LEVELS)
    counts = (y[1][:, None] <= quantiles).sum(axis=0)
    for level, count in zip(LEVELS, counts, strict=True):
        assert tail_probability(level, count) > 0.001 / (2 * len(LEVELS))
