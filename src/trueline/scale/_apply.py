"""Recalibrate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueline._validation import levels as check_levels
from trueline.distributions import Distribution
from trueline.recalibration import Recalibrator
from trueline.scale._arrays import to_arrow
from trueline.scale._chunks import Progress, read_chunks
from trueline.scale._columns import Columns, Layout
from trueline.scale._errors import FileError, pyarrow
from trueline.scale._once import each_warning_once
from trueline.scale._sink import open_sink
from trueline.scale._source import SEPARATORS, Source, known_ending, open_source
from trueline.scale._transform import Transformer
from trueline.scale._types import ColumnTypes, WiderTypeError


def apply_file(
    recalibrator: Recalibrator,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    coverage: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
    force: bool = False,
    progress: Progress | None = None,
) -> int:
    r"""Write the rows of a file with recalibrated intervals or quantiles beside them.

    Memory is constant. The output has the columns of the input, as they are, and behind them
    ``lower_0.9`` and ``upper_0.9`` for each coverage, ``q0.05`` for each quantile, and
    ``recalibrated_mean`` and ``recalibrated_std`` if asked for. It appears whole or not at all.
    The values are those of ``recalibrator.transform`` on the same rows, to the last bit. From
    text to Parquet or Arrow, columns become whole numbers, numbers or text, as they fit.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fitted one.
    path, out : path
        Files to read and to write: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions. Outcomes are not needed.
    separator : str, optional
        Between the columns of a text file that is read.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    coverage : sequence of float, optional
        Probabilities of central intervals; 0.9 where neither quantiles nor moments are asked for.
    quantiles : sequence of float, optional
        Levels.
    moments : bool, default False
        Whether to write the recalibrated mean and standard deviation.
    prefix : str, default ""
        What the names of the new columns start with.
    force : bool, default False
        Whether to replace a file that is there.
    progress : callable, optional
        Is told the rows so far and the share of the file that was read.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import trueline as tl
    >>> from trueline.scale import apply_file
    >>> R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, out = pathlib.Path(folder) / "new.csv", pathlib.Path(folder) / "out.csv"
    ...     _ = file.write_text("id,mean,std\na,10,1\nb,20,2\n")
    ...     _ = apply_file(R, file, out, quantiles=[0.5])
    ...     print(out.read_text())
    id,mean,std,q0.5
    a,10,1,10
    b,20,2,20
    <BLANKLINE>
    """
    source = open_source(path, separator, decimal)
    layout = (columns or Columns()).find(source.names, file=source.path, y=False)
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
        progress=progress,
    )


def apply_source(
    recalibrator: Recalibrator,
    source: Source,
    layout: Layout,
    out: str | os.PathLike[str],
    *,
    map_name: object = "the map",
    coverage: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
    force: bool = False,
    progress: Progress | None = None,
) -> int:
    """Apply a map to an open file; see `apply_file`."""
    target = Path(out)
    added = _Added(coverage, quantiles, moments, prefix)
    added.check(source)
    to_text = known_ending(target, writing=True)[0] in SEPARATORS
    types = None if source.typed or to_text else ColumnTypes()
    while True:
        # A new map each time: it counts the groups that it does not know.
        transform = Transformer(recalibrator, layout, source, map_name)
        rows = 0
        try:
            with each_warning_once(), open_sink(target, force=force) as sink:
                for chunk in read_chunks(source, layout, whole=True, progress=progress):
                    table = chunk.table if types is None else types.convert(chunk.table)
                    sink.write(added.to(table, transform(chunk.dist, chunk.groups)))
                    rows += len(chunk)
                transform.finish()
            return rows
        except WiderTypeError:
            continue


class _Added:
    """The columns that are added: their names, and how they come from the forecast."""

    def __init__(
        self,
        coverage: Sequence[float],
        quantiles: Sequence[float],
        moments: bool,
        prefix: str,
    ) -> None:
        if not (len(coverage) or len(quantiles) or moments):
            coverage = (0.9,)
        self.coverage = _distinct(coverage, "coverage")
        self.quantiles = _distinct(quantiles, "quantiles")
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
                f"the new columns other names: --prefix recalibrated_."
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
        for name, column in zip(self.names, columns, strict=True):
            table = table.append_column(name, pyarrow().chunked_array([to_arrow(column)]))
        return table


def _distinct(given: Sequence[float], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Check levels, which may be none; each once, in the order given."""
    return check_levels(list(dict.fromkeys(given)), name) if len(given) else np.empty(0)
