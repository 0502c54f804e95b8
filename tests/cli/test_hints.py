"""What the commands say where there is little to go by, or much to say."""

import json
import math

import numpy as np
import pytest
from pyarrow import csv

import trueline as tl


def write(path, header, rows, separator=","):
    lines = [separator.join(str(value) for value in row) for row in rows]
    path.write_text("\n".join([header, *lines, ""]))


def few(path, inside, n):
    """Rows of which so many lie inside their intervals."""
    write(path, "y,mean,std", [(0.01 * i if i < inside else 9, 0, 1) for i in range(n)])


# ---- few rows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, note",
    [
        (
            1,
            (
                "note: 1 row supports no interval: all are read off extrapolated tails. Fit on at "
                "least 19 rows for 90%.\n"
            ),
        ),
        (
            3,
            (
                "note: 3 rows support intervals of at most 50%; wider ones are read off an "
                "extrapolated tail. Fit on at least 19 rows for 90%.\n"
            ),
        ),
        (
            18,
            (
                "note: 18 rows support intervals of at most 89%; wider ones are read off an "
                "extrapolated tail. Fit on at least 19 rows for 90%.\n"
            ),
        ),
        (19, ""),
    ],
)
@pytest.mark.parametrize("options", [[], ["--group", "g"]])
def test_fit_says_what_so_many_rows_support(trueline, folder, rows, note, options):
    write(folder / "f.csv", "y,mean,std,g", [(i, 0, 1, "a") for i in range(rows)])
    run = trueline("fit", "f.csv", "-o", "map.json", *options)
    assert (run.code, run.err) == (0, note)


def test_fit_says_that_a_map_of_few_parameters_saw_little(trueline, folder):
    few(folder / "f.csv", 3, 3)
    assert trueline("fit", "f.csv", "-o", "map.json", "--method", "scaling").err == (
        "note: a map of 3 rows may be far off. Fit on at least 19 rows.\n"
    )
    few(folder / "f.csv", 19, 19)
    assert trueline("fit", "f.csv", "-o", "m.json", "--method", "scaling").err == ""


@pytest.mark.parametrize(
    "inside, n, coverage, verdict",
    [
        (0, 1, 0.9, "too few rows to tell"),  # one in ten times
        (3, 3, 0.9, "too few rows to tell"),
        (0, 3, 0.9, "too narrow"),  # one in a thousand times
        (35, 35, 0.9, "too few rows to tell"),  # 0.9^35 = 0.025: all of them are no surprise
        (36, 36, 0.9, "too wide"),  # 0.9^36 = 0.0225 is one
        (33, 36, 0.9, "too few rows to tell"),  # chance moves the coverage over 17 points
        (90, 100, 0.9, "as they should, up to chance"),
        (4, 8, 0.5, "too few rows to tell"),
    ],
)
def test_the_verdict_on_few_rows(trueline, folder, inside, n, coverage, verdict):
    few(folder / "f.csv", inside, n)
    run = trueline("evaluate", "f.csv", "--coverage", str(coverage))
    assert run.out.splitlines()[-2] == (
        f"{100 * coverage:g}% intervals hold {inside / n:.1%} of the time: {verdict}."
    )


def test_one_row_is_not_rows(trueline, folder):
    write(folder / "f.csv", "y,mean,std,g", [(1, 0, 1, "a")])
    assert trueline("fit", "f.csv", "-o", "map.json", "--group", "g").out == (
        "f.csv: 1 row, normal forecasts (mean, std)\n"
        "90% intervals held 100.0% of these rows: too few rows to tell.\n"
        "1 group has its own map. By group, the intervals were: too few rows to tell in 1.\n"
        "map.json: Grouped(), 1 group, 1 score\n"
        "judge it on other rows:    trueline evaluate other.csv --map map.json --group g\n"
        "recalibrate new forecasts: trueline apply map.json new.csv --group g -o calibrated.csv\n"
    )
    assert trueline("evaluate", "f.csv").out.startswith("f.csv: 1 row, normal")
    run = trueline("apply", "map.json", "f.csv", "-o", "out.csv", "--group", "g", "--moments")
    assert run.out.startswith("out.csv: 1 row of f.csv, ")
    assert "f.csv has 1 row; expected" in trueline("report", "f.csv", "-o", "r.html").err


# ---- what was fitted -----------------------------------------------------------------


def test_auto_says_what_it_chose(trueline, past):
    best = tl.Auto().fit(past["y"], tl.Normal(past["mean"], past["std"])).best_
    run = trueline("fit", "past.csv", "-o", "map.json", "--method", "auto")
    assert f"\nmap.json: Auto() chose {type(best).__name__}(), 2,000 scores\n" in run.out
    run = trueline("fit", "past.csv", "-o", "m.json", "--method", "auto", "--json")
    assert json.loads(run.out)["chosen"] == f"{type(best).__name__}()"


def test_rows_of_groups_count_once(trueline, past):
    run = trueline("fit", "past.csv", "-o", "map.json", "--group", "region")
    assert "\nmap.json: Grouped(), 2 groups, 2,000 scores\n" in run.out


def test_a_report_takes_a_map_or_a_method(trueline, folder, past):
    trueline("fit", "past.csv", "-o", "map.json")
    run = trueline("report", "past.csv", "--map", "map.json", "--method", "beta", "-o", "r.html")
    assert run == (
        2,
        "",
        (
            "error: --method beta is a map to fit, but --map map.json is fitted already; expected "
            "one of them. Leave out the other.\n"
        ),
    )
    assert not (folder / "r.html").exists()


# ---- groups --------------------------------------------------------------------------


