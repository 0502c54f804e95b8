"""A map that depends on features."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._labels import check_labels
from trueline._validation import (
    CalibrationWarning,
    FloatArray,
    RandomState,
    Rows,
    generator,
    vector,
)
from trueline.distributions import Distribution, Quantiles, Support
from trueline.features import FeatureReader
from trueline.interop import ForecastLike, check_forecast
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._common import Isotonic
from trueline.recalibration._least_width import first_as_good_as_the_best
from trueline.recalibration._preparation import check_support, find_support, prepare
from trueline.recalibration._quantile_boosting import QuantileBoosting, QuantileLearner
from trueline.recalibration._quantile_forest import QuantileForest, weighted_quantiles
from trueline.recalibration._scored import Scored, blocks, features_of, first_of
from trueline.scores import ScoreRows

# Numbers of rows that are converted at a time, and that decide what is learned.
_FEW = 1 << 10
_ENOUGH = 10_000
_NONE = np.empty(0, dtype=np.intp)
# Number of folds of a learner without out-of-bag quantiles.
_FOLDS = 5
# Learners by name.
_LEARNERS: dict[str, Callable[..., Any]] = {"forest": QuantileForest, "boosting": QuantileBoosting}
# Shares of the pooled law that are compared, and the number of rows that they are compared on.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_COMPARED = 3000
# With fewer rows the law given x would depend on a few scores.
_FEWEST_ROWS = 20


class Conditional(Recalibrator):
    """R(s | x): the law of the score given the features, recalibrated.

    One map for all rows makes a forecast calibrated on average. Where errors are larger, skewed
    or biased for some x, a forecast can be sharper and just as calibrated: a learner predicts
    quantiles of the score given x, which become a `Quantiles` forecast, after an average with the
    quantiles of all rows where that is truer. An outer `Isotonic` map,
    fitted on quantiles of rows that the learner did not see, keeps it calibrated whatever the
    learner. The features are X, the mean of the forecast and the logarithm of its standard
    deviation.

    With fewer than 20 rows the outer map alone is used, with a warning.

    Parameters
    ----------
    learner : "forest", "boosting" or object, default "forest"
        A `QuantileForest`, whose out-of-bag quantiles replace the cross-fitting of other learners,
        a `QuantileBoosting`, which takes ten times as long and is truer on some data, or an object
        with ``fit(X, s)`` and ``predict_quantiles(X, levels)``. It is not changed. Sample weights
        are passed to it as a third argument if its ``fit`` has ``sample_weight``.
    n_levels : int, default 99
        Number of quantiles of the score per row, at levels i / (n_levels + 1).
    random_state : None, int or numpy.random.Generator
        For the default learner, and for the folds of another.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`.

    Attributes
    ----------
    learner_ : object
        The fitted learner.
    outer_ : Isotonic
        The fitted outer map.
    pooled_share_ : float
        Share of the quantiles of all scores in the average with those given x: 0, 0.25, 0.5, 0.75
        or 1, by the out-of-sample CRPS. It is large where errors hardly depend on x.

    Notes
    -----
    The quantiles of a forest have steps, so the density is rough: use this for intervals,
    quantiles and the CRPS rather than for log scores. A fitted map holds a learner, so it cannot
    be merged or written as JSON.

    Examples
    --------
    A point forecast whose errors are five times as large on one side:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> y = rng.normal(size=2000) * np.where(X[:, 0] < 0.5, 1.0, 5.0)
    >>> R = tl.Conditional(random_state=0).fit(y, tl.Point(np.zeros(2000)), X=X)
    >>> lower, upper = R.transform(tl.Point([0.0, 0.0]), X=[[0.2], [0.8]]).interval(0.9)
    >>> bool(3.0 < (upper - lower)[1] / (upper - lower)[0] < 7.0)
    True
    """

    keeps_scores = False
    reads_width = False  # it learns the width itself
    weighs_new_rows = True

    learner_: Any
    outer_: Isotonic

    def __init__(
        self,
        learner: QuantileLearner | str = "forest",
        n_levels: int = 99,
        random_state: RandomState = None,
        support: Support | str | None = "auto",
    ) -> None:
        self.learner = learner
        self.n_levels = n_levels
        self.random_state = random_state
        self.support = support

    def _check_params(self) -> None:
        check_support(self.support)
        m = self.n_levels
        if not isinstance(m, int | np.integer) or isinstance(m, bool) or m < 3:
            raise ValueError(f"n_levels is {m!r}; expected an integer of 3 or more.")
        named = isinstance(self.learner, str) and self.learner in _LEARNERS
        if not (named or isinstance(self.learner, QuantileLearner)):
            raise TypeError(
                f"learner is {self.learner!r}; expected 'forest', 'boosting', or an object with "
                f"fit(X, s) and predict_quantiles(X, levels), such as QuantileForest()."
            )

    def fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        X: ArrayLike | None = None,
        folds: Sequence[tuple[Rows, Rows]] | None = None,
    ) -> Self:
        """Learn the law of the score given the features.

        Parameters
        ----------
        y, dist, sample_weight
            As for `Recalibrator.fit`.
        groups : None
            A group can be a column of X.
        X : (n, d) array-like or frame
            Features. Missing values, text, categories and dates are read by a
            `trueline.features.FeatureReader`.
        folds : sequence of (train, test), optional
            Row numbers; no row is in two test sets. The outer map is fitted on quantiles of the
            test rows that are learned from the training rows of their fold, so that groups and
            times are kept apart. Rows in no test set, and those of folds with fewer than 20
            training rows, get the quantiles of all rows. By default rows are left out one by one.
        """
        self._check_params()
        _refuse_groups(groups)
        dist = check_forecast(dist, y=y)
        check_labels(y=y, dist=dist, sample_weight=sample_weight, X=X)
        outcomes = vector(y, "y", finite=False)
        plain = Isotonic(support=self.support).fit(outcomes, dist, sample_weight)
        self._least_width = plain.least_width_
        dist = dist._widened(self._least_width)
        w = ScoreRows.of_outcomes(outcomes, dist, sample_weight).weights
        reader, table = FeatureReader(), _given(X)
        features = features_of(reader.fit(table), table, dist)
        self._features_reader, self.n_features_in_ = reader, reader.n_features_in_
        scored = Scored(features, dist._score(outcomes[:, None])[:, 0], w)
        self._way = _Way()
        self._kind = dist.score_kind
        self.levels_ = np.arange(1, self.n_levels + 1) / (self.n_levels + 1)
        self.learner_, self.outer_, self.pooled_share_ = None, plain, 0.0
        every = np.arange(len(outcomes))
        trained = [every] if folds is None else [train for train, _ in folds]
        known = max((scored.n_weighted(rows) for rows in trained), default=0)
        if known < _FEWEST_ROWS:
            warnings.warn(
                f"{known} rows are too few for a law of the score given x; one map serves all x. "
                f"Fit on at least {_FEWEST_ROWS} rows, or on folds that train on as many.",
                CalibrationWarning,
                stacklevel=2,
            )
            return self
        if plain.atoms_ is not None:
            self._choose_way(scored, outcomes, dist, folds)
            scored = scored._replace(s=outcomes) if self._way.of_outcomes else scored
        known_rows = (k for k in self._out_of_sample(scored, folds) if scored.n_weighted(k[0]))
        first, parts = first_of(known_rows)
        if not self._way.of_outcomes:
            self._choose_share(first, scored, outcomes, dist)
        forecasts = (
            (rows, self._conditional(dist._take(rows), quantiles)) for rows, quantiles in parts
        )
        with warnings.catch_warnings():
            # The plain map has warned of ties.
            warnings.simplefilter("ignore", CalibrationWarning)
            self.outer_ = self._outer(forecasts, outcomes, scored.w)
        return self

    def _fit_scaled(
        self, factor: float, y: ArrayLike, dist: Distribution, *args: Any, **given: Any
    ) -> Self:
        # An outcome that is an atom would be moved off it.
        if find_support(self.support, vector(y, "y")) is not None:
            return self.fit(y, dist, *args, **given)
        return super()._fit_scaled(factor, y, dist, *args, **given)

    def _choose_way(
        self,
        scored: Scored,
        y: FloatArray,
        dist: Distribution,
        folds: Sequence[tuple[Rows, Rows]] | None,
    ) -> None:
        """Choose what to learn for outcomes with atoms, by the pinball loss of one test set.

        The score of an outcome that is an atom moves with the forecast, so that quantiles of the
        outcomes themselves may be better; and many ties ask for larger leaves.
        """
        rng = generator(0 if self.random_state is None else copy.deepcopy(self.random_state))
        n = len(y)
        train, test = max(folds or [], key=lambda fold: len(fold[0]), default=(_NONE, _NONE))
        if scored.n_weighted(train) < _FEWEST_ROWS or scored.n_weighted(test) < _FEWEST_ROWS:
            order = rng.permutation(n)
            train, test = order[n // _FOLDS :], order[: n // _FOLDS]
        train, test = train[:_ENOUGH], test[:_ENOUGH]
        losses = {}
        for way in _WAYS if self.learner == "forest" else _WAYS[:2]:
            self._way = way
            rows = scored._replace(s=y) if way.of_outcomes else scored
            learner = self._fitted(rows.take(train), rng)
            quantiles = self._quantiles(learner, scored.features[test])
            loss = self._pinball(y[test], self._conditional(dist._take(test), quantiles))
            losses[way] = float(
                np.average(loss, weights=None if scored.w is None else scored.w[test])
            )
        self._way = min(losses, key=losses.__getitem__)

    def _choose_share(
        self,
        first: Sequence[tuple[Rows, FloatArray]],
        scored: Scored,
        y: FloatArray,
        dist: Distribution,
    ) -> None:
        """Choose the smallest share of the pooled law that no other beats by more than the noise.

        The pooled law makes a forecast less true given x where few rows differ from the others.
        """
        self._pooled = weighted_quantiles(scored.s, scored.w, self.levels_)
        every = np.concatenate([rows for rows, _ in first])
        few = slice(None, None, -(-len(every) // _COMPARED))
        rows = every[few]
        quantiles = np.concatenate([quantiles for _, quantiles in first])[few]
        some, w = dist._take(rows), None if scored.w is None else scored.w[rows]
        losses = []
        for self.pooled_share_ in _SHARES:
            losses.append(self._pinball(y[rows], self._conditional(some, quantiles.copy())))
        # The pooled law knows these rows. In expectation that lowers its loss by 2 / n of itself.
        n = scored.n_weighted(np.arange(len(y)))
        known = 2.0 * float(np.average(losses[-1], weights=w)) / n
        losses = [loss + share * known for share, loss in zip(_SHARES, losses, strict=True)]
        self.pooled_share_ = _SHARES[first_as_good_as_the_best(losses, w)]

    def _pinball(self, y: FloatArray, forecast: Quantiles) -> FloatArray:
        """Return the mean pinball loss of each row."""
        missed = y[:, None] - forecast.values
        return np.maximum(self.levels_ * missed, (self.levels_ - 1.0) * missed).mean(axis=1)

    def _outer(
        self,
        parts: Iterator[tuple[Rows, Quantiles]],
        y: FloatArray,
        w: FloatArray | None,
    ) -> Isotonic:
        """Return the map of parts of the rows, whose forecasts are quantiles given x."""
        first, parts = first_of(parts)
        # The first rows decide how all forecasts are prepared.
        rows = np.concatenate([rows for rows, _ in first])
        seen = Quantiles(self.levels_, np.concatenate([forecast.values for _, forecast in first]))
        support = find_support(self.support, y)
        weight = None if w is None else w[rows]
        preparation = prepare(support, y[rows], seen, weight)
        outer = [
            Isotonic(support=support)._fit_prepared(
                preparation, y[rows], forecast, None if w is None else w[rows]
            )
            for rows, forecast in parts
        ]
        return functools.reduce(Isotonic.merge, outer)

    def _out_of_sample(
        self, scored: Scored, folds: Sequence[tuple[Rows, Rows]] | None
    ) -> Iterator[tuple[Rows, FloatArray]]:
        """Fit the learner; yield parts of the rows, and their quantiles by one that saw others."""
        rng = generator(self.random_state)
        n = len(scored.s)
        if folds is None and self._grows_forest:
            forest = self.learner_ = self._fitted(scored, rng, out_of_bag=True)
            for part in blocks(np.arange(n)):
                rows = slice(int(part[0]), int(part[-1]) + 1)
                yield part, forest.out_of_bag_quantiles(self.levels_, rows)
            return
        if folds is None:
            fold = rng.permutation(n) % _FOLDS
            folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(_FOLDS)]
        self.learner_ = self._fitted(scored, rng)
        usual = weighted_quantiles(scored.s, scored.w, self.levels_)
        untested = np.setdiff1d(np.arange(n), np.concatenate([test for _, test in folds]))
        folds = [*folds, (untested[:0], untested)]
        for train, test in folds:
            if scored.n_weighted(train) < _FEWEST_ROWS:
                yield from ((part, np.tile(usual, (len(part), 1))) for part in blocks(test))
                continue
            learner = self._fitted(scored.take(train), rng)
            for part in blocks(test):
                yield part, self._quantiles(learner, scored.features[part])

    @property
    def _grows_forest(self) -> bool:
        return self.learner == "forest" or isinstance(self.learner, QuantileForest)

    def _fitted(self, scored: Scored, rng: np.random.Generator, *, out_of_bag: bool = False) -> Any:
        """Return a fitted copy of the learner."""
        learner: Any = copy.deepcopy(self.learner)
        if isinstance(learner, str):
            leaf = {"min_samples_leaf": self._way.leaf} if learner == "forest" else {}
            learner = _LEARNERS[learner](**leaf, random_state=rng)
        if self._grows_forest:
            return learner.fit(
                *scored, out_of_bag=out_of_bag, categorical=self._features_reader.categorical_
            )
        takes_weights = "sample_weight" in inspect.signature(learner.fit).parameters
        learner.fit(*(scored if takes_weights else scored[:2]))
        return learner

    def _quantiles(self, learner: Any, features: FloatArray) -> FloatArray:
        """Return the quantiles that a learner predicts, checked and sorted."""
        if self._grows_forest:
            return np.asarray(learner.predict_quantiles(features, self.levels_))
        values = np.asarray(learner.predict_quantiles(features, self.levels_), dtype=np.float64)
        expected = (len(features), len(self.levels_))
        if values.shape != expected or not np.isfinite(values).all():
            raise ValueError(
                f"predict_quantiles of {type(learner).__name__} returned shape {values.shape}, "
                f"{np.count_nonzero(~np.isfinite(values))} values not finite; expected finite "
                f"quantiles of shape {expected}, one row per forecast, one column per level."
            )
        # Many learners let quantiles cross, so no warning is given.
        return np.sort(values, axis=1)

    def _conditional(self, dist: Distribution, quantiles: FloatArray) -> Quantiles:
        """Return the forecast whose score, or outcome, has these quantiles, which are replaced."""
        if self.pooled_share_:
            quantiles += self.pooled_share_ * (self._pooled - quantiles)
        if not self._way.of_outcomes:
            for rows in blocks(np.arange(len(dist)), _FEW):
                some = dist._take(rows)._unscore(quantiles[rows])
                # Rounding can separate equal scores.
                some.sort(axis=1)
                quantiles[rows] = some
        return Quantiles(self.levels_, quantiles)

    def transform(
        self,
        dist: ForecastLike,
        groups: ArrayLike | None = None,
        X: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        dist : Distribution of n rows, or what `as_distribution` takes
            Forecasts of the kind that the map was fitted on.
        groups : None
            A group can be a column of X.
        X : (n, d) array-like
            Their features. The columns of a frame are found by name.
        sample_weight : (n,) array-like, optional
            The weight of each of these rows, see `Isotonic.transform`.
        """
        self._check_fitted()
        _refuse_groups(groups)
        dist = self.check_kind(dist)
        check_labels(dist=dist, X=X)
        wide = dist._widened(self._least_width)
        features = features_of(self._features_reader, _given(X), wide)
        if self.learner_ is None:
            return self.outer_.transform(dist, sample_weight=sample_weight)
        quantiles = self._quantiles(self.learner_, features)
        conditional = self._conditional(wide, quantiles)
        return self.outer_.transform(conditional, sample_weight=sample_weight)

    def merge(self, other: Self) -> Self:
        """Raise, because learners do not merge; fit on the rows of both."""
        self._check_fitted()
        other._check_fitted()
        _refuse("merge", "Fit one on the rows of both, or use Grouped, whose maps merge.")

    def compress(self, max_knots: int) -> Self:
        """Raise, because a learner has no knots; use a smaller learner."""
        self._check_fitted()
        _refuse("compress", "Give it a smaller learner, such as QuantileForest(n_estimators=50).")

    @property
    def score_kind_(self) -> str:
        self._check_fitted()
        return self._kind

    def _rows_learned(self) -> float:
        return self.outer_._rows_learned()

    def _is_fitted(self) -> bool:
        return hasattr(self, "outer_")

    def _state(self) -> dict[str, Any]:
        _refuse(
            "become JSON",
            "Keep it with pickle or skops where you trust the file, or use Isotonic or Grouped.",
        )

    def _set_state(self, state: dict[str, Any]) -> None:
        _refuse("come from JSON", "Fit it again.")


class _Way(NamedTuple):
    """What the learner learns, scores or outcomes, and the size of the leaves of a forest."""

    of_outcomes: bool = False
    leaf: int = 5


_WAYS = [_Way(False, 5), _Way(True, 5), _Way(False, 20), _Way(True, 20)]


def _refuse(what: str, fix: str) -> NoReturn:
    raise TypeError(f"a fitted Conditional does not {what}, because it holds a learner. {fix}")


def _refuse_groups(groups: ArrayLike | None) -> None:
    if groups is not None:
        raise ValueError("Conditional takes no groups; give them as a column of X, or use Grouped.")


def _given(X: ArrayLike | None) -> ArrayLike:
    if X is None:
        raise ValueError(
            "X is missing; expected the features of each row, because Conditional learns the law "
            "of the score given x: fit(y, dist, X=X) and transform(dist, X=X)."
        )
    return X
