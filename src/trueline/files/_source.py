"""Files as chunks of rows: CSV, TSV, Parquet and Arrow, in constant memory."""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import islice
from pathlib import Path
from typing import IO, Any

from trueline._arrow import pyarrow, text
from trueline._files import FileError
from trueline._messages import Option, did_you_mean, reason

# The most rows that are worked on in one piece, where a file or folder can be read from any place.
PIECE = 1 << 23
# Fewer rows are cut into so many pieces, so that no core waits long for another at the end; but a
# piece has at least a quarter of those rows, for what is found in each has to be merged.
_PIECES = 8
# Bytes of text that count as a row where it takes reading to know.
_ROW_OF_TEXT = 64
# Values in a chunk, and its most and fewest rows. Few columns give chunks of several of the
# blocks in which `evaluate` adds up, so that sums over chunks are its sums to the last bit.
_VALUES = 1 << 22
_MOST_ROWS = 1 << 16
_FEWEST_ROWS = 1 << 10
# Rows of each group to have in a chunk, within that many rows in all.
_GROUP_ROWS = 256
_MOST_OF_GROUPS = 1 << 19
# Bytes of text that are parsed at a time; a row must fit.
_TEXT_BLOCK = 1 << 19

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# What else is found between columns, as it is written in a shell.
_BETWEEN = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
_ARROW = (".arrow", ".feather", ".ipc")
_ARROW_FILE = b"ARROW1"  # what a file, unlike a stream, starts with
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def rows_of_piece(rows: float) -> float:
    """Return how many of so many rows to work on in one piece."""
    return min(max(rows / _PIECES, PIECE / 4), PIECE)


class Source(ABC):
    """Rows in a file, or in several one after the other.

    Attributes
    ----------
    path : Path
    names : tuple of str
        The columns.
    rows : int
        Rows read so far.
    crossing : int
        Those of them whose quantiles crossed.
    within : Path
        Its name within the folder that it was found in.
    fixed : dict
        Columns that it has of the names of its folders, such as region=north, with their value.
    types : dict of str
        The type of each column, where the format has types.
    n_rows : int or None
        Its rows, where the format says so.
    metadata : dict or None
        What the file says of itself, beside its columns.
    typed : bool
        Whether the format has types; text has none.
    decimal : str
        What stands before the decimals of numbers in text.
    """

    path: Path
    within = Path()
    names: tuple[str, ...] = ()
    rows = 0
    crossing = 0
    n_rows: int | None = None
    metadata: Any = None
    typed = True
    decimal = "."

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fixed: dict[str, str | None] = {}
        self.types: dict[str, str] = {}

    @property
    @abstractmethod
    def files(self) -> Sequence[File]:
        """The files that it is made of."""

    def size(self) -> float:
        """Rows, or what comes near their number."""
        if self.n_rows is not None:
            return self.n_rows
        return self.path.stat().st_size / _ROW_OF_TEXT

    def pieces(self) -> Sequence[Source]:
        """Return what can be worked on apart, in order; it depends on the rows alone."""
        return (self,)

    @abstractmethod
    def share(self) -> float:
        """Share of the file that was read so far."""


class File(Source):
    """Rows of one file."""

    _schema: Any = None  # of a format that has types

    @property
    def files(self) -> Sequence[File]:
        return (self,)

    @abstractmethod
    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches of any size, with at least these columns, in any order."""

    def header(self) -> Any:
        """Return a table of its own columns, without rows."""
        pa = pyarrow()
        if self._schema is not None:
            return self._schema.empty_table()
        own = [name for name in self.names if name not in self.fixed]
        return pa.schema([(name, pa.string()) for name in own]).empty_table()

    @abstractmethod
    def where(self, row: int) -> str:
        """Return where a row stands in the file, for its user; rows count from 0."""

    def chunks(self, columns: Sequence[str] | None = None, groups: int = 0) -> Iterator[Any]:
        """Tables of the columns, all of the same number of rows but the last.

        They are larger where each of so many groups is to be worked on in turn.
        """
        most = min(max(1 << (_GROUP_ROWS * groups).bit_length(), _MOST_ROWS), _MOST_OF_GROUPS)
        wanted = list(self.names if columns is None else columns)
        own = [name for name in wanted if name not in self.fixed]
        size = _VALUES // max(len(wanted), 1)
        rows = min(max(1 << (size.bit_length() - 1) if size else 0, _FEWEST_ROWS), most)
        self.rows = 0
        with self._explained():
            batches = (batch.select(own) for batch in self._batches(own, rows))
            for table in _of_size(batches, rows):
                self.rows += table.num_rows
                yield self._with_fixed(table, wanted).replace_schema_metadata(self.metadata)

    def _with_fixed(self, table: Any, wanted: list[str]) -> Any:
        """Return the table with the columns that are the same in every row."""
        for place, name in enumerate(wanted):
            if name in self.fixed:
                value, rows = self.fixed[name], table.num_rows
                missing = pyarrow().nulls(rows, pyarrow().string())
                column = missing if value is None else pyarrow().repeat(text(value), rows)
                table = table.add_column(place, name, column)
        return table

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what a reader raises into what the user should know."""
        pa = pyarrow()
        try:
            yield
        except FileError:
            raise
        except (pa.ArrowException, OSError, csv.Error) as error:
            raise self._fault(error) from None

    def _take_schema(self, schema: Any) -> None:
        self._schema = schema
        self.names = tuple(schema.names)
        self.metadata = schema.metadata
        self.types = {field.name: str(field.type) for field in schema}

    def _fault(self, error: BaseException) -> FileError:
        return FileError(
            f"{self.path} is damaged or not what its ending says: {reason(error)}. Write it again."
        )


