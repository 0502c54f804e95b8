"""Maps that are learned from sorted scores alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import check_max_knots
from trueline.distributions import Distribution
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import ScoreAccumulator, in_order, rows_by_group
from trueline.recalibration._document import groups_from_json, scores_from_json, scores_to_json
from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Key, Scores, combine


class ScoreBased(Recalibrator):
    """A recalibrator that is learned from sorted scores, of all rows and of each group.

    Every such map is therefore independent of the order of rows, mergeable and compressible.
    """

    learns_from_scores = True
    is_mergeable = True
    is_exportable = True

    _scores: Scores | None = None
    _parts: dict[Key, Scores]
    _laws: dict[Key | None, ScoreLaw]
    _accumulator: ScoreAccumulator | None = None

    @abstractmethod
    def _codes(self, groups: ArrayLike | None, n: int) -> tuple[list[Key], NDArray[np.intp] | None]:
        """Check the groups of n rows; return their names and the place of each row's name."""

    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
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
        self._check_params()
        return self._fit_rows(ScoreRows.of_scores(scores, upper, sample_weight, kind), groups)

    def _fit_rows(self, rows: ScoreRows, groups: ArrayLike | None) -> Self:
        names, codes = self._codes(groups, len(rows))
        by_group: dict[Key, Scores] = {}
        if codes is not None:
            if rows.weights is not None:
                codes = codes[rows.weights > 0]
            rows = rows.weighted()
            for name, part in rows_by_group(rows, codes, names):
                by_group[name] = part.sort()
        scores = rows.sort()
        scores.warn_if_weak(rows.n_weighted)
        return self._learn(scores, by_group)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        self._check_params()
        accumulator = self._accumulator
        if self._is_fitted():
            self.check_kind(dist)
            if accumulator is None:
                accumulator = ScoreAccumulator.of(self.scores_, self._group_scores)
        rows = ScoreRows.of_outcomes(y, dist, sample_weight)
        names, codes = self._codes(groups, len(rows))
        if accumulator is None:
            accumulator = ScoreAccumulator(rows.kind)
        accumulator.add(rows, codes, names)
        self._accumulator, self._scores = accumulator, None
        return self

    def _learn(self, scores: Scores, by_group: dict[Key, Scores] | None = None) -> Self:
        self._scores, self._parts, self._laws = scores, by_group or {}, {}
        self._accumulator = None
        return self

    def _catch_up(self) -> Scores:
        """Sort the rows that came in parts, and return the scores of all rows."""
        if self._scores is None:
            if self._accumulator is None:
                raise self._not_fitted()
            self._parts = self._accumulator.group_scores()
            self._scores, self._laws = self._accumulator.scores(), {}
        return self._scores

    @property
    def scores_(self) -> Scores:
        return self._catch_up()

    @property
    def _group_scores(self) -> dict[Key, Scores]:
        self._catch_up()
        return self._parts

    @property
    def score_kind_(self) -> str:
        return (self._accumulator or self.scores_).kind

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        kinds = self.scores_.kind, other.scores_.kind
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"the maps were fitted on different scores ({kinds[0]} and {kinds[1]}); expected "
                f"forecasts of the same kind in both."
            )
        mine, theirs = self._group_scores, other._group_scores
        joined = mine | theirs
        for key in mine.keys() & theirs.keys():
            joined[key] = combine(mine[key], theirs[key])
        joined = {key: joined[key] for key in in_order(joined)}
        return self._unfitted_copy()._learn(combine(self.scores_, other.scores_), joined)

    def compress(self, max_knots: int) -> Self:
        check_max_knots(max_knots)
        self._check_fitted()
        parts = {key: part.compress(max_knots) for key, part in self._group_scores.items()}
        return self._unfitted_copy()._learn(self.scores_.compress(max_knots), parts)

    @property
    def compression_error_(self) -> float:
        self._check_fitted()
        return max(scores.error for scores in [self.scores_, *self._group_scores.values()])

    def _is_fitted(self) -> bool:
        return self._scores is not None or self._accumulator is not None

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"scores": scores_to_json(self.scores_)}
        if self.needs_groups:
            state["groups"] = [[key, scores_to_json(s)] for key, s in self._group_scores.items()]
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        scores = scores_from_json(state["scores"])
        groups = groups_from_json(state["groups"], scores.kind) if self.needs_groups else {}
        self._learn(scores, groups)
