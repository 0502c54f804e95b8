"""The commands take folders of files as they take a file."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from pyarrow import parquet

import trueline as tl

# Chunks of a few rows, pieces of a few chunks.
SMALL = """
import sys
from trueline.files import _source
_source.PIECE = 500
_source._MOST_ROWS = 100
"""


@pytest.fixture
def parts(past, folder):
    """The rows of past.parquet in a folder of three files."""
    table = parquet.read_table("past.parquet")
    (folder / "past").mkdir()
    for i, (start, rows) in enumerate([(0, 700), (700, 300), (1000, 1000)]):
        parquet.write_table(table.slice(start, rows), folder / "past" / f"{i}.parquet")
    return past


def test_evaluate(trueline, parts):
    one, many = trueline("evaluate", "past.parquet"), trueline("evaluate", "past/")
    assert (many.code, many.err) == (0, "")
    assert many.out == one.out.replace("past.parquet", "past")
    document = json.loads(trueline("evaluate", "past", "--json", "--group", "region").out)
    assert (document["file"], document["rows"]) == ("past", 2000)
    assert list(document["groups"]) == ["north", "south"]


def test_a_pattern(trueline, parts):
    run = trueline("evaluate", "past/[01].parquet")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("past/[01].parquet: 1,000 rows, normal forecasts (mean, std)\n")


def test_fit_apply_and_report(trueline, folder, parts):
    run = trueline("fit", "past", "-o", "map.json")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("past: 2,000 rows, normal forecasts (mean, std)\n90% intervals held")
    assert "\nmap.json: Isotonic(), 2,000 scores\n" in run.out
    F = tl.Normal(parts["mean"], parts["std"])
    R = tl.Isotonic().fit(parts["y"], F)
    assert tl.load(folder / "map.json").to_json() == R.to_json()
    run = trueline("apply", "map.json", "past", "-o", "out")
    assert (run.code, run.err) == (0, "")
    assert run.out == (
        "out: 2,000 rows of past, normal forecasts (mean, std), recalibrated by map.json\n"
    )
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "0.parquet",
        "1.parquet",
        "2.parquet",
    ]
    out = parquet.read_table(folder / "out")
    np.testing.assert_array_equal(out["lower_0.9"].to_numpy(), R.transform(F).interval(0.9)[0])
    run = trueline("report", "past", "-o", "page.html")
    assert run.code == 0
    assert (folder / "page.html").exists()


def test_a_folder_that_is_there(trueline, folder, parts):
    assert trueline("fit", "past", "-o", "map.json").code == 0
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("precious")
    run = trueline("apply", "map.json", "past", "-o", "out")
    assert (run.code, run.err) == (
        2,
        "error: out is there already. Replace it with --force, or name another folder.\n",
    )
    run = trueline("apply", "map.json", "past", "-o", "out", "--force")
    assert (run.code, run.err) == (
        2,
        (
            "error: out holds notes.txt, which would be deleted; expected nothing but files that "
            "are written anew. Delete it yourself, or name another folder.\n"
        ),
    )
    assert (folder / "out" / "notes.txt").read_text() == "precious"
    run = trueline("apply", "map.json", "past", "-o", "out.csv")
    assert (run.code, run.err) == (
        2,
        (
            "error: out.csv is the name of a file, but several files are written to a folder. "
            "Name a folder with -o.\n"
        ),
    )


@pytest.mark.parametrize("command", ["fit", "apply"])
def test_an_interrupt_while_threads_work(trueline, folder, parts, command):
    assert trueline("fit", "past", "-o", "map.json").code == 0
    before = sorted(path.name for path in folder.iterdir())
    arguments = {
        "fit": ["fit", "past", "-o", "new.json"],
        "apply": ["apply", "map.json", "past", "-o", "out"],
    }[command]
    code = (
        f"{SMALL}\nimport os, signal\nfrom trueline import _progress\n"
        f"_progress.Display.__call__ = lambda *_: os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        f"sys.argv = ['trueline', *{arguments!r}]\nfrom trueline.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "stopped; nothing was left behind.\n"
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_full_disk(trueline, folder, parts):
    assert trueline("fit", "past", "-o", "map.json").code == 0
    before = sorted(path.name for path in folder.iterdir())
    code = (
        "import resource, sys\nimport trueline.cli._commands\n"
        "_, most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))\n"
        "sys.argv = ['trueline', 'apply', 'map.json', 'past', '-o', 'out']\n"
        "from trueline.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    named = done.stderr.replace(os.sep, "/")
    assert named == (
        "error: cannot write out/0.parquet: the disk is full. Nothing was left behind; make room, "
        "or write to another disk.\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == before
