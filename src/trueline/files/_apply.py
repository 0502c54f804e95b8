"""Recalibrate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueline._arrow import pyarrow, to_arrow
from trueline._files import FileError
from trueline._messages import Option
from trueline._validation import FloatArray, levels as check_levels
from trueline._warnings import each_warning_once
from trueline.distributions import Distribution
from trueline.files._chunks import Progress, conclude, read_chunks
from trueline.files._columns import Columns, Layout, check_columns, find_in
from trueline.files._folder import Folder, Paths, open_source
from trueline.files._jobs import check_jobs, work_on
from trueline.files._sink import open_sink, whole_folder
from trueline.files._source import SEPARATORS, File, Source, known_ending, no_rows
from trueline.files._transform import Transformer
from trueline.files._types import ColumnTypes, WiderTypeError
from trueline.recalibration import Recalibrator


def apply(
    recalibrator: Recalibrator,
    path: Paths,
    out: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    coverage: float | Sequence[float] = (),
    quantiles: float | Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
    force: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> int:
    r"""Write the rows of a file with recalibrated intervals or quantiles beside them.

    Of a folder each file is written, under its name, to a folder; one without rows is written
    without rows. Memory is constant. The output
    has the columns of the input, as they are, and behind them ``lower_0.9`` and ``upper_0.9`` for
    each coverage, ``q0.05`` for each quantile, and ``recalibrated_mean`` and ``recalibrated_std``
    if asked for. It appears whole or not at all. The values are those of
    ``recalibrator.transform`` on the same rows, to the last bit. From text to Parquet or Arrow,
    columns become whole numbers, numbers or text, as they fit.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fitted one.
    path : path or sequence of paths
        What to read: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; a folder of such
        files, a pattern such as ``"2024-*.parquet"``, or several of these.
    out : path
        The file to write, or the folder where several files are read: not one that holds what is
        read, nor one in it.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions. Outcomes are not needed.
    separator : str, optional
        Between the columns of a text file that is read.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    coverage : float or sequence of float, optional
        Probabilities of central intervals; 0.9 where neither quantiles nor moments are asked for.
    quantiles : float or sequence of float, optional
        Levels.
    moments : bool, default False
        Whether to write the recalibrated mean and standard deviation.
    prefix : str, default ""
        What the names of the new columns start with.
    force : bool, default False
        Whether to replace a file that is there. A folder is replaced if it holds nothing but files
        that are written anew, as after an earlier call; other files are never deleted.
    n_jobs : int, optional
        Threads that write the files of a folder; by default one a core, but two at most.
    progress : callable, optional
        Is told the rows so far and the share of them all.

    Returns
    -------
    int
        The number of rows.

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
    source = open_source(path, separator, decimal)
    layout = find_in(source, check_columns(columns), y=False)
    return apply_source(
        recalibrator,
        source,
        layout,
        out,
        coverage=coverage,
        quantiles=quantiles,
        moments=moments,
        prefix=prefix,
        force=force,
        n_jobs=n_jobs,
        progress=progress,
    )


