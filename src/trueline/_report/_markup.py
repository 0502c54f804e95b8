"""HTML and SVG as strings in which nothing goes unescaped by accident."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

Attribute = str | float | None

# Characters that HTML does not allow, half characters that no file can hold, and switches of the
# direction of writing, which would turn the words around a name.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_VOID = frozenset({"br", "link", "meta"})


class Markup(str):
    """Text that is HTML already; any other string is escaped when it becomes part of it."""

    __slots__ = ()


def clean(value: object) -> str:
    """Text of the user on one line, without characters that a page cannot hold."""
    return _FORBIDDEN.sub("\ufffd", " ".join(str(value).split()))


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Put parts together, escaping those that are not markup."""
    return Markup(_html(separator).join(map(_html, parts)))


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element.

    ``class_`` stands for class, ``aria_label`` for aria-label; an attribute that is None is left
    out.

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


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    # Two decimals of a unit are finer than any screen.
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _html(part: str) -> str:
    return part if isinstance(part, Markup) else escape(part)
