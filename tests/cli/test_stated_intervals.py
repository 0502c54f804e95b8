"""Intervals whose coverage is stated: --lower, --upper and --coverage."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy.special import ndtri

import trueline as tl

OPTIONS = ["--lower", "low", "--upper", "high", "--coverage", "0.8"]


@pytest.fixture
def intervals(past):
    """prophet.csv and named.csv: the same 80% intervals under two names."""
    half = ndtri(0.9) * past["std"]
    ends = [past["mean"] - half, past["mean"] + half]
    csv.write_csv(pa.table({"y": past["y"], "low": ends[0], "high": ends[1]}), "named.csv")
    names = ("y", "yhat", "yhat_lower", "yhat_upper")
    table = dict(zip(names, (past["y"], past["mean"], *ends), strict=True))
    csv.write_csv(pa.table(table), "prophet.csv")
    return tl.Quantiles([0.1, 0.9], np.column_stack(ends))


def test_every_command_takes_them(trueline, past, intervals):
    expected = tl.evaluate(past["y"], intervals, coverage=0.8)
    run = trueline("evaluate", "named.csv", *OPTIONS)
    assert (run.code, run.err) == (0, "")
    assert run.out == f"named.csv: 2,000 rows, 80% interval forecasts (low, high)\n{expected!r}\n"
    run = trueline("fit", "named.csv", *OPTIONS, "-o", "map.json")
    assert run.out == (
        "named.csv: 2,000 rows, 80% interval forecasts (low, high)\n"
        f"80% intervals held {expected.coverage:.1%} of these rows: too narrow. The map makes them "
        "about 3 times as wide.\n"
        "map.json: Isotonic(), 2,000 scores\n"
        "judge it on other rows:    trueline evaluate other.csv --map map.json --lower low --upper "
        "high --coverage 0.8\n"
        "recalibrate new forecasts: trueline apply map.json new.csv --lower low --upper high "
        "--coverage 0.8 -o calibrated.csv\n"
    )
    R = tl.Isotonic().fit(past["y"], intervals)
    assert tl.load("map.json").to_json() == R.to_json()
    trueline("apply", "map.json", "named.csv", *OPTIONS, "--quantiles", "0.05", "-o", "out.csv")
    table = csv.read_csv("out.csv")
    assert table.column_names == ["y", "low", "high", "lower_0.8", "upper_0.8", "q0.05"]
    G = R.transform(intervals)
    np.testing.assert_array_equal(table["upper_0.8"].to_numpy(), G.interval(0.8)[1])
    np.testing.assert_array_equal(table["q0.05"].to_numpy(), G.ppf(0.05))
    run = trueline("report", "named.csv", *OPTIONS, "-o", "r.html")
    assert (run.code, run.err) == (0, "")


def test_prophet_needs_its_coverage(trueline, intervals):
    run = trueline("evaluate", "prophet.csv", "--coverage", "0.8", "--json")
    document = json.loads(run.out)
    assert document["columns"] == ["yhat_lower", "yhat", "yhat_upper"]
    assert document["coverage_target"] == 0.8
    assert trueline("evaluate", "prophet.csv") == (
        2,
        "",
        (
            "error: prophet.csv does not say which share of the outcomes the interval from "
            "'yhat_lower' to 'yhat_upper' should hold. State it, as in --coverage 0.8, the default "
            "of Prophet.\n"
        ),
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (
            ["--lower", "low", "--coverage", "0.8"],
            (
                "--lower low is one end of an interval; expected both. Name the column of the "
                "other with --upper."
            ),
        ),
        (
            ["--lower", "low", "--upper", "high"],
            (
                "named.csv does not say which share of the outcomes the interval from 'low' to "
                "'high' should hold. State it, as in --coverage 0.8."
            ),
        ),
        (
            [*OPTIONS[:4], "--coverage", "80"],
            "--coverage holds 80.0; expected levels in (0, 1). Write 80% as 0.8.",
        ),
        (
            [*OPTIONS, "--std", "high"],
            (
                "the options name forecasts of several kinds (--std: normal, --lower: intervals, "
                "--upper: intervals); expected one."
            ),
        ),
    ],
)
@pytest.mark.parametrize("command", [["evaluate"], ["fit", "-o", "m.json"], ["apply", "map.json"]])
def test_what_is_wrong_with_the_options(trueline, intervals, command, options, message):
    tl.Isotonic().fit([0.0, 1.0], intervals[:2]).to_json("map.json")
    out = ["-o", "out.csv"] if command[0] == "apply" else []
    run = trueline(*command, "named.csv", *options, *out)
    assert run == (2, "", f"error: {message}\n")


def test_apply_takes_one_coverage_for_one_interval(trueline, intervals):
    tl.Isotonic().fit([0.0, 1.0], intervals[:2]).to_json("map.json")
    run = trueline("apply", "map.json", "named.csv", *OPTIONS, "--coverage", "0.9", "-o", "o.csv")
    assert run == (
        2,
        "",
        (
            "error: --coverage is given as 0.8 and 0.9, but --lower and --upper are one interval; "
            "expected its coverage alone. Write other levels with --quantiles, such as "
            "0.05,0.95.\n"
        ),
    )


def test_ends_that_are_swapped_are_sorted_with_a_note(trueline, intervals):
    run = trueline("evaluate", "named.csv", "--lower", "high", "--upper", "low", *OPTIONS[4:])
    assert run.code == 0
    assert run.err == (
        "note: quantiles cross in 2,000 of 2,000 rows; those rows are sorted. Are --lower and "
        "--upper swapped?\n"
    )
