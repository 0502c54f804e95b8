"""The least width: which forecasts are suspicious, what is chosen, and what it heals."""

import numpy as np
import pytest
from scipy.special import ndtri

import trueline as tl
from trueline.recalibration import _least_width
from trueline.recalibration._least_width import (
    SHARES,
    choose_width,
    has_outlying,
    held_out_crps,
    least_width,
    mean_and_error,
    screen,
)

LAW_OF = tl.Isotonic()._law_of
LEVELS = np.arange(1, 20) / 20
TEST_ROWS = 300

FORECASTS = {
    "normal": tl.Normal,
    "student t": lambda loc, scale: tl.StudentT(loc, scale, 5.0),
    "laplace": tl.Laplace,
    "logistic": tl.Logistic,
    "quantiles": lambda loc, scale: tl.Quantiles(
        LEVELS, loc[:, None] + scale[:, None] * ndtri(LEVELS)
    ),
    "samples": lambda loc, scale: tl.Samples(
        loc[:, None] + scale[:, None] * np.random.default_rng(1).normal(size=(len(loc), 30))
    ),
    "mixture": lambda loc, scale: tl.Mixture(
        [tl.Normal(loc - 0.3 * scale, scale), tl.Normal(loc + 0.5 * scale, 0.7 * scale)]
    ),
}


def rows(n: int, seed: int = 0, span: float = 3.0):
    """Centres, honest scales within a factor of `span`, and outcomes."""
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=n), span ** rng.uniform(size=n)
    return loc, scale, loc + scale * rng.normal(size=n)


def ratio(recalibrator, kind, n: int, collapsed: int, factor: float) -> tuple[float, float]:
    """Return the CRPS on new rows over that of a fit without collapsed rows, and the width."""
    loc, scale, y = rows(n + TEST_ROWS)
    fit, new = np.arange(n), np.arange(n, n + TEST_ROWS)
    make = FORECASTS[kind]
    clean = make(loc, scale)
    narrow = scale.copy()
    narrow[:collapsed] *= factor
    bad = make(loc, narrow)
    e = least_width(y[fit], bad[fit], None, recalibrator._law_of)
    wide = bad._widened(e)
    best = recalibrator.fit(y[fit], clean[fit]).transform(clean[new]).crps(y[new]).mean()
    return recalibrator.fit(y[fit], wide[fit]).transform(wide[new]).crps(y[new]).mean() / best, e


class TestHeals:
    @pytest.mark.parametrize("collapsed", [1, 5])
    @pytest.mark.parametrize("kind", FORECASTS)
    def test_every_kind(self, kind, collapsed):
        after, e = ratio(tl.Isotonic(), kind, 1000, collapsed, 1e-6)
        assert e > 0.0
        assert after < 1.01

    @pytest.mark.parametrize("factor", [1e-3, 1e-6, 1e-300])
    @pytest.mark.parametrize("name", ["Isotonic", "Scaling", "Smooth", "BetaCalibration"])
    def test_every_map(self, name, factor):
        assert ratio(getattr(tl, name)(), "normal", 1000, 1, factor)[0] < 1.01

    @pytest.mark.parametrize("kind", ["quantiles", "samples"])
    def test_rows_whose_values_are_equal(self, kind):
        assert ratio(tl.Isotonic(), kind, 1000, 1, 0.0)[0] < 1.01

    @pytest.mark.parametrize("n", [100, 20_000])
    def test_few_and_many_rows(self, n):
        assert ratio(tl.Scaling(), "normal", n, 1, 1e-6)[0] < 1.01

    def test_most_rows_collapsed(self):
        # Widths then say little about honest rows either, so one width for all is the aim.
        loc, scale, y = rows(1000)
        narrow = np.where(np.arange(1000) < 600, 1e-6, 1.0) * scale
        e = least_width(y, tl.Normal(loc, narrow), None, LAW_OF)
        G = tl.Isotonic().fit(y, tl.Normal(loc, narrow + e)).transform(tl.Normal(loc, narrow + e))
        point = tl.Isotonic().fit(y, tl.Point(loc)).transform(tl.Point(loc))
        assert G.crps(y).mean() < 1.05 * point.crps(y).mean()

    def test_outliers_of_y_do_not_change_the_unit(self):
        loc, scale, y = rows(1000)
        scale[0] = 1e-6
        widths = []
        for outlier in (0.0, 1e3):
            y[1] += outlier
            widths.append(least_width(y, tl.Normal(loc, scale), None, LAW_OF))
        assert 0.0 < widths[1] < 10.0


