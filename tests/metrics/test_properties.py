"""What holds for any outcomes, forecast and weights."""

import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import trueline as tl

SIZES = st.integers(1, 25)


@st.composite
def forecasts(draw):
    """Outcomes with a Normal, Laplace or Samples forecast."""
    n = draw(SIZES)
    numbers = st.floats(-100, 100).map(lambda x: round(x, 3))
    y, loc = (draw(arrays(float, n, elements=numbers)) for _ in range(2))
    scale = draw(arrays(float, n, elements=st.sampled_from([0.1, 0.5, 1.0, 2.0, 50.0])))
    kind = draw(st.sampled_from(["normal", "laplace", "samples"]))
    if kind == "normal":
        return y, tl.Normal(loc, scale)
    if kind == "laplace":
        return y, tl.Laplace(loc, scale)
    return y, tl.Samples(loc[:, None] + scale[:, None] * np.array([-1.0, 0.0, 0.5, 3.0]))


@st.composite
def weighted(draw):
    """The same, with small whole weights that are not all zero."""
    y, F = draw(forecasts())
    w = draw(arrays(int, y.size, elements=st.integers(0, 3)).filter(lambda a: a.any()))
    return y, F, w


MEANS = {
    "crps": tl.crps,
    "log_score": tl.log_score,
    "coverage": tl.coverage,
    "interval_score": tl.interval_score,
    "pinball_loss": lambda y, F, **kw: tl.pinball_loss(y, F, 0.3, **kw),
    "pinball_loss at levels": lambda y, F, **kw: tl.pinball_loss(y, F, [0.2, 0.9], **kw),
    "sharpness": lambda y, F, **kw: tl.sharpness(F, **kw),
    "ence": lambda y, F, **kw: tl.ence(y, F, 3, **kw),
    "calibration_error": tl.calibration_error,
    "calibration_curve": lambda y, F, **kw: tl.calibration_curve(y, F, **kw).observed,
}


# Steps are spread at random, one number for each row in turn.
DRAWN = {"calibration_error", "calibration_curve"}


def means_of(F):
    """The means that do not depend on the order of rows."""
    return {name: f for name, f in MEANS.items() if name not in DRAWN or not F._has_atoms()}


@given(weighted())
@settings(deadline=None)
def test_weight_k_is_k_rows(case):
    y, F, w = case
    rows = np.repeat(np.arange(y.size), w)
    for name, score in means_of(F).items():
        np.testing.assert_allclose(
            score(y, F, sample_weight=w),
            score(y[rows], F[rows]),
            rtol=1e-9,
            atol=1e-11,
            err_msg=name,
        )


@given(weighted(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_rows_does_not_matter(case, random):
    y, F, w = case
    rows = list(range(y.size))
    random.shuffle(rows)
    for name, score in means_of(F).items():
        np.testing.assert_allclose(
            score(y[rows], F[rows], sample_weight=w[rows]),
            score(y, F, sample_weight=w),
            rtol=1e-9,
            atol=1e-11,
            err_msg=name,
        )


@given(weighted(), st.floats(1e-6, 1e6))
@settings(deadline=None)
def test_the_unit_of_the_weights_does_not_matter(case, unit):
    y, F, w = case
    for name, score in MEANS.items():
        if name != "ence":  # a row on the edge of a bin may fall either way
            np.testing.assert_allclose(
                score(y, F, sample_weight=w * unit),
                score(y, F, sample_weight=w),
                rtol=1e-9,
                atol=1e-11,
                err_msg=name,
            )


@given(forecasts())
@settings(deadline=None)
def test_the_mean_of_the_rows_is_the_score(case):
    y, F = case
    for score in (tl.crps, tl.log_score, tl.coverage, tl.interval_score):
        rows = score(y, F, reduce=False)
        assert rows.shape == y.shape
        np.testing.assert_allclose(score(y, F), rows.mean(), rtol=1e-12)


@given(weighted(), st.sets(st.floats(0, 1), min_size=1, max_size=8))
@settings(deadline=None, max_examples=50)
def test_the_curve_rises_and_stays_in_the_unit_interval(case, levels):
    y, F, w = case
    curve = tl.calibration_curve(y, F, sorted(levels), sample_weight=w)
    for line in (curve.observed, curve.lower, curve.upper):
        assert (np.diff(line) >= 0).all()
        assert line.min() >= 0
        assert line.max() <= 1 + 1e-12
    assert (curve.lower <= curve.levels + 1e-12).all()
    assert (curve.levels <= curve.upper + 1e-12).all()


@given(st.integers(1, 200))
@settings(deadline=None)
def test_even_pits_are_off_the_diagonal_by_half_a_row_at_most(n):
    F = tl.Normal(np.zeros(n), 1.0)
    y = tl.Normal(0, 1).ppf((np.arange(n) + 0.5) / n)[0]
    curve = tl.calibration_curve(y, F)
    assert np.abs(curve.observed - curve.levels).max() <= 0.5 / n + 1e-12
    assert curve.inside
    assert tl.calibration_error(y, F) <= 11 * (0.5 / n + 1e-12) ** 2


@given(forecasts())
@settings(deadline=None)
def test_a_true_median_cannot_be_beaten_by_a_biased_one(case):
    # Propriety, for a forecast that is right on average over its own quantiles.
    _, F = case
    middles = (np.arange(200) + 0.5) / 200
    truth = F.ppf(middles)
    rows = np.repeat(np.arange(len(F)), 200)
    honest, shifted = tl.Point(F.median()[rows]), tl.Point(F.median()[rows] + 0.05)
    slack = 1e-9 * (1 + np.abs(truth).max())
    assert tl.crps(truth.ravel(), honest) <= tl.crps(truth.ravel(), shifted) + slack
