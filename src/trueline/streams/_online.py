"""A recalibrator for streams."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import NotFittedError
from trueline.distributions import Distribution
from trueline.laws import ScoreLaw
from trueline.recalibration import (
    CommonMap,
    Key,
    Preparation,
    Recalibrator,
    ScoreRows,
    Scores,
    inner_map,
)
from trueline.recalibration._accumulator import State
from trueline.recalibration._document import (
    check_kind_of_score,
    expect,
    numbers,
    preparation_from_json,
    scores_from_json,
    scores_to_json,
)
from trueline.recalibration._preparation import prepare
from trueline.streams._drift import Alarm, Drift
from trueline.streams._json import (
    alarm_to_json,
    count_of,
    memory_to_json,
    restore_alarm,
    restore_memory,
)
from trueline.streams._levels import MOST_DOUBLINGS, ExtendedQuantiles, adapt_levels
from trueline.streams._memory import HALF_LIVES, AllRows, Memory, RecentRows

# In adaptive mode the map behind the levels is renewed once this share of its rows is new.
_RENEWED = 0.05
_MOST_ROWS = 10**9
# Rows of a first update from which a least width is learned.
_FEWEST_ROWS = 20


class Online(Recalibrator):
    """A recalibrator for streams: ``update`` with outcomes as they come, ``transform`` any time.

    It keeps all rows, or the last ones (`window`), or all with weights that fade (`half_life`).
    The map is that of a fit on the rows that are kept. Memory is bounded however long the stream:
    by `window` rows, by 20 half-lives (older rows, which weigh a millionth of all, are dropped),
    or without either by 2^20 distinct scores; beyond, scores are rounded by a share of at most
    2^-17 of themselves.

    **Adaptive mode.** With `coverage` the two levels that bound the central interval of that
    coverage adapt row by row: a row outside widens the interval, a row inside narrows it. The
    interval then covers that share of rows in the long run *whatever the stream does*; rows need
    not resemble each other. For any T rows after the first update,

        share missed <= (1 - c) + ((1 - c) / rate + 2 K + 1 + c) / T,

    where c is the coverage and K = log2(2 B / d), for scores and medians of the map within B of
    zero and distances of the map's median from its extreme quantiles above d. B and d need not be
    known, and float64 keeps K below 2100. Up to rounding, the bound holds for rows that are judged
    one by one, each by the levels before it. For it to hold for forecasts that were issued, update
    after every row, because an ``update`` with several rows judges them in order. The map behind
    the levels is renewed when 5% of its rows are new. Other levels are warped in proportion, and a
    smooth map becomes piecewise linear. The proof is in the module ``trueline.streams._levels``.

    **Least width and atoms.** Forecasts that are far too narrow are widened by a least width, as
    by `Isotonic`. It is learned by ``fit``, or by the first ``update`` if that has 20 rows or more,
    and stays the same; otherwise it is 0. Outcomes on an atom of their forecast, such as a count
    among draws, get a score that is drawn at random from the jump there. Atoms of outcomes are not
    learned, because the values that have occurred may not be those that will occur: the
    ``support`` of `recalibrator` is not used.

    **Drift alarm.** ``drift_`` is the result of a test of the last whole block of `alarm_rows`
    rows: whether its PIT values, by the empirical map of the rows kept when the block began, are
    uniform. Each block is tested once. If rows are exchangeable, so that nothing drifts, a block
    gives a false alarm with a probability of at most `alarm_rate`.

    Parameters
    ----------
    recalibrator : Recalibrator, optional
        The kind of map, by default `Isotonic`.
    window : int, optional
        Number of last rows to keep.
    half_life : float, optional
        Number of rows after which the weight of a row has halved; at least 1.
    coverage : float, optional
        Coverage of the interval that is guaranteed; None for no adaptive mode.
    rate : float, default 0.01
        Step of the levels in adaptive mode. Larger steps follow changes faster and fluctuate more.
    alarm_rows : int, default 500
        Number of rows in a block of the drift alarm.
    alarm_rate : float, default 0.001
        Largest probability of a false alarm per block.

    Attributes
    ----------
    rows_seen_ : int
        Number of rows so far. Rows of weight 0 do not count, and do not age others.
    scores_ : Scores
        The scores that are kept, sorted.
    law_ : ScoreLaw
        The law of the score; the map R is its CDF.
    levels_ : (float, float) or None
        In adaptive mode, the levels of the map at the ends of the interval. Below 0 and above 1
        the distance from the median doubles with each `rate`.
    least_width_ : float
        The width that is added to forecasts before they are scored.
    drift_ : Drift
        The result of the drift alarm.

    References
    ----------
    Gibbs and Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
    Kuleshov and Ermon, "Estimating uncertainty online against an adversary", AAAI 2017.

    Examples
    --------
    The noise doubles halfway. A map of the first half covers too little from then on:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=4000) * np.repeat([1.0, 2.0], 2000)
    >>> F = tl.Normal(np.zeros(4000), 1.0)
    >>> static = tl.Isotonic().fit(y[:2000], F[:2000])
    >>> online = tl.Online(coverage=0.9).fit(y[:2000], F[:2000])
    >>> held = []
    >>> for t in range(2000, 4000):
    ...     lower, upper = online.transform(F[[t]]).interval(0.9)
    ...     held.append(lower[0] <= y[t] <= upper[0])
    ...     _ = online.update(y[t], F[[t]])
    >>> print(f"{tl.coverage(y[2000:], static.transform(F[2000:]), 0.9):.2f} {np.mean(held):.2f}")
    0.58 0.90
    >>> online.drift_.alarm
    True
    """

    is_exportable = True

    _memory: Memory

    _state_fields = frozenset({"memory", "levels", "map", "map_rows", "alarm"})

    def __init__(
        self,
        recalibrator: Recalibrator | None = None,
        *,
        window: int | None = None,
        half_life: float | None = None,
        coverage: float | None = None,
        rate: float = 0.01,
        alarm_rows: int = 500,
        alarm_rate: float = 0.001,
    ) -> None:
        self.recalibrator = recalibrator
        self.window = window
        self.half_life = half_life
        self.coverage = coverage
        self.rate = rate
        self.alarm_rows = alarm_rows
        self.alarm_rate = alarm_rate

    def _check_params(self) -> None:
        self._inner()._check_params()
        if self.window is not None and self.half_life is not None:
            raise ValueError(
                f"window is {self.window!r} and half_life is {self.half_life!r}; expected one of "
                f"the two. Drop the one that you can do without."
            )
        if self.window is not None and not _is_rows(self.window, 1):
            raise ValueError(
                f"window is {self.window!r}; expected a number of rows of 1 or more, or None for "
                f"all."
            )
        h = self.half_life
        if h is not None and not (_is_number(h) and 1 <= h <= _MOST_ROWS):
            raise ValueError(
                f"half_life is {h!r}; expected a number of rows of 1 or more, or None for no "
                f"fading."
            )
        c = self.coverage
        if c is not None and not (_is_number(c) and 0 < c < 1):
            raise ValueError(
                f"coverage is {c!r}; expected a number in (0, 1), or None for no adaptive mode."
            )
        for name, value in (("rate", self.rate), ("alarm_rate", self.alarm_rate)):
            if not (_is_number(value) and 0 < value < 1):
                raise ValueError(f"{name} is {value!r}; expected a number in (0, 1).")
        if not _is_rows(self.alarm_rows, 10):
            raise ValueError(
                f"alarm_rows is {self.alarm_rows!r}; expected a number of rows of 10 or more."
            )

    def _inner(self) -> CommonMap:
        return inner_map(self.recalibrator)

    def _central(self) -> tuple[float, float] | None:
        """Levels of the ends of the interval, as `Distribution.interval` has them."""
        if self.coverage is None:
            return None
        lower = 0.5 * (1.0 - float(self.coverage))
        return lower, 1.0 - lower

    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Discard everything and learn from these rows, the oldest first.

        The parameters are those of `Recalibrator.fit`, without groups.
        """
        self._refuse_groups(groups)
        self._check_params()
        preparation = self._learned(y, dist, sample_weight)
        rows = _scored(y, preparation(dist), sample_weight, 0)
        self._begin(dist.score_kind, preparation)
        self._learn_rows(rows)
        self.scores_.warn_if_weak(min(len(rows), self._memory.rows), stacklevel=3)
        return self

    def update(
        self, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more row, or several, the oldest first.

        If something is wrong with the rows, nothing changes.

        Parameters
        ----------
        y : float or (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts as the model made them, before ``transform``, of the same kind each
            time.
        sample_weight : (n,) array-like, optional
            A weight of k moves the map as k rows do, but counts as one row in its guarantees; a
            weight of 0 counts as none.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Online(window=3)
        >>> for y in (5.0, 1.0, 2.0, 3.0):
        ...     _ = R.update(y, tl.Point(0.0))
        >>> R.transform(tl.Point(10.0)).median(), R.rows_seen_
        (array([12.]), 4)
        """
        fitted, preparation = self._is_fitted(), self._preparation
        if fitted:
            self.check_kind(dist)
            self._check_unchanged()
        else:
            self._check_params()
            preparation = Preparation()
            if np.size(y) >= _FEWEST_ROWS:
                preparation = self._learned(y, dist, sample_weight)
        seen = self._memory.seen if fitted else 0
        rows = _scored(y, preparation(dist), sample_weight, seen)
        if not fitted:
            self._begin(dist.score_kind, preparation)
        self._learn_rows(rows)
        return self

    def _learned(
        self, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None
    ) -> Preparation:
        """Learn the least width from the first rows."""
        return prepare(None, y, dist, sample_weight, self._inner()._law_of)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows; the same as ``update``."""
        self._refuse_groups(groups)
        return self.update(y, dist, sample_weight)

    def _refuse_groups(self, groups: ArrayLike | None) -> None:
        if groups is not None:
            raise ValueError(
                "Online has one map for all rows and takes no groups. Keep one Online per group."
            )

    def _params(self) -> tuple[object, ...]:
        memory = self.window, self.half_life, self.coverage
        return self.recalibrator, *memory, self.rate, self.alarm_rows, self.alarm_rate

    def _check_unchanged(self) -> None:
        if self._made_by != self._params():
            raise ValueError(
                "a parameter was changed after the first rows; expected them to stay. Start afresh "
                "with fit(y, dist)."
            )

    def _begin(self, kind: str, preparation: Preparation) -> None:
        self._made_by = self._params()
        self._preparation = preparation
        if self.window is not None:
            self._memory = RecentRows(kind, int(self.window), None)
        elif self.half_life is not None:
            h = float(self.half_life)
            self._memory = RecentRows(kind, math.ceil(HALF_LIVES * h), h)
        else:
            self._memory = AllRows(State(kind))
        self._alarm = Alarm(int(self.alarm_rows), float(self.alarm_rate))
        self._levels = self._central()
        self._forget_results()
        self._renew_map()

    def _learn_rows(self, rows: ScoreRows) -> None:
        s, w, memory = rows.lower, rows.weights, self._memory
        central = self._central()
        if memory.seen:
            if central is not None and self._levels is not None:
                self._levels = adapt_levels(self._quantiles(), central, self._levels, s)
            self._alarm.look(s, w, memory)
        memory.add(s, w)
        self._forget_results()
        if central is not None and memory.seen - self._map_seen >= _RENEWED * memory.rows:
            self._renew_map()

    def _forget_results(self) -> None:
        self._sorted: Scores | None = None
        self._law_now: ScoreLaw | None = None

    def _renew_map(self) -> None:
        """Discard the map of the levels, so that it is made from the memory when it is needed."""
        self._map: Scores | None = None
        self._map_quantiles: ExtendedQuantiles | None = None
        self._map_seen = self._memory.seen

    def _quantiles(self) -> ExtendedQuantiles:
        """Return the quantile function that the levels refer to."""
        if self._map is None:
            self._map = self.scores_
        if self._map_quantiles is None:
            tail = 0.5 * (1.0 - float(self.coverage or 0.0))
            self._map_quantiles = ExtendedQuantiles(
                self._inner()._law_of(self._map), float(self.rate), tail
            )
        return self._map_quantiles

    @property
    def scores_(self) -> Scores:
        """The scores that are kept, sorted."""
        self._check_fitted()
        if self._sorted is None:
            self._sorted = self._memory.scores()
        return self._sorted

    @property
    def law_(self) -> ScoreLaw:
        """The law of the score: R is its CDF."""
        self._check_fitted()
        if self._law_now is None:
            central = self._central()
            if central is None or self._levels is None:
                self._law_now = self._inner()._law_of(self.scores_)
            else:
                self._law_now = self._quantiles().warped(central, self._levels)
            self._law_now.n_fit = self.scores_.effective_rows
        return self._law_now

    def law(self, group: Key | None = None) -> ScoreLaw:
        return self.law_

    @property
    def score_kind_(self) -> str:
        self._check_fitted()
        return self._memory.kind

    @property
    def least_width_(self) -> float:
        """Standard deviation by which forecasts are widened first; 0 unless some collapsed."""
        self._check_fitted()
        return self._preparation.least_width

    @property
    def rows_seen_(self) -> int:
        """The number of rows so far."""
        self._check_fitted()
        return self._memory.seen

    @property
    def levels_(self) -> tuple[float, float] | None:
        """In adaptive mode, the levels of the map at the ends of the interval."""
        self._check_fitted()
        return self._levels

    @property
    def drift_(self) -> Drift:
        """The result of the drift alarm for the last whole block of rows."""
        self._check_fitted()
        return self._alarm.drift

    @property
    def compression_error_(self) -> float:
        """0: nothing is compressed. Without a window or half-life scores may be rounded."""
        return self.scores_.error

    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        self._check_fitted()
        self._refuse_groups(groups)
        self.check_kind(dist)
        return self._preparation(dist)._recalibrate(self.law_)

    def merge(self, other: Self) -> Self:
        """Raise, because the rows of two streams have no common order."""
        raise self._refusal(
            "merge",
            "the rows it keeps, its levels and its alarm depend on the order of rows, and the rows "
            "of two streams have no common order. Merge maps of the same rows instead: those of "
            "Isotonic, by fit or partial_fit, are the same in any order",
        )

    def compress(self, max_knots: int) -> Self:
        """Raise, because it needs its rows to go on; `window` or `half_life` bound their number."""
        raise self._refusal(
            "compress",
            "it needs its rows to go on. A window or a half_life keeps fewer rows; or fit "
            "Isotonic, which learns no more, and compress that",
        )

    def _is_fitted(self) -> bool:
        return hasattr(self, "_memory")

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(
            "Online has seen no rows: call update(y, dist) or fit(y, dist) first."
        )

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self.law_

    def _state(self) -> dict[str, Any]:
        state = {
            "memory": memory_to_json(self._memory),
            "levels": None if self._levels is None else list(self._levels),
            "map": None if self._map is None else scores_to_json(self._map),
            "map_rows": self._map_seen,
            "alarm": alarm_to_json(self._alarm),
        }
        if self._preparation != Preparation():
            state["preparation"] = self._preparation.to_json()
        return state

    def _set_state(self, state: dict[str, Any]) -> None:
        memory, levels, made = state["memory"], state["levels"], state["map"]
        expect(isinstance(memory, dict), "the memory is not an object")
        preparation = preparation_from_json(state.get("preparation"))
        self._begin(check_kind_of_score(memory.get("kind")), preparation)
        restore_memory(self._memory, memory)
        expect((levels is None) == (self.coverage is None), "levels and coverage do not agree")
        if levels is not None:
            low, high = numbers(levels, "levels", 2).tolist()
            most = 1.0 + self.rate * MOST_DOUBLINGS
            expect(max(abs(low), abs(high)) <= most, "a level is out of reach")
            self._levels = low, high
        if made is not None:
            expect(levels is not None, "there is a map without levels")
            self._map = scores_from_json(made)
            same = self._map.kind == self._memory.kind
            expect(same, "the kind of score differs between map and memory")
        self._map_seen = count_of(state["map_rows"], "map_rows", self._memory.seen)
        restore_alarm(self._alarm, state["alarm"], self._memory)


def _scored(
    y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None, seen: int
) -> ScoreRows:
    """Return the scores of the rows after those seen; one on an atom is drawn from its jump."""
    rows = ScoreRows.of_outcomes(y, dist, sample_weight)
    return rows.drawn(np.random.default_rng(seen)).weighted()


def _is_number(x: object) -> bool:
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def _is_rows(x: object, least: int) -> bool:
    whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
    return whole and least <= x <= _MOST_ROWS  # type: ignore[operator]  # it is an integer