def _of_size(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Cut and join record batches to tables of exactly so many rows, but for the last."""
    pa = pyarrow()
    waiting: list[Any] = []
    held = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows - held)
            waiting.append(part)
            held += part.num_rows
            start += part.num_rows
            if held == rows:
                yield pa.Table.from_batches(waiting)
                waiting, held = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


class _Text(File):
    """CSV and TSV. Every column is read as text, so that what is not used stays as it is."""

    typed = False

    def __init__(self, path: Path, separator: str, packed: str | None, decimal: str) -> None:
        super().__init__(path)
        self.separator = separator
        self.decimal = decimal
        if decimal not in (".", ","):
            raise FileError(f"the decimal character is {decimal!r}; expected ',' or '.'.")
        self._packed = packed
        self._file: IO[bytes] | None = None
        with self._explained():
            lines = self._numbered()
            header = next(lines, None)
            if header is not None and next(lines, None) is None:
                self.n_rows = 0
        if header is None:
            raise FileError(f"{path} is empty; expected a line with the names of the columns.")
        self.names = tuple(header[0])
        self._check_header()

    def _check_header(self) -> None:
        if not _is_text(self.names):
            raise self._not_text(1)
        if len(self.names) == 1:
            self._check_separator(self.names[0])
        if all(_is_number(name) for name in self.names):
            raise FileError(
                f"{self.path} starts with numbers; expected a first line with the names of the "
                f"columns, such as y,mean,std."
            )

    def _check_separator(self, header: str) -> None:
        """Raise if what was read as one name is several, with something else between them."""
        usual = {",": "commas", "\t": "tabs"}.get(self.separator, repr(self.separator))
        for other, shown in _BETWEEN.items():
            if other in header:
                raise FileError(
                    f"{self.path} has its columns separated by {shown}, not by {usual}. Use ",
                    Option("separator", other),
                    ".",
                )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self.path.open("rb", buffering=0) as self._file:
            if self._packed is None:
                yield self._file
                return
            with pyarrow().CompressedInputStream(self._file, self._packed) as unpacked:
                yield unpacked

    def _numbered(self) -> Iterator[tuple[list[str], int]]:
        """Rows by the standard library, slower, with the number of the line each starts on."""
        with self._opened() as stream:
            raw = stream if self._packed is None else _Readable(stream)
            # Bytes that are no text show as such in a message about them, not as another error.
            text = io.TextIOWrapper(
                io.BufferedReader(raw), encoding="utf-8-sig", errors="surrogateescape", newline=""
            )
            reader = csv.reader(text, delimiter=self.separator)
            start = 1
            for row in reader:
                if row:  # blank lines are no rows
                    yield row, start
                start = reader.line_num + 1

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv, string

        with self._opened() as stream:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(block_size=_TEXT_BLOCK),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.separator, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(self.names, string()),
                    include_columns=list(columns),
                    strings_can_be_null=False,
                ),
            )
            with reader:
                yield from reader

    def share(self) -> float:
        # The reader is a little ahead of the rows, and closes the file at its end.
        if self._file is None or self._file.closed:
            return 1.0
        return min(self._file.tell() / max(self.path.stat().st_size, 1), 1.0)

    def where(self, row: int) -> str:
        found = next(islice(self._numbered(), row + 1, None), None)  # after the header
        return f"row {row + 1}" if found is None else f"line {found[1]}"

    def _fault(self, error: BaseException) -> FileError:
        if not self.names:
            return super()._fault(error)
        expected = len(self.names)
        line = 0
        for row, line in self._numbered():
            if len(row) != expected:
                return FileError(
                    f"{self.path}, line {line}: found {len(row)} values, but the header names "
                    f"{expected} columns. Fix that line; a value that holds the separator needs "
                    f'quotes: "...".'
                )
            if not _is_text(row):
                return self._not_text(line)
        return no_rows(self.path) if line == 1 else super()._fault(error)

    def _not_text(self, line: int) -> FileError:
        return FileError(
            f"{self.path}, line {line}: found bytes that are not UTF-8 text. Save the file as "
            f"UTF-8."
        )


class _Readable(io.RawIOBase):
    """A stream of Arrow as one that Python's text layer takes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Parquet(File):
    """Parquet, decoded a little at a time."""

    n_rows: int

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._explained(), self._open() as file:
            about = file.metadata
            self._take_schema(file.schema_arrow)
            self._groups = range(about.num_row_groups)
            self._rows_of = [about.row_group(i).num_rows for i in self._groups]
        self.n_rows = sum(self._rows_of)

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Without pre-buffering: a file may be one row group that does not fit into memory.
        return ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20)

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with self._open() as file:
            # Threads are for pieces: the columns of one are decoded one after the other.
            yield from file.iter_batches(
                rows, row_groups=list(self._groups), columns=list(columns), use_threads=False
            )

    def pieces(self) -> Sequence[Source]:
        # Of nearly the same size, at the ends of row groups.
        found: list[File] = []
        number = max(round(self.n_rows / rows_of_piece(self.n_rows)), 1)
        first = rows = before = 0
        for i, more in enumerate(self._rows_of):
            rows += more
            if rows * number >= (len(found) + 1) * self.n_rows and rows > before:
                piece = copy(self)
                piece._groups, piece.n_rows = range(first, i + 1), rows - before
                found.append(piece)
                first, before = i + 1, rows
        return found or [self]

    def share(self) -> float:
        return self.rows / max(self.n_rows, 1)

    def where(self, row: int) -> str:
        return f"row {sum(self._rows_of[: self._groups.start]) + row + 1}"


