"""How results are written: pages from templates, tables, numbers, and the command."""

from __future__ import annotations

import csv
import io
import math
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reproduce import ExperimentError

_FINDINGS = """\
These are not the results of the full run, so they are given without comment. The committed page
`results/{name}/{name}.md` says what the full run shows.
"""
_QUICK = """

**This was a quick run. It only checks that the experiment works: its numbers mean nothing.**
"""


# ---- pages -----------------------------------------------------------------------------


def page(name: str, command: str, values: Mapping[str, str]) -> str:
    """Fill the template of an experiment, ``page.md`` in its folder.

    Every ``{{name}}`` is replaced by the value of that name. ``{{findings}}`` is the fixed text in
    ``findings.md`` if the command is that of the full run, and a remark otherwise. The page of a
    quick run says below its command that its numbers mean nothing.
    """
    home = Path(__file__).parent / name
    full = command == command_line(name, {})
    findings = (home / "findings.md").read_text("utf-8") if full else _FINDINGS.format(name=name)
    text = (home / "page.md").read_text("utf-8")
    made = values["made"] + quick_remark(command)
    for key, value in {"findings": findings, **values, "made": made}.items():
        text = text.replace("{{" + key + "}}", value.rstrip("\n"))
    return text


def quick_remark(command: str) -> str:
    """Return what the page of a quick run says; nothing for other runs."""
    return _QUICK.rstrip("\n") if "--quick" in command else ""


def made_by(command: str, packages: Sequence[str] = ()) -> str:
    """Return a sentence with the command and the versions of Python and the packages."""
    names = sorted({"numpy", "scipy", "scikit-learn", "trueline", *packages})
    versions = {"Python": platform.python_version()} | {name: version(name) for name in names}
    listed = ", ".join(f"{package} {number}" for package, number in versions.items())
    return f"Made by `{command}` with {listed}."


def command_line(name: str, options: Mapping[str, Any]) -> str:
    """Return the command that runs an experiment; options that are None or False are left out."""
    words = [name]
    for option, value in options.items():
        if value is True:
            words.append(f"--{option}")
        elif value is not None and value is not False:
            values = value if isinstance(value, list) else [value]
            words += [word for one in values for word in (f"--{option}", str(one))]
    return f'make reproduce ARGS="{shlex.join(words)}"'


def hours(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the time that the records took, with two decimals."""
    return f"{sum(record['seconds'] for record in records) / 3600:.2f}"


# ---- tables ----------------------------------------------------------------------------


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose other columns are numbers."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return f"| {' | '.join([first, *rest])} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(heads), line(rule), *map(line, rows)]) + "\n"


def comma_separated(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as CSV; None is an empty cell, and a float has all its digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


# ---- numbers ---------------------------------------------------------------------------


def number(value: float, error: float | None = None, decimals: int | None = None) -> str:
    """Format a value, by default with four figures, and its standard error."""
    places = _four_figures(value) if decimals is None else decimals
    text = f"{value:,.{places}f}"
    return text if error is None else f"{text} ± {error:,.{places}f}"


def _four_figures(value: float) -> int:
    """Return the number of decimals that gives four figures."""
    ordinary = 0.0 < abs(value) < math.inf
    return max(3 - math.floor(math.log10(abs(value))), 0) if ordinary else 3


def share(value: float, error: float | None = None, decimals: int = 1) -> str:
    """Format a share in percent, with its standard error."""
    return f"{number(100.0 * value, None if error is None else 100.0 * error, decimals)}%"


# ---- folders ---------------------------------------------------------------------------


def folder(path: Path) -> Path:
    """Create the folder for the results, before any work is done; raise if that fails."""
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
