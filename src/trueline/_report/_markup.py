"""HTML and SVG as strings; text that is not markup is always escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

Attribute = str | float | None

# Characters that HTML does not allow, surrogates that cannot be encoded, and marks that change the
# direction of writing.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_VOID = frozenset({"br", "link", "meta"})
# Attributes of elements that are hidden until the script shows them.
NEEDS_SCRIPT = {"hidden": "", "data_script": ""}


class Markup(str):
    """Text that is HTML; other strings are escaped when they are joined with it."""

    __slots__ = ()


def clean(value: object) -> str:
    """Return the text of a user on one line, without characters that a page cannot contain."""
    return _FORBIDDEN.sub("\ufffd", " ".join(str(value).split()))


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Join parts, escaping those that are not markup."""
    return Markup(_html(separator).join(map(_html, parts)))


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element.

    ``class_`` stands for class, ``aria_label`` for aria-label; None leaves an attribute out.

    >>> tag("b", "1 < 2", class_="x")
    '<b class="x">1 &lt; 2</b>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{name}{pairs}>"
    return Markup(start if name in _VOID else f"{start}{join(children)}</{name}>")


def table(caption: str, head: Iterable[str], rows: Iterable[Markup], class_: str) -> Markup:
    """Return a table with a caption for screen readers."""
    return tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
        tag("tbody", *rows),
        class_=class_,
    )


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    # Two decimals are finer than any screen.
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _html(part: str) -> str:
    return part if isinstance(part, Markup) else escape(part)
