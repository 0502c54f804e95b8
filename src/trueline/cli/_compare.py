"""The command `compare`: forecasts of the same rows side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trueline import comparison
from trueline._files import FileError
from trueline._messages import count, printable
from trueline._progress import progress
from trueline.cli._errors import notes, print_notes
from trueline.cli._reading import (
    TextFormat,
    about,
    load_map,
    open_input,
    skipped_in_words,
    warn_if_not_given,
    warn_if_the_same_rows,
)
from trueline.cli._standard import check_one_input, is_standard, named_input
from trueline.cli._terminal import print_json, print_line, print_lines
from trueline.distributions import Distribution
from trueline.files import MOST_ROWS, Columns, Forecasts, Sample, sample_rows

# Outcomes are the same if they differ by less, as a share of themselves or of the largest one:
# files may be rounded.
_SAME, _SAME_OF_LARGEST = 1e-6, 1e-9
_AS_GIVEN = "as given"


class Compared(NamedTuple):
    """What is compared: several files, or one file before and after maps, and their names."""

    files: list[Path]
    maps: list[Path]
    names: list[str]


def compare(
    given: Compared, columns: Columns, text: TextFormat, random_state: int, json: bool
) -> None:
    """Compare forecasts and print the result."""
    for one, next_one in pairwise(sorted([*given.files, *given.maps])):
        check_one_input(one, next_one)
    names = _names(given)
    maps = [load_map(path) for path in given.maps]
    by_group = any(recalibrator.groups_ is not None for recalibrator in maps)
    opened = [open_input(file, text, columns) for file in given.files]
    coverage = opened[0].layout.coverage
    with notes() as found:
        samples = _same_rows(opened, random_state)
        first = samples[0]
        dists: list[Distribution] = [sample.dist for sample in samples]
        for recalibrator in maps:
            dists.append(first.transform(recalibrator))
            warn_if_the_same_rows(recalibrator, opened[0])
        for forecasts in opened:
            warn_if_not_given(forecasts, coverage)
        result = comparison.compare(
            first.y,
            dict(zip(names, dists, strict=True)),
            coverage=coverage,
            sample_weight=first.weight,
            groups=None if by_group else first.groups,
            random_state=random_state,
        )
    rows = len(first.y)
    if json:
        document = {
            "files": [about(s.n, forecasts) for s, forecasts in zip(samples, opened, strict=True)],
            "maps": [str(path) for path in given.maps],
            "rows_compared": rows,
            **result.to_dict(),
        }
        print_json(document | {"conclusion": result.conclusion, "notes": found})
        return
    for sample, forecasts in zip(samples, opened, strict=True):
        of = f"{count(sample.n, 'row')}, {forecasts.layout.describe()}"
        print_line(f"{forecasts.source.path}: {of}")
        for line in skipped_in_words(forecasts):
            print_line(line)
    if rows < min(sample.n for sample in samples):
        print_line(f"{rows:,} of these rows are compared")
    print_lines(result)
    print_notes(found)


def _names(given: Compared) -> list[str]:
    """Return a name for each forecast: as given, or those of the files and maps."""
    files, maps, names = given
    if maps and len(files) > 1:
        raise FileError(
            f"--map compares one file before and after maps, and {len(files)} files are given; "
            f"expected one file, or no --map."
        )
    if len(files) + len(maps) < 2:
        raise FileError(
            f"{named_input(files[0])} is one forecast; expected two or more. Name other files with "
            f"the same rows, or maps with --map."
        )
    paths = maps or files
    stems = [named_input(path) if is_standard(path) else path.stem for path in paths]
    if len(set(stems)) < len(stems):
        stems = list(map(str, paths))
    shown = names or [*([_AS_GIVEN] if maps else []), *stems]
    if len(shown) != len(files) + len(maps):
        raise FileError(
            f"--name is given {count(len(names), 'time')} for {len(files) + len(maps)} forecasts; "
            f"expected one for each: first the files, then the maps."
        )
    for i, name in enumerate(shown):
        if name in shown[:i] or not name.strip():
            fault = "given to two forecasts" if name.strip() else "empty"
            raise FileError(
                f"the name {name!r} is {fault}; expected a different text for each. Name all "
                f"forecasts with --name."
            )
    return shown


def _same_rows(opened: Sequence[Forecasts], random_state: int) -> list[Sample]:
    """Return the same rows of every file; raise if their outcomes are not the same."""
    most = min([MOST_ROWS, *(forecasts.layout.most_drawn for forecasts in opened)])
    samples = []
    for forecasts in opened:
        name = printable(forecasts.source.path.name)
        with progress(f"reading {name}") as report_progress:
            samples.append(
                sample_rows(
                    forecasts, most=most, random_state=random_state, progress=report_progress
                )
            )
    first, *others = samples
    for other in others:
        _check_rows(first, other)
    # A row that is left out of one file is compared in none.
    common = reduce(np.intersect1d, [sample.rows for sample in samples])
    if not common.size:
        raise FileError(
            "no row can be compared: the outcome or the forecast is missing in at least one file "
            "in every row. Fill in or drop missing values."
        )
    samples = [sample.take(np.searchsorted(sample.rows, common)) for sample in samples]
    for other in samples[1:]:
        _check_outcomes(samples[0], other)
    return samples


def _check_rows(first: Sample, other: Sample) -> None:
    names = [sample.forecasts.source.path for sample in (first, other)]
    numbers = [
        sample.forecasts.source.rows + sample.forecasts.source.skipped for sample in (first, other)
    ]
    if numbers[0] != numbers[1]:
        raise FileError(
            f"{names[0]} has {count(numbers[0], 'row')} and {names[1]} has {numbers[1]:,}; "
            f"expected the same rows in the same order. Keep the rows that all files have."
        )


def _check_outcomes(first: Sample, other: Sample) -> None:
    largest = float(np.abs(first.y).max())
    same = np.isclose(first.y, other.y, rtol=_SAME, atol=_SAME_OF_LARGEST * largest)
    if same.all():
        return
    i = int(np.argmin(same))
    names = [sample.forecasts.source.path for sample in (first, other)]
    differ = np.count_nonzero(~same)
    raise FileError(
        f"the outcome of row {first.rows[i] + 1:,} is {first.y[i]:.10g} in {names[0]} and "
        f"{other.y[i]:.10g} in {names[1]}, and {differ:,} of {len(same):,} rows differ; expected "
        f"the same rows in the same order. Sort both files by the same column."
    )
