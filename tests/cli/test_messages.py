"""Every mistake has its own message, exit code 2, and no traceback."""

import os
import sys

import pytest

from trueline.cli import _commands, main

FILES = {
    "past.csv": "y,mean,std\n1,2,3\n4,5,6\n",
    "points.csv": "y,mean\n1,2\n4,6\n",
    "grouped.csv": "y,mean,region\n1,2,a\n4,6,b\n",
    "empty.csv": "",
    "header.csv": "y,mean,std\n",
    "no_y.csv": "target,mean,std\n1,2,3\n",
    "text.csv": "y,mean,std\n1,2,3\n4,abc,6\n",
    "nan.csv": "y,mean,std\n1,2,3\n4,NaN,6\n",
    "zero.csv": "y,mean,std\n1,2,3\n4,5,0\n",
    "negative.csv": "y,mean,std\n1,2,-3\n",
    "mixed.csv": "y,mean,std,q0.1,q0.9\n1,2,3,4,5\n",
    "double.csv": "y,mean,mean\n1,2,3\n",
    "junk.parquet": "this is not Parquet, whatever its name says",
    "sheet.xlsx": "PK",
    "no.json": "no",
    "other.json": '{"format": "something else"}',
}


@pytest.fixture
def files(folder, trueline):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()
    (folder / "folder.json").mkdir()
    assert trueline("fit", "past.csv", "-o", "map.json").code == 0
    assert trueline("fit", "points.csv", "-o", "points.json").code == 0
    assert trueline("fit", "grouped.csv", "-o", "grouped.json", "--group", "region").code == 0
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "command, message",
    [
        ("evaluate pats.csv", "there is no file pats.csv. Did you mean 'past.csv'?"),
        ("evaluate zzz.csv", "there is no file zzz.csv."),
        (
            "evaluate folder",
            (
                "folder holds no files of forecasts; expected files that end in .parquet, .csv, "
                ".tsv, .arrow or .feather, in it or in its subfolders."
            ),
        ),
        ("evaluate empty.csv", "empty.csv is empty; expected rows of forecasts and outcomes."),
        (
            "evaluate header.csv",
            "header.csv holds the names of columns but no rows; expected rows.",
        ),
        (
            "evaluate no_y.csv",
            (
                "no_y.csv has no column 'y' with the outcomes; its columns are target, mean, std. "
                "Name one with --y. Did you mean --y target?"
            ),
        ),
        (
            "evaluate past.csv --std sdt",
            (
                "past.csv has no column 'sdt'; its columns are y, mean, std. Name one with --std. "
                "Did you mean 'std'?"
            ),
        ),
        (
            "fit text.csv -o new.json",
            (
                "text.csv, line 3, column 'mean': found 'abc'; expected a number. Fix or drop "
                "that row."
            ),
        ),
        (
            "fit nan.csv -o new.json",
            (
                "nan.csv, line 3, column 'mean': the value is missing (NaN); expected a number. "
                "Drop that row or fill it in, or leave out all such rows with --skip-missing."
            ),
        ),
        (
            "apply map.json zero.csv -o new.csv",
            (
                "zero.csv, line 3, column 'std': found 0; expected a number above 0. A forecast "
                "without spread is a point forecast (--kind point); otherwise add the noise that "
                "it leaves out."
            ),
        ),
        (
            "report negative.csv -o new.html",
            (
                "negative.csv, line 2, column 'std': found -3; expected a number above 0. A "
                "standard deviation is never negative; is this the logarithm of one?"
            ),
        ),
        (
            "evaluate mixed.csv",
            (
                "mixed.csv holds forecasts of several kinds: normal (mean, std); quantiles (q0.1, "
                "q0.9). Choose one: --kind normal or --kind quantiles."
            ),
        ),
        (
            "evaluate double.csv",
            "double.csv has two columns named 'mean'; expected every name once. Rename one.",
        ),
        (
            "evaluate sheet.xlsx",
            (
                "sheet.xlsx ends in .xlsx; expected a file that ends in .csv, .tsv, .parquet, "
                ".arrow or .feather. Save the sheet as CSV first."
            ),
        ),
        (
            "evaluate past.csv --separator ;;",
            "--separator is ';;'; expected one character, or tab.",
        ),
        (
            "evaluate past.csv --coverage 90",
            "--coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9.",
        ),
        (
            "apply map.json past.csv -o new.csv --coverage 1",
            "--coverage holds 1.0; expected levels in (0, 1).",
        ),
        (
            "apply map.json past.csv -o new.csv --quantiles 5,95",
            "--quantiles holds 5.0; expected levels in (0, 1). Write 5% as 0.05.",
        ),
        (
            "apply map.json past.csv -o new.csv --quantiles 0.1;0.9",
            "--quantiles holds '0.1;0.9'; expected levels such as 0.05,0.5,0.95.",
        ),
        # maps
        (
            "apply mpa.json past.csv -o new.csv",
            "there is no map mpa.json. Make one with trueline fit. Did you mean 'map.json'?",
        ),
        (
            "apply folder.json past.csv -o new.csv",
            "folder.json is a folder; expected a map that trueline fit wrote.",
        ),
        (
            "apply no.json past.csv -o new.csv",
            (
                "no.json is not a valid trueline map: its format is not 'trueline-recalibrator'. "
                "Write it again with trueline fit."
            ),
        ),
        (
            "evaluate past.csv --map other.json",
            (
                "other.json is not a valid trueline map: its format is not "
                "'trueline-recalibrator'. Write it again with trueline fit."
            ),
        ),
        (
            "apply past.csv map.json -o new.csv",
            (
                "map.json looks like a map and past.csv like forecasts; expected the map first: "
                "trueline apply map.json past.csv -o new.csv."
            ),
        ),
        (
            "apply points.json past.csv -o new.csv",
            (
                "the map was fitted on point forecasts, but past.csv holds normal forecasts "
                "(mean, std). Fit a map on forecasts of the same kind, or choose other columns "
                "with --kind."
            ),
        ),
        (
            "report points.csv --map map.json -o new.html",
            (
                "the map was fitted on forecasts with a mean and a standard deviation, but "
                "points.csv holds point forecasts (mean). Fit a map on forecasts of the same kind, "
                "or choose other columns with --kind."
            ),
        ),
        (
            "apply grouped.json grouped.csv -o new.csv",
            (
                "the map is one per group, so it needs the group of each row. Name the column "
                "with --group."
            ),
        ),
        (
            "apply points.json grouped.csv -o new.csv --group region",
            "points.json was fitted without groups. Leave out --group.",
        ),
        (
            "fit past.csv -o new.json --method grouped",
            "--method grouped fits one map per group. Name their column with --group.",
        ),
        # what is written
        (
            "fit past.csv -o map.json",
            "map.json is there already. Replace it with --force, or name another file.",
        ),
        (
            "fit past.csv -o new.txt",
            (
                "a map is written as JSON or as bytes; expected -o to end in .json or .bin, not "
                "new.txt."
            ),
        ),
        (
            "fit past.csv -o nowhere/new.json",
            "cannot write nowhere/new.json: there is no folder nowhere. Make it first.",
        ),
        (
            "fit past.csv -o folder.json --force",
            "folder.json is a folder; expected the name of a file to write.",
        ),
        (
            "apply map.json past.csv -o new.xls",
            (
                "new.xls ends in .xls; expected a file that ends in .csv, .tsv, .parquet, .arrow "
                "or .feather."
            ),
        ),
        (
            "apply map.json mixed.csv --kind normal -o new.csv --quantiles 0.1",
            (
                "mixed.csv has a column 'q0.1' already, which would be written. Give the new "
                "columns other names: --prefix recalibrated_."
            ),
        ),
        (
            "report past.csv -o new.pdf",
            "a report is a page; expected -o to end in .html, not new.pdf.",
        ),
        (
            "report past.csv -o new.html",
            (
                "past.csv has 2 rows; expected at least 20, because half of them fit a map and the "
                "other half judge it. Add rows, or give a map with --map."
            ),
        ),
    ],
)
def test_a_mistake_is_said_in_one_line(trueline, folder, files, command, message):
    assert trueline(*command.split(" ")) == (2, "", f"error: {message}\n")
    assert sorted(path.name for path in folder.iterdir()) == files


