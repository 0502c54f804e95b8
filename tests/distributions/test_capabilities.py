"""What a forecast says about itself, so that no caller needs to know its class."""

import numpy as np
import pytest

import trueline as tl
from tests.distributions.cases import BASES, FORMS, LOC, SCALE
from trueline.distributions import Distribution

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
