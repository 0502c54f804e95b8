"""The values that outcomes can take: stated, checked and learned."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import trueline as tl
from trueline.distributions import learn_support
from trueline.distributions._atoms import Ends

SUPPORTS = [
    tl.Support(low=0),
    tl.Support(high=1.5),
    tl.Support(low=-1, high=1),
    tl.Support(low=0, step=1),
    tl.Support(step=0.25),
    tl.Support(low=1, high=5, step=0.5),
    tl.Support(values=[3, 1, 2, 2, 10.5]),
]


# ---- stated ----------------------------------------------------------------------------


@pytest.mark.parametrize("support", SUPPORTS, ids=repr)
def test_the_representation_and_the_json_make_it_again(support):
    assert eval(repr(support), {"Support": tl.Support}) == support
    assert tl.Support(**support.to_json()) == support
    assert hash(tl.Support(**support.to_json())) == hash(support)


def test_values_are_sorted_and_distinct():
    assert tl.Support(values=np.array([3, 1, 3])).values == (1.0, 3.0)


@pytest.mark.parametrize(
    "given_, message",
    [
        ({}, "a Support needs low, high, step or values; expected one of them."),
        ({"low": 2, "high": 2}, "low is 2.0 and high is 2.0; expected low < high."),
        ({"step": 0}, "step is 0.0; expected a number above 0."),
        ({"step": -1.0}, "step is -1.0; expected a number above 0."),
        ({"low": np.nan}, "low holds nan; expected finite numbers."),
        ({"high": np.inf}, "high holds inf; expected finite numbers."),
        ({"high": "1"}, "high holds '1'; expected finite numbers."),
        ({"low": True}, "low holds True; expected finite numbers."),
        ({"low": 10**400}, f"low holds {10**400}; expected finite numbers."),
        ({"values": [1.0]}, "values holds 1 different numbers; expected 2 or more."),
        ({"values": [1, None]}, "values holds None; expected finite numbers."),
        ({"values": [[1, 2]]}, "values holds [1, 2]; expected finite numbers."),
        ({"values": "12"}, "values holds '1'; expected finite numbers."),
        ({"values": 3}, "values is 3; expected a sequence of numbers."),
        (
            {"values": [1, 2], "low": 0},
            "values is given with low, high or step; expected one or the other.",
        ),
    ],
)
def test_what_is_no_support_is_refused(given_, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tl.Support(**given_)


@pytest.mark.parametrize(
    "support, y, message",
    [
        (
            tl.Support(low=0, step=1),
            [0, 2, 2.5, 3, -1],
            (
                "y holds 2.5 in row 2, which the support Support(low=0.0, step=1.0) excludes "
                "(2 of 5 rows: 2, 4); expected a multiple of 1 from 0 and a number of 0 or more. "
                "Fix the rows, or state another support; support=None allows every number."
            ),
        ),
        (
            tl.Support(low=0, high=1),
            [0.5] + 7 * [2.0],
            (
                "y holds 2 in row 1, which the support Support(low=0.0, high=1.0) excludes (7 of "
                "8 rows: 1, 2, 3, 4, 5, ...); expected a number of 0 or more and a number of 1 or "
                "less. "
            ),
        ),
        (
            tl.Support(values=[1, 2, 5]),
            [1, 2, 3],
            (
                "y holds 3 in row 2, which the support Support(values=(1.0, 2.0, 5.0)) excludes "
                "(1 of 3 rows: 2); expected one of 1, 2, 5. "
            ),
        ),
    ],
)
def test_an_impossible_outcome_is_refused_by_its_row(support, y, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        support.check(np.array(y, dtype=float))
    F = tl.Normal(np.zeros(len(y)), 1.0)
    for R in (tl.Isotonic(support=support), tl.Smooth(support=support)):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            R.fit(y, F)


def test_a_non_integer_count_is_refused_by_its_row():
    with pytest.raises(ValueError, match=r"^y holds 1\.5 in row 1, .*support=None allows"):
        tl.Isotonic(support="counts").fit([0.0, 1.5, 2.0], tl.Point([1.0, 1.0, 1.0]))


@pytest.mark.parametrize("support", ["count", 3, True, [0, 1], {"low": 0}], ids=repr)
def test_a_parameter_that_is_no_support_is_refused(support):
    message = f'support is {support!r}; expected "auto", "counts", None for outcomes without atoms'
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        tl.Isotonic(support=support).fit([1.0, 2.0], tl.Point([0.0, 0.0]))


@given(
    low=st.floats(-1e3, 1e3).map(lambda x: round(x, 3)),
    step=st.sampled_from([0.1, 0.25, 1.0, 1 / 3, 1e-3, 7.0]),
    places=st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
)
def test_multiples_are_possible_in_spite_of_rounding(low, step, places):
    tl.Support(low=low, step=step).check(low + step * np.array(places, dtype=float))


# ---- atoms -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 1.0 / 3.0, 1e-305, 7e5])
def test_outcomes_on_a_lattice_are_atoms_in_spite_of_rounding(step):
    places = np.random.default_rng(0).poisson(3.0, size=300)
    learned = learn_support(places * step)
    for support in (learned, tl.Support(low=0, step=step)):
        atoms = support.atoms(places * step)
        # Two ways to write the same multiples, some of which have not been seen.
        for y in (
            np.arange(30) * step,
            np.arange(30) / (1.0 / step),
            3 * step + np.arange(9) * step,
        ):
            assert (atoms.upper(y) > atoms.lower(y)).all()
        between = (np.arange(30) + 0.25) * step
        np.testing.assert_array_equal(atoms.upper(between), atoms.lower(between))
    assert np.isin(np.arange(30) / 10, tl.Support(low=0, step=0.1).atoms(places / 10).values).all()


def test_open_ends_of_a_lattice_reach_beyond_the_outcomes():
    y = np.array([4.0, 6.0, 9.0])
    counts = tl.Support(low=0, step=1).atoms(y)
    np.testing.assert_array_equal(counts.values, np.arange(0.0, 25.0))  # 9 + 3 * (9 - 4)
    np.testing.assert_array_equal(counts.cuts, np.arange(0.0, 24.0) + 0.5)
    both = tl.Support(step=0.5).atoms(np.array([1.0, 1.5]))
    np.testing.assert_array_equal(both.values, np.arange(-4.0, 7.0, 0.5))  # ten steps each way
    down = tl.Support(high=0, step=2).atoms(np.array([-4.0, 0.0]))
    np.testing.assert_array_equal(down.values, np.arange(-24.0, 1.0, 2.0))
    closed = tl.Support(low=1, high=5, step=1).atoms(np.array([3.0, 3.0]))
    np.testing.assert_array_equal(closed.values, [1.0, 2.0, 3.0, 4.0, 5.0])
    uneven = tl.Support(low=0, high=1, step=0.3).atoms(np.array([0.3]))
    np.testing.assert_allclose(uneven.values, [0.0, 0.3, 0.6, 0.9])


def test_a_lattice_of_too_many_values_is_a_continuum_with_its_ends():
    many = tl.Support(low=0, step=1).atoms(np.array([0.0, 5000.0]))
    assert isinstance(many, Ends)
    assert (many.low, many.high) == (0.0, np.inf)
    assert tl.Support(step=1).atoms(np.array([0.0, 5000.0])) is None
    # Values beyond those seen are as many as there is room for.
    some = tl.Support(low=0, step=1).atoms(np.array([0.0, 400.0]))
    np.testing.assert_array_equal(some.values, np.arange(0.0, 1000.0))


# ---- learned ---------------------------------------------------------------------------

N = 500


def rng(seed):
    return np.random.default_rng(seed)


LEARNED = {
    "counts": (lambda r: r.poisson(1.0, N), {"low": 0.0, "step": 1.0}),
    "rare counts": (lambda r: r.poisson(0.1, 4 * N), {"low": 0.0, "step": 1.0}),
    "ten or more": (
        lambda r: np.minimum(r.poisson(8.0, N), 10),
        {"low": 0.0, "high": 10.0, "step": 1.0},
    ),
    "counts far from 0": (lambda r: r.poisson(20.0, N), {"low": 0.0, "step": 1.0}),
    "many counts": (lambda r: r.poisson(200.0, N), {"low": 0.0, "step": 1.0}),
    "counts with a long tail": (lambda r: r.geometric(0.3, N) - 1, {"low": 0.0, "step": 1.0}),
    "a coin": (lambda r: r.integers(0, 2, N), {"low": 0.0, "high": 1.0, "step": 1.0}),
    "ratings": (lambda r: r.integers(1, 6, N), {"low": 1.0, "high": 5.0, "step": 1.0}),
    "half marks": (lambda r: r.integers(2, 11, N) / 2, {"low": 1.0, "high": 5.0, "step": 0.5}),
    "no count between": (
        lambda r: r.choice([1.0, 2.0, 5.0, 10.0], N),
        {"values": (1.0, 2.0, 5.0, 10.0)},
    ),
    "irregular": (lambda r: r.choice([0.0, 0.3, 1.0], N), {"values": (0.0, 0.3, 1.0)}),
    "never positive": (lambda r: -r.poisson(1.0, N), {"high": 0.0, "step": 1.0}),
    "rain": (lambda r: np.maximum(r.normal(size=N), 0.0), {"low": 0.0}),
    "a little rain": (lambda r: np.maximum(r.normal(1.5, size=N), 0.0), {"low": 0.0}),
    "full": (lambda r: np.minimum(r.normal(size=N), 1.0), {"high": 1.0}),
    "a share": (lambda r: np.clip(r.normal(0.5, 0.5, N), 0.0, 1.0), {"low": 0.0, "high": 1.0}),
    "rounded rain": (
        lambda r: np.round(np.maximum(r.normal(0, 20.0, 5 * N), 0.0), 1),
        {"low": 0.0},
    ),
}


@pytest.mark.parametrize("name", LEARNED)
def test_atoms_are_found(name):
    make, expected = LEARNED[name]
    for seed in range(5):
        y = make(rng(seed)).astype(float)
        found = learn_support(y)
        assert found == tl.Support(**expected)
        found.check(y)
        assert learn_support(rng(seed).permutation(y)) == found


CONTINUOUS = {
    "normal": lambda r, n: r.normal(size=n),
    "heavy": lambda r, n: r.standard_t(2, size=n),
    "positive": lambda r, n: r.lognormal(size=n),
    "uniform": lambda r, n: r.uniform(size=n),
    "float32": lambda r, n: r.normal(size=n).astype(np.float32).astype(float),
    "two decimals": lambda r, n: np.round(r.normal(0, 1.0, size=n), 2),
    "heaped": lambda r, n: np.where(r.random(n) < 0.3, 10.0, 0.0) + r.gamma(2.0, size=n),
    "heaped inside": lambda r, n: np.where(r.random(n) < 0.3, 0.0, r.normal(size=n)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("n", [1, 5, 29, 60, 1000, 20_000])
def test_without_atoms_none_are_found(name, n):
    for seed in range(20 if n < 5000 else 2):
        assert learn_support(CONTINUOUS[name](rng(seed), n)) is None


@pytest.mark.parametrize("value", [0.0, -3.5])
def test_a_constant_has_no_atoms_to_learn(value):
    assert learn_support(np.full(100, value)) is None


def test_zeros_at_regular_places_are_found():
    """Half of the hours are dark: a look at every so manieth row would see one hour only."""
    y = np.tile(np.maximum(np.sin(np.arange(24) / 24 * 2 * np.pi), 0.0), 2000)
    y[y > 0] += rng(0).uniform(size=np.count_nonzero(y > 0))
    assert learn_support(y) == tl.Support(low=0.0)
    assert learn_support(np.roll(y, 7)) == tl.Support(low=0.0)


def test_rows_without_weight_do_not_count():
    r = rng(0)
    y = np.concatenate([r.normal(size=100), np.zeros(100), np.full(100, 0.5)])
    weight = np.repeat([1.0, 0.0, 0.0], 100)
    F = tl.Normal(np.zeros(300), 1.0)
    assert tl.Isotonic().fit(y, F, sample_weight=weight).atoms_ is None
    y[:100] = r.integers(1, 4, 100)
    np.testing.assert_array_equal(
        tl.Isotonic().fit(y, F, sample_weight=weight).atoms_, [1.0, 2.0, 3.0]
    )


def test_parameters_decide_what_is_learned():
    r = rng(1)
    y, F = r.poisson(1.0, N).astype(float), tl.Normal(np.ones(N), 1.0)
    atoms = {
        "auto": np.arange(0.0, y.max() + max(3 * y.max(), 10) + 1),
        "counts": np.arange(0.0, y.max() + max(3 * y.max(), 10) + 1),
        tl.Support(low=0, high=9, step=1): np.arange(0.0, 10.0),
        tl.Support(low=0): np.array([0.0]),
    }
    for support, expected in atoms.items():
        with warnings.catch_warnings():
            if support == tl.Support(low=0):  # the counts above 0 tie
                warnings.simplefilter("ignore", tl.CalibrationWarning)
            np.testing.assert_array_equal(tl.Isotonic(support=support).fit(y, F).atoms_, expected)
    with pytest.warns(tl.CalibrationWarning, match="more than half are tied"):
        assert tl.Isotonic(support=None).fit(y, F).atoms_ is None
