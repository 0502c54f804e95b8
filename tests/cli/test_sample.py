"""The example files: the other commands run on them as they stand."""

import numpy as np
import pytest
from pyarrow import csv, parquet


def test_two_files_of_one_history(trueline, folder):
    run = trueline("sample", "past.csv", "new.parquet", "--rows", "300")
    assert run == (
        0,
        (
            "past.csv: 300 rows of made-up forecasts that are too sure\n"
            "new.parquet: 150 rows of made-up forecasts that are too sure\n"
        ),
        "",
    )
    past, new = csv.read_csv("past.csv"), parquet.read_table("new.parquet")
    assert past.column_names == new.column_names == ["day", "store", "y", "mean", "std"]
    assert (past.num_rows, new.num_rows) == (300, 150)
    assert str(past["day"][-1]) == "2023-04-10"
    assert str(new["day"][0]) == "2023-04-11"


def test_forecasts_are_as_far_off_as_they_should_be(trueline, folder):
    """Standardised residuals are normal, with the mean square of three factors."""
    trueline("sample", "past.csv", "--rows", "30000")
    table = csv.read_csv("past.csv")
    y, mean, std = (table[name].to_numpy() for name in ("y", "mean", "std"))
    z = ((y - mean) / std).reshape(-1, 3)  # a row per day, a column per store
    # The square of a normal variable has a variance of 2; this is four standard errors.
    off = z.var(axis=0) / np.square([1.6, 2.0, 2.4]) - 1.0
    assert np.abs(off).max() < 4 * np.sqrt(2 / 10_000)


def test_a_seed_gives_a_history(trueline, folder):
    texts = [trueline("sample", "-", "--rows", "9", "--random-state", s).out for s in "010"]
    assert texts[0] == texts[2] != texts[1]
    assert texts[0].startswith("day,store,y,mean,std\n2023-01-01,north,")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["there.csv"],
            "there.csv is there already. Replace it with --force, or name another file.",
        ),
        (
            ["a.csv", "there.csv"],
            "there.csv is there already. Replace it with --force, or name another file.",
        ),
        (
            ["a.csv", "b.txt"],
            (
                "b.txt ends in .txt; expected a file that ends in .csv, .tsv, .parquet, .arrow or "
                ".feather."
            ),
        ),
        (
            ["a.csv", "a.csv"],
            (
                "PAST is a.csv and NEW is a.csv; expected two files of different names, or PAST "
                "alone for -."
            ),
        ),
    ],
)
def test_what_is_wrong_with_the_files(trueline, folder, arguments, message):
    (folder / "there.csv").write_text("mine")
    assert trueline("sample", *arguments) == (2, "", f"error: {message}\n")
    assert [path.name for path in folder.iterdir()] == ["there.csv"]
    assert (folder / "there.csv").read_text() == "mine"
