"""DuckDB gives our numbers from one expression."""

import math
import re
import warnings
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import trueline as tl
from trueline.export import to_sql
from trueline.export._sql import _number

MAPS = [
    tl.Isotonic(),
    tl.Isotonic(finite_sample=False),
    tl.Smooth(),
    tl.Smooth(n_knots=2),
    tl.BetaCalibration(),
    tl.Scaling(),
    tl.Auto(),
]
NAMES = "expected the name of a column, or a tuple of names such as ('table', 'column')."
LEVELS = [1e-9, 0.05, 0.5, 0.95, 1.0 - 1e-9]

weak = pytest.mark.filterwarnings("ignore::trueline._validation.CalibrationWarning")


@contextmanager
def weakly():
    """Ask for more than a few rows can say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        yield


def rows(n, seed=0):
    """Outcomes and forecasts that are skewed, biased and too sure."""
    rng = np.random.default_rng(seed)
    mean, std = 3.0 * rng.normal(size=n), rng.uniform(0.1, 2.0, size=n)
    return mean + std * (2.0 * rng.gamma(2.0, size=n) - 1.0), mean, std


def run(expression, **columns):
    """Evaluate over a table made of these columns."""
    table = pa.table(columns)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("forecasts", table)
        answer = connection.sql(f"SELECT {expression} AS x FROM forecasts").fetchall()
    return [row[0] for row in answer]


def check(R, dist, columns, groups=None, max_knots=10**6):
    """Compare quantiles and the CDF at new rows with ours."""
    G = R.transform(dist) if groups is None else R.transform(dist, groups=groups)
    for level in LEVELS:
        got = run(to_sql(R, level=level), **columns)
        np.testing.assert_allclose(got, G.ppf(level), rtol=1e-12, atol=0)
    got = np.array(run(to_sql(R, y="y", max_knots=max_knots), **columns))
    np.testing.assert_allclose(got, G.cdf(columns["y"]), rtol=0, atol=1e-12)
    return got, G


@weak
@pytest.mark.parametrize("n", [1, 2, 7, 500])
@pytest.mark.parametrize("R", MAPS, ids=repr)
def test_location_scale_forecasts(R, n):
    y, mean, std = rows(n)
    R = R.fit(y, tl.Normal(mean, std))
    _, loc, scale = rows(1000, seed=1)
    z = np.random.default_rng(2).choice([0.5, 5.0, 50.0], 1000) * rows(1000, seed=3)[0]
    z[:n] = R.scores_.values[:1000]
    columns = {"mean": loc, "std": scale, "y": loc + scale * z}
    check(R, tl.Normal(loc, scale), columns)


@weak
@pytest.mark.parametrize("R", MAPS, ids=repr)
def test_point_forecasts_have_no_scale(R):
    y, mean, _ = rows(300)
    R = R.fit(y, tl.Point(mean))
    new, loc, _ = rows(1000, seed=1)
    assert "std" not in to_sql(R, y="y")
    check(R, tl.Point(loc), {"mean": loc, "y": 10.0 * new})


@weak
def test_ties_and_weights():
    rng = np.random.default_rng(0)
    y = rng.integers(-3, 4, size=400).astype(float)
    for weight in (None, rng.uniform(0.1, 3.0, size=400), np.full(400, 0.01)):
        R = tl.Isotonic(support=None).fit(y, tl.Point(np.zeros(400)), sample_weight=weight)
        at = np.sort(np.concatenate([np.arange(-5.0, 6.0), rng.uniform(-5.0, 5.0, 500)]))
        got, _ = check(R, tl.Point(np.zeros(len(at))), {"mean": np.zeros(len(at)), "y": at})
        assert (np.diff(got) >= 0).all()


def test_far_in_the_lower_tail_digits_stay():
    y, mean, std = rows(1000)
    for R in (tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()):
        R.fit(y, tl.Normal(mean, std))
        z = R.law_.ppf(np.array([1e-9, 1e-30, 1e-100]))
        columns = {"mean": np.zeros(3), "std": np.ones(3), "y": z}
        # exp(-v) has the rounding of v, up to 230 here, and of the score within it.
        expected = R.transform(tl.Normal(np.zeros(3), 1.0)).cdf(z)
        np.testing.assert_allclose(run(to_sql(R, y="y"), **columns), expected, rtol=1e-11)


def test_a_large_map_is_thinned_and_says_by_how_much():
    y, mean, std = rows(100_000)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    expression = to_sql(R, y="y")
    stated = float(re.match(r"/\* at most 1000 knots: within (\S+) of the map \*/ ", expression)[1])
    assert 0 < stated < 1e-3
    knots = R.law_.knots
    columns = {"mean": np.zeros(len(knots)), "std": np.ones(len(knots)), "y": knots}
    off = np.abs(run(expression, **columns) - R.law_.cdf(knots)).max()
    assert off == pytest.approx(stated, rel=0.05)  # two digits are written
    assert run(to_sql(R, level=0.3), mean=[1.0], std=[2.0]) == [
        R.transform(tl.Normal(1.0, 2.0)).ppf(0.3)[0]
    ]
    assert not to_sql(R, y="y", max_knots=100_000).startswith("/*")


def test_thinning_keeps_the_jumps():
    y = np.concatenate([np.zeros(5000), np.linspace(1.0, 2.0, 5001)])
    with weakly():
        R = tl.Isotonic(support=None).fit(y, tl.Point(np.zeros(len(y))))
    got = run(to_sql(R, y="y", max_knots=10), mean=[0.0, 0.0], y=[-1e-9, 0.0])
    np.testing.assert_allclose(got, R.law_.cdf(np.array([-1e-9, 0.0])), atol=1e-12)


HOSTILE = ['a"b', 'x"; DROP TABLE forecasts; --', "two words", "';--", "*/", "Größe", "select", "."]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_column_names(name):
    y, mean, std = rows(50)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    G = R.transform(tl.Normal(mean, std))
    for place in ("loc", "scale", "y"):
        names = {"loc": "mean", "scale": "std", "y": "y"} | {place: name}
        columns = {names["loc"]: mean, names["scale"]: std, names["y"]: y}
        got = run(to_sql(R, **names), **columns)
        np.testing.assert_allclose(got, G.cdf(y), rtol=0, atol=1e-12)
        del names["y"]
        got = run(to_sql(R, level=0.5, **names), **columns)
        np.testing.assert_allclose(got, G.ppf(0.5), rtol=1e-12)


@pytest.mark.parametrize(
    "R", [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()], ids=repr
)
def test_columns_named_as_the_variables_of_a_lambda(R):
    y, mean, std = rows(50)
    R = R.fit(y, tl.Normal(mean, std))
    expected = R.transform(tl.Normal(mean, std)).cdf(y)
    variables = ", ".join(re.findall(r"lambda ([\w, ]+):", to_sql(R, y="y"))).split(", ")
    assert len(variables) >= 2
    # Columns that the expression does not name are no concern of it.
    other = dict.fromkeys(variables, np.zeros(50))
    got = run(to_sql(R, y="y"), mean=mean, std=std, y=y, **other)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    for name in {*variables, *(v.upper() for v in variables)}:
        got = run(to_sql(R, y=name), mean=mean, std=std, **{name: y})
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        qualified = to_sql(R, y=(name, "y"), loc=(name, "mean"), scale=(name, "std"))
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.register(name, pa.table({"mean": mean, "std": std, "y": y}))
            answer = connection.sql(f'SELECT {qualified} AS x FROM "{name}"').fetchnumpy()
        np.testing.assert_allclose(answer["x"], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "R", [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()], ids=repr
)
def test_missing_rows_stay_missing(R):
    y, mean, std = rows(50)
    R = R.fit(y, tl.Normal(mean, std))
    nan, inf = math.nan, math.inf
    columns = {
        "mean": [None, 0.0, 0.0, nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "std": [1.0, None, 1.0, 1.0, nan, 1.0, 0.0, -1.0, 1.0, 1.0],
        "y": [0.0, 0.0, None, 0.0, 0.0, nan, 0.0, 0.0, inf, -inf],
    }
    got = run(to_sql(R, y="y"), **columns)
    assert got[:3] == [None] * 3
    assert np.isnan(got[3:6]).all()
    assert got[6:] == [None, None, 1.0, 0.0]
    got = run(to_sql(R, level=0.1), **columns)
    assert got[:2] == [None] * 2
    assert np.isnan(got[3:5]).all()
    assert got[6:8] == [None, None]


@pytest.mark.parametrize("sql", ["FLOAT", "DECIMAL(9, 3)", "INTEGER"])
def test_columns_of_any_type_are_read_as_float64(sql):
    y, mean, std = rows(200)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"CREATE TABLE t (y {sql}, mean {sql}, std {sql})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [[7.1, 3.2, 2.3], [5, 1, 1]])
        at = connection.sql("SELECT y::DOUBLE, mean::DOUBLE, std::DOUBLE FROM t").fetchall()
        got = connection.sql(f"SELECT {to_sql(R, y='y')}, {to_sql(R, level=0.7)} FROM t").fetchall()
    outcome, loc, scale = np.array(at).T
    G = R.transform(tl.Normal(loc, scale))
    np.testing.assert_allclose(np.array(got)[:, 0], G.cdf(outcome), rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.array(got)[:, 1], G.ppf(0.7), rtol=1e-12)


def test_the_cdf_at_a_number():
    y, mean, std = rows(200)
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    got = run(to_sql(R, y=-1.5), mean=mean, std=std)
    expected = R.transform(tl.Normal(mean, std)).cdf(-1.5)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


KEYS = {
    "strings": ["it's", 'a"b', "'; DROP TABLE forecasts; --", "", "Å"],
    "integers": [-3, 0, 2, 7, 2**52],
    "floats": [-0.1, 1 / 3, 1e300, 5e-324, 2.5],
    "booleans": [False, True],
}


@pytest.mark.parametrize("inner", [tl.Isotonic(), tl.Smooth(), tl.Auto()], ids=repr)
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_groups(keys, inner):
    y, mean, std = rows(400)
    groups = np.array(keys)[np.arange(400) % len(keys)]
    y = y + 5.0 * (np.arange(400) % len(keys))
    R = tl.Grouped(inner).fit(y, tl.Normal(mean, std), groups=groups)
    columns = {"mean": mean, "std": std, "y": y, "group": groups.tolist()}
    with weakly():
        check(R, tl.Normal(mean, std), columns, groups=groups)


def test_an_unknown_group_gets_the_pooled_map_and_none_gets_nothing():
    y, mean, std = rows(400)
    groups = np.array(["a", "b"])[np.arange(400) % 2]
    R = tl.Grouped().fit(y, tl.Normal(mean, std), groups=groups)
    columns = {"mean": [0.0, 0.0], "std": [1.0, 1.0], "y": [0.5, 0.5], "region": ["new", None]}
    with pytest.warns(tl.CalibrationWarning, match="pooled"):
        G = R.transform(tl.Normal(0.0, 1.0), groups=["new"])
    got = run(to_sql(R, y="y", group="region"), **columns)
    assert got == [pytest.approx(G.cdf(0.5)[0], abs=1e-12), None]
    got = run(to_sql(R, level=0.5, group="region"), **columns)
    assert got == [pytest.approx(G.ppf(0.5)[0], rel=1e-12), None]


def test_online_as_it_stands():
    y, mean, std = rows(2000)
    R = tl.Online(coverage=0.9)
    R.update(y, tl.Normal(mean, std))
    columns = {"mean": mean, "std": std, "y": y}
    with weakly():
        check(R, tl.Normal(mean, std), columns)


@pytest.mark.parametrize(
    "x", [0.1, -0.0, 1.0, 1e22, -1e-5, 5e-324, 1.7976931348623157e308, 2**53 + 2.0, math.pi]
)
def test_numbers_read_back_exactly(x):
    with duckdb.connect(config={"threads": 1}) as connection:
        text = _number(x, "x")
        (value, kind) = connection.sql(f"SELECT 0-{text}, typeof({text})").fetchall()[0]
    assert kind == "DOUBLE"
    assert np.float64(-value) == x


def test_a_level_beyond_the_rows_warns_where_it_was_asked_for():
    R = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point([0.0, 0.0, 0.0]))
    with pytest.warns(tl.CalibrationWarning, match="level 0.95 lies outside") as caught:
        to_sql(R, level=0.95)
    assert caught[0].filename == __file__


def fitted():
    return tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "neither of level and y given; expected level for a quantile or y for the CDF at y."),
        (
            {"level": 0.5, "y": "y"},
            "both of level and y given; expected level for a quantile or y for the CDF at y.",
        ),
        ({"level": 95}, "level holds 95.0; expected levels in (0, 1). Write 95% as 0.95."),
        ({"level": [0.1, 0.9]}, "level has shape (2,); expected one number in (0, 1)."),
        ({"y": math.inf}, "y is inf; expected a finite number."),
        ({"y": "y", "dialect": "oracle"}, "dialect is 'oracle'; expected 'duckdb'."),
        ({"y": "y", "max_knots": 1}, "max_knots is 1; expected an integer of 2 or more."),
        (
            {"y": "y", "loc": ""},
            f"loc is ''; {NAMES}",
        ),
        (
            {"level": 0.5, "scale": ("t", 3)},
            f"scale is ('t', 3); {NAMES}",
        ),
        (
            {"y": "a\0b"},
            rf"y is 'a\x00b'; {NAMES}",
        ),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        to_sql(fitted(), **arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("y", [True, ["y"], b"y"])
def test_y_of_a_wrong_type(y):
    with pytest.raises(TypeError) as caught:
        to_sql(fitted(), y=y)
    assert str(caught.value) == f"y is {y!r}; expected the name of a column or a number."


def test_maps_that_cannot_leave_python():
    with pytest.raises(TypeError) as wrong:
        to_sql("map.json", level=0.5)
    assert str(wrong.value) == (
        "recalibrator is a str; expected a fitted recalibrator such as Isotonic."
    )
    with pytest.raises(tl._validation.NotFittedError):
        to_sql(tl.Isotonic(), level=0.5)
    y, mean, std = rows(50)
    R = tl.Conditional().fit(y, tl.Normal(mean, std), X=mean[:, None])
    with pytest.raises(TypeError) as wrong:
        to_sql(R, level=0.5)
    assert str(wrong.value) == (
        "to_sql cannot take Conditional; expected Isotonic, Smooth, BetaCalibration, Scaling, "
        "Auto, Grouped or Online, whose maps need no more than the score. Fit one of these instead."
    )
    R = tl.Isotonic().fit(y, tl.Samples(mean[:, None] + np.array([-1.0, 0.0, 1.0])))
    with pytest.raises(ValueError, match="whole forecast") as kind:
        to_sql(R, level=0.5)
    assert str(kind.value) == (
        "this Isotonic was fitted on 'normal score' scores, which need a whole forecast per row; "
        "to_sql takes maps of location-scale forecasts and of Point. Fit it on Normal(mean, std)."
    )
    R = tl.Grouped().fit(y, tl.Normal(mean, std), groups=["a\0b"] * 50)
    with pytest.raises(ValueError, match="null") as null:
        to_sql(R, level=0.5)
    assert str(null.value) == (
        "group 'a\\x00b' holds a null character, which SQL text cannot; rename it."
    )


def test_a_least_width_is_added_to_the_scale():
    y, mean, std = rows(500)
    std[0] = 1e-7
    new, loc, scale = rows(200, seed=1)
    scale[0] = 1e-7
    columns = {"mean": loc, "std": scale, "y": new}
    R = tl.Isotonic().fit(y, tl.Normal(mean, std))
    assert R.least_width_ > 0
    with weakly():
        check(R, tl.Normal(loc, scale), columns)
    # A scale that is not above 0 stays none.
    columns = {"mean": [0.0], "std": [-0.5 * R.least_width_]}
    assert run(to_sql(R, level=0.5), **columns) == [None]


def test_maps_of_outcomes_with_atoms_are_refused():
    y = np.random.default_rng(0).poisson(2.0, size=200).astype(float)
    R = tl.Scaling().fit(y, tl.Point(np.full(200, 2.0)))
    with pytest.raises(ValueError, match="atoms") as atoms:
        to_sql(R, level=0.5)
    assert "this Scaling forecasts outcomes with atoms at 0, 1, 2, ..." in str(atoms.value)
    assert str(atoms.value).endswith(
        "for which to_sql has no formula. Fit a map with continuous forecasts to export it: "
        "Scaling(support=None)."
    )
    with weakly():
        to_sql(tl.Scaling(support=None).fit(y, tl.Point(np.full(200, 2.0))), level=0.5)
