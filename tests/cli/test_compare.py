"""Forecasts side by side: of several files, and of one file before and after maps."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import trueline as tl


@pytest.fixture
def files(folder, past):
    """past.csv, and wide.parquet with the same rows and better forecasts."""
    names = ("y", "mean", "std", "region")
    columns = {name: past[name] for name in names} | {"std": 3.0 * past["std"]}
    parquet.write_table(pa.table(columns), "wide.parquet")
    return {
        "past": tl.Normal(past["mean"], past["std"]),
        "wide": tl.Normal(past["mean"], 3.0 * past["std"]),
    }


def test_several_files(trueline, past, files):
    expected = tl.compare(past["y"], files)
    run = trueline("compare", "past.csv", "wide.parquet")
    assert run == (
        0,
        (
            "past.csv: 2,000 rows, normal forecasts (mean, std)\n"
            "wide.parquet: 2,000 rows, normal forecasts (mean, std)\n"
            f"{expected!r}\n"
        ),
        "",
    )
    named = ["--name", "a\x1b[2J", "--name", "b", "--coverage", "0.5", "--json"]
    run = trueline("compare", "past.csv", "wide.parquet", *named)
    document = json.loads(run.out)
    F, G = files.values()
    found = tl.compare(past["y"], {"a\x1b[2J": F, "b": G}, coverage=0.5)
    assert {key: document[key] for key in found.to_dict()} == found.to_dict()
    assert [file["rows"] for file in document["files"]] == [2000, 2000]
    assert document["conclusion"] == found.conclusion
    assert "\x1b" not in run.out


def test_maps(trueline, past, files):
    F = files["past"]
    trueline("fit", "past.csv", "-o", "all.json")
    trueline("fit", "past.csv", "--group", "region", "-o", "apart.json")
    run = trueline(
        "compare", "past.csv", "--map", "all.json", "--map", "apart.json", "--group", "region"
    )
    after = {
        "all": tl.Isotonic().fit(past["y"], F).transform(F),
        "apart": tl.Grouped()
        .fit(past["y"], F, groups=past["region"])
        .transform(F, groups=past["region"]),
    }
    expected = tl.compare(past["y"], {"as given": F} | after)
    assert run.code == 0
    assert run.out == f"past.csv: 2,000 rows, normal forecasts (mean, std)\n{expected!r}\n"
    assert run.err == (
        "note: the map was fitted on as many rows as past.csv has. If they are the same, judge it "
        "on others.\n"
    )


def test_rows_of_a_group_may_depend_on_each_other_unless_a_map_needs_the_groups(
    trueline, past, files
):
    expected = tl.compare(past["y"], files, groups=past["region"])
    run = trueline("compare", "past.csv", "wide.parquet", "--group", "region")
    assert run.out.endswith(f"\n{expected!r}\n")
    assert "of 2,000 rows in 2 groups, 90% intervals" in run.out


def test_standard_input_is_one_of_them(trueline, folder, past, files):
    content = (folder / "past.csv").read_bytes()
    run = trueline("compare", "-", "wide.parquet", stdin=content)
    assert (run.code, run.err) == (0, "")
    assert '"wide" has the lowest CRPS, and its lead over "standard input" is clear' in run.out


def test_rows_that_are_missing_in_one_are_compared_in_none(trueline, folder, past, files):
    lines = (folder / "past.csv").read_text().splitlines()
    lines[5] = ",0,1,north"  # the fifth row
    (folder / "holes.csv").write_text("\n".join(lines))
    wide = parquet.read_table("wide.parquet")
    mean = past["mean"].copy()
    mean[7] = np.nan
    parquet.write_table(wide.set_column(1, "mean", pa.array(mean)), "wide.parquet")
    run = trueline("compare", "holes.csv", "wide.parquet", "--skip-missing")
    kept = np.setdiff1d(np.arange(2000), [4, 7])
    expected = tl.compare(
        past["y"][kept], {"holes": files["past"][kept], "wide": files["wide"][kept]}
    )
    assert run.code == 0
    assert run.out.endswith(f"\n1,998 of these rows are compared\n{expected!r}\n")


def test_the_same_rows_are_drawn_from_every_file(trueline, monkeypatch, past, files):
    """The files have different numbers of columns, and chunks."""
    monkeypatch.setattr("trueline.files._layout._MOST_VALUES", 1500)
    F = files["past"]
    draws = F.sample(7, random_state=0)
    columns = {"y": past["y"]} | {f"sample_{i}": draws[:, i] for i in range(7)}
    csv.write_csv(pa.table(columns), "draws.csv")
    run = trueline("compare", "past.csv", "draws.csv", "--json")
    assert (run.code, run.err) == (0, "")
    assert json.loads(run.out)["rows_compared"] == 1500 // 8


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["past.csv"],
            (
                "past.csv is one forecast; expected two or more. Name other files with the same "
                "rows, or maps with --map."
            ),
        ),
        (
            ["past.csv", "wide.parquet", "--map", "map.json"],
            (
                "--map compares one file before and after maps, and 2 files are given; expected "
                "one file, or no --map."
            ),
        ),
        (
            ["past.csv", "wide.parquet", "--name", "a"],
            (
                "--name is given 1 time for 2 forecasts; expected one for each: first the files, "
                "then the maps."
            ),
        ),
        (
            ["past.csv", "past.csv"],
            (
                "the name 'past.csv' is given to two forecasts; expected a different text for "
                "each. Name all forecasts with --name."
            ),
        ),
        (
            ["past.csv", "wide.parquet", "--name", " ", "--name", "a"],
            (
                "the name ' ' is empty; expected a different text for each. Name all forecasts "
                "with --name."
            ),
        ),
        (
            ["-", "-"],
            (
                "- is given twice, but standard input can be read only once. Name a file for one "
                "of them."
            ),
        ),
        (
            ["past.csv", "short.csv"],
            (
                "past.csv has 2,000 rows and short.csv has 1,999; expected the same rows in the "
                "same order. Keep the rows that all files have."
            ),
        ),
        (
            ["past.csv", "moved.csv"],
            (
                "the outcome of row 3 is 3 in past.csv and 4 in moved.csv, and 2 of 2,000 rows "
                "differ; expected the same rows in the same order. Sort both files by the same "
                "column."
            ),
        ),
    ],
)
def test_mistakes(trueline, folder, files, arguments, message):
    header, *lines = (folder / "past.csv").read_text().splitlines()
    lines[2:4] = ["3,0,1,north", "4,0,1,north"]
    (folder / "past.csv").write_text("\n".join([header, *lines]))
    (folder / "short.csv").write_text("\n".join([header, *lines[:-1]]))
    lines[2:4] = lines[3], lines[2]
    (folder / "moved.csv").write_text("\n".join([header, *lines]))
    assert trueline("compare", *arguments) == (2, "", f"error: {message}\n")
