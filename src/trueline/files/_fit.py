"""Fit a map on a file, chunk by chunk."""

from __future__ import annotations

from functools import reduce

import numpy as np

from trueline._files import FileError
from trueline._messages import Option
from trueline._validation import FloatArray, all_finite, check_max_knots
from trueline._warnings import each_warning_once
from trueline.files._chunks import Chunk, Progress, conclude, no_weight, read_chunks
from trueline.files._columns import Columns, Layout, check_columns, find_in
from trueline.files._fitting import Fitting
from trueline.files._folder import Paths, open_source
from trueline.files._jobs import check_jobs, work_on
from trueline.files._source import Source
from trueline.recalibration import Grouped, Isotonic, Recalibrator, ScoreRows

MAX_KNOTS = 100_000


def fit(
    path: Paths,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    max_knots: int = MAX_KNOTS,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Recalibrator:
    r"""Fit a recalibrator on the rows of a file, or of all files of a folder, in constant memory.

    Up to `max_knots` rows the map is the one that ``recalibrator.fit`` gives, to the last bit; up
    to 1,048,576 rows it is that map after ``compress(max_knots)``. Beyond, scores are those of
    ``partial_fit``, rounded by at most 2^-17 (7.6e-6) of themselves if more than 1,048,576 differ,
    and then compressed; ``compression_error_`` bounds what that changed of the empirical CDF.
    Where the scores of groups take more than 4,194,304 numbers in all, they are compressed on the
    way as well.

    Parameters
    ----------
    path : path or sequence of paths
        ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; a folder of such files, a
        pattern such as ``"2024-*.parquet"``, or several of these. Files of a folder are read in
        the order of their names, subfolders included; those whose name starts with a dot or an
        underscore are left out. A subfolder ``region=north`` gives its files a column ``region``.
    recalibrator : Recalibrator, optional
        By default `Isotonic`, or `Grouped` if the columns name a group. It is not changed.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions.
    separator : str, optional
        Between the columns of a text file.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    max_knots : int, default 100,000
        Scores to keep. With 100,000 of them the empirical CDF is off by about 1e-5; more are
        nearer to it, and make a larger map. Each group of a `Grouped` map keeps as many, but all
        groups together no more than 1,048,576, or 500 each if that is more.
    n_jobs : int, optional
        Threads that work on pieces of Parquet files and on files of a folder; by default one a
        core, but two at most. The map does not depend on it.
    progress : callable, optional
        Is told the rows so far and the share of them all.

    Returns
    -------
    Recalibrator
        A fitted one.

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
    source = open_source(path, separator, decimal)
    layout = find_in(source, check_columns(columns))
    return fit_source(
        source, layout, recalibrator, max_knots=max_knots, n_jobs=n_jobs, progress=progress
    )


def fit_source(
    source: Source,
    layout: Layout,
    recalibrator: Recalibrator | None = None,
    *,
    max_knots: int = MAX_KNOTS,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Recalibrator:
    """Fit on an open file; see `trueline.files.fit`."""
    if recalibrator is None:
        recalibrator = Isotonic() if layout.group is None else Grouped()
    learner = check_recalibrator(recalibrator, layout)
    check_max_knots(max_knots)
    jobs = check_jobs(n_jobs)
    where = None if layout.group is None else f"{source.path}, column {layout.group!r}"
    pieces = source.pieces()

    def work(i: int, told: Progress) -> Fitting:
        fitting = Fitting(layout.score_kind, where)
        for chunk in read_chunks(pieces[i], layout, progress=told):
            fitting.add(_scores(chunk), chunk.weight, chunk.groups)
        return fitting

    with each_warning_once():
        whole = reduce(Fitting.merge, work_on(pieces, work, jobs, progress))
        source.count(pieces)
        conclude(source, layout)
        found = whole.finish(learner, max_knots)
    if found is None:
        raise no_weight(source, layout)
    return found


def _scores(chunk: Chunk) -> FloatArray:
    """Return the scores of some rows, which are finite."""
    scores = ScoreRows.of_outcomes(chunk.y, chunk.dist).lower
    if not all_finite(scores):
        row = chunk.start + int(np.argmin(np.isfinite(scores)))
        raise FileError(
            f"{chunk.source.path}, {chunk.source.where(row)}: the outcome lies further from its "
            f"forecast than float64 can count in units of the forecast's scale. Check for a "
            f"scale that is almost 0."
        )
    return scores


def check_recalibrator(recalibrator: Recalibrator, layout: Layout) -> Recalibrator:
    """Return a recalibrator that can be fitted on these columns; raise if it cannot."""
    if not isinstance(recalibrator, Recalibrator):
        raise TypeError(
            f"recalibrator is {recalibrator!r}; expected a recalibrator, such as Isotonic()."
        )
    if recalibrator.needs_features:
        raise FileError(
            "a conditional map is learned from features and cannot be fitted on a file; expected "
            "isotonic, smooth, beta, scaling, grouped or auto. Fit it in Python: "
            "Conditional().fit(y, dist, X=X)."
        )
    if not recalibrator.learns_from_scores:
        raise FileError(
            f"{recalibrator!r} is not learned from sorted scores and cannot be fitted on a file; "
            f"expected isotonic, smooth, beta, scaling, grouped or auto."
        )
    if recalibrator.needs_groups and layout.group is None:
        raise FileError(
            "a map per group needs the column of the groups. Name it with ", Option("group"), "."
        )
    if not recalibrator.needs_groups and layout.group is not None:
        raise FileError(
            f"{recalibrator!r} fits one map for all rows and takes no ",
            Option("group"),
            f"; expected Grouped({recalibrator!r}).",
        )
    return recalibrator
