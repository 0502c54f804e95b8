"""Columns are found by convention or by name, and what is unclear is asked about."""

import numpy as np
import pytest

import trueline as tl
from trueline.files import Columns, FileError


@pytest.mark.parametrize(
    "names, kind, forecast",
    [
        (["y", "mean", "std"], "normal", ("mean", "std")),
        (["std", "y", "prediction"], "normal", ("prediction", "std")),
        (["y", "mean"], "point", ("mean",)),
        (["y", "prediction"], "point", ("prediction",)),
        (["y", "q0.95", "q.05", "q0.5"], "quantiles", ("q.05", "q0.5", "q0.95")),
        (["y", "mean", "q0.05", "q0.95"], "quantiles", ("q0.05", "q0.95")),
        (["y", "upper_0.9", "lower_0.9"], "intervals", ("lower_0.9", "upper_0.9")),
        (["y", "sample_10", "sample_9"], "samples", ("sample_9", "sample_10")),
        (["y", "mean", "sample_0", "sample_1"], "samples", ("sample_0", "sample_1")),
    ],
)
def test_conventions(names, kind, forecast):
    layout = Columns().find([*names, "other"])
    assert (layout.kind, layout.forecast, layout.y) == (kind, forecast, "y")


def test_levels_of_quantiles_and_intervals():
    assert Columns().find(["y", "q0.9", "q0.1"]).levels == (0.1, 0.9)
    layout = Columns().find(["y", "lower_0.9", "upper_0.9", "lower_0.5", "upper_0.5"])
    np.testing.assert_allclose(layout.levels, [0.05, 0.25, 0.75, 0.95])


@pytest.mark.parametrize(
    "asked, kind, forecast",
    [
        ({"mean": "m", "std": "s"}, "normal", ("m", "s")),
        ({"mean": "m"}, "normal", ("m", "std")),
        ({"mean": "m", "kind": "point"}, "point", ("m",)),
        ({"quantile_columns": "p_"}, "quantiles", ("p_0.1", "p_0.9")),
        ({"sample_columns": "d"}, "samples", ("d0", "d1")),
        ({"kind": "quantiles"}, "quantiles", ("q0.2", "q0.8")),
        ({"kind": "normal"}, "normal", ("mean", "std")),
    ],
)
def test_names_that_are_given_win(asked, kind, forecast):
    names = ["y", "mean", "std", "m", "s", "p_0.1", "p_0.9", "q0.2", "q0.8", "d0", "d1"]
    layout = Columns(**asked).find(names)
    assert (layout.kind, layout.forecast) == (kind, forecast)


@pytest.mark.parametrize(
    "asked, names, forecast, levels",
    [
        ({"lower": "a", "upper": "b"}, ["a", "b", "mean"], ("a", "b"), (0.1, 0.9)),
        (
            {"lower": "a", "upper": "b", "mean": "m"},
            ["m", "b", "a", "std"],
            ("a", "m", "b"),
            (0.1, 0.5, 0.9),
        ),
        ({}, ["ds", "yhat_lower", "yhat_upper"], ("yhat_lower", "yhat_upper"), (0.1, 0.9)),
        (
            {},
            ["yhat", "yhat_lower", "yhat_upper"],
            ("yhat_lower", "yhat", "yhat_upper"),
            (0.1, 0.5, 0.9),
        ),
    ],
)
def test_an_interval_of_stated_coverage(asked, names, forecast, levels):
    layout = Columns(**asked, coverage=0.8).find(["y", *names])
    assert (layout.kind, layout.forecast, layout.coverage) == ("intervals", forecast, 0.8)
    np.testing.assert_allclose(layout.levels, levels)
    assert layout.describe() == f"80% interval forecasts ({', '.join(forecast)})"


def test_an_interval_without_a_middle_is_a_normal_forecast():
    """Its score is linear between and outside its ends, as that of a normal forecast is."""
    F = tl.Normal([3.0, 5.0], [1.0, 2.0])
    layout = Columns(lower="a", upper="b", coverage=0.8).find(["a", "b"], y=False)
    G = layout.distribution(F.interval(0.8))
    levels = [0.001, 0.1, 0.4, 0.9, 0.999]
    np.testing.assert_allclose(G.ppf(levels), F.ppf(levels), rtol=1e-12)
    np.testing.assert_allclose(G.crps([1.0, 9.0]), F.crps([1.0, 9.0]), rtol=1e-12)


def test_the_coverage_of_the_columns_is_that_of_the_work(tmp_path):
    file = tmp_path / "prophet.csv"
    file.write_text("y,yhat_lower,yhat_upper\n" + "".join(f"{i},20,30\n" for i in range(50)))
    columns = Columns(coverage=0.8)
    assert tl.files.evaluate(file, columns=columns).overall.coverage_target == 0.8
    R = tl.files.fit(file, columns=columns)
    tl.files.apply(R, file, tmp_path / "out.csv", columns=columns)
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == "y,yhat_lower,yhat_upper,lower_0.8,upper_0.8"


