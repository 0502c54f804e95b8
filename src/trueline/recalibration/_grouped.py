"""One map a group."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import UnknownGroupsWarning, check_max_knots
from trueline.distributions import Distribution, Stacked
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import ScoreAccumulator, rows_by_group
from trueline.recalibration._common import CommonMap
from trueline.recalibration._document import groups_from_json, scores_from_json, scores_to_json
from trueline.recalibration._inner import inner_map
from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Exact, Key, Scores, combine

# Points that stand for the pooled scores where a group borrows from them.
_BORROWED = 256
_MOST_SHRINKAGE = 1e15


class Grouped(Recalibrator):
    """One map a group, leaning on the pooled map where a group is small.

    The scores of each group are joined by the pooled scores of all groups. Beside n rows of
    the group's own, with k the `shrinkage`, those count as k^2 / (k + n) rows in all, and are
    left out once that is less than one row: a group with far fewer than k rows has nearly the
    pooled map, one with k^2 has its own. A group that was not there at ``fit`` gets the pooled
    map, with a warning.

    Parameters
    ----------
    recalibrator : Recalibrator, optional
        The kind of map, by default `Isotonic`.
    shrinkage : float, default 20
        The k above: the number of rows at which a group's own scores outweigh the pooled
        ones by two to one; 0 keeps the groups apart.

    Attributes
    ----------
    groups_ : list
        The groups seen.
    scores_ : Scores
        The pooled scores.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["calm", "wild"], 500)
    >>> y = rng.normal(size=1000) * np.where(group == "wild", 5.0, 1.0)
    >>> F = tl.Point(np.zeros(1000))
    >>> R = tl.Grouped().fit(y, F, groups=group)
    >>> R.transform(tl.Point([0.0, 0.0]), groups=["calm", "wild"]).std().round(1)
    array([1. , 4.8])
    """

    needs_groups = True
    learns_from_scores = True
    is_mergeable = True
    is_exportable = True
    _state_fields = frozenset({"scores", "groups"})

    _pooled: Scores | None = None
    _parts: dict[Key, Scores]
    _accumulator: ScoreAccumulator | None = None
    _laws: dict[Key | None, ScoreLaw]

    def __init__(self, recalibrator: Recalibrator | None = None, shrinkage: float = 20.0) -> None:
        self.recalibrator = recalibrator
        self.shrinkage = shrinkage

    def _check_params(self) -> None:
        self._inner()._check_params()
        k = self.shrinkage
        number = isinstance(k, int | float | np.integer | np.floating) and not isinstance(k, bool)
        if not number or not 0 <= k <= _MOST_SHRINKAGE:
            raise ValueError(f"shrinkage is {k!r}; expected a number of rows of 0 or more.")

    def _inner(self) -> CommonMap:
        return inner_map(self.recalibrator)

    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn a map a group.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, by a model that was not trained on these rows.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : (n,) array-like
            Strings or numbers that name the group of each row.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit_rows(ScoreRows.of_outcomes(y, dist, sample_weight), groups)

    def fit_scores(
        self,
        scores: ArrayLike,
        upper: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        kind: str = "standardised",
    ) -> Self:
        """Learn one map per group from the scores of rows; see `Isotonic.fit_scores`.

        Parameters
        ----------
        scores : (n,) array-like
            Scores of the outcomes, finite.
        upper : (n,) array-like, optional
            Upper ends, if a row has an interval of scores. They must equal `scores` for now.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : (n,) array-like
            Strings or numbers that name the group of each row.
        kind : {"standardised", "residual", "normal score"}
            The ``score_kind`` of the forecasts.

        Returns
        -------
        self

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Grouped().fit_scores([1.0, 2.0, 3.0], groups=["a", "b", "b"]).groups_
        ['a', 'b']
        """
        self._check_params()
        return self._fit_rows(ScoreRows.of_scores(scores, upper, sample_weight, kind), groups)

    def _fit_rows(self, rows: ScoreRows, groups: ArrayLike | None) -> Self:
        keys, codes = _group_index(groups, len(rows))
        if rows.weights is not None:
            codes = codes[rows.weights > 0]
        rows = rows.weighted()
        by_group: dict[Key, Scores] = {}
        for key, part in rows_by_group(rows, codes, keys):
            by_group[key] = part.sort()
        pooled = rows.sort()
        pooled.warn_if_weak(len(rows))
        return self._learn(pooled, by_group)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows as well, of groups old and new; the first time it is ``fit``.

        See `Isotonic.partial_fit`; the limit is that of a group.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, of the same kind each time.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : (n,) array-like
            Strings or numbers that name the group of each row.

        Returns
        -------
        self
            If something is wrong with the rows it is as it was before.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Grouped().partial_fit([1.0, 2.0], tl.Point([0.0, 0.0]), groups=["a", "b"])
        >>> R.partial_fit([3.0], tl.Point([0.0]), groups=["c"]).groups_
        ['a', 'b', 'c']
        """
        self._check_params()
        if self._is_fitted():
            self.check_kind(dist)
        rows = ScoreRows.of_outcomes(y, dist, sample_weight)
        keys, codes = _group_index(groups, len(rows))
        accumulator = self._accumulator
        if accumulator is None:
            accumulator = ScoreAccumulator(rows.kind)
            if self._is_fitted():
                accumulator = ScoreAccumulator.of(self.scores_, self._group_scores)
        accumulator.add(rows, codes, keys)
        self._accumulator, self._pooled = accumulator, None
        return self

    def _learn(self, pooled: Scores, by_group: dict[Key, Scores]) -> Self:
        self._pooled = pooled
        self._parts = by_group
        self._accumulator = None
        self._laws = {}
        return self

    @property
    def score_kind_(self) -> str:
        """The ``score_kind`` of the forecasts that the maps were fitted on."""
        return (self._accumulator or self.scores_).kind

    def _catch_up(self) -> None:
        """Sort what came in parts."""
        if self._pooled is None:
            if self._accumulator is None:
                raise self._not_fitted()
            self._parts, self._pooled = self._accumulator.group_scores(), self._accumulator.scores()
            self._laws = {}

    @property
    def scores_(self) -> Scores:
        """The sorted scores of all rows that the maps were fitted on."""
        self._catch_up()
        return self._pooled  # type: ignore[return-value]

    @property
    def _group_scores(self) -> dict[Key, Scores]:
        self._catch_up()
        return self._parts

    def rename_groups(self, names: Mapping[Key, Key]) -> Self:
        """Return the same fitted map with other names for its groups.

        Parameters
        ----------
        names : mapping
            The new name of each group.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Grouped().fit([1.0, 2.0], tl.Point([0.0, 0.0]), groups=["a", "b"])
        >>> R.rename_groups({"a": "south", "b": "north"}).groups_
        ['north', 'south']
        """
        self._check_fitted()
        renamed = {names[key]: scores for key, scores in self._group_scores.items()}
        in_order = {key: renamed[key] for key in sorted(renamed, key=_in_order)}
        return self._unfitted_copy()._learn(self.scores_, in_order)

    @property
    def groups_(self) -> list[Key]:
        """The groups seen at ``fit``."""
        self._check_fitted()
        return list(self._group_scores)

    def law(self, group: Key | None = None) -> ScoreLaw:
        """Return the law of a group; the pooled law for None and groups not seen at ``fit``."""
        self._check_fitted()
        return self._law(group if group in self._group_scores else None)

    def n_fit(self, group: Key | None = None) -> float:
        """Return the number of rows, or their weight, that `law` was fitted on."""
        return self._group_scores.get(group, self.scores_).total  # type: ignore[arg-type]

    def _law(self, key: Key | None) -> ScoreLaw:
        if key not in self._laws:
            scores = self.scores_
            if key is not None:
                scores = self._group_scores[key]
                worth = self.shrinkage**2 / max(self.shrinkage + scores.total, 1.0)
                if worth >= 1.0:
                    scores = combine(scores, self._borrowed(worth))
            law = self._inner()._law_of(scores)
            if key is not None:
                # Borrowed rows are no more rows than the pooled map has.
                lows, highs = zip(law.supported, self._law(None).supported, strict=True)
                law.supported = (max(lows), min(highs))
            self._laws[key] = law
        return self._laws[key]

    def _borrowed(self, worth: float) -> Scores:
        """CommonMap scores that count as this many rows."""
        x = self.scores_.values
        upper = self.scores_.cumulative()[1]
        levels = (np.arange(_BORROWED) + 0.5) / _BORROWED * self.scores_.total
        values, count = np.unique(x[np.searchsorted(upper, levels)], return_counts=True)
        return Exact(self.scores_.kind, values, count * np.float64(worth / _BORROWED))

    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts, each by the map of its group.

        Parameters
        ----------
        dist : Distribution of n rows
        groups : (n,) array-like
            The group of each row.

        Returns
        -------
        Distribution

        Warns
        -----
        CalibrationWarning
            If a group was not there at ``fit``; its rows get the pooled map.
        """
        self._check_fitted()
        self.check_kind(dist)
        keys, index = _group_index(groups, len(dist))
        unseen = [key for key in keys if key not in self._group_scores]
        if unseen:
            shown = ", ".join(repr(key) for key in unseen[:3])
            warnings.warn(
                f"{len(unseen)} of {len(keys)} groups were not there at fit and get the pooled "
                f"map: {shown}{', ...' if len(unseen) > 3 else '.'}",
                UnknownGroupsWarning,
                stacklevel=2,
            )
        laws = [self.law(key) for key in keys]
        if len(laws) == 1:
            return dist._recalibrate(laws[0])
        rows = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
        return Stacked(
            [dist._take(r)._recalibrate(law) for r, law in zip(rows, laws, strict=True)], rows
        )

    def merge(self, other: Self) -> Self:
        """Return the map that a fit on both sets of rows gives.

        Examples
        --------
        >>> import trueline as tl
        >>> F = tl.Point([0.0, 0.0])
        >>> R = tl.Grouped().fit([1.0, 2.0], F, groups=["a", "b"])
        >>> R.merge(tl.Grouped().fit([3.0, 4.0], F, groups=["b", "c"])).groups_
        ['a', 'b', 'c']
        """
        self._check_mergeable(other)
        mine, theirs = self._group_scores, other._group_scores
        if self.scores_.kind != other.scores_.kind:
            raise ValueError(
                f"the maps were fitted on different scores ({self.scores_.kind} and "
                f"{other.scores_.kind}); expected forecasts of the same kind in both."
            )
        joined = {
            key: combine(mine[key], theirs[key])
            if key in mine and key in theirs
            else (mine[key] if key in mine else theirs[key])
            for key in sorted({*mine, *theirs}, key=_in_order)
        }
        return self._unfitted_copy()._learn(combine(self.scores_, other.scores_), joined)

    def compress(self, max_knots: int) -> Self:
        """Return a map whose pooled and group scores are at most `max_knots` each.

        Examples
        --------
        >>> import numpy as np
        >>> import trueline as tl
        >>> y = np.random.default_rng(0).normal(size=1000)
        >>> R = tl.Grouped().fit(y, tl.Point(np.zeros(1000)), groups=np.arange(1000) % 2)
        >>> R.compress(100).compression_error_ < 0.02
        True
        """
        check_max_knots(max_knots)
        self._check_fitted()
        parts = {key: s.compress(max_knots) for key, s in self._group_scores.items()}
        return self._unfitted_copy()._learn(self.scores_.compress(max_knots), parts)

    @property
    def compression_error_(self) -> float:
        """Largest change of a group's empirical CDF by compression; 0 without any.

        Rounding is not in it, see `Isotonic.compression_error_`.
        """
        self._check_fitted()
        return max(s.error for s in [self.scores_, *self._group_scores.values()])

    def _is_fitted(self) -> bool:
        return self._pooled is not None or self._accumulator is not None

    def _state(self) -> dict[str, Any]:
        return {
            "scores": scores_to_json(self.scores_),
            "groups": [[key, scores_to_json(s)] for key, s in self._group_scores.items()],
        }

    def _set_state(self, state: dict[str, Any]) -> None:
        scores = scores_from_json(state["scores"])
        self._learn(scores, groups_from_json(state["groups"], scores.kind))


def _in_order(key: Key) -> tuple[bool, Key]:
    """Sort numbers before strings."""
    return isinstance(key, str), key


def _group_index(groups: ArrayLike | None, n: int) -> tuple[list[Key], NDArray[np.intp]]:
    """Check group names; return the distinct ones and the index of each row's."""
    if groups is None:
        raise ValueError("groups is missing; expected the group of each row: groups=[...].")
    try:
        names = np.asarray(groups)
    except ValueError:
        raise ValueError("groups is ragged; expected one name a row.") from None
    if names.shape != (n,):
        raise ValueError(f"groups has shape {names.shape}; expected one name a row, ({n},).")
    if names.dtype.kind not in "OUSiufb":
        raise TypeError(f"groups has dtype {names.dtype}; expected strings or numbers.")
    try:
        # numpy makes strings of the numbers in a list that holds both.
        if names.dtype.kind == "U" and not all(isinstance(name, str) for name in groups):  # type: ignore[union-attr]
            raise TypeError
        keys, index = np.unique(names, return_inverse=True)
    except TypeError:
        raise TypeError(
            "groups mixes names that cannot be compared, such as strings with numbers or None; "
            "expected all strings or all numbers."
        ) from None
    found = [_plain(key) for key in keys.tolist()]
    for key in found:
        if not (isinstance(key, str | int) or (isinstance(key, float) and np.isfinite(key))):
            raise ValueError(
                f"groups holds {key!r}; expected a string or a finite number in every row."
            )
    return found, index.reshape(n)


def _plain(key: Any) -> Any:
    """Name of a group as a Python object."""
    if isinstance(key, np.generic):
        key = key.item()
    return key.decode() if isinstance(key, bytes) else key
