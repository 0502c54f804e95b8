"""Colours of the page, and how each forecast is drawn: colour, dashes and mark."""

from __future__ import annotations

from dataclasses import dataclass

# name: light, dark. Text has a contrast of 4.5 and more, marks of 3 and more. Blue, vermilion,
# orange, sky blue and green are of Okabe and Ito's palette for all kinds of colour vision;
# forecasts also differ by dashes and by mark, for print and for those who see no colours.
COLOURS = {
    "page": ("#ffffff", "#15181c"),
    "panel": ("#f5f6f8", "#1e2329"),
    "ink": ("#1b1f24", "#e9ecef"),
    "soft": ("#59626d", "#a4adb8"),
    "rule": ("#dfe3e8", "#343b44"),
    "band": ("#c9d0d8", "#3d4651"),
    "blue": ("#0072b2", "#56b4e9"),
    "vermilion": ("#d55e00", "#e69f00"),
    "green": ("#00845f", "#2fc79a"),
    "purple": ("#a3447e", "#e08bc0"),
    "olive": ("#7a6a00", "#f0e442"),
    "grey": ("#59626d", "#c3ccd5"),
    "blue-text": ("#005f95", "#7cc6f0"),
    "vermilion-text": ("#a84700", "#f0b440"),
}
TEXT = ("ink", "soft", "blue-text", "vermilion-text")
MARKS = ("blue", "vermilion", "green", "purple", "olive", "grey")
GROUNDS = ("page", "panel")


@dataclass(frozen=True)
class Style:
    """How a forecast is drawn; ``dash`` is the pattern of its lines, ``shape`` that of its marks.

    The corners of a shape are given for a radius of 1; a circle has none.
    """

    colour: str
    dash: str
    shape: tuple[tuple[float, float], ...]
    hollow: bool


_CIRCLE: tuple[tuple[float, float], ...] = ()
_SQUARE = ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9))
_UP = ((0.0, -1.15), (1.1, 0.85), (-1.1, 0.85))
_DOWN = ((0.0, 1.15), (1.1, -0.85), (-1.1, -0.85))
_DIAMOND = ((0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0))
_BAR = ((-0.45, -1.25), (0.45, -1.25), (0.45, 1.25), (-0.45, 1.25))
_SHAPES = (_CIRCLE, _SQUARE, _UP, _DIAMOND, _DOWN, _BAR)
_DASHES = (
    "none", "6 4", "2 3", "10 3 2 3", "14 4", "4 2 1 2",
    "8 2", "3 6", "12 3 2 3 2 3", "1 4", "18 3 3 3", "6 2 2 2 2 2",
)  # fmt: skip

#: Forecasts that can be told apart on one plot: six colours, each with full and hollow marks.
MOST_FORECASTS = len(_DASHES)
_RANKED = [
    Style(MARKS[i % 6], dash, _SHAPES[i % 6], hollow=(i % 2 == 1) is (i < 6))
    for i, dash in enumerate(_DASHES)
]
#: The slots of forecasts: "after" and "before" of a recalibration, "m1" to "m12" by rank.
STYLES = {"after": _RANKED[0], "before": _RANKED[1]}
STYLES |= {f"m{i}": style for i, style in enumerate(_RANKED, start=1)}


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
        + "".join(
            f".{slot}{{--own:var(--{style.colour});--dash:{style.dash}}}\n"
            f"[data-show={slot}] .series:not(.{slot}){{display:none}}\n"
            for slot, style in STYLES.items()
        )
    )
