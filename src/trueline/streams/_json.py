"""The state of `Online` as JSON types, and back: exact, and checked completely."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from trueline.recalibration._accumulator import State
from trueline.recalibration._document import (
    expect,
    numbers,
    scores_from_json,
    scores_to_json,
    weights_from_json,
)
from trueline.streams._drift import CELLS, Alarm, Drift, Reference
from trueline.streams._memory import AllRows, Memory, RecentRows

# Integers up to here are exact as float64, and no stream is longer.
_MOST_ROWS = 2**53


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """Return the scores of a stream as JSON types and arrays."""
    out: dict[str, Any] = {"kind": memory.kind, "seen": memory.seen}
    if isinstance(memory, RecentRows):
        s, w = memory.in_order()
        out |= {"values": s, "weights": None if (w == 1.0).all() else w}
    elif isinstance(memory, AllRows):
        out |= {"scores": scores_to_json(memory.scores())}
        out |= {"total": memory.total, "squares": memory.squares}
    return out


def restore_memory(memory: Memory, data: dict[str, Any]) -> None:
    """Check the scores of a stream and restore them."""
    seen = count_of(data.get("seen"), "rows seen", _MOST_ROWS, least=1)
    if isinstance(memory, RecentRows):
        expect(set(data) == {"kind", "seen", "values", "weights"}, "the memory is not as expected")
        values = numbers(data["values"], "values")
        expect(len(values) == min(seen, memory.span), "the memory does not hold its rows")
        memory.restore(seen, values, weights_from_json(data["weights"], len(values)))
    elif isinstance(memory, AllRows):
        names = {"kind", "seen", "scores", "total", "squares"}
        expect(set(data) == names, "the memory is not as expected")
        scores = scores_from_json(data["scores"])
        expect(scores.kind == memory.kind, "the kind of score differs within the memory")
        total, squares = numbers([data["total"], data["squares"]], "total and squares").tolist()
        expect(total > 0 and squares >= 0, "the weights of the memory are not above 0")
        memory.restore(seen, State.of(scores), total, squares)


def alarm_to_json(alarm: Alarm) -> dict[str, Any]:
    """Return the state of an alarm as JSON types and arrays."""
    drift = alarm.drift  # before the others, because it tests whole blocks
    return {
        "drift": asdict(drift),
        "reference": None if alarm.reference is None else asdict(alarm.reference),
        "block": list(alarm.rest()) if alarm.is_waiting() else None,
    }


def restore_alarm(alarm: Alarm, data: Any, memory: Memory) -> None:
    """Check the state of an alarm and restore it."""
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
    blocks = count_of(data["blocks"], "blocks", seen)
    alarms = count_of(data["alarms"], "alarms", blocks)
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
    taken = count_of(data["taken"], "taken", memory.seen, least=1)
    return Reference(edges, reached, squares, taken, data["rounded"], data["grows"])


def count_of(value: Any, name: str, most: int, least: int = 0) -> int:
    """Check a number of rows and return it."""
    expect(type(value) is int and least <= value <= most, f"{name} is no number of rows")
    return int(value)
