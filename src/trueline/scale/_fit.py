"""Fit a map on a file, chunk by chunk."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Standardised
from trueline.laws import NormalLaw
from trueline.recalibration import Conditional, Grouped, Isotonic, Recalibrator
from trueline.recalibration._scores import score_rows
from trueline.scale._chunks import Chunk, Progress, read_chunks
from trueline.scale._columns import Columns, Layout
from trueline.scale._errors import FileError
from trueline.scale._groups import Codes, GroupCodes, with_names
from trueline.scale._once import each_warning_once
from trueline.scale._source import Source, open_source

MAX_KNOTS = 100_000
# Rows whose scores are held at a time, fewer where each has a weight or a group beside it, and
# the knots that are kept of so many.
_ROWS = 1 << 23
_ROWS_WITH_MORE = 1 << 21
_KNOTS = 1 << 18
# A map of a group with fewer knots than this would be off by more than its rows leave open.
_FEWEST_KNOTS = 500


def fit_file(
    path: str | os.PathLike[str],
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    max_knots: int = MAX_KNOTS,
    progress: Progress | None = None,
) -> Recalibrator:
    r"""Fit a recalibrator on the rows of a file, in constant memory.

    Up to `max_knots` rows the map is the one that ``recalibrator.fit`` gives, to the last bit; up
    to 8,388,608 rows (2,097,152 with weights or groups) it is that map after
    ``compress(max_knots)``. Beyond, the scores of every so many rows are compressed and merged,
    and ``compression_error_`` bounds what that changed of the empirical CDF, 1e-5 or so.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``.
    recalibrator : Recalibrator, optional
        By default `Isotonic`, or `Grouped` if the columns name a group. It is not changed.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions.
    separator : str, optional
        Between the columns of a text file.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    max_knots : int, default 100,000
        Scores to keep. The groups of a `Grouped` map share them, at least 500 each.
    progress : callable, optional
        Is told the rows so far and the share of the file that was read.

    Returns
    -------
    Recalibrator
        A fitted one.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from trueline.scale import fit_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     R = fit_file(file)
    >>> R.scores_.values
    array([-1.,  2.,  5.])
    """
    source = open_source(path, separator, decimal)
    layout = (columns or Columns()).find(source.names, file=source.path)
    return fit_source(source, layout, recalibrator, max_knots=max_knots, progress=progress)


def fit_source(
    source: Source,
    layout: Layout,
    recalibrator: Recalibrator | None = None,
    *,
    max_knots: int = MAX_KNOTS,
    progress: Progress | None = None,
) -> Recalibrator:
    """Fit on an open file; see `fit_file`."""
    if recalibrator is None:
        recalibrator = Isotonic() if layout.group is None else Grouped()
    fitting = _Fitting(_checked(recalibrator, layout), layout, source)
    with each_warning_once():
        for chunk in read_chunks(source, layout, progress=progress):
            fitting.add(chunk)
        return fitting.finish(max_knots)


def _checked(recalibrator: Recalibrator, layout: Layout) -> Recalibrator:
    """Raise unless the recalibrator can be fitted on these columns."""
    if isinstance(recalibrator, Conditional):
        raise FileError(
            "a conditional map is learned from features and cannot be fitted on a file; expected "
            "isotonic, smooth, beta, scaling, grouped or auto. Fit it in Python: "
            "Conditional().fit(y, dist, X=X)."
        )
    if isinstance(recalibrator, Grouped) and layout.group is None:
        raise FileError("a map a group needs the column of the groups. Name it with --group.")
    if not isinstance(recalibrator, Grouped) and layout.group is not None:
        raise FileError(
            f"{recalibrator!r} fits one map for all rows and takes no --group; expected "
            f"Grouped({recalibrator!r})."
        )
    return recalibrator


class _Fitting:
    """Scores so far: those of the last rows as they are, those of the rows before compressed."""

    def __init__(self, recalibrator: Recalibrator, layout: Layout, source: Source) -> None:
        self.recalibrator = recalibrator
        self.layout = layout
        self.source = source
        self.groups = GroupCodes()
        self._parts: list[tuple[int, Recalibrator]] = []
        self._start_anew()

    def _start_anew(self) -> None:
        self._scores: list[FloatArray] = []
        self._weights: list[FloatArray] = []
        self._codes: list[Codes] = []
        self._held = 0

    def add(self, chunk: Chunk) -> None:
        """Take the scores of more rows."""
        _, scores, _ = score_rows(chunk.y, chunk.dist, None)
        if not np.isfinite(scores).all():
            row = chunk.start + int(np.argmin(np.isfinite(scores)))
            raise FileError(
                f"{self.source.path}, {self.source.where(row)}: the outcome lies further from its "
                f"forecast than float64 can count in units of the forecast's scale. Check for a "
                f"scale that is almost 0."
            )
        self._scores.append(scores)
        if chunk.weight is not None:
            self._weights.append(chunk.weight)
        if chunk.groups is not None:
            where = f"{self.source.path}, column {self.layout.group!r}"
            self._codes.append(self.groups.encode(chunk.groups, where))
        self._held += scores.size
        if self._held >= (_ROWS_WITH_MORE if self._weights or self._codes else _ROWS):
            self._compress()

    def _fit(self) -> Recalibrator | None:
        """Fit on the rows that are held; None if they count nothing."""
        scores = np.concatenate(self._scores)
        weights = np.concatenate(self._weights) if self._weights else None
        codes = np.concatenate(self._codes) if self._codes else None
        self._start_anew()
        if weights is not None and not weights.max() > 0:
            return None
        # A map is learned from scores alone, so a forecast whose score is y itself will do.
        n = scores.size
        dist = Standardised(
            np.broadcast_to(0.0, n), np.broadcast_to(1.0, n), NormalLaw(), self.layout.score_kind
        )
        with warnings.catch_warnings():
            if self._parts:
                warnings.simplefilter("ignore")  # it was said of the first part
            made = self.recalibrator._unfitted_copy().fit(scores, dist, weights, codes)
        return with_names(made, self.groups.names) if isinstance(made, Grouped) else made

    def _compress(self) -> None:
        """Compress what is held, and merge parts of equal size, so that each merges few times."""
        part = self._fit()
        if part is None:
            return
        part, size = part.compress(self._knots(_KNOTS)), 1
        while self._parts and self._parts[-1][0] == size:
            part = self._parts.pop()[1].merge(part).compress(self._knots(_KNOTS))
            size *= 2
        self._parts.append((size, part))

    def _knots(self, in_all: int) -> int:
        """Knots a group, where all of them share so many."""
        return max(in_all // (1 + len(self.groups.names)), min(in_all, _FEWEST_KNOTS))

    def finish(self, max_knots: int) -> Recalibrator:
        """Return the map of all rows."""
        parts: list[Any] = [part for _, part in self._parts]
        if self._held:
            parts.append(self._fit())
        parts = [part for part in parts if part is not None]
        if not parts:
            raise FileError(
                f"{self.source.path}, column {self.layout.weight!r} is 0 in every row; expected a "
                f"weight above 0 in at least one."
            )
        whole = parts.pop()
        while parts:
            whole = parts.pop().merge(whole)
        made: Recalibrator = whole.compress(self._knots(max_knots))
        return made
