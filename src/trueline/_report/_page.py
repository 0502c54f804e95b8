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
from trueline._report._markup import NEEDS_SCRIPT, Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import counted
from trueline._report._segments import Search
from trueline._report.plots import gauge

_HINT = "Point at a plot to read its values, or use the Tab key and the arrow keys."

# name: light, dark. Text has a contrast of 4.5 and more, marks of 3 and more. Blue, vermilion,
# orange and sky blue are of Okabe and Ito's palette for all kinds of colour vision; forecasts also
# differ by dash and by mark.
COLOURS = {
    "page": ("#ffffff", "#15181c"),
    "panel": ("#f5f6f8", "#1e2329"),
    "ink": ("#1b1f24", "#e9ecef"),
    "soft": ("#59626d", "#a4adb8"),
    "rule": ("#dfe3e8", "#343b44"),
    "band": ("#c9d0d8", "#3d4651"),
    "before": ("#d55e00", "#e69f00"),
    "before-text": ("#a84700", "#f0b440"),
    "after": ("#0072b2", "#56b4e9"),
    "after-text": ("#005f95", "#7cc6f0"),
}
TEXT = ("ink", "soft", "before-text", "after-text")
MARKS = ("before", "after")
GROUNDS = ("page", "panel")


@dataclass(frozen=True, eq=False)
class Content:
    """Content of the page; plain strings are escaped."""

    title: str
    subtitle: str
    headline: str
    findings: list[str]
    warnings: list[str]
    forecasts: list[Measured]
    plots: Markup
    groups: Search | None
    group_name: str
    segments: Search
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
    theme = tag(
        "button", "Dark", type="button", class_="theme", aria_pressed="false", **NEEDS_SCRIPT
    )
    return tag("header", tag("div", tag("h1", content.title), tag("p", content.subtitle)), theme)


def _summary(content: Content) -> Markup:
    forecasts = content.forecasts
    shares = [_big(f.name, f.facts.share, f.slot) for f in forecasts]
    shares.append(_big("promised", promise(forecasts[0].facts.target), "promised"))
    return tag(
        "div",
        tag("p", content.headline, class_="headline"),
        tag("dl", *shares, class_="shares"),
        gauge(forecasts),
        tag("ul", *(tag("li", line) for line in content.findings), class_="findings"),
        *(tag("p", warning, class_="warning") for warning in content.warnings),
    )


def _big(name: str, share: str, class_: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", share), class_=class_)


def _sections(content: Content) -> list[Markup]:
    forecasts = content.forecasts
    note = (
        f"On {counted(forecasts[0].evaluation.n, 'row')}. The floor is the calibration error that "
        f"a perfect forecast would have on the same number of rows, by chance alone."
    )
    sections = [
        _section(
            "plots",
            "The plots",
            tag("p", _HINT, class_="hint", **NEEDS_SCRIPT),
            _choice(forecasts),
            tag("div", content.plots, class_="plots"),
        ),
        _section("measures", "The measures", tag("p", note), tables.measures(forecasts)),
    ]
    if content.groups is not None:
        body = tables.groups(content.groups, forecasts, content.group_name)
        sections.append(_section("groups", "Group by group", body))
    body = tables.segments(content.segments, forecasts)
    sections.append(_section("segments", "Where it is worst", body))
    pairs = [part for name, value in content.made for part in (tag("dt", name), tag("dd", value))]
    sections.append(_section("made", "How this was made", tag("dl", *pairs, class_="made")))
    return sections


def _section(name: str, title: str, *parts: str) -> Markup:
    return tag("section", tag("h2", title, id=name), *parts, aria_labelledby=name)


def _choice(forecasts: Sequence[Measured]) -> Markup:
    """Return buttons that show one forecast or both; they need the script."""
    if len(forecasts) == 1:
        return Markup()
    buttons = [
        tag("button", name, type="button", data_show=show, aria_pressed=str(show == "all").lower())
        for show, name in [("all", "Both"), *((f.slot, f.name) for f in forecasts)]
    ]
    label = "Forecasts shown"
    return tag("div", *buttons, class_="choice", role="group", aria_label=label, **NEEDS_SCRIPT)


def stylesheet() -> str:
    """Return the colours as CSS variables: by the system's scheme, or by the page's button."""
    light, dark = (
        "".join(f"--{name}:{pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1)
    )
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=light]{{color-scheme:light;{light}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root,:root[data-theme]{{color-scheme:light;{light}}}}}\n"
    )


@cache
def _asset(name: str) -> str:
    return resources.files("trueline._report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
