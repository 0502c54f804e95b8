"""The tables of measures, groups and segments."""

from __future__ import annotations

from collections.abc import Sequence

from trueline._messages import percent as promise
from trueline._report._markup import Markup, join, table, tag
from trueline._report._measure import Measured
from trueline._report._numbers import (
    count,
    counted,
    measured,
    number,
    percent,
    probability,
    span,
)
from trueline._report._segments import FEWEST_ROWS, Search, Segment
from trueline._report._words import short
from trueline.metrics import CoverageVerdict

# Field of the evaluation, its name, and what it means.
_MEASURES = [
    (
        "calibration_error",
        "calibration error",
        "Squared distance of the curve from the diagonal. Good: below twice its floor.",
    ),
    ("coverage", "coverage", "Share of outcomes in their interval. Good: near {promise}."),
    ("crps", "CRPS", "Distance of forecast and outcome, the score to compare by. Low is good."),
    ("interval_score", "interval score", "Width, plus a penalty for every miss. Low is good."),
    ("interval_width", "interval width", "Mean width of {promise} intervals. Low, if they hold."),
    ("log_score", "log score", "Minus the log density at the outcome. Low is good."),
    (
        "p_value",
        "p-value",
        "Test of calibration, with the rows of a fit. Tiny is bad, unless rows are many.",
    ),
    ("ence", "ENCE", "Mismatch of predicted spread and size of errors. Low is good."),
    ("sharpness", "sharpness", "Mean predicted variance. Low is good if the intervals hold."),
    ("mae", "MAE", "Mean absolute error of the predicted median. Low is good."),
    ("rmse", "RMSE", "Root mean squared error of the predicted mean. Low is good."),
]

# Below this number of rows, measures have three digits.
_MANY_ROWS = 10_000
_SIDE = {"forecast": "left"}
# Columns of the table of groups: name and field of `GroupEvaluation`.
_GROUP_FIELDS = {
    "calibration error": "calibration_error",
    "its floor": "calibration_floor",
    "CRPS": "crps",
}


def measures(forecasts: Sequence[Measured]) -> Markup:
    """Return the table of measures with their meaning, one or two forecasts side by side."""
    head = ["measure", *(f.name for f in forecasts)]
    target = promise(forecasts[0].facts.target)
    rows = (
        tag(
            "tr",
            tag("th", name, tag("small", meaning.format(promise=target)), scope="row"),
            *(tag("td", *value(f, field)) for f in forecasts),
        )
        for field, name, meaning in _MEASURES
    )
    return table("All measures", head, rows, "measures")


def measures_by_model(forecasts: Sequence[Measured]) -> Markup:
    """Return the table of measures with one row per forecast, and what they mean."""
    body = []
    for f in forecasts:
        title = tag("th", short(f.name), scope="row", role="rowheader", class_="title")
        # The ranges of chance stand below one or two forecasts; here is no room for them.
        cells = [
            tag("td", value(f, field)[0], role="cell", data_label=name)
            for field, name, _ in _MEASURES
        ]
        body.append(tag("tbody", tag("tr", title, *cells, role="row"), role="rowgroup"))
    target = promise(forecasts[0].facts.target)
    meanings = [
        part
        for _, name, meaning in _MEASURES
        for part in (tag("dt", name), tag("dd", meaning.format(promise=target)))
    ]
    names = ["forecast", *(name for _, name, _ in _MEASURES)]
    return join(
        [cards("All measures", names, body, "cards many"), tag("dl", *meanings, class_="made")]
    )


def floors(forecasts: Sequence[Measured]) -> str:
    """Return the floor of the calibration error, or the lowest and the highest of several."""
    found = sorted(f.evaluation.calibration_floor for f in forecasts)
    low, high = (measured(floor, floor) for floor in (found[0], found[-1]))
    return low if low == high else span(low, high)


def value(f: Measured, field: str) -> list[str]:
    """Return a measure of a forecast, with what chance explains if that is known."""
    result = getattr(f.evaluation, field)
    rows = f.facts.rows
    if field == "coverage":
        verdict = f.facts.verdict.coverage
        notes = [tag("small", f"by chance {_limits(verdict, rows)}")]
        if verdict.reason:
            notes.append(tag("small", f"expected {percent(verdict.expected, rows)}"))
        return [percent(result, rows), *notes]
    if field == "calibration_error":
        floor = f.evaluation.calibration_floor
        return [measured(result, floor), tag("small", f"floor {measured(floor, floor)}")]
    if field == "p_value":
        return [probability(result)]
    return [number(result, 3 if rows < _MANY_ROWS else 4, zeros=True)]


def groups(search: Search, forecasts: Sequence[Measured], name: str, main: Measured) -> Markup:
    """Return the table of groups."""
    left_out = search.looked_at - len(search.segments)
    aim = promise(main.facts.target)
    note = (
        f"{_multiplicity(search, 'group', forecasts, main)} The last column is about the {aim} "
        f"intervals alone; the calibration error is about all levels, and good below twice its "
        f"floor."
    )
    parts = [
        tag("p", note),
        _table(search.segments, forecasts, name, "Results by group", detailed=True),
    ]
    if left_out:
        more = counted(left_out, "more group")
        parts.append(tag("p", f"{more}, more likely by chance, not shown."))
    return join(parts)


