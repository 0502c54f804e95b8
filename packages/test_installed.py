"""What the environments are for: nothing is left untested, nothing is loaded unasked."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import environments
import pytest

from conftest import ABSENT, NAME, module, needs

HERE = Path(__file__).parent


@pytest.mark.parametrize("package", environments.listed(NAME))
def test_a_listed_package_is_there_and_imports(package):
    if package in ABSENT:
        pytest.skip(f"{package} cannot be installed: {ABSENT[package]}")
    assert importlib.import_module(module(package))


def test_importing_trueline_loads_none_of_them():
    theirs = {module(package) for package in environments.listed(NAME)}
    code = "import sys, trueline; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "trueline" in loaded
    assert not loaded & theirs


def test_every_test_file_runs_in_some_environment():
    lists = [{*environments.listed(name), *environments.BASE} for name in environments.names()]
    files = [path.stem for path in HERE.glob("test_*.py")]
    nowhere = [stem for stem in files if not any(set(needs(stem)) <= each for each in lists)]
    assert not nowhere


def test_every_listed_package_is_tested():
    files = [path.stem for path in HERE.glob("test_*.py")]
    tested = {package for stem in files for package in needs(stem)}
    assert tested >= set(environments.listed(NAME))
