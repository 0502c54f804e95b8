"""Parts of the page that HTML alone does not give."""

from __future__ import annotations

from collections.abc import Iterable

from trueline._html import Markup, clean, join, tag

__all__ = ["NEEDS_SCRIPT", "Markup", "clean", "join", "table", "tag"]

# Attributes of elements that are hidden until the script shows them.
NEEDS_SCRIPT = {"hidden": "", "data_script": ""}


def table(caption: str, head: Iterable[str], rows: Iterable[Markup], class_: str) -> Markup:
    """Return a table with a caption for screen readers."""
    return tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
        tag("tbody", *rows),
        class_=class_,
    )
