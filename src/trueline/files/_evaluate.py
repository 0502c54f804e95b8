"""Evaluate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

from functools import reduce

from trueline._validation import RandomState, generator, level
from trueline._warnings import each_warning_once
from trueline.files._chunks import Progress
from trueline.files._columns import Columns
from trueline.files._folder import Paths
from trueline.files._forecasts import Forecasts, open_forecasts
from trueline.files._jobs import check_jobs, work_on
from trueline.files._transform import Transformer
from trueline.metrics import EvaluationAccumulator, FileEvaluation
from trueline.recalibration import Recalibrator


def evaluate(
    path: Paths | Forecasts,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    coverage: float = 0.9,
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
    path : path or sequence of paths
        See `trueline.files.fit`.
    recalibrator : Recalibrator, optional
        A fitted map; the recalibrated forecasts are evaluated, and the floor counts its rows.
    columns : Columns, optional
        Names of columns that do not follow the conventions. With a group there is a result for
        each group.
    separator : str, optional
        The character between the columns of a text file; by default as its ending says.
    decimal : {".", ","}, optional
        The decimal character of a text file; by default a point.
    coverage : float, default 0.9
        Probability of the central interval to evaluate.
    random_state : None, int or numpy.random.Generator, default 0
        For the p-value of forecasts with steps.
    n_jobs : int, optional
        Number of threads; see `trueline.files.fit`. The result does not depend on it.
    progress : callable, optional
        Called with the number of rows done and their share of the total.

    Returns
    -------
    FileEvaluation

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
    share = level(coverage, "coverage")
    jobs = check_jobs(n_jobs)
    forecasts = open_forecasts(path, columns, separator=separator, decimal=decimal)
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
    return found
