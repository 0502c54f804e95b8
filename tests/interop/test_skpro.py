"""Forecasts as distributions of skpro."""

import numpy as np
import pytest

import trueline as tl
from tests.interop.cases import ALL, LEVELS, every_forecast, forecast, values
from trueline.interop import to_skpro

pd = pytest.importorskip("pandas")
skpro = pytest.importorskip("skpro.distributions")

INDEX = pd.Index(["a", "b", "c"], name="town")
THREE = tl.Mixture([tl.Normal([0.0, 1.0, 2.0], 1.0), tl.Normal([3.0, 1.0, 2.0], 0.5)])
NATIVE = {
    "normal": skpro.Normal,
    "laplace": skpro.Laplace,
    "logistic": skpro.Logistic,
}


@every_forecast
def test_it_answers_as_the_forecast_does(base, form):
    F = forecast(base, form)
    dist = to_skpro(F, index=INDEX, columns=["y"])
    assert isinstance(dist, skpro.base.BaseDistribution)
    assert dist.shape == (3, 1)
    native = form == "as it is" and base in NATIVE
    assert not native or type(dist) is NATIVE[base]
    # skpro's own formulas have digits of their own.
    rtol, atol = (1e-9, 1e-12) if native else (0.0, 0.0)
    discrete = dist.get_tag("distr:measuretype") == "discrete"

    def same(table, column):
        assert list(table.index) == list(INDEX)
        assert list(table.columns) == ["y"]
        np.testing.assert_allclose(table["y"].to_numpy(), column, rtol=rtol, atol=atol)

    for y in values(F).T if not native else values(F).T[1:-1]:
        same(dist.cdf(y[:, None]), F.cdf(y))
        if not native:
            same(dist.surv(y[:, None]), F.sf(y))
        if not discrete:  # skpro says that the density of a discrete one is 0
            same(dist.pdf(y[:, None]), F.pdf(y))
            same(dist.log_pdf(y[:, None]), F.logpdf(y))
    for q in LEVELS:
        same(dist.ppf(q), F.ppf(q))
    same(dist.mean(), F.mean())
    if np.isfinite(F.var()).all():
        same(dist.var(), F.var())
    quantiles = dist.quantile([0.1, 0.5])
    # skpro asks for one level at a time, and the last digit of a mixture depends on the others.
    expected = np.stack([F.ppf(0.1), F.ppf(0.5)], axis=1)
    np.testing.assert_allclose(quantiles.to_numpy(), expected, rtol=rtol)
    assert list(quantiles.columns) == [("y", 0.1), ("y", 0.5)]


# skpro's own classes have its own formula, and some of them a sample.
@pytest.mark.parametrize(
    "base, form", [case for case in ALL if case[0] not in NATIVE or case[1] != "as it is"]
)
def test_skpros_crps_is_ours_without_sampling(base, form):
    F = forecast(base, form)
    dist = to_skpro(F)
    y = values(F)[:, [2]] + 0.1
    crps = dist.energy(y).to_numpy() - 0.5 * dist.energy().to_numpy()
    np.testing.assert_allclose(crps, F.crps(y), rtol=1e-9, atol=1e-9)
    # The energy itself is the integral of 2 F (1 - F), which varies by 1: so a sum over a grid is
    # off by no more than its step, and by what the tails beyond hold.
    ends = values(F)[:, [0, -1]]
    grid = np.linspace(ends[:, 0], ends[:, 1], 20_001).T
    cdf, step = F.cdf(grid), np.diff(ends, axis=1)[:, 0] / 20_000
    integral = 2.0 * (cdf * (1.0 - cdf)).sum(axis=1) * step
    assert (np.abs(dist.energy()["energy"] - integral) <= 1.1 * step).all()


def test_the_energy_has_the_digits_of_the_closed_form():
    # One component of two has all the weight, so this is a normal forecast, by quadrature.
    F = tl.Normal([0.0, 5.0], [1.0, 30.0])
    same = tl.Mixture([F, tl.Logistic([0.0, 5.0], 1.0)], weights=[1.0, 0.0])
    expected = 2.0 * F.scale / np.sqrt(np.pi)
    energies = to_skpro(same).energy()["energy"]
    np.testing.assert_allclose(energies, expected, rtol=1e-6)


