"""CSV and TSV files, which may be compressed."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import IO, Any

from trueline._arrow import pyarrow
from trueline._files import FileError
from trueline._messages import Option
from trueline.files._limits import (
    LONGEST_ROW,
    MOST_BLANK,
    MOST_COLUMNS,
    check_ratio,
    too_many_columns,
)
from trueline.files._source import File, no_rows
from trueline.files._spool import Spool

# Bytes of text that are parsed at a time, at least and at most; a row must fit into half of them.
_SMALLEST_BLOCK = 1 << 19
_LARGEST_BLOCK = 2 * LONGEST_ROW
# Wanted rows of a block, because every column of it costs some memory.
_ROWS_OF_BLOCK = 64
# Factor by which blocks grow after a row that was too long for them.
_GROWTH = 8
# What Arrow says of such a row. Other faults must not enlarge the blocks, which take memory.
_TOO_LONG = "increase block size"
# Other characters that are found between columns, as messages show them.
_BETWEEN = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
_UNPACK = {"gzip": "gunzip", "bz2": "bunzip2", "zstd": "unzstd"}
# Python's reader has one limit for the whole process, which is changed only while this is held.
_FIELD_LIMIT = Lock()


class Text(File):
    """CSV and TSV. Every column is read as text, so that unused columns stay unchanged."""

    typed = False

    def __init__(
        self,
        path: Path,
        separator: str,
        packed: str | None,
        decimal: str,
        spool: Spool | None = None,
    ) -> None:
        super().__init__(path)
        self._spool = spool  # the content, unless it is in the file
        self.separator = separator
        self.decimal = decimal
        if decimal not in (".", ","):
            raise FileError(f"the decimal character is {decimal!r}; expected ',' or '.'.")
        self._packed = packed
        self._file: io.RawIOBase | None = None
        with self._explained(), closing(self._numbered()) as lines:
            header, first = next(lines, None), next(lines, None)
        if header is None:
            raise FileError(f"{path} is empty; expected a line with the names of the columns.")
        if first is None:
            self.n_rows = 0
        self.names = tuple(header[0])
        self._check_header()
        longest = max(_length(row) for row, _ in (header, first or header))
        self._block = min(max(_ROWS_OF_BLOCK * longest, _SMALLEST_BLOCK), _LARGEST_BLOCK)

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
    def _opened(self) -> Iterator[io.RawIOBase]:
        spool = self._spool
        with self.path.open("rb", buffering=0) if spool is None else spool.open() as file:
            self._file = file
            if self._packed is None:
                yield file
                return
            with pyarrow().CompressedInputStream(file, self._packed) as stream:
                yield _Unpacked(stream, file, self.path, _UNPACK[self._packed])

    def _numbered(self) -> Generator[tuple[list[str], int]]:
        """Yield rows with the number of their first line, by the slower reader of Python."""
        with self._opened() as stream:
            # Bytes that are not text must not raise here: `_fault` reports them by line.
            text = io.TextIOWrapper(
                io.BufferedReader(stream),
                encoding="utf-8-sig",
                errors="surrogateescape",
                newline="",
            )
            reader = csv.reader(self._lines(text), delimiter=self.separator)
            start = 1
            while True:
                try:
                    row = _next(reader)
                except csv.Error:  # a cell that is too long is the only one
                    raise self._too_long(start) from None
                if row is None:
                    return
                if row:  # blank lines are not rows
                    yield row, start
                start = reader.line_num + 1

    def _lines(self, text: IO[str]) -> Iterator[str]:
        """Yield lines; raise before too long a line, or header, takes memory."""
        number = blank = 0
        while line := text.readline(LONGEST_ROW + 1):
            number += 1
            if len(line) > LONGEST_ROW:
                raise self._too_long(number)
            blank = 0 if line.strip("\r\n") else blank + 1
            if blank > MOST_BLANK:
                raise FileError(
                    f"{self.path}, line {number}: found more than {MOST_BLANK:,} blank lines, the "
                    f"limit of text files. Delete them."
                )
            if number == 1 and line.count(self.separator) >= MOST_COLUMNS:
                raise too_many_columns(self.path)
            yield line

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        done = 0
        while True:
            before = done
            try:
                for batch in self._blocks(columns):
                    if batch.num_rows > before:
                        done += batch.num_rows - before
                        yield batch.slice(before)
                    before = max(before - batch.num_rows, 0)
                return
            except pyarrow().ArrowInvalid as error:
                if _TOO_LONG not in str(error) or self._block == _LARGEST_BLOCK:
                    raise
                # A row is too long for a block. All are read again, and those done left out.
                self._block = min(_GROWTH * self._block, _LARGEST_BLOCK)

    def _blocks(self, columns: Sequence[str]) -> Iterator[Any]:
        from pyarrow import csv as arrow_csv, string

        with self._opened() as stream:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(block_size=self._block),
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
        return min(self._file.tell() / max(self._bytes(), 1), 1.0)

    def size(self) -> float:
        return super().size() if self._spool is None else self._bytes()

    def _bytes(self) -> int:
        return self.path.stat().st_size if self._spool is None else self._spool.size

    def where(self, row: int) -> str:
        found = next(islice(self._numbered(), row + 1, None), None)  # after the header
        return f"row {row + 1}" if found is None else f"line {found[1]}"

    def _fault(self, error: BaseException) -> FileError:
        if not self.names:
            return super()._fault(error)
        expected = len(self.names)
        line = 0
        try:
            for row, line in self._numbered():
                if _length(row) > LONGEST_ROW:
                    return self._too_long(line)
                if len(row) != expected:
                    return FileError(
                        f"{self.path}, line {line}: found {len(row)} values, but the header names "
                        f"{expected} columns. Fix that line; a value that holds the separator "
                        f'needs quotes: "...".'
                    )
                if not _is_text(row):
                    return self._not_text(line)
        except (pyarrow().ArrowException, OSError):
            return super()._fault(error)
        return no_rows(self.path) if line == 1 else super()._fault(error)

    def _not_text(self, line: int) -> FileError:
        return FileError(
            f"{self.path}, line {line}: found bytes that are not UTF-8 text. Save the file as "
            f"UTF-8."
        )

    def _too_long(self, line: int) -> FileError:
        return FileError(
            f"{self.path}, line {line}: the row is longer than {LONGEST_ROW:,} characters, the "
            f"limit of text files. Is a quote not closed? Otherwise leave out the long column, or "
            f"write the file as Parquet."
        )


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, as Python's and Arrow's readers need it."""

    def __init__(self, stream: Any, file: io.RawIOBase, path: Path, unpack: str) -> None:
        self._stream = stream
        self._file = file
        self._path = path
        self._remedy = f"unpack it first: {unpack} {path}"
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._size += len(data)
        check_ratio(self._path, self._file.tell(), self._size, self._remedy)
        return len(data)


def _next(reader: Any) -> list[str] | None:
    """Return the next row, None at the end; its cells may be as long as a row."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(LONGEST_ROW)
        try:
            row: list[str] | None = next(reader, None)
        finally:
            csv.field_size_limit(before)
    return row


def _length(row: Sequence[str]) -> int:
    """Return the length of a row of text, without its quotes."""
    return sum(map(len, row)) + len(row)


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
