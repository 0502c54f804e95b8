"""Fit a recalibrator on a file, chunk by chunk."""

from __future__ import annotations

from functools import reduce

from trueline._validation import check_max_knots
from trueline._warnings import each_warning_once
from trueline.files._chunks import Progress
from trueline.files._columns import Columns
from trueline.files._folder import Paths
from trueline.files._forecasts import Forecasts, open_forecasts
from trueline.files._jobs import check_jobs, work_on
from trueline.recalibration import Recalibrator, ScoreAccumulator

MAX_KNOTS = 100_000
# Scores of all groups that are held in memory; beyond, groups are compressed.
_MAX_VALUES = 1 << 22


def fit(
    path: Paths | Forecasts,
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
    to 1,048,576 rows it is that map after ``compress(max_knots)``. With more rows, scores are
    rounded as by ``partial_fit``, by at most 2^-17 (7.6e-6) of themselves if more than 1,048,576
    differ, and then compressed; ``compression_error_`` bounds the change of the empirical CDF.
    If the scores of all groups take more than 4,194,304 numbers, they are compressed meanwhile as
    well.

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
    forecasts = open_forecasts(path, columns, separator=separator, decimal=decimal)
    learner = forecasts.layout.learner(recalibrator)
    check_max_knots(max_knots)
    jobs = check_jobs(n_jobs)
    pieces = forecasts.pieces()

    def work(i: int, report: Progress) -> ScoreAccumulator:
        return pieces[i].accumulate(max_values=_MAX_VALUES, progress=report)

    with each_warning_once():
        whole = reduce(ScoreAccumulator.merge, work_on(pieces, work, jobs, progress))
        forecasts.conclude(pieces)
        if not whole.n:
            raise forecasts.no_weight()
        if forecasts.groups is not None:
            forecasts.groups.add(whole.names)  # raises if there are too many
        return whole.finish(learner, max_knots, warn=True)
