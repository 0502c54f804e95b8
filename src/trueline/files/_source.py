"""Sources of rows, which are read in chunks, in constant memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueline._arrow import pyarrow, text
from trueline._files import FileError
from trueline._messages import reason

# The most rows of a piece, if a file or folder can be read from any place.
PIECE = 1 << 23
# Fewer rows are cut into this number of pieces, so that no core waits long for another at the end.
# A piece has at least a quarter of the rows above, because merging pieces takes time.
_PIECES = 8
# Estimated bytes of a row of text, of which the number is not known before reading.
_ROW_OF_TEXT = 64
# Number of values in a chunk, and its most and fewest rows. With few columns, a chunk is several
# of the blocks that `evaluate` sums over, so that sums over chunks are equal to the last bit.
_VALUES = 1 << 22
_MOST_ROWS = 1 << 16
_FEWEST_ROWS = 1 << 5
# Wanted rows per group in a chunk, and the most rows of such a chunk.
_GROUP_ROWS = 256
_MOST_OF_GROUPS = 1 << 19

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_ARROW = (".arrow", ".feather", ".ipc")
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def rows_of_piece(rows: float) -> float:
    """Return the number of rows of a piece, for this number of rows in all."""
    return min(max(rows / _PIECES, PIECE / 4), PIECE)


class Source(ABC):
    """Rows in a file, or in several one after the other.

    Attributes
    ----------
    path : Path
    names : tuple of str
        The columns.
    rows : int
        Number of rows read so far.
    crossing : int
        Number of these rows whose quantiles crossed.
    skipped : int
        Number of rows that were left out so far, because a value is missing. They do not count in
        ``rows``.
    within : Path
        Path within the folder in which it was found.
    fixed : dict
        Columns that its folders give it, such as region=north, with their values.
    types : dict of str
        The type of each column, if the format has types.
    n_rows : int or None
        Number of rows, if the format tells it.
    metadata : dict or None
        The metadata of the schema.
    typed : bool
        Whether the format has types; text has none.
    decimal : str
        The decimal character of numbers in text.
    """

    path: Path
    within = Path()
    names: tuple[str, ...] = ()
    rows = 0
    crossing = 0
    skipped = 0
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
        """The files of this source."""

    def size(self) -> float:
        """Return the number of rows, or an estimate."""
        if self.n_rows is not None:
            return self.n_rows
        return self.path.stat().st_size / _ROW_OF_TEXT

    def pieces(self) -> Sequence[Source]:
        """Return parts that can be read independently, in order; they depend on the rows alone."""
        return (self,)

    @abstractmethod
    def share(self) -> float:
        """Return the share of the rows that was read so far."""


class File(Source):
    """Rows of one file; a base class for formats.

    A format sets ``names`` and defines ``_batches``, ``share`` and ``where``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from trueline.files import Columns, Forecasts
    >>> from trueline.files._source import File
    >>> class Memory(File):
    ...     names = ("y", "mean")
    ...
    ...     def _batches(self, columns, rows):
    ...         yield pa.record_batch({"y": [1.0, 2.0], "mean": [1.5, 1.5]})
    ...
    ...     def share(self):
    ...         return 1.0
    ...
    ...     def where(self, row):
    ...         return f"row {row + 1}"
    >>> rows = Forecasts(Memory(Path("memory")), Columns().find(Memory.names))
    >>> [chunk.y for chunk in rows.chunks()]
    [array([1., 2.])]
    """

    _schema: Any = None  # of a format that has types

    @property
    def files(self) -> Sequence[File]:
        return (self,)

    @abstractmethod
    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of any size, with at least these columns, in any order."""

    def header(self) -> Any:
        """Return a table of its own columns, without rows."""
        pa = pyarrow()
        if self._schema is not None:
            return self._schema.empty_table()
        own = [name for name in self.names if name not in self.fixed]
        return pa.schema([(name, pa.string()) for name in own]).empty_table()

    @abstractmethod
    def where(self, row: int) -> str:
        """Return where a row is in the file, for messages; rows count from 0."""

    def chunks(self, columns: Sequence[str] | None = None, groups: int = 0) -> Iterator[Any]:
        """Yield tables of the columns, all of the same number of rows except the last.

        They are larger if there are many ``groups``, because each is recalibrated by itself.
        """
        most = min(max(1 << (_GROUP_ROWS * groups).bit_length(), _MOST_ROWS), _MOST_OF_GROUPS)
        wanted = list(self.names if columns is None else columns)
        own = [name for name in wanted if name not in self.fixed]
        size = _VALUES // max(len(wanted), 1)
        rows = min(max(1 << (size.bit_length() - 1) if size else 0, _FEWEST_ROWS), most)
        self.rows = 0
        with self._explained():
            batches = (self._checked(batch.select(own)) for batch in self._batches(own, rows))
            for table in _of_size(batches, rows):
                self.rows += table.num_rows
                yield self._with_fixed(table, wanted).replace_schema_metadata(self.metadata)

    def _checked(self, batch: Any) -> Any:
        """Return a batch; raise if its content contradicts its description."""
        if self.typed:  # Arrow trusts what a file says about places in its memory
            batch.validate(full=True)
        return batch

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
        """Turn errors of a reader into errors for the user."""
        pa = pyarrow()
        try:
            yield
        except FileError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
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
    """Cut and join record batches to tables of exactly this number of rows, except the last."""
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


def no_rows(path: Path) -> FileError:
    """Return the error that a file has a header but no rows."""
    return FileError(f"{path} holds the names of columns but no rows; expected rows.")


def known_ending(path: Path, *, writing: bool = False) -> tuple[str, str | None]:
    """Return the ending of a file, in lower case, and its compression; raise if it is unknown."""
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
    """Return whether a file of this name can be read."""
    try:
        known_ending(path)
    except FileError:
        return False
    return True