def apply_source(
    recalibrator: Recalibrator,
    source: Source,
    layout: Layout,
    out: str | os.PathLike[str],
    *,
    map_name: object = "the map",
    coverage: float | Sequence[float] = (),
    quantiles: float | Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
    force: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Apply a map to an open file; see `trueline.files.apply`."""
    jobs = check_jobs(n_jobs)
    added = AddedColumns(coverage, quantiles, moments, prefix)
    for file in _all_files(source):
        added.check(file)
    writer = _Writer(layout, Transformer(recalibrator, layout, source, map_name), added)
    with each_warning_once():
        if isinstance(source, Folder):
            parts = writer.write_folder(source, Path(out), jobs, progress, force=force)
            source.count(source.files)
        else:
            parts = [writer.write(source, Path(out), progress, force=force)]
        conclude(source, layout)
        writer.transform.finish(parts)
    return source.rows


def _all_files(source: Source) -> list[File]:
    """Return the files that are read, and behind them those without rows."""
    return [*source.files, *(source.empty if isinstance(source, Folder) else ())]


class _Writer:
    """Writes recalibrated files."""

    def __init__(self, layout: Layout, transform: Transformer, added: AddedColumns) -> None:
        self.layout = layout
        self.transform = transform
        self.added = added

    def write(
        self,
        source: Source,
        path: Path,
        progress: Progress | None,
        *,
        force: bool = False,
        shown: Path | None = None,
    ) -> Transformer:
        """Write one file; return the map that was applied, which knows the groups that it met."""
        to_text = known_ending(path, writing=True)[0] in SEPARATORS
        types = None if source.typed or to_text else ColumnTypes()
        while True:
            transform = self.transform.part()
            try:
                with open_sink(path, force=force, shown=shown) as sink:
                    for chunk in read_chunks(source, self.layout, whole=True, progress=progress):
                        table = chunk.table.drop_columns(list(source.fixed))
                        table = table if types is None else types.convert(table)
                        sink.write(self.added.to(table, transform(chunk.dist, chunk.groups)))
                    if not source.rows:
                        raise no_rows(source.path)
                return transform
            except WiderTypeError:
                continue  # the wider type is known now, so the next attempt gets further

    def write_folder(
        self, source: Folder, out: Path, jobs: int, progress: Progress | None, *, force: bool
    ) -> list[Transformer]:
        """Write every file of a folder."""
        _check_apart(out, source)
        names = _names_of(_all_files(source))
        with whole_folder(out, names, force=force) as folder:
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)

            def write(i: int, report: Progress) -> Transformer:
                name = names[i]
                return self.write(source.files[i], folder / name, report, shown=out / name)

            parts = list(work_on(source.files, write, jobs, progress))
            for file, name in zip(source.empty, names[len(source.files) :], strict=True):
                with open_sink(folder / name, force=False, shown=out / name) as sink:
                    sink.write(self.added.to_none(file.header()))
        return parts


def _check_apart(out: Path, source: Folder) -> None:
    """Raise if what is read would be replaced, or what is written be read the next time."""
    whole = out.resolve()
    for file in source.files:
        # A link, and what it leads to.
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
    """Where in a folder to write what is made of each file."""
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
    """The columns that are added: their names, and how they come from the forecast."""

    def __init__(
        self,
        coverage: float | Sequence[float],
        quantiles: float | Sequence[float],
        moments: bool,
        prefix: str,
    ) -> None:
        self.coverage = _distinct(coverage, "coverage")
        self.quantiles = _distinct(quantiles, "quantiles")
        if not (self.coverage.size or self.quantiles.size or moments):
            self.coverage = np.array([0.9])
        self.moments = moments
        ends = [f"{end}_{c:.12g}" for c in self.coverage for end in ("lower", "upper")]
        levels = [f"q{q:.12g}" for q in self.quantiles]
        means = ["recalibrated_mean", "recalibrated_std"] if moments else []
        self.names = [prefix + name for name in (*ends, *levels, *means)]

    def check(self, source: Source) -> None:
        """Raise if the file has a column of one of the names."""
        there = [name for name in self.names if name in source.names]
        if there:
            raise FileError(
                f"{source.path} has a column {there[0]!r} already, which would be written. Give "
                f"the new columns other names: ",
                Option("prefix", "recalibrated_"),
                ".",
            )

    def to(self, table: Any, dist: Distribution) -> Any:
        """Return the table with the columns at its end."""
        columns = []
        if self.coverage.size:
            lower, upper = dist.interval(self.coverage)
            columns += [end for pair in zip(lower.T, upper.T, strict=True) for end in pair]
        if self.quantiles.size:
            columns += list(dist.ppf(self.quantiles).T)
        if self.moments:
            columns += [dist.mean(), dist.std()]
        return self._with(table, columns)

    def to_none(self, table: Any) -> Any:
        """Return a table without rows with the columns at its end."""
        return self._with(table, [np.empty(0)] * len(self.names))

    def _with(self, table: Any, columns: Sequence[FloatArray]) -> Any:
        for name, column in zip(self.names, columns, strict=True):
            table = table.append_column(name, pyarrow().chunked_array([to_arrow(column)]))
        return table


def _distinct(given: float | Sequence[float], name: str) -> FloatArray:
    """Check levels, which may be none or one; each once, in the order given."""
    several = list(dict.fromkeys([given] if np.ndim(given) == 0 else given))  # type: ignore[arg-type]
    return check_levels(several, name) if several else np.empty(0)
