"""A bar on a terminal, plain lines in a pipe, and a quick start."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "trueline"]
# The same command with a bar from the start; usually short work has none.
WITH_BAR = """
from trueline import _progress
_progress._SOON = 0.0
from trueline.cli import main
main()
"""


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "TERM": "xterm-256color", "COLUMNS": "100", **more}


def in_terminal(arguments: list[str], command: list[str] = COMMAND, **more: str) -> tuple[int, str]:
    """Run with a terminal at both ends; return the exit code and all that it showed."""
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen(
            [*command, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(**more),
        )
    finally:
        os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return child.wait(), shown.decode()


def in_pipe(arguments: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(**more),
        check=False,
    )


@pytest.mark.parametrize(
    "arguments, label",
    [
        (["evaluate", "past.csv"], "evaluating past.csv"),
        (["fit", "past.parquet", "-o", "map.json"], "fitting on past.parquet"),
    ],
)
@pytest.mark.usefixtures("past")
def test_a_terminal_shows_a_bar_and_a_pipe_no_control_codes(arguments, label, folder):
    code, shown = in_terminal(arguments, [sys.executable, "-c", WITH_BAR])
    assert code == 0
    assert "\x1b[" in shown
    assert label in shown
    assert "2,000 rows" in shown
    assert re.search(r"100%", shown)
    assert "━" in shown

    piped = in_pipe([*arguments, *(["--force"] if "fit" in arguments else [])])
    assert piped.returncode == 0
    assert "\x1b" not in piped.stdout + piped.stderr
    assert piped.stderr == ""
    # what is left on the screen is what the pipe got
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "")
    assert plain.endswith(piped.stdout)


@pytest.mark.usefixtures("past")
def test_no_color_is_respected(folder):
    colour = re.compile(r"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-7])[0-9;]*m")
    arguments, command = ["evaluate", "past.csv"], [sys.executable, "-c", WITH_BAR]
    assert colour.search(in_terminal(arguments, command)[1])
    assert not colour.search(in_terminal(arguments, command, NO_COLOR="1")[1])


@pytest.mark.usefixtures("past")
def test_short_work_shows_no_bar_on_a_terminal(folder):
    code, shown = in_terminal(["evaluate", "past.csv"])
    assert code == 0
    assert "evaluating past.csv" not in shown


@pytest.mark.usefixtures("past")
def test_json_in_a_pipe_is_json_alone(folder):
    piped = in_pipe(["evaluate", "past.csv", "--json"])
    assert json.loads(piped.stdout)["rows"] == 2000
    assert piped.stderr == ""


def test_a_mistake_in_a_pipe_is_one_plain_line(folder):
    piped = in_pipe(["evaluate", "nothing.csv"])
    assert piped.returncode == 2
    assert piped.stdout == ""
    assert piped.stderr == "error: there is no file nothing.csv.\n"


@pytest.mark.usefixtures("past")
def test_a_reader_that_has_seen_enough(folder):
    # The reading end is closed before anything is written.
    read, write = os.pipe()
    os.close(read)
    child = subprocess.Popen(
        [*COMMAND, "evaluate", "past.csv"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert child.communicate()[1] == ""
    assert child.returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_loads_nothing_that_is_slow(arguments):
    code = (
        "import sys\nfrom trueline.cli import main\n"
        f"sys.argv = ['trueline', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"numpy", "scipy", "pyarrow", "pandas", "sklearn", "matplotlib"}
    assert not slow & set(done.stderr.split())


@pytest.mark.parametrize(
    "typed, offered",
    [("trueline ev", "evaluate"), ("trueline fit --meth", "--method"), ("trueline re", "report")],
)
def test_shells_complete_commands_and_options(typed, offered):
    words = typed.split()
    done = in_pipe(
        [],
        _TRUELINE_COMPLETE="complete_bash",
        COMP_WORDS=typed,
        COMP_CWORD=str(len(words) - 1),
    )
    assert offered in done.stdout.split()