class _Arrow(File):
    """Arrow IPC, files (Feather is one) and streams."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._share = 0.0
        with self._explained(), self._opened() as reader:
            self._take_schema(reader.schema)
        if not any(batch.num_rows for batch in self._batches(self.names[:1], 1)):
            self.n_rows = 0

    @contextmanager
    def _opened(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        ipc = pyarrow().ipc
        options = ipc.IpcReadOptions(
            included_fields=None if columns is None else [self.names.index(c) for c in columns]
        )
        # Read rather than mapped: pages of a mapped file count as memory.
        with pyarrow().OSFile(os.fspath(self.path)) as file:
            is_file = file.read(len(_ARROW_FILE)) == _ARROW_FILE
            file.seek(0)
            opened = ipc.open_file if is_file else ipc.open_stream
            with opened(file, options=options) as reader:
                yield reader

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with self._opened(columns) as reader:
            count = getattr(reader, "num_record_batches", None)
            if count is None:
                yield from reader
                return
            for i in range(count):
                self._share = (i + 1) / count
                yield reader.get_batch(i)

    def share(self) -> float:
        return self._share

    def where(self, row: int) -> str:
        return f"row {row + 1}"


def open_file(path: Path, separator: str | None = None, decimal: str | None = None) -> File:
    """Open one file by its ending; its header is read and checked."""
    try:
        size = path.stat().st_size
        ending, packed = known_ending(path)
        if size == 0:
            raise FileError(f"{path} is empty; expected rows of forecasts and outcomes.")
        with path.open("rb"):
            pass
    except FileNotFoundError:
        raise FileError(f"there is no file {path}.{_near(path)}") from None
    except PermissionError:
        raise FileError(f"{path} may not be read. Change its permissions, or copy it.") from None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from None
    source: File
    if ending in SEPARATORS:
        source = _Text(path, separator or SEPARATORS[ending], packed, decimal or ".")
    elif separator is not None or decimal is not None:
        given = Option("decimal" if separator is None else "separator")
        raise FileError(f"{path} is no text file and takes no ", given, ". Leave that out.")
    elif ending == ".parquet":
        source = _Parquet(path)
    else:
        source = _Arrow(path)
    source.within = Path(path.name)
    seen: set[str] = set()
    for name in source.names:
        if name in seen:
            raise FileError(
                f"{path} has two columns named {name!r}; expected every name once. Rename one."
            )
        seen.add(name)
    return source


def no_rows(path: Path) -> FileError:
    """Say that there is nothing but a header."""
    return FileError(f"{path} holds the names of columns but no rows; expected rows.")


def known_ending(path: Path, *, writing: bool = False) -> tuple[str, str | None]:
    """Ending of a file, in lower case, and how it is packed; raise if it is not known."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    packed = _PACKED.get(endings[-1]) if endings and not writing else None
    if packed:
        endings.pop()
    ending = endings[-1] if endings else ""
    if ending in SEPARATORS or (not packed and ending in (".parquet", *_ARROW)):
        return ending, packed
    sheet = ending.startswith((".xls", ".ods")) and not writing
    hint = " Save the sheet as CSV first." if sheet else ""
    found = f"ends in {path.suffix}" if path.suffix else "has no ending"
    raise FileError(
        f"{path} {found}; expected a file that ends in .csv, .tsv, .parquet, .arrow or "
        f".feather.{hint}"
    )


def is_known(path: Path) -> bool:
    """Whether a file of this name can be read."""
    try:
        known_ending(path)
    except FileError:
        return False
    return True


def _near(path: Path) -> str:
    """A hint at a file of nearly the same name beside it."""
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    # All files of a kind are somewhat alike.
    return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()], 0.75)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_text(values: Sequence[str]) -> bool:
    """Whether all bytes could be decoded."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True
