"""A disk that fills up and a process that is stopped leave nothing half-written."""

import subprocess
import sys

import pytest

COMMANDS = {
    "fit": ["fit", "past.csv", "-o", "new.json"],
    "to csv": ["apply", "map.json", "past.csv", "-o", "new.csv"],
    "to parquet": ["apply", "map.json", "past.csv", "-o", "new.parquet"],
    "to arrow": ["apply", "map.json", "past.csv", "-o", "new.arrow"],
    "report": ["report", "past.csv", "-o", "new.html"],
}

# No file may grow beyond this many bytes: to the program that is a full disk.
FULL_DISK = """
import resource, sys
import trueline.cli._commands
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, most))
"""

# A signal from outside, at the moment when the first rows have been read.
STOPPED = """
import os, signal, sys
from trueline import _progress
_progress.Display.__call__ = lambda *_: os.kill(os.getpid(), signal.{signal})
"""


def run(prelude: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    code = (
        f"{prelude}\nsys.argv = ['trueline', *{arguments!r}]\nfrom trueline.cli import main\nmain()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.fixture
def there(folder, past, trueline):
    assert trueline("fit", "past.csv", "-o", "map.json").code == 0
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk(folder, there, arguments):
    done = run(FULL_DISK, arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: cannot write {arguments[-1]}: the disk is full. Nothing was left behind; make "
        f"room, or write to another disk.\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == there


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_file_that_was_there_outlives_a_full_disk(folder, there, arguments):
    (folder / arguments[-1]).write_text("precious")
    assert run(FULL_DISK, [*arguments, "--force"]).returncode == 2
    assert (folder / arguments[-1]).read_text() == "precious"


@pytest.mark.parametrize("signal, code", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("name", ["fit", "to csv", "to parquet"])
def test_an_interrupt(folder, there, name, signal, code):
    # A parent may have passed on that it ignores the signal, as nohup does.
    heard = f"import signal\nsignal.signal(signal.{signal}, signal.SIG_DFL)\n"
    heard = "" if signal == "SIGINT" else heard
    done = run(heard + STOPPED.format(signal=signal), COMMANDS[name])
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "stopped; nothing was left behind.\n"
    assert sorted(path.name for path in folder.iterdir()) == there


def test_nohup_is_respected(folder, there):
    ignored = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    done = run(ignored + STOPPED.format(signal="SIGHUP"), COMMANDS["fit"])
    assert done.returncode == 0
    assert (folder / "new.json").exists()
