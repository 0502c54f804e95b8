"""Whatever the scores and weights, a map is a CDF with finite quantiles."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.base import clone

import trueline as tl

RECALIBRATORS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.Smooth(n_knots=2),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto([tl.Scaling(), tl.Isotonic()], cv=2),
]
LEVELS = np.array([1e-12, 1e-4, 0.05, 0.3, 0.5, 0.7, 0.95, 1 - 1e-4, 1 - 1e-12])

plain = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.differing_executors],
)


def numbers(largest):
    """Numbers up to this size, and zero, but none so small that its square is zero."""
    return st.floats(-largest, largest).map(lambda x: x if abs(x) > 1e-60 else 0.0)


even = st.one_of(
    st.lists(numbers(10.0), min_size=1, max_size=30),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30),
    st.lists(st.sampled_from([0.0, 0.1, 0.1 + 1e-16, 1.0, 1.0 + 2e-16]), min_size=1),
)
scores = st.one_of(
    even,
    st.lists(numbers(1e12), min_size=1),
    # One far from all the others.
    st.lists(numbers(1.0), min_size=3, max_size=20).map(lambda x: [*x, 1e9]),
)


@st.composite
def weighted_scores(draw):
    y = np.array(draw(scores))
    weight = st.floats(1e-6, 1e6) | st.sampled_from([0.0, 1.0, 2.0, 1e-3])
    w = draw(st.none() | st.lists(weight, min_size=len(y), max_size=len(y)))
    return y, None if w is None or not any(w) else np.array(w)


def fitted(recalibrator, y, w=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        return recalibrator.fit(y, tl.Point(np.zeros(len(y))), sample_weight=w)


@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
@plain
@given(rows=weighted_scores(), plain_rows=even)
def test_a_map_is_a_cdf(recalibrator, rows, plain_rows):
    # Three parameters cannot follow an outlier a billion times further out than the rest.
    is_beta = isinstance(recalibrator, tl.BetaCalibration)
    y, w = (np.array(plain_rows), None) if is_beta else rows
    dist = fitted(recalibrator, y, w).transform(tl.Point(0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        quantiles = dist.ppf(LEVELS)
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    grid = np.sort(np.concatenate([quantiles[0], np.unique(y), [-1e13, 0.0, 1e13]]))[None, :]
    for name in ("cdf", "sf"):
        p = getattr(dist, name)(grid)
        assert ((p >= 0) & (p <= 1)).all(), name
        assert (np.diff(p) * (1 if name == "cdf" else -1) >= -1e-14).all(), name
    for name in ("logcdf", "logsf", "logpdf"):
        assert not np.isnan(getattr(dist, name)(grid)).any(), name
    for value in (dist.mean(), dist.var(), dist.crps(grid)):
        assert np.isfinite(value).all()
    assert dist.var()[0] >= 0
    hair = 1e-9 * np.abs(quantiles).max() + 1e-300
    assert (dist.cdf(quantiles + hair) >= LEVELS - 1e-9).all()
    assert (dist.cdf(quantiles - hair) <= LEVELS + 1e-9).all()


# Not Auto: a fold in which all scores are 0 has a spread of one unit, whatever the unit.
@pytest.mark.parametrize("recalibrator", RECALIBRATORS[:-1], ids=repr)
@plain
@given(scores, st.sampled_from([2.0**-40, 0.25, 2.0**30]), st.randoms())
def test_a_change_of_unit_is_a_change_of_unit(recalibrator, y, unit, random):
    """A power of two scales everything without rounding, and the order of rows is no matter."""
    y = np.array(y)
    span = np.ptp(y)
    if span == 0:
        return  # all tied: the fallback spread is one unit, whatever the unit
    dist = fitted(recalibrator, y).transform(tl.Point(0.0))
    order = np.array(random.sample(range(len(y)), len(y)))
    scaled = fitted(recalibrator, unit * y[order]).transform(tl.Point(0.0))
    grid = np.concatenate([np.unique(y), [y.min() - span, y.max() + span]])[None, :]
    np.testing.assert_allclose(scaled.cdf(unit * grid), dist.cdf(grid), rtol=1e-6, atol=1e-9)


@plain
@given(weighted_scores())
def test_the_knots_of_the_isotonic_map(rows):
    y, w = rows
    w = np.ones(len(y)) if w is None else w
    dist = fitted(tl.Isotonic(finite_sample=False), y, w).transform(tl.Point(0.0))
    values = np.unique(y[w > 0])
    share = np.array([w[y <= v].sum() for v in values]) / w.sum()
    np.testing.assert_allclose(dist.cdf(values[None, :])[0], share, rtol=1e-9)


@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
@plain
@given(scores, scores)
def test_a_merge_is_a_fit_on_both(recalibrator, first, second):
    # What outcomes can be is learned from the rows of each part, and both would learn another.
    recalibrator = clone(recalibrator).set_params(support=None)
    both = fitted(recalibrator, np.array(first + second))
    kept = both.to_json()
    one = fitted(clone(recalibrator), np.array(first))
    two = fitted(clone(recalibrator), np.array(second))
    assert one.merge(two).to_json().replace("-0.0", "0.0") == kept.replace("-0.0", "0.0")
    assert two.merge(one).to_json().replace("-0.0", "0.0") == kept.replace("-0.0", "0.0")
