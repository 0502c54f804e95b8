"""The state of `Online` as JSON types, and back: exact, and checked completely."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.recalibration._document import expect, numbers, score_numbers, weights_from_json
from trueline.streams._alarm import BETS, CELLS, FIRST, Alarm, Drift
from trueline.streams._experts import Experts
from trueline.streams._memory import EXACT, RECENT, Memory
from trueline.streams._sketch import BLOCK, ITEMS, Chunk

# Integers up to here are exact as float64, and no stream is longer.
_MOST_ROWS = 2**53
_MOST_LEVELS = 64


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """Return the scores of a stream as JSON types and arrays; arrays are copies."""
    w = memory.given
    return {
        "kind": memory.kind,
        "seen": memory.seen,
        "values": memory.recent.copy(),
        "weights": None if (w == 1.0).all() else w.copy(),
        "chunks": _chunks_to_json(memory.sketch.chunks),
    }


def _chunks_to_json(chunks: list[Chunk]) -> dict[str, Any] | None:
    """Return chunks as JSON types and arrays, one after the other; None if there are none."""
    if not chunks:
        return None
    return {
        "items": np.concatenate([chunk.items for chunk in chunks]),
        "weights": np.concatenate([chunk.weights for chunk in chunks]),
        "sizes": [len(chunk.items) for chunk in chunks],
        "rows": [chunk.rows for chunk in chunks],
        "last": [chunk.last for chunk in chunks],
        "levels": [chunk.level for chunk in chunks],
    }


def restore_memory(memory: Memory, data: dict[str, Any]) -> None:
    """Check the scores of a stream and restore them."""
    names = {"kind", "seen", "values", "weights", "chunks"}
    expect(set(data) == names, "the memory is not as expected")
    seen = count_of(data["seen"], "rows seen", _MOST_ROWS, least=1)
    values = score_numbers(data["values"], "values")
    chunks = [] if data["chunks"] is None else _chunks(data["chunks"], len(memory.half_lives))
    most = int(memory.span) if memory.is_short else (RECENT if chunks else EXACT) + BLOCK - 1
    expect(len(values) <= min(seen, most), "the memory holds more rows than it can")
    w = weights_from_json(data["weights"], len(values))
    if chunks:
        expect(not memory.is_short and len(values) >= RECENT, "there are chunks too early")
    last = seen - len(values) - 1
    for chunk in reversed(chunks):
        expect(chunk.last == last, "the chunks do not follow each other")
        last -= chunk.rows
    expect(last >= -1, "the chunks hold more rows than were seen")
    memory.sketch.chunks = chunks
    memory.restore(seen, values, w)


def _chunks(data: Any, half_lives: int) -> list[Chunk]:
    """Check chunks and return them."""
    names = {"items", "weights", "sizes", "rows", "last", "levels"}
    expect(isinstance(data, dict) and set(data) == names, "the chunks are not as expected")
    counts = [data[name] for name in ("sizes", "rows", "last", "levels")]
    good = all(isinstance(column, list) and len(column) == len(counts[0]) for column in counts)
    expect(good and len(counts[0]) > 0, "the chunks are not lists of the same length")
    items = score_numbers(data["items"], "items of chunks")
    weights = numbers(data["weights"], "weights of chunks", half_lives * len(counts[0]))
    expect(bool((weights > 0).all()), "a weight of a chunk is not above 0")
    chunks, start = [], 0
    for i, (size, rows, last, level) in enumerate(zip(*counts, strict=True)):
        stop = start + count_of(size, "size of a chunk", ITEMS, least=1)
        part = items[start:stop]
        expect(stop <= len(items) and bool((np.diff(part) >= 0).all()), "items do not increase")
        count_of(rows, "rows of a chunk", _MOST_ROWS, least=1)
        count_of(last, "last of a chunk", _MOST_ROWS)
        count_of(level, "level of a chunk", _MOST_LEVELS)
        own = weights[half_lives * i : half_lives * (i + 1)]
        chunks.append(Chunk(part, own, rows, last, level))
        start = stop
    expect(start == len(items), "there are items of no chunk")
    return chunks


def experts_to_json(experts: Experts | None) -> dict[str, Any] | None:
    """Return the weights of the half-lives as JSON types and arrays, which never change."""
    if experts is None:
        return None
    return {
        "weights": experts.weights,
        "edges": experts.edges,
        "counts": experts.counts.ravel(),
        "renewed": experts.renewed,
    }


def restore_experts(experts: Experts | None, data: Any, seen: int) -> None:
    """Check the weights of the half-lives and restore them."""
    expect((experts is None) == (data is None), "half-lives and parameters do not agree")
    if experts is None:
        return
    names = {"weights", "edges", "counts", "renewed"}
    expect(isinstance(data, dict) and set(data) == names, "the half-lives are not as expected")
    weights = numbers(data["weights"], "weights of half-lives", len(experts.weights))
    good = bool((weights > 0).all()) and abs(float(weights.sum()) - 1.0) < 1e-6
    expect(good, "the weights of half-lives do not sum to 1")
    counts = numbers(data["counts"], "counts of half-lives", experts.counts.size)
    expect(bool((counts >= 0).all()), "a count is below 0")
    counts = counts.reshape(experts.counts.shape)
    if data["edges"] is not None:
        experts.edges = numbers(data["edges"], "edges of half-lives", counts.shape[1] - 1)
        expect(bool((np.diff(experts.edges) >= 0).all()), "edges of half-lives decrease")
        expect(bool((counts.sum(axis=1) > 0).all()), "a half-life has no rows")
    experts.weights, experts.counts = weights, counts
    experts.renewed = count_of(data["renewed"], "renewed", seen)


def alarm_to_json(alarm: Alarm) -> dict[str, Any]:
    """Return the state of an alarm as JSON types."""
    return {
        "drift": asdict(alarm.drift),
        "waiting": list(alarm.waiting),
        "edges": list(alarm.edges),
        "counts": list(alarm.counts),
        "stakes": list(alarm.stakes),
        "runs": list(alarm.runs),
        "starts": list(alarm.starts),
        "capital": [alarm.capital, alarm.peak],
    }


def restore_alarm(alarm: Alarm, data: Any, seen: int) -> None:
    """Check the state of an alarm and restore it."""
    names = {"drift", "waiting", "edges", "counts", "stakes", "runs", "starts", "capital"}
    expect(isinstance(data, dict) and set(data) == names, "the alarm is not as expected")
    drift = _drift(data["drift"], seen)
    waiting, edges = (_listed(data[name], name) for name in ("waiting", "edges"))
    expect(len(waiting) < FIRST, "too many rows wait for the alarm")
    expect(len(edges) <= CELLS and all(map(float.__lt__, edges, edges[1:])), "edges decrease")
    counts = data["counts"]
    expect(isinstance(counts, list), "the counts of the alarm are not a list")
    counts = [count_of(count, "a count", seen) for count in counts]
    expect(len(counts) == (len(edges) + 1 if edges else 0), "cells and edges do not agree")
    expect(not (counts and waiting), "rows wait for an alarm that has begun")
    bets = [numbers(data[name], name, BETS) for name in ("stakes", "runs", "starts")]
    capital = numbers([*_listed(data["capital"], "capital")], "capital", 2)
    good = all(bool((bet >= 0).all()) for bet in bets) and bool((bets[2] < seen).all())
    good = good and 0 <= capital[0] <= capital[1] and capital[1] >= 1
    expect(good, "the bets of the alarm are not as expected")
    alarm.waiting = waiting
    test = [edges, *(bet.tolist() for bet in bets), capital.tolist()]
    alarm.restore(drift, test, counts)


def _listed(data: Any, name: str) -> list[float]:
    return [] if data == [] else [float(x) for x in numbers(data, name)]


def _drift(data: Any, seen: int) -> Drift:
    fault = "drift is not as expected"
    expect(isinstance(data, dict) and set(data) == {f.name for f in fields(Drift)}, fault)
    expect(type(data["alarm"]) is bool, fault)
    e_value, p_value = numbers([data["e_value"], data["p_value"]], "e_value and p_value").tolist()
    expect(e_value >= 0 and 0 < p_value <= 1, fault)
    alarms = count_of(data["alarms"], "alarms", seen)
    rows = count_of(data["rows"], "rows", seen)
    change = data["change"]
    expect((change is None) == (alarms == 0), "alarms and their change do not agree")
    if change is not None:
        change = count_of(change, "change", seen)
    return Drift(data["alarm"], e_value, p_value, alarms, rows, change)


def count_of(value: Any, name: str, most: int, least: int = 0) -> int:
    """Check a number of rows and return it."""
    expect(type(value) is int and least <= value <= most, f"{name} is no number of rows")
    return int(value)


def levels_from_json(data: Any, farthest: float) -> tuple[float, float]:
    """Check levels that adapt and return them."""
    found: FloatArray = numbers(data, "levels", 2)
    low, high = found.tolist()
    expect(max(abs(low), abs(high)) <= farthest, "a level is out of reach")
    return low, high
