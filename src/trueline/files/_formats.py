"""The formats of files: CSV and TSV, Parquet, Arrow."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from itertools import islice
from pathlib import Path
from typing import IO, Any

from trueline._arrow import pyarrow
from trueline._files import FileError
from trueline._messages import Option, did_you_mean
from trueline.files._source import SEPARATORS, File, Source, known_ending, no_rows, rows_of_piece

# Bytes of text that are parsed at a time; a row must fit.
_TEXT_BLOCK = 1 << 19
# Other characters that are found between columns, as messages show them.
_BETWEEN = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
_ARROW_FILE = b"ARROW1"  # the first bytes of a file; a stream starts otherwise


class _Text(File):
    """CSV and TSV. Every column is read as text, so that unused columns stay unchanged."""

    typed = False

    def __init__(self, path: Path, separator: str, packed: str | None, decimal: str) -> None:
        super().__init__(path)
        self.separator = separator
        self.decimal = decimal
        if decimal not in (".", ","):
            raise FileError(f"the decimal character is {decimal!r}; expected ',' or '.'.")
        self._packed = packed
        self._file: IO[bytes] | None = None
        with self._explained(), closing(self._numbered()) as lines:
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
        """Raise if the only name is several, separated by another character."""
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

    def _numbered(self) -> Generator[tuple[list[str], int]]:
        """Yield rows with the number of their first line, by the slower reader of Python."""
        with self._opened() as stream:
            raw = stream if self._packed is None else _Readable(stream)
            # Bytes that are not text must not raise here: `_fault` reports them by line.
            text = io.TextIOWrapper(
                io.BufferedReader(raw), encoding="utf-8-sig", errors="surrogateescape", newline=""
            )
            reader = csv.reader(text, delimiter=self.separator)
            start = 1
            for row in reader:
                if row:  # blank lines are not rows
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
        # The reader is a little ahead of the rows, and closes the file at the end.
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
    """An Arrow stream with the methods that Python's text layer needs."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Parquet(File):
    """Parquet, decoded in small steps."""

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

        # No pre-buffering: a file may be one row group that does not fit into memory.
        return ParquetFile(self.path, pre_buffer=False, buffer_size=1 << 20)

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with self._open() as file:
            # No threads: pieces already run in parallel.
            yield from file.iter_batches(
                rows, row_groups=list(self._groups), columns=list(columns), use_threads=False
            )

    def pieces(self) -> Sequence[Source]:
        # The pieces end with row groups and have nearly the same size.
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
    """Arrow IPC: files, such as Feather, and streams."""

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
        # The file is not mapped, because pages of a mapped file count as memory.
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
        raise FileError(f"{path} is not a text file and takes no ", given, ". Leave that out.")
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


def _near(path: Path) -> str:
    """Return a hint at a file of nearly the same name in the same folder."""
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    # Names of files are often alike, so the hint needs a closer match than usual.
    return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()], 0.75)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_text(values: Sequence[str]) -> bool:
    """Return whether all bytes could be decoded."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True
