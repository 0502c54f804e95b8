"""A fitted map, checked against the forecasts that it is applied to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from trueline._files import FileError
from trueline._messages import Option, listed
from trueline._warnings import warn
from trueline.distributions import Distribution
from trueline.files._chunks import Codes, GroupCodes
from trueline.files._forecasts import Forecasts
from trueline.recalibration import Key, Recalibrator

# The forecasts with each kind of score; see `Distribution.score_kind`.
_SCORES = {
    "standardised": "forecasts with a mean and a standard deviation",
    "residual": "point forecasts",
    "normal score": "quantiles, intervals or samples",
}


class Transformer:
    r"""A fitted map, checked against the columns of a file.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fitted one.
    forecasts : Forecasts
        The rows to recalibrate.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import trueline as tl
    >>> from trueline.files import open_forecasts
    >>> from trueline.files._transformer import Transformer
    >>> R = tl.Scaling().fit([-3.0, 5.0], tl.Normal([0.0, 0.0], 1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "new.csv"
    ...     _ = file.write_text("mean,std\n10,1\n20,2\n")
    ...     forecasts = open_forecasts(file, y=False)
    ...     transform = Transformer(R, forecasts)
    ...     medians = [transform(chunk.dist).median() for chunk in forecasts.chunks()]
    >>> medians
    [array([11., 22.])]
    """

    def __init__(self, recalibrator: Recalibrator, forecasts: Forecasts) -> None:
        if not isinstance(recalibrator, Recalibrator):
            raise TypeError(
                f"recalibrator is {recalibrator!r}; expected a fitted recalibrator. Read one that "
                f"was saved with trueline.load."
            )
        recalibrator._check_fitted()
        if recalibrator.needs_features:
            raise FileError("the map depends on features and cannot be applied to a file.")
        self._fitted = recalibrator
        layout, kind = forecasts.layout, recalibrator.score_kind_
        if kind != layout.score_kind:
            raise FileError(
                f"the map was fitted on {_SCORES.get(kind, 'other forecasts')}, but "
                f"{forecasts.source.path} holds {layout.describe()}. Fit a map on forecasts of the "
                f"same kind, or choose other columns with ",
                Option("kind"),
                ".",
            )
        self._groups: GroupCodes | None = None
        self._met: set[Key] = set()
        self._map: Recalibrator = recalibrator
        if recalibrator.groups_ is not None:
            if layout.group is None:
                raise FileError(
                    "the map is one per group, so it needs the group of each row. Name the column "
                    "with ",
                    Option("group"),
                    ".",
                )
            self._groups = GroupCodes(recalibrator.groups_)
            self._own_code: Codes = np.empty(0, dtype=np.int32)
            codes = {name: code for code, name in enumerate(recalibrator.groups_)}
            self._map = recalibrator.rename_groups(codes)

    @property
    def n_groups(self) -> int:
        """Number of maps of groups; 0 if there is one map for all rows."""
        return len(self._fitted.groups_ or [])

    def n_fit(self, group: Key | None = None) -> float:
        """Return the number of rows that the map, or that of a group, was fitted on."""
        if group is not None and self._groups is not None:
            group = self._groups.alike(group)
        return self._fitted.n_fit(group)

    def __call__(
        self, dist: Distribution, codes: Codes | None = None, groups: GroupCodes | None = None
    ) -> Distribution:
        """Return the recalibrated forecasts of some rows.

        ``codes`` are their groups in ``groups``, which must be the same object in every call;
        it may grow between calls.
        """
        if self._groups is None or codes is None or groups is None:
            return self._map.transform(dist)
        new = self._groups.add(groups.names[len(self._own_code) :])
        self._own_code = np.concatenate([self._own_code, new])
        own = self._own_code[codes]
        self._met.update(self._groups.names[code] for code in np.flatnonzero(np.bincount(own)))
        # This warns about unknown groups in every call; `finish` names them once.
        return self._map.transform(dist, groups=own)

    def meet(self, groups: Sequence[Key]) -> None:
        """Take note of groups whose rows were recalibrated elsewhere."""
        if self._groups is not None:
            self._met.update(self._groups.names[code] for code in self._groups.add(groups))

    def part(self) -> Transformer:
        """Return the same map for a piece of the rows, so that threads can apply it."""
        part = copy(self)
        part._met = set()
        if self._groups is not None:
            part._groups = GroupCodes(self._groups.names)
        return part

    def finish(self, parts: Iterable[Transformer | None] = (), *, count: bool = True) -> None:
        """Warn about groups that the map does not know, whether met here or in parts.

        A partition does not ``count`` them, because the numbers differ between partitions.
        """
        if self._groups is None:
            return
        for part in parts:
            if part is not None and part._groups is not None:
                self.meet([name for name in part._groups.names if name in part._met])
        unknown = self._groups.names[self.n_groups :]
        if unknown:
            how_many = f"{len(unknown):,} of {len(self._met):,}" if count else "some"
            warn(
                f"{how_many} groups were not there when the map was fitted and get the pooled map: "
                f"{listed(map(repr, unknown), most=3)}. {self._fitted._note_on_unknown_groups()}"
            )
