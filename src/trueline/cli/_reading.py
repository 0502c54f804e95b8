"""What commands read: files, standard input and maps; and how outputs are described."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueline._load import load
from trueline._messages import count, did_you_mean, listed, percent
from trueline._validation import level
from trueline._warnings import warn
from trueline.cli._standard import is_standard, standard_input
from trueline.files import (
    Columns,
    FileError,
    Forecasts,
    open_forecasts,
    open_stream,
)
from trueline.recalibration import BY_NAME, Grouped, Recalibrator

# Endings of the files of maps.
MAPS = (".json", ".bin")
# The most bytes of a map from standard input, which are those of `trueline.load`.
_LARGEST_MAP = 1 << 28


class TextFormat(NamedTuple):
    """How files are read; for a text file, None stands for the default of its ending."""

    separator: str | None
    decimal: str | None
    skip_missing: bool


def open_input(file: Path, text: TextFormat, columns: Columns, *, y: bool = True) -> Forecasts:
    """Open a file, a folder or standard input, and find the columns."""
    separator = text.separator
    if separator is not None:
        separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
        if len(separator) != 1:
            raise FileError(f"--separator is {separator!r}; expected one character, or tab.")
    if columns.coverage is not None:
        share(columns.coverage)
    options: dict[str, Any] = {"decimal": text.decimal, "skip_missing": text.skip_missing, "y": y}
    if is_standard(file):
        stream = standard_input("cat forecasts.csv | trueline evaluate -")
        options["name"] = "standard input"
        return open_stream(stream, columns, separator=separator, **options)
    return open_forecasts(file, columns, separator=separator, **options)


def skipped_in_words(forecasts: Forecasts, what: str = "left out") -> list[str]:
    """Return a line with the number of rows that a missing value made unusable, if any."""
    skipped = forecasts.source.skipped
    if not skipped:
        return []
    in_all = count(forecasts.source.rows + skipped, "row")
    return [f"{skipped:,} of {in_all} {what}, because {forecasts.missing()} is missing"]


def about(rows: int, forecasts: Forecasts) -> dict[str, Any]:
    """Describe the input for the output in JSON."""
    layout = forecasts.layout
    skipped = {"rows_skipped": forecasts.source.skipped} if forecasts.skip_missing else {}
    return {
        "file": str(forecasts.source.path),
        "rows": rows,
        **skipped,
        "kind": layout.kind,
        "columns": list(layout.forecast),
    }


def load_map(map_file: Path) -> Recalibrator:
    """Read a map; raise a FileError if it cannot be read."""
    if is_standard(map_file):
        return _load_standard_input()
    if map_file.is_dir():
        raise FileError(f"{map_file} is a folder; expected a map that trueline fit wrote.")
    try:
        return load(map_file)
    except FileNotFoundError:
        beside = map_file.parent.iterdir() if map_file.parent.is_dir() else ()
        maps = [path.name for path in beside if path.suffix.lower() in MAPS]
        hint = did_you_mean(map_file.name, maps)
        raise FileError(f"there is no map {map_file}. Make one with trueline fit.{hint}") from None
    except OSError as error:
        raise FileError(f"cannot read {map_file}: {error.strerror}.") from None
    except ValueError as error:
        raise FileError(*error.args) from None


def _load_standard_input() -> Recalibrator:
    stream = standard_input("cat map.json | trueline apply - new.csv -o out.csv")
    data = stream.read(_LARGEST_MAP + 1)
    if len(data) > _LARGEST_MAP:
        raise FileError(
            f"standard input has more than {_LARGEST_MAP:,} bytes; expected a smaller map. Fit one "
            f"with --max-knots."
        )
    return load(data)


def recalibrator_named(method: str, group: str | None) -> Recalibrator:
    """Make a recalibrator from its name; with groups it has one map per group."""
    made = BY_NAME[method]()
    if group is not None and made.learns_from_scores and not made.needs_groups:
        return Grouped(None if method == "isotonic" else made)
    if group is None and made.needs_groups:
        raise FileError("--method grouped fits one map per group. Name their column with --group.")
    return made


def warn_if_the_same_rows(recalibrator: Recalibrator | None, forecasts: Forecasts) -> None:
    """Warn if the map may have been fitted on the rows that it is judged on."""
    source = forecasts.source
    if recalibrator is None or not recalibrator.is_exportable:
        return
    if recalibrator.n_fit() == source.rows:
        warn(
            f"the map was fitted on as many rows as {source.path} has. If they are the same, judge "
            f"it on others."
        )


def warn_if_not_given(forecasts: Forecasts, coverage: float) -> None:
    """Warn if the ends of the interval are interpolated or extrapolated from the levels."""
    layout = forecasts.layout
    if not layout.levels:
        return
    tail = 0.5 * (1.0 - coverage)
    missing = [q for q in (tail, 1.0 - tail) if not np.isclose(q, layout.levels, rtol=0).any()]
    if not missing:
        return
    if layout.kind == "intervals":
        shares = [percent(2.0 * q - 1.0) for q in layout.levels if q > 0.5]
        given = f"{listed(shares, most=5)} intervals"
    else:
        given = f"quantiles {listed([f'{q:g}' for q in layout.levels], most=5)}"
    inside = layout.levels[0] <= min(missing) and max(missing) <= layout.levels[-1]
    how = "between" if inside else "beyond"
    warn(
        f"{forecasts.source.path} gives {given}; the ends of a {percent(coverage)} interval are "
        f"read {how} them, so they are not those of the forecaster."
    )


def share(coverage: float) -> float:
    """Return a coverage, checked."""
    try:
        return level(coverage, "--coverage")
    except ValueError as error:
        raise FileError(str(error)) from None
