"""Forecasts of other libraries, and plain numbers, as distributions."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import trueline as tl
from trueline.interop._external import Continued
from trueline.laws import NormalLaw

LEVELS = np.array([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])

FAMILIES = {
    "gamma": stats.gamma(a=[0.5, 2.0, 40.0], scale=3.0),
    "lognorm": stats.lognorm(s=[0.3, 1.0, 2.0]),
    "weibull_min": stats.weibull_min([0.7, 1.0, 3.0], loc=1.0),
    "beta": stats.beta([0.5, 2.0, 30.0], [0.5, 3.0, 70.0]),
    "uniform": stats.uniform([0.0, 1.0, -5.0], [1.0, 3.0, 10.0]),
    "pareto": stats.pareto([1.5, 3.0, 10.0]),
    "gumbel_r": stats.gumbel_r([0.0, 10.0, 0.0], [1.0, 2.0, 3.0]),
}


@pytest.fixture(params=FAMILIES, name="frozen")
def _frozen(request):
    return FAMILIES[request.param]


def message(kind, obj):
    with pytest.raises(kind) as caught:
        tl.as_distribution(obj)
    return str(caught.value)


def crps_by_integration(frozen, y):
    """The CRPS of one scipy distribution from its definition."""
    levels = np.array([1e-12, 1e-8, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5])
    cuts = np.unique(np.concatenate([frozen.ppf(levels), frozen.isf(levels), [y]]))
    total = 0.0
    for a, b in pairwise(cuts):
        if b - a < 1e-13 * abs(b):  # floats lie too thinly there
            continue
        f = frozen.cdf if b <= y else frozen.sf
        total += quad(lambda x, f=f: f(x) ** 2, a, b, epsabs=1e-12, epsrel=1e-9)[0]
    return total


# ---- plain numbers -------------------------------------------------------------------


def test_a_distribution_is_returned_as_it_is():
    F = tl.Laplace([1.0, 2.0], 1.0)
    assert tl.as_distribution(F) is F


def test_a_pair_is_a_normal_forecast():
    F = tl.as_distribution(([1.0, 2.0], 0.5))
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, [1.0, 2.0])
    np.testing.assert_array_equal(F.scale, [0.5, 0.5])


@pytest.mark.parametrize("obj", [[1, 2], np.array([1.0, 2.0])])
def test_one_number_a_row_is_a_point_forecast(obj):
    F = tl.as_distribution(obj)
    assert isinstance(F, tl.Point)
    np.testing.assert_array_equal(F.loc, [1.0, 2.0])


def test_a_scalar_is_one_row():
    assert len(tl.as_distribution(3.0)) == 1


def test_a_dict_of_levels_is_sorted_to_quantiles():
    F = tl.as_distribution({0.9: [4.0, 6.0], 0.1: [1.0, 0.0], 0.5: [2.0, 5.0]})
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(F.values, [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    "obj, kind, expected",
    [
        (
            np.zeros((5, 3)),
            TypeError,
            (
                "obj has shape (5, 3); expected one number per row, shape (n,), because a table "
                'may hold draws or quantiles. Say which: kind="samples" for draws, (rows, draws); '
                '{"levels": levels, "values": obj} for quantiles, (rows, levels); '
                'kind="mean_std" or kind="mean_var" for two columns; or kind="point" with '
                "obj.ravel()."
            ),
        ),
        (
            (1.0, 2.0, 3.0),
            TypeError,
            (
                "obj is a tuple of length 3; expected (loc, scale). For point forecasts pass a "
                "list or an array; for others build the distribution yourself."
            ),
        ),
        (
            {},
            TypeError,
            (
                "obj is a dict with no columns; expected levels as names, such as 0.1, q0.1 or "
                "10%, or mean and std (or var), or sample_0, sample_1, ..., because a table may "
                'hold draws or quantiles. Say kind="samples" for draws, or pass {"levels": levels, '
                '"values": values}.'
            ),
        ),
        (
            {0.1: [1.0], 0.9: [1.0, 2.0]},
            ValueError,
            "obj holds columns of [1, 2] rows; expected the same number at each level.",
        ),
        (
            [tl.Normal(0, 1), tl.Normal(1, 1)],
            TypeError,
            (
                "obj is a list of distributions; expected one. Use Mixture(obj) for their mixture, "
                "row by row, or trueline.distributions.Stacked for rows one after the other."
            ),
        ),
        (
            {1, 2},
            TypeError,
            (
                "cannot make a distribution of a builtins.set; expected a distribution of "
                "trueline, scipy.stats, torch.distributions, skpro or ngboost, a forecast of "
                "gluonts, draws in xarray or arviz, a frame or dict with named columns, a tuple "
                "(loc, scale), or one number per row. Otherwise build it yourself: "
                "Normal(loc, scale), Samples(draws) or Quantiles(levels, values)."
            ),
        ),
    ],
)
def test_what_is_refused_is_told_how_to_mend_it(obj, kind, expected):
    assert message(kind, obj) == expected


@pytest.mark.parametrize("obj", ["0.5", None, object(), len, (tl.Normal(0, 1), 1.0)])
def test_what_is_unknown_is_refused(obj):
    assert message(TypeError, obj).startswith("cannot make a distribution of a ")


OPTIONAL = (
    *("arviz", "catboost", "cupy", "gluonts", "lightgbm", "lightning", "mlflow", "ngboost"),
    *("optuna", "pandas", "polars", "pyarrow", "quantile_forest", "skpro", "sktime", "tabpfn"),
    *("torch", "xarray", "xgboost", "scipy.stats"),
)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "tl.as_distribution(([0.0], 1.0))",
        "tl.as_distribution([1.0])",
        "tl.as_distribution({0.1: [0.0], 0.9: [1.0]})",
        "tl.as_distribution({'mean': [0.0], 'var': [1.0]})",
        "tl.as_distribution([[0.0, 1.0]], kind='samples')",
    ],
)
def test_plain_numbers_load_no_other_library(statement):
    code = (
        f"import sys, trueline as tl; tl.as_distribution; {statement}\n"
        f"print([m for m in {OPTIONAL!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- scipy ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frozen, native",
    [
        (stats.norm([1.0, 2.0], 3.0), tl.Normal([1.0, 2.0], 3.0)),
        (stats.t(5.0, [1.0, 2.0], 3.0), tl.StudentT([1.0, 2.0], 3.0, 5.0)),
        (stats.t(df=[4.0, 5.0], scale=2.0), tl.StudentT(0.0, 2.0, [4.0, 5.0])),
        (stats.cauchy(1.0, [1.0, 2.0]), tl.StudentT(1.0, [1.0, 2.0], 1.0)),
        (stats.laplace(scale=[3.0, 1.0]), tl.Laplace(0.0, [3.0, 1.0])),
        (stats.logistic([1.0, 2.0]), tl.Logistic([1.0, 2.0], 1.0)),
    ],
)
def test_scipy_families_that_are_our_own(frozen, native):
    F = tl.as_distribution(frozen)
    assert type(F) is type(native)
    np.testing.assert_array_equal(F.ppf(LEVELS), native.ppf(LEVELS))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (3, 1)])
def test_scipy_shapes(shape):
    F = tl.as_distribution(stats.gamma(np.full(shape, 2.0)))
    assert len(F) == (shape[0] if shape else 1)
    assert F.ppf(LEVELS).shape == (len(F), len(LEVELS))


def test_a_wrapper_answers_as_scipy_does(frozen):
    F = tl.as_distribution(frozen)
    y = frozen.ppf(LEVELS[:, None]).T
    for ours, theirs in {
        "cdf": "cdf",
        "sf": "sf",
        "logcdf": "logcdf",
        "logsf": "logsf",
        "logpdf": "logpdf",
        "pdf": "pdf",
    }.items():
        expected = getattr(frozen, theirs)(y.T).T
        np.testing.assert_allclose(getattr(F, ours)(y), expected, rtol=1e-13, atol=0)
    np.testing.assert_array_equal(F.ppf(LEVELS), y)
    np.testing.assert_array_equal(F.mean(), frozen.mean())
    np.testing.assert_array_equal(F.var(), frozen.var())


def test_a_wrapper_has_the_shapes_of_a_distribution(frozen):
    F = tl.as_distribution(frozen)
    assert len(F) == 3
    assert F.ppf(0.3).shape == F.median().shape == F.cdf(0.5).shape == F.crps(0.5).shape == (3,)
    for method in (F.cdf, F.logpdf, F.crps, F.score):
        assert method([1.0, 2.0, 3.0]).shape == (3,)
        assert method(np.ones((1, 4))).shape == method(np.ones((3, 4))).shape == (3, 4)
    assert F.unscore(np.zeros((3, 4))).shape == (3, 4)
    draws = F.sample(20_000, random_state=0)
    assert draws.shape == (3, 20_000)
    np.testing.assert_allclose(F.cdf(np.median(draws, axis=1)), 0.5, atol=0.02)  # 5 sigma


def test_rows_of_a_wrapper(frozen):
    F = tl.as_distribution(frozen)
    F.score(1.0)  # what is cached must go with the rows
    rows = [2, 0, 0]
    y = F.ppf(0.7)
    for name in ("cdf", "score", "crps", "logpdf"):
        every = getattr(F, name)(y)
        np.testing.assert_allclose(getattr(F[rows], name)(y[rows]), every[rows], rtol=1e-12)
    np.testing.assert_array_equal(F[1].mean(), F.mean()[[1]])


def test_the_crps_of_a_wrapper_is_the_integral(frozen):
    F = tl.as_distribution(frozen)
    spread = F.ppf(0.9) - F.ppf(0.1)
    middle = F.median()
    y = np.stack([middle - 3 * spread, F.ppf(0.05), middle, middle + 5 * spread], axis=1)
    scores = F.crps(y)
    for i in range(3):
        row = frozen.dist(
            *(np.broadcast_to(a, 3)[i] for a in frozen.args),
            **{k: np.broadcast_to(v, 3)[i] for k, v in frozen.kwds.items()},
        )
        expected = [crps_by_integration(row, value) for value in y[i]]
        np.testing.assert_allclose(scores[i], expected, rtol=1e-8)


def test_the_crps_of_a_tail_without_a_mean_is_finite():
    F = tl.as_distribution(stats.halfcauchy())
    assert F.mean() == np.inf
    np.testing.assert_allclose(F.crps(1.0), crps_by_integration(stats.halfcauchy(), 1.0), rtol=1e-8)


def test_a_missing_moment_is_nan():
    F = tl.as_distribution(stats.skewcauchy(0.5))
    assert np.isnan(F.mean())
    assert np.isnan(F.var())


# ---- the score of a wrapper ----------------------------------------------------------


def test_the_score_is_the_normal_score_inside(frozen):
    F = tl.as_distribution(frozen)
    expected = stats.norm.ppf(np.broadcast_to(LEVELS, (3, len(LEVELS))))
    np.testing.assert_allclose(F.score(F.ppf(LEVELS)), expected, atol=1e-9)


def test_the_score_rises_through_and_beyond_the_support(frozen):
    F = tl.as_distribution(frozen)
    low, high, rise_low, rise_high = F._ends
    steps = np.linspace(0.0, 50.0, 501)
    below, above = low - rise_low * steps[::-1], high + rise_high * steps
    np.testing.assert_allclose(F.score(below)[:, -1], -8.0)
    np.testing.assert_allclose(F.score(above)[:, 0], 8.0)
    assert (np.diff(F.score(below)) > 0).all()
    assert (np.diff(F.score(above)) > 0).all()
    inside = low + (high - low) * np.geomspace(1e-12, 1.0, 501)
    s = F.score(np.concatenate([below, inside, above], axis=1))
    assert np.isfinite(s).all()
    assert (np.diff(s) > -1e-9).all()


@pytest.mark.parametrize("frozen", [stats.gamma(2.0), stats.lognorm(0.5), stats.gumbel_r()])
def test_the_score_has_no_jump_where_the_formula_changes(frozen):
    F = tl.as_distribution(frozen)
    s = np.array([[-8 - 1e-6, -8 + 1e-6, 8 - 1e-6, 8 + 1e-6]])
    np.testing.assert_allclose(F.score(F.unscore(s)), s, atol=1e-9)


def test_the_score_is_inverted_everywhere(frozen):
    F = tl.as_distribution(frozen)
    s = np.array([[-100.0, -8.5, -5.0, -1.0, 0.0, 2.0, 4.0, 9.0, 1e6]])
    np.testing.assert_allclose(F.score(F.unscore(s)), np.tile(s, (3, 1)), rtol=1e-6, atol=1e-6)
    per_row = np.repeat(s, 3, axis=0) + np.array([[0.0], [0.1], [0.2]])
    np.testing.assert_allclose(F.score(F.unscore(per_row)), per_row, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "frozen, unit",
    [
        (stats.uniform(0.0, 1.0), stats.norm.cdf(1.0) - 0.5),  # half of the central 68%
        (stats.lognorm(1.0), (np.exp(8.0) - 1.0) / 8.0),  # the chord from the median
        (stats.gennorm(2.0, scale=np.sqrt(2.0)), 1.0),  # a normal distribution
    ],
)
def test_the_unit_of_the_score_beyond_its_reach(frozen, unit):
    F = tl.as_distribution(frozen)
    end = F.unscore(8.0)
    np.testing.assert_allclose(F.score(end + 2 * unit), 10.0, rtol=1e-9)
    np.testing.assert_allclose(F.unscore(10.0), end + 2 * unit, rtol=1e-9)


@pytest.mark.parametrize(
    "frozen",
    [
        stats.gamma(1e-3),  # its quantile at score -8 is 0 in floats
        stats.lognorm(200.0),  # and its quantiles at 8 and -8 are infinite and 0
        stats.uniform(1e8, 1e-9),  # between two floats
    ],
)
def test_the_score_is_finite_where_floats_run_out(frozen):
    F = tl.as_distribution(frozen)
    y = np.array([[-1e9, -1.0, 0.0, 1e-300, 1.0, 1e8, 1e9]])
    s = F.score(y)
    assert np.isfinite(s).all()
    assert (np.diff(s) >= 0).all()
    np.testing.assert_array_equal(F.score([[-np.inf, np.inf]]), [[-np.inf, np.inf]])


def test_the_density_and_cdf_stay_the_librarys_outside_the_support():
    F = tl.as_distribution(stats.gamma(2.0))
    assert F.cdf(-0.1) == 0
    assert F.logpdf(-0.1) == -np.inf


def test_a_continued_forecast_is_one_distribution(frozen):
    F = Continued(tl.as_distribution(frozen))
    q = np.array([[1e-300, 1e-20, 1e-5, 0.3, 0.9, 1 - 1e-5]])
    y = F._ppf(q)
    np.testing.assert_allclose(F._logcdf(y), np.tile(np.log(q), (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(F._sf(y[:, 3:]), np.tile(1 - q[:, 3:], (3, 1)), rtol=1e-5)
    # The density is the derivative of the CDF, outside the support too.
    h = 1e-4
    for s in (-30.0, -9.0, -1.0, 1.0, 9.0, 30.0):
        a, b = F._unscore(np.array([[s - h]])), F._unscore(np.array([[s + h]]))
        side = F._logcdf if s < 0 else F._logsf
        slope = np.abs(side(b) - side(a)) / (b - a)
        value = F._unscore(np.array([[s]]))
        np.testing.assert_allclose(np.exp(F._logpdf(value) - side(value)), slope, rtol=1e-4)


def test_recalibrating_with_the_normal_law_changes_nothing(frozen):
    F = tl.as_distribution(frozen)
    G = F._recalibrate(NormalLaw())
    y = F.ppf(LEVELS)
    np.testing.assert_allclose(G.ppf(LEVELS), y, rtol=1e-7)
    np.testing.assert_allclose(G.cdf(y), F.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(G.logpdf(y), F.logpdf(y), atol=1e-9)


def test_outcomes_outside_the_support_can_be_learned_from():
    rng = np.random.default_rng(0)
    a = rng.uniform(1.0, 4.0, 1000)
    y = rng.gamma(a) - 0.3  # 5% fall below zero
    F = tl.as_distribution(stats.gamma(a, scale=0.1))  # ten times too sharp
    G = tl.Isotonic().fit(y, F).transform(F)
    lower, upper = G.interval(0.96)
    assert np.mean((lower <= y) & (y <= upper)) == pytest.approx(0.96, abs=0.002)
    assert lower.max() < 0
    assert np.isfinite(G.logpdf(y)).all()
    assert G.crps(y).mean() < 0.6 * F.crps(y).mean()


def test_a_mixture_of_wrappers_has_finite_scores_too():
    parts = [tl.as_distribution(stats.gamma([1.0, 2.0])), tl.as_distribution(stats.lognorm(1.0))]
    M = tl.Mixture([parts[0], parts[1][[0, 0]]])
    y = np.array([[-1.0, 0.0, 0.5, 3.0]])
    s = M.score(y)
    assert np.isfinite(s).all()
    assert (np.diff(s) > 0).all()
    np.testing.assert_allclose(M.unscore(s), np.tile(y, (2, 1)), atol=1e-9)
    np.testing.assert_allclose(M.cdf(M.ppf(LEVELS)), np.tile(LEVELS, (2, 1)), rtol=1e-9)


# ---- what scipy offers that cannot be taken ------------------------------------------


@pytest.mark.parametrize(
    "obj, kind, expected",
    [
        (
            stats.poisson([3.0, 4.0]),
            TypeError,
            (
                "obj is a discrete distribution (scipy.stats.poisson); expected a continuous one, "
                "because steps have no useful score. Give draws instead: "
                "Samples(dist.rvs((1000, n)).T)."
            ),
        ),
        (
            stats.norm,
            TypeError,
            (
                "obj is the family scipy.stats.norm, without parameters; expected a frozen "
                "distribution. Call it with its parameters, such as norm(loc, scale)."
            ),
        ),
        (
            stats.multivariate_normal([0.0, 1.0]),
            TypeError,
            (
                "obj is a multivariate distribution (scipy.multivariate_normal_frozen); expected "
                "one number per row. Give its margins: "
                "Normal(dist.mean, dist.cov.diagonal() ** 0.5)."
            ),
        ),
        (
            stats.gamma(np.ones((3, 2))),
            ValueError,
            (
                "the gamma distribution has shape (3, 2); expected one distribution per row, shape "
                "(), (n,) or (n, 1). Convert one column at a time."
            ),
        ),
        (
            stats.gamma([]),
            ValueError,
            "the gamma distribution is empty; expected at least one row.",
        ),
        (
            stats.gamma([1.0, -2.0, np.nan]),
            ValueError,
            (
                "row 1 of the gamma distribution has no finite median (2 of 3 have none); expected "
                "parameters within their domain. Fix or drop those rows."
            ),
        ),
    ],
)
def test_scipy_errors(obj, kind, expected):
    assert message(kind, obj) == expected


def test_parameters_of_our_own_families_are_checked():
    assert message(ValueError, stats.norm([0.0, 1.0], [1.0, -1.0])).startswith("scale[1] is -1.0;")


def test_other_objects_of_scipy_are_unknown():
    kernel = stats.gaussian_kde([1.0, 2.0, 4.0])
    assert message(TypeError, kernel).startswith(
        "cannot make a distribution of a scipy.gaussian_kde"
    )


def test_a_family_of_the_users_own():
    class Ramp(stats.rv_continuous):
        def _pdf(self, x):
            return 2 * x

        def _cdf(self, x):
            return x**2

        def _ppf(self, q):
            return np.sqrt(q)

    F = tl.as_distribution(Ramp(a=0.0, b=1.0)(scale=[1.0, 2.0]))
    np.testing.assert_allclose(F.median(), np.sqrt(0.5) * np.array([1.0, 2.0]))
    np.testing.assert_allclose(F.mean(), [2 / 3, 4 / 3])


# ---- scipy's newer distributions -----------------------------------------------------

newer = pytest.mark.skipif(not hasattr(stats, "make_distribution"), reason="scipy before 1.15")


@newer
def test_newer_normal():
    F = tl.as_distribution(stats.Normal(mu=[1.0, 2.0], sigma=3.0))
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.scale, [3.0, 3.0])
    assert isinstance(tl.as_distribution(stats.Normal()), tl.Normal)


@newer
def test_newer_families():
    F = tl.as_distribution(stats.make_distribution(stats.gamma)(a=np.array([2.0, 3.0])))
    expected = tl.as_distribution(stats.gamma([2.0, 3.0]))
    y = expected.ppf(LEVELS)
    np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=1e-9)
    np.testing.assert_allclose(F.logsf(y), expected.logsf(y), rtol=1e-9)
    np.testing.assert_allclose(F.var(), expected.var())
    np.testing.assert_allclose(F[[1, 1]].score(-0.1), expected[[1, 1]].score(-0.1), rtol=1e-6)
    assert len(tl.as_distribution(stats.Uniform(a=0.0, b=1.0))[[0, 0]].mean()) == 2


def newer_functions():
    """Functions of distributions, each of two rows."""
    X = stats.Normal(mu=np.array([1.0, 2.0]), sigma=np.array([0.5, 1.0]))
    G = stats.make_distribution(stats.gamma)(a=np.array([2.0, 3.5]))
    return [
        stats.exp(X),
        stats.log(G),
        stats.abs(X),
        stats.truncate(X, lb=0.0, ub=np.array([3.0, 4.0])),
        stats.order_statistic(X, r=2, n=5),
        3 * G - 1,
        1 - G,
        2 * stats.exp(X) + 1,
        stats.exp(stats.truncate(X, lb=0.0)),
    ]


@newer
def test_functions_of_newer_distributions_answer_as_scipy_does():
    for theirs in newer_functions():
        F = tl.as_distribution(theirs)
        y = theirs.icdf(LEVELS[:, None]).T
        np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=1e-13)
        np.testing.assert_allclose(F.cdf(y), theirs.cdf(y.T).T, rtol=1e-13)
        np.testing.assert_allclose(F.logsf(y), theirs.logccdf(y.T).T, rtol=1e-12)
        np.testing.assert_allclose(F.logpdf(y), theirs.logpdf(y.T).T, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(F.mean(), theirs.mean(), rtol=1e-10)
        # Rows are taken apart by making the distribution anew.
        rows = F[[1, 1, 0]]
        np.testing.assert_allclose(rows.ppf(LEVELS), y[[1, 1, 0]], rtol=1e-13)
        assert np.isfinite(F.score([[-1e3, 1.0, 1e3]])).all()


@newer
def test_newer_location_scale_families_stay_our_own():
    X = stats.Normal(mu=np.array([1.0, 2.0]), sigma=np.array([0.5, 1.0]))
    for theirs, loc, scale in [(2 * X + 1, [3.0, 5.0], [1.0, 2.0]), (1 - X, [0, -1], [0.5, 1])]:
        F = tl.as_distribution(theirs)
        assert isinstance(F, tl.Normal)
        np.testing.assert_array_equal(F.loc, loc)
        np.testing.assert_array_equal(F.scale, scale)
    one = tl.as_distribution(stats.Normal(mu=1.0, sigma=2.0) * np.array([1.0, 3.0]))
    np.testing.assert_array_equal(one.scale, [2.0, 6.0])


@newer
def test_newer_mixtures():
    parts = [stats.Normal(mu=0.0, sigma=1.0), stats.truncate(stats.Normal(mu=3.0), lb=0.0)]
    theirs = stats.Mixture(parts, weights=[0.3, 0.7])
    F = tl.as_distribution(theirs)
    assert isinstance(F, tl.Mixture)
    y = theirs.icdf(LEVELS)
    np.testing.assert_allclose(F.ppf(LEVELS)[0], y, rtol=1e-9)
    np.testing.assert_allclose(F.cdf(y[None, :])[0], theirs.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(F.mean(), theirs.mean(), rtol=1e-9)
    np.testing.assert_allclose(F.var(), theirs.variance(), rtol=1e-9)


@newer
def test_newer_parameters_in_single_precision_have_double_tails():
    gamma = stats.make_distribution(stats.gamma)
    theirs = gamma(a=np.array([2.0, 3.0], dtype=np.float32))
    exact = stats.gamma([2.0, 3.0]).isf(1e-12)
    F = tl.as_distribution(theirs)
    np.testing.assert_allclose(F.logsf(exact), np.log(1e-12), rtol=1e-9)


@newer
def test_newer_distributions_that_cannot_be_taken():
    class Held(stats.make_distribution(stats.gamma)):
        def __init__(self, shape):
            super().__init__(a=shape)

    assert message(TypeError, Held(np.array([2.0, 3.0]))) == (
        "obj is a scipy.stats.Held, whose rows cannot be taken apart; "
        "expected a distribution that its own parameters make. Give draws instead: "
        "Samples(dist.sample(1000).T)."
    )


# ---- torch ---------------------------------------------------------------------------


@pytest.fixture(name="torch")
def _torch():
    return pytest.importorskip("torch")


def tensor(torch, values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_tensors_are_plain_numbers(torch):
    assert isinstance(tl.as_distribution(tensor(torch, [1.0, 2.0])), tl.Point)
    F = tl.as_distribution((tensor(torch, [1.0, 2.0]), torch.tensor(0.5)))
    assert isinstance(F, tl.Normal)


def test_torch_families_that_are_our_own(torch):
    D = torch.distributions
    loc, scale, df = (tensor(torch, v) for v in ([1.0, 2.0], [0.5, 2.0], [3.0, 5.0]))
    for theirs, ours in [
        (D.Normal(loc, scale), tl.Normal([1.0, 2.0], [0.5, 2.0])),
        (D.Laplace(loc, scale), tl.Laplace([1.0, 2.0], [0.5, 2.0])),
        (D.StudentT(df, loc, scale), tl.StudentT([1.0, 2.0], [0.5, 2.0], [3.0, 5.0])),
        (D.Cauchy(loc, scale), tl.StudentT([1.0, 2.0], [0.5, 2.0], 1.0)),
        (D.Independent(D.Normal(loc[:, None], scale[:, None]), 1), tl.Normal([1, 2], [0.5, 2])),
        (D.Independent(D.Normal(loc, scale), 1), tl.Normal([1.0, 2.0], [0.5, 2.0])),
        (D.Normal(loc.float(), scale.float()), tl.Normal([1.0, 2.0], [0.5, 2.0])),
    ]:
        F = tl.as_distribution(theirs)
        assert type(F) is type(ours)
        np.testing.assert_array_equal(F.ppf(LEVELS), ours.ppf(LEVELS))


def test_torch_families_by_their_own_density(torch):
    D = torch.distributions
    a, b = tensor(torch, [2.5, 3.0]), tensor(torch, [0.7, 6.0])
    probability = tensor(torch, [0.2, 0.6])
    for theirs in [
        D.Beta(a, b),
        D.Chi2(a),
        D.Exponential(b),
        D.FisherSnedecor(2 * a, 8 * b),
        D.Gamma(a, b),
        D.Gumbel(a, b),
        D.HalfCauchy(a),
        D.HalfNormal(b),
        D.InverseGamma(a, b),
        D.LogNormal(b, a / 10),
        D.Pareto(b, a),
        D.Uniform(a, a + b),
        D.Weibull(a, b),
        D.Kumaraswamy(a, b),
        D.ContinuousBernoulli(probability),
    ]:
        F = tl.as_distribution(theirs)
        y = F.ppf(LEVELS)
        expected = theirs.log_prob(torch.tensor(y.T)).detach().numpy().T
        np.testing.assert_allclose(F.logpdf(y), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(F.cdf(y), np.tile(LEVELS, (2, 1)), rtol=1e-7)
        np.testing.assert_allclose(F.mean(), theirs.mean.detach().numpy(), rtol=1e-6)
        assert np.isfinite(F.score([[-1e3, 1e3]])).all()
        np.testing.assert_allclose(F[::-1].crps([[1.0, 2.0]]), F.crps([[1.0, 2.0]])[::-1])


def test_torch_generalized_pareto(torch):
    if not hasattr(torch.distributions, "GeneralizedPareto"):
        pytest.skip("torch before 2.9")
    theirs = torch.distributions.GeneralizedPareto(*(torch.tensor([v]) for v in (1.0, 2.0, 0.1)))
    F = tl.as_distribution(theirs)
    np.testing.assert_allclose(F.mean(), 1 + 2 / 0.9, rtol=1e-6)


def test_a_torch_subclass_keeps_its_own_formulas(torch):
    class Shifted(torch.distributions.Normal):
        def cdf(self, value):
            return super().cdf(value - 1)

        def icdf(self, value):
            return super().icdf(value) + 1

        def log_prob(self, value):
            return super().log_prob(value - 1)

    F = tl.as_distribution(Shifted(torch.zeros(2), torch.ones(2)))
    np.testing.assert_allclose(F.median(), 1.0)
    np.testing.assert_allclose(F.crps(0.0), tl.Normal(1.0, 1.0).crps(0.0)[0])


def test_torch_mixtures(torch):
    D = torch.distributions
    weights, loc = torch.tensor([[0.3, 0.7], [0.5, 0.5]]), torch.tensor([[0.0, 3.0], [1.0, 1.0]])
    plain = D.MixtureSameFamily(D.Categorical(weights), D.Normal(loc, torch.ones(2, 2)))
    nested = D.MixtureSameFamily(
        D.Categorical(weights), D.Independent(D.Normal(loc[..., None], torch.ones(2, 2, 1)), 1)
    )
    expected = tl.Mixture(
        [tl.Normal([0.0, 1.0], 1.0), tl.Normal([3.0, 1.0], 1.0)], weights=weights.numpy()
    )
    for theirs in (plain, nested):
        F = tl.as_distribution(theirs)
        np.testing.assert_allclose(F.ppf(LEVELS), expected.ppf(LEVELS), rtol=1e-6)
    gammas = D.MixtureSameFamily(D.Categorical(weights), D.Gamma(loc + 1, torch.ones(2, 2)))
    F = tl.as_distribution(gammas)
    np.testing.assert_allclose(F.mean(), gammas.mean, rtol=1e-6)
    one = D.MixtureSameFamily(D.Categorical(weights[0]), D.Normal(loc[0], torch.ones(2)))
    assert len(tl.as_distribution(one)) == 1


def test_torch_errors(torch):
    D = torch.distributions
    one, two = torch.ones(2), torch.eye(2)
    assert message(TypeError, D.Poisson(one)) == (
        "obj is a discrete distribution (torch.Poisson); expected a continuous one, because steps "
        "have no useful score. Give draws instead: Samples(dist.sample((1000,)).T)."
    )
    assert message(TypeError, D.MultivariateNormal(one, two)) == (
        "obj is a multivariate distribution (torch.MultivariateNormal); expected one number per "
        "row. Give its margins: Normal(dist.mean, dist.stddev)."
    )
    assert message(TypeError, D.VonMises(one, one)) == (
        "obj is a torch VonMises; expected a distribution that can be made from its "
        "arg_constraints in float64 and has cdf and log_prob. Give draws instead: "
        "Samples(dist.sample((1000,)).T)."
    )
    assert message(ValueError, D.Normal(two, 1.0)) == (
        "the torch Normal distribution has shape (2, 2); expected one distribution per row, "
        "shape (), (n,) or (n, 1). Convert one column at a time."
    )
    assert message(TypeError, D.transforms.ExpTransform()).startswith("cannot make a distribution")


# ---- skpro ---------------------------------------------------------------------------


@pytest.fixture(name="skpro")
def _skpro():
    return pytest.importorskip("skpro.distributions")


COLUMN = [[1.0], [2.0]]


def test_skpro_families_that_are_our_own(skpro):
    for theirs, ours in [
        (skpro.Normal(COLUMN, 3.0), tl.Normal([1.0, 2.0], 3.0)),
        (skpro.TDistribution(COLUMN, 3.0, 5.0), tl.StudentT([1.0, 2.0], 3.0, 5.0)),
        (skpro.Laplace(COLUMN, 3.0), tl.Laplace([1.0, 2.0], 3.0)),
        (skpro.Logistic(COLUMN, 3.0), tl.Logistic([1.0, 2.0], 3.0)),
        (skpro.Cauchy(COLUMN, 3.0), tl.StudentT([1.0, 2.0], 3.0, 1.0)),
        (skpro.Normal(1.0, 3.0), tl.Normal(1.0, 3.0)),
        (skpro.Normal(0.0, 1.0, index=[7, 3], columns=["y"]), tl.Normal([0.0, 0.0], 1.0)),
    ]:
        F = tl.as_distribution(theirs)
        assert type(F) is type(ours)
        np.testing.assert_array_equal(F.ppf(LEVELS), ours.ppf(LEVELS))


def test_skpro_wrapped(skpro):
    F = tl.as_distribution(skpro.Gamma(alpha=COLUMN, beta=2.0, index=[7, 3], columns=["y"]))
    expected = tl.as_distribution(stats.gamma([1.0, 2.0], scale=0.5))
    y = expected.ppf(LEVELS)
    for name in ("cdf", "logpdf", "crps", "score"):
        np.testing.assert_allclose(getattr(F, name)(y), getattr(expected, name)(y), rtol=1e-9)
    np.testing.assert_allclose(F.ppf(LEVELS), y)
    np.testing.assert_allclose(F.mean(), expected.mean())
    np.testing.assert_allclose(F.var(), expected.var())
    np.testing.assert_allclose(F[[1, 1, 0]].median(), expected[[1, 1, 0]].median())
    # skpro has no survival function, so its digits end sooner.
    s = np.array([[-20.0, -6.1, -5.9, 5.0, 6.1, 20.0]])
    np.testing.assert_allclose(F.score(F.unscore(s)), np.tile(s, (2, 1)), rtol=1e-9)
    np.testing.assert_allclose(F.unscore(5.9), expected.unscore(5.9), rtol=1e-6)
    assert len(tl.as_distribution(skpro.Gamma(1.0, 2.0))) == 1
    assert np.isnan(tl.as_distribution(skpro.HalfCauchy(COLUMN)).mean()).all()


def test_skpro_exponential(skpro):
    F = tl.as_distribution(skpro.Exponential(COLUMN))
    np.testing.assert_allclose(F.median(), np.log(2) / np.array([1.0, 2.0]))


def test_skpro_mixture(skpro):
    parts = [("a", skpro.Normal(COLUMN, 1.0)), ("b", skpro.Gamma(COLUMN, 1.0))]
    F = tl.as_distribution(skpro.Mixture(parts, weights=[0.3, 0.7]))
    assert isinstance(F, tl.Mixture)
    np.testing.assert_allclose(F.mean(), [1.0, 2.0])


def test_skpro_empirical(skpro):
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_product([[0, 1, 2], ["b", "a"]])
    draws = pd.DataFrame({"y": [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]}, index=index)
    F = tl.as_distribution(skpro.Empirical(draws))
    assert isinstance(F, tl.Samples)
    np.testing.assert_array_equal(F.draws, [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    one = tl.as_distribution(skpro.Empirical(pd.Series([3.0, 1.0])))
    np.testing.assert_array_equal(one.draws, [[1.0, 3.0]])


def test_skpro_errors(skpro):
    draws = "Samples(dist.sample(1000).to_numpy().reshape(1000, -1).T)."
    assert message(TypeError, skpro.Poisson(COLUMN)) == (
        "obj is a discrete distribution (skpro.Poisson); expected a continuous one, because steps "
        f"have no useful score. Give draws instead: {draws}"
    )
    assert message(ValueError, skpro.Normal([[1.0, 2.0]], 1.0)) == (
        "the skpro Normal distribution has shape (1, 2); expected one distribution per row, "
        "shape (), (n,) or (n, 1). Convert one column at a time."
    )
    kernels = skpro.KernelMixture.create_test_instance()
    assert message(TypeError, kernels) == (
        "obj is a skpro KernelMixture, whose ppf skpro approximates; expected a distribution "
        f"with exact ones. Give draws instead: {draws}"
    )
    scaled = skpro.MeanScale(d=skpro.Normal(0, 1), mu=1, sigma=2)
    assert message(TypeError, scaled) == (
        "obj is a scalar skpro MeanScale, which cannot be made a table; expected one row and one "
        f"column. Give draws instead: {draws}"
    )


# ---- ngboost -------------------------------------------------------------------------


@pytest.fixture(name="distns")
def _distns():
    return pytest.importorskip("ngboost.distns")


def test_ngboost_families(distns):
    # NGBoost keeps the logarithm of what must be positive.
    two = np.array([[1.0, 2.0], [0.0, np.log(3.0)]])
    np.exp([1.0, 2.0])
    three = np.vstack([two, np.log([[4.0, 5.0]])])
    for theirs, ours in [
        (distns.Normal(two), tl.Normal([1.0, 2.0], [1.0, 3.0])),
        (distns.Laplace(two), tl.Laplace([1.0, 2.0], [1.0, 3.0])),
        (distns.T(three), tl.StudentT([1.0, 2.0], [1.0, 3.0], [4.0, 5.0])),
        (
            distns.LogNormal(two),
            tl.as_distribution(stats.lognorm([1.0, 3.0], scale=np.exp([1, 2]))),
        ),
        (distns.Exponential(two[:1]), tl.as_distribution(stats.expon(scale=np.exp([1.0, 2.0])))),
    ]:
        F = tl.as_distribution(theirs)
        assert type(F) is type(ours)
        np.testing.assert_allclose(F.ppf(LEVELS), ours.ppf(LEVELS), rtol=1e-12)


def test_ngboost_errors(distns):
    assert message(TypeError, distns.Poisson(np.zeros((1, 2)))).startswith(
        "obj is a discrete distribution (scipy.stats.poisson)"
    )
    chances = distns.k_categorical(3)(np.zeros((2, 4)))
    assert message(TypeError, chances).startswith("cannot make a distribution of a ngboost.")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_an_ngboost_model(distns):
    ngboost = pytest.importorskip("ngboost")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    model = ngboost.NGBRegressor(n_estimators=3, verbose=False, random_state=0).fit(X, y)
    F = tl.as_distribution(model.pred_dist(X))
    assert isinstance(F, tl.Normal)
    assert len(F) == 80
    np.testing.assert_allclose(F.mean(), model.predict(X))
