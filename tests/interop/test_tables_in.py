"""Columns with names, and kinds: what they say, and what they cannot."""

import numpy as np
import pytest

import trueline as tl
from trueline.interop.column_names import column_levels


@pytest.fixture(name="pd", scope="module")
def _pandas():
    return pytest.importorskip("pandas")


def message(obj, error, kind=None):
    with pytest.raises(error) as caught:
        tl.as_distribution(obj, kind)
    return str(caught.value)


def tables(columns):
    """The same columns as a frame of every library that there is."""
    libraries = {
        "pandas": lambda m: m.DataFrame(columns),
        "polars": lambda m: m.DataFrame({str(k): v for k, v in columns.items()}),
        "pyarrow": lambda m: m.table({str(k): v for k, v in columns.items()}),
    }
    for name, make in libraries.items():
        yield make(pytest.importorskip(name))


# ---- names of quantiles --------------------------------------------------------------


@pytest.mark.parametrize(
    "names, levels",
    [
        ([0.1, 0.5], [0.1, 0.5]),
        (["0.1", ".5"], [0.1, 0.5]),
        (["q0.1", "q_0.5", "Q-0.9"], [0.1, 0.5, 0.9]),
        (["quantile_0.1", "quantile 0.95"], [0.1, 0.95]),
        (["sales_q0.10", "sales_q0.90"], [0.1, 0.9]),
        (["5%", "97.5 %"], [0.05, 0.975]),
        (["p5", "p95"], [0.05, 0.95]),
        (["p0.1", "p0.9"], [0.1, 0.9]),
        (["pct_5", "percentile_95"], [0.05, 0.95]),
        (["q5", "q50", "q95"], [0.05, 0.5, 0.95]),
        (["q2.5", "q97.5"], [0.025, 0.975]),
        ([f"q{i}" for i in range(1, 100)], np.arange(1, 100) / 100),
        (["y", "day", "quality", "q", "p", "sample_0", True, ("y", 0.1)], []),
    ],
)
def test_levels_in_names(names, levels):
    found = column_levels(names)
    np.testing.assert_allclose(list(found.values()), levels, rtol=1e-12)


@pytest.mark.parametrize("names", [["q1", "q2", "q3"], ["q0", "q1"], ["q1"], ["q100", "q50"]])
def test_names_that_may_be_ranks_are_refused(names):
    with pytest.raises(ValueError, match="look like quantiles in percent, or like ranks"):
        column_levels(names)


def test_whole_numbers_alone_are_no_quantiles_unless_that_is_said():
    assert column_levels([10, 50, 90]) == {}
    assert column_levels([10, 50, 90], sure=True) == {10: 0.1, 50: 0.5, 90: 0.9}


def test_quantiles_in_frames_come_in_the_order_of_their_levels():
    columns = {"q0.9": [4.0, 6.0], "y": [0.0, 0.0], "q0.1": [1.0, 0.0], "mean": [2.0, 3.0]}
    for table in tables(columns):
        F = tl.as_distribution(table)
        assert isinstance(F, tl.Quantiles)
        np.testing.assert_array_equal(F.levels, [0.1, 0.9])
        np.testing.assert_array_equal(F.values, [[1.0, 4.0], [0.0, 6.0]])


def test_numbers_as_names(pd):
    F = tl.as_distribution(pd.DataFrame({0.9: [4.0], 0.1: [1.0]}, index=[17]))
    np.testing.assert_array_equal(F.values, [[1.0, 4.0]])


def test_intervals_are_quantiles():
    for table in tables({"upper_0.9": [3.0], "lower_0.9": [1.0]}):
        F = tl.as_distribution(table)
        np.testing.assert_allclose(F.levels, [0.05, 0.95])
        np.testing.assert_array_equal(F.values, [[1.0, 3.0]])
        np.testing.assert_array_equal(tl.as_distribution(table, kind="quantiles").values, F.values)


