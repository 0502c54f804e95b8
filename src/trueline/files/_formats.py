"""Open files of every format; Parquet and Arrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

from trueline._arrow import pyarrow
from trueline._files import FileError
from trueline._messages import Option, did_you_mean
from trueline.files._ipc import MAGIC, batch_sizes
from trueline.files._limits import check_names, check_ratio
from trueline.files._source import SEPARATORS, File, Source, known_ending, rows_of_piece
from trueline.files._spool import Spool
from trueline.files._text import Text


class _Parquet(File):
    """Parquet, decoded in small steps."""

    n_rows: int

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._explained(), self._open() as file:
            about = file.metadata
            self._take_schema(file.schema_arrow)
            self._groups = range(about.num_row_groups)
            groups = [about.row_group(i) for i in self._groups]
            self._rows_of = [group.num_rows for group in groups]
            packed, unpacked = path.stat().st_size, sum(group.total_byte_size for group in groups)
        self.n_rows = sum(self._rows_of)
        check_ratio(path, packed, unpacked, "write it again without compression")

    def _open(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # No pre-buffering: a file may be one row group that does not fit into memory.
        return ParquetFile(
            self.path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        )

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
        return (self.rows + self.skipped) / max(self.n_rows, 1)

    def where(self, row: int) -> str:
        return f"row {sum(self._rows_of[: self._groups.start]) + row + 1}"


class _Arrow(File):
    """Arrow IPC: files, such as Feather, and streams."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._share = 0.0
        with self._explained(), self._opened() as reader:
            self._take_schema(reader.schema)
            self._check_batches()

    def _check_batches(self) -> None:
        """Raise if a batch would take too much memory; set the number of rows if there are none."""
        with self.path.open("rb") as file:
            for packed, unpacked in batch_sizes(file):
                check_ratio(self.path, packed, unpacked, "write it again without compression")
        if not any(batch.num_rows for batch in self._batches(self.names[:1], 1)):
            self.n_rows = 0

    @contextmanager
    def _opened(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        ipc = pyarrow().ipc
        place = {name: i for i, name in enumerate(self.names)}
        options = ipc.IpcReadOptions(
            included_fields=None if columns is None else [place[name] for name in columns]
        )
        # The file is not mapped, because pages of a mapped file count as memory.
        with pyarrow().OSFile(os.fspath(self.path)) as file:
            is_file = file.read(len(MAGIC)) == MAGIC
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
        source = Text(path, separator or SEPARATORS[ending], packed, decimal or ".")
    elif separator is not None or decimal is not None:
        given = Option("decimal" if separator is None else "separator")
        raise FileError(f"{path} is not a text file and takes no ", given, ". Leave that out.")
    elif ending == ".parquet":
        source = _Parquet(path)
    else:
        source = _Arrow(path)
    source.within = Path(path.name)
    check_names(path, source.names)
    return source


def open_text(spool: Spool, name: str, separator: str | None, decimal: str | None) -> File:
    """Open text that came from a stream; its header is read and checked."""
    path = Path(name)
    if not spool.size:
        raise FileError(f"{path} is empty; expected rows of forecasts and outcomes.")
    source = Text(path, separator or SEPARATORS[".csv"], None, decimal or ".", spool)
    source.within = path
    check_names(path, source.names)
    return source


def _near(path: Path) -> str:
    """Return a hint at a file of nearly the same name in the same folder."""
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    # Names of files are often alike, so the hint needs a closer match than usual.
    return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()], 0.75)
