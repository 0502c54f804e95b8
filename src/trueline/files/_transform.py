"""Recalibrate chunks of a file with a fitted map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from trueline._files import FileError
from trueline._messages import Option, listed
from trueline._warnings import warn
from trueline.distributions import Distribution
from trueline.files._columns import Layout, forecasts_with
from trueline.files._groups import GroupCodes
from trueline.files._source import Source
from trueline.recalibration import Key, Recalibrator


class Transformer:
    """A fitted map, checked against the columns of a file.

    Parameters
    ----------
    recalibrator : Recalibrator
    layout : Layout
    source : Source
    name : object
        What to call the map in a message.
    """

    def __init__(
        self, recalibrator: Recalibrator, layout: Layout, source: Source, name: object
    ) -> None:
        if not isinstance(recalibrator, Recalibrator):
            raise TypeError(
                f"recalibrator is {recalibrator!r}; expected a fitted recalibrator. Read one that "
                f"was saved with trueline.load."
            )
        recalibrator._check_fitted()
        if not recalibrator.is_exportable:
            raise FileError(f"{name} depends on features and cannot be applied to a file.")
        self._fitted = recalibrator
        self._layout = layout
        kind = recalibrator.score_kind_
        if kind != layout.score_kind:
            raise FileError(
                f"{name} was fitted on {forecasts_with(kind)}, but {source.path} holds "
                f"{layout.describe()}. Fit a map on forecasts of the same kind, or choose other "
                f"columns with ",
                Option("kind"),
                ".",
            )
        self._where = f"{source.path}, column {layout.group!r}"
        self._groups: GroupCodes | None = None
        self._met: set[Key] = set()
        self._map: Recalibrator = recalibrator
        if recalibrator.groups_ is not None:
            if layout.group is None:
                raise FileError(
                    f"{name} has one map per group, so it needs the group of each row. Name the "
                    f"column with ",
                    Option("group"),
                    ".",
                )
            self._groups = GroupCodes(recalibrator.groups_)
            codes = {name: code for code, name in enumerate(recalibrator.groups_)}
            self._map = recalibrator.rename_groups(codes)

    @property
    def n_groups(self) -> int:
        """Maps of groups; 0 if there is one map for all rows."""
        return len(self._fitted.groups_ or [])

    def n_fit(self, group: Key | None = None) -> float:
        """Rows that the map was fitted on, or that of a group."""
        if group is not None and self._groups is not None:
            group = self._groups.alike(group)
        return self._fitted.n_fit(group)

    def __call__(self, dist: Distribution, groups: Any) -> Distribution:
        """Return the recalibrated forecasts of some rows, with their groups in an Arrow array."""
        if self._groups is None:
            return self._map.transform(dist)
        codes = self._groups.encode(groups, self._where)
        self._meet(np.flatnonzero(np.bincount(codes)))
        # Of groups that it does not know it warns; they are named once, at the end.
        return self._map.transform(dist, groups=codes)

    def meet(self, groups: Sequence[Key]) -> None:
        """Take note of groups whose rows were recalibrated elsewhere."""
        if self._groups is not None:
            self._meet(self._groups.add(groups, self._where))

    def _meet(self, codes: Iterable[int]) -> None:
        if self._groups is not None:
            self._met.update(self._groups.names[code] for code in codes)

    def part(self) -> Transformer:
        """Return the same map for a piece of the rows, so that threads may apply it."""
        part = copy(self)
        part._met = set()
        if self._groups is not None:
            part._groups = GroupCodes(self._groups.names)
        return part

    def finish(self, parts: Iterable[Transformer | None] = (), *, among: bool = True) -> None:
        """Warn of groups that the map does not know, whether met here or in parts.

        ``among`` tells how many there are, and among how many: not for a partition alone, where
        each would say something else.
        """
        if self._groups is None:
            return
        for part in parts:
            if part is not None and part._groups is not None:
                self.meet([name for name in part._groups.names if name in part._met])
        known = self.n_groups
        unknown = self._groups.names[known:]
        if unknown:
            how_many = f"{len(unknown):,} of {len(self._met):,}" if among else "some"
            warn(
                f"{how_many} groups were not there when the map was fitted and get the pooled map: "
                f"{listed(map(repr, unknown), most=3)}."
            )
