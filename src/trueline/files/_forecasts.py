"""Open files of forecasts: their rows, and the columns that are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueline._files import FileError
from trueline._warnings import warn
from trueline.files._chunks import Chunk, Progress, checked_chunk
from trueline.files._columns import Columns, Layout, find_in
from trueline.files._folder import Paths, open_source
from trueline.files._groups import GroupCodes
from trueline.files._source import Source, no_rows
from trueline.recalibration import ScoreAccumulator


class Forecasts:
    r"""Forecasts in an open file or folder, whose columns have been found.

    `trueline.files.fit`, `apply` and `evaluate` take it in place of a path.

    Parameters
    ----------
    source : Source
        The rows.
    layout : Layout
        The columns that are used.

    Attributes
    ----------
    groups : GroupCodes or None
        Names of the groups that `chunks` has met so far; None without a column of groups.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import open_forecasts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n")
    ...     forecasts = open_forecasts(file)
    ...     outcomes = [chunk.y for chunk in forecasts.chunks()]
    >>> forecasts.layout.describe(), outcomes
    ('normal forecasts (mean, std)', [array([1.5, 3. ])])
    """

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source = source
        self.layout = layout
        self.groups = self.group_codes()

    def group_codes(self) -> GroupCodes | None:
        """Return new codes for the groups of these rows; None without a column of groups."""
        if self.layout.group is None:
            return None
        return GroupCodes(where=f"{self.source.path}, column {self.layout.group!r}")

    def pieces(self) -> list[Forecasts]:
        """Return parts that can be read independently; they depend on the rows alone."""
        return [Forecasts(piece, self.layout) for piece in self.source.pieces()]

    def chunks(
        self, *, whole: bool = False, n_maps: int = 0, progress: Progress | None = None
    ) -> Iterator[Chunk]:
        """Read the rows chunk by chunk, and check every value that is used.

        Parameters
        ----------
        whole : bool, default False
            Whether the tables hold all columns, or only those that are used.
        n_maps : int, default 0
            Number of maps of groups that each chunk is recalibrated by; for many, chunks are
            larger.
        progress : callable, optional
            Called with the number of rows done and their share of the total.

        Raises
        ------
        FileError
            At the first value that is not a number, is missing or is not positive where it must be.
        """
        source = self.source
        source.rows = source.crossing = before = 0
        self.groups = self.group_codes()
        for file in source.files:
            start = 0
            for table in file.chunks(None if whole else self.layout.used, n_maps):
                chunk, crossing = checked_chunk(file, table, start, self.layout, self.groups)
                yield chunk
                start += len(chunk)
                source.rows = before + start
                source.crossing += crossing
                if progress is not None:
                    progress(source.rows, source.share())
            before += start

    def accumulate(
        self, *, max_values: int | None = None, progress: Progress | None = None
    ) -> ScoreAccumulator:
        """Score all rows and return their scores; see `ScoreAccumulator` for `max_values`."""
        scores = ScoreAccumulator(self.layout.score_kind, max_values)
        for chunk in self.chunks(progress=progress):
            names = () if self.groups is None else self.groups.names
            scores.add(chunk.score_rows(), chunk.groups, names)
        return scores

    def conclude(self, pieces: Sequence[Forecasts] = ()) -> None:
        """Raise if no row was read; warn about crossing quantiles and unused columns.

        If the rows were read in pieces, their numbers are added up first.
        """
        source = self.source
        if pieces:
            source.rows = sum(piece.source.rows for piece in pieces)
            source.crossing = sum(piece.source.crossing for piece in pieces)
        if source.rows == 0:
            raise no_rows(source.path)
        if self.layout.doubt:
            warn(*self.layout.doubt)
        if source.crossing:
            warn(
                f"quantiles cross in {source.crossing:,} of {source.rows:,} rows; those rows are "
                f"sorted."
            )

    def no_weight(self) -> FileError:
        """Return the error that no row has a weight."""
        return FileError(
            f"{self.source.path}, column {self.layout.weight!r} is 0 in every row; expected a "
            f"weight above 0 in at least one."
        )


def open_forecasts(
    path: Paths | Forecasts,
    columns: Columns | None = None,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    y: bool = True,
) -> Forecasts:
    r"""Open a file or folder and find its columns; headers are read and checked.

    Parameters
    ----------
    path : path or sequence of paths
        See `trueline.files.fit`. What is open already is returned as it is.
    columns : Columns, optional
        Names of columns that do not follow the conventions.
    separator, decimal : str, optional
        See `trueline.files.fit`.
    y : bool, default True
        Whether the outcomes are needed.

    Returns
    -------
    Forecasts

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import open_forecasts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,q0.1,q0.9\n1.5,1,2\n")
    ...     print(open_forecasts(file).layout.describe())
    quantile forecasts (q0.1, q0.9)
    """
    if isinstance(path, Forecasts):
        return path
    source = open_source(path, separator, decimal)
    return Forecasts(source, find_in(source, columns, y=y))
