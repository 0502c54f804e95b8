"""Widened forecasts: what is added to the quantiles, and what stays as it was."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import trueline as tl
from tests.distributions.cases import BASES, FORMS, LOC, SCALE

SIZES = np.array([-6.0, -2.0, -0.5, 0.0, 0.5, 2.0, 6.0])


def public(dist: tl.Distribution) -> np.ndarray:
    """Numbers that change if the forecast does."""
    with np.errstate(invalid="ignore"):
        return np.column_stack([dist.ppf([0.1, 0.5, 0.9]), dist.cdf(LOC + 0.3)])


@pytest.mark.parametrize("form", ["as it is", "isotonic"])
@pytest.mark.parametrize("base", BASES)
class TestEveryKind:
    def test_zero_returns_the_object_itself(self, base, form):
        dist = FORMS[form](BASES[base]())
        assert dist._widened(0.0) is dist

    def test_the_kind_stays_the_same(self, base, form):
        dist = FORMS[form](BASES[base]())
        wide = dist._widened(0.5)
        assert type(wide) is type(dist)
        assert (wide.score_kind, len(wide)) == (dist.score_kind, len(dist))

    def test_selecting_rows_commutes(self, base, form):
        dist = FORMS[form](BASES[base]())
        rows = np.array([2, 0])
        np.testing.assert_array_equal(
            dist[rows]._widened(0.5).ppf([0.1, 0.5, 0.9]),
            dist._widened(0.5)[rows].ppf([0.1, 0.5, 0.9]),
        )

    def test_the_score_increases_and_is_inverted(self, base, form):
        wide = FORMS[form](BASES[base]())._widened(0.5)
        y = LOC[:, None] + SCALE[:, None] * SIZES
        s = wide._score(y)
        assert (np.diff(s, axis=1) > 0).all()
        np.testing.assert_allclose(wide._unscore(s), y, rtol=1e-8, atol=1e-8)

    def test_the_original_is_unchanged(self, base, form):
        dist = FORMS[form](BASES[base]())
        before = public(dist)
        dist._widened(0.5)
        np.testing.assert_array_equal(public(dist), before)


def test_quantiles_of_a_normal_gain_the_normal_score():
    q = np.array([0.01, 0.3, 0.5, 0.999])
    dist = BASES["normal"]()
    np.testing.assert_allclose(dist._widened(0.7).ppf(q), dist.ppf(q) + 0.7 * ndtri(q), rtol=1e-13)


@pytest.mark.parametrize("name", ["student t, df by row", "laplace", "logistic"])
def test_quantiles_of_a_family_gain_those_of_its_standard_law(name):
    dist = BASES[name]()
    q = np.array([0.01, 0.3, 0.5, 0.999])
    standard = (dist.ppf(q) - LOC[:, None]) / SCALE[:, None]
    np.testing.assert_allclose(dist._widened(0.7).ppf(q), dist.ppf(q) + 0.7 * standard, rtol=1e-9)


def test_quantiles_gain_the_normal_score_at_and_beyond_their_levels():
    dist = tl.Quantiles(ndtr([-2.0, 0.0, 1.0]), LOC[:, None] + SCALE[:, None] * [-2.0, 0.0, 1.0])
    q = ndtr([-3.0, -2.0, -0.4, 0.5, 2.5])
    np.testing.assert_allclose(dist._widened(0.7).ppf(q), dist.ppf(q) + 0.7 * ndtri(q), rtol=1e-12)


def test_draws_gain_the_normal_score_of_their_middle_level():
    draws = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 5.0]])
    wide = tl.Samples(draws)._widened(0.1)
    assert isinstance(wide, tl.Samples)
    step = 0.1 * ndtri(5 / 6)
    np.testing.assert_allclose(wide.draws, [[1 - step, 2, 3 + step], [5 - step, 5, 5 + step]])


def test_one_draw_per_row_stays_as_it_is():
    np.testing.assert_array_equal(tl.Samples([[3.0], [1.0]])._widened(2.0).draws, [[3.0], [1.0]])


def test_a_mixture_widens_its_components_and_keeps_its_weights():
    dist = BASES["mixture, weights by row"]()
    dist.crps(LOC)  # fills caches, which the widened forecast must not share
    dist._score(LOC[:, None])
    wide = dist._widened(0.5)
    expected = tl.Mixture(
        [tl.Normal(LOC, SCALE + 0.5), tl.Logistic(LOC + SCALE, 0.5 * SCALE + 0.5)],
        weights=dist.weights,
    )
    y = (LOC + 0.3)[:, None]
    np.testing.assert_array_equal(wide._score(y), expected._score(y))
    np.testing.assert_array_equal(wide.crps(LOC), expected.crps(LOC))


def test_a_recalibrated_forecast_keeps_its_law_and_widens_its_base():
    y = LOC + SCALE
    R = tl.Scaling().fit(y, BASES["student t"]())
    for name in ("normal", "student t, df by row"):
        wide = R.transform(BASES[name]())._widened(0.5)
        np.testing.assert_array_equal(
            wide.ppf([0.1, 0.9]), R.transform(BASES[name]()._widened(0.5)).ppf([0.1, 0.9])
        )


@pytest.mark.parametrize("form", FORMS)
def test_point_forecasts_have_no_width_to_add_to(form):
    dist = FORMS[form](BASES["point"]())
    assert dist._widened(0.5) is dist


def test_a_mixture_of_points_has_none_either():
    dist = tl.Mixture([tl.Point(LOC), tl.Point(LOC + 1.0)])
    assert dist._widened(0.5) is dist


def test_a_row_without_spread_gets_ordinary_scores():
    level = [0.1, 0.5, 0.9]
    flat = np.full((1, 3), 4.0)
    for dist in (tl.Quantiles(level, flat), tl.Samples(flat), tl.Normal(4.0, 1e-300)):
        assert abs(dist._score(np.array([[5.0]]))[0, 0]) > 1e6
        np.testing.assert_allclose(dist._widened(0.5)._score(np.array([[5.0]])), 2.0)
