"""Scores as JSON types and arrays, and back: exact, and checked completely."""

from __future__ import annotations

import json
import reprlib
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.recalibration._scores import KINDS, Compressed, Exact, Key, Scores, round_scores

FORMAT = "trueline-recalibrator"
VERSION = 1


class InvalidMapError(Exception):
    """A document is not a valid map; the message says why."""


def parse(data: bytes) -> Any:
    """Read JSON; keys that repeat and numbers that are not finite are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidMapError("a key stands twice")
        return found

    def refuse(constant: str) -> Any:
        raise InvalidMapError(f"it holds {constant}")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except UnicodeDecodeError:
        raise InvalidMapError("it is not UTF-8 text") from None
    except ValueError as error:
        raise InvalidMapError(f"it is not JSON ({error})") from None


def scores_to_json(scores: Scores) -> dict[str, Any]:
    """Return scores as JSON types and arrays."""
    out: dict[str, Any] = {"kind": scores.kind, "values": scores.values}
    if scores.rounded:
        out["rounded"] = True
    if isinstance(scores, Exact):
        out["weights"] = scores.weights
    else:
        lower, upper = scores.cumulative()
        out |= {"lower": lower, "upper": upper, "error": scores.error}
    return out


def check_kind_of_score(kind: Any) -> str:
    """Check a ``score_kind`` from JSON types and return it."""
    expect(
        isinstance(kind, str) and kind in KINDS,
        f"the kind of score is {reprlib.repr(kind)}, not one of {tuple(KINDS)}",
    )
    return str(kind)


def scores_from_json(data: Any) -> Scores:
    """Check scores from JSON types, wholly, and return them."""
    expect(isinstance(data, dict), "scores are not an object")
    kind = check_kind_of_score(data.get("kind"))
    values = numbers(data.get("values"), "values")
    expect(bool((np.diff(values) > 0).all()), "values do not increase")
    rounded = data.get("rounded", False)
    fields = set(data) - {"rounded"}
    if "rounded" in data:
        expect(rounded is True, "rounded is not true")
        expect(bool((round_scores(values) == values).all()), "its values are not rounded")
    if fields == {"kind", "values", "weights"}:
        if data["weights"] is None:
            return Exact(kind, values, None, rounded=rounded)
        w = numbers(data["weights"], "weights", len(values))
        expect(bool((w > 0).all()), "a weight is not above 0")
        with np.errstate(over="ignore"):
            expect(bool(np.isfinite(w.sum())), "the weights overflow")
        return Exact(kind, values, w, rounded=rounded)
    expect(fields == {"kind", "values", "lower", "upper", "error"}, "scores hold unexpected fields")
    lower = numbers(data["lower"], "lower", len(values))
    upper = numbers(data["upper"], "upper", len(values))
    error = numbers([data["error"]], "error")[0]
    steps = np.stack([lower, upper], axis=1).ravel()
    expect(bool(lower[0] > 0 and (np.diff(steps) >= 0).all()), "cumulative weights decrease")
    expect(0 <= error <= 1, "error is not within 0 and 1")
    return Compressed(kind, values, lower, upper, float(error), rounded=rounded)


def groups_from_json(data: Any, kind: str) -> dict[Key, Scores]:
    """Check the scores of groups, all of this kind, from JSON types and return them."""
    expect(isinstance(data, list) and len(data) > 0, "groups are not a list")
    found: dict[Key, Scores] = {}
    for pair in data:
        expect(isinstance(pair, list) and len(pair) == 2, "a group is not a name and its scores")
        key = pair[0]
        expect(
            isinstance(key, str | int) or (isinstance(key, float) and bool(np.isfinite(key))),
            f"the name of a group is {reprlib.repr(key)}",
        )
        expect(key not in found, f"group {reprlib.repr(key)} stands twice")
        scores = scores_from_json(pair[1])
        expect(scores.kind == kind, "the kind of score differs between groups")
        found[key] = scores
    return found


def numbers(data: Any, name: str, length: int | None = None) -> FloatArray:
    """Check a list or array of finite numbers and return it as an array."""
    if isinstance(data, np.ndarray):  # from bytes
        expect(len(data) > 0, f"{name} are not a list of numbers")
        expect(length is None or len(data) == length, f"{name} and values differ in length")
        expect(bool(np.isfinite(data).all()), f"{name} hold a number beyond float64")
        return data
    expect(isinstance(data, list) and len(data) > 0, f"{name} are not a list of numbers")
    expect(length is None or len(data) == length, f"{name} and values differ in length")
    expect(all(type(x) is float or type(x) is int for x in data), f"{name} hold what is no number")
    try:
        numbers = np.array(data, dtype=np.float64)
    except OverflowError:
        raise InvalidMapError(f"{name} hold a number beyond float64") from None
    expect(bool(np.isfinite(numbers).all()), f"{name} hold a number beyond float64")
    return numbers


def expect(holds: bool, otherwise: str) -> None:
    """Raise unless a condition holds; `otherwise` says what is wrong."""
    if not holds:
        raise InvalidMapError(otherwise)
