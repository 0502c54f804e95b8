"""What the commands print and write when all is well."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trueline as tl
from trueline import demo


@pytest.mark.parametrize("file", ["past.csv", "past.parquet"])
def test_evaluate_in_words(trueline, past, file):
    result = tl.evaluate(past["y"], tl.Normal(past["mean"], past["std"]))
    run = trueline("evaluate", file)
    assert (run.code, run.err) == (0, "")
    assert run.out == (f"{file}: 2,000 rows, normal forecasts (mean, std)\n{result!r}\n")
    assert f"\n90% intervals hold {result.coverage:.1%} of the time: too narrow.\n" in run.out


def test_evaluate_by_group(trueline, past):
    run = trueline("evaluate", "past.csv", "--group", "region", "--coverage", "0.8")
    assert run.code == 0
    *_, head, north, south = run.out.splitlines()
    assert head.split() == [
        "group",
        "rows",
        "80%",
        "hold",
        "width",
        "CRPS",
        "cal.",
        "error",
        "floor",
    ]
    rows = past["region"] == "north"
    alone = tl.evaluate(
        past["y"][rows], tl.Normal(past["mean"][rows], past["std"][rows]), coverage=0.8
    )
    assert north.split()[:3] == ["north", f"{rows.sum():,}", f"{alone.coverage:.1%}"]
    assert south.split()[:2] == ["south", f"{(~rows).sum():,}"]
    assert len({len(line) for line in (head, north, south)}) == 1


def test_evaluate_as_json(trueline, past):
    run = trueline("evaluate", "past.csv", "--json", "--group", "region")
    document = json.loads(run.out)
    expected = tl.evaluate(past["y"], tl.Normal(past["mean"], past["std"])).to_dict()
    assert {name: document[name] for name in expected} == expected
    assert document["file"] == "past.csv"
    assert (document["rows"], document["kind"], document["exact"]) == (2000, "normal", True)
    assert document["columns"] == ["mean", "std"]
    assert list(document["groups"]) == ["north", "south"]
    assert document["verdict"] == {"coverage": "too narrow", "calibration": "recalibrate"}
    assert document["notes"] == []


def test_evaluate_with_features(trueline, past):
    X = {"region": past["region"], "std": past["std"]}
    F = tl.Normal(past["mean"], past["std"])
    expected = tl.evaluate(past["y"], F, X=X, coverage=0.8)
    run = trueline("evaluate", "past.csv", "--x", "region", "--x", "std", "--coverage", "0.8")
    assert (run.code, run.err) == (0, "")
    assert run.out.endswith(f"{expected!r}\n")
    piped = Path("past.csv").read_bytes()
    run = trueline("evaluate", "-", "--x", "region", "--x", "std", "--json", stdin=piped)
    document = json.loads(run.out)
    assert document["ert"] == tl.conditional_coverage(past["y"], F, X).ert
    assert document["conditional"]["regions"][0]["decision"] == "too narrow"


def test_evaluate_with_features_after_a_map(trueline, past):
    trueline("fit", "past.csv", "-o", "map.json")
    run = trueline("evaluate", "past.csv", "--map", "map.json", "--x", "std", "--json")
    R = tl.Isotonic().fit(past["y"], tl.Normal(past["mean"], past["std"]))
    G = R.transform(tl.Normal(past["mean"], past["std"]))
    expected = tl.conditional_coverage(past["y"], G, {"std": past["std"]})
    assert json.loads(run.out)["conditional"]["n_fit"] == 2000
    assert json.loads(run.out)["ert"] == pytest.approx(expected.ert, abs=1e-9)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--x", "regoin"], "Did you mean 'region'?"),
        (["--x", "std", "--kind", "point"], "points, which have no intervals"),
    ],
)
def test_features_that_cannot_be_used(trueline, past, options, message):
    run = trueline("evaluate", "past.csv", *options)
    assert run.code == 2
    assert message in run.err


def test_few_rows_with_features(trueline, past):
    Path("few.csv").write_text("y,mean,std,a\n" + "1,1,1,x\n2,2,1,y\n" * 20)
    run = trueline("evaluate", "few.csv", "--x", "a")
    assert "40 rows are too few to tell where 90% intervals hold" in run.out
    document = json.loads(trueline("evaluate", "few.csv", "--x", "a", "--json").out)
    assert document["ert"] is None


def test_evaluate_draws_of_counts(trueline, folder):
    values = np.random.default_rng(0).poisson(1.0, size=(300, 11)).astype(float)
    names = ["y", *(f"sample_{i}" for i in range(10))]
    csv.write_csv(pa.table(dict(zip(names, values.T, strict=True))), "draws.csv")
    expected = tl.evaluate(values[:, 0], tl.Samples(values[:, 1:]))
    document = json.loads(trueline("evaluate", "draws.csv", "--json").out)
    assert document["calibration_error"] == pytest.approx(expected.calibration_error, rel=1e-12)
    assert document["atoms"] == [asdict(atom) for atom in expected.atoms]
    run = trueline("evaluate", "draws.csv")
    assert run.out.endswith(f"{expected!r}\n")
    assert "outcome  observed  forecast" in run.out


def test_evaluate_few_draws(trueline, folder):
    values = np.random.default_rng(0).normal(size=(300, 11))
    names = ["y", *(f"sample_{i}" for i in range(10))]
    csv.write_csv(pa.table(dict(zip(names, values.T, strict=True))), "draws.csv")
    document = json.loads(trueline("evaluate", "draws.csv", "--json").out)
    assert document["coverage_expected"] == pytest.approx(9 / 11)
    assert document["verdict"]["coverage"] == "holds"
    assert "must under-cover" in document["verdict"]["reason"]


def test_infinite_numbers_are_null_in_json(trueline, past):
    run = trueline("evaluate", "past.csv", "--json", "--kind", "point")
    assert json.loads(run.out)["log_score"] is None


def test_a_point_forecast_has_no_intervals(trueline, past):
    run = trueline("evaluate", "past.csv", "--kind", "point")
    first, *rest = run.out.splitlines()
    assert first == "past.csv: 2,000 rows, point forecasts (mean)"
    assert "Point forecasts have no intervals of their own: fit a map to give them some." in rest


@pytest.mark.parametrize(
    "factor, verdict", [(3.0, "as they should, up to chance"), (9.0, "too wide")]
)
def test_the_verdict(trueline, folder, past, factor, verdict):
    rows = zip(past["y"], past["mean"], past["std"] * factor, strict=True)
    lines = [",".join(map(repr, map(float, row))) for row in rows]
    (folder / "f.csv").write_text("\n".join(["y,mean,std", *lines]))
    assert trueline("evaluate", "f.csv").out.splitlines()[-2].endswith(f": {verdict}.")


def test_evaluate_with_a_map(trueline, past):
    trueline("fit", "past.csv", "-o", "map.json")
    run = trueline("evaluate", "past.csv", "--map", "map.json")
    F = tl.Normal(past["mean"], past["std"])
    G = tl.Isotonic().fit(past["y"], F).transform(F)
    assert run.out.endswith(f"{tl.evaluate(past['y'], G, n_fit=2000)!r}\n")
    assert run.out.startswith(
        "past.csv: 2,000 rows, normal forecasts (mean, std), recalibrated by map.json\n"
    )
    assert run.err == (
        "note: the map was fitted on as many rows as past.csv has. If they are the same, judge it "
        "on others.\n"
    )


def test_fit_writes_the_map_of_the_python_api(trueline, folder, past):
    run = trueline("fit", "past.parquet", "-o", "map.json")
    assert run == (
        0,
        (
            "past.parquet: 2,000 rows, normal forecasts (mean, std)\n"
            "90% intervals held 41.6% of these rows: too narrow. The map makes them about 3 times "
            "as wide.\n"
            "map.json: Isotonic(), 2,000 scores\n"
            "judge it on other rows:    trueline evaluate other.csv --map map.json\n"
            "recalibrate new forecasts: trueline apply map.json new.csv -o calibrated.csv\n"
        ),
        "",
    )
    R = tl.Isotonic().fit(past["y"], tl.Normal(past["mean"], past["std"]))
    assert (folder / "map.json").read_text() == R.to_json()


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--method", "beta"], tl.BetaCalibration()),
        (["--group", "region"], tl.Grouped()),
        (["--group", "region", "--method", "grouped"], tl.Grouped()),
        (["--group", "region", "--method", "smooth"], tl.Grouped(tl.Smooth())),
    ],
)
def test_fit_with_a_method(trueline, past, options, expected):
    run = trueline("fit", "past.csv", "-o", "map.json", "--json", *options)
    groups, call = past["region"] if "--group" in options else None, repr(expected)
    expected.fit(past["y"], tl.Normal(past["mean"], past["std"]), groups=groups)
    found = tl.load("map.json")
    assert found.to_json() == expected.to_json()
    document = json.loads(run.out)
    assert document["method"] == call
    assert document["compression_error"] == 0
    assert document.get("groups") == (None if groups is None else ["north", "south"])


def test_fit_says_how_far_a_compressed_map_is_off(trueline, past):
    run = trueline("fit", "past.csv", "-o", "map.json", "--max-knots", "500")
    error = tl.load("map.json").compression_error_
    assert 0 < error < 0.01
    assert f"\nmap.json: Isotonic(), 500 scores, rank error below {error:.2g}\n" in run.out


def test_apply_writes_the_columns_asked_for(trueline, past):
    trueline("fit", "past.csv", "-o", "map.json")
    run = trueline(
        *("apply", "map.json", "past.csv", "-o", "out.parquet", "--coverage", "0.5"),
        *("--coverage", "0.9", "--quantiles", "0.1,0.5", "--quantiles", "0.9", "--prefix", "r_"),
    )
    assert run == (
        0,
        (
            "out.parquet: 2,000 rows of past.csv, normal forecasts (mean, std), recalibrated by "
            "map.json\n"
        ),
        "",
    )
    table = parquet.read_table("out.parquet")
    assert table.column_names[4:] == [
        *("r_lower_0.5", "r_upper_0.5", "r_lower_0.9", "r_upper_0.9", "r_q0.1", "r_q0.5", "r_q0.9")
    ]
    G = tl.load("map.json").transform(tl.Normal(past["mean"], past["std"]))
    np.testing.assert_array_equal(table["r_lower_0.9"].to_numpy(), G.interval(0.9)[0])
    np.testing.assert_array_equal(table["r_q0.9"].to_numpy(), G.ppf(0.9))


def test_what_apply_wrote_can_be_evaluated(trueline, past):
    trueline("fit", "past.csv", "-o", "map.json")
    trueline("apply", "map.json", "past.csv", "-o", "out.csv")
    run = trueline("evaluate", "out.csv", "--kind", "intervals")
    assert "90% intervals hold 90.0% of the time: as they should, up to chance." in run.out


def test_apply_as_json(trueline, past):
    trueline("fit", "past.csv", "-o", "map.json", "--group", "region")
    run = trueline("apply", "map.json", "past.csv", "-o", "out.csv", "--group", "region", "--json")
    assert json.loads(run.out) == {
        "file": "past.csv",
        "rows": 2000,
        "kind": "normal",
        "columns": ["mean", "std"],
        "map": "map.json",
        "out": "out.csv",
        "notes": [],
    }
    table = csv.read_csv("out.csv")
    F = tl.Normal(past["mean"], past["std"])
    G = tl.Grouped().fit(past["y"], F, groups=past["region"]).transform(F, groups=past["region"])
    np.testing.assert_array_equal(table["lower_0.9"].to_numpy(), G.interval(0.9)[0])


def test_notes_are_beside_the_result(trueline, folder):
    (folder / "few.csv").write_text("y,mean\n1,0\n2,0\n3,0\n")
    trueline("fit", "few.csv", "-o", "map.json")
    run = trueline("apply", "map.json", "few.csv", "-o", "out.csv")
    assert run.code == 0
    assert run.err == (
        "note: a 0.9 interval needs levels 0.05 to 0.95, which the calibration rows do not "
        "support: its ends are read off the extrapolated tails. Fit on at least 19 rows.\n"
    )
    assert json.loads(
        trueline("apply", "map.json", "few.csv", "-o", "out.csv", "--force", "--json").out
    )["notes"] == [run.err.removeprefix("note: ").rstrip()]


def test_named_columns_and_separators(trueline, folder):
    (folder / "f.csv").write_text("sales;forecast;sd\n1;2;3\n4;5;6\n")
    run = trueline(
        *("evaluate", "f.csv", "--separator", ";", "--y", "sales"),
        *("--mean", "forecast", "--std", "sd"),
    )
    assert run.out.startswith("f.csv: 2 rows, normal forecasts (forecast, sd)\n")
    (folder / "f.csv").write_text("y\tp_0.1\tp_0.9\n1\t2\t3\n4\t5\t6\n")
    run = trueline("evaluate", "f.csv", "--separator", "tab", "--quantile-columns", "p_")
    assert run.out.startswith("f.csv: 2 rows, quantile forecasts (p_0.1, p_0.9)\n")


# ---- report --------------------------------------------------------------------------


@pytest.fixture
def page(monkeypatch):
    """What `trueline.report` was called with, instead of a page."""
    calls = []

    def report(*args, **kwargs):
        calls.append((args, kwargs))

    monkeypatch.setattr(tl, "report", report, raising=False)
    return calls


def test_a_report_judges_the_half_that_did_not_fit(trueline, past, page):
    run = trueline("report", "past.csv", "-o", "r.html", "--x", "std", "--group", "region")
    assert run == (
        0,
        (
            "past.csv: 2,000 rows, normal forecasts (mean, std)\n"
            "a random 1,000 fitted a map, the other 1,000 judge it\n"
            "the page is r.html\n"
        ),
        "",
    )
    [((y, forecasts, path), options)] = page
    assert (str(path), options["n_fit"], options["title"]) == ("r.html", 1000, "past.csv")
    assert list(forecasts) == ["before", "after"]
    judged = np.isin(past["y"], y)
    assert judged.sum() == 1000
    np.testing.assert_array_equal(y, past["y"][judged])
    np.testing.assert_array_equal(options["groups"], past["region"][judged])
    np.testing.assert_array_equal(options["x"]["std"], past["std"][judged])
    F = tl.Normal(past["mean"], past["std"])
    R = tl.Grouped().fit(past["y"][~judged], F[~judged], groups=past["region"][~judged])
    after = R.transform(F[judged], groups=past["region"][judged])
    np.testing.assert_array_equal(forecasts["before"].ppf(0.3), F[judged].ppf(0.3))
    np.testing.assert_array_equal(forecasts["after"].ppf(0.3), after.ppf(0.3))


def test_another_seed_gives_another_half(trueline, past, page):
    for seed in ("0", "1", "0"):
        trueline("report", "past.csv", "-o", "r.html", "--random-state", seed)
    first, second, third = (args[0] for args, _ in page)
    np.testing.assert_array_equal(first, third)
    assert not np.array_equal(first, second)


def test_a_report_of_a_map_judges_all_rows(trueline, past, page):
    trueline("fit", "past.csv", "-o", "map.json", "--group", "region")
    run = trueline(
        *("report", "past.csv", "-o", "r.html", "--map", "map.json", "--group", "region"),
        *("--title", "Sales", "--unit", "EUR", "--coverage", "0.8", "--json"),
    )
    [((y, forecasts, _), options)] = page
    np.testing.assert_array_equal(y, past["y"])
    assert (options["title"], options["unit"], options["coverage"]) == ("Sales", "EUR", 0.8)
    F = tl.Normal(past["mean"], past["std"])
    after = tl.load("map.json").transform(F, groups=past["region"])
    np.testing.assert_array_equal(forecasts["after"].ppf(0.3), after.ppf(0.3))
    document = json.loads(run.out)
    assert (document["rows_fitted"], document["rows_judged"]) == (0, 2000)


def test_a_report_of_many_rows_says_that_they_were_drawn(trueline, past, page, monkeypatch):
    monkeypatch.setattr("trueline.files._layout._MOST_VALUES", 1500)
    run = trueline("report", "past.csv", "-o", "r.html")
    assert "500 of them were drawn at random\n" in run.out
    assert page[0][1]["title"] == "past.csv (500 of 2,000 rows, drawn at random)"
    assert len(page[0][0][0]) == 250


def test_a_page_is_written(trueline, folder, past):
    run = trueline("report", "past.csv", "-o", "r.html", "--x", "std")
    assert run.code == 0
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert "past.csv" in text
    assert "1,000" in text


# ---- the rest ------------------------------------------------------------------------


def test_the_version(trueline):
    assert trueline("--version") == (0, f"trueline {tl.__version__}\n", "")


def test_the_demo_runs(trueline, folder, monkeypatch):
    monkeypatch.setattr(demo, "main", lambda out, *, force: sys.stdout.write(f"wrote {out}\n"))
    assert trueline("demo") == (0, "wrote report.html\n", "")
    (folder / "report.html").write_text("precious")
    assert trueline("demo") == (
        2,
        "",
        "error: report.html is there already. Replace it with --force, or name another file.\n",
    )
    assert trueline("demo", "-o", "other.html").out == "wrote other.html\n"


def test_help_names_every_command(trueline):
    run = trueline("--help")
    assert run.code == 0
    for command in ("evaluate", "fit", "apply", "report", "demo"):
        assert f"\n  {command} " in run.out
        assert trueline(command, "--help").out.startswith(f"Usage: trueline {command} ")


def test_a_map_of_bytes(trueline, past):
    assert trueline("fit", "past.csv", "-o", "map.bin").code == 0
    trueline("fit", "past.csv", "-o", "map.json")
    assert tl.load("map.bin").to_json() == tl.load("map.json").to_json()
    assert Path("map.bin").stat().st_size < 0.5 * Path("map.json").stat().st_size
    for name in ("json", "bin"):
        run = trueline("apply", f"map.{name}", "past.csv", "-o", f"{name}.csv")
        assert run.code == 0
    assert Path("bin.csv").read_bytes() == Path("json.csv").read_bytes()
    assert "Did you mean 'map.bin'?" in trueline("apply", "mp.bin", "past.csv", "-o", "o.csv").err
    assert "expected the map first" in trueline("apply", "past.csv", "map.bin", "-o", "o.csv").err


@pytest.mark.usefixtures("past")
def test_an_online_map_is_applied_as_it_stands(trueline, folder):
    y, F = np.linspace(-2.0, 3.0, 40), tl.Normal(np.zeros(40), 1.0)
    tl.Online().fit(y, F).to_json("online.json")
    run = trueline("apply", "online.json", "past.csv", "-o", "out.csv")
    assert (run.code, run.err) == (0, "")
    assert (folder / "out.csv").read_text().startswith("y,mean,std,region,lower_0.9")


def test_the_support_of_outcomes(trueline, tmp_path):
    y = np.random.default_rng(0).poisson(1.0, size=300)
    table = pa.table({"y": y, "mean": np.ones(300), "std": np.ones(300)})
    csv.write_csv(table, "counts.csv")
    expected = tl.Isotonic().fit(y, tl.Normal(np.ones(300), 1.0))
    run = trueline("fit", "counts.csv", "-o", "counts.json")
    assert (run.code, run.err) == (0, "")
    assert "counts.json: Isotonic(), 300 scores\n" in run.out
    assert Path("counts.json").read_text() == expected.to_json()
    run = trueline("fit", "counts.csv", "-o", "low.json", "--support", "0:", "--json")
    document = json.loads(run.out)
    assert document["method"] == "Isotonic(support=Support(low=0.0))"
    assert (document["least_width"], document["atoms"]["low"], document["knots"]) == (0.0, 0.0, 300)
    run = trueline("fit", "counts.csv", "-o", "none.json", "--support", "none")
    assert "Isotonic(support=None), " in run.out
    run = trueline("fit", "counts.csv", "-o", "high.json", "--support", ":2")
    assert run.code != 0
    assert "which Support(high=2.0) excludes" in run.err
    run = trueline("fit", "counts.csv", "-o", "odd.json", "--support", "2")
    assert run.code != 0
    assert "--support is '2'; expected auto, none, counts, two or more values" in run.err
    values = ",".join(str(value) for value in range(12))
    run = trueline("fit", "counts.csv", "-o", "list.json", "--support", values, "--json")
    assert json.loads(run.out)["method"].startswith("Isotonic(support=Support(values=(0.0, 1.0, ")
