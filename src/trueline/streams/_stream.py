"""What a stream has learned, and how it learns from rows; without checks and locks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.laws import ScoreLaw
from trueline.recalibration import CommonMap, Preparation, Scores
from trueline.recalibration._document import (
    check_kind_of_score,
    expect,
    preparation_from_json,
    scores_from_json,
    scores_to_json,
)
from trueline.streams import _experts, _memory
from trueline.streams._alarm import Alarm
from trueline.streams._experts import Experts
from trueline.streams._law import EmpiricalLaw, Sample
from trueline.streams._levels import MOST_DOUBLINGS, ExtendedQuantiles, WarpedLaw, adapt_levels
from trueline.streams._memory import Memory
from trueline.streams._state import (
    alarm_to_json,
    count_of,
    experts_to_json,
    levels_from_json,
    memory_to_json,
    restore_alarm,
    restore_experts,
    restore_memory,
)

# A map that is fitted to scores is fitted again once this share of its rows is new.
_RENEWED = 1 / 16
# But not before this number of rows is new, or this share of all rows so far.
_LEAST_NEW, _LEAST_SHARE = 8, 1 / 8
# Rows that stay when the stream forgets.
_LEFT = 20
# Of an update with more rows the alarm and the half-lives look at the last ones only.
_LOOKED_AT = 1 << 12


@dataclass(frozen=True)
class Settings:
    """Parameters of `Online` that a stream depends on; they do not change while it learns."""

    inner: CommonMap
    window: int | None
    half_life: float | None
    coverage: float | None
    rate: float
    alarm_rate: float

    @property
    def central(self) -> tuple[float, float] | None:
        """Levels of the ends of the interval, as `Distribution.interval` has them."""
        if self.coverage is None:
            return None
        lower = 0.5 * (1.0 - self.coverage)
        return lower, 1.0 - lower


class Stream:
    """The state of a stream: memory, weights of half-lives, levels, map and alarm.

    Parameters
    ----------
    settings : Settings
    kind : str
        The ``score_kind`` of the forecasts.
    preparation : Preparation
        What is done to forecasts before they are scored.
    """

    def __init__(self, settings: Settings, kind: str, preparation: Preparation) -> None:
        self.settings = settings
        self.preparation = preparation
        self.experts: Experts | None = None
        half_lives, span = np.array([math.inf]), math.inf
        if settings.window is not None:
            span = float(settings.window)
        elif settings.half_life is not None:
            half_lives[0] = settings.half_life
            span = float(np.ceil(_memory.HALF_LIVES * half_lives[0]))
        else:
            half_lives, self.experts = _experts.HALF_LIVES, Experts()
        self.memory = Memory(kind, half_lives, span)
        self.alarm = Alarm(settings.alarm_rate)
        self.central = self.levels = settings.central
        self._finite_sample = settings.inner._empirical_option()
        self._map: Scores | None = None
        self._map_law: ScoreLaw | None = None
        self._map_seen = 0
        self._served: ScoreLaw | None = None

    # ---- learning -------------------------------------------------------------------------

    def learn(self, s: FloatArray, w: FloatArray | None, forgets: bool) -> None:
        """Learn from rows; if it `forgets`, an alarm drops the rows before the change."""
        memory = self.memory
        if memory.seen and self.central is not None and self.levels is not None:
            self.levels = adapt_levels(self._quantiles(), self.central, self.levels, s)
        late = max(len(s) - _LOOKED_AT, 0)
        self.alarm.look(s[late:], memory.seen + late)
        if self.experts is None:
            memory.add(s, w)
        else:
            self._learn_by_parts(self.experts, s, w, late)
        if forgets and self.alarm.rings and self.alarm.change is not None:
            memory.forget(min(self.alarm.change, memory.seen - _LEFT))
            if self.experts is not None:
                self.experts.renew(memory, now=True)
        self._served = None
        if self._finite_sample is None:
            self._renew_map()

    def _learn_by_parts(
        self, experts: Experts, s: FloatArray, w: FloatArray | None, late: int
    ) -> None:
        """Learn from rows; the half-lives are not weighed by those before number `late`."""
        memory = self.memory
        if late:
            memory.add(s[:late], None if w is None else w[:late])
            experts.renew(memory, now=True)
        while late < len(s):
            stop = late + experts.room(memory)
            part, weights = s[late:stop], None if w is None else w[late:stop]
            experts.judge(part, weights)
            memory.add(part, weights)
            experts.renew(memory)
            late = stop

    def _renew_map(self) -> None:
        """Take the scores that a map is fitted to, when enough rows are new."""
        seen = self.memory.seen
        least = min(_LEAST_NEW, _LEAST_SHARE * seen)
        if self._map is not None:
            least = max(least, _RENEWED * self._map.effective_rows)
        if self._map is None or seen - self._map_seen >= least:
            self._map, self._map_law = self.sample().rows(), None
            self._map_seen = seen

    # ---- reading --------------------------------------------------------------------------

    def sample(self) -> Sample:
        """Return the scores that are kept, with their weights at this moment."""
        mix = np.ones(1) if self.experts is None else self.experts.mix(self.memory)
        return self.memory.sample(mix)

    @property
    def half_lives(self) -> dict[float, float]:
        """The weight of each half-life."""
        weights = np.ones(1) if self.experts is None else self.experts.weights
        return dict(zip(self.memory.half_lives.tolist(), weights.tolist(), strict=True))

    @property
    def served(self) -> ScoreLaw | None:
        """The law at this moment if it is known; reading it needs no lock."""
        return self._served

    def law(self) -> ScoreLaw:
        """Return the law at this moment, which does not change later."""
        if self._served is None:
            if self.central is None or self.levels is None or self.levels == self.central:
                self._served = self._law_of_rows()
            else:
                self._served = WarpedLaw(self._quantiles(), self.central, self.levels)
        return self._served

    def _law_of_rows(self) -> ScoreLaw:
        """Return the law of the rows that are kept, before levels adapt."""
        if self._finite_sample is not None:
            return EmpiricalLaw(self.sample(), self._finite_sample)
        if self._map_law is None and self._map is not None:
            self._map_law = self.settings.inner._law_of(self._map)
            self._map_law.n_fit, self._map_law.made_by = self._map.effective_rows, "Online"
        return self._map_law  # type: ignore[return-value]  # there is a map after the first row

    def _quantiles(self) -> ExtendedQuantiles:
        """Return the quantile function that the levels refer to."""
        tail = 0.5 if self.central is None else self.central[0]
        served = self._served
        if isinstance(served, WarpedLaw):
            return served.quantiles
        return ExtendedQuantiles(served or self._law_of_rows(), self.settings.rate, tail)

    # ---- state ----------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON types and arrays, none of which changes later."""
        state = {
            "memory": memory_to_json(self.memory),
            "experts": experts_to_json(self.experts),
            "levels": None if self.levels is None else list(self.levels),
            "map": None if self._map is None else scores_to_json(self._map),
            "map_rows": self._map_seen,
            "alarm": alarm_to_json(self.alarm),
        }
        if self.preparation != Preparation():
            state["preparation"] = self.preparation.to_json()
        return state

    @classmethod
    def from_json(cls, settings: Settings, state: dict[str, Any]) -> Stream:
        """Return the stream with this state, which is checked completely."""
        memory, levels, made = state["memory"], state["levels"], state["map"]
        expect(isinstance(memory, dict), "the memory is not an object")
        preparation = preparation_from_json(state.get("preparation"))
        stream = cls(settings, check_kind_of_score(memory.get("kind")), preparation)
        restore_memory(stream.memory, memory)
        seen = stream.memory.seen
        restore_experts(stream.experts, state["experts"], seen)
        expect((levels is None) == (settings.coverage is None), "levels do not fit the coverage")
        if levels is not None:
            stream.levels = levels_from_json(levels, 1.0 + settings.rate * MOST_DOUBLINGS)
        needs_map = stream._finite_sample is None
        expect((made is not None) == needs_map, "the map does not fit the recalibrator")
        if made is not None:
            stream._map = scores_from_json(made)
            same = stream._map.kind == stream.memory.kind
            expect(same, "the kind of score differs between map and memory")
        stream._map_seen = count_of(state["map_rows"], "map_rows", seen)
        restore_alarm(stream.alarm, state["alarm"], seen)
        return stream
