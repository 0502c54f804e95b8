"""Colours, light and dark: text has a contrast of 4.5 and more, marks of 3 and more."""

from __future__ import annotations

# name: light, dark. Blue, vermilion, orange and sky blue are of Okabe and Ito's palette for all
# kinds of colour vision; forecasts also differ by dash and by mark.
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
