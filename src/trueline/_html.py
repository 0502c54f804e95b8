"""HTML and SVG as strings; text that is not markup is always escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

Attribute = str | float | None

# Characters that HTML does not allow, surrogates that cannot be encoded, and marks that change the
# direction of writing.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_VOID = frozenset({"br", "link", "meta"})
# A cell of a table that holds numbers and signs only.
_NUMBER = re.compile(r"(?:[-+−±×/%,.:\s\d]|e[-+]|inf|nan|∞)+")
_LEFT, _RIGHT = "text-align: left", "text-align: right"


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


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str | None = None
) -> Markup:
    """Return a table whose text is escaped, without colours or styles from elsewhere.

    Screen readers announce the header of the column and the first cell of the row.

    Parameters
    ----------
    headers : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Cells of each row, converted to text. The first one names the row. Cells that are numbers
        are aligned on the right.
    caption : str, optional
        Text above the table.

    Examples
    --------
    >>> from trueline._html import table
    >>> table(["name", "note"], [["a", "<b>"]])  # doctest: +ELLIPSIS
    '<table><thead>...<td style="text-align: left">&lt;b&gt;</td></tr></tbody></table>'
    """
    lines = [[clean(cell) for cell in row] for row in rows]
    head = [] if caption is None else [tag("caption", clean(caption), style=_LEFT)]
    # The header of a column is aligned as the numbers below it.
    columns = [[], *([line[j] for line in lines] for j in range(1, len(headers)))]
    titles = [
        tag("th", clean(header), scope="col", style=_alignment(column))
        for header, column in zip(headers, columns, strict=True)
    ]
    return tag("table", *head, tag("thead", tag("tr", *titles)), tag("tbody", *map(_row, lines)))


def _row(cells: list[str]) -> Markup:
    name, *rest = cells
    header = tag("th", name, scope="row", style=_LEFT)
    return tag("tr", header, *(tag("td", cell, style=_alignment([cell])) for cell in rest))


def _alignment(cells: list[str]) -> str:
    return _RIGHT if any(map(_NUMBER.fullmatch, cells)) else _LEFT


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    # Two decimals are finer than any screen.
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _html(part: str) -> str:
    return part if isinstance(part, Markup) else escape(part)