class TestScreen:
    # Rates of false alarms are below 0.004 where they were counted over 4,000 sets, so that of
    # 100 sets more than 4 alarm with a probability of 1e-4.
    @pytest.mark.parametrize("span", [1.0, 1e3])
    @pytest.mark.parametrize("law", ["normal", "lognormal", "t3"])
    @pytest.mark.parametrize("n", [20, 1000])
    def test_clean_rows_are_not_suspicious(self, law, n, span):
        rng = np.random.default_rng(0)
        draw = {
            "normal": rng.normal,
            "lognormal": rng.lognormal,
            "t3": lambda size: rng.standard_t(3, size),
        }[law]
        alarms = 0
        for _ in range(100):
            scale = span ** rng.uniform(size=n)
            alarms += screen(scale * draw(size=n), tl.Normal(np.zeros(n), scale))
        assert alarms <= 4

    @pytest.mark.parametrize("kind", FORECASTS)
    def test_of_every_kind(self, kind):
        loc, scale, y = rows(1000)
        assert not screen(y, FORECASTS[kind](loc, scale))
        scale[0] *= 1e-6
        assert screen(y, FORECASTS[kind](loc, scale))

    def test_outliers_of_y_are_not_suspicious(self):
        loc, scale, y = rows(1000)
        y[:5] += 1e6
        assert has_outlying((y - loc) / scale)
        assert not screen(y, tl.Normal(loc, scale))

    @pytest.mark.parametrize("factor", [0.0, 1e-9, 0.01, 1.0])
    @pytest.mark.parametrize("sign", [-1.0, 1.0])
    def test_sorted_scores_are_judged_as_unsorted_ones(self, factor, sign):
        # A share of the rows is nearer than 1 / 60 of the largest if the factor is small.
        for share in (0.2, 0.25, 0.3, 1.0):
            s = sign * np.random.default_rng(0).uniform(0.5, 1.0, size=400)
            s[: round(400 * share)] *= factor
            assert has_outlying(np.sort(s), in_order=True) == has_outlying(s)

    def test_over_confidence_of_all_rows_is_not_suspicious(self):
        loc, scale, y = rows(1000)
        assert not screen(y, tl.Normal(loc, 1e-6 * scale))

    def test_a_narrow_forecast_that_is_right_is_not_suspicious(self):
        loc, scale, y = rows(1000)
        y[0], scale[0] = loc[0] + 1e-6, 1e-6
        assert not screen(y, tl.Normal(loc, scale))

    def test_rows_of_weight_zero_do_not_count(self):
        loc, scale, y = rows(1000)
        scale[0] = 1e-6
        w = np.ones(1000)
        assert screen(y, tl.Normal(loc, scale), w)
        w[0] = 0.0
        assert not screen(y, tl.Normal(loc, scale), w)


class TestZero:
    def test_clean_rows(self):
        loc, scale, y = rows(1000)
        assert least_width(y, tl.Normal(loc, scale), None, LAW_OF) == 0.0

    @pytest.mark.parametrize("choose", [least_width, choose_width])
    def test_forecasts_that_cannot_be_widened(self, choose):
        loc, _, y = rows(1000)
        y[0] += 1e9
        assert choose(y, tl.Point(loc), None, LAW_OF) == 0.0

    @pytest.mark.parametrize("choose", [least_width, choose_width])
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_outcomes_that_are_not_finite_are_left_to_the_map(self, choose, value):
        loc, scale, y = rows(1000)
        scale[0], y[1] = 1e-6, value
        assert choose(y, tl.Normal(loc, scale), None, LAW_OF) == 0.0

    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_too_few_rows(self, n):
        loc, scale, y = rows(n)
        scale[0] = 1e-6
        assert least_width(y, tl.Normal(loc, scale), None, LAW_OF) == 0.0

    def test_errors_that_are_all_zero(self):
        loc, scale, _ = rows(50)
        assert choose_width(loc, tl.Normal(loc, scale), None, LAW_OF) == 0.0


