"""The function `report`."""

from __future__ import annotations

import os
import platform
import warnings
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._files import write_text
from trueline._report import _compared as compared
from trueline._report._given_x import finding, measure_given_x
from trueline._report._inputs import Inputs, check_inputs, check_path
from trueline._report._lineup import Lineup, line_up
from trueline._report._markup import clean
from trueline._report._numbers import count, counted
from trueline._report._page import Content, page
from trueline._report._segments import Search, by_group, worst_segments
from trueline._report._words import explanations, headline
from trueline._report.plots import all_plots
from trueline._validation import CalibrationWarning, RandomState
from trueline.distributions import Distribution
from trueline.metrics import ConditionalCoverage

_MOST_GROUPS = 30
_MOST_SEGMENTS = 10


def report(
    y: ArrayLike,
    forecasts: Any,
    path: str | os.PathLike[str],
    *,
    x: Any = None,
    groups: ArrayLike | None = None,
    coverage: float = 0.9,
    sample_weight: ArrayLike | None = None,
    title: str | None = None,
    y_name: str | None = None,
    unit: str | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
    force: bool = True,
) -> Path:
    """Write a page that shows whether intervals hold or which model is best, in words and plots.

    The page is one HTML file, under a megabyte for any number of rows, that can be opened from
    disk, sent and printed. It loads nothing from elsewhere.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes that neither the model nor a recalibrator has seen.
    forecasts : Distribution, what `as_distribution` takes, or dict
        One forecast, or up to twelve by name. A dict always holds names, never the columns of
        one forecast. Two are shown as one forecast before and after
        recalibration if they are called ``{"before": F, "after": G}``, or if the second is the
        first one, recalibrated by trueline with a map that is not `Conditional`; groups and
        segments are then sorted by the second. Others are models: the page sorts them by CRPS,
        says whether chance explains the differences, and sorts groups and segments by the best.
    path : str or path
        Where to write. An existing file is replaced once the new one is complete.
    x : data frame, dict of columns, or array, (n,) or (n, k), optional
        Features, in which to search for segments whose intervals do not hold, and for
        `conditional_coverage`. A single column of numbers or times is also the axis of the interval
        plots.
    groups : (n,) array-like, optional
        Group of each row, for results by group.
    coverage : float, default 0.9
        Probability of the intervals.
    sample_weight : (n,) array-like, optional
        Weights of the rows. Rows of weight 0 are left out.
    title : str, optional
    y_name, unit : str, optional
        Name and unit of the outcomes.
    n_fit : float, optional
        Number of rows that the last forecast given was recalibrated on. It raises the floor,
        and the verdict takes it into account.
    random_state : None, int or numpy.random.Generator, default 0
        Used if a forecast has steps; see `pit`.
    force : bool, default True
        Whether to replace an existing file.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Warns
    -----
    CalibrationWarning
        If a forecast was recalibrated on fewer rows than the coverage needs, as the page says too.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=2000)
    >>> F = tl.Normal(np.zeros(2000), 0.5)  # too narrow
    >>> R = tl.Isotonic().fit(y[:1000], F[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     forecasts = {"before": F[1000:], "after": R.transform(F[1000:])}
    ...     file = tl.report(y[1000:], forecasts, f"{folder}/report.html", n_fit=1000)
    ...     print(file.name, file.stat().st_size < 1_000_000)
    report.html True
    """
    target = check_path(path)
    inputs = check_inputs(y, forecasts, x, groups, coverage, sample_weight, n_fit, random_state)
    unsupported = _warn_if_unsupported(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # warned above
        text = page(_content(inputs, unsupported, title, y_name, unit, target.name))
    write_text(target, text, force=force)
    return target


def _content(
    inputs: Inputs,
    unsupported: list[str],
    title: str | None,
    y_name: str | None,
    unit: str | None,
    file_name: str,
) -> Content:
    """Compute everything that the page shows."""
    w, parts, lineup = inputs.w, inputs.groups, line_up(inputs)
    drawn, main = lineup.drawn, lineup.main
    groups = None if parts is None else by_group(parts, drawn, w, _MOST_GROUPS, main)
    segments = worst_segments(inputs.columns, drawn, w, _MOST_SEGMENTS, main)
    measured = ((f.name, measure_given_x(f, inputs)) for f in drawn)
    given_x = {name: found for name, found in measured if found is not None}
    facts = tuple(f.facts for f in lineup.forecasts)
    if lineup.compares:
        first = compared.headline(facts, lineup.differences)
        found = compared.findings(facts, lineup.differences)
    else:
        first = headline(*facts)
        found = explanations(facts, *lineup.differences)
    rows = counted(inputs.y.size, "row")
    name = clean(y_name) if y_name else ""
    suffix = f" {clean(unit)}" if unit else ""
    plots = all_plots(inputs.y, lineup, inputs.columns, name or "outcome", suffix)
    usual = "Which forecast is best?" if lineup.compares else "Do the intervals hold?"
    return Content(
        title=clean(title) if title else usual,
        subtitle=f"{name}, {rows}" if name else rows,
        headline=first,
        findings=[*found, *_where(lineup, groups, segments, given_x)],
        warnings=unsupported,
        lineup=lineup,
        plots=plots,
        groups=groups,
        group_name=inputs.group_name,
        segments=segments,
        given_x=given_x,
        made=_made(inputs, lineup, file_name),
    )


def _warn_if_unsupported(inputs: Inputs) -> list[str]:
    """Warn if calibration rows do not support the intervals; return the warnings."""
    messages = []
    for name, dist in inputs.forecasts.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dist._take(np.zeros(1, dtype=np.intp)).interval(inputs.coverage)
        for warning in caught:
            if issubclass(warning.category, CalibrationWarning):
                messages.append(f"“{name}”: {warning.message}")
                warnings.warn(f"{name}: {warning.message}", CalibrationWarning, stacklevel=3)
    return messages


def _where(
    lineup: Lineup,
    groups: Search | None,
    segments: Search,
    given_x: dict[str, ConditionalCoverage],
) -> list[str]:
    """Return sentences about where intervals do not hold, if they do hold overall."""
    main, found = lineup.forecasts[lineup.main], list[str]()
    if main.facts.off:
        return found
    whose = f" of {main.facts.quoted}" if lineup.compares else ""
    if groups is not None and groups.off:
        worst = groups.segments[0]
        found.append(
            f"In {count(groups.off)} of {counted(groups.looked_at, 'group')} the intervals{whose} "
            f"do not hold, most clearly in “{worst.label}”: "
            f"{worst.shares[lineup.main].verdict.words}."
        )
    if segments.off:
        worst = segments.segments[0]
        they = f"the intervals{whose}" if whose else "they"
        found.append(
            f"In some parts of the data {they} do not hold, most clearly in rows with "
            f"{worst.feature} {worst.label}: {worst.shares[lineup.main].verdict.words}."
        )
    if main.name in given_x and len(given_x[main.name].regions) > 1:
        found += finding(given_x[main.name], whose)
    return found


def _made(inputs: Inputs, lineup: Lineup, file_name: str) -> list[tuple[str, str]]:
    """Return how the report was made, as names and values."""
    seed = inputs.random_state if isinstance(inputs.random_state, int) else None
    rows = count(inputs.y.size)
    if inputs.w is not None:
        rows += f", worth {count(lineup.forecasts[0].facts.rows)} by their weights"
    data = {
        "x": f"x ({counted(len(inputs.columns), 'column')})" if inputs.columns else "",
        "groups": f"groups ({count(len(inputs.groups.labels))})" if inputs.groups else "",
        "sample_weight": "" if inputs.w is None else "sample_weight",
    }
    names = ", ".join(f'"{name}": ...' for name in inputs.forecasts)
    options = [f"{name}=..." for name, given in data.items() if given]
    options += [f"coverage={inputs.coverage:g}"]
    options += [] if inputs.n_fit is None else [f"n_fit={inputs.n_fit:g}"]
    options += [] if seed is None else [f"random_state={seed}"]
    libraries = ("trueline", "numpy", "scipy")
    return [
        ("Rows", rows),
        ("Data", ", ".join(["y", *filter(None, data.values())])),
        ("Forecasts", ", ".join(f"{n} ({_kind(d)})" for n, d in inputs.forecasts.items())),
        ("Recalibrated on", _fits(lineup)),
        ("Seed", "none" if seed is None else str(seed)),
        ("Made on", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")),
        ("With", ", ".join(f"{name} {version(name)}" for name in libraries)),
        ("Python", platform.python_version()),
        ("Call", f'trueline.report(y, {{{names}}}, "{file_name}", {", ".join(options)})'),
    ]


def _fits(lineup: Lineup) -> str:
    """Return the number of rows that forecasts were recalibrated on."""
    main = lineup.forecasts[lineup.main].evaluation.n_fit
    if not lineup.compares:
        return "unknown" if main is None else counted(main, "row")
    known = [(f.name, f.evaluation.n_fit) for f in lineup.forecasts]
    return ", ".join(f"{n} ({counted(k, 'row')})" for n, k in known if k is not None) or "unknown"


def _kind(dist: Distribution) -> str:
    if dist._learned_laws():
        return "recalibrated"
    return dist._kind or type(dist).__name__
