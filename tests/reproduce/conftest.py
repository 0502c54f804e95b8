"""The command line of the experiments, in a folder of its own."""

import sys

import pytest

from reproduce.command import main
from tests.cli.conftest import Run, folder  # noqa: F401


@pytest.fixture
def command(folder, monkeypatch, capsys):  # noqa: F811
    """Run a command line such as ``command("table1", "--quick")``."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["reproduce", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return Run(int(stopped.value.code or 0), printed.out, printed.err)

    return run
