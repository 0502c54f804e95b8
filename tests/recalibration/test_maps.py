"""What each map is, on scores where it can be worked out by hand."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import lognorm, norm, t as student_t

import trueline as tl

ZERO = tl.Point(0.0)


def fit(recalibrator, y, **kwargs):
    return recalibrator.fit(y, tl.Point(np.zeros(len(y))), **kwargs)


# ---- isotonic --------------------------------------------------------------------------


def test_finite_sample_knots():
    dist = fit(tl.Isotonic(), [4.0, 1.0, 2.0, 8.0]).transform(ZERO)
    np.testing.assert_allclose(dist.cdf([[1, 2, 4, 8]])[0], [0.2, 0.4, 0.6, 0.8])
    np.testing.assert_allclose(dist.cdf([[1.5, 3, 6]])[0], [0.3, 0.5, 0.7])
    np.testing.assert_allclose(dist.ppf([0.2, 0.3, 0.5, 0.8])[0], [1, 1.5, 3, 8])
    np.testing.assert_allclose(dist.pdf([[1.5, 3, 6]])[0], [0.2, 0.1, 0.05])


def test_equation_6_knots():
    dist = fit(tl.Isotonic(finite_sample=False), [4.0, 1.0, 2.0, 8.0]).transform(ZERO)
    np.testing.assert_allclose(dist.cdf([[1, 2, 4, 8]])[0], [0.25, 0.5, 0.75, 1.0])
    assert dist.sf(8.0) == 0.0
    assert dist.logsf(9.0) == -np.inf
    assert dist.pdf(9.0) == 0.0
    np.testing.assert_allclose(dist.ppf(1 - 1e-12), 8.0)


def test_the_exponential_tail_has_the_mean_excess_at_the_last_row():
    """100 rows: the 10 largest over the 11th, and the line on which their mean excess grows."""
    y = np.random.default_rng(0).exponential(size=100)
    dist = fit(tl.Isotonic(), y).transform(ZERO)
    top = np.sort(y)[::-1]
    v = top[:10] - top[10]
    smaller = np.mean([min(a, b) for i, a in enumerate(v) for b in v[:i]])
    # Hosking and Wallis: shape 2 - a0 / (a0 - 2 a1) with a0 = E V and 2 a1 = E min(V, V').
    shape = 2.0 - v.mean() / (v.mean() - smaller)
    shape = (10**2 * shape + 15**2 * 0.1) / (10**2 + 15**2)
    excess = v.mean() + shape / (1.0 - shape) * v[0]
    with pytest.warns(tl.CalibrationWarning, match="extrapolated tail"):
        far = dist.ppf(1 - np.exp(-3) / 101)[0]
    np.testing.assert_allclose(far, top[0] + 3 * excess)
    np.testing.assert_allclose(dist.sf(top[0] + 2 * excess), np.exp(-2) / 101)
    np.testing.assert_allclose(dist.pdf(top[0] + excess), np.exp(-1) / 101 / excess)


@pytest.mark.parametrize(
    "law", [student_t(3), lognorm(1.0), norm()], ids=["t3", "lognormal", "normal"]
)
def test_extrapolated_quantiles_are_exceeded_about_as_often_as_they_say(law):
    """Mean of 1,000 maps of 500 rows; the ends are beyond them. Standard errors are below 0.06."""
    rng = np.random.default_rng(0)
    draws = law.rvs(size=(1000, 500), random_state=rng)
    ends = [fit(tl.Isotonic(), y).law_.ppf(np.array([0.001, 0.999])) for y in draws]
    below, above = np.transpose(ends)
    for share in (law.cdf(below).mean(), law.sf(above).mean()):
        assert 0.0005 < share < 0.002


def test_a_tail_of_weighted_rows_is_that_of_as_many_effective_rows():
    y = np.random.default_rng(1).standard_t(3, size=300)
    plain, heavy = fit(tl.Isotonic(), y), fit(tl.Isotonic(), y, sample_weight=np.full(300, 7.0))
    shared = fit(
        tl.Isotonic(), np.repeat(y, 2) + np.tile([0.0, 1e-9], 300), sample_weight=np.full(600, 0.5)
    )
    for other in (heavy, shared):
        for one, two in zip(plain.law_.tails, other.law_.tails, strict=True):
            assert two.excess == pytest.approx(one.excess, rel=1e-6)


def test_normal_scores_get_a_half_normal_tail():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(50, 40))
    forecast = tl.Samples(draws)
    dist = tl.Isotonic().fit(rng.normal(size=50), forecast).transform(forecast)
    law = tl.Isotonic().fit(rng.normal(size=50), forecast).law_
    assert type(law.tails[0]).__name__ == type(law.tails[1]).__name__ == "NormalTail"
    assert np.isfinite(dist.var()).all()


@pytest.mark.parametrize("x, scale", [(0.5, 0.5), (-2.0, 2.0), (0.0, 1.0)])
def test_a_single_row(x, scale):
    """Both tails start at the row, with its own distance as their mean excess."""
    dist = fit(tl.Isotonic(), [x]).transform(ZERO)
    assert dist.median() == x
    np.testing.assert_allclose(dist.cdf(x - scale), 0.5 * np.exp(-1))
    np.testing.assert_allclose(dist.sf(x + scale), 0.5 * np.exp(-1))
    np.testing.assert_allclose(dist.mean(), x, atol=1e-15)
    np.testing.assert_allclose(dist.std(), np.sqrt(2) * scale)  # a Laplace law


def test_a_forecast_that_was_right_stays_as_it_is():
    n = 4999
    y = ndtri(np.arange(1, n + 1) / (n + 1))
    dist = tl.Isotonic().fit(y, tl.Normal(np.zeros(n), 1.0)).transform(tl.Normal(3.0, 2.0))
    q = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(dist.ppf(q)[0], norm.ppf(q, 3.0, 2.0), atol=1e-3)
    np.testing.assert_allclose(dist.mean(), 3.0, atol=1e-9)
    np.testing.assert_allclose(dist.std(), 2.0, rtol=1e-3)


def test_a_bias_is_taken_out_in_its_own_direction():
    """Not mirrored: outcomes above the forecast move it up."""
    y = 1.0 + np.random.default_rng(1).normal(size=5000)
    forecast = tl.Normal(np.zeros(5000), 1.0)
    for recalibrator in (tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto()):
        dist = recalibrator.fit(y, forecast).transform(tl.Normal(10.0, 1.0))
        np.testing.assert_allclose(dist.median(), 11.0, atol=0.06)
        np.testing.assert_allclose(dist.mean(), 11.0, atol=0.06)


# ---- scaling ---------------------------------------------------------------------------


def test_scaling_is_normal_with_the_mean_and_std_of_the_scores():
    y, w = np.array([1.0, 2.0, 4.0, 9.0]), np.array([1.0, 2.0, 0.5, 3.0])
    dist = fit(tl.Scaling(), y, sample_weight=w).transform(tl.Point([0.0, 100.0]))
    mean = np.average(y, weights=w)
    std = np.sqrt(np.average((y - mean) ** 2, weights=w))
    np.testing.assert_allclose(dist.mean(), [mean, 100 + mean])
    np.testing.assert_allclose(dist.std(), std)
    np.testing.assert_allclose(dist.ppf(0.9), norm.ppf(0.9, [mean, 100 + mean], std))
    np.testing.assert_allclose(dist.logpdf(3.0), norm.logpdf(3.0, [mean, 100 + mean], std))


def test_scaling_ignores_the_shape_of_the_forecast():
    y = np.array([1.0, 2.0, 4.0])
    loc = np.zeros(3)
    one = tl.Scaling().fit(y, tl.Normal(loc, 1.0)).transform(tl.Laplace(0.0, 1.0))
    two = tl.Scaling().fit(y, tl.Laplace(loc, 1.0)).transform(tl.Normal(0.0, 1.0))
    np.testing.assert_array_equal(one.ppf(0.9), two.ppf(0.9))


# ---- beta ------------------------------------------------------------------------------


def test_beta_on_normal_scores_is_scaling():
    y = 2.0 + 3.0 * ndtri((np.arange(2000) + 0.5) / 2000)
    law = fit(tl.BetaCalibration(), y).law_
    np.testing.assert_allclose([law.a, law.b, law.c], [1.0, 1.0, 0.0], atol=5e-3)
    dist = fit(tl.BetaCalibration(), y).transform(ZERO)
    np.testing.assert_allclose(
        dist.ppf([0.05, 0.5, 0.95])[0], norm.ppf([0.05, 0.5, 0.95], 2, 3), atol=0.02
    )


def test_beta_is_the_logistic_regression_of_scikit_learn():
    """Each row counts p for and 1 - p against, with its mid-rank p."""
    from scipy.special import log_ndtr
    from sklearn.linear_model import LogisticRegression

    y = np.sort(np.random.default_rng(2).gamma(2.0, size=300))
    law = fit(tl.BetaCalibration(), y).law_
    t = (y - y.mean()) / y.std()
    features = np.stack([log_ndtr(t), -log_ndtr(-t)], axis=1)
    p = (np.arange(300) + 0.5) / 300
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(
        np.concatenate([features, features]),
        np.repeat([1, 0], 300),
        sample_weight=np.concatenate([p, 1 - p]),
    )
    np.testing.assert_allclose([law.a, law.b], reference.coef_[0], rtol=1e-3)
    np.testing.assert_allclose(law.c, reference.intercept_[0], rtol=1e-3)


def test_beta_follows_skewness():
    rng = np.random.default_rng(3)
    old, new = rng.gamma(2.0, size=(2, 4000))
    crps = {
        name: recalibrator.fit(old, tl.Point(np.zeros(4000)))
        .transform(ZERO)
        .crps(new[None, :])
        .mean()
        for name, recalibrator in (("beta", tl.BetaCalibration()), ("scaling", tl.Scaling()))
    }
    assert crps["beta"] < 0.99 * crps["scaling"]


# ---- smooth ----------------------------------------------------------------------------


def test_smooth_on_normal_scores_is_normal():
    y = 2.0 + 3.0 * ndtri((np.arange(2000) + 0.5) / 2000)
    dist = fit(tl.Smooth(), y).transform(ZERO)
    q = np.array([1e-9, 0.001, 0.05, 0.5, 0.95, 0.999, 1 - 1e-9])
    np.testing.assert_allclose(dist.ppf(q)[0], norm.ppf(q, 2.0, 3.0), rtol=1e-9)
    np.testing.assert_allclose(
        dist.logpdf([[-30.0, 0.0, 2.0, 40.0]])[0], norm.logpdf([-30, 0, 2, 40], 2, 3), rtol=1e-7
    )
    np.testing.assert_allclose(dist.mean(), 2.0, rtol=1e-9)
    np.testing.assert_allclose(dist.std(), 3.0, rtol=1e-8)


def test_smooth_has_a_continuous_density_that_never_vanishes():
    y = np.random.default_rng(4).standard_t(3, size=800)
    dist = fit(tl.Smooth(), y).transform(ZERO)
    grid = np.linspace(-15.0, 15.0, 60_001)
    density = dist.pdf(grid[None, :])[0]
    assert (density > 0).all()
    assert np.abs(np.diff(density)).max() < 2e-3
    area = ((density[1:] + density[:-1]) / 2 * np.diff(grid)).sum()
    np.testing.assert_allclose(area, dist.cdf(15.0) - dist.cdf(-15.0), atol=1e-6)


def test_smooth_mends_a_wrong_shape_and_improves_the_log_score():
    rng = np.random.default_rng(5)
    old, new = np.where(rng.random((2, 4000)) < 0.4, -4.0, 4.0) + rng.normal(size=(2, 4000))
    log_score = {
        repr(r): -fit(r, old).transform(ZERO).logpdf(new[None, :]).mean()
        for r in (tl.Smooth(), tl.Scaling())
    }
    best = -np.log(0.4 * norm.pdf(new, -4) + 0.6 * norm.pdf(new, 4)).mean()
    assert log_score["Smooth()"] < best + 0.1
    assert log_score["Scaling()"] > best + 0.5


@pytest.mark.parametrize("n_knots", [2, 3, 10, 1000])
def test_smooth_with_a_given_number_of_knots(n_knots):
    y = np.random.default_rng(6).normal(size=500)
    dist = fit(tl.Smooth(n_knots=n_knots), y).transform(ZERO)
    np.testing.assert_allclose(
        dist.ppf([0.1, 0.5, 0.9])[0], np.quantile(y, [0.1, 0.5, 0.9]), atol=0.15
    )
