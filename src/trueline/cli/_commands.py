"""The work of the commands on files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueline import files
from trueline._files import cannot_write, check_writable, write_bytes
from trueline._load import load
from trueline._messages import count, did_you_mean, listed, percent, printable
from trueline._progress import progress
from trueline._validation import level, levels
from trueline._warnings import warn
from trueline.cli._errors import notes, print_notes
from trueline.cli._terminal import print_json, print_line, print_lines
from trueline.cli._words import (
    evaluation_as_dict,
    evaluation_in_words,
    supported,
)
from trueline.distributions import Support
from trueline.files import (
    Columns,
    FileError,
    Forecasts,
    Layout,
    Sample,
    open_forecasts,
    sample_rows,
)
from trueline.recalibration import BY_NAME, Grouped, Preparation, Recalibrator

# Endings of the files of maps.
_MAPS = (".json", ".bin")
# The fewest rows that a report can split in two.
_FEWEST_ROWS = 20


class TextFormat(NamedTuple):
    """How files are read; for a text file, None stands for the default of its ending."""

    separator: str | None
    decimal: str | None
    skip_missing: bool


class Output(NamedTuple):
    """The columns that `apply` writes."""

    coverage: list[float]
    quantiles: list[str]
    moments: bool
    prefix: str


class Page(NamedTuple):
    """The page that `report` writes."""

    out: Path
    coverage: float
    title: str | None
    unit: str | None
    random_state: int


def evaluate(
    file: Path,
    map_file: Path | None,
    columns: Columns,
    coverage: float,
    text: TextFormat,
    json: bool,
) -> None:
    """Evaluate a file and print the result."""
    share = _share(coverage)
    recalibrator = None if map_file is None else _load(map_file)
    forecasts = _open(file, text, columns)
    layout = forecasts.layout
    with notes() as found, progress(f"evaluating {printable(file.name)}") as report_progress:
        result = files.evaluate(forecasts, recalibrator, coverage=share, progress=report_progress)
        if recalibrator is None:
            _warn_if_not_given(file, layout, share)
        _warn_if_the_same_rows(recalibrator, forecasts)
    if json:
        document = _about(file, result.overall.n, forecasts) | evaluation_as_dict(result)
        if map_file is not None:
            document["map"] = str(map_file)
        print_json(document | {"notes": found})
        return
    after = "" if map_file is None else f", recalibrated by {map_file}"
    print_line(f"{file}: {count(result.overall.n, 'row')}, {layout.describe()}{after}")
    _print_skipped(forecasts)
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
    if out.suffix.lower() not in _MAPS:
        raise FileError(
            f"a map is written as JSON or as bytes; expected -o to end in .json or .bin, not "
            f"{out.name}."
        )
    check_writable(out, force=force)
    forecasts = _open(file, text, columns)
    layout = forecasts.layout
    with notes() as found, progress(f"fitting on {printable(file.name)}") as report_progress:
        chosen = _recalibrator(method, layout.group).set_params(support=_support(support))
        recalibrator = files.fit(forecasts, chosen, max_knots=max_knots, progress=report_progress)
        few = supported(recalibrator, forecasts.source.rows)
        if few is not None:
            warn(few)
        _write_map(recalibrator, out, force)
    rows = forecasts.source.rows
    off = recalibrator.compression_error_
    groups = recalibrator.groups_
    best = None if recalibrator.best_ is recalibrator else repr(recalibrator.best_)
    if json:
        document = _about(file, rows, forecasts) | {
            "map": str(out),
            "method": repr(recalibrator),
            "knots": _scores(recalibrator),
            "compression_error": off,
            **recalibrator._preparation.to_json(),
        }
        if groups is not None:
            document["groups"] = [str(group) for group in groups]
        if best is not None:
            document["chosen"] = best
        print_json(document | {"notes": found})
        return
    print_line(f"{file}: {count(rows, 'row')}, {layout.describe()}")
    _print_skipped(forecasts)
    what = repr(recalibrator) if best is None else f"{recalibrator!r} chose {best}"
    if groups is not None:
        what += f", {count(len(groups), 'group')}"
    bound = f", rank error below {off:.2g}" if off else ""
    if recalibrator._preparation != Preparation():
        bound += f", {recalibrator._preparation}"
    print_line(f"{out}: {what}, {count(_scores(recalibrator), 'score')}{bound}")
    print_notes(found)


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
    if file.suffix.lower() in _MAPS and map_file.suffix.lower() not in _MAPS:
        raise FileError(
            f"{file} looks like a map and {map_file} like forecasts; expected the map first: "
            f"trueline apply {file} {map_file} -o {out}."
        )
    coverage = [_share(c) for c in output.coverage]
    quantiles = _levels(output.quantiles)
    recalibrator = _load(map_file)
    forecasts = _open(file, text, columns, y=False)
    layout = forecasts.layout
    if layout.group is not None and not recalibrator.needs_groups:
        raise FileError(f"{map_file} was fitted without groups. Leave out --group.")
    with notes() as found, progress(f"recalibrating {printable(file.name)}") as report_progress:
        rows = files.apply(
            recalibrator,
            forecasts,
            out,
            coverage=coverage,
            quantiles=quantiles,
            moments=output.moments,
            prefix=output.prefix,
            force=force,
            progress=report_progress,
        )
    if json:
        document = _about(file, rows, forecasts) | {"map": str(map_file), "out": str(out)}
        print_json(document | {"notes": found})
        return
    print_line(
        f"{out}: {count(rows, 'row')} of {file}, {layout.describe()}, recalibrated by {map_file}"
    )
    _print_skipped(forecasts, "have empty cells in the new columns")
    print_notes(found)


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
    if out.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"a report is a page; expected -o to end in .html, not {out.name}.")
    if map_file is not None and method is not None:
        raise FileError(
            f"--method {method} is a map to fit, but --map {map_file} is fitted already; expected "
            f"one of them. Leave out the other."
        )
    share = _share(page.coverage)
    check_writable(out, force=force)
    recalibrator = None if map_file is None else _load(map_file)
    forecasts = _open(file, text, columns)
    layout = forecasts.layout
    with notes() as found, progress(f"reporting on {printable(file.name)}") as report_progress:
        sample = sample_rows(forecasts, random_state=page.random_state, progress=report_progress)
        if recalibrator is None:
            compared = _half_and_half(file, sample, method or "isotonic", layout, page.random_state)
        else:
            compared = _with_map(sample, recalibrator)
            _warn_if_the_same_rows(recalibrator, forecasts)
        _warn_if_not_given(file, layout, share)
        _write_page(file, sample, compared, layout, page._replace(coverage=share), force)
    if json:
        document = _about(file, sample.n, forecasts) | {
            "out": str(out),
            "rows_drawn": len(sample.y),
            "rows_fitted": compared.n_fit if recalibrator is None else 0,
            "rows_judged": len(compared.y),
        }
        print_json(document | {"notes": found})
        return
    print_line(f"{file}: {count(sample.n, 'row')}, {layout.describe()}")
    _print_skipped(forecasts)
    if len(sample.y) < sample.n:
        print_line(f"{len(sample.y):,} of them were drawn at random")
    if recalibrator is None:
        print_line(
            f"a random {compared.n_fit:,} fitted a map, the other {len(compared.y):,} judge it"
        )
    print_line(f"the page is {out}")
    print_notes(found)


def _write_map(recalibrator: Recalibrator, out: Path, force: bool) -> None:
    binary = out.suffix.lower() == ".bin"
    data = recalibrator.to_bytes() if binary else recalibrator.to_json().encode()
    try:
        write_bytes(out, data, force=force)
    except OSError as error:
        raise cannot_write(out, error) from None


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
    recalibrator = _recalibrator(method, layout.group)
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
            coverage=page.coverage,
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


def _open(file: Path, text: TextFormat, columns: Columns, *, y: bool = True) -> Forecasts:
    separator = text.separator
    if separator is not None:
        separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
        if len(separator) != 1:
            raise FileError(f"--separator is {separator!r}; expected one character, or tab.")
    return open_forecasts(
        file,
        columns,
        separator=separator,
        decimal=text.decimal,
        skip_missing=text.skip_missing,
        y=y,
    )


def _print_skipped(forecasts: Forecasts, what: str = "left out") -> None:
    """Print how many rows a missing value made unusable, if any."""
    skipped = forecasts.source.skipped
    if skipped:
        in_all = count(forecasts.source.rows + skipped, "row")
        print_line(f"{skipped:,} of {in_all} {what}, because {forecasts.missing()} is missing")


def _load(map_file: Path) -> Recalibrator:
    """Read a map; raise a FileError if it cannot be read."""
    if map_file.is_dir():
        raise FileError(f"{map_file} is a folder; expected a map that trueline fit wrote.")
    try:
        return load(map_file)
    except FileNotFoundError:
        beside = map_file.parent.iterdir() if map_file.parent.is_dir() else ()
        maps = [path.name for path in beside if path.suffix.lower() in _MAPS]
        hint = did_you_mean(map_file.name, maps)
        raise FileError(f"there is no map {map_file}. Make one with trueline fit.{hint}") from None
    except OSError as error:
        raise FileError(f"cannot read {map_file}: {error.strerror}.") from None
    except ValueError as error:
        raise FileError(*error.args) from None


def _recalibrator(method: str, group: str | None) -> Recalibrator:
    """Make a recalibrator from its name; with groups it has one map per group."""
    made = BY_NAME[method]()
    if group is not None and made.learns_from_scores and not made.needs_groups:
        return Grouped(None if method == "isotonic" else made)
    if group is None and made.needs_groups:
        raise FileError("--method grouped fits one map per group. Name their column with --group.")
    return made


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


def _warn_if_the_same_rows(recalibrator: Recalibrator | None, forecasts: Forecasts) -> None:
    """Warn if the map may have been fitted on the rows that it is judged on."""
    source = forecasts.source
    if recalibrator is None or not recalibrator.is_exportable:
        return
    if recalibrator.n_fit() == source.rows:
        warn(
            f"the map was fitted on as many rows as {source.path} has. If they are the same, judge "
            f"it on others."
        )


def _warn_if_not_given(file: Path, layout: Layout, coverage: float) -> None:
    """Warn if the ends of the interval are interpolated or extrapolated from the levels."""
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
        f"{file} gives {given}; the ends of a {percent(coverage)} interval are read {how} them, so "
        f"they are not those of the forecaster."
    )


def _share(coverage: float) -> float:
    try:
        return level(coverage, "--coverage")
    except ValueError as error:
        raise FileError(str(error)) from None


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


def _scores(recalibrator: Recalibrator) -> int:
    """Return the number of scores of a map; groups share them."""
    return len(recalibrator.scores_) if recalibrator.is_exportable else 0


def _about(file: Path, rows: int, forecasts: Forecasts) -> dict[str, Any]:
    """Describe the input for the output in JSON."""
    layout = forecasts.layout
    skipped = {"rows_skipped": forecasts.source.skipped} if forecasts.skip_missing else {}
    return {
        "file": str(file),
        "rows": rows,
        **skipped,
        "kind": layout.kind,
        "columns": list(layout.forecast),
    }
