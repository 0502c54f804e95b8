"""The work of the commands on files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from trueline import files
from trueline._files import cannot_write, write_bytes
from trueline._messages import count, printable
from trueline._progress import progress
from trueline._validation import levels
from trueline._warnings import warn
from trueline.cli._errors import notes, print_notes
from trueline.cli._findings import Findings, map_as_dict, map_in_words, next_commands
from trueline.cli._reading import (
    MAPS,
    TextFormat,
    about,
    load_map,
    open_input,
    recalibrator_named,
    share,
    skipped_in_words,
    warn_if_not_given,
    warn_if_the_same_rows,
)
from trueline.cli._standard import (
    check_json,
    check_one_input,
    check_output,
    is_standard,
    named_input,
    named_output,
    standard_output,
    write_output,
)
from trueline.cli._terminal import print_json, print_line, print_lines
from trueline.cli._words import evaluation_as_dict, evaluation_in_words, supported
from trueline.distributions import Support
from trueline.files import Columns, FileError, Tally
from trueline.recalibration import Recalibrator


class Output(NamedTuple):
    """The columns that `apply` writes."""

    coverage: list[float]
    quantiles: list[str]
    moments: bool
    prefix: str


def evaluate(
    file: Path, map_file: Path | None, columns: Columns, text: TextFormat, json: bool
) -> None:
    """Evaluate a file and print the result."""
    check_one_input(map_file, file)
    recalibrator = None if map_file is None else load_map(map_file)
    forecasts = open_input(file, text, columns)
    layout, name = forecasts.layout, forecasts.source.path
    with notes() as found, progress(f"evaluating {printable(name.name)}") as report_progress:
        result = files.evaluate(forecasts, recalibrator, progress=report_progress)
        if recalibrator is None:
            warn_if_not_given(forecasts, layout.coverage)
        warn_if_the_same_rows(recalibrator, forecasts)
    if json:
        document = about(result.overall.n, forecasts) | evaluation_as_dict(result)
        if map_file is not None:
            document["map"] = str(map_file)
        print_json(document | {"notes": found})
        return
    after = "" if map_file is None else f", recalibrated by {named_input(map_file)}"
    print_line(f"{name}: {count(result.overall.n, 'row')}, {layout.describe()}{after}")
    for line in skipped_in_words(forecasts):
        print_line(line)
    print_lines(evaluation_in_words(result))
    print_notes(found)


def fit(
    file: Path,
    out: Path,
    method: str,
    support: str,
    columns: Columns,
    text: TextFormat,
    max_knots: int,
    force: bool,
    json: bool,
) -> None:
    """Fit a map on a file and write it."""
    to_stdout = is_standard(out)
    if not to_stdout and out.suffix.lower() not in MAPS:
        raise FileError(
            f"a map is written as JSON or as bytes; expected -o to end in .json or .bin, not "
            f"{out.name}."
        )
    check_output(out, force=force, json=json)
    forecasts = open_input(file, text, columns)
    forecasts.tally = Tally(forecasts.layout.coverage)
    name = printable(forecasts.source.path.name)
    with notes() as found, progress(f"fitting on {name}") as report_progress:
        chosen = recalibrator_named(method, forecasts.layout.group)
        chosen = chosen.set_params(support=_support(support))
        recalibrator = files.fit(forecasts, chosen, max_knots=max_knots, progress=report_progress)
        few = supported(recalibrator, forecasts.source.rows)
        if few is not None:
            warn(few)
        if not to_stdout:
            _write_map(recalibrator, out, force)
    facts = Findings.of(recalibrator, forecasts)
    if json:
        about_map = {"map": str(out), "method": recalibrator._call(), **map_as_dict(recalibrator)}
        document = about(forecasts.source.rows, forecasts) | about_map | facts.to_dict()
        print_json(document | {"notes": found})
        return
    rows = count(forecasts.source.rows, "row")
    lines = [
        f"{forecasts.source.path}: {rows}, {forecasts.layout.describe()}",
        *skipped_in_words(forecasts),
        *facts.in_words(),
        f"{named_output(out)}: {map_in_words(recalibrator)}",
    ]
    if not to_stdout:
        lines += next_commands(out, columns, text, forecasts.layout)
    for line in lines:
        print_line(line, error=to_stdout)
    print_notes(found)
    if to_stdout:
        write_output(recalibrator.to_json().encode())


def apply(
    map_file: Path,
    file: Path,
    out: Path,
    output: Output,
    columns: Columns,
    text: TextFormat,
    force: bool,
    json: bool,
) -> None:
    """Apply a map to a file and write another."""
    if file.suffix.lower() in MAPS and map_file.suffix.lower() not in MAPS:
        raise FileError(
            f"{file} looks like a map and {map_file} like forecasts; expected the map first: "
            f"trueline apply {file} {map_file} -o {out}."
        )
    check_one_input(map_file, file)
    to_stdout = is_standard(out)
    check_json(out, json=json)
    quantiles = _levels(output.quantiles)
    coverage = [share(c) for c in output.coverage]
    recalibrator = load_map(map_file)
    forecasts = open_input(file, text, _with_coverage(columns, coverage), y=False)
    layout, name = forecasts.layout, forecasts.source.path
    if layout.group is not None and not recalibrator.needs_groups:
        raise FileError(f"{map_file} was fitted without groups. Leave out --group.")
    with notes() as found, progress(f"recalibrating {printable(name.name)}") as report_progress:
        rows = files.apply(
            recalibrator,
            forecasts,
            standard_output() if to_stdout else out,
            coverage=coverage,
            quantiles=quantiles,
            moments=output.moments,
            prefix=output.prefix,
            force=force,
            progress=report_progress,
        )
    if json:
        document = about(rows, forecasts) | {"map": str(map_file), "out": str(out)}
        print_json(document | {"notes": found})
        return
    rows_of = f"{count(rows, 'row')} of {name}"
    by = f"recalibrated by {named_input(map_file)}"
    lines = [
        f"{named_output(out)}: {rows_of}, {layout.describe()}, {by}",
        *skipped_in_words(forecasts, "have empty cells in the new columns"),
    ]
    for line in lines:
        print_line(line, error=to_stdout)
    print_notes(found)


def _with_coverage(columns: Columns, coverage: list[float]) -> Columns:
    """Return the columns with the coverage of their interval, if it is stated."""
    if len(coverage) > 1 and (columns.lower or columns.upper):
        given = " and ".join(f"{c:g}" for c in coverage)
        raise FileError(
            f"--coverage is given as {given}, but --lower and --upper are one interval; expected "
            f"its coverage alone. Write other levels with --quantiles, such as 0.05,0.95."
        )
    return replace(columns, coverage=coverage[0] if len(coverage) == 1 else None)


def _write_map(recalibrator: Recalibrator, out: Path, force: bool) -> None:
    binary = out.suffix.lower() == ".bin"
    data = recalibrator.to_bytes() if binary else recalibrator.to_json().encode()
    try:
        write_bytes(out, data, force=force)
    except OSError as error:
        raise cannot_write(out, error) from None


def _support(text: str) -> Support | str | None:
    """Return the support that an option states: a word, a list, or a range as LOW:HIGH."""
    if text in ("auto", "counts", "none"):
        return None if text == "none" else text
    low, colon, high = text.partition(":")
    try:
        if not colon:
            return Support(values=[float(value) for value in text.split(",")])
        return Support(low=float(low) if low else None, high=float(high) if high else None)
    except ValueError:
        raise FileError(
            f"--support is {text!r}; expected auto, none, counts, two or more values, such as "
            f"1,2,3, or the ends of the range of the outcomes, of which one may be left out: 0:, "
            f":100 or 0:100."
        ) from None


def _levels(given: list[str]) -> list[float]:
    """Levels from texts such as 0.05,0.5."""
    found = []
    for text in (t for part in given for t in re.split(r"[,\s]+", part) if t):
        try:
            found.append(float(text))
        except ValueError:
            raise FileError(
                f"--quantiles holds {text!r}; expected levels such as 0.05,0.5,0.95."
            ) from None
    if not found:
        return []
    try:
        return [float(q) for q in levels(found, "--quantiles")]
    except ValueError as error:
        raise FileError(str(error)) from None
