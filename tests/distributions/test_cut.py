"""Forecasts that are cut to have atoms: against brute force, quadrature and enumeration."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

import trueline as tl
from trueline.distributions import Cut, Stacked, average
from trueline.distributions._atoms import Ends, Lattice
from trueline.distributions._quadrature import integrals_below
from trueline.testing import check_distribution

LOC, SCALE = np.array([0.5, 2.0, -0.2]), np.array([1.0, 0.6, 2.0])
RNG = np.random.default_rng(0)
DRAWS = LOC[:, None] + SCALE[:, None] * RNG.normal(size=(3, 15))
NOISE = RNG.normal(0.3, 1.4, size=120)
LEVELS = np.arange(1, 10) / 10


def recalibrated(dist: tl.Distribution, R: tl.Recalibrator) -> tl.Distribution:
    rows = np.arange(len(NOISE)) % len(dist)
    return R.set_params(support=None).fit(dist.median()[rows] + NOISE, dist[rows]).transform(dist)


def normal() -> tl.Distribution:
    return tl.Normal(LOC, SCALE)


def stacked() -> tl.Distribution:
    parts = [tl.Normal(LOC[:1], SCALE[:1]), recalibrated(normal(), tl.Isotonic())[[1, 2]]]
    return Stacked(parts, [np.array([1]), np.array([2, 0])])


BASES = {
    "normal": normal,
    "student t": lambda: tl.StudentT(LOC, SCALE, 5.0),
    "laplace": lambda: tl.Laplace(LOC, SCALE),
    "isotonic normal": lambda: recalibrated(normal(), tl.Isotonic()),
    "smooth point": lambda: recalibrated(tl.Point(LOC), tl.Smooth()),
    "isotonic samples": lambda: recalibrated(tl.Samples(DRAWS), tl.Isotonic()),
    "isotonic samples, tied": lambda: recalibrated(
        tl.Samples(np.clip(np.round(DRAWS), -1.0, 3.0)), tl.Isotonic()
    ),
    "quantiles": lambda: tl.Quantiles(LEVELS, np.sort(DRAWS[:, :9], axis=1)),
    "quantiles, tied": lambda: tl.Quantiles(
        LEVELS, np.clip(np.sort(DRAWS[:, :9], axis=1), -1.0, 3.0)
    ),
    "mixture": lambda: tl.Mixture([normal(), tl.Logistic(LOC + 1.0, SCALE)]),
    "stacked": stacked,
}
ATOMS = {
    # The first row has almost no mass at 40, and the values are not evenly spaced.
    "lattice": Lattice(
        np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 5.0, 40.0]),
        np.array([-2.2, -0.3, 0.45, 1.5, 4.0, 20.0]),
    ),
    "low, stretched": Ends(0.0, np.inf, np.array([0.3])),
    "low, as it is": Ends(0.0, np.inf, np.array([0.0])),
    "high, squeezed": Ends(-np.inf, 2.0, np.array([2.4])),
    "both": Ends(-1.0, 3.0, np.array([-0.6, 3.2])),
    "both, as they are": Ends(-1.0, 3.0, np.array([-1.0, 3.0])),
}
BY_QUADRATURE = {"student t", "laplace", "mixture"}
# The exact checks take a second or two for some bases, so these have one or two kinds of atoms.
CONTRACT = [
    *[("normal", atoms) for atoms in ATOMS],
    *[("isotonic normal", atoms) for atoms in ("lattice", "low, stretched")],
    *[("quantiles, tied", atoms) for atoms in ("lattice", "both, as they are")],
    ("smooth point", "lattice"),
    ("isotonic samples", "high, squeezed"),
    ("isotonic samples, tied", "both"),
    ("mixture", "both"),
    ("stacked", "both"),
]


@pytest.mark.parametrize("base, atoms", CONTRACT)
def test_contract(base, atoms):
    tolerance = 1e-6 if base in BY_QUADRATURE else 1e-8
    check_distribution(Cut(BASES[base](), ATOMS[atoms]), tolerance=tolerance)


@pytest.mark.parametrize("atoms", ATOMS)
@pytest.mark.parametrize("base", BASES)
def test_as_a_function_of_many_quantiles(base, atoms):
    """The forecast is that of T(X), so the mean of T over N quantiles of X is its mean.

    With quantiles in the middle of N cells, distribution functions are at most 1 / N apart, and
    means and CRPS at most the range of outcomes divided by N; the range leaves out 1e-5.
    """
    n = 2001
    latent, how = BASES[base](), ATOMS[atoms]
    dist = Cut(latent, how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)  # of levels in the tails
        outcomes = how.outcome(latent.ppf((np.arange(n) + 0.5) / n))
        wide = np.ptp(how.outcome(latent.ppf([1e-5, 1.0 - 1e-5])), axis=1)[:, None]
    assert (np.diff(outcomes, axis=1) >= 0).all()
    brute = tl.Samples(outcomes)
    y = np.array([[-1.0, 0.0, 0.13, 1.0, 1.7, 2.0]])
    for name, slack in (("cdf", 1.0), ("pmf", 2.0), ("crps", 2.0 * wide)):
        found, expected = getattr(dist, name)(y), getattr(brute, name)(y)
        if name == "pmf":  # a brute force of points has atoms everywhere
            expected = np.where(expected < 1.5 / n, 0.0, expected)
        assert (np.abs(found - expected) <= 1e-9 + slack / n).all()
    mean, var = dist.mean()[:, None], dist.var()[:, None]
    assert (np.abs(mean - brute.mean()[:, None]) <= 2.0 * wide / n).all()
    assert (np.abs(var - brute.var()[:, None]) <= 2.0 * wide**2 / n).all()
    # Quantiles are values that can occur, and rise through the same values.
    q = np.arange(1, 40) / 40
    np.testing.assert_array_equal(dist.ppf(q), how.outcome(latent.ppf(q)))


@pytest.mark.parametrize("atoms", ATOMS)
def test_nothing_lies_outside_the_range(atoms):
    how = ATOMS[atoms]
    dist = Cut(BASES["isotonic normal"](), how)
    draws = dist.sample(300, random_state=0)
    low, high = getattr(how, "low", -3.0), getattr(how, "high", 40.0)
    assert ((draws >= low) & (draws <= high)).all()
    if isinstance(how, Lattice):
        assert np.isin(draws, how.values).all()
        assert (dist.pdf(np.array([[-2.0, 0.5, 41.0]])) == 0.0).all()
    below, above = low - 1e-9, high + 1e-9
    if np.isfinite(low):
        assert (dist.cdf(below) == 0.0).all()
        assert (dist.pdf(below) == 0.0).all()
    if np.isfinite(high):
        assert (dist.cdf(high) == 1.0).all()
        assert (dist.sf(high) == 0.0).all()
        assert (dist.pdf(above) == 0.0).all()
    masses = dist.pmf(how.values[None, :])
    np.testing.assert_allclose(np.exp(dist.logpdf(how.values[None, :])), masses, rtol=1e-12)


@pytest.mark.parametrize("atoms", ["low, stretched", "high, squeezed", "both"])
def test_density_between_the_ends_is_the_slope_of_the_cdf(atoms):
    dist = Cut(BASES["normal"](), ATOMS[atoms])
    y, h = np.array([[0.05, 0.2, 0.5, 0.9, 1.3, 1.95]]), 1e-6  # no stretch ends within h of these
    slope = (dist.cdf(y + h) - dist.cdf(y - h)) / (2.0 * h)
    np.testing.assert_allclose(dist.pdf(y), slope, rtol=1e-6)


@pytest.mark.parametrize("high", [True, False], ids=["high", "low"])
def test_an_atom_of_the_forecast_at_an_end_is_part_of_the_atom_there(high):
    """Forecasts of a share may end at 1 themselves; an atom there must not be lost."""
    sign = 1.0 if high else -1.0
    values = np.sort(sign * np.array([[0.2, 0.6, 1.0, 1.0, 1.0]]), axis=1)
    base = tl.Quantiles([0.1, 0.3, 0.5, 0.7, 0.9], values)
    end = np.array([sign])
    how = Ends(-np.inf, 1.0, end) if high else Ends(-1.0, np.inf, end)
    dist = Cut(base, how)
    np.testing.assert_allclose(dist.pmf(sign), 0.5, rtol=1e-12)
    np.testing.assert_allclose(dist.pmf(0.6 * sign), 0.0)
    lower, upper = dist._score_bounds(np.array([[sign]]))
    nodes = ndtri([0.4, 1.0]) if high else ndtri([0.0, 0.5])
    assert (upper == np.inf) if high else (lower == -np.inf)
    if high:  # halfway between the levels of 0.6 and of 1
        np.testing.assert_allclose(lower, nodes[0], rtol=1e-12)
    else:  # the score at the cut, where the map will be read
        np.testing.assert_allclose(upper, nodes[1], atol=1e-12)


def test_an_atom_of_the_forecast_off_the_ends_is_kept():
    base = tl.Quantiles([0.1, 0.4, 0.6, 0.9], [[-0.5, 0.7, 0.7, 1.6]])
    dist = Cut(base, Ends(0.0, np.inf, np.array([0.0])))
    np.testing.assert_allclose(dist.pmf(0.7), 0.2, rtol=1e-12)
    plain, cut = base._score_bounds(np.array([[0.7]])), dist._score_bounds(np.array([[0.7]]))
    np.testing.assert_array_equal(cut, plain)
    assert (cut[0] < cut[1]).all()


# ---- the map T -------------------------------------------------------------------------


@st.composite
def ends(draw):
    """Ends with cuts as far from them as they may be, or nearer."""
    low, width = draw(st.integers(-50, 50)) / 4, draw(st.integers(1, 400)) / 8
    which = draw(st.sampled_from(["low", "high", "both"]))
    shifts = [width * draw(st.integers(-16, 16)) / 64 for _ in range(2)]
    if which == "low":
        return Ends(low, np.inf, np.array([low + shifts[0]]))
    if which == "high":
        return Ends(-np.inf, low, np.array([low - shifts[1]]))
    high = low + width
    return Ends(low, high, np.array([low + shifts[0], high - shifts[1]]))


@settings(max_examples=100)
@given(how=ends(), y=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8))
def test_ends_are_inverted(how, y):
    assert how.is_valid()
    y = np.sort(y)
    x = how.inner(y)
    assert (np.diff(x) >= 0).all()
    np.testing.assert_allclose(how.outer(x), y, rtol=1e-12, atol=1e-10)
    inside = np.clip(y, how.low, how.high)
    np.testing.assert_allclose(how.outcome(how.inner(inside)), inside, rtol=1e-12, atol=1e-10)
    # Up to its cut, X stands for the end itself, and beyond the cut for something inside.
    for end, cut, sign in zip(
        how.values, how.cuts, np.where(how.values == how.low, 1, -1), strict=True
    ):
        assert how.outcome(np.array([cut]))[0] == pytest.approx(end, abs=1e-12)
        assert how.outcome(np.array([cut - sign])) == end
        assert sign * (how.outcome(np.array([cut + sign * 1e-3])) - end) > 0


def test_ends_of_which_the_stretches_meet_are_not_valid():
    assert Ends(0.0, 1.0, np.array([0.25, 0.75])).is_valid()
    assert not Ends(0.0, 1.0, np.array([0.3, 0.75])).is_valid()
    assert not Ends(1.0, 1.0, np.array([1.0, 1.0])).is_valid()


def test_atoms_are_equal_if_values_and_cuts_are():
    first, same = (Ends(0.0, np.inf, np.array([0.5])) for _ in range(2))
    assert first == same
    assert hash(first) == hash(same)
    assert first != first.with_cuts(np.array([0.4]))
    lattice = Lattice(np.array([0.0, 1.0]), np.array([0.5]))
    assert lattice != first
    assert lattice == Lattice(np.array([0.0, 1.0]), np.array([0.5]))


# ---- integrals -------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES)
def test_integrals_below_a_value(base):
    """Closed forms, and the quadrature of others, against eight nodes on each smooth piece."""
    dist = BASES[base]()
    x = np.array([[-1.5, 0.3, 2.2]])
    found = np.stack(dist._integrals(x))
    # The second derivative of a spline jumps at knots that are not among the values.
    rtol = 2e-5 if base in BY_QUADRATURE else 2e-6 if base.startswith("smooth") else 1e-9
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for i in range(3):
        row = dist[i]
        # Between these values the CDF is smooth.
        kinks = getattr(row, "parts", [row])[0]._grid(np.linspace(-8.0, 8.0, 129))[0]

        def powers(t, end, row=row):
            f = row._cdf(np.atleast_2d(t))[0]
            return np.stack([f, f * f, (end - t) * f])

        for j, end in enumerate(x[0]):
            stops = np.unique(np.concatenate([[kinks[0] - 1e-9], kinks[kinks < end], [end]]))
            half, middle = 0.5 * np.diff(stops), 0.5 * (stops[1:] + stops[:-1])
            points = middle[:, None] + half[:, None] * nodes
            expected = powers(points.ravel(), end) @ np.outer(half, weights).ravel()
            for k in range(3):  # the tail
                tail = quad(lambda t, k=k, end=end: powers(t, end)[k, 0], -np.inf, stops[0])
                expected[k] += tail[0]
            np.testing.assert_allclose(found[:, i, j], expected, rtol=rtol, atol=1e-15)


def test_integrals_by_quadrature_of_a_forecast_with_closed_forms():
    x = np.array([[-1.5, 0.3, 2.2]])
    for base in ("normal", "isotonic normal", "quantiles"):
        dist = BASES[base]()
        closed, numeric = dist._integrals(x), integrals_below(dist, x)
        np.testing.assert_allclose(numeric, closed, rtol=2e-5, atol=1e-12)


# ---- intervals -------------------------------------------------------------------------


def on_lattice(values, masses):
    """One row with these probabilities: a standard normal, cut at its quantiles."""
    cuts = ndtri(np.cumsum(masses)[:-1])
    return Cut(tl.Normal([0.0], 1.0), Lattice(np.asarray(values, dtype=float), cuts))


@settings(max_examples=100)
@given(
    steps=st.lists(st.integers(1, 3), min_size=1, max_size=7),
    weights=st.lists(st.integers(1, 40), min_size=8, max_size=8),
    coverage=st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.99]),
)
def test_the_interval_of_a_lattice_is_the_smallest_of_all(steps, weights, coverage):
    values = np.concatenate([[0.0], np.cumsum(steps)])
    masses = np.array(weights[: len(values)]) / sum(weights[: len(values)])
    lower, upper = on_lattice(values, masses).interval(coverage)
    every = [
        (values[j] - values[i], -masses[i : j + 1].sum(), values[i], values[j])
        for i in range(len(values))
        for j in range(i, len(values))
        if masses[i : j + 1].sum() >= coverage - 1e-10
    ]
    length, mass, _, _ = min(every)
    held = masses[(values >= lower) & (values <= upper)].sum()
    assert (lower[0], upper[0]) in {ends[2:] for ends in every}
    assert upper[0] - lower[0] == length
    assert held == pytest.approx(-mass, abs=1e-9)


def test_the_interval_of_a_lattice_of_many_rows_is_that_of_each():
    rng = np.random.default_rng(0)
    F = Cut(
        tl.Normal(rng.uniform(-5.0, 30.0, 500), rng.uniform(0.01, 8.0, 500)),
        Lattice(np.arange(0.0, 26.0), np.arange(0.0, 25.0) + 0.5),
    )
    lower, upper = F.interval([0.5, 0.9])
    for i in (0, 17, 499):
        for j, coverage in enumerate([0.5, 0.9]):
            assert (lower[i, j], upper[i, j]) == tuple(end[0] for end in F[i].interval(coverage))
    held = F.cdf(upper) - F.cdf(lower) + F.pmf(lower)
    assert (held >= np.array([0.5, 0.9]) - 1e-9).all()
    # Without its first or last value the interval would hold less than it should.
    for end in (lower, upper):
        inner = held - F.pmf(end)
        assert (inner < np.array([0.5, 0.9])).all()


@pytest.mark.parametrize("atoms", ["low, stretched", "high, squeezed", "both", "both, as they are"])
def test_an_interval_that_ends_on_an_atom_leaves_out_nothing_there(atoms):
    how = ATOMS[atoms]
    dist = Cut(tl.Normal(np.linspace(-3.0, 4.0, 29), np.linspace(0.4, 1.5, 29)), how)
    mass = {end: dist.pmf(end) if np.isfinite(end) else np.zeros(29) for end in (how.low, how.high)}
    for coverage in (0.3, 0.6, 0.9):
        tail = 0.5 * (1.0 - coverage)
        lower, upper = dist.interval(coverage)
        held = dist.cdf(upper) - dist.cdf(lower) + dist.pmf(lower)
        assert (held >= coverage - 1e-12).all()
        # More than promised only if the interval begins and ends on an atom or is one.
        over = held > coverage + 1e-9
        assert (np.isin(lower, how.values) & np.isin(upper, how.values))[over].all()
        # An atom with more than a tail is not left out, and the interval is then one-sided.
        on_low, on_high = mass[how.low] >= tail, mass[how.high] >= tail
        central = ~on_low & ~on_high
        np.testing.assert_array_equal(lower[central], dist.ppf(tail)[central])
        np.testing.assert_array_equal(upper[central], dist.ppf(1.0 - tail)[central])
        only = on_low & ~on_high
        assert (lower[only] == how.low).all()
        np.testing.assert_array_equal(upper[only], dist.ppf(coverage)[only])
        only = on_high & ~on_low
        assert (upper[only] == how.high).all()
        np.testing.assert_array_equal(lower[only], dist.ppf(1.0 - coverage)[only])
        both = on_low & on_high
        short = np.minimum(dist.ppf(coverage) - how.low, how.high - dist.ppf(1.0 - coverage))
        np.testing.assert_allclose((upper - lower)[both], short[both], rtol=1e-12)


# ---- forecasts made of cut ones --------------------------------------------------------


def test_the_average_of_cut_forecasts_keeps_their_atoms():
    how = ATOMS["both"]
    parts = [Cut(tl.Normal(LOC + shift, SCALE), how) for shift in (0.0, 0.7)]
    dist = average(parts)
    assert dist._atoms == how
    y = np.array([[-1.0, 0.0, 1.1, 3.0]])
    for name in ("cdf", "pmf"):
        expected = sum(getattr(part, name)(y) for part in parts) / 2
        np.testing.assert_allclose(getattr(dist, name)(y), expected, rtol=1e-12)
    np.testing.assert_allclose(dist.mean(), sum(part.mean() for part in parts) / 2, rtol=1e-6)
    q = dist.ppf(np.arange(1, 20) / 20)
    assert ((q >= -1.0) & (q <= 3.0)).all()
    assert (q == -1.0).any()
    assert average(parts[:1]) is parts[0]


def test_the_average_of_forecasts_with_different_atoms_is_a_mixture():
    parts = [Cut(normal(), ATOMS["low, stretched"]), Cut(normal(), ATOMS["low, as it is"])]
    dist = average(parts)
    assert isinstance(dist, tl.Mixture)
    expected = sum(part.pmf(0.0) for part in parts) / 2
    np.testing.assert_allclose(dist.pmf(0.0), expected, rtol=1e-12)


def test_rows_from_several_cut_forecasts_keep_common_atoms():
    how = ATOMS["lattice"]
    rows = [np.array([2, 0]), np.array([1])]
    parts = [Cut(normal()[[0, 1]], how), Cut(tl.Laplace(LOC[2:], SCALE[2:]), how)]
    dist = Stacked(parts, rows)
    assert dist._atoms == how
    again = Cut(dist._uncut(), how)
    y = how.values[None, :]
    for name in ("cdf", "pmf", "crps"):
        np.testing.assert_allclose(getattr(again, name)(y), getattr(dist, name)(y), rtol=1e-12)
    np.testing.assert_array_equal(again.interval(0.9), dist.interval(0.9))
    for found, expected in zip(dist._score_bounds(y), again._score_bounds(y), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert average([dist, dist])._atoms == how
    other = Stacked([parts[0], Cut(parts[1].base, ATOMS["both"])], rows)
    assert other._atoms is None


def test_a_cut_forecast_is_cut_again_at_other_atoms():
    """Recalibrating a forecast that a map has cut already keeps the atoms of the new map only."""
    F = tl.Normal(np.full(200, 1.2), 1.0)
    y = np.random.default_rng(0).poisson(1.2, size=200).astype(float)
    G = tl.Isotonic(support="counts").fit(y, F).transform(F)
    H = tl.Isotonic(support=tl.Support(low=0, high=9, step=1)).fit(y, G).transform(G)
    assert H._atoms.values[-1] == 9.0
    np.testing.assert_allclose(H.pmf([np.arange(6.0)])[0], G.pmf([np.arange(6.0)])[0], atol=0.01)


def test_widening_and_selecting_rows_keep_the_atoms():
    dist = Cut(normal(), ATOMS["both"])
    assert dist._widened(0.0) is dist
    wide = dist._widened(0.5)
    assert wide._atoms == dist._atoms
    np.testing.assert_allclose(wide.pmf(-1.0), ndtr((-0.6 - LOC) / (SCALE + 0.5)), rtol=1e-12)
    np.testing.assert_array_equal(dist[[2, 0]].pmf(3.0), dist.pmf(3.0)[[2, 0]])
    point = Cut(tl.Point(LOC), ATOMS["both"])
    assert point._widened(0.5) is point
