"""Hints at packages to install agree with pyproject.toml."""

import tomllib
from pathlib import Path

from trueline._messages import EXTRAS


def test_hints_name_what_the_extras_need():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    expected = {name: " ".join(f'"{package}"' for package in extras[name]) for name in EXTRAS}
    assert expected == EXTRAS
    assert extras.keys() - EXTRAS.keys() == {"dev", "docs"}  # no message asks for these
