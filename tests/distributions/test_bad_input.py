"""Bad input to distributions: what each message says, word for word."""

import numpy as np
import pytest
from scipy import sparse

import trueline as tl

TWO = tl.Normal([0.0, 1.0], 1.0)

CASES = [
    (
        lambda: tl.Normal([0.0, np.nan], 1.0),
        ValueError,
        (
            "loc[1] is nan; expected finite numbers (1 of 2 is not). Drop or impute those "
            "rows first."
        ),
    ),
    (
        lambda: tl.Normal([0.0, np.inf], 1.0),
        ValueError,
        (
            "loc[1] is inf; expected finite numbers (1 of 2 is not). Drop or impute those "
            "rows first."
        ),
    ),
    (
        lambda: tl.Normal([0.0, 1.0], [1.0, 0.0]),
        ValueError,
        (
            "scale[1] is 0.0; expected numbers above 0 (1 of 2 is not). A forecast without "
            "spread is a Point; otherwise add the noise it leaves out."
        ),
    ),
    (
        lambda: tl.Normal(0.0, -1.0),
        ValueError,
        (
            "scale[0] is -1.0; expected numbers above 0 (1 of 1 is not). A forecast without "
            "spread is a Point; otherwise add the noise it leaves out."
        ),
    ),
    (
        lambda: tl.Normal(0.0, np.nan),
        ValueError,
        (
            "scale[0] is nan; expected finite numbers (1 of 1 is not). Drop or impute those "
            "rows first."
        ),
    ),
    (
        lambda: tl.Normal([], 1.0),
        ValueError,
        "loc is empty; expected at least one row.",
    ),
    (
        lambda: tl.Normal([1.0, 2.0], [1.0, 2.0, 3.0]),
        ValueError,
        "rows differ: loc 2, scale 3; expected the same number, or one for all.",
    ),
    (
        lambda: tl.Normal(np.zeros((2, 2, 2)), 1.0),
        ValueError,
        (
            "loc has shape (2, 2, 2); expected one number per row, shape (n,). Use loc.ravel() "
            "if that is what it holds."
        ),
    ),
    (
        lambda: tl.Normal(["a", "b"], 1.0),
        TypeError,
        "loc holds strings; expected real numbers. Convert it to floats first.",
    ),
    (
        lambda: tl.Normal(np.array(["2020-01-01"], dtype="datetime64[D]"), 1.0),
        TypeError,
        "loc holds datetimes; expected real numbers. Convert it to floats first.",
    ),
    (
        lambda: tl.Normal(np.ma.masked_array([1.0, 2.0], [False, True]), 1.0),
        TypeError,
        (
            "loc is a masked array; expected a plain array, because the values under the mask"
            " would be used. Drop the masked rows first: loc.compressed()."
        ),
    ),
    (
        lambda: tl.Normal(sparse.csr_array(np.eye(2)), 1.0),
        TypeError,
        "loc is a sparse array; expected a dense one. Convert it with loc.toarray().",
    ),
    (
        lambda: tl.Normal([1j], 1.0),
        TypeError,
        "loc holds complex numbers; expected real numbers. Convert it to floats first.",
    ),
    (
        lambda: tl.Normal([True], 1.0),
        TypeError,
        "loc holds booleans; expected real numbers. Convert it to floats first.",
    ),
    (
        lambda: tl.Normal([2**53 + 1], 1.0),
        ValueError,
        (
            "loc holds integers beyond 2**53, which float64 cannot hold exactly; expected "
            "smaller ones. Subtract an offset or change the unit first."
        ),
    ),
    (
        lambda: tl.Normal([10**30], 1.0),
        ValueError,
        (
            "loc holds integers beyond 2**53, which float64 cannot hold exactly; expected "
            "smaller ones. Subtract an offset or change the unit first."
        ),
    ),
    (
        lambda: tl.Normal([None], 1.0),
        TypeError,
        (
            "loc holds an object of type NoneType; expected real numbers. Convert it to "
            "floats first."
        ),
    ),
    (
        lambda: tl.Normal([[1.0], [1.0, 2.0]], 1.0),
        ValueError,
        "loc is ragged; expected rows of equal length. Cut or fill the shorter ones.",
    ),
    (
        lambda: tl.StudentT(0.0, 1.0, 0.0),
        ValueError,
        (
            "df[0] is 0.0; expected numbers above 0 (1 of 1 is not). Use Normal for many "
            "degrees of freedom; few give heavy tails."
        ),
    ),
    (
        lambda: tl.Point(np.zeros((2, 1))),
        ValueError,
        (
            "loc has shape (2, 1); expected one number per row, shape (n,). Use loc.ravel() if "
            "that is what it holds."
        ),
    ),
    (
        lambda: tl.Samples([1.0, 2.0]),
        ValueError,
        (
            "draws has shape (2,); expected (n, k), one row per forecast. A single forecast is "
            "draws[None, :]."
        ),
    ),
    (
        lambda: tl.Samples(np.zeros((0, 3))),
        ValueError,
        "draws is empty, with shape (0, 3); expected at least one row.",
    ),
    (
        lambda: tl.Samples([[1.0, np.nan]]),
        ValueError,
        (
            "draws[0, 1] is nan; expected finite numbers (1 of 2 is not). Drop or impute "
            "those rows first."
        ),
    ),
    (
        lambda: tl.Samples([[1.0]]).score(1.0),
        ValueError,
        (
            "draws has 1 column; expected at least 2, because one draw says nothing about the "
            "spread. Use Point for a single value."
        ),
    ),
    (
        lambda: tl.Samples([[1.0]]).crps_fair(1.0),
        ValueError,
        "draws has 1 column; the fair CRPS needs at least 2 draws per row.",
    ),
    (
        lambda: tl.Quantiles([0.5, 0.1], [[1.0, 2.0]]),
        ValueError,
        (
            "levels are not sorted: 0.5 comes before 0.1; expected strictly increasing "
            "levels. Sort them, with their values, and drop repeats."
        ),
    ),
    (
        lambda: tl.Quantiles([0.1, 0.1], [[1.0, 2.0]]),
        ValueError,
        (
            "levels repeats 0.1; expected strictly increasing levels. Sort them, with their "
            "values, and drop repeats."
        ),
    ),
    (
        lambda: tl.Quantiles([0.0, 0.5], [[1.0, 2.0]]),
        ValueError,
        "levels holds 0.0; expected levels in (0, 1).",
    ),
    (
        lambda: tl.Quantiles([10, 90], [[1.0, 2.0]]),
        ValueError,
        "levels holds 10.0; expected levels in (0, 1). Write 10% as 0.1.",
    ),
    (
        lambda: tl.Quantiles([0.5], [[1.0]]),
        ValueError,
        (
            "levels holds 1 level; expected at least 2, because one quantile says nothing about "
            "the spread. Use Point for a single value."
        ),
    ),
    (
        lambda: tl.Quantiles([0.1, 0.9], [[1.0, 2.0, 3.0]]),
        ValueError,
        "values has 3 columns but levels has 2; expected one column per level.",
    ),
    (
        lambda: tl.Mixture([]),
        ValueError,
        "components is empty; expected at least one distribution.",
    ),
    (
        lambda: tl.Mixture(TWO),
        TypeError,
        (
            "components must be a sequence of distributions, such as [F1, F2]; convert others"
            " with as_distribution."
        ),
    ),
    (
        lambda: tl.Mixture([1.0]),
        TypeError,
        (
            "components must be a sequence of distributions, such as [F1, F2]; convert others"
            " with as_distribution."
        ),
    ),
    (
        lambda: tl.Mixture([TWO, tl.Normal(0.0, 1.0)]),
        ValueError,
        "components have [2, 1] rows; expected the same number in each.",
    ),
    (
        lambda: tl.Mixture([TWO, TWO], weights=[1.0, -1.0]),
        ValueError,
        (
            "weights holds a negative number or a row of zeros; expected weights of 0 or more"
            " with a positive sum."
        ),
    ),
    (
        lambda: tl.Mixture([TWO, TWO], weights=[1.0]),
        ValueError,
        "weights has shape (1,); expected (2,) or (2, 2), one per component.",
    ),
    (
        lambda: tl.Mixture([tl.Point([0.0]), tl.Point([1.0])]).score(0.5),
        TypeError,
        (
            "a Point forecast has no spread, so a mixture that contains one has no score. Pass "
            "the members as Samples, one draw per member, or give each a spread."
        ),
    ),
    (
        lambda: TWO.cdf([1.0, 2.0, 3.0]),
        ValueError,
        (
            "y has 3 values but the forecast has 2 rows; expected one value per row. For "
            "several values per row pass shape (2, k) or (1, k): y[None, :]."
        ),
    ),
    (
        lambda: TWO.cdf(np.zeros((3, 2))),
        ValueError,
        (
            "y has shape (3, 2) but the forecast has 2 rows; expected a scalar, (2,), (2, k) "
            "or (1, k)."
        ),
    ),
    (
        lambda: TWO.cdf([0.0, np.nan]),
        ValueError,
        ("y[1] is nan; expected real numbers (1 of 2 is not). Drop or impute those rows first."),
    ),
    (
        lambda: TWO.cdf([]),
        ValueError,
        (
            "y has 0 values but the forecast has 2 rows; expected one value per row. For "
            "several values per row pass shape (2, k) or (1, k): y[None, :]."
        ),
    ),
    (
        lambda: TWO.cdf("x"),
        TypeError,
        "y holds strings; expected real numbers. Convert it to floats first.",
    ),
    (
        lambda: TWO.ppf(0.0),
        ValueError,
        "q holds 0.0; expected levels in (0, 1).",
    ),
    (
        lambda: TWO.ppf(1.0),
        ValueError,
        "q holds 1.0; expected levels in (0, 1).",
    ),
    (
        lambda: TWO.ppf(90),
        ValueError,
        "q holds 90.0; expected levels in (0, 1). Write 90% as 0.9.",
    ),
    (
        lambda: TWO.ppf([[0.5]]),
        ValueError,
        ("q has shape (1, 1); expected a scalar or a 1-D array of levels, the same for every row."),
    ),
    (
        lambda: TWO.ppf([]),
        ValueError,
        "q is empty; expected at least one level.",
    ),
    (
        lambda: TWO.ppf(np.nan),
        ValueError,
        "q holds nan; expected levels in (0, 1).",
    ),
    (
        lambda: TWO.interval(90),
        ValueError,
        "coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9.",
    ),
    (
        lambda: TWO.interval(1.0),
        ValueError,
        "coverage holds 1.0; expected levels in (0, 1).",
    ),
    (
        lambda: TWO.sample(0),
        ValueError,
        "size is 0; expected an integer of 1 or more.",
    ),
    (
        lambda: TWO.sample(2.5),
        ValueError,
        "size is 2.5; expected an integer of 1 or more.",
    ),
    (
        lambda: TWO.sample(1, random_state="seed"),
        TypeError,
        (
            "random_state is 'seed'; expected None, an integer of 0 or more, or a "
            "numpy.random.Generator."
        ),
    ),
    (
        lambda: TWO.sample(1, random_state=-1),
        TypeError,
        (
            "random_state is -1; expected None, an integer of 0 or more, or a "
            "numpy.random.Generator."
        ),
    ),
    (
        lambda: TWO[[]],
        IndexError,
        (
            "the selection from a Normal(2 rows) has shape (0,); expected at least one row, "
            "in one dimension."
        ),
    ),
]


@pytest.mark.parametrize(
    "make, error, message", CASES, ids=[f"{i}-{m[:30]}" for i, (_, _, m) in enumerate(CASES)]
)
def test_message(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert type(caught.value) is error
    assert str(caught.value) == message


@pytest.mark.parametrize("rows", [5, "a", [True]])
def test_rows_that_are_not_there(rows):
    with pytest.raises(IndexError, match=r"^rows of a Normal\(2 rows\) cannot be selected: "):
        TWO[rows]


def test_crossing_quantiles_are_sorted_with_a_warning():
    with pytest.warns(tl.CalibrationWarning) as caught:
        F = tl.Quantiles([0.1, 0.9], [[2.0, 1.0], [1.0, 2.0]])
    assert str(caught[0].message) == "quantiles cross in 1 of 2 rows; those rows are sorted."
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(F.ppf([0.1, 0.9]), [[1.0, 2.0], [1.0, 2.0]])
