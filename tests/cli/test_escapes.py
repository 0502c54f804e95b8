"""Names from files are printed, but a terminal never obeys them."""

import json
import sys

import pytest

from tests.cli.test_terminal import in_terminal
from trueline.cli import _commands

# This writes to the clipboard, clears the screen in two ways, goes back in the line and over it,
# turns the direction of text, hides a character and begins another line in three ways.
HOSTILE = "\x1b]52;c;cHduZWQ=\x07\x1b[2J\x9b2J\r\b\x7f\u202e\u2066\u200b\u2028\u2029\nerror: no [b]"
SHOWN = (
    r"\x1b]52;c;cHduZWQ=\x07\x1b[2J\x9b2J\r\x08\x7f\u202e\u2066\u200b\u2028\u2029\nerror: no [b]"
)

# The name of a file, its text, and the command.
PLACES = {
    "group": ("a.csv", 'y,mean,std,g\n1,2,3,"{0}"\n4,5,6,"{0}"\n', "evaluate a.csv --group g"),
    "column": ("a.csv", '"{0}",mean,std\n1,2,3\n', "evaluate a.csv"),
    "column that is used": ("a.csv", 'y,"{0}",std\n1,2,3\n', "evaluate a.csv --mean {0}"),
    "two columns": ("a.csv", 'y,mean,"{0}","{0}"\n1,2,3,4\n', "evaluate a.csv"),
    "value": ("a.csv", 'y,mean,std\n1,2,3\n1,"{0}",4\n', "evaluate a.csv"),
    "file": ("{0}.csv", "y,mean,std\n1,2,3\n4,5,6\n", "evaluate {0}.csv"),
    "file to write": ("a.csv", "y,mean,std\n1,2,3\n4,5,6\n", "fit a.csv -o {0}.json"),
    "file that is not there": ("a.csv", "", "evaluate {0}.csv"),
    "map that is not there": ("a.csv", "", "apply {0}.json a.csv -o b.csv"),
    "map": ("{0}.json", '{{"format": "{0}"}}', "apply {0}.json a.csv -o b.csv"),
    "folder": ("g={0}/a.csv", "y,mean,std\n1,2,3\n4,5,6\n", "evaluate . --group g"),
    "argument too many": ("{0}.csv", "", "evaluate a.csv {0}.csv"),
    "option": ("a.csv", "", "evaluate a.csv --kind {0}"),
    "separator": ("a.csv", "y,mean\n1,2\n", "evaluate a.csv --separator {0}"),
}


@pytest.mark.parametrize("name, text, command", PLACES.values(), ids=PLACES)
def test_no_name_reaches_the_terminal_as_it_is(name, text, command, folder, trueline):
    path = folder / name.format(HOSTILE)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.format(HOSTILE), newline="")
    arguments = [word.format(HOSTILE) for word in command.split()]
    plain = trueline(*arguments)
    said = plain.out + plain.err
    assert r"\x1b]52;c;cHduZWQ=\x07" in said  # shown, so that the user can see what is there
    assert all(c.isprintable() or c == "\n" for c in said)
    assert not any(line.startswith("error: no") for line in said.splitlines())
    machine = trueline(*arguments, "--json", *(["--force"] if "fit" in command else []))
    said = machine.out + machine.err
    assert all(c.isprintable() or c == "\n" for c in said)
    assert json.loads(said)


def test_json_has_the_true_names(folder, trueline):
    (folder / "a.csv").write_text(f'y,mean,std,g\n1,2,3,"{HOSTILE}"\n', newline="")
    found = json.loads(trueline("evaluate", "a.csv", "--group", "g", "--json").out)
    assert list(found["groups"]) == [HOSTILE]


def test_a_bar_on_a_terminal(folder):
    (folder / f"{HOSTILE}.csv").write_text("y,mean,std\n1,2,3\n4,5,6\n")
    code, shown = in_terminal(["evaluate", f"{HOSTILE}.csv"])
    assert code == 0
    assert "\x1b]52" not in shown
    assert not {"\x07", "\x9b", "\x7f", "\u202e", "\u2028"} & set(shown)
    assert f"{SHOWN}.csv: 2 rows" in shown


def test_a_name_that_is_not_utf8(folder, trueline):
    name = b"\xff.csv".decode(errors="surrogateescape")
    (folder / name).write_text("y,mean,std\n1,2,3\n4,5,6\n")
    assert trueline("evaluate", name).out.startswith(r"\udcff.csv: 2 rows")


def test_a_traceback(folder, trueline, monkeypatch, capsys):
    def fault(*_):
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr(_commands, "evaluate", fault)
    with pytest.raises(RuntimeError) as caught:
        trueline("evaluate", "a.csv")
    sys.excepthook(caught.type, caught.value, caught.tb)
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert all(c.isprintable() or c == "\n" for c in said)
