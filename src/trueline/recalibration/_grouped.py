"""One map per group."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._labels import check_labels
from trueline._validation import UnknownGroupsWarning, new_weights
from trueline.distributions import Distribution, Stacked, Support
from trueline.interop import ForecastLike
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import in_order
from trueline.recalibration._common import CommonMap, ScoreBased, inner_map
from trueline.recalibration._hierarchy import GroupPrior
from trueline.recalibration._shown import fit_in_words
from trueline.scores import Key, Scores, combine, recalibrated

_MOST_SHRINKAGE = 1e15
# Groups whose scales are further apart than this factor differ enough to say so.
_FAR_APART = 2.0


class Grouped(ScoreBased):
    """One map per group, shrunk to what all groups say where a group is small.

    The scores of a group with n rows are joined by scores of its predictive law, which count as
    k^2 / (k + n) rows in all, where k is the `shrinkage`; they are left out once that is less than
    one row. The predictive law has the shape of the scores of all groups, at the shift and scale
    that the group's own rows and the differences between groups suggest. It is wider by what a
    few rows leave open. So a group of ordinary scores has nearly the pooled map if it has far
    fewer than k rows, a group of a few noisy rows has wide intervals, and a group with k^2 rows
    has its own map. A group that was not there at ``fit`` gets the pooled map, with a warning: its
    intervals hold on average over groups, but not for each group.

    Parameters
    ----------
    recalibrator : Recalibrator, optional
        The kind of map, by default `Isotonic`.
    shrinkage : float, default 20
        The k above: the number of rows at which the scores of a group outweigh the predictive
        law by two to one; 0 keeps the groups apart.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`; that of `recalibrator` is not used.

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
    _learned: tuple[Scores, GroupPrior] | None = None
    _state_fields = frozenset({"scores", "groups"})

    def __init__(
        self,
        recalibrator: Recalibrator | None = None,
        shrinkage: float = 20.0,
        support: Support | str | None = "auto",
    ) -> None:
        self.recalibrator = recalibrator
        self.shrinkage = shrinkage
        self.support = support

    def _check_params(self) -> None:
        super()._check_params()
        self._inner()._check_params()
        k = self.shrinkage
        number = isinstance(k, int | float | np.integer | np.floating) and not isinstance(k, bool)
        if not number or not 0 <= k <= _MOST_SHRINKAGE:
            raise ValueError(f"shrinkage is {k!r}; expected a number of rows of 0 or more.")

    def _inner(self) -> CommonMap:
        return inner_map(self.recalibrator)

    def _least_law(self, scores: Scores) -> ScoreLaw:
        return self._inner()._law_of(scores)

    def _codes(self, groups: ArrayLike | None, n: int) -> tuple[list[Key], NDArray[np.intp]]:
        if groups is None:
            raise ValueError("groups is missing; expected the group of each row: groups=[...].")
        try:
            names = np.asarray(groups)
        except ValueError:
            raise ValueError("groups is ragged; expected one name per row.") from None
        if names.shape != (n,):
            raise ValueError(f"groups has shape {names.shape}; expected one name per row, ({n},).")
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

    @property
    def groups_(self) -> list[Key]:
        self._check_fitted()
        return list(self._group_scores)

    def _fit_in_words(self) -> str:
        groups = self._accumulator.names if self._accumulator else self._parts
        return fit_in_words(self._rows_learned(), len(groups))

    def rename_groups(self, names: Mapping[Key, Key]) -> Self:
        self._check_fitted()
        found = {names[key]: scores for key, scores in self._group_scores.items()}
        sorted_groups = {key: found[key] for key in in_order(found)}
        renamed = self._unfitted_copy()._learn(self.scores_, sorted_groups)
        return renamed._prepared_by(self._preparation)

    def n_fit(self, group: Key | None = None) -> float:
        return self._group_scores.get(group, self.scores_).effective_rows  # type: ignore[arg-type]

    def law(self, group: Key | None = None) -> ScoreLaw:
        self._check_fitted()
        key = group if group in self._group_scores else None
        if key not in self._laws:
            scores = self.scores_
            if key is not None:
                scores = self._group_scores[key]
                worth = self.shrinkage**2 / max(self.shrinkage + scores.effective_rows, 1.0)
                if worth >= 1.0:
                    scores = combine(scores, self._prior().predict(scores, worth))
            law = self._inner()._law_of(scores)
            if key is not None:
                # Borrowed rows are no more rows than the pooled map has.
                lows, highs = zip(law.supported, self.law().supported, strict=True)
                law.supported = (max(lows), min(highs))
            law.n_fit, law.made_by = self.n_fit(key), type(self).__name__
            self._laws[key] = law
        return self._laws[key]

    def _prior(self) -> GroupPrior:
        """Return how much the groups differ, which is learned when it is first needed."""
        scores = self.scores_
        if self._learned is None or self._learned[0] is not scores:
            self._learned = scores, GroupPrior(scores, self._group_scores.values())
        return self._learned[1]

    def transform(
        self,
        dist: ForecastLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Distribution:
        self._check_fitted()
        dist = self.check_kind(dist)
        keys, index = self._codes(groups, len(dist))
        labels = check_labels(dist=dist, groups=groups)
        unseen = [key for key in keys if key not in self._group_scores]
        if unseen:
            shown = ", ".join(repr(key) for key in unseen[:3])
            shown += ", ..." if len(unseen) > 3 else "."
            warnings.warn(
                f"{len(unseen)} of {len(keys)} groups were not there at fit and get the pooled "
                f"map: {shown} {self._note_on_unknown_groups()}",
                UnknownGroupsWarning,
                stacklevel=2,
            )
        dist = self._preparation(dist)
        laws = [self.law(key) for key in keys]
        w = new_weights(sample_weight, len(dist))
        if len(laws) == 1:
            made = recalibrated(dist, laws[0], w)
        else:
            rows = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
            parts = [
                recalibrated(dist._take(r), law, None if w is None else w[r])
                for r, law in zip(rows, laws, strict=True)
            ]
            made = Stacked(parts, rows)
        made._labels = labels
        return made

    def _note_on_unknown_groups(self) -> str:
        note = "Its intervals hold on average over groups, but not for each group."
        low, high = self._prior().scales
        if high < _FAR_APART * low:
            return note
        return (
            f"{note} The groups of the fit differ: in nine of ten, scores spread {low:.2g} to "
            f"{high:.2g} times as far as the pooled scores, so the right width for a new group may "
            f"be as many times that of its interval."
        )


def _plain(key: Any) -> Any:
    """Name of a group as a Python object."""
    if isinstance(key, np.generic):
        key = key.item()
    return key.decode() if isinstance(key, bytes) else key