def test_names_of_two_levels_are_those_of_sktime(pd):
    columns = pd.MultiIndex.from_tuples([("y", 0.9), ("y", 0.1)])
    F = tl.as_distribution(pd.DataFrame([[4.0, 1.0]], columns=columns))
    np.testing.assert_array_equal(F.values, [[1.0, 4.0]])
    columns = pd.MultiIndex.from_tuples([("y", 0.8, "lower"), ("y", 0.8, "upper")])
    F = tl.as_distribution(pd.DataFrame([[1.0, 4.0]], columns=columns))
    np.testing.assert_allclose(F.levels, [0.1, 0.9])
    two = pd.MultiIndex.from_tuples([("a", 0.1), ("b", 0.1)])
    assert message(pd.DataFrame([[1.0, 4.0]], columns=two), TypeError) == (
        "obj is a DataFrame of several variables, ['a', 'b']; expected one. Choose: obj[['a']]."
    )


# ---- means and spreads ---------------------------------------------------------------


@pytest.mark.parametrize("mean", ["mean", "loc", "mu", "Mean", "prediction"])
@pytest.mark.parametrize("spread", ["std", "scale", "sigma", " SD ", "var", "Variance"])
def test_means_and_spreads_are_taken_by_name(mean, spread):
    F = tl.as_distribution({mean: [1.0, 2.0], spread: [4.0, 9.0]})
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, [1.0, 2.0])
    is_variance = spread.lower().startswith("var")
    np.testing.assert_array_equal(F.scale, [2.0, 3.0] if is_variance else [4.0, 9.0])


def test_means_and_spreads_in_frames():
    for table in tables({"day": [1, 2], "mean": [1.0, 2.0], "var": [4.0, 9.0]}):
        np.testing.assert_array_equal(tl.as_distribution(table).scale, [2.0, 3.0])
        np.testing.assert_array_equal(tl.as_distribution(table, "mean_var").scale, [2.0, 3.0])


def test_degrees_of_freedom_make_a_student_t():
    F = tl.as_distribution({"loc": [1.0], "scale": [2.0], "df": [4.0]})
    assert isinstance(F, tl.StudentT)
    np.testing.assert_array_equal(F.df, [4.0])


def test_a_mean_alone_is_a_point_forecast():
    for table in tables({"mean": [1.0, 2.0]}):
        assert isinstance(tl.as_distribution(table), tl.Point)
    for table in tables({"mean": [1.0, 2.0], "x": [0.0, 0.0]}):
        np.testing.assert_array_equal(tl.as_distribution(table, kind="point").loc, [1.0, 2.0])


# ---- draws, pairs, points by kind ----------------------------------------------------


def test_draws_in_frames():
    for table in tables({"sample_1": [1.0, 2.0], "y": [9.0, 9.0], "sample_0": [0.0, 5.0]}):
        for F in (tl.as_distribution(table), tl.as_distribution(table, kind="samples")):
            assert isinstance(F, tl.Samples)
            np.testing.assert_array_equal(F.draws, [[0.0, 1.0], [2.0, 5.0]])
    for table in tables({0: [1.0], 1: [2.0], 2: [0.0]}):
        np.testing.assert_array_equal(tl.as_distribution(table, "samples").draws, [[0.0, 1.0, 2.0]])


def test_kinds_of_arrays():
    rows = np.array([[1.0, 4.0], [2.0, 9.0]])
    np.testing.assert_array_equal(tl.as_distribution(rows, "mean_var").scale, [2.0, 3.0])
    np.testing.assert_array_equal(tl.as_distribution(rows, "mean_std").scale, [4.0, 9.0])
    np.testing.assert_array_equal(tl.as_distribution(rows.tolist(), "samples").draws, rows)
    np.testing.assert_array_equal(tl.as_distribution(rows[:, :1], "point").loc, [1.0, 2.0])
    pair = tl.as_distribution((rows[:, :1], rows[:, 1:]), "mean_var")
    np.testing.assert_array_equal(pair.scale, [2.0, 3.0])


