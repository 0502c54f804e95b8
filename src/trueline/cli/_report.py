"""The command `report`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueline._files import FileError, cannot_write
from trueline._messages import count, printable
from trueline._progress import progress
from trueline.cli._errors import notes, print_notes
from trueline.cli._reading import (
    TextFormat,
    about,
    load_map,
    open_input,
    recalibrator_named,
    skipped_in_words,
    warn_if_not_given,
    warn_if_the_same_rows,
)
from trueline.cli._standard import (
    check_one_input,
    check_output,
    is_standard,
    named_output,
    write_output,
)
from trueline.cli._terminal import print_json, print_line
from trueline.files import Columns, Layout, Sample, sample_rows
from trueline.recalibration import Recalibrator

# The fewest rows that a report can split in two.
_FEWEST_ROWS = 20


class Page(NamedTuple):
    """The page that `report` writes."""

    out: Path
    title: str | None
    unit: str | None
    random_state: int


def report(
    file: Path,
    map_file: Path | None,
    page: Page,
    method: str | None,
    columns: Columns,
    text: TextFormat,
    force: bool,
    json: bool,
) -> None:
    """Write a page about a file, before and after a map."""
    out = page.out
    to_stdout = is_standard(out)
    if not to_stdout and out.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"a report is a page; expected -o to end in .html, not {out.name}.")
    if map_file is not None and method is not None:
        raise FileError(
            f"--method {method} is a map to fit, but --map {map_file} is fitted already; expected "
            f"one of them. Leave out the other."
        )
    check_one_input(map_file, file)
    check_output(out, force=force, json=json)
    recalibrator = None if map_file is None else load_map(map_file)
    forecasts = open_input(file, text, columns)
    layout, name = forecasts.layout, forecasts.source.path
    with notes() as found, progress(f"reporting on {printable(name.name)}") as report_progress:
        sample = sample_rows(forecasts, random_state=page.random_state, progress=report_progress)
        if recalibrator is None:
            compared = _half_and_half(name, sample, method or "isotonic", layout, page.random_state)
        else:
            compared = _with_map(sample, recalibrator)
            warn_if_the_same_rows(recalibrator, forecasts)
        warn_if_not_given(forecasts, layout.coverage)
        if to_stdout:
            _print_page(name, sample, compared, layout, page)
        else:
            _write_page(name, sample, compared, layout, page, force)
    if json:
        document = about(sample.n, forecasts) | {
            "out": str(out),
            "rows_drawn": len(sample.y),
            "rows_fitted": compared.n_fit if recalibrator is None else 0,
            "rows_judged": len(compared.y),
        }
        print_json(document | {"notes": found})
        return
    lines = [f"{name}: {count(sample.n, 'row')}, {layout.describe()}", *skipped_in_words(forecasts)]
    if len(sample.y) < sample.n:
        lines.append(f"{len(sample.y):,} of them were drawn at random")
    if recalibrator is None:
        judges = f"the other {len(compared.y):,} judge it"
        lines.append(f"a random {compared.n_fit:,} fitted a map, {judges}")
    lines.append(f"the page is {named_output(out)}")
    for line in lines:
        print_line(line, error=to_stdout)
    print_notes(found)


class _Compared(NamedTuple):
    """Rows with their forecasts before and after, and the number of rows that fitted the map."""

    y: Any
    before: Any
    after: Any
    weight: Any
    groups: Any
    features: dict[str, Any]
    n_fit: int


def _half_and_half(
    file: Path, sample: Sample, method: str, layout: Layout, random_state: int
) -> _Compared:
    """Fit a map on a random half and judge it on the other.

    The halves do not also change roles: the errors of two maps that are each judged on the rows
    of the other cancel, and their joint calibration error is far below that of either.
    """
    n = len(sample.y)
    if n < _FEWEST_ROWS:
        raise FileError(
            f"{file} has {count(n, 'row')}; expected at least {_FEWEST_ROWS}, because "
            f"half of them fit a map and the other half judge it. Add rows, or give a map with "
            f"--map."
        )
    order = np.random.default_rng(random_state).permutation(n)
    half, rest = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    weight, groups = sample.weight, sample.groups
    recalibrator = recalibrator_named(method, layout.group)
    in_groups = recalibrator.needs_groups
    recalibrator.fit(
        sample.y[half],
        sample.dist[half],
        None if weight is None else weight[half],
        groups[half] if in_groups else None,
    )
    before = sample.dist[rest]
    return _Compared(
        sample.y[rest],
        before,
        recalibrator.transform(before, groups[rest] if in_groups else None),
        None if weight is None else weight[rest],
        None if groups is None else groups[rest],
        {name: values[rest] for name, values in sample.features.items()},
        len(half),
    )


def _with_map(sample: Sample, recalibrator: Recalibrator) -> _Compared:
    """Judge a map on all rows."""
    return _Compared(
        sample.y,
        sample.dist,
        sample.transform(recalibrator),
        sample.weight,
        sample.groups,
        sample.features,
        round(recalibrator.n_fit()),
    )


def _write_page(
    file: Path, sample: Sample, compared: _Compared, layout: Layout, page: Page, force: bool
) -> None:
    import trueline

    title = page.title or file.name
    if len(sample.y) < sample.n:
        title += f" ({len(sample.y):,} of {sample.n:,} rows, drawn at random)"
    try:
        trueline.report(
            compared.y,
            {"before": compared.before, "after": compared.after},
            page.out,
            x=compared.features or None,
            groups=compared.groups,
            coverage=layout.coverage,
            sample_weight=compared.weight,
            title=title,
            y_name=layout.y,
            unit=page.unit,
            n_fit=compared.n_fit,
            random_state=page.random_state,
            force=force,
        )
    except OSError as error:
        raise cannot_write(page.out, error) from None


def _print_page(
    file: Path, sample: Sample, compared: _Compared, layout: Layout, page: Page
) -> None:
    """Write the page to standard output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.html"
        _write_page(file, sample, compared, layout, page._replace(out=out), force=True)
        write_output(out.read_bytes())