@pytest.mark.parametrize(
    "asked, message",
    [
        (
            {"lower": "a", "coverage": 0.8},
            (
                "Columns(lower='a') is one end of an interval; expected both. Name the column of "
                "the other with Columns(upper=...)."
            ),
        ),
        (
            {"lower": "a", "upper": "b"},
            (
                "f.csv does not say which share of the outcomes the interval from 'a' to 'b' "
                "should hold. State it, as in Columns(coverage=0.8)."
            ),
        ),
        (
            {},
            (
                "f.csv does not say which share of the outcomes the interval from 'yhat_lower' to "
                "'yhat_upper' should hold. State it, as in Columns(coverage=0.8), the default of "
                "Prophet."
            ),
        ),
        (
            {"lower": "a", "upper": "a", "coverage": 0.8},
            (
                "column 'a' is named twice as a part of the interval, by Columns(lower=...) and "
                "Columns(upper=...); expected different columns."
            ),
        ),
        (
            {"lower": "a", "upper": "b", "std": "s", "coverage": 0.8},
            (
                "the options name forecasts of several kinds (Columns(std=...): normal, "
                "Columns(lower=...): intervals, Columns(upper=...): intervals); expected one."
            ),
        ),
        (
            {"lower": "a", "upper": "c", "coverage": 0.8},
            (
                "f.csv has no column 'c'; its columns are y, a, b, s, yhat_lower, yhat_upper. Name "
                "one with Columns(upper=...)."
            ),
        ),
        (
            {"lower": "a", "upper": "b", "coverage": 80},
            "coverage holds 80.0; expected levels in (0, 1). Write 80% as 0.8.",
        ),
    ],
)
def test_what_is_wrong_with_an_interval(asked, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        Columns(**asked).find(["y", "a", "b", "s", "yhat_lower", "yhat_upper"], file="f.csv")
    assert str(caught.value) == message


def test_a_mean_that_is_named_is_a_point_forecast_without_std():
    assert Columns(mean="m").find(["y", "m", "q0.1", "q0.9"]).kind == "point"


def test_outcomes_are_asked_for_only_where_they_are_needed():
    assert Columns().find(["mean"], y=False).y is None
    assert Columns().find(["y", "mean"], y=False).used == ["mean"]


@pytest.mark.parametrize(
    "layout, expected",
    [
        (["mean", "std"], tl.Normal([1.0, 2.0], [3.0, 4.0])),
        (["mean"], tl.Point([1.0, 2.0])),
        (["q0.1", "q0.9"], tl.Quantiles([0.1, 0.9], [[1.0, 3.0], [2.0, 4.0]])),
        (["sample_0", "sample_1"], tl.Samples([[1.0, 3.0], [2.0, 4.0]])),
    ],
    ids=["normal", "point", "quantiles", "samples"],
)
def test_columns_become_the_forecast_that_they_are(layout, expected):
    found = Columns().find(["y", *layout])
    dist = found.distribution([np.array([1.0, 2.0]), np.array([3.0, 4.0])][: len(layout)])
    assert type(dist) is type(expected)
    assert found.score_kind == dist.score_kind
    np.testing.assert_array_equal(dist.ppf(0.3), expected.ppf(0.3))


@pytest.mark.parametrize(
    "names, asked, message",
    [
        (
            ["target", "mean"],
            {},
            (
                "f has no column 'y' with the outcomes; its columns are target, mean. Name one "
                "with Columns(y=...). Did you mean Columns(y='target')?"
            ),
        ),
        (
            ["y", "sales", "mean"],
            {"y": "slaes"},
            (
                "f has no column 'slaes' with the outcomes; its columns are y, sales, mean. Name "
                "one with Columns(y=...). Did you mean 'sales'?"
            ),
        ),
        (
            ["y", "mean", "std", "q0.1", "q0.9", "sample_0", "sample_1"],
            {},
            (
                "f holds forecasts of several kinds: normal (mean, std); quantiles (q0.1, q0.9); "
                "samples (sample_0, sample_1). Choose one: Columns(kind='normal') or "
                "Columns(kind='quantiles') or "
                "Columns(kind='samples')."
            ),
        ),
        (
            ["y", "a", "b"],
            {},
            (
                "f has no columns that look like a forecast; expected mean and std, or q0.05, "
                "q0.5, ..., or lower_0.9 and upper_0.9, or sample_0, sample_1, ..., or mean alone. "
                "Its columns are y, a, b. Name them with Columns(mean=...) and Columns(std=...), "
                "Columns(quantile_columns=...) or "
                "Columns(sample_columns=...)."
            ),
        ),
        (
            ["y", "std"],
            {},
            "f has no column 'mean'; its columns are y, std. Name one with Columns(mean=...).",
        ),
        (
            ["y", "mean", "std"],
            {"std": "sdt"},
            (
                "f has no column 'sdt'; its columns are y, mean, std. Name one with "
                "Columns(std=...). Did you "
                "mean 'std'?"
            ),
        ),
        (
            ["y", "mean", "Region"],
            {"group": "region"},
            (
                "f has no column 'region'; its columns are y, mean, Region. Name one with "
                "Columns(group=...). "
                "Did you mean 'Region'?"
            ),
        ),
        (
            ["y", "mean"],
            {"weight": "w"},
            "f has no column 'w'; its columns are y, mean. Name one with Columns(weight=...).",
        ),
        (
            ["y", "q0.5"],
            {},
            (
                "f has one quantile, q0.5; expected at least two, because one says nothing about "
                "the spread. A point forecast is Columns(mean='q0.5')."
            ),
        ),
        (
            ["y", "sample_3"],
            {},
            (
                "f has one draw, sample_3; expected at least two, because one says nothing about "
                "the spread. A point forecast is Columns(mean='sample_3')."
            ),
        ),
        (
            ["y", "lower_0.9"],
            {},
            "f has a column lower_0.9 but no upper_0.9; expected both ends of an interval.",
        ),
        (
            ["y", "upper_0.9", "lower_0.9", "upper_0.5"],
            {},
            "f has a column upper_0.5 but no lower_0.5; expected both ends of an interval.",
        ),
        (
            ["y", "q0.5", "q0.50"],
            {},
            (
                "f has two columns for the level 0.5: q0.5 and q0.50; expected one. Rename or drop "
                "the other."
            ),
        ),
        (
            ["y", "mean"],
            {"quantile_columns": "p"},
            "f has no columns such as p0.05, p0.5, ...; its columns are y, mean.",
        ),
        (
            ["y", "mean", "q0.1", "q0.9"],
            {"mean": "mean", "quantile_columns": "q"},
            (
                "the options name forecasts of several kinds (Columns(mean=...): point, "
                "Columns(quantile_columns=...): "
                "quantiles); expected one."
            ),
        ),
        (
            ["y", "mean"],
            {"kind": "qantiles"},
            (
                "the kind of forecast is 'qantiles'; expected one of normal, point, quantiles, "
                "intervals, samples. Did you mean 'quantiles'?"
            ),
        ),
        (
            [f"c{i}" for i in range(40)],
            {},
            (
                "f has no column 'y' with the outcomes; its columns are c0, c1, c2, c3, c4, c5, "
                "c6, c7, c8, c9, ... (40 in all). Name one with Columns(y=...)."
            ),
        ),
        (
            [" y", "mean"],
            {},
            (
                "f has no column 'y' with the outcomes; its columns are  y, mean. Name one with "
                "Columns(y=...). Did you mean Columns(y=' y')?"
            ),
        ),
        (
            ["y", "q5", "q97.5", "q100"],
            {"kind": "quantiles"},
            (
                "f has no columns such as q0.05, q0.5, ...; its columns are y, q5, q97.5, q100. "
                "q5, q97.5 look like percentages; rename to q0.05, q0.975."
            ),
        ),
        (
            ["y", "p5%"],
            {"quantile_columns": "p"},
            (
                "f has no columns such as p0.05, p0.5, ...; its columns are y, p5%. p5% looks "
                "like a percentage; rename to p0.05."
            ),
        ),
        (
            ["y", "lower_90", "upper_90"],
            {},
            (
                "f has no columns that look like a forecast; expected mean and std, or q0.05, "
                "q0.5, ..., or lower_0.9 and upper_0.9, or sample_0, sample_1, ..., or mean alone. "
                "Its columns are y, lower_90, upper_90. Name them with Columns(mean=...) and "
                "Columns(std=...), "
                "Columns(quantile_columns=...) or Columns(sample_columns=...). lower_90, upper_90 "
                "look like "
                "percentages; rename to lower_0.9, upper_0.9."
            ),
        ),
    ],
)
def test_what_cannot_be_found_is_said(names, asked, message):
    with pytest.raises(FileError) as caught:
        Columns(**asked).find(names, file="f")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "names, words",
    [
        (["mean", "std"], "normal forecasts (mean, std)"),
        (["q0.1", "q0.5", "q0.9"], "quantile forecasts (q0.1, q0.5, q0.9)"),
        (
            [f"sample_{i}" for i in range(50)],
            "sample forecasts (sample_0 to sample_49, 50 columns)",
        ),
        (
            [f"{end}_{c}" for c in (0.9, 0.8) for end in ("lower", "upper")],
            "interval forecasts (lower_0.9, lower_0.8, upper_0.8, ... (4 in all))",
        ),
    ],
)
def test_a_forecast_in_words(names, words):
    assert Columns().find(["y", *names]).describe() == words
