"""The table of results where models are compared: one row per model, the best first."""

from __future__ import annotations

import math

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._compared import scores
from trueline._report._lineup import Lineup
from trueline._report._markup import Markup, join, tag
from trueline._report._measure import Measured
from trueline._report._numbers import measured, number
from trueline._report._tables import cards
from trueline.comparison import Difference

# Size of the drawing of a difference, and the room at its ends.
_WIDTH, _HEIGHT, _ROOM = 180, 22, 8
# A difference that ends beyond this many times the median end is drawn as an arrow.
_FAR = 4.0


def results(lineup: Lineup) -> Markup:
    """Return the table of results, with a note on how to read it."""
    intervals = f"{promise(lineup.forecasts[0].facts.target)} intervals"
    head = ["forecast", "CRPS", "above the best", f"{intervals} hold", "mean width"]
    axis = _axis(lineup.differences)
    shown = scores([f.facts for f in lineup.forecasts], lineup.differences)
    gaps = (None, *lineup.differences)
    body = []
    for f, score, gap in zip(lineup.forecasts, shown, gaps, strict=True):
        found = [[score], _gap(f, gap, axis), _coverage(f), [number(f.facts.width, 3, zeros=True)]]
        cells = [
            tag("td", *content, role="cell", data_label=name)
            for name, content in zip(head[1:], found, strict=True)
        ]
        class_ = "title named"
        title = tag("th", svg.sample(f.slot), f.name, scope="row", role="rowheader", class_=class_)
        body.append(tag("tbody", tag("tr", title, *cells, role="row"), role="rowgroup"))
    note = (
        f"By rising CRPS, the score that weighs everything; low is good. Bars reach "
        f"{number(lineup.differences[0].limit, 2)} standard errors to each side of a difference, "
        f"of the same rows: one that touches the line is no more than chance explains."
    )
    table = cards("Results by model, the best first", head, body, "cards results")
    return join([table, tag("p", note, class_="note")])


def _coverage(f: Measured) -> list[str]:
    """Return the coverage, and whether it is as it should be."""
    coverage = f.facts.verdict.coverage
    words = tag("small", coverage.words, class_="off" if coverage.off else None)
    return [words] if coverage.decision == "no intervals" else [f.facts.share, words]


def _axis(differences: tuple[Difference, ...]) -> svg.Axis:
    """Return the axis of the differences; it ends before those far beyond most others."""
    known = [d for d in differences if _known(d)]
    low = min([0.0, *(d.mean - _reach(d) for d in known)])
    tops = sorted(max(d.mean + _reach(d), 0.0) for d in known)
    most = _FAR * tops[len(tops) // 2] if tops else 0.0
    high = max((top for top in tops if top <= most), default=0.0)
    return svg.Axis(low, high or 1.0, _ROOM, _WIDTH - _ROOM)


def _known(gap: Difference) -> bool:
    return math.isfinite(gap.mean) and math.isfinite(gap.limit * gap.error)


def _reach(gap: Difference) -> float:
    return gap.limit * gap.error


def _gap(f: Measured, gap: Difference | None, axis: svg.Axis) -> list[str]:
    """Return the difference from the best model, in numbers and drawn."""
    zero = axis.at(0.0)
    parts = [svg.line(zero, 0, zero, _HEIGHT, "target")]
    if gap is None:
        text = "the best"
        parts.append(svg.marker(f.slot, zero, _HEIGHT / 2, 4.5))
    elif not _known(gap):
        return [number(gap.mean)]
    else:
        error = measured(gap.error, gap.error)
        text = f"{measured(gap.mean, gap.error)} ± {error}"
        ends = (axis.at(gap.mean - _reach(gap)), axis.at(gap.mean + _reach(gap)))
        parts.append(svg.line(ends[0], _HEIGHT / 2, ends[1], _HEIGHT / 2, f"whisker {f.slot}"))
        if gap.mean > axis.high:
            parts.append(svg.arrow(_WIDTH - 1.0, _HEIGHT / 2, (1, 0), f.slot))
        else:
            parts.append(svg.marker(f.slot, axis.at(gap.mean), _HEIGHT / 2, 4.5))
    drawn = tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", aria_hidden="true", class_="gap")
    # The range of a model that chance may have put behind the best touches the line.
    unclear = [] if gap is None or gap.clear else [tag("small", "by chance")]
    return [text, drawn, *unclear]