def test_of_many_groups_the_worst_are_shown(trueline, folder):
    # Of group i, 100 rows of which i lie outside; one more group of a single row outside.
    rows = [(9 if k < i else 0.01, 0, 1, f"g{i}") for i in range(30) for k in range(100)]
    write(folder / "f.csv", "y,mean,std,g", [*rows, (9, 0, 1, "lonely")])
    lines = trueline("evaluate", "f.csv", "--group", "g").out.splitlines()
    assert lines[-1] == (
        "... and 11 of 31 groups whose coverage is less far off for their number of rows; --json "
        "has all"
    )
    names = [line.split()[0] for line in lines[-21:-1]]
    off = {f"g{i}": abs(i - 10) for i in range(30)}  # of 100 rows, in rows
    assert names[0] == "g29"
    assert [off[name] for name in names if name != "lonely"] == sorted(
        (off[name] for name in names if name != "lonely"), reverse=True
    )
    document = json.loads(trueline("evaluate", "f.csv", "--group", "g", "--json").out)
    assert len(document["groups"]) == 31


def test_twenty_groups_are_all_shown_in_their_order(trueline, folder):
    rows = [(i, 0, 1, f"g{i:02}") for i in range(20)]
    write(folder / "f.csv", "y,mean,std,g", rows)
    lines = trueline("evaluate", "f.csv", "--group", "g").out.splitlines()
    assert [line.split()[0] for line in lines[-20:]] == [row[3] for row in rows]


def test_a_group_without_a_name(trueline, folder):
    write(folder / "f.csv", "y,mean,std,g", [(1, 0, 1, "a"), (2, 0, 1, "")])
    head, *lines = trueline("evaluate", "f.csv", "--group", "g").out.splitlines()[-3:]
    assert head.split()[0] == "group"
    assert sorted(line.split()[0] for line in lines) == ["(empty)", "a"]
    assert len({len(line) for line in (head, *lines)}) == 1


# ---- levels that the file does not give ----------------------------------------------


@pytest.mark.parametrize(
    "header, coverage, note",
    [
        ("y,lower_0.9,upper_0.9", "0.9", ""),
        (
            "y,lower_0.9,upper_0.9",
            "0.5",
            (
                "note: f.csv gives 90% intervals; the ends of a 50% interval are read between "
                "them, so they are not those of the forecaster.\n"
            ),
        ),
        (
            "y,q0.1,q0.9",
            "0.9",
            (
                "note: f.csv gives quantiles 0.1, 0.9; the ends of a 90% interval are read beyond "
                "them, so they are not those of the forecaster.\n"
            ),
        ),
        ("y,mean,std", "0.5", ""),
    ],
)
def test_intervals_that_the_file_does_not_give(trueline, folder, header, coverage, note):
    write(folder / "f.csv", header, [(i, i - 1, i + 1) for i in range(1, 40)])
    run = trueline("evaluate", "f.csv", "--coverage", coverage)
    assert (run.code, run.err) == (0, note)


# ---- decimal commas ------------------------------------------------------------------


def test_decimal_commas_are_read_and_written_as_points(trueline, folder, past):
    columns = [past[name] for name in ("y", "mean", "std")]
    rows = [[f"{v:.12f}".replace(".", ",") for v in row] for row in zip(*columns, strict=True)]
    write(folder / "f.csv", "y;mean;std;id", [(*row, "1,2,3") for row in rows], separator=";")
    options = ("--separator", ";", "--decimal", ",")
    plain = trueline("evaluate", "past.csv", "--json")
    found = trueline("evaluate", "f.csv", "--json", *options)
    a, b = (json.loads(run.out)["crps"] for run in (plain, found))
    assert math.isclose(a, b, rel_tol=1e-9)  # the file has twelve decimals
    trueline("fit", "f.csv", "-o", "map.json", *options)
    assert trueline("apply", "map.json", "f.csv", "-o", "out.csv", *options).code == 0
    table = csv.read_csv("out.csv")
    np.testing.assert_allclose(table["mean"].to_numpy(), past["mean"], atol=1e-12)
    assert table["id"][0].as_py() == "1,2,3"  # no number, so it stays
    assert trueline("evaluate", "out.csv", "--kind", "intervals").code == 0


# ---- errors for machines -------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("evaluate zzz.csv --json", "there is no file zzz.csv."),
        ("fit past.csv --json", "Missing option '--out' / '-o'."),
        ("evaluate past.csv --json --sperator x", "No such option: --sperator"),
        ("evaluate past.csv --json --coverage 90", "Write 90% as 0.9."),
    ],
)
def test_errors_are_json_too(trueline, past, arguments, message):
    run = trueline(*arguments.split())
    assert (run.code, run.out) == (2, "")
    assert run.err.count("\n") == 1
    document = json.loads(run.err)
    assert list(document) == ["error"]
    assert message in document["error"]


def test_help_beside_json(trueline):
    run = trueline("evaluate", "--json", "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("Usage: trueline evaluate ")


@pytest.mark.parametrize("name", ["sdt", "Sigma", "sd"])
def test_a_spread_by_another_name_is_not_passed_over_in_silence(trueline, folder, name):
    write(folder / "a.csv", f"y,mean,{name}", [(i, i + 0.5, 1) for i in range(40)])
    done = trueline("evaluate", "a.csv")
    assert done.code == 0
    assert done.err == (
        f"note: these are point forecasts, and column {name!r} is not used. If it holds standard "
        f"deviations: --std {name}.\n"
    )
    assert trueline("evaluate", "a.csv", "--std", name).err == ""
    assert trueline("evaluate", "a.csv", "--kind", "point").err == ""


def test_columns_of_another_kind_raise_no_doubt(trueline, folder):
    write(folder / "a.csv", "y,mean,cost,id", [(i, i + 0.5, 1, i) for i in range(40)])
    assert trueline("evaluate", "a.csv").err == ""
