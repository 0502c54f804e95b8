"""Fit, evaluate, and draw rows: each reads a file once, chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._arrow import pyarrow
from trueline._validation import FloatArray, RandomState, check_max_knots, generator, level
from trueline._warnings import each_warning_once
from trueline.distributions import Distribution
from trueline.files._chunks import Codes, Progress, Rows
from trueline.files._columns import Columns
from trueline.files._folder import Paths
from trueline.files._forecasts import (
    Forecasts,
    check_jobs,
    first_chunks,
    open_forecasts,
    work_on,
)
from trueline.files._scoring import Scoring
from trueline.files._sink import as_typed
from trueline.files._transformer import Transformer
from trueline.metrics import EvaluationAccumulator, FileEvaluation, conditional_coverage
from trueline.recalibration import FIRST_ROWS, Recalibrator, ScoreAccumulator

MAX_KNOTS = 100_000
# Scores of all groups that are held in memory; beyond, groups are compressed.
_MAX_VALUES = 1 << 22
# The most rows that are drawn, whose values are also limited by `Layout.most_drawn`.
MOST_ROWS = 1_000_000
# Number of rows whose features are searched for where the intervals do not hold.
_MOST_WITH_FEATURES = 100_000


def fit(
    path: Paths | Forecasts,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    skip_missing: bool = False,
    max_knots: int = MAX_KNOTS,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Recalibrator:
    r"""Fit a recalibrator on the rows of a file, or of all files of a folder, in constant memory.

    Up to `max_knots` rows the map is the one that ``recalibrator.fit`` gives, to the last bit; up
    to 1,048,576 rows it is that map after ``compress(max_knots)``. With more rows, scores are
    rounded as by ``partial_fit``, by at most 2^-17 (7.6e-6) of themselves if more than 1,048,576
    differ, and then compressed; ``compression_error_`` bounds the change of the empirical CDF.
    If the scores of all groups take more than 4,194,304 numbers, they are compressed meanwhile as
    well. The least width of forecasts and the atoms of outcomes are learned from the first chunk,
    of up to 65,536 rows, or from several if they have less than 10,000 rows; rows of more than
    1,677 columns are fewer. Scores of rows on atoms are intervals; beyond 1,048,576 rows each is
    spread over a few points.

    A file has at most 100,000 columns, a row of text at most 16,777,216 characters. Compressed
    files may unpack to 256 MiB, and beyond that to 200 times their size.

    Parameters
    ----------
    path : path or sequence of paths
        A file that ends in ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``, a folder
        of such files, a pattern such as ``"2024-*.parquet"``, or several of these. Files of a
        folder are read in the order of their names, subfolders included; names that start with a
        dot or an underscore are left out. A subfolder ``region=north`` gives its files a column
        ``region``. What `open_forecasts` returns is accepted as well.
    recalibrator : Recalibrator, optional
        By default `Isotonic`, or `Grouped` if the columns name a group. It is not changed.
    columns : Columns, optional
        Names of columns that do not follow the conventions.
    separator : str, optional
        The character between the columns of a text file; by default as its ending says.
    decimal : {".", ","}, optional
        The decimal character of a text file; by default a point.
    skip_missing : bool, default False
        Whether to leave out rows with a missing outcome or forecast, which are an error otherwise.
        Missing values are empty cells, NaN, nulls, and words such as NA, null, none or missing.
        What is open already keeps the choice that `open_forecasts` was called with, and
        ``source.skipped`` is the number of rows that were left out.
    max_knots : int, default 100,000
        Number of scores to keep. With 100,000 of them the empirical CDF is off by about 1e-5; more
        scores are more accurate and make a larger map. Each group of a `Grouped` map keeps as
        many, but all groups together no more than 1,048,576, or 500 each if that is more.
    n_jobs : int, optional
        Number of threads that work on pieces of Parquet files and on files of a folder; by default
        one per core, but at most two. The map does not depend on it.
    progress : callable, optional
        Called with the number of rows done and their share of the total.

    Returns
    -------
    Recalibrator
        The fitted recalibrator.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from trueline import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     R = files.fit(file)
    >>> R.scores_.values
    array([-1.,  2.,  5.])
    """
    forecasts = open_forecasts(
        path, columns, separator=separator, decimal=decimal, skip_missing=skip_missing
    )
    learner = forecasts.layout.learner(recalibrator)
    learner._check_params()
    check_max_knots(max_knots)
    jobs = check_jobs(n_jobs)
    pieces = forecasts.pieces()

    def work(i: int, report: Progress) -> ScoreAccumulator:
        return pieces[i].accumulate(scoring, max_values=_MAX_VALUES, progress=report)

    with each_warning_once():
        scoring = Scoring.learned(learner, first_chunks(pieces, FIRST_ROWS))
        whole = reduce(ScoreAccumulator.merge, work_on(pieces, work, jobs, progress))
        forecasts.conclude(pieces)
        if not whole.n:
            raise forecasts.no_weight()
        if forecasts.groups is not None:
            forecasts.groups.add(whole.names)  # raises if there are too many
        return whole.finish(learner, max_knots, warn=True)


def evaluate(
    path: Paths | Forecasts,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    skip_missing: bool = False,
    coverage: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FileEvaluation:
    r"""Evaluate the forecasts in a file, or in all files of a folder, in constant memory.

    The result is that of `trueline.evaluate` on the same rows: to the last bit for a file of up to
    2,097,152 rows and 256 columns. For larger files, several files and maps per group, means and
    counts are the same up to rounding (1e-12). For more rows the Kolmogorov-Smirnov statistic
    behind the p-value is within 1e-6, and rows whose variances differ by less than a share of
    2^-16 may share a bin of the ENCE.

    Parameters
    ----------
    path, separator, decimal, skip_missing, n_jobs, progress
        See `trueline.files.fit`. The result does not depend on the number of threads.
    recalibrator : Recalibrator, optional
        A fitted map; the recalibrated forecasts are evaluated, and the floor counts its rows.
    columns : Columns, optional
        Names of columns that do not follow the conventions. With a group there is a result for
        each group. With features in ``columns.x``, `trueline.conditional_coverage` of at most
        100,000 rows, drawn at random, is ``overall.conditional``.
    coverage : float, optional
        Probability of the central interval to evaluate; by default that of the columns, which is
        0.9 unless it is stated.
    random_state : None, int or numpy.random.Generator, default 0
        For the p-value of forecasts with steps.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from trueline import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     result = files.evaluate(file)
    >>> round(result.overall.crps, 6)
    0.590806
    """
    share = None if coverage is None else level(coverage, "coverage")
    jobs = check_jobs(n_jobs)
    forecasts = open_forecasts(
        path, columns, separator=separator, decimal=decimal, skip_missing=skip_missing
    )
    share = forecasts.layout.coverage if share is None else share
    transform = None if recalibrator is None else Transformer(recalibrator, forecasts)
    n_maps = 0 if transform is None else transform.n_groups
    pieces = forecasts.pieces()
    maps = [None if transform is None else transform.part() for _ in pieces]
    rng = generator(random_state)
    rngs = [rng] if len(pieces) == 1 else rng.spawn(len(pieces))
    n = forecasts.source.n_rows
    exact = n is None or n <= EvaluationAccumulator.most_rows

    def work(i: int, report: Progress) -> EvaluationAccumulator:
        piece, recalibrated = pieces[i], maps[i]
        part = EvaluationAccumulator(share, grouped=piece.groups is not None, exact=exact)
        for chunk in piece.chunks(n_maps=n_maps, progress=report):
            dist, names = chunk.dist, [] if piece.groups is None else piece.groups.names
            if recalibrated is not None:
                dist = recalibrated(dist, chunk.groups, piece.groups)
            part.add(chunk.y, dist, chunk.weight, rngs[i], chunk.groups, names)
        return part

    def merge(one: EvaluationAccumulator, other: EvaluationAccumulator) -> EvaluationAccumulator:
        merged = one.merge(other)
        codes = forecasts.group_codes()
        if codes is not None:
            codes.add(merged.group_names)  # raises if there are too many
        return merged

    with each_warning_once():
        whole = reduce(merge, work_on(pieces, work, jobs, progress))
        forecasts.conclude(pieces)
        if transform is not None:
            transform.finish(maps)
        found = whole.finish(None if transform is None else transform.n_fit)
    if found is None:
        raise forecasts.no_weight()
    return (
        found if not forecasts.layout.features else _with_features(found, forecasts, recalibrator)
    )


def _with_features(
    found: FileEvaluation, forecasts: Forecasts, recalibrator: Recalibrator | None
) -> FileEvaluation:
    """Add whether the intervals hold given the features, which takes another pass."""
    sample = sample_rows(forecasts, most=_MOST_WITH_FEATURES)
    overall = found.overall
    given_x = conditional_coverage(
        sample.y,
        sample.dist if recalibrator is None else sample.transform(recalibrator),
        sample.features,
        overall.coverage_target,
        sample_weight=sample.weight,
        n_fit=overall.n_fit,
    )
    return replace(found, overall=replace(overall, conditional=given_x))


@dataclass(frozen=True)
class Sample:
    r"""Rows of a file, in their order; see `sample_rows`.

    Attributes
    ----------
    forecasts : Forecasts
        The file.
    n : int
        Number of rows of the file that can be used.
    rows : (k,) array of int
        The number of each row in the file, from 0; rows that were left out count as well.
    y : (k,) array
    dist : Distribution
    weight : (k,) array or None
    groups : (k,) array or None
    features : dict of (k,) arrays

    Examples
    --------
    >>> import io
    >>> from trueline import files
    >>> forecasts = files.open_stream(io.BytesIO(b"y,mean,std\n1.5,1,0.1\n3,2,0.5\n"))
    >>> files.sample_rows(forecasts).dist.mean()
    array([1., 2.])
    """

    forecasts: Forecasts
    n: int
    rows: Rows
    y: FloatArray
    dist: Distribution
    weight: FloatArray | None
    groups: Any
    features: dict[str, Any]
    _codes: Codes | None

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of these rows."""
        parts: dict[str, Any] = {
            name: None if column is None else column[rows]
            for name, column in (
                ("rows", self.rows),
                ("y", self.y),
                ("weight", self.weight),
                ("groups", self.groups),
                ("_codes", self._codes),
            )
        }
        features = {name: column[rows] for name, column in self.features.items()}
        return replace(self, dist=self.dist[rows], features=features, **parts)

    def transform(self, recalibrator: Recalibrator) -> Distribution:
        """Return the forecasts of these rows, recalibrated by a fitted map."""
        transformer = Transformer(recalibrator, self.forecasts)
        with each_warning_once():
            recalibrated = transformer(self.dist, self._codes, self.forecasts.groups)
        transformer.finish()
        return recalibrated


