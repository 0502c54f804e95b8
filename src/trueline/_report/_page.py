"""The page: its colours, its sections and its content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from trueline._messages import percent as promise
from trueline._report import _tables as tables
from trueline._report._given_x import given_x
from trueline._report._lineup import Lineup
from trueline._report._markup import NEEDS_SCRIPT, Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import counted
from trueline._report._results import results
from trueline._report._segments import Search
from trueline._report._style import stylesheet
from trueline._report._words import short
from trueline._report.plots import gauge
from trueline.metrics import ConditionalCoverage

_HINT = "Point at a plot to read its values, or use the Tab key and the arrow keys."
# Number of forecasts whose measures fit side by side on a narrow page.
_SIDE_BY_SIDE = 2


@dataclass(frozen=True, eq=False)
class Content:
    """Content of the page; plain strings are escaped."""

    title: str
    subtitle: str
    headline: str
    findings: list[str]
    warnings: list[str]
    lineup: Lineup
    plots: Markup
    groups: Search | None
    group_name: str
    segments: Search
    given_x: dict[str, ConditionalCoverage]
    made: list[tuple[str, str]]


def page(content: Content) -> str:
    """Return the whole file."""
    style, script = stylesheet() + _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        f"img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="generator", content="trueline"),
        tag("title", content.title),
        # Without this, browsers request an icon from the server.
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        _header(content),
        tag("main", _summary(content), *_sections(content)),
        tag("footer", "Made with trueline. This page loads nothing: it can be kept and sent."),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _header(content: Content) -> Markup:
    # Screen readers say whether the button is pressed; the script writes it for the eye.
    theme = tag(
        "button",
        "Dark mode",
        tag("span", aria_hidden="true", class_="state"),
        type="button",
        class_="theme",
        aria_pressed="false",
        **NEEDS_SCRIPT,
    )
    return tag("header", tag("div", tag("h1", content.title), tag("p", content.subtitle)), theme)


def _summary(content: Content) -> Markup:
    return tag(
        "div",
        tag("p", content.headline, class_="headline"),
        *([results(content.lineup)] if content.lineup.compares else _coverages(content.lineup)),
        tag("ul", *(tag("li", line) for line in content.findings), class_="findings"),
        *(tag("p", warning, class_="warning") for warning in content.warnings),
    )


def _coverages(lineup: Lineup) -> list[Markup]:
    """Return the coverage before and after recalibration in large figures, and drawn."""
    forecasts = lineup.forecasts
    shares = [_big(f.name, f.facts.share, f.slot) for f in forecasts]
    shares.append(_big("promised", promise(forecasts[0].facts.target), "promised"))
    return [tag("dl", *shares, class_="shares"), gauge(forecasts)]


def _big(name: str, share: str, class_: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", share), class_=class_)


def _sections(content: Content) -> list[Markup]:
    lineup = content.lineup
    forecasts, main = lineup.forecasts, lineup.forecasts[lineup.main]
    note = (
        f"On {counted(forecasts[0].evaluation.n, 'row')}. The floor is the calibration error that "
        f"a perfect forecast would have on the same number of rows, by chance alone."
    )
    if len(forecasts) > _SIDE_BY_SIDE:
        measures = tables.measures_by_model(forecasts)
        note += f" Here it is {tables.floors(forecasts)}."
    else:
        measures = tables.measures(forecasts)
    sections = [
        _section(
            "plots",
            "The plots",
            tag("p", _HINT, class_="hint", **NEEDS_SCRIPT),
            *_left_out(lineup),
            _choice(forecasts),
            tag("div", content.plots, class_="plots"),
        ),
        _section("measures", "The measures", tag("p", note), measures),
    ]
    if content.groups is not None:
        body = tables.groups(content.groups, lineup.drawn, content.group_name, main)
        sections.append(_section("groups", "Group by group", body))
    if main.name in content.given_x:
        body = given_x(content.given_x, main)
        sections.append(_section("given-x", "Is it true given x?", body))
    body = tables.segments(content.segments, lineup.drawn, main)
    sections.append(_section("segments", "Where it is worst", body))
    pairs = [part for name, value in content.made for part in (tag("dt", name), tag("dd", value))]
    sections.append(_section("made", "How this was made", tag("dl", *pairs, class_="made")))
    return sections


def _section(name: str, title: str, *parts: str) -> Markup:
    return tag("section", tag("h2", title, id=name), *parts, aria_labelledby=name)


def _left_out(lineup: Lineup) -> list[Markup]:
    """Return which forecasts have no plots of their own, if there are such."""
    drawn, rest = lineup.drawn, lineup.forecasts[len(lineup.drawn) :]
    if not rest:
        return []
    names = ", ".join(f"“{short(f.name)}”" for f in drawn)
    text = (
        f"The calibration curve and the parts of the CRPS have all {len(lineup.forecasts)} "
        f"models. The other plots, and the tables by group and segment, have the {len(drawn)} "
        f"with the lowest CRPS: {names}. For the others, make a report of their own."
    )
    return [tag("p", text, class_="left-out")]


def _choice(forecasts: Sequence[Measured]) -> Markup:
    """Return buttons that show one forecast or all; they need the script."""
    if len(forecasts) == 1:
        return Markup()
    every = "Both" if len(forecasts) == 2 else "All"
    buttons = [
        tag("button", name, type="button", data_show=show, aria_pressed=str(show == "all").lower())
        for show, name in [("all", every), *((f.slot, short(f.name)) for f in forecasts)]
    ]
    label = "Forecasts shown"
    return tag("div", *buttons, class_="choice", role="group", aria_label=label, **NEEDS_SCRIPT)


@cache
def _asset(name: str) -> str:
    return resources.files("trueline._report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
