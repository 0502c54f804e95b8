"""One map for all rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike

from trueline._validation import check_max_knots
from trueline.distributions import Distribution
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import ScoreAccumulator
from trueline.recalibration._document import scores_from_json, scores_to_json
from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Key, Scores, combine


class CommonMap(Recalibrator):
    """A recalibrator with one map for all rows, computed from the sorted scores alone.

    Every such map is therefore independent of the order of rows, mergeable and compressible. A
    subclass defines only the law that it computes from the scores.
    """

    learns_from_scores = True
    is_mergeable = True
    is_exportable = True

    _scores: Scores | None = None
    _accumulator: ScoreAccumulator | None = None

    @abstractmethod
    def _law_of(self, scores: Scores) -> ScoreLaw:
        """Return the law of the score."""

    @property
    def scores_(self) -> Scores:
        """The sorted scores of the rows that the map was fitted on."""
        if self._scores is None:
            if self._accumulator is None:
                raise self._not_fitted()
            self._scores = self._accumulator.scores()
        return self._scores

    @property
    def law_(self) -> ScoreLaw:
        """The fitted law of the score: R is its CDF."""
        self._check_fitted()
        if self._fitted_law is None:
            self._fitted_law = self._law_of(self.scores_)
        return self._fitted_law

    _fitted_law: ScoreLaw | None = None

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self.law_

    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from outcomes and their forecasts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, by a model that was not trained on these rows.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : None
            For `Grouped` only.

        Returns
        -------
        self
        """
        self._refuse_groups(groups)
        self._check_params()
        return self._fit_rows(ScoreRows.of_outcomes(y, dist, sample_weight))

    def fit_scores(
        self,
        scores: ArrayLike,
        upper: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        kind: str = "standardised",
    ) -> Self:
        """Learn the map from the scores of rows, as ``fit`` does once it has scored the outcomes.

        Parameters
        ----------
        scores : (n,) array-like
            Scores of the outcomes, finite: (y - loc) / scale for location-scale forecasts,
            y - loc for point forecasts, normal scores of F(y) for others.
        upper : (n,) array-like, optional
            Upper ends, if a row has an interval of scores. They must equal `scores` for now.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : None
            For `Grouped` only.
        kind : {"standardised", "residual", "normal score"}
            The ``score_kind`` of the forecasts, which decides what the map can transform.

        Returns
        -------
        self

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic().fit_scores([1.0, 2.0, 3.0, 4.0], kind="residual")
        >>> R.transform(tl.Point(10.0)).cdf(13.0)
        array([0.6])
        """
        self._refuse_groups(groups)
        self._check_params()
        return self._fit_rows(ScoreRows.of_scores(scores, upper, sample_weight, kind))

    def _fit_rows(self, rows: ScoreRows) -> Self:
        scores = rows.sort()
        scores.warn_if_weak(rows.n_weighted)
        return self._learn(scores)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows as well; the first time it is ``fit``.

        The map is that of a fit on all rows so far, in any order, while there are at most 2^20
        distinct scores. Beyond, scores are rounded by a share of at most 2^-17 of themselves, so
        that the memory does not grow with the rows.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, of the same kind each time.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : None
            For `Grouped` only.

        Returns
        -------
        self
            If something is wrong with the rows it is as it was before.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic()
        >>> for y in ([1.0, 2.0], [3.0, 4.0]):
        ...     _ = R.partial_fit(y, tl.Point([0.0, 0.0]))
        >>> R.transform(tl.Point(0.0)).cdf(3.0)
        array([0.6])
        """
        self._refuse_groups(groups)
        self._check_params()
        if self._is_fitted():
            self.check_kind(dist)
        rows = ScoreRows.of_outcomes(y, dist, sample_weight)
        accumulator = self._accumulator
        if accumulator is None:
            accumulator = ScoreAccumulator(rows.kind)
            if self._is_fitted():
                accumulator = ScoreAccumulator.of(self.scores_, {})
        accumulator.add(rows)
        self._accumulator, self._scores, self._fitted_law = accumulator, None, None
        return self

    @property
    def score_kind_(self) -> str:
        """The ``score_kind`` of the forecasts that the map was fitted on."""
        return (self._accumulator or self.scores_).kind

    def law(self, group: Key | None = None) -> ScoreLaw:
        """Return the fitted law of the score, which is the same for all groups."""
        return self.law_

    def _refuse_groups(self, groups: ArrayLike | None) -> None:
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} fits one map for all rows and takes no groups. "
                f"Use Grouped({type(self).__name__}()) for one map a group."
            )

    def _learn(self, scores: Scores, by_group: dict[Key, Scores] | None = None) -> Self:
        self._scores = scores
        self._accumulator = self._fitted_law = None
        return self

    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        dist : Distribution
            Forecasts of the kind that the map was fitted on.
        groups : None
            For `Grouped` only.

        Returns
        -------
        Distribution
        """
        self._check_fitted()
        if groups is not None:
            raise ValueError(f"{type(self).__name__} takes no groups; it has one map for all rows.")
        self.check_kind(dist)
        return dist._recalibrate(self.law_)

    def merge(self, other: Self) -> Self:
        """Return the map that a fit on both sets of rows gives.

        Examples
        --------
        >>> import trueline as tl
        >>> F = tl.Point([0.0, 0.0])
        >>> R = tl.Isotonic().fit([1.0, 2.0], F).merge(tl.Isotonic().fit([3.0, 4.0], F))
        >>> R.transform(tl.Point(0.0)).cdf(3.0)
        array([0.6])
        """
        self._check_mergeable(other)
        kinds = self.scores_.kind, other.scores_.kind
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"the maps were fitted on different scores ({kinds[0]} and {kinds[1]}); expected "
                f"forecasts of the same kind in both."
            )
        return self._unfitted_copy()._learn(combine(self.scores_, other.scores_))

    def compress(self, max_knots: int) -> Self:
        """Return a map fitted on at most `max_knots` of the scores.

        Parameters
        ----------
        max_knots : int
            At least 2.

        Returns
        -------
        Recalibrator
            Its ``compression_error_`` is the largest change of the empirical CDF.

        Examples
        --------
        >>> import numpy as np
        >>> import trueline as tl
        >>> y = np.random.default_rng(0).normal(size=10_000)
        >>> R = tl.Isotonic().fit(y, tl.Point(np.zeros(10_000))).compress(1000)
        >>> len(R.scores_.values), R.compression_error_ < 1e-3
        (1000, True)
        """
        check_max_knots(max_knots)
        self._check_fitted()
        return self._unfitted_copy()._learn(self.scores_.compress(max_knots))

    @property
    def compression_error_(self) -> float:
        """Largest change of the map's empirical CDF by compression; 0 without any.

        Rounding is not in it: where ``partial_fit`` has met more than 2^20 distinct scores it
        moves each by a share of at most 2^-17 (7.6e-6) of itself, and no score past another.
        """
        self._check_fitted()
        return self.scores_.error

    def _is_fitted(self) -> bool:
        return self._scores is not None or self._accumulator is not None

    def _state(self) -> dict[str, Any]:
        return {"scores": scores_to_json(self.scores_)}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._learn(scores_from_json(state["scores"]))
