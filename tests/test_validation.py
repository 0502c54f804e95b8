"""What is taken as numbers, and what each refusal says, word for word."""

import array
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from trueline import _validation as v


@pytest.mark.parametrize(
    "x",
    [
        1.5,
        3,
        [1, 2.5],
        (1.0, 2.0),
        np.float32([1.1, 2.2]),
        np.float16([0.1]),
        np.arange(3, dtype=np.uint8),
        np.array([2**53, -(2**53)]),
        array.array("d", [1.0, 2.0]),
        pd.Series([1.0, 2.0], index=[7, 3]),
        pd.Series([1, 2], dtype="Int64"),
        np.array([1, 2.5, np.float32(3.0), np.int64(4)], dtype=object),
        [Decimal("0.1"), Fraction(1, 3)],
        np.arange(6.0).reshape(2, 3).T,
        np.arange(10.0)[::-2],
        np.array([1.0, 2.0], dtype=">f8"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_numbers_become_float64_of_the_same_value(x):
    a = v.as_float(x, "y")
    assert a.dtype == np.float64
    np.testing.assert_array_equal(a, np.asarray(x, dtype=np.float64))


def test_float64_is_not_copied():
    a = np.zeros(3)
    assert v.as_float(a, "y") is a


TO_FLOATS = "expected real numbers. Convert it to floats first."
INEXACT = (
    "y holds integers beyond 2**53, which float64 cannot hold exactly; expected smaller ones. "
    "Subtract an offset or change the unit first."
)


@pytest.mark.parametrize(
    "x, error, message",
    [
        ("abc", TypeError, f"y holds strings; {TO_FLOATS}"),
        ([b"a"], TypeError, f"y holds bytes; {TO_FLOATS}"),
        (True, TypeError, f"y holds booleans; {TO_FLOATS}"),
        ([1.0, True + 1j], TypeError, f"y holds complex numbers; {TO_FLOATS}"),
        (np.array(["2024"], "datetime64[Y]"), TypeError, f"y holds datetimes; {TO_FLOATS}"),
        (np.array([5], "timedelta64[s]"), TypeError, f"y holds timedeltas; {TO_FLOATS}"),
        (pd.Series(pd.to_datetime(["2024-01-01"])), TypeError, f"y holds datetimes; {TO_FLOATS}"),
        ([1.0, None], TypeError, f"y holds an object of type NoneType; {TO_FLOATS}"),
        (np.array([1.0, "2"], object), TypeError, f"y holds an object of type str; {TO_FLOATS}"),
        (np.array([True], object), TypeError, f"y holds an object of type bool; {TO_FLOATS}"),
        (np.array([1j], object), TypeError, f"y holds an object of type complex; {TO_FLOATS}"),
        (
            np.array([np.timedelta64(3, "s"), 1.0], object),
            TypeError,
            f"y holds an object of type timedelta64; {TO_FLOATS}",
        ),
        (
            np.array([np.datetime64("2024-01-01"), 1.0], object),
            TypeError,
            f"y holds an object of type datetime64; {TO_FLOATS}",
        ),
        ({"a": 1}, TypeError, f"y holds an object of type dict; {TO_FLOATS}"),
        (
            np.zeros(1, dtype=[("a", float)]),
            TypeError,
            f"y holds values of dtype [('a', '<f8')]; {TO_FLOATS}",
        ),
        (2**53 + 1, ValueError, INEXACT),
        (np.array([-(2**60)]), ValueError, INEXACT),
        (np.array([2**64 - 1], dtype=np.uint64), ValueError, INEXACT),
        ([10**40], ValueError, INEXACT),
        (np.array([1.5, np.int64(2**60)], object), ValueError, INEXACT),
        (np.array([np.iinfo(np.int64).min, 0.5], object), ValueError, INEXACT),
        (
            [[1.0], [1.0, 2.0]],
            ValueError,
            "y is ragged; expected rows of equal length. Cut or fill the shorter ones.",
        ),
        (
            np.ma.masked_invalid([1.0, np.nan]),
            TypeError,
            (
                "y is a masked array; expected a plain array, because the values under the mask "
                "would be used. Drop the masked rows first: y.compressed()."
            ),
        ),
        (
            sparse.coo_matrix([[1.0, 0.0]]),
            TypeError,
            "y is a sparse array; expected a dense one. Convert it with y.toarray().",
        ),
    ],
    ids=lambda x: str(x)[:40],
)
def test_what_is_not_a_number_is_refused(x, error, message):
    with pytest.raises(error) as caught:
        v.as_float(x, "y")
    assert str(caught.value) == message


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long double is float64 here")
def test_more_digits_than_float64_are_refused():
    name = np.dtype(np.longdouble).name
    with pytest.raises(TypeError) as caught:
        v.as_float(np.ones(2, dtype=np.longdouble), "y")
    assert str(caught.value) == (
        f"y has dtype {name}; expected float64 or narrower. "
        f"Convert it with y.astype(float) if you can lose the extra digits."
    )


def test_the_first_of_several_faults_is_named():
    with pytest.raises(ValueError, match="y") as caught:
        v.check_finite(np.array([[0.0, np.inf], [np.nan, 1.0]]), "y")
    assert str(caught.value) == (
        "y[0, 1] is inf; expected finite numbers (2 of 4 are not). Drop or impute those rows first."
    )
    with pytest.raises(ValueError, match="y") as caught:
        v.check_no_nan(np.array(np.nan), "y")
    assert str(caught.value) == (
        "y is nan; expected real numbers (1 of 1 is not). Drop or impute those rows first."
    )


def test_numbers_whose_sum_overflows_are_finite():
    huge = np.array([1.7e308, 1.7e308, -1.7e308])
    assert v.all_finite(huge)
    v.check_finite(huge, "y")
    v.check_no_nan(np.array([np.inf, -np.inf]), "y")


def test_levels():
    for q in (0.5, [0.1, 0.9], np.float32(0.25)):
        np.testing.assert_array_equal(v.levels(q, "q"), np.asarray(q, dtype=float))
    np.testing.assert_array_equal(v.levels([0, 1], "q", closed=True), [0.0, 1.0])
    with pytest.raises(ValueError, match="q") as caught:
        v.levels([0.1, -0.2], "q", closed=True)
    assert str(caught.value) == "q holds -0.2; expected levels in [0, 1]."
    with pytest.raises(ValueError, match="coverage") as caught:
        v.level([0.5, 0.9], "coverage")
    assert str(caught.value) == "coverage has shape (2,); expected one number in (0, 1)."


def test_sample_weights():
    assert v.weights(None, 3) is None
    np.testing.assert_array_equal(v.weights([0, 1, 2], 3), [0.0, 1.0, 2.0])
    for w, message in (
        (
            [1.0, -1.0],
            (
                "sample_weight[1] is -1.0; expected weights of 0 or more (1 of 2 is not). "
                "Drop rows that must not count."
            ),
        ),
        ([0.0, 0.0], "sample_weight is zero in every row; expected at least one above 0."),
        ([1.0], "sample_weight has 1 rows but y has 2; expected the same number."),
    ):
        with pytest.raises(ValueError, match="sample_weight") as caught:
            v.weights(w, 2)
        assert str(caught.value) == message


def test_random_states():
    rng = np.random.default_rng(3)
    assert v.generator(rng) is rng
    assert v.generator(3).random() == v.generator(np.int64(3)).random()
    assert isinstance(v.generator(None), np.random.Generator)
    with pytest.raises(TypeError) as caught:
        v.generator(1.5)
    assert str(caught.value) == (
        "random_state is 1.5; expected None, an integer of 0 or more, or a numpy.random.Generator."
    )
