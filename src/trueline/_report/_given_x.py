"""The section about coverage given the features: in numbers, in words, and drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._inputs import Inputs
from trueline._report._markup import Markup, join, tag
from trueline._report._measure import Measured
from trueline._report._numbers import counted, measured, percent, span
from trueline._report._tables import cards
from trueline._report._words import short
from trueline.metrics import ConditionalCoverage, Region, conditional_coverage

# Size of the drawing of a coverage, and the room at its ends.
_WIDTH, _HEIGHT, _ROOM = 240, 24, 8
# The axis begins at a multiple of 1 / _STEPS.
_STEPS, _ROUNDING = 10, 1e-9
# Number of standard errors to each side of a coverage.
_ERRORS = 2.0


def measure_given_x(forecast: Measured, inputs: Inputs) -> ConditionalCoverage | None:
    """Measure the coverage of one forecast given x; None without features or intervals."""
    if not inputs.columns or not forecast.dist._has_spread:
        return None
    return conditional_coverage(
        inputs.y,
        forecast.dist,
        inputs.columns,
        inputs.coverage,
        sample_weight=inputs.w,
        n_fit=forecast.evaluation.n_fit,
        random_state=inputs.random_state,
    )


def given_x(found: Mapping[str, ConditionalCoverage], main: Measured) -> Markup:
    """Return the section: numbers of each forecast by name, and the regions of the main one."""
    own = found[main.name]
    about = f"For {main.facts.quoted}: " if len(found) > 1 else ""
    parts = [tag("p", f"{about}{own.sentence}")]
    if own.off or len(own.regions) > 1:
        parts.append(_regions(own, main, several=len(found) > 1))
    if own.worst_slab_rows:
        parts.append(_numbers(found))
    return join(parts)


def finding(own: ConditionalCoverage, whose: str) -> list[str]:
    """Return a sentence if the intervals do not hold given x, with the worst region alone."""
    if not own.off:
        return []
    worst = min(own.off, key=lambda r: r.coverage)
    text = (
        f"Given x, the intervals{whose} do not hold in {len(own.off)} of "
        f"{counted(len(own.regions), 'region')}: where {worst.rule}, they hold "
        f"{worst.coverage:.1%} of the time."
    )
    return [text]


def _numbers(found: Mapping[str, ConditionalCoverage]) -> Markup:
    """Return ERT and worst slab of each forecast, and what they are."""
    target = promise(next(iter(found.values())).coverage_target)
    head = ["forecast", "ERT", "worst slab"]
    body = []
    for name, own in found.items():
        ert = f"{measured(own.ert, own.ert_error)} ± {measured(own.ert_error, own.ert_error)}"
        slab = f"{own.worst_slab:.1%} ± {own.worst_slab_error:.1%}"
        cells = [
            tag("td", value, role="cell", data_label=label)
            for label, value in zip(head[1:], (ert, slab), strict=True)
        ]
        title = tag("th", short(name), scope="row", role="rowheader", class_="title")
        body.append(tag("tbody", tag("tr", title, *cells, role="row"), role="rowgroup"))
    note = (
        f"With standard errors. ERT is the mean distance of the coverage given x from {target}, as "
        f"far as a classifier can learn it from other rows: 0 up to chance if the intervals hold "
        f"for every x. The worst slab is the coverage between two parallel planes, chosen on half "
        f"of the rows for its low coverage and measured on the other half."
    )
    return join([cards("Coverage given x", head, body, "cards"), tag("p", note, class_="note")])


def _regions(own: ConditionalCoverage, main: Measured, *, several: bool) -> Markup:
    """Return the regions, each with its coverage drawn beside what chance explains."""
    intervals = f"{promise(own.coverage_target)} intervals"
    head = ["where", "coverage", "", intervals]
    low = min(min(r.coverage - _ERRORS * r.standard_error, r.verdict.low) for r in own.regions)
    start = max(math.floor(_STEPS * (low - _ROUNDING)) / _STEPS, 0.0)
    axis = svg.Axis(start, 1.0, _ROOM, _WIDTH - _ROOM)
    body = []
    for r in own.regions:
        rows = tag("small", counted(r.n, "row"))
        title = tag("th", r.rule, rows, scope="row", role="rowheader", class_="title")
        verdict = tag(
            "td",
            r.verdict.words,
            role="cell",
            data_label=intervals,
            class_="verdict off" if r.verdict.off else "verdict",
        )
        share = tag("td", percent(r.coverage, r.n), role="cell", data_label="coverage")
        drawn = tag("td", _drawn(r, main.slot, axis), role="cell", data_label="")
        line = tag("tr", title, share, drawn, verdict, role="row")
        body.append(tag("tbody", line, role="rowgroup"))
    whose = f" of {main.facts.quoted}" if several else ""
    note = (
        f"Coverage{whose} by region, from {percent(start)} to 100%: the mark, with a line of two "
        f"standard errors to each side. The band is what chance explains, for all regions together "
        f"19 times out of 20, and the vertical line is {promise(own.coverage_target)}. A tree "
        f"found the regions in half of the rows, and the other half judges them."
    )
    table = cards("Coverage by region, the lowest first", head, body, "cards regions")
    return join([table, tag("p", note, class_="note")])


def _drawn(region: Region, slot: str, axis: svg.Axis) -> Markup:
    """Draw the coverage of a region, its standard error, and the range of chance."""
    verdict, middle = region.verdict, _HEIGHT / 2
    reach = _ERRORS * region.standard_error
    ends = axis.at(region.coverage - reach), axis.at(region.coverage + reach)
    aim, at = axis.at(verdict.target), axis.at(region.coverage)
    low, high = axis.at(verdict.low), axis.at(verdict.high)
    words = (
        f"Coverage {percent(region.coverage, region.n)} for {promise(verdict.target)}, by chance "
        f"{span(percent(verdict.low, region.n), percent(verdict.high, region.n))}"
    )
    return tag(
        "svg",
        svg.rectangle(low, 3, high, _HEIGHT - 3, "band"),
        svg.line(aim, 0, aim, _HEIGHT, "target"),
        svg.line(ends[0], middle, ends[1], middle, f"whisker {slot}"),
        svg.marker(slot, at, middle, 4.5),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words,
        class_="gap",
    )
