"""Write files in chunks: CSV, TSV, Parquet and Arrow."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from trueline._arrow import pyarrow, text, texts
from trueline._files import FileError, cannot_write, check_writable, whole_file
from trueline._messages import Option
from trueline.files._source import SEPARATORS, known_ending

# Types of the columns of a text file, from narrow to wide.
_STEPS = ("int64", "float64", "string")
# A number such as 007 is kept as text, because a number would lose the zeros.
_WHOLE = r"^(-?(0|[1-9]\d*))?$"
_PADDED = r"^-?0\d"
# Characters that make quotes necessary in a text file, besides the separator.
_SPECIAL = '"\r\n'


class Sink(ABC):
    """A file to which tables of the same columns are written one after the other."""

    @abstractmethod
    def write(self, table: Any) -> None:
        """Write more rows."""

    @abstractmethod
    def close(self) -> None:
        """Write the end of the file."""


class _TextSink(Sink):
    """CSV and TSV: text is unchanged, and quoted only if necessary."""

    def __init__(self, file: IO[bytes], separator: str) -> None:
        self.file = file
        self.separator = separator
        self._started = False

    def write(self, table: Any) -> None:
        import pyarrow.compute as pc

        if not self._started:
            self._started = True
            names = self._quoted(texts(table.column_names))
            self.file.write((self.separator.join(names.to_pylist()) + "\n").encode())
        columns = [
            self._quoted(self._as_text(name, column))
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        lines = pc.binary_join_element_wise(*columns, text(self.separator))
        lines = pc.binary_join_element_wise(lines, text(""), text("\n"))
        for data in _bytes_of(lines):
            self.file.write(data)

    def _as_text(self, name: str, column: Any) -> Any:
        pa = pyarrow()
        try:
            column = column.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise FileError(
                f"column {name!r} is of type {column.type}, which text cannot hold. Write Parquet "
                f"or Arrow instead: ",
                Option("out"),
                " with an ending of .parquet or .arrow.",
            ) from None
        return column.fill_null(text("")) if column.null_count else column

    def _quoted(self, column: Any) -> Any:
        """Quote values that hold a separator, a quote or the end of a line."""
        import pyarrow.compute as pc

        # Usually there are none; a search in the bytes is the fastest way to find out.
        letters = [letter.encode() for letter in self.separator + _SPECIAL]
        if not any(letter in data for data in map(bytes, _bytes_of(column)) for letter in letters):
            return column
        special = pc.match_substring_regex(column, f"[{self.separator}{_SPECIAL}]")
        doubled = pc.replace_substring(column, '"', '""')
        quoted = pc.binary_join_element_wise(text('"'), doubled, text('"'), text(""))
        return pc.if_else(special, quoted, column)

    def close(self) -> None:
        """Do nothing, because text needs no end."""


def _bytes_of(column: Any) -> Iterator[memoryview]:
    """Yield the texts of a column, which are contiguous in memory."""
    for chunk in getattr(column, "chunks", [column]):
        _, offsets, data = chunk.buffers()
        if data is not None:
            first, last = chunk.offset, chunk.offset + len(chunk)
            ends = memoryview(offsets)[: 4 * (last + 1)].cast("i")  # there may be more bytes
            yield memoryview(data)[ends[first] : ends[last]]


class _BinarySink(Sink):
    """Parquet and Arrow."""

    def __init__(self, file: IO[bytes], *, parquet: bool) -> None:
        self.file = file
        self.parquet = parquet
        self._writer: Any = None

    def write(self, table: Any) -> None:
        if self._writer is None:
            if self.parquet:
                from pyarrow.parquet import ParquetWriter

                self._writer = ParquetWriter(self.file, table.schema, write_page_checksum=True)
            else:
                self._writer = pyarrow().ipc.new_file(self.file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@contextmanager
def open_sink(path: Path, *, force: bool) -> Iterator[Sink]:
    """Open a file for writing by its ending; it appears whole, at the end, or not at all."""
    known_ending(path, writing=True)
    check_writable(path, force=force)
    try:
        with whole_file(path, force=force) as file, _sink_to(file, path) as sink:
            yield sink
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def open_sink_in_folder(path: Path, *, shown: Path) -> Iterator[Sink]:
    """Open a file in a folder that nobody sees yet; messages call it ``shown``."""
    try:
        with path.open("wb") as file:
            with _sink_to(file, path) as sink:
                yield sink
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(shown, error) from None


@contextmanager
def open_sink_on_stream(stream: BinaryIO) -> Iterator[Sink]:
    """Write CSV to a stream, which stays open."""
    yield _TextSink(stream, SEPARATORS[".csv"])
    stream.flush()


@contextmanager
def _sink_to(file: IO[bytes], path: Path) -> Iterator[Sink]:
    ending, _ = known_ending(path, writing=True)
    sink: Sink
    if ending in SEPARATORS:
        sink = _TextSink(file, SEPARATORS[ending])
    else:
        sink = _BinarySink(file, parquet=ending == ".parquet")
    try:
        yield sink
        sink.close()
    except BaseException:
        # An open writer would try to end its file later, and fail with a message.
        with contextlib.suppress(Exception):
            sink.close()
        raise


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