def segments(search: Search, forecasts: Sequence[Measured], main: Measured) -> Markup:
    """Return the table of the worst segments."""
    if not search.looked_at:
        if main.evaluation.n < 2 * FEWEST_ROWS:
            return tag("p", f"No part of the data has {FEWEST_ROWS} rows or more.")
        return tag(
            "p",
            f"No column divides the rows into parts of {FEWEST_ROWS} or more: predicted medians "
            f"and widths, and columns of x if there are any, are too similar.",
        )
    note = _multiplicity(search, "segment", forecasts, main)
    if search.left_out:
        were = "was" if search.left_out == 1 else "were"
        note += f" {counted(search.left_out, 'more column')} {were} not tested."
    if not search.segments:
        return tag("p", note)
    caption = "Segments, the least likely by chance first"
    return join(
        [tag("p", note), _table(search.segments, forecasts, "where", caption, detailed=False)]
    )


def _multiplicity(search: Search, noun: str, forecasts: Sequence[Measured], main: Measured) -> str:
    """Return how many were tested, what that does to the ranges, and how they are sorted."""
    many = counted(search.looked_at, noun)
    if noun == "segment":
        many += f" of {FEWEST_ROWS} rows or more, {_origin(search)},"
    were = "was" if search.looked_at == 1 else "were"
    shown = len(search.segments)
    order = "The least likely by chance first."
    if noun == "segment" and shown < search.looked_at:
        enough = " of those with enough rows" if search.too_few else ""
        order = f"Shown here: the {count(shown)} least likely by chance{enough}, in that order."
        order = order if shown else ""
    whose = f", for {main.facts.quoted}," if len(forecasts) > 1 else ""
    return (
        f"{many} {were} tested; {_outcome(search, whose, main.facts.target)}. The ranges of chance "
        f"hold for all of them together, 19 times out of 20 (Bonferroni). {order}"
    ).rstrip()


def _origin(search: Search) -> str:
    """Return which columns were cut; two are not the user's."""
    total = search.given + len(search.added)
    if total == 1:
        return f"each a part of {'one column of x' if search.given else f'the {search.added[0]}'}"
    if not search.added:
        return f"each a part of one of {count(total)} columns of x"
    columns = [f"{count(search.given)} of x"] if search.given else []
    columns += [f"the {name}" for name in search.added]
    listed = f"{', '.join(columns[:-1])} and {columns[-1]}"
    return f"each a part of one of {count(total)} columns ({listed})"


def _outcome(search: Search, whose: str, target: float) -> str:
    """Return how many are off, and how many have too few rows to tell."""
    # Chance reaches the end that is nearer to the target first.
    end = "100%" if target >= 0.5 else "0%"
    even = f"chance alone could move the coverage to {end} or over more than 15 points"
    if search.too_few == search.looked_at:
        they = "it has" if search.looked_at == 1 else "all have"
        return f"{they} too few rows to tell: {even}"
    off = "none" if search.off == 0 else count(search.off)
    are = "is" if search.off <= 1 else "are"
    text = f"{off}{whose} {are} off by more than chance explains"
    if search.too_few:
        have = "has" if search.too_few == 1 else "have"
        text += f", and {count(search.too_few)} {have} too few rows to tell: {even}"
    return text


def _table(
    found: Sequence[Segment],
    forecasts: Sequence[Measured],
    what: str,
    caption: str,
    *,
    detailed: bool,
) -> Markup:
    """Return a table with one row per segment and forecast; on a narrow page, cards."""
    # Roles tell screen readers that cards are cells of a table.
    kinds = ["coverage", "by chance", "width"]
    kinds += _GROUP_FIELDS if detailed else []
    verdict = f"{promise(forecasts[-1].facts.target)} intervals"
    head = [what, *(["forecast"] if len(forecasts) > 1 else []), *kinds, verdict]
    return cards(caption, head, [_segment(s, forecasts, kinds) for s in found], "cards")


def cards(caption: str, head: Sequence[str], body: Sequence[Markup], class_: str) -> Markup:
    """Return a table that is a list of cards on a narrow page."""
    columns = [
        tag("th", name, scope="col", role="columnheader", class_=_SIDE.get(name)) for name in head
    ]
    return tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *columns, role="row"), role="rowgroup"),
        *body,
        role="table",
        class_=class_,
    )


def _segment(segment: Segment, forecasts: Sequence[Measured], kinds: Sequence[str]) -> Markup:
    name = f"{segment.feature}: {segment.label}" if segment.feature else segment.label
    several = len(forecasts) > 1
    title = tag(
        "th",
        name,
        tag("small", counted(segment.n, "row")),
        scope="rowgroup" if several else "row",
        rowspan=len(forecasts) if several else None,
        role="rowheader",
        class_="title",
    )
    lines = []
    for i, f in enumerate(forecasts):
        verdict = segment.shares[i].verdict
        cells = [
            tag("td", _cell(kind, segment, f, i), role="cell", data_label=kind) for kind in kinds
        ]
        cells.append(
            tag(
                "td",
                verdict.words,
                role="cell",
                data_label=f"{promise(verdict.target)} intervals",
                class_="verdict off" if verdict.off else "verdict",
            )
        )
        key = [tag("th", short(f.name), scope="row", role="rowheader")] if several else []
        lines.append(tag("tr", *([title] if i == 0 else []), *key, *cells, role="row"))
    return tag("tbody", *lines, role="rowgroup")


def _cell(kind: str, segment: Segment, f: Measured, i: int) -> str:
    # All shares of the page have the decimals that all its rows support.
    share, rows = segment.shares[i], f.facts.rows
    if kind == "coverage":
        return percent(share.verdict.coverage, rows)
    if kind == "by chance":
        return _limits(share.verdict, rows)
    if kind == "width":
        return number(share.width, 3, zeros=True)
    found = getattr(f.groups[segment.label], _GROUP_FIELDS[kind])
    if kind == "CRPS":
        return number(found, 3, zeros=True)
    return measured(found, f.groups[segment.label].calibration_floor)


def _limits(verdict: CoverageVerdict, rows: float) -> str:
    return span(percent(verdict.low, rows), percent(verdict.high, rows))
