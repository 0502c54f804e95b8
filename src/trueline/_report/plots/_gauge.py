"""The coverage on a line from 0 to 100%."""

from __future__ import annotations

from collections.abc import Sequence

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import percent, span

_MIDDLE = 24


def gauge(forecasts: Sequence[Measured]) -> Markup:
    """Draw the coverage of each forecast, the target, and what chance explains for the last."""
    last, rows = forecasts[-1].facts.verdict.coverage, forecasts[-1].facts.rows
    target = _at(last.target)
    width = _at(last.high - last.low)
    marks = [
        tag(
            "svg",
            tag("g", svg.marker(f.slot, 0, 0), transform="scale(2)"),
            x=_at(f.evaluation.coverage),
            y=_MIDDLE,
            overflow="visible",
        )
        for f in forecasts
    ]
    shares = "; ".join(f"{f.name} {f.facts.share}" for f in forecasts)
    limits = span(percent(last.low, rows), percent(last.high, rows))
    return tag(
        "svg",
        tag("rect", x=_at(last.low), width=width, y=_MIDDLE - 11, height=22, class_="band"),
        tag("line", x1="0%", x2="100%", y1=_MIDDLE, y2=_MIDDLE, class_="base"),
        tag("line", x1=target, x2=target, y1=_MIDDLE - 16, y2=_MIDDLE + 16, class_="target"),
        *marks,
        tag("text", "0%", x="0%", y=58),
        tag("text", "50%", x="50%", y=58, text_anchor="middle"),
        tag("text", "100%", x="100%", y=58, text_anchor="end"),
        role="img",
        aria_label=(
            f"Share of outcomes inside their interval: {shares}. Promised {promise(last.target)}, "
            f"by chance {limits}."
        ),
        class_="gauge",
    )


def _at(share: float) -> str:
    # A share of the width of the page, so that the text keeps its size.
    return f"{100 * share:.2f}%"
