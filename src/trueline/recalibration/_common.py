"""One map for all rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeGuard

from numpy.typing import ArrayLike

from trueline.distributions import Distribution
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._score_based import ScoreBased
from trueline.recalibration._scores import Key, Scores


class CommonMap(ScoreBased):
    """A recalibrator with one map for all rows; a subclass defines the law that it has."""

    @abstractmethod
    def _law_of(self, scores: Scores) -> ScoreLaw:
        """Return the law of the score."""

    @property
    def law_(self) -> ScoreLaw:
        """The fitted law of the score: R is its CDF."""
        scores = self.scores_
        if None not in self._laws:
            self._laws[None] = self._law_of(scores)
        return self._laws[None]

    def law(self, group: Key | None = None) -> ScoreLaw:
        return self.law_

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self.law_

    def _codes(self, groups: ArrayLike | None, n: int) -> tuple[list[Key], None]:
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} fits one map for all rows and takes no groups. "
                f"Use Grouped({type(self).__name__}()) for one map per group."
            )
        return [], None

    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        self._check_fitted()
        if groups is not None:
            raise ValueError(f"{type(self).__name__} takes no groups; it has one map for all rows.")
        self.check_kind(dist)
        return dist._recalibrate(self.law_)


def is_common_map(recalibrator: object) -> TypeGuard[CommonMap]:
    """Whether an object fits one map for all rows, which it computes from sorted scores."""
    if not isinstance(recalibrator, Recalibrator):
        return False
    return recalibrator.learns_from_scores and not recalibrator.needs_groups
