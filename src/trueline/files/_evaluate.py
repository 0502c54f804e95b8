"""Evaluate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

from functools import reduce

from trueline._validation import RandomState, generator, level
from trueline._warnings import each_warning_once
from trueline.files._chunks import Progress, conclude, no_weight, read_chunks
from trueline.files._columns import Columns, Layout, check_columns, find_in
from trueline.files._folder import Paths, open_source
from trueline.files._groups import GroupCodes
from trueline.files._jobs import check_jobs, work_on
from trueline.files._source import Source
from trueline.files._transform import Transformer
from trueline.metrics import EvaluationAccumulator, FileEvaluation
from trueline.recalibration import Recalibrator


def evaluate(
    path: Paths,
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
    2,097,152 rows and 256 columns. Beyond, for several files and with a map a group, means and
    counts are the same up to rounding (1e-12). Of more rows the Kolmogorov-Smirnov statistic
    behind the p-value is within 1e-6, and rows whose variances differ by less than a share of
    2^-16 may share a bin of the ENCE.

    Parameters
    ----------
    path : path or sequence of paths
        ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``; a folder of such files, a
        pattern such as ``"2024-*.parquet"``, or several of these.
    recalibrator : Recalibrator, optional
        A fitted map; the recalibrated forecasts are evaluated, and the floor counts its rows.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions. With a group there is a
        result for each.
    separator : str, optional
        Between the columns of a text file.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    coverage : float, default 0.9
        Probability of the central interval to look at.
    random_state : None, int or numpy.random.Generator, default 0
        For the p-value of forecasts with steps.
    n_jobs : int, optional
        Threads that work on pieces of Parquet files and on files of a folder; by default one a
        core, but two at most. The result does not depend on it.
    progress : callable, optional
        Is told the rows so far and the share of them all.

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
    source = open_source(path, separator, decimal)
    layout = find_in(source, check_columns(columns))
    return evaluate_source(
        source,
        layout,
        recalibrator,
        coverage=coverage,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )


def evaluate_source(
    source: Source,
    layout: Layout,
    recalibrator: Recalibrator | None = None,
    *,
    map_name: object = "the map",
    coverage: float = 0.9,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FileEvaluation:
    """Evaluate an open file; see `trueline.files.evaluate`."""
    share = level(coverage, "coverage")
    jobs = check_jobs(n_jobs)
    transform = None
    if recalibrator is not None:
        transform = Transformer(recalibrator, layout, source, map_name)
    where = None if layout.group is None else f"{source.path}, column {layout.group!r}"
    pieces = source.pieces()
    rng = generator(random_state)
    rngs = [rng] if len(pieces) == 1 else rng.spawn(len(pieces))
    exact = source.in_all is None or source.in_all <= EvaluationAccumulator.most_rows

    groups = 0 if transform is None else transform.n_groups
    mends = [None if transform is None else transform.part() for _ in pieces]

    def work(i: int, told: Progress) -> EvaluationAccumulator:
        mend = mends[i]
        names = GroupCodes()
        part = EvaluationAccumulator(share, grouped=where is not None, exact=exact)
        for chunk in read_chunks(pieces[i], layout, groups=groups, progress=told):
            dist = chunk.dist if mend is None else mend(chunk.dist, chunk.groups)
            codes = None if where is None else names.encode(chunk.groups, where)
            part.add(chunk.y, dist, chunk.weight, rngs[i], codes, names.names)
        return part

    def merge(one: EvaluationAccumulator, other: EvaluationAccumulator) -> EvaluationAccumulator:
        merged = one.merge(other)
        GroupCodes().add(merged.group_names, where or "")  # raises if there are too many
        return merged

    with each_warning_once():
        whole = reduce(merge, work_on(pieces, work, jobs, progress))
        source.count(pieces)
        conclude(source, layout)
        if transform is not None:
            transform.finish(mends)
        found = whole.finish(None if transform is None else transform.n_fit)
    if found is None:
        raise no_weight(source, layout)
    return found
