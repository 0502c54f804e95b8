"""The state of `Online` as JSON types, and back: exact, and checked completely."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from trueline.recalibration._document import (
    check_kind_of_score,
    expect,
    numbers,
    scores_from_json,
    scores_to_json,
)
from trueline.recalibration._state import State
from trueline.streams._drift import CELLS, Alarm, Drift, Reference
from trueline.streams._levels import MOST_DOUBLINGS
from trueline.streams._memory import AllRows, Memory, RecentRows

if TYPE_CHECKING:
    from trueline.streams._online import Online

# Integers up to here are exact as float64, and no stream is longer.
_MOST_ROWS = 2**53


def online_to_json(online: Online) -> dict[str, Any]:
    """Return everything that was learned, as JSON types and arrays."""
    made = online._map
    return {
        "memory": _memory_to_json(online._memory),
        "levels": None if online._levels is None else list(online._levels),
        "map": None if made is None else scores_to_json(made),
        "map_rows": online._map_seen,
        "alarm": _alarm_to_json(online._alarm),
    }


def online_from_json(online: Online, state: dict[str, Any]) -> None:
    """Check a state completely, then restore it."""
    memory = state["memory"]
    expect(isinstance(memory, dict), "the memory is not an object")
    kind = check_kind_of_score(memory.get("kind"))
    online._begin(kind)
    _restore_memory(online._memory, memory)
    seen = online._memory.seen
    levels = state["levels"]
    expect((levels is None) == (online.coverage is None), "levels and coverage do not agree")
    if levels is not None:
        low, high = numbers(levels, "levels", 2).tolist()
        most = 1.0 + online.rate * MOST_DOUBLINGS
        expect(max(abs(low), abs(high)) <= most, "a level is out of reach")
        online._levels = low, high
    made = state["map"]
    if made is not None:
        expect(levels is not None, "there is a map without levels")
        online._map = scores_from_json(made)
        expect(online._map.kind == kind, "the kind of score differs between map and memory")
    online._map_seen = _count(state["map_rows"], "map_rows", seen)
    _restore_alarm(online._alarm, state["alarm"], online._memory)


def _memory_to_json(memory: Memory) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": memory.kind, "seen": memory.seen}
    if isinstance(memory, RecentRows):
        s, w = memory.in_order()
        out |= {"values": s, "weights": None if (w == 1.0).all() else w}
    elif isinstance(memory, AllRows):
        out |= {"scores": scores_to_json(memory.scores())}
        out |= {"total": memory.total, "squares": memory.squares}
    return out


def _restore_memory(memory: Memory, data: dict[str, Any]) -> None:
    seen = _count(data.get("seen"), "rows seen", _MOST_ROWS, least=1)
    if isinstance(memory, RecentRows):
        expect(set(data) == {"kind", "seen", "values", "weights"}, "the memory is not as expected")
        values = numbers(data["values"], "values")
        expect(len(values) == min(seen, memory.span), "the memory does not hold its rows")
        w = np.ones(len(values))
        if data["weights"] is not None:
            w = numbers(data["weights"], "weights", len(values))
            expect(bool((w > 0).all()), "a weight is not above 0")
            with np.errstate(over="ignore"):
                expect(bool(np.isfinite(w.sum())), "the weights overflow")
        memory.restore(seen, values, w)
    elif isinstance(memory, AllRows):
        names = {"kind", "seen", "scores", "total", "squares"}
        expect(set(data) == names, "the memory is not as expected")
        scores = scores_from_json(data["scores"])
        expect(scores.kind == memory.kind, "the kind of score differs within the memory")
        total, squares = numbers([data["total"], data["squares"]], "total and squares").tolist()
        expect(total > 0 and squares >= 0, "the weights of the memory are not above 0")
        memory.restore(seen, State.of(scores), total, squares)


def _alarm_to_json(alarm: Alarm) -> dict[str, Any]:
    drift, reference = (
        alarm.drift,
        alarm.reference,
    )  # in this order, because `drift` tests whole blocks
    return {
        "drift": asdict(drift),
        "reference": None if reference is None else asdict(reference),
        "block": list(alarm.rest()) if alarm.is_waiting() else None,
    }


def _restore_alarm(alarm: Alarm, data: Any, memory: Memory) -> None:
    fault = "the alarm is not as expected"
    expect(isinstance(data, dict) and set(data) == {"drift", "reference", "block"}, fault)
    drift = _drift_from_json(data["drift"], memory.seen)
    s, w = np.empty(0), None
    if data["reference"] is not None:
        alarm.reference = _reference_from_json(data["reference"], memory)
    block = data["block"]
    if block is not None:
        expect(alarm.reference is not None, "a block has begun without a reference")
        expect(isinstance(block, list) and len(block) == 2, "a block is not scores and weights")
        s = numbers(block[0], "scores of a block")
        expect(len(s) < min(alarm.rows, memory.seen), "a block is too long")
        w = None if block[1] is None else numbers(block[1], "weights of a block", len(s))
        expect(w is None or bool((w > 0).all()), "a weight of a block is not above 0")
    alarm.restore(s, w, drift)


def _drift_from_json(data: Any, seen: int) -> Drift:
    fault = "drift is not as expected"
    expect(isinstance(data, dict) and set(data) == {f.name for f in fields(Drift)}, fault)
    expect(type(data["alarm"]) is bool, fault)
    shares = numbers([data["p_value"], data["statistic"]], "p_value and statistic")
    expect(bool(((shares >= 0) & (shares <= 1)).all()), "a share in drift is not within 0 and 1")
    blocks = _count(data["blocks"], "blocks", seen)
    alarms = _count(data["alarms"], "alarms", blocks)
    return Drift(data["alarm"], float(shares[0]), float(shares[1]), blocks, alarms)


def _reference_from_json(data: Any, memory: Memory) -> Reference:
    fault = "the reference of the alarm is not as expected"
    expect(isinstance(data, dict) and set(data) == {f.name for f in fields(Reference)}, fault)
    expect(type(data["rounded"]) is bool, fault)
    expect(data["grows"] is math.isinf(memory.span), fault)
    edges = numbers(data["edges"], "edges")
    expect(len(edges) < CELLS and bool((np.diff(edges) > 0).all()), "edges do not increase")
    reached = numbers(data["reached"], "reached", len(edges) + 1)
    squares = float(numbers([data["squares"]], "squares")[0])
    rises = reached[0] > 0 and squares > 0 and bool((np.diff(reached) >= 0).all())
    expect(bool(rises), "the weights of the reference do not add up")
    taken = _count(data["taken"], "taken", memory.seen, least=1)
    return Reference(edges, reached, squares, taken, data["rounded"], data["grows"])


def _count(value: Any, name: str, most: int, least: int = 0) -> int:
    expect(type(value) is int and least <= value <= most, f"{name} is no number of rows")
    return int(value)