def test_kinds_of_tensors():
    torch = pytest.importorskip("torch")
    rows = torch.tensor([[1.0, 4.0], [2.0, 9.0]], dtype=torch.bfloat16, requires_grad=True)
    np.testing.assert_array_equal(tl.as_distribution(rows, "mean_var").scale, [2.0, 3.0])
    np.testing.assert_array_equal(tl.as_distribution(rows, "samples").draws, [[1, 4], [2, 9]])


def test_two_columns_with_other_names_are_a_pair_if_that_is_said(pd):
    table = pd.DataFrame({"RMSE:0": [1.0], "RMSE:1": [4.0]})
    assert tl.as_distribution(table, kind="mean_var").scale == [2.0]


# ---- levels and values ---------------------------------------------------------------


def test_levels_and_values():
    F = tl.as_distribution({"levels": [0.9, 0.1, 0.5], "values": [[3.0, 1.0, 2.0]] * 2})
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(F.values, [[1.0, 2.0, 3.0]] * 2)
    one = tl.as_distribution({"levels": [0.1, 0.9], "values": [1.0, 2.0]}, kind="quantiles")
    np.testing.assert_array_equal(one.values, [[1.0, 2.0]])


def test_a_square_table_of_quantiles_is_not_taken_for_its_transpose():
    values = np.array([[3.0, 4.0, 5.0], [1.0, 2.0, 6.0], [2.0, 5.0, 5.5]])
    F = tl.as_distribution({"levels": [0.1, 0.5, 0.9], "values": values})
    np.testing.assert_array_equal(F.values, values)
    assert message({"levels": [0.1, 0.5, 0.9], "values": values.T}, ValueError) == (
        "values has shape (3, 3) with 3 levels; expected (n, 3), one row per forecast, in which "
        "values rise with the levels. It looks transposed: pass values.T."
    )


# ---- what is refused -----------------------------------------------------------------

TABLE = (
    "expected levels as names, such as 0.1, q0.1 or 10%, or mean and std (or var), or sample_0, "
    'sample_1, ..., because a table may hold draws or quantiles. Say kind="samples" for draws, or '
    'pass {"levels": levels, "values": values}.'
)


def refused(obj, kind, error, expected):
    return pytest.param(obj, kind, error, expected, id=expected[:40])


