"""The option --skip-missing: what the commands print, and the error without it."""

import json

import pytest

HOLES = "y,mean,std\n" + "".join(f"{i % 7},3,1\n" for i in range(40)) + ",3,1\n5,NA,1\n"
LEFT_OUT = "2 of 42 rows left out, because the outcome or the forecast is missing"


@pytest.fixture
def holes(folder):
    (folder / "f.csv").write_text(HOLES)
    return folder / "f.csv"


def test_the_commands_say_how_many_rows_they_leave_out(trueline, holes):
    fit = trueline("fit", "f.csv", "--skip-missing", "-o", "map.json")
    assert fit.out.splitlines()[:2] == [
        "f.csv: 40 rows, normal forecasts (mean, std)",
        LEFT_OUT,
    ]
    assert trueline("evaluate", "f.csv", "--skip-missing").out.splitlines()[1] == LEFT_OUT
    report = trueline("report", "f.csv", "--skip-missing", "-o", "r.html")
    assert report.out.splitlines()[1] == LEFT_OUT
    apply = trueline("apply", "map.json", "f.csv", "--skip-missing", "-o", "out.csv")
    assert apply.out.splitlines() == [
        "out.csv: 42 rows of f.csv, normal forecasts (mean, std), recalibrated by map.json",
        "1 of 42 rows have empty cells in the new columns, because the forecast is missing",
    ]
    assert (holes.parent / "out.csv").read_text().splitlines()[-1] == "5,NA,1,,"
    document = json.loads(trueline("evaluate", "f.csv", "--skip-missing", "--json").out)
    assert (document["rows"], document["rows_skipped"]) == (40, 2)


def test_the_error_names_the_option(trueline, holes):
    assert trueline("evaluate", "f.csv") == (
        2,
        "",
        (
            "error: f.csv, line 43, column 'mean': the value is missing (NA); expected a number. "
            "Drop that row or fill it in, or leave out all such rows with --skip-missing.\n"
        ),
    )


def test_a_file_of_missing_values(trueline, folder):
    (folder / "f.csv").write_text("y,mean,std\n,1,2\n")
    assert trueline("evaluate", "f.csv", "--skip-missing") == (
        2,
        "",
        (
            "error: f.csv has no row to use: the outcome or the forecast is missing in its only "
            "row; expected at least one row without missing values. Its columns are mean, std, "
            "y.\n"
        ),
    )
