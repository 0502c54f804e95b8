"""Chunks of a file as checked arrays: outcomes, forecast, weights and groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueline._arrow import pyarrow, texts, to_numpy
from trueline._files import FileError
from trueline._messages import Option, Part, shortened
from trueline._validation import FloatArray, all_finite
from trueline.distributions import Distribution
from trueline.files._layout import Layout
from trueline.files._source import File
from trueline.recalibration import Key

_FIX = "Fix or drop that row"
# Texts that stand for a missing value.
_MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "-", "?", "missing"}
)
# A column with more groups than this probably names rows.
MOST_GROUPS = 10_000
# A text that is a number with a decimal comma, and its parts.
_COMMA = r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?"
_COMMA_PARTS = r"^(\s*[+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?\s*)$"

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
Progress = Callable[[int, float], None]


class GroupCodes:
    """Gives each group an integer code, in the order in which they come.

    Parameters
    ----------
    names : sequence, optional
        Groups that are known already.
    where : str, default "the column of groups"
        What messages call the column.

    Examples
    --------
    >>> from trueline.files._chunks import GroupCodes
    >>> codes = GroupCodes(["north"])
    >>> codes.add(["south", "north"]), codes.names
    (array([1, 0], dtype=int32), ['north', 'south'])
    """

    def __init__(self, names: Sequence[Key] = (), where: str = "the column of groups") -> None:
        self.where = where
        self.names: list[Key] = list(names)
        self._code = {name: i for i, name in enumerate(self.names)}
        # A file may call a group "3" that another calls 3.
        self._as_text = bool(names) and all(isinstance(name, str) for name in names)
        self._as_number = bool(names) and not any(isinstance(name, str) for name in names)

    def encode(self, column: Any) -> Codes:
        """Return the code of each row's group, from an Arrow array of names."""
        encoded = column.dictionary_encode()
        return self.add(encoded.dictionary.to_pylist())[to_numpy(encoded.indices)]

    def add(self, names: Sequence[Any]) -> Codes:
        """Return the code of each group; an unknown group gets a new code."""
        codes = [self._code_of(self.alike(name)) for name in names]
        if len(self.names) > MOST_GROUPS:
            raise FileError(
                f"{self.where} holds more than {MOST_GROUPS:,} groups; expected fewer. Is it a "
                f"name of each row rather than of a group?"
            )
        return np.asarray(codes, dtype=np.int32)

    def _code_of(self, name: Key) -> int:
        code = self._code.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def alike(self, name: Any) -> Any:
        """Return a name in the type of the known names."""
        if self._as_text and not isinstance(name, str):
            return str(int(name)) if float(name).is_integer() else str(name)
        if self._as_number and isinstance(name, str):
            try:
                number = float(name)
            except ValueError:
                return name
            return int(number) if number.is_integer() else number
        return name


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes
    ----------
    source : File
        The file of the rows.
    start : int
        Number of rows before them.
    table : pyarrow.Table
        The columns; numbers have decimal points, whatever they have in the file. It includes the
        rows that are left out.
    kept : (n,) array of int or None
        The rows of ``table`` that are used; None for all.
    forecast : list of (n,) arrays
        The columns of the forecast, checked; see ``dist``.
    y : (n,) array
        Outcomes; empty if the layout has none.
    weight : (n,) array or None
    groups : (n,) array of int or None
        Codes of the groups; see `Forecasts.groups`.
    """

    source: File
    start: int
    table: Any
    kept: Rows | None
    layout: Layout
    forecast: list[FloatArray]
    y: FloatArray
    weight: FloatArray | None
    groups: Codes | None

    def __len__(self) -> int:
        """Return the number of rows that are used."""
        return len(self.forecast[0])

    @property
    def n_skipped(self) -> int:
        """Number of rows that are left out."""
        return int(self.table.num_rows) - len(self)

    @property
    def dist(self) -> Distribution:
        """The forecasts of these rows."""
        return self.layout.distribution(self.forecast)

    def n_weighted(self) -> int:
        """Return the number of rows with a weight above 0."""
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight))

    def where(self, row: int) -> str:
        """Return the file and the place in it of one of these rows, for messages."""
        row = row if self.kept is None else int(self.kept[row])
        return f"{self.source.path}, {self.source.where(self.start + row)}"

    def in_table(self, rows: Rows) -> Any:
        """Return the columns of some of the rows that are used."""
        return self.table.take(rows if self.kept is None else self.kept[rows])


def checked_chunk(
    source: File,
    table: Any,
    start: int,
    layout: Layout,
    codes: GroupCodes | None,
    skip_missing: bool | None = None,
) -> tuple[Chunk, int]:
    """Return rows as a chunk, and the number of them whose quantiles cross.

    If ``skip_missing`` is None, the caller has no such option, and messages do not suggest it.
    """
    shown = _decimal_points(table) if source.decimal == "," else table
    kept = _complete(table, layout) if skip_missing else None
    if kept is not None:
        table = table.take(kept)
        if not kept.size:
            none = np.empty(0)
            forecast = [none] * len(layout.forecast)
            return Chunk(source, start, shown, kept, layout, forecast, none, None, None), 0
    can_skip = () if skip_missing is None else layout.must_be_there
    reader = _Reader(source, table, start, kept, can_skip)
    forecast = [reader.numbers(name) for name in layout.forecast]
    if layout.kind == "normal":
        reader.check_scale(layout.forecast[1], forecast[1])
    crossing = 0
    if layout.kind in ("quantiles", "intervals"):
        crossing = _sort_crossing(forecast)
    weight = None
    if layout.weight is not None:
        weight = reader.numbers(layout.weight)
        reader.check(layout.weight, weight, weight >= 0, "a weight of 0 or more", _FIX)
    y = np.empty(0) if layout.y is None else reader.numbers(layout.y)
    groups = None
    if layout.group is not None and codes is not None:
        groups = codes.encode(reader.groups(layout.group))
    return Chunk(source, start, shown, kept, layout, forecast, y, weight, groups), crossing


def _complete(table: Any, layout: Layout) -> Rows | None:
    """Return the rows in which neither the outcome nor the forecast is missing; None for all."""
    missing = np.zeros(table.num_rows, dtype=bool)
    for name in layout.must_be_there:
        missing |= _is_missing(table[name])
    return np.flatnonzero(~missing) if missing.any() else None


def _is_missing(column: Any) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    types = pyarrow().types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        words = pc.utf8_lower(pc.utf8_trim_whitespace(column)).cast(pyarrow().string())
        found = pc.is_in(words, value_set=texts(sorted(_MISSING)))
        return pc.or_(found, column.is_null()).to_numpy()
    return column.is_null(nan_is_null=True).to_numpy()


def _sort_crossing(columns: list[FloatArray]) -> int:
    """Sort the rows whose quantiles cross, in place; return their number."""
    crossing = np.zeros(columns[0].size, dtype=bool)
    for low, high in pairwise(columns):
        crossing |= high < low
    count = int(np.count_nonzero(crossing))
    if count:
        rows = np.flatnonzero(crossing)
        in_order = np.sort(np.stack([column[rows] for column in columns]), axis=0)
        for i, values in enumerate(in_order):
            columns[i] = columns[i].copy()  # memory of Arrow is read-only
            columns[i][rows] = values
    return count


@dataclass(frozen=True)
class _Reader:
    """Reads the columns of one chunk; its errors name the row."""

    source: File
    table: Any
    start: int
    kept: Rows | None
    can_skip: Sequence[str]  # columns in which a missing value can be skipped

    def numbers(self, name: str) -> FloatArray:
        """Return a column as finite numbers."""
        column = self._as_float(name)
        if column.null_count:
            self._raise_missing(name, int(np.argmax(column.is_null().to_numpy())), "")
        numbers: FloatArray = to_numpy(column)
        if not all_finite(numbers):
            row = int(np.argmin(np.isfinite(numbers)))
            if np.isnan(numbers[row]):
                self._raise_missing(name, row, str(self.table[name][row]))
            self.fail(name, row, f"found {numbers[row]}", "a finite number", _FIX)
        return numbers

    def _as_float(self, name: str) -> Any:
        pa = pyarrow()
        column, types = self.table[name], pa.types
        if types.is_float64(column.type):
            return column
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if types.is_string(column.type) or types.is_large_string(column.type):
            return self._parse(name, column)
        if types.is_null(column.type):
            self._raise_missing(name, 0, "")
        number = types.is_integer(column.type) or types.is_floating(column.type)
        if not (number or types.is_decimal(column.type)):
            raise FileError(
                f"{self.source.path}, column {name!r} is of type {column.type}; expected numbers. "
                f"Convert it first."
            )
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            raise FileError(
                f"{self.source.path}, column {name!r} holds integers beyond 2**53, which float64 "
                f"cannot hold exactly. Subtract an offset or change the unit first."
            ) from None

    def _parse(self, name: str, column: Any) -> Any:
        import pyarrow.compute as pc

        pa = pyarrow()
        if self.source.decimal == ",":
            points = pc.match_substring(column, ".")
            if pc.any(points).as_py():
                self._raise_point(name, column, pc.index(points, value=True).as_py())
            column = _with_point(column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            column = pc.utf8_trim_whitespace(column)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            self._raise_unreadable(name, column, _first_unreadable(column))

    def _raise_unreadable(self, name: str, column: Any, row: int) -> NoReturn:
        text = str(column[row])
        if text.lower() in _MISSING:
            self._raise_missing(name, row, text)
        fix: Part = _FIX
        if self._place(row) == 0:
            fix = f"{_FIX}, or name another column if all rows are like it"
        if re.fullmatch(_COMMA, text):
            # A format with types has numbers of its own, so the option would not help there.
            read = ("read the file with ", Option("decimal", ","), ", or ")
            fix = (
                "It looks like a decimal comma: ",
                () if self.source.typed else read,
                'write it with decimal points (pandas reads commas with decimal=",")',
            )
        self.fail(name, row, f"found {shortened(text, 40)!r}", "a number", fix)

    def _raise_point(self, name: str, column: Any, row: int) -> NoReturn:
        """Raise for 1.234 beside decimal commas: the point may separate thousands or decimals."""
        self.fail(
            name,
            row,
            f"found {shortened(str(column[row]), 40)!r}",
            "a number with a decimal comma and no point",
            (
                "Leave out ",
                Option("decimal"),
                " if it is a decimal point; take out the points between thousands",
            ),
        )

    def _raise_missing(self, name: str, row: int, text: str) -> NoReturn:
        shown = f" ({text})" if text else ""
        fix: Part = "Drop that row or fill it in"
        if name in self.can_skip:
            fix = fix, ", or leave out all such rows with ", Option("skip_missing", True)
        self.fail(name, row, f"the value is missing{shown}", "a number", fix)

    def groups(self, name: str) -> Any:
        """Return the column of groups."""
        column = self.table[name].combine_chunks()
        types = pyarrow().types
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        text = types.is_string(kind) or types.is_large_string(kind)
        if not (text or types.is_integer(kind) or types.is_floating(kind)):
            raise FileError(
                f"{self.source.path}, column {name!r} is of type {kind}; expected text or numbers "
                f"that name the groups."
            )
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            self.fail(
                name, row, "the group is missing", "a name", "Drop that row or give it a name"
            )
        return column

    def check_scale(self, name: str, values: FloatArray) -> None:
        """Raise at the first standard deviation that is not above 0."""
        fix: Part = (
            "A forecast without spread is a point forecast (",
            Option("kind", "point"),
            "); otherwise add the noise that it leaves out",
        )
        if values.min() < 0:
            fix = "A standard deviation is never negative; is this the logarithm of one?"
        self.check(name, values, values > 0, "a number above 0", fix)

    def check(self, name: str, values: FloatArray, holds: Any, expected: str, fix: Part) -> None:
        """Raise at the first row where the condition does not hold."""
        if not holds.all():
            row = int(np.argmin(holds))
            self.fail(name, row, f"found {values[row]:g}", expected, fix)

    def fail(self, name: str, row: int, found: str, expected: str, fix: Part) -> NoReturn:
        """Raise, and say where."""
        where = self.source.where(self._place(row))
        end = "" if isinstance(fix, str) and fix.endswith("?") else "."
        raise FileError(
            f"{self.source.path}, {where}, column {name!r}: {found}; expected {expected}. ",
            (fix, end),
        )

    def _place(self, row: int) -> int:
        """Return the place of a row in the file."""
        return self.start + (row if self.kept is None else int(self.kept[row]))


def _first_unreadable(column: Any) -> int:
    """Return the row of the first text that is not a number, by bisection."""
    pa = pyarrow()
    good, bad = 0, len(column)  # all rows before `good` can be read, and not all before `bad`
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            column.slice(good, middle - good).cast(pa.float64())
            good = middle
        except pa.ArrowInvalid:
            bad = middle
    return good


def _with_point(column: Any) -> Any:
    """Return a column of text with a point in every number that has a decimal comma."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(column, _COMMA_PARTS, r"\1.\2")


def _decimal_points(table: Any) -> Any:
    """Return a table with decimal points in all columns of text."""
    text = pyarrow().types.is_string
    columns = [_with_point(c) if text(c.type) else c for c in table.columns]
    return pyarrow().table(columns, names=table.column_names)
