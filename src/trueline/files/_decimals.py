"""Numbers with a decimal comma in text."""

from __future__ import annotations

from typing import Any

from trueline._arrow import pyarrow

# A text that is a number with a decimal comma.
COMMA = r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?"
_PARTS = r"^(\s*[+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?\s*)$"


def with_point(column: Any) -> Any:
    """Return a column of text with a point in every number that has a decimal comma."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(column, _PARTS, r"\1.\2")


def decimal_points(table: Any) -> Any:
    """Return a table with decimal points in all columns of text."""
    text = pyarrow().types.is_string
    columns = [with_point(c) if text(c.type) else c for c in table.columns]
    return pyarrow().table(columns, names=table.column_names)