class TestChoice:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_order_of_rows_does_not_matter(self, weighted):
        loc, scale, y = rows(300)
        scale[:3] *= 1e-6
        y = np.round(y, 1)  # ties
        w = np.where(np.arange(300) % 2, 1.0, 2.0) if weighted else None
        e = least_width(y, tl.Normal(loc, scale), w, LAW_OF)
        p = np.random.default_rng(5).permutation(300)
        shuffled = tl.Normal(loc[p], scale[p])
        assert 0.0 < e == least_width(y[p], shuffled, None if w is None else w[p], LAW_OF)

    def test_it_is_in_the_unit_of_y(self):
        loc, scale, y = rows(300)
        scale[0] = 1e-6
        e = least_width(y, tl.Normal(loc, scale), None, LAW_OF)
        large = least_width(1024.0 * y, tl.Normal(1024.0 * loc, 1024.0 * scale), None, LAW_OF)
        assert 0.0 < 1024.0 * e == large

    def test_a_part_of_many_rows_keeps_the_share_of_suspicious_ones(self):
        n = 3 * _least_width._MOST_ROWS
        suspects = np.zeros(n, dtype=bool)
        suspects[[4, 7]] = True
        chosen, count = _least_width._evenly_spaced(np.arange(n), None, suspects)
        assert len(chosen) <= _least_width._MOST_ROWS + 2
        assert {4, 7} <= set(chosen.tolist())
        share = count[np.isin(chosen, [4, 7])].sum() / count.sum()
        np.testing.assert_allclose(share, 2 / n, rtol=1e-3)

    def test_scales_that_vary_for_no_reason_are_made_more_alike(self):
        # As the spread of a forest's trees, which leaves out the noise.
        rng = np.random.default_rng(0)
        y, spread = rng.normal(size=(2, 1000)), rng.uniform(size=1000)
        e = choose_width(y[0], tl.Normal(np.zeros(1000), spread), None, LAW_OF)
        crps = [
            tl.Isotonic().fit_scores(F.score(y[0])).transform(F).crps(y[1]).mean()
            for F in (tl.Normal(np.zeros(1000), spread + width) for width in (0.0, e))
        ]
        assert e > 0.0
        assert crps[1] < 0.95 * crps[0]

    @pytest.mark.parametrize(
        "excess, expected",
        [
            ([0.0, 0.0, 0.0], 0),  # nothing to choose
            ([0.9, 0.1, 0.0], 0),  # no width at all is within one standard error of the best
            ([2.0, 0.9, 0.0], 1),  # the smallest width is, no width is not
            ([2.0, 2.0, 0.0], 2),
            ([-2.0, 0.0, 0.0], 0),
        ],
    )
    def test_one_standard_error_towards_none(self, excess, expected):
        noise = np.tile([1.0, -1.0], 50)  # the standard error of its mean is 0.1
        losses = [5.0 + 0.1 * x + (i < 2) * noise for i, x in enumerate(excess)]
        assert _least_width.first_as_good_as_the_best(losses, None) == expected


def test_held_out_crps_is_that_of_maps_of_the_other_folds():
    loc, scale, y = rows(60)
    dist, fold = tl.Normal(loc, scale), np.arange(60) % 3
    expected = np.empty(60)
    for k in range(3):
        R = tl.Isotonic().fit(y[fold != k], dist[fold != k])
        expected[fold == k] = R.transform(dist[fold == k]).crps(y[fold == k])
    np.testing.assert_array_equal(held_out_crps(y, dist, None, LAW_OF, fold), expected)


def test_mean_and_error_with_equal_weights_are_the_plain_ones():
    d = np.random.default_rng(0).normal(size=50)
    plain = d.mean(), d.std() / np.sqrt(50)
    np.testing.assert_allclose(mean_and_error(d, None), plain)
    np.testing.assert_allclose(mean_and_error(d, np.full(50, 3.0)), plain)


def test_the_first_share_is_none():
    assert SHARES[0] == 0.0
    assert list(SHARES) == sorted(SHARES)


def outcomes(case: str, loc, scale, y):
    """Change rows so that they need a preparation, or look as if they did."""
    if case == "collapsed":
        scale[7] *= 1e-6
    elif case == "overflowing":
        scale[7] = 1e-310
    elif case == "outliers":
        y[:5] += 1e6
    elif case == "tied":
        y[:40], loc[:40], scale[:40] = 0.5, 0.0, 1.0
    elif case == "zeros":
        y[::20] = y.min() - 1.0  # in all parts of the rows
    elif case == "counts":
        y[:] = np.floor(np.abs(y))
    return y, tl.Normal(loc, scale)


@pytest.mark.parametrize(
    "case", ["clean", "collapsed", "overflowing", "outliers", "tied", "zeros", "counts"]
)
@pytest.mark.parametrize("n", [200, 9000])
def test_rows_that_need_no_preparation_are_fitted_as_if_prepared(case, n):
    y, F = outcomes(case, *rows(n))
    R, slow = tl.Isotonic(), tl.Isotonic()
    slow._fit_prepared(slow._prepare(y, F, None), y, F)
    R.fit(y, F)
    assert R._preparation == slow._preparation
    assert (R.atoms_ is None) == (case not in {"zeros", "counts"})
    assert (R.least_width_ > 0) == (case in {"collapsed", "overflowing"})
    np.testing.assert_array_equal(R.scores_.values, slow.scores_.values)
    np.testing.assert_array_equal(R.scores_.cumulative(), slow.scores_.cumulative())
