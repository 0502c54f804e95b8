"""How results are written down: tables, and what it takes to make them again."""

from __future__ import annotations

import csv
import io
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reproduce import EXPERIMENTS, ExperimentError

_NEEDED = ("numpy", "scipy", "scikit-learn", "trueline")


def made_by(name: str, options: Mapping[str, Any], also: Sequence[str] = ()) -> str:
    """Return a sentence with the command, the versions and what `also` names of packages.

    Options that have their default go without saying, and so does where the results went.
    """
    numbers = {"Python": platform.python_version()}
    numbers |= {package: version(package) for package in sorted({*_NEEDED, *also})}
    told = ", ".join(f"{package} {number}" for package, number in numbers.items())
    return f"Made by `{command(name, options)}` with {told}."


def command(name: str, options: Mapping[str, Any]) -> str:
    """Return the command line that runs an experiment with these options."""
    words = ["trueline", "reproduce", name]
    for option in EXPERIMENTS[name].options:
        value = options.get(option.name, option.default)
        if option.name == "output" or value == option.default:
            continue
        flag = "--" + option.name.replace("_", "-")
        if option.kind is bool:
            words.append(flag)
        else:
            several = value if isinstance(value, list | tuple) else [value]
            words += [word for one in several for word in (flag, str(one))]
    return shlex.join(words)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join([first, *rest])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(heads), line(rule), *map(line, rows)]) + "\n"


def comma_separated(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def folder(path: Path) -> Path:
    """Make the folder for results, before the work; say so if that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        reason = None if os.access(path, os.W_OK | os.X_OK) else "it may not be written to"
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise ExperimentError(
            f"cannot write to the folder {path}: {reason}. Name another with --output."
        )
    return path
