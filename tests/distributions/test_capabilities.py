"""What a forecast says about itself, so that no caller needs to know its class."""

import numpy as np
import pytest

import trueline as tl
from tests.distributions.cases import BASES, FORMS, LOC, SCALE
from trueline.distributions import Distribution, Stacked

ATOMS = {"point", "samples", "samples, tied", "quantiles, tied", "mixture of steps"}
CASES = [(base, form) for base in BASES for form in ("as it is", "isotonic with atoms", "smooth")]
HEAVY = ("student t, heavy", "as it is")


@pytest.mark.parametrize("base", BASES)
def test_atoms(base):
    dist = BASES[base]()
    assert dist._has_atoms() == (base in ATOMS or base == "stacked, normal scores")
    assert dist._may_have_atoms or not dist._has_atoms()


@pytest.mark.parametrize("base, form", CASES)
def test_without_atoms_the_cdf_is_continuous_from_the_left(base, form):
    dist = FORMS[form](BASES[base]())
    y = dist.ppf(np.linspace(0.1, 0.9, 9))
    if not dist._has_atoms():
        np.testing.assert_allclose(dist._cdf_left(y), dist._cdf(y), rtol=1e-9)
    if not dist._may_have_atoms:
        np.testing.assert_array_equal(dist._cdf_left(y), dist._cdf(y))


# In heavy tails the mass beyond the outermost levels still counts.
@pytest.mark.parametrize("base, form", [case for case in CASES if case != HEAVY])
def test_expected_distance_agrees_with_the_crps(base, form):
    dist = FORMS[form](BASES[base]())
    expected = Distribution._expected_distance(dist)
    np.testing.assert_allclose(dist._expected_distance(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("base", BASES)
def test_upper_quantiles(base):
    dist = BASES[base]()
    q = np.array([[0.03, 0.4, 0.77]])
    np.testing.assert_allclose(dist._isf(q), dist._ppf(1.0 - q), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("base, form", CASES)
def test_pit_bounds_hold_the_cdf(base, form):
    dist = FORMS[form](BASES[base]())
    y = dist.ppf([0.2, 0.5])
    cdf = dist._cdf(y)
    lower, upper = dist._pit_bounds(y, cdf)
    assert ((lower <= cdf + 1e-12) & (cdf <= upper + 1e-12)).all()
    assert ((lower >= 0) & (upper <= 1)).all()


@pytest.mark.parametrize("base", BASES)
def test_recalibrated_forecasts_name_their_laws(base):
    dist = BASES[base]()
    assert dist._learned_laws() == []
    laws = FORMS["smooth"](dist)._learned_laws()
    assert laws
    assert all(law.smooth for law in laws)
    assert not any(law.smooth for law in FORMS["isotonic"](dist)._learned_laws())


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Logistic", "StudentT"])
def test_families_take_other_parameters(name):
    df = (4.0,) if name == "StudentT" else ()
    make = getattr(tl, name)
    moved = make(LOC, SCALE, *df)._with(LOC + 1.0, 2.0 * SCALE)
    np.testing.assert_array_equal(moved.ppf(0.9), make(LOC + 1.0, 2.0 * SCALE, *df).ppf(0.9))


@pytest.mark.parametrize("base", ["point", "samples", "quantiles", "mixture", "stacked"])
def test_others_do_not(base):
    assert BASES[base]()._with(LOC, SCALE) is None
    assert FORMS["smooth"](BASES[base]())._with(LOC, SCALE) is None


def test_centre_and_width_are_finite_where_moments_are_not():
    heavy = tl.StudentT(LOC, SCALE, 0.8)
    assert np.isinf(heavy.std()).all()
    np.testing.assert_array_equal(heavy._centre(), LOC)
    np.testing.assert_array_equal(heavy._width(), SCALE)
    draws = BASES["samples"]()
    np.testing.assert_array_equal(draws._centre(), draws.mean())
    np.testing.assert_array_equal(draws._width(), draws.std())


def test_a_mixture_supports_what_its_components_do():
    parts = [FORMS["isotonic"](BASES["normal"]()) for _ in range(2)]
    mixture = tl.Mixture(parts)
    assert mixture._supported == (0.0, 1.0)
    assert mixture._component_support == parts[0]._supported == parts[0]._component_support


def fitted(rows, seed):
    """A forecast of ten rows, recalibrated on so many."""
    y = np.random.default_rng(seed).normal(size=rows)
    R = tl.Isotonic().fit(y, tl.Normal(np.zeros(rows), 1.0))
    return R.transform(tl.Normal(np.zeros(10), 1.0))


def test_rows_of_the_fit_of_several_maps():
    one, other = fitted(40, 0), fitted(120, 1)
    assert (one._n_fit, tl.Normal(0, 1)._n_fit) == (40, None)
    # Each map adds the square of its weight, divided by its rows, to the variance.
    np.testing.assert_allclose(tl.Mixture([one, fitted(40, 2)])._n_fit, 80)
    np.testing.assert_allclose(tl.Mixture([one, other], [0.25, 0.75])._n_fit, 160)
    np.testing.assert_allclose(tl.Mixture([one, other], [1.0, 0.0])._n_fit, 40)
    # A map that two components share is one map.
    np.testing.assert_allclose(tl.Mixture([one, one])._n_fit, 40)
    assert tl.Mixture([one, tl.Normal(np.zeros(10), 1.0)])._n_fit is None
    stacked = Stacked([one[:5], other[:5]], [np.arange(5), np.arange(5, 10)])
    np.testing.assert_allclose(stacked._n_fit, 4 / (1 / 40 + 1 / 120))
    shares = Stacked([one[:2], other[:6]], [np.arange(2), np.arange(2, 8)])
    np.testing.assert_allclose(shares._n_fit, 160)


@pytest.mark.parametrize("base, form", CASES)
def test_parts_answer_for_their_rows(base, form):
    dist = FORMS[form](BASES[base]())
    stacked = Stacked([dist[[2]], dist[[0, 1]]], [np.array([0]), np.array([2, 1])])
    order, c = [2, 1, 0], np.array(0.8)
    lower, upper = dist._interval(c)
    np.testing.assert_array_equal(stacked._interval(c), [lower[order], upper[order]])
    mass = dist._interval_mass(0.8, lower, upper)
    np.testing.assert_allclose(stacked._interval_mass(0.8, lower[order], upper[order]), mass[order])
    y = dist.ppf([0.2, 0.5])
    for one, other in zip(
        stacked._pit_bounds(y[order], stacked._cdf(y[order])),
        dist._pit_bounds(y, dist._cdf(y)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other[order], rtol=1e-12)
    np.testing.assert_allclose(stacked._atom_mass(y[order]), dist._atom_mass(y)[order], rtol=1e-9)


@pytest.mark.parametrize("base", BASES)
def test_pmf_is_the_step_of_the_cdf(base):
    dist = BASES[base]()
    y = dist.ppf([0.2, 0.5, 0.7])
    steps = dist._cdf(y) - dist._cdf_left(y)
    np.testing.assert_allclose(dist.pmf(y), steps, atol=1e-11)
    assert dist.pmf(y).any() == (base in ATOMS or base == "stacked, normal scores")
    assert not dist.pmf(np.array([[-np.inf, np.inf]])).any()
    assert dist.pmf(y[:, 0]).shape == (3,)
