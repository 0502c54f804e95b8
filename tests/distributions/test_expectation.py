"""Expectations of functions of the outcome, and quantiles of small upper probabilities."""

import warnings

import numpy as np
import pytest

import trueline as tl
from tests.distributions.cases import BASES, FORMS

CASES = [(base, form) for base in BASES for form in FORMS]
HEAVY = ("student t, heavy", "as it is")
pytestmark = pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")


@pytest.mark.parametrize("base, form", CASES)
def test_expectations_agree_with_mean_variance_and_survival(base, form):
    dist = FORMS[form](BASES[base]())
    middle = dist.median() + 0.3 * dist._width()
    for i, at in enumerate(middle):
        jump = dist.expect(lambda y, at=at: y > at)
        np.testing.assert_allclose(jump[i], dist.sf(at)[i], atol=1e-5)
    if (base, form) != HEAVY:  # which has no variance, and in one row no mean
        np.testing.assert_allclose(dist.expect(lambda y: y), dist.mean(), rtol=1e-6, atol=1e-6)
        second = dist.var() + (dist.mean() - 40.0) ** 2
        np.testing.assert_allclose(dist.expect(lambda y: (y - 40.0) ** 2), second, rtol=1e-6)


def test_expectations_in_closed_form():
    dist = tl.Normal([0.0, 3.0], [1.0, 2.0])
    np.testing.assert_allclose(dist.expect(np.exp), np.exp([0.5, 5.0]), rtol=1e-6)
    np.testing.assert_allclose(tl.StudentT(0, 1, 3.0).expect(np.square), 3.0, rtol=1e-6)
    np.testing.assert_array_equal(tl.Samples([[1.0, 2.0, 3.0]]).expect(lambda y: y > 1), [2 / 3])
    np.testing.assert_array_equal(tl.Point([2.0, 3.0]).expect(np.square), [4.0, 9.0])


def test_expectations_of_counts_are_exact():
    y = np.random.default_rng(0).poisson(2.0, size=500).astype(float)
    dist = tl.Normal(np.full(500, 2.0), 1.4)
    G = tl.Isotonic().fit(y, dist).transform(dist[:2])
    np.testing.assert_allclose(G.expect(lambda y: y == 0), G.pmf(0.0), rtol=1e-12)
    np.testing.assert_allclose(G.expect(lambda y: y), G.mean(), rtol=1e-12)


def test_rows_do_not_depend_on_each_other():
    dist = FORMS["isotonic"](BASES["mixture"]())
    whole = dist.expect(lambda y: np.maximum(y - 0.3, 0.0))
    for i in range(3):
        np.testing.assert_allclose(
            dist[i].expect(lambda y: np.maximum(y - 0.3, 0.0)), whole[i : i + 1], rtol=1e-12
        )


@pytest.mark.parametrize(
    "func, error, message",
    [
        (
            3.0,
            TypeError,
            "func is a float; expected a function of outcomes, such as lambda y: y ** 2.",
        ),
        (
            np.sum,
            ValueError,
            (
                "func returned shape () for values of shape (1, 2); expected one number per value. "
                "Write it for arrays, with numpy.where in place of if."
            ),
        ),
        (
            lambda y: 1.0 if y > 1.0 else 0.0,
            ValueError,
            (
                "func failed on an array of shape (1, 2) (The truth value of an array with more "
                "than one element is ambiguous. Use a.any() or a.all()); expected a function of "
                "arrays. Write it with numpy.where in place of if, and numpy.exp in place of "
                "math.exp; or pass numpy.vectorize(func), which is slower."
            ),
        ),
        (
            lambda y: y.astype(str),
            TypeError,
            "func returned values of dtype <U32; expected one real number per value.",
        ),
    ],
)
def test_bad_functions(func, error, message):
    with pytest.raises(error) as caught:
        tl.Samples([[1.0, 2.0]]).expect(func)
    assert str(caught.value) == message


@pytest.mark.parametrize("base", [base for base in BASES if base != "point"])
@pytest.mark.parametrize("form", ["as it is", "isotonic", "smooth", "beta", "scaling"])
def test_small_upper_probabilities(base, form):
    dist = FORMS[form](BASES[base]())
    q = np.array([1e-6, 1e-20, 1e-80])
    y = dist.isf(q)
    assert y.shape == (3, 3)
    assert np.isfinite(y).all()
    assert (dist.sf(y) <= q * (1.0 + 1e-6)).all()
    below = np.nextafter(y, -np.inf) - 1e-9 * (1.0 + np.abs(y))
    assert (dist.sf(below) >= q * (1.0 - 1e-6)).all()
    np.testing.assert_array_equal(dist.isf(1e-20), y[:, 1])


def test_unsupported_probabilities_warn():
    G = FORMS["isotonic"](BASES["normal"]())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        G.isf(0.5)
        G.isf(0.001)
    expected = (
        "level 0.001 lies outside those that the calibration rows support: the quantile is read "
        "off the extrapolated tail. Fit on at least 999 rows."
    )
    assert [str(w.message) for w in caught] == [expected]
