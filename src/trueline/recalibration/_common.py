"""Maps that are learned from sorted scores alone; `Isotonic` is the paper's and the default."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._labels import check_labels
from trueline._validation import FloatArray, check_max_knots, new_weights
from trueline.distributions import Distribution, Support
from trueline.interop import ForecastLike, check_forecast
from trueline.laws import ScoreLaw
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import ScoreAccumulator, in_order, rows_by_group
from trueline.recalibration._document import (
    groups_from_json,
    preparation_from_json,
    scores_from_json,
    scores_to_json,
)
from trueline.recalibration._preparation import (
    Preparation,
    check_same_preparation,
    check_support,
    prepare,
    stated_support,
    unprepared_scores,
)
from trueline.scores import Key, ScoreRows, Scores, combine, empirical_law, recalibrated


class ScoreBased(Recalibrator):
    """A recalibrator that is learned from sorted scores, of all rows and of each group.

    Every such map is therefore independent of the order of rows, mergeable and compressible.
    """

    learns_from_scores = True
    is_mergeable = True
    is_exportable = is_stored = True
    weighs_new_rows = True

    support: Support | str | None = "auto"
    _scores: Scores | None = None
    _parts: dict[Key, Scores]
    _laws: dict[Key | None, ScoreLaw]
    _accumulator: ScoreAccumulator | None = None
    _is_settled = False  # whether a parameter was changed after the fit, which keeps its law

    def _check_params(self) -> None:
        check_support(self.support)

    @abstractmethod
    def _least_law(self, scores: Scores) -> ScoreLaw:
        """Return the law of the score for all rows, by which a least width is chosen."""

    @abstractmethod
    def _codes(self, groups: ArrayLike | None, n: int) -> tuple[list[Key], NDArray[np.intp] | None]:
        """Check the groups of n rows; return their names and the place of each row's name."""

    def fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        self._check_params()
        dist = check_forecast(dist, y=y)
        check_labels(y=y, dist=dist, sample_weight=sample_weight, groups=groups)
        if sample_weight is None and groups is None:
            scores = unprepared_scores(self.support, y, dist)
            self._codes(None, len(dist))
            if scores is not None:
                scores.warn_if_weak(len(dist), stacklevel=3)
                return self._learn(scores)._prepared_by(Preparation())
        preparation = self._prepare(y, dist, sample_weight)
        return self._fit_prepared(preparation, y, dist, sample_weight, groups)

    def _fit_scaled(
        self,
        factor: float,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **given: Any,
    ) -> Self:
        preparation = given.get("preparation") or self._prepare(y, dist, sample_weight)
        return self._fit_prepared(preparation, y, dist, sample_weight, groups, factor)

    def _prepare(
        self, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None
    ) -> Preparation:
        return prepare(self.support, y, dist, sample_weight, self._least_law)

    def _stated_support(self) -> Support | None:
        return stated_support(self.support)

    def _fit_prepared(
        self,
        preparation: Preparation,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        factor: float = 1.0,
    ) -> Self:
        """Learn the map from prepared forecasts, with scores multiplied by a factor."""
        rows = ScoreRows.of_outcomes(y, preparation(dist), sample_weight)
        rows = rows if factor == 1.0 else rows.scaled(factor)
        return self._fit_rows(rows, groups, stacklevel=5)._prepared_by(preparation)

    def fit_scores(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        upper: ArrayLike | None = None,
        kind: str = "standardised",
    ) -> Self:
        self._check_params()
        rows = ScoreRows.of_scores(scores, upper, sample_weight, kind)
        return self._fit_rows(rows, groups, stacklevel=4)._prepared_by(Preparation())

    def _fit_rows(self, rows: ScoreRows, groups: ArrayLike | None, stacklevel: int) -> Self:
        names, codes = self._codes(groups, len(rows))
        by_group: dict[Key, Scores] = {}
        if codes is not None:
            if rows.weights is not None:
                codes = codes[rows.weights > 0]
            rows = rows.weighted()
            for name, part in rows_by_group(rows, codes, names):
                by_group[name] = part.sort()
        scores = rows.sort()
        scores.warn_if_weak(rows.n_weighted, stacklevel)
        return self._learn(scores, by_group)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        self._check_params()
        dist = check_forecast(dist, y=y)
        check_labels(y=y, dist=dist, sample_weight=sample_weight, groups=groups)
        accumulator, preparation, stated = self._accumulator, self._preparation, None
        if self._is_fitted():
            self.check_kind(dist)
            stated = self._stated_support()
            if accumulator is None:
                accumulator = ScoreAccumulator.of(self.scores_, self._group_scores, preparation)
        else:
            preparation = self._prepare(y, dist, sample_weight)
        rows = ScoreRows.of_outcomes(y, preparation(dist), sample_weight)
        outcomes = None if stated is None else rows.weighted().outcomes
        if stated is not None and outcomes is not None:
            stated.check(outcomes)
        names, codes = self._codes(groups, len(rows))
        if accumulator is None:
            accumulator = ScoreAccumulator(rows.kind, preparation=preparation)
        known = accumulator.excluded
        accumulator.add(rows, codes, names)
        accumulator.warn_if_excluded(known)
        self._accumulator, self._scores = accumulator, None
        return self._prepared_by(preparation)

    @abstractmethod
    def transform(
        self,
        dist: ForecastLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        dist : Distribution, or what `as_distribution` takes
            Forecasts of the kind that the map was fitted on.
        groups : (n,) array-like, optional
            The group of each row, for maps that need groups.
        sample_weight : (n,) array-like, optional
            The weight of each of these rows, on the scale of the weights of ``fit``, such as
            ``of(X)`` of `shift_weights`. The map leaves the mass of a new row to it, half below and
            half above all scores, so that a row with few like it gets a wider forecast. By default
            this is the mass of the mean weight that new rows have. Maps with a few parameters
            leave no such mass, and their forecasts stay the same.

        Warns
        -----
        CalibrationWarning
            If a group was not there at ``fit``; its rows get the map of all rows.

        References
        ----------
        Tibshirani, Foygel Barber, Candès and Ramdas, "Conformal prediction under covariate shift",
        NeurIPS 2019.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point([0.0, 0.0, 0.0]))
        >>> R.transform(tl.Point([0.0, 0.0]), sample_weight=[1.0, 2.0]).std().round(2)
        array([2.1 , 2.62])
        """

    @property
    def least_width_(self) -> float:
        """Standard deviation by which forecasts are widened first; 0 unless some collapsed."""
        self._check_fitted()
        return self._preparation.least_width

    @property
    def atoms_(self) -> FloatArray | None:
        """Values of outcomes that have a probability of their own; None if there are none."""
        self._check_fitted()
        return None if self._preparation.atoms is None else self._preparation.atoms.values

    def _learn(self, scores: Scores, by_group: dict[Key, Scores] | None = None) -> Self:
        self._scores, self._parts, self._laws = scores, by_group or {}, {}
        self._accumulator, self._is_settled = None, False
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Laws follow from the scores, unless a parameter was changed after the fit. Files of
        # skops cannot hold them.
        kept = self.__dict__.copy()
        if not self._is_settled:
            kept.pop("_laws", None)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update({"_laws": {}, **kept})

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
        check_same_preparation(self._preparation, other._preparation)
        mine, theirs = self._group_scores, other._group_scores
        joined = mine | theirs
        for key in mine.keys() & theirs.keys():
            joined[key] = combine(mine[key], theirs[key])
        joined = {key: joined[key] for key in in_order(joined)}
        merged = self._unfitted_copy()._learn(combine(self.scores_, other.scores_), joined)
        return merged._prepared_by(self._preparation)

    def compress(self, max_knots: int) -> Self:
        check_max_knots(max_knots)
        self._check_fitted()
        parts = {key: part.compress(max_knots) for key, part in self._group_scores.items()}
        compressed = self._unfitted_copy()._learn(self.scores_.compress(max_knots), parts)
        return compressed._prepared_by(self._preparation)

    @property
    def compression_error_(self) -> float:
        self._check_fitted()
        return max(scores.error for scores in [self.scores_, *self._group_scores.values()])

    def _rows_learned(self) -> float:
        # Rows that came in parts are not sorted for this.
        return self._accumulator.n if self._accumulator else self.scores_.effective_rows

    def _is_fitted(self) -> bool:
        return self._scores is not None or self._accumulator is not None

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"scores": scores_to_json(self.scores_)}
        if self.needs_groups:
            state["groups"] = [[key, scores_to_json(s)] for key, s in self._group_scores.items()]
        if self._preparation != Preparation():
            state["preparation"] = self._preparation.to_json()
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        scores = scores_from_json(state["scores"])
        groups = groups_from_json(state["groups"], scores.kind) if self.needs_groups else {}
        self._learn(scores, groups)
        self._preparation = preparation_from_json(state.get("preparation"))


class CommonMap(ScoreBased):
    """A recalibrator with one map for all rows; a subclass defines the law that it has.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.recalibration import CommonMap
    >>> isinstance(tl.Smooth(), CommonMap), isinstance(tl.Grouped(), CommonMap)
    (True, False)
    """

    @abstractmethod
    def _law_of(self, scores: Scores) -> ScoreLaw:
        """Return the law of the score."""

    def _empirical_option(self) -> bool | None:
        """Return ``finite_sample`` if the law is `empirical_law` of the scores; otherwise None."""
        return None

    def _least_law(self, scores: Scores) -> ScoreLaw:
        return self._law_of(scores)

    @property
    def law_(self) -> ScoreLaw:
        """The fitted law of the score: R is its CDF."""
        scores = self.scores_
        if None not in self._laws:
            self._laws[None] = self._law_of(scores)
            self._laws[None].n_fit = scores.effective_rows
            self._laws[None].made_by = type(self).__name__
        return self._laws[None]

    def law(self, group: Key | None = None) -> ScoreLaw:
        return self.law_

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self.law_
            self._is_settled = True

    def _codes(self, groups: ArrayLike | None, n: int) -> tuple[list[Key], None]:
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} fits one map for all rows and takes no groups. "
                f"Use Grouped({type(self).__name__}()) for one map per group."
            )
        return [], None

    def transform(
        self,
        dist: ForecastLike,
        groups: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> Distribution:
        self._check_fitted()
        if groups is not None:
            raise ValueError(f"{type(self).__name__} takes no groups; it has one map for all rows.")
        dist = self.check_kind(dist)
        weight = new_weights(sample_weight, len(dist))
        made = recalibrated(self._preparation(dist), self.law_, weight)
        made._labels = dist._labels
        return made


class Isotonic(CommonMap):
    """Isotonic recalibration, Algorithm 1 of the paper, in score space.

    On sorted scores the isotonic fit of the empirical frequencies (Eq. 6) is the empirical
    CDF itself, so fitting is a sort. R passes through the scores and is linear between
    them. Tied scores are one knot with a jump; ``pdf`` is then the density of the continuous
    part, and the jump's mass has none.

    Beyond the outermost scores R continues with a tail, so that every quantile in (0, 1) is
    finite. Its scale is estimated from the root of n outermost rows (5 to 100). Location-scale
    forecasts and `Point` get an exponential tail, whose scale is the mean excess over the
    outermost score: it is longer where the mean excess grows towards the end, as for heavy tails,
    and shorter where it falls. Other forecasts have normal scores and get a half-normal tail,
    which continues the tail of the forecast. With a single row both tails start at the score x of
    that row and have mean excess abs(x), or 1 if x is 0.

    Parameters
    ----------
    finite_sample : bool, default True
        Put knot i of n at i / (n + 1), leaving mass 1 / (n + 1) in each tail. If rows are
        exchangeable and scores do not tie, P(R(S) <= p) differs from p by at most 1 / (n + 1)
        for every p, without any assumption on the model, and the coverage of the map's knots
        has the exact law Beta(i, n + 1 - i). With ties the coverage of a knot is at least i /
        (n + 1). With weights, the mass of a tail is 1 / (m + 1), where m is the effective number
        of rows, (sum w)^2 / sum w^2, and the guarantee is approximate. False is Eq. 6 to the
        letter: knot i at i / n, no upper tail.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take. "auto" learns them from the outcomes of ``fit``: counts
        and ratings take few values, rain is often exactly 0, and bounded scales are often at their
        ends. Forecasts then have atoms there, quantiles are values that can occur, and intervals
        are the shortest ones with at least their coverage. "counts" states whole numbers of 0 or
        more, and a `Support` states other values; an outcome outside is an error. None forecasts
        all outcomes as continuous.

    Attributes
    ----------
    law_ : ScoreLaw
        The law of the score; R is its CDF.
    scores_ : Scores
        The sorted scores.
    atoms_ : array or None
        The values of outcomes that have a probability of their own.
    least_width_ : float
        The standard deviation by which forecasts are widened first; 0 unless some collapsed.

    References
    ----------
    Kuleshov, Fenner and Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated
    Regression", ICML 2018.

    Examples
    --------
    A forecast that is biased and ten times too sure:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(loc=1.0, size=20_000)
    >>> F = tl.Normal(np.zeros(20_000), 0.1)
    >>> G = tl.Isotonic().fit(y[:10_000], F[:10_000]).transform(F[10_000:])
    >>> [round(tl.coverage(y[10_000:], f, 0.9), 2) for f in (F[10_000:], G)]
    [0.08, 0.9]

    Counts get a forecast of counts:

    >>> y = rng.poisson(1.0, size=2000)
    >>> G = tl.Isotonic().fit(y, tl.Normal(np.ones(2000), 1.0)).transform(tl.Normal(1.0, 1.0))
    >>> G.pmf([[0, 1, 2]]).round(1), G.interval(0.9)
    (array([[0.4, 0.4, 0.2]]), (array([0.]), array([2.])))
    """

    def __init__(self, finite_sample: bool = True, support: Support | str | None = "auto") -> None:
        self.finite_sample = finite_sample
        self.support = support

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.finite_sample, bool):
            raise ValueError(f"finite_sample is {self.finite_sample!r}; expected True or False.")

    def _law_of(self, scores: Scores) -> ScoreLaw:
        return empirical_law(scores, finite_sample=self.finite_sample)

    def _empirical_option(self) -> bool:
        return self.finite_sample


def is_common_map(recalibrator: object) -> TypeGuard[CommonMap]:
    """Whether an object fits one map for all rows, which it computes from sorted scores."""
    if not isinstance(recalibrator, Recalibrator):
        return False
    return recalibrator.learns_from_scores and not recalibrator.needs_groups


def inner_map(recalibrator: Recalibrator | None) -> CommonMap:
    """Return the map that a parameter asks for, by default `Isotonic`.

    Examples
    --------
    >>> from trueline.recalibration import inner_map
    >>> inner_map(None)
    Isotonic()
    """
    if recalibrator is None:
        return Isotonic()
    if not is_common_map(recalibrator):
        raise ValueError(
            f"recalibrator is {recalibrator!r}; expected Isotonic, Smooth, BetaCalibration, "
            f"Scaling or Auto."
        )
    return recalibrator
