"""A recalibrator for streams."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._labels import check_labels
from trueline._validation import CalibrationWarning, FloatArray, NotFittedError
from trueline.distributions import Distribution
from trueline.interop import ForecastLike, check_forecast
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
from trueline.recalibration._preparation import prepare
from trueline.streams._alarm import Drift
from trueline.streams._law import DelayedLaw
from trueline.streams._params import check_levels, check_memory, check_on_alarm
from trueline.streams._stream import Settings, Stream

# Rows of a first update from which a least width is learned.
_FEWEST_ROWS = 20


class Online(Recalibrator):
    """A recalibrator for streams: ``update`` with outcomes as they come, ``transform`` any time.

    By default it adapts: the map is a weighted mean of the maps of ten half-lives, from 12 to 3072
    rows and infinity, and the weights follow from how well each has forecast the stream so far.
    Instead, `window` keeps the last rows only, `half_life` fades old rows at a fixed rate, and
    ``half_life=math.inf`` remembers all rows alike.

    **Cost.** An update with one row, and an interval after it, take the same time however long the
    stream. Up to 4,096 rows are exact, in a window up to 8,192. Beyond, the last 1,024 are, and the
    others are in a sketch whose rank error ``compression_error_`` is at most 1% in the first ten
    million rows, and below 0.2% as measured; such a window drops old rows in chunks of a sixteenth
    of it or less. The state takes less than 1 MB. `Smooth`, `Scaling` and `BetaCalibration` are
    fitted again when a sixteenth of their rows is new.

    **What adapting is worth.** The loss of the mean is that of the best half-life, or of the best
    sequence of half-lives, plus 8.1 for each change and 0.003 for each row, where the loss is the
    logarithmic score of five cells: the two tails beyond the 90% interval, the central 50%, and
    what is between. This holds for every stream; ``trueline.streams._experts`` has the proof. An
    update with several rows weighs the half-lives by blocks of up to 64 rows.

    **A guarantee for one coverage.** With `coverage` the two levels that bound the central
    interval of that coverage adapt row by row: a row outside widens the interval, a row inside
    narrows it. The interval then covers that share of rows in the long run *whatever the stream
    does*; rows need not resemble each other. For any T rows after the first update,

        share missed <= (1 - c) + ((1 - c) / rate + 2 K + 1 + c) / T,

    where c is the coverage and K = log2(2 B / d), at least 0, for scores and medians of the map
    within B of zero and distances of the map's median from its extreme quantiles above d. B and d
    need not be known, and float64 keeps K below 2100. Up to rounding, the bound holds for rows that
    are judged one by one, each by the levels before it. For it to hold for forecasts that were
    issued, update after every row: several rows of an ``update`` are judged by the map before them.
    Other levels are warped in proportion, and a smooth map becomes piecewise linear. The proof is
    in the module ``trueline.streams._levels``.

    **Drift alarm.** ``drift_`` is the result of a test that may be looked at after every row. If
    rows are exchangeable, so that nothing drifts, the alarm rings with a probability of at most
    `alarm_rate` *over the whole stream*, however long. A test judges no row before the
    101st, and after an alarm a new one begins. The map follows a drift with or without an alarm, so
    that by default an alarm changes nothing.

    **Threads.** One thread may update while any number of threads read: ``transform``, ``to_json``,
    ``to_bytes``, ``copy``, ``pickle`` and the attributes see the stream before or after an update,
    never in between, and a forecast that ``transform`` has returned does not change later. Several
    threads may update as well; their rows then come in some order. ``fit`` and ``set_params`` are
    for one thread alone. `Journal` keeps a stream that loses no row if its process is killed.

    **Least width and atoms.** Forecasts that are far too narrow are widened by a least width, as
    by `Isotonic`. It is learned by ``fit``, or by the first ``update`` if that has 20 rows or more,
    and stays the same; otherwise it is 0. Outcomes on an atom of their forecast, such as a count
    among draws, get a score that is drawn at random from the jump there. Atoms of outcomes are not
    learned, because the values that have occurred may not be those that will occur: the
    ``support`` of `recalibrator` is not used.

    Parameters
    ----------
    recalibrator : Recalibrator, optional
        The kind of map, by default `Isotonic`.
    window : int, optional
        Number of last rows to keep.
    half_life : float, optional
        Number of rows after which the weight of a row has halved; at least 1. ``math.inf``
        remembers everything.
    coverage : float, optional
        Coverage of the interval that is guaranteed; None for no guarantee.
    rate : float, default 0.01
        Step of the levels behind `coverage`. Larger steps follow changes faster and fluctuate more.
    on_alarm : {"warn", "forget"}, callable or None, default None
        What happens when the drift alarm rings, beside ``drift_``: a `CalibrationWarning`;
        forgetting the rows before the change, but for the last 20; or a call of this
        function with the `Drift`, after the update and outside any lock. A function is not stored
        by ``to_json`` and ``to_bytes``.
    alarm_rate : float, default 0.01
        Largest probability of a false alarm, over the whole stream.

    Attributes
    ----------
    rows_seen_ : int
        Number of rows so far. Rows of weight 0 do not count, and do not age others.
    scores_ : Scores
        The scores that are kept, sorted, with their weights.
    law_ : ScoreLaw
        The law of the score; the map R is its CDF.
    half_lives_ : dict
        Weight of each half-life in the map.
    levels_ : (float, float) or None
        With `coverage`, the levels of the map at the ends of the interval. Below 0 and above 1
        the distance from the median doubles with each `rate`.
    least_width_ : float
        The width that is added to forecasts before they are scored.
    drift_ : Drift
        The result of the drift alarm.

    References
    ----------
    Gibbs and Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
    Herbster and Warmuth, "Tracking the best expert", Machine Learning 1998.
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
    >>> online = tl.Online().fit(y[:2000], F[:2000])
    >>> held = []
    >>> for t in range(2000, 4000):
    ...     lower, upper = online.transform(F[[t]]).interval(0.9)
    ...     held.append(lower[0] <= y[t] <= upper[0])
    ...     _ = online.update(y[t], F[[t]])
    >>> print(f"{tl.coverage(y[2000:], static.transform(F[2000:]), 0.9):.2f} {np.mean(held):.2f}")
    0.58 0.89
    >>> online.drift_.alarms, abs(online.drift_.change - 2000) < 30
    (1, True)
    """

    is_exportable = is_stored = True

    _stream: Stream | None = None
    _state_fields = frozenset({"memory", "experts", "levels", "map", "map_rows", "alarm"})

    def __init__(
        self,
        recalibrator: Recalibrator | None = None,
        *,
        window: int | None = None,
        half_life: float | None = None,
        coverage: float | None = None,
        rate: float = 0.01,
        on_alarm: str | Callable[[Drift], object] | None = None,
        alarm_rate: float = 0.01,
    ) -> None:
        self.recalibrator = recalibrator
        self.window = window
        self.half_life = half_life
        self.coverage = coverage
        self.rate = rate
        self.on_alarm = on_alarm
        self.alarm_rate = alarm_rate
        self._lock = threading.RLock()

    def _check_params(self) -> None:
        self._inner()._check_params()
        check_memory(self.window, self.half_life)
        check_levels(self.coverage, self.rate, self.alarm_rate)
        check_on_alarm(self.on_alarm)

    def _inner(self) -> CommonMap:
        return inner_map(self.recalibrator)

    def _settings(self) -> Settings:
        half_life = None if self.half_life is None else float(self.half_life)
        coverage = None if self.coverage is None else float(self.coverage)
        rates = float(self.rate), float(self.alarm_rate)
        return Settings(self._inner(), self.window, half_life, coverage, *rates)

    def _set_stream(self, stream: Stream) -> None:
        self._made_by, self._preparation = self._params(), stream.preparation
        self._stream = stream

    def _fitted(self) -> Stream:
        if self._stream is None:
            raise self._not_fitted()
        return self._stream

    # ---- learning -------------------------------------------------------------------------

    def fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Discard everything and learn from these rows, the oldest first.

        Parameters are as for `Recalibrator.fit`. An alarm among these rows is not reported.
        """
        self._refuse_groups(groups)
        self._check_params()
        dist = check_forecast(dist, y=y)
        check_labels(y=y, dist=dist, sample_weight=sample_weight)
        preparation = self._learned(y, dist, sample_weight)
        rows = _scored(y, preparation(dist), sample_weight, 0)
        stream = Stream(self._settings(), dist.score_kind, preparation)
        stream.learn(rows.lower, rows.weights, self.on_alarm == "forget")
        sample = stream.sample()
        sample.scores().warn_if_weak(len(sample.x), stacklevel=3)
        with self._lock:
            self._set_stream(stream)
        return self

    def update(
        self, y: ArrayLike, dist: ForecastLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more row, or several, the oldest first.

        If something is wrong with the rows, nothing changes.

        Parameters
        ----------
        y : float or (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows, or what `as_distribution` takes
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
        drift = self._update(y, dist, sample_weight)
        if drift is not None:
            self._report(drift)
        return self

    def _update(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None,
        before: Callable[[FloatArray, FloatArray | None], None] | None = None,
    ) -> Drift | None:
        """Score rows, call `before` with scores and weights, learn; return an alarm that rings."""
        dist = check_forecast(dist, y=y)
        check_labels(4, y=y, dist=dist, sample_weight=sample_weight)
        with self._lock:
            stream = self._stream
            if stream is None:
                self._check_params()
                few = np.size(y) < _FEWEST_ROWS
                preparation = Preparation() if few else self._learned(y, dist, sample_weight)
            else:
                self.check_kind(dist)
                self._check_unchanged()
                preparation = stream.preparation
            seen = 0 if stream is None else stream.memory.seen
            rows = _scored(y, preparation(dist), sample_weight, seen)
            if before is not None:
                before(rows.lower, rows.weights)
            if stream is None:
                stream = Stream(self._settings(), dist.score_kind, preparation)
            stream.learn(rows.lower, rows.weights, self.on_alarm == "forget")
            if self._stream is None:
                self._set_stream(stream)
            return stream.alarm.drift if stream.alarm.rings else None

    def _learn_again(self, s: FloatArray, w: FloatArray | None) -> None:
        """Learn scores that ``update`` has learned before; nothing is reported."""
        with self._lock:
            self._fitted().learn(s, w, self.on_alarm == "forget")

    def _learned(
        self, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None
    ) -> Preparation:
        """Learn the least width from the first rows."""
        return prepare(None, y, dist, sample_weight, self._inner()._law_of)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
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
        return self.recalibrator, *memory, self.rate, self.alarm_rate

    def _check_unchanged(self) -> None:
        if self._made_by != self._params():
            raise ValueError(
                "a parameter was changed after the first rows; expected them to stay. Start afresh "
                "with fit(y, dist)."
            )

    def _report(self, drift: Drift) -> None:
        """Warn or call back after an alarm."""
        if self.on_alarm == "warn":
            warnings.warn(
                f"the scores of the stream have changed from about row {drift.change} on (e-value "
                f"{drift.e_value:.4g}, alarm {drift.alarms}). Check the model and its inputs; the "
                f"map follows the change.",
                CalibrationWarning,
                stacklevel=3,
            )
        elif callable(self.on_alarm):
            self.on_alarm(drift)

    # ---- reading --------------------------------------------------------------------------

    def _law(self) -> ScoreLaw:
        """Return the law at this moment, which does not change later."""
        stream = self._fitted()
        law = stream.served
        if law is None:
            with self._lock:
                law = stream.law()
        return law

    @property
    def scores_(self) -> Scores:
        """The scores that are kept, sorted."""
        stream = self._fitted()
        with self._lock:
            sample = stream.sample()
        return sample.scores()

    @property
    def law_(self) -> ScoreLaw:
        """The law of the score: R is its CDF."""
        law = self._law()
        return law.whole if isinstance(law, DelayedLaw) else law

    def law(self, group: Key | None = None) -> ScoreLaw:
        return self.law_

    @property
    def score_kind_(self) -> str:
        return self._fitted().memory.kind

    @property
    def least_width_(self) -> float:
        """Standard deviation by which forecasts are widened first; 0 unless some collapsed."""
        return self._fitted().preparation.least_width

    @property
    def rows_seen_(self) -> int:
        """The number of rows so far."""
        stream = self._fitted()
        with self._lock:
            return stream.memory.seen

    @property
    def half_lives_(self) -> dict[float, float]:
        """The weight of each half-life in the map; a single one unless the stream adapts."""
        stream = self._fitted()
        with self._lock:
            return stream.half_lives

    @property
    def levels_(self) -> tuple[float, float] | None:
        """With `coverage`, the levels of the map at the ends of the interval."""
        stream = self._fitted()
        with self._lock:
            return stream.levels

    @property
    def drift_(self) -> Drift:
        """The result of the drift alarm after the last update."""
        stream = self._fitted()
        with self._lock:
            return stream.alarm.drift

    @property
    def compression_error_(self) -> float:
        """Bound on the rank error of the scores: 0 while no row has moved to the sketch."""
        stream = self._fitted()
        with self._lock:
            return stream.memory.sketch.error

    def transform(self, dist: ForecastLike, groups: ArrayLike | None = None) -> Distribution:
        stream = self._fitted()
        self._refuse_groups(groups)
        return stream.preparation(self.check_kind(dist))._recalibrate(self._law())

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

    def _rows_learned(self) -> float:
        return self.rows_seen_

    def _is_fitted(self) -> bool:
        return self._stream is not None

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(
            "Online has seen no rows: call update(y, dist) or fit(y, dist) first."
        )

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self._law()

    # ---- state ----------------------------------------------------------------------------

    def _describe(self) -> dict[str, Any]:
        described = super()._describe()
        params = described["params"]
        if callable(self.on_alarm):
            params["on_alarm"] = None
        if params["half_life"] == math.inf:
            params["half_life"] = "inf"  # JSON has no infinity
        return described

    def _state(self) -> dict[str, Any]:
        stream = self._fitted()
        with self._lock:
            return stream.to_json()

    def _set_state(self, state: dict[str, Any]) -> None:
        if isinstance(self.half_life, str):
            self.half_life = math.inf
        self._set_stream(Stream.from_json(self._settings(), state))

    def __getstate__(self) -> dict[str, Any]:
        # A lock is not copied, and what an update changes in place must not be shared.
        with self._lock:
            state = self._state() if self._is_fitted() else None
            return {"params": self.get_params(deep=False), "state": state}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(**kept["params"])  # type: ignore[misc]  # an object made without arguments
        if kept["state"] is not None:
            self._set_state(kept["state"])


def _scored(
    y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None, seen: int
) -> ScoreRows:
    """Return the scores of the rows after those seen; one on an atom is drawn from its jump."""
    rows = ScoreRows.of_outcomes(y, dist, sample_weight)
    if rows.are_intervals:
        rows = rows.drawn(np.random.default_rng(seen))
    return rows.weighted()