def sample_rows(
    path: Paths | Forecasts,
    columns: Columns | None = None,
    *,
    most: int = MOST_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Sample:
    r"""Draw rows of a file without replacement, each with the same chance, in one pass.

    Parameters
    ----------
    path, columns, progress
        See `trueline.files.fit`; ``columns.x`` are the features to draw.
    most : int, default 1,000,000
        Number of rows to draw; fewer if they have many columns. A smaller file gives all rows.
    random_state : int, default 0

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.files import sample_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     sample = sample_rows(file, most=2)
    >>> sample.n, len(sample.y)
    (3, 2)
    """
    forecasts = open_forecasts(path, columns)
    layout = forecasts.layout
    most = min(most, layout.most_drawn)
    rng = generator(random_state)
    kept: list[list[Any]] = []
    tables: list[Any] = []
    keys: list[FloatArray] = []
    bound = np.inf
    n = held = passed = 0
    with each_warning_once():
        for chunk in forecasts.chunks(progress=progress):
            # Each row gets a random number; the rows with the smallest numbers stay. Rows that are
            # left out get one as well, so that files of the same rows give the same rows.
            end = forecasts.source.rows + forecasts.source.skipped
            number = np.arange(end - chunk.table.num_rows, end)
            key = rng.random(end - passed)[-number.size :]  # whole chunks may be left out as well
            passed = end
            if chunk.kept is not None:
                key, number = key[chunk.kept], number[chunk.kept]
            take = np.flatnonzero(key < bound)
            columns_of_rows = [number, chunk.y, *chunk.forecast, chunk.weight, chunk.groups]
            kept.append([None if c is None else c[take] for c in columns_of_rows])
            keys.append(key[take])
            if layout.features:
                tables.append(chunk.in_table(take).select(layout.features))
            n += len(chunk)
            held += take.size
            if held > 2 * most:
                bound = _thin(keys, kept, tables, most)
                held = most
        forecasts.conclude()
        if held > most:
            _thin(keys, kept, tables, most)
    joined: list[Any] = [
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*kept, strict=True)
    ]
    rows, y, *forecast, weight, codes = joined
    names = None if forecasts.groups is None else np.asarray(forecasts.groups.names)[codes]
    # The files of a folder may hold the same numbers in several types.
    table = pyarrow().concat_tables(tables, promote_options="permissive") if tables else {}
    features = {name: as_typed(table[name]).to_numpy() for name in layout.features}
    dist = layout.distribution(forecast)
    return Sample(forecasts, n, rows, y, dist, weight, names, features, codes)


def _thin(keys: list[FloatArray], kept: list[list[Any]], tables: list[Any], most: int) -> float:
    """Keep the rows with the smallest numbers, in place; return the bound for later rows."""
    bound = float(np.partition(np.concatenate(keys), most - 1)[most - 1])
    for i, key in enumerate(keys):
        stay = key <= bound
        keys[i] = key[stay]
        kept[i] = [None if c is None else c[stay] for c in kept[i]]
        if tables:
            tables[i] = tables[i].filter(stay)
    return bound