@pytest.mark.parametrize(
    "obj, kind, error, expected",
    [
        refused(
            {"x": [1.0], "z": [2.0]},
            None,
            TypeError,
            f"obj is a dict with columns ['x', 'z']; {TABLE}",
        ),
        refused(
            {"q0.1": [1.0], "10%": [1.0], "q0.9": [2.0]},
            None,
            ValueError,
            "obj has two columns for the level 0.1: 'q0.1' and '10%'; expected one. Rename or drop "
            "the other.",
        ),
        refused(
            {"mean": [0.0], "std": [1.0], "q0.1": [0.0], "q0.9": [1.0]},
            None,
            TypeError,
            "obj is a dict with a mean and a standard deviation and quantiles (columns ['mean', "
            "'std', 'q0.1', 'q0.9']); expected one kind of forecast. Drop the columns of the "
            "other, or say kind=....",
        ),
        refused(
            {"mean": [0.0], "std": [1.0], "skew": [1.0]},
            None,
            TypeError,
            "obj is a dict whose key 'skew' is not known beside ['mean', 'std']; expected no "
            "other keys. Drop it, or build the distribution yourself.",
        ),
        refused(
            {"mean": [0.0], "std": [1.0], "var": [1.0]},
            None,
            TypeError,
            "obj is a dict with columns ['mean', 'std', 'var'], of which ['std', 'var'] may hold "
            "the spread; expected one. Rename to mean and std (or var), and drop others.",
        ),
        refused(
            {"forecast": [0.0], "std": [1.0]},
            None,
            TypeError,
            "obj is a dict with columns ['forecast', 'std'], of which none may hold the mean; "
            "expected one. Rename to mean and std (or var), and drop others.",
        ),
        refused(
            {"mean": [0.0], "std": [1.0], "df": [4.0]},
            None,
            TypeError,
            "obj is a dict with columns ['mean', 'std', 'df']; 'df' makes it a Student t, whose "
            "scale is not its 'std'. Build it: StudentT(loc, scale, df).",
        ),
        refused(
            {"lower_0.9": [0.0], "upper_0.8": [1.0]},
            None,
            TypeError,
            "obj has a column lower_0.9 but no upper_0.9; expected both ends of an interval.",
        ),
        refused(
            {"y": [0.0], "a1": [1.0]},
            "samples",
            TypeError,
            "obj is a dict with columns ['y', 'a1']; expected draws in columns that are numbered, "
            "such as 0, 1, ... or sample_0, sample_1, ..., for kind='samples'. Drop the others, "
            "such as 'y', or pass Samples(obj.to_numpy()).",
        ),
        refused(
            {"a": [0.0], "b": [1.0]},
            "point",
            TypeError,
            "obj is a dict with columns ['a', 'b']; expected one column for kind='point', or one "
            "named mean. Choose: obj['...'].",
        ),
        refused(
            {"a": [0.0], "b": [1.0]},
            "quantiles",
            TypeError,
            "kind is 'quantiles', but obj is a dict with columns ['a', 'b']; expected levels as "
            "names, such as q0.1 and q0.9. Rename the columns.",
        ),
        refused(
            {"levels": [0.1, 0.9], "values": [1.0, 2.0]},
            "samples",
            TypeError,
            "kind is 'samples', but obj is a dict of levels and values. Leave kind out.",
        ),
        refused(
            np.ones((3, 4)),
            "quantiles",
            TypeError,
            "obj has shape (3, 4) and no names, so its levels are not known; expected "
            '{"levels": levels, "values": obj}, or a frame whose columns are levels.',
        ),
        refused(
            np.ones((3, 4)),
            "mean_std",
            TypeError,
            "obj has shape (3, 4); expected (n, 2) for kind='mean_std', the mean and the standard "
            "deviation in each row, or a tuple of both.",
        ),
        refused(
            [1.0],
            "mean",
            ValueError,
            "kind is 'mean'; expected one of samples, quantiles, mean_std, mean_var, point, or "
            "None.",
        ),
        refused(
            tl.Normal(0, 1),
            "samples",
            TypeError,
            "kind is 'samples', but obj is a trueline.Normal, a distribution already. Leave kind "
            "out: it is for plain numbers, which do not say what they are.",
        ),
        refused(
            (x for x in [1.0]),
            None,
            TypeError,
            "obj is a generator; expected what it yields. Pass list(obj).",
        ),
    ],
)
def test_what_is_refused_is_told_how_to_mend_it(obj, kind, error, expected):
    assert message(obj, error, kind) == expected


def test_an_object_that_says_what_it_is_needs_no_kind():
    from scipy import stats

    assert message(stats.norm(0, 1), TypeError, "mean_var").startswith(
        "kind is 'mean_var', but obj is a scipy.rv_continuous_frozen, which says itself what it is."
    )


def test_columns_of_one_name_are_refused(pd):
    table = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["q0.1", "q0.9", "q0.9"])
    assert message(table, ValueError) == (
        "obj has two columns called 'q0.9'; expected one. Rename or drop the other."
    )


def test_frames_that_are_not_computed_are_refused():
    polars = pytest.importorskip("polars")
    assert message(polars.LazyFrame({"mean": [1.0]}), TypeError) == (
        "obj is a LazyFrame, which is not computed; expected obj.collect()."
    )


def test_missing_numbers_are_named():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"mean": [1.0, None], "std": [1.0, 1.0]})
    assert message(table, ValueError).startswith("obj['mean'][1] is nan; expected finite numbers")
