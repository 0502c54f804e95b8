"""Recalibrate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from trueline._arrow import pyarrow, to_arrow
from trueline._files import FileError
from trueline._messages import Option
from trueline._validation import FloatArray, levels as check_levels
from trueline._warnings import each_warning_once
from trueline.distributions import Distribution
from trueline.files._chunks import Progress, Rows
from trueline.files._columns import Columns
from trueline.files._folder import Folder, Paths
from trueline.files._forecasts import (
    Forecasts,
    check_jobs,
    open_forecasts,
    work_on,
)
from trueline.files._layout import USUAL_COVERAGE
from trueline.files._sink import (
    ColumnTypes,
    Sink,
    WiderTypeError,
    open_sink,
    open_sink_in_folder,
    open_sink_on_stream,
)
from trueline.files._source import SEPARATORS, File, Source, known_ending
from trueline.files._transformer import Transformer
from trueline.files._whole_folder import whole_folder
from trueline.recalibration import Recalibrator

_Opened = Callable[[], AbstractContextManager[Sink]]


def apply(
    recalibrator: Recalibrator,
    path: Paths | Forecasts,
    out: str | os.PathLike[str] | BinaryIO,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    skip_missing: bool = False,
    coverage: float | Sequence[float] = (),
    quantiles: float | Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
    force: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> int:
    r"""Write the rows of a file with recalibrated intervals or quantiles beside them.

    If the source is a folder, each file is written under the same name to the target folder; an
    empty file gives an empty file. Memory is constant. The output has the columns of the input,
    unchanged, followed by ``lower_0.9`` and ``upper_0.9`` for each coverage, ``q0.05`` for each
    quantile, and ``recalibrated_mean`` and ``recalibrated_std`` on request. It appears whole or
    not at all. The values are those of ``recalibrator.transform`` on the same rows, to the last
    bit. If text is written as Parquet or Arrow, columns become integers, numbers or text.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fitted recalibrator.
    path, columns, separator, decimal, progress
        See `trueline.files.fit`. Outcomes are not needed.
    skip_missing : bool, default False
        Whether rows with a missing forecast are written with empty cells in the new columns. They
        are an error otherwise.
    out : path or binary stream
        The file to write, or the folder if several files are read. It must neither contain what
        is read nor lie in it. A stream, such as ``sys.stdout.buffer``, gets CSV row by row, so
        that an error in a later row comes after the rows before it.
    coverage : float or sequence of float, optional
        Probabilities of central intervals. If there are neither quantiles nor moments, by default
        that of the columns, which is 0.9 unless it is stated.
    quantiles : float or sequence of float, optional
        Levels of quantiles.
    moments : bool, default False
        Whether to write the recalibrated mean and standard deviation.
    prefix : str, default ""
        Start of the names of the new columns.
    force : bool, default False
        Whether to replace an existing file, even one that appears meanwhile. A folder is replaced
        only if all of its files are written anew, as after an earlier call; other files are never
        deleted. Links, modes and owners are kept, the latter where permitted.
    n_jobs : int, optional
        Number of threads that write the files of a folder; by default one per core, but at most
        two.

    Returns
    -------
    int
        The number of rows that were written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import trueline as tl
    >>> from trueline import files
    >>> R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = pathlib.Path(folder) / "new.csv", pathlib.Path(folder) / "out.csv"
    ...     _ = file.write_text("id,mean,std\na,10,1\nb,20,2\n")
    ...     _ = files.apply(R, file, out, quantiles=[0.5])
    ...     print(out.read_text())
    id,mean,std,q0.5
    a,10,1,10
    b,20,2,20
    <BLANKLINE>
    """
    jobs = check_jobs(n_jobs)
    forecasts = open_forecasts(
        path, columns, separator=separator, decimal=decimal, skip_missing=skip_missing, y=False
    )
    source = forecasts.source
    added = AddedColumns(coverage, quantiles, moments, prefix, usual=forecasts.layout.coverage)
    for file in _all_files(source):
        added.check(file)
    writer = _Writer(forecasts, Transformer(recalibrator, forecasts), added)
    with each_warning_once():
        if isinstance(source, Folder):
            folder = _folder_to_write(out, source)
            files, parts = writer.write_folder(source, folder, jobs, progress, force=force)
        else:
            opened: _Opened
            if isinstance(out, str | os.PathLike):
                opened = partial(open_sink, Path(out), force=force)
                to_text = _is_text(Path(out))
            else:
                opened, to_text = partial(open_sink_on_stream, out), True
            files, parts = [], [writer.write(forecasts, opened, progress, to_text=to_text)]
        forecasts.conclude(files)
        writer.transform.finish(parts)
    return source.rows + source.skipped


def _folder_to_write(out: str | os.PathLike[str] | BinaryIO, source: Folder) -> Path:
    if isinstance(out, str | os.PathLike):
        return Path(out)
    raise FileError(
        f"{source.path} holds several files, which are written to a folder and not to a stream. "
        f"Name a folder with ",
        Option("out"),
        ".",
    )


def _is_text(path: Path) -> bool:
    return known_ending(path, writing=True)[0] in SEPARATORS


def _all_files(source: Source) -> list[File]:
    """Return the files that are read, and behind them those without rows."""
    return [*source.files, *(source.empty if isinstance(source, Folder) else ())]


@dataclass(frozen=True)
class _Writer:
    """Writes recalibrated files."""

    forecasts: Forecasts
    transform: Transformer
    added: AddedColumns

    def write(
        self,
        forecasts: Forecasts,
        opened: _Opened,
        progress: Progress | None,
        *,
        to_text: bool,
    ) -> Transformer:
        """Write one file; return the map that was applied, which knows the groups that it met."""
        source = forecasts.source
        types = None if source.typed or to_text else ColumnTypes()
        while True:
            transform = self.transform.part()
            try:
                with opened() as sink:
                    for chunk in forecasts.chunks(whole=True, progress=progress):
                        table = chunk.table.drop_columns(list(source.fixed))
                        table = table if types is None else types.convert(table)
                        dist = None
                        if len(chunk):
                            dist = transform(chunk.dist, chunk.groups, forecasts.groups)
                        sink.write(self.added.to(table, dist, chunk.kept))
                    if forecasts is self.forecasts or not source.skipped:
                        forecasts.check_rows(source.rows, source.skipped)
                return transform
            except WiderTypeError:
                continue  # the wider type is known now, so the next attempt gets further

    def write_folder(
        self, source: Folder, out: Path, jobs: int, progress: Progress | None, *, force: bool
    ) -> tuple[list[Forecasts], list[Transformer]]:
        """Write every file of a folder; return the files and the maps that were applied."""
        _check_apart(out, source)
        names = _names_of(_all_files(source))
        with whole_folder(out, names, force=force) as folder:
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)

            def write(i: int, report: Progress) -> Transformer:
                path = folder / names[i]
                opened = partial(open_sink_in_folder, path, shown=out / names[i])
                return self.write(files[i], opened, report, to_text=_is_text(path))

            files = [self.forecasts.part(file) for file in source.files]
            parts = list(work_on(files, write, jobs, progress))
            for file, name in zip(source.empty, names[len(source.files) :], strict=True):
                with open_sink_in_folder(folder / name, shown=out / name) as sink:
                    sink.write(self.added.to_none(file.header()))
            # An error must come before the folder appears.
            self.forecasts.check_rows(
                sum(file.rows for file in source.files), sum(file.skipped for file in source.files)
            )
        return files, parts


def _check_apart(out: Path, source: Folder) -> None:
    """Raise if files that are read would be replaced, or written files read the next time."""
    whole = out.resolve()
    for file in source.files:
        # A link counts at its own place and at that of its target.
        for path in (file.path.parent.resolve() / file.path.name, file.path.resolve()):
            if whole in path.parents:
                raise FileError(
                    f"{file.path} lies in {out}, which would be replaced. Name another folder "
                    f"with ",
                    Option("out"),
                    ".",
                )
    if any(source.reads(whole / file.within) for file in source.files):
        raise FileError(
            f"{out} lies in {source.path}, and would be read with it the next time. Name a folder "
            f"elsewhere with ",
            Option("out"),
            ".",
        )


def _names_of(files: Sequence[File]) -> list[Path]:
    """Return the path of the output of each file within the target folder."""
    names: dict[Path, Path] = {}
    for file in files:
        packed = known_ending(file.path)[1] is not None
        name = file.within.with_suffix("") if packed else file.within
        if name in names:
            raise FileError(
                f"{names[name]} and {file.path} would both be written to {file.within}; expected "
                f"files of different names. Rename one."
            )
        names[name] = file.path
    return list(names)


class AddedColumns:
    """Columns to add to tables of forecasts.

    Parameters
    ----------
    coverage, quantiles, moments, prefix
        See `trueline.files.apply`.
    usual : float, default 0.9
        The coverage if nothing is asked for.

    Examples
    --------
    >>> from trueline.files._apply import AddedColumns
    >>> AddedColumns(coverage=0.9, quantiles=[0.5], moments=False, prefix="").names
    ['lower_0.9', 'upper_0.9', 'q0.5']
    """

    def __init__(
        self,
        coverage: float | Sequence[float],
        quantiles: float | Sequence[float],
        moments: bool,
        prefix: str,
        usual: float = USUAL_COVERAGE,
    ) -> None:
        self.coverage = _distinct(coverage, "coverage")
        self.quantiles = _distinct(quantiles, "quantiles")
        if not (self.coverage.size or self.quantiles.size or moments):
            self.coverage = np.array([usual])
        self.moments = moments
        ends = [f"{end}_{c:.12g}" for c in self.coverage for end in ("lower", "upper")]
        levels = [f"q{q:.12g}" for q in self.quantiles]
        means = ["recalibrated_mean", "recalibrated_std"] if moments else []
        self.names = [prefix + name for name in (*ends, *levels, *means)]

    def check(self, source: Source) -> None:
        """Raise if the file already has one of the columns."""
        there = [name for name in self.names if name in source.names]
        if there:
            raise FileError(
                f"{source.path} has a column {there[0]!r} already, which would be written. Give "
                f"the new columns other names: ",
                Option("prefix", "recalibrated_"),
                ".",
            )

    def to(self, table: Any, dist: Distribution | None, rows: Rows | None = None) -> Any:
        """Return a table with the columns of these forecasts at its end.

        ``rows`` are the rows of the table that have a forecast, None for all; the new cells of
        other rows are empty.
        """
        values = [np.empty(0)] * len(self.names) if dist is None else self._values(dist)
        if rows is None:
            return self._with(table, [to_arrow(column) for column in values])
        there = np.zeros(table.num_rows, dtype=bool)
        there[rows] = True
        spread = np.zeros((len(values), table.num_rows))
        for i, column in enumerate(values):
            spread[i, rows] = column
        return self._with(table, [to_arrow(column, there) for column in spread])

    def _values(self, dist: Distribution) -> list[FloatArray]:
        columns: list[FloatArray] = []
        if self.coverage.size:
            lower, upper = dist.interval(self.coverage)
            columns += [end for pair in zip(lower.T, upper.T, strict=True) for end in pair]
        if self.quantiles.size:
            columns += list(dist.ppf(self.quantiles).T)
        if self.moments:
            columns += [dist.mean(), dist.std()]
        return columns

    def to_none(self, table: Any) -> Any:
        """Return a table without rows, with the columns at its end."""
        return self._with(table, [to_arrow(np.empty(0))] * len(self.names))

    def _with(self, table: Any, columns: Sequence[Any]) -> Any:
        for name, column in zip(self.names, columns, strict=True):
            table = table.append_column(name, pyarrow().chunked_array([column]))
        return table


def _distinct(given: float | Sequence[float], name: str) -> FloatArray:
    """Return checked levels without repetition, in the order given."""
    several = list(dict.fromkeys([given] if np.ndim(given) == 0 else given))  # type: ignore[arg-type]
    return check_levels(several, name) if several else np.empty(0)
