"""The name - is standard input or output; messages then go to standard error."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.test_terminal import COMMAND, environment, in_terminal


@pytest.fixture
def content(folder, past):
    return (folder / "past.csv").read_bytes()


def test_evaluate_standard_input(trueline, content):
    expected = trueline("evaluate", "past.csv", "--group", "region").out
    run = trueline("evaluate", "-", "--group", "region", stdin=content)
    assert run == (0, expected.replace("past.csv", "standard input"), "")


def test_fit_and_apply_from_pipe_to_pipe(trueline, folder, content):
    summary = trueline("fit", "past.csv", "-o", "map.json").out
    document = (folder / "map.json").read_bytes()
    run = trueline("fit", "-", "-o", "-", stdin=content)
    assert (run.code, run.out.encode()) == (0, document)
    assert run.err.splitlines() == [
        summary.splitlines()[0].replace("past.csv", "standard input"),
        summary.splitlines()[1],
        "standard output: Isotonic(), 2,000 scores",
    ]
    trueline("apply", "map.json", "past.csv", "-o", "out.csv")
    expected = (folder / "out.csv").read_bytes()
    run = trueline("apply", "map.json", "-", "-o", "-", stdin=content)
    assert (run.code, run.out.encode()) == (0, expected)
    assert run.err == (
        "standard output: 2,000 rows of standard input, normal forecasts (mean, std), recalibrated "
        "by map.json\n"
    )
    run = trueline("apply", "-", "past.csv", "-o", "-", stdin=document)
    assert (run.code, run.out.encode()) == (0, expected)
    assert run.err.endswith(
        "of past.csv, normal forecasts (mean, std), recalibrated by standard input\n"
    )


def test_report_on_standard_output(trueline, content):
    run = trueline("report", "-", "-o", "-", stdin=content)
    assert run.code == 0
    assert run.out.startswith("<!doctype html>")
    assert run.out.endswith("</html>\n")
    assert run.err == (
        "standard input: 2,000 rows, normal forecasts (mean, std)\n"
        "a random 1,000 fitted a map, the other 1,000 judge it\n"
        "the page is standard output\n"
    )


def test_notes_and_errors_name_the_line(trueline):
    text = b"y;mean;std\n1;2;3\n4;;6\n"
    run = trueline("evaluate", "-", "--separator", ";", "--skip-missing", stdin=text)
    assert "1 of 2 rows left out" in run.out
    assert trueline("evaluate", "-", "--separator", ";", stdin=text) == (
        2,
        "",
        (
            "error: standard input, line 3, column 'mean': the value is missing; expected a "
            "number. Drop that row or fill it in, or leave out all such rows with --skip-missing.\n"
        ),
    )


@pytest.mark.parametrize(
    "arguments, stdin, message",
    [
        (
            ["evaluate", "-"],
            b"",
            "standard input is empty; expected rows of forecasts and outcomes.",
        ),
        (
            ["evaluate", "-"],
            b"y\tmean\n1\t2\n",
            (
                "standard input has its columns separated by tab, not by commas. Use --separator "
                "tab."
            ),
        ),
        (
            ["fit", "-", "-o", "-", "--json"],
            b"",
            (
                "-o - and --json both write to standard output; expected one of them. Name a file "
                "with -o, or leave out --json."
            ),
        ),
        (
            ["apply", "-", "-", "-o", "out.csv"],
            b"",
            (
                "- is given twice, but standard input can be read only once. Name a file for one "
                "of them."
            ),
        ),
        (
            ["apply", "map.json", "parts", "-o", "-"],
            b"",
            (
                "parts holds several files, which are written to a folder and not to a stream. "
                "Name a folder with -o."
            ),
        ),
    ],
)
def test_mistakes(trueline, folder, past, arguments, stdin, message):
    trueline("fit", "past.csv", "-o", "map.json")
    (folder / "parts").mkdir()
    (folder / "past.csv").rename(folder / "parts" / "past.csv")
    run = trueline(*arguments, stdin=stdin)
    assert (run.code, run.out) == (2, "")
    shown = run.err if "--json" not in arguments else re.sub(r'^{"error": "|"}$', "", run.err)
    assert shown.removeprefix("error: ").rstrip() == message


def test_a_terminal_is_not_read(folder):
    code, shown = in_terminal(["evaluate", "-"])
    assert (code, shown.strip()) == (
        2,
        (
            "error: - is standard input, which is this terminal; expected a pipe or a file, as in: "
            "cat forecasts.csv | trueline evaluate -"
        ),
    )


def test_a_terminal_obeys_nothing_in_the_rows(trueline, folder, past):
    trueline("fit", "past.csv", "-o", "map.json")
    (folder / "new.csv").write_text("mean,std,note\n1,2,a\x1b[2Jb\n")
    code, shown = in_terminal(["apply", "map.json", "new.csv", "-o", "-"])
    assert code == 0
    assert "\x1b" not in shown
    assert "1,2,a\\x1b[2Jb," in shown


@pytest.mark.parametrize("command", [["apply", "map.json"], ["fit"], ["report"]])
def test_a_reader_that_has_seen_enough(trueline, folder, past, command):
    trueline("fit", "past.csv", "-o", "map.json")
    child = subprocess.Popen(
        [*COMMAND, *command, "past.csv", "-o", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    child.stdout.close()  # before the first row is written
    assert b"Broken" not in child.stderr.read()
    child.stderr.close()
    assert child.wait() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_signal_leaves_nothing_of_a_pipe_behind(tmp_path):
    with subprocess.Popen(
        [*COMMAND, "evaluate", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(tmp_path)),
    ) as child:
        child.stdin.write(b"y,mean,std\n" + b"1,2,3\n" * 500_000)
        child.stdin.flush()  # returns once most of it was read
        time.sleep(0.2)
        assert os.listdir(tmp_path) == []  # noqa: PTH208
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 128 + signal.SIGTERM
        assert child.stderr.read() == b"stopped; nothing was left behind.\n"
    assert os.listdir(tmp_path) == []  # noqa: PTH208
