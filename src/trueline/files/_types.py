"""Types for the columns of a text file that is written to a format with types."""

from __future__ import annotations

from typing import Any

from trueline._arrow import pyarrow, text

# A number such as 007 is kept as text, because a number would lose the zeros.
_WHOLE = r"^(-?(0|[1-9]\d*))?$"
_PADDED = r"^-?0\d"


class ColumnTypes:
    """Types of columns: integers, numbers or text, widened if a later row needs it."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}

    def convert(self, table: Any) -> Any:
        """Return the table with types in place of text.

        Raises
        ------
        WiderTypeError
            If these rows need a wider type than earlier rows did.
        """
        pa = pyarrow()
        columns = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            if not pa.types.is_string(column.type):
                columns.append(column)
                continue
            first = name not in self._types
            wanted = self._types.get(name, _STEPS[0])
            while not _fits(column, wanted):
                wanted = _STEPS[_STEPS.index(wanted) + 1]
            widened = not first and wanted != self._types[name]
            self._types[name] = wanted
            if widened:
                raise WiderTypeError(name)
            columns.append(_cast(column, wanted))
        return pa.table(columns, names=table.column_names)


def as_typed(column: Any) -> Any:
    """Return a whole column; text that holds only numbers or times is converted."""
    if not pyarrow().types.is_string(column.type):
        return column
    for wanted in (*_STEPS[:-1], "timestamp[us]"):
        if _fits(column, wanted):
            return _cast(column, wanted)
    return column


class WiderTypeError(Exception):
    """A column needs a wider type than earlier rows did; the caller must start again."""


_STEPS = ("int64", "float64", "string")


def _fits(column: Any, wanted: str) -> bool:
    import pyarrow.compute as pc

    if wanted == "string":
        return True
    if wanted == "int64" and not pc.all(pc.match_substring_regex(column, _WHOLE)).as_py():
        return False
    if pc.any(pc.match_substring_regex(column, _PADDED)).as_py():
        return False
    try:
        _cast(column, wanted)
    except pyarrow().ArrowInvalid:
        return False
    return True


def _cast(column: Any, wanted: str) -> Any:
    """Return the column in this type; empty cells become missing values."""
    import pyarrow.compute as pc

    pa = pyarrow()
    if wanted == "string":
        return column
    empty = pc.equal(column, text(""))
    if pc.any(empty).as_py():
        column = pc.if_else(empty, pa.nulls(1, pa.string())[0], column)
    return column.cast(wanted)
