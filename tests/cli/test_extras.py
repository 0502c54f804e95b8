"""Without the extra, the script says how to get it."""

import subprocess
import sys

import pytest

import trueline as tl


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_the_command_line_asks_for_its_extra(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from trueline.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"trueline: the command line needs {missing}, which is not installed. Install it with: "
        f'pip install "pyarrow>=17" "rich>=13.8" "typer>=0.26"\n'
    )


def test_the_version_needs_no_extra():
    code = (
        "import sys; sys.modules['typer'] = sys.modules['rich'] = None; "
        "sys.argv = ['trueline', '--version']; from trueline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"trueline {tl.__version__}\n", "")


def test_files_ask_for_pyarrow(trueline, folder, monkeypatch):
    (folder / "past.csv").write_text("y,mean\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert trueline("evaluate", "past.csv") == (
        2,
        "",
        (
            "error: reading or writing files needs pyarrow, which cannot be imported (import of "
            'pyarrow halted; None in sys.modules). Install it with: pip install "pyarrow>=17"\n'
        ),
    )


def test_the_module_is_the_script():
    done = subprocess.run(
        [sys.executable, "-m", "trueline", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("trueline ")