def test_a_file_that_is_no_parquet(trueline, files):
    run = trueline("evaluate", "junk.parquet")
    assert (run.code, run.out) == (2, "")
    start = "error: junk.parquet is damaged or not what its ending says: "
    assert run.err.startswith(start)
    assert run.err.endswith(". Write it again.\n")
    assert run.err.count("\n") == 1


def test_an_output_that_may_not_be_written(trueline, files, folder, monkeypatch):
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and real(path, mode))
    for command in (
        ("fit", "past.csv", "-o", "new.json"),
        ("apply", "map.json", "past.csv", "-o", "new.csv"),
        ("report", "past.csv", "-o", "new.html"),
    ):
        assert trueline(*command) == (
            2,
            "",
            (
                f"error: cannot write {command[-1]}: the folder may not be written to. Name "
                f"another with -o.\n"
            ),
        )
    assert sorted(path.name for path in folder.iterdir()) == files


@pytest.mark.parametrize(
    "command, said",
    [
        ("evalute past.csv", "No such command 'evalute'"),
        ("evaluate", "Missing argument"),
        ("fit past.csv", "Missing option '--out' / '-o'"),
        ("fit past.csv -o new.json --method isotnic", "isotnic"),
        ("evaluate past.csv --sperator x", "No such option: --sperator"),
        ("evaluate past.csv --coverage much", "Invalid value for '--coverage'"),
    ],
)
def test_a_misspelt_command_line(trueline, files, command, said):
    run = trueline(*command.split(" "))
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    assert "Traceback" not in run.err


def test_what_is_our_mistake_keeps_its_traceback(files, monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("ours")

    monkeypatch.setattr(_commands.files, "evaluate", broken)
    monkeypatch.setattr(sys, "argv", ["trueline", "evaluate", "past.csv"])
    with pytest.raises(ValueError, match="ours"):
        main()