KINDS = {
    ("normal", "isotonic"): "continuous",
    ("normal", "isotonic with atoms"): "mixed",
    ("quantiles", "as it is"): "continuous",
    ("quantiles", "smooth"): "continuous",
    ("quantiles, tied", "as it is"): "mixed",
    ("samples", "as it is"): "discrete",
    ("samples", "isotonic"): "continuous",
    ("point", "as it is"): "discrete",
    ("point", "isotonic"): "continuous",
    ("mixture", "as it is"): "continuous",
    ("mixture", "isotonic with atoms"): "mixed",
    ("mixture of steps", "as it is"): "mixed",
    ("stacked", "as it is"): "continuous",
}


@pytest.mark.parametrize("base, form", KINDS, ids=str)
def test_the_tag_says_whether_there_are_steps(base, form):
    F = forecast(base, form)
    dist = to_skpro(F)
    assert dist.get_tag("distr:measuretype") == KINDS[base, form]
    drawn = F.sample(200, random_state=0).T
    masses = np.array([dist.pmf(y[:, None]).to_numpy()[:, 0] for y in drawn])
    assert (masses > 0).any() == (KINDS[base, form] != "continuous")


def test_rows_keep_their_labels():
    dist = to_skpro(THREE, index=INDEX, columns=["y"])
    y = THREE.mean()
    picked = dist.loc[["c", "a"]]
    assert list(picked.index) == ["c", "a"]
    np.testing.assert_array_equal(picked.mean()["y"], y[[2, 0]])
    np.testing.assert_array_equal(dist.iloc[[1]].mean()["y"], y[[1]])
    np.testing.assert_array_equal(dist.iloc[1:].mean()["y"], y[1:])
    np.testing.assert_array_equal(dist.iloc[[True, False, True]].mean()["y"], y[[0, 2]])
    np.testing.assert_array_equal(dist.head(2).mean()["y"], y[:2])
    one = dist.iat[1, 0]
    assert one.shape == ()
    assert one.mean() == dist.at["b", "y"].mean() == y[1]
    assert np.ndim(one.sample()) == 0
    # A frame asks its own rows, in its own order.
    asked = pd.DataFrame({"y": [0.5, 2.5]}, index=["c", "a"])
    np.testing.assert_array_equal(dist.cdf(asked)["y"], THREE[[2, 0]].cdf([0.5, 2.5]))
    with pytest.raises(KeyError, match="not in"):
        dist.loc[["nowhere"]]
    with pytest.raises(IndexError, match="no rows are selected"):
        dist.iloc[[]]


def test_the_index_may_be_that_of_a_frame():
    table = pd.DataFrame({"x": [1, 2, 3]}, index=pd.date_range("2026-01-01", periods=3))
    for given in (table, table["x"], table.index):
        assert to_skpro(THREE, index=given).index.equals(table.index)
        assert to_skpro(THREE.components[0], index=given).index.equals(table.index)
    assert list(to_skpro(THREE).index) == [0, 1, 2]


def test_draws_follow_numpys_seed_as_skpros_do():
    dist = to_skpro(THREE, index=INDEX)
    np.random.seed(0)  # noqa: NPY002
    drawn = dist.sample(400)
    np.random.seed(0)  # noqa: NPY002
    pd.testing.assert_frame_equal(drawn, dist.sample(400))
    own = to_skpro(tl.Normal([0.0, 1.0, 2.0], 1.0), index=INDEX).sample(2)
    assert drawn.index.nlevels == own.index.nlevels
    assert list(drawn.index[:4]) == [(0, "a"), (0, "b"), (0, "c"), (1, "a")]
    by_row = drawn[0].unstack(0)
    error = THREE.std() / np.sqrt(400)
    assert (np.abs(by_row.mean(axis=1).to_numpy() - THREE.mean()) < 4 * error).all()


@pytest.mark.parametrize("F", [THREE, THREE.components[0]], ids=["ours", "skpro's"])
def test_labels_that_do_not_fit_are_refused(F):
    with pytest.raises(ValueError, match="index holds 2 labels but the forecast has 3 rows"):
        to_skpro(F, index=["a", "b"])
    with pytest.raises(ValueError, match="columns holds 2 labels but a forecast has one column"):
        to_skpro(F, columns=["a", "b"])


def test_what_is_no_forecast_is_refused():
    with pytest.raises(TypeError, match="cannot make a distribution of"):
        to_skpro("Normal")
