"""Read stored maps and scores. Everything in them is checked, and nothing is executed."""

from __future__ import annotations

import json
import os
import reprlib
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from trueline._messages import InputError, Option
from trueline._validation import FloatArray
from trueline.distributions import Support
from trueline.distributions._atoms import Ends, Lattice
from trueline.documents import MAGIC, checksum_is_right, decode
from trueline.recalibration._abstract import FORMAT, VERSION, Recalibrator
from trueline.recalibration._preparation import Preparation
from trueline.scores import (
    KINDS,
    MOST_WEIGHT,
    Compressed,
    Exact,
    Intervals,
    Key,
    Scores,
    first_out_of_range,
    round_scores,
    score_fault,
)

Classes = dict[str, type[Recalibrator]]

# Squares of widths are finite up to here.
_MOST_WIDTH = 1e150


class InvalidMapError(Exception):
    """A document is not a valid map; the message says why, and `remedy` what else to do."""

    def __init__(self, fault: str, remedy: str = "") -> None:
        super().__init__(fault)
        self.remedy = remedy


def read(path: str | os.PathLike[str] | bytes, max_bytes: int, classes: Classes) -> Recalibrator:
    """Read a map of one of these classes; see `trueline.load`."""
    is_content = isinstance(path, bytes | bytearray | memoryview)
    name, writer = ("the input", "to_bytes") if is_content else (str(path), "to_json")
    try:
        return _restore(_document(_content(path, max_bytes), max_bytes), classes)
    except InvalidMapError as error:
        fault, remedy = str(error), error.remedy
    except RecursionError:
        fault, remedy = "it is nested too deeply", ""
    written = " Write it again with ", Option(writer), "."
    raise InputError(f"{name} is not a valid trueline map: {fault}.", written, remedy)


def _content(path: str | os.PathLike[str] | bytes, max_bytes: int) -> bytes:
    if isinstance(path, bytes | bytearray | memoryview):
        return bytes(path)
    if isinstance(path, str) and path.lstrip().startswith("{"):
        raise ValueError(
            "path is JSON text; expected the name of a file. Write the map with to_json(path)."
        )
    file = Path(path)
    size = file.stat().st_size
    if size > max_bytes:
        raise ValueError(
            f"{file} has {size} bytes; expected at most {max_bytes}. "
            f"Compress the map before writing it, or raise max_bytes."
        )
    with file.open("rb") as stream:
        return stream.read(max_bytes)


def _document(data: bytes, max_bytes: int) -> Any:
    """Check the checksum of either form, and return what was written."""
    if data.startswith(MAGIC):
        return decode(data, lambda head: parse(_text(head, max_bytes)), expect, max_bytes)
    expect(f'"{FORMAT}"'.encode() in data, f"its format is not {FORMAT!r}")
    right = checksum_is_right(data)
    if not right:
        found = "it has no checksum at its end" if right is None else "its checksum is wrong"
        raise InvalidMapError(
            f"{found}, so it was damaged or edited",
            " If you edited it on purpose, sign it: trueline.recalibration.sign(path).",
        )
    text = _text(data, max_bytes)
    del data  # so that it takes no memory meanwhile
    document = parse(text)
    if isinstance(document, dict):
        document.pop("sha256", None)
    return document


def _restore(document: Any, classes: Classes) -> Recalibrator:
    expect(isinstance(document, dict), "the outermost value is not an object")
    expect(document.get("format") == FORMAT, f"its format is not {FORMAT!r}")
    version = document.get("version")
    expect(
        type(version) is int and version == VERSION,
        f"its version is {reprlib.repr(version)} and this release reads {VERSION}",
    )
    expect(
        set(document) == {"format", "version", "recalibrator", "state"},
        "it must hold format, version, recalibrator and state, and nothing else",
    )
    recalibrator = _build(document["recalibrator"], classes)
    state = document["state"]
    expect(isinstance(state, dict), "it has no state")
    names = recalibrator._state_fields
    expect(set(state) - {"preparation"} == names, f"its state must hold {sorted(names)}")
    recalibrator._set_state(state)
    return recalibrator


def _build(description: Any, classes: Classes, depth: int = 0) -> Recalibrator:
    """Make an unfitted recalibrator from its checked description."""
    expect(
        isinstance(description, dict) and set(description) == {"class", "params"} and depth < 4,
        "a recalibrator is not described by its class and params",
    )
    name, params = description["class"], description["params"]
    expect(
        isinstance(name, str) and name in classes,
        f"its class is {reprlib.repr(name)}, expected one of {sorted(classes)}",
    )
    cls = classes[name]
    expect(
        isinstance(params, dict) and set(params) == set(cls._param_names()),
        f"the params of {name} must be {cls._param_names()}",
    )

    def rich(value: Any) -> Any:
        if isinstance(value, dict):
            if value.get("class") == Support.__name__:
                return _support(value)
            return _build(value, classes, depth + 1)
        if isinstance(value, list):
            return [rich(item) for item in value]
        return value

    recalibrator = cls(**{key: rich(value) for key, value in params.items()})
    try:
        recalibrator._check_params()
    except (TypeError, ValueError) as error:
        raise InvalidMapError(textwrap.shorten(str(error).rstrip("."), 200)) from None
    return recalibrator


def _support(description: dict[str, Any]) -> Support:
    """Return a stated support from its checked description."""
    params = description.get("params")
    good = isinstance(params, dict) and set(params) == {"low", "high", "step", "values"}
    expect(good, "a support is not described by low, high, step and values")
    try:
        return Support(**params)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidMapError(textwrap.shorten(str(error).rstrip("."), 200)) from None


def _text(data: bytes, max_bytes: int) -> str:
    """Decode JSON; raise if its objects could take more memory than the limit."""
    # The text is held while its strings are made. Both are as wide as their widest character.
    width = 2
    if not data.isascii():
        width = 8
    elif b"\\u" in data:
        width = 5 if b"\\ud" in data or b"\\uD" in data else 3
    items, strings = data.count(b","), data.count(b'"') // 2
    containers = data.count(b"{") + data.count(b"[")
    needed = width * len(data) + 34 * items + 64 * strings + 256 * containers
    if needed > max_bytes:
        raise InvalidMapError(
            f"reading it takes up to {needed:,} bytes of memory; expected at most {max_bytes:,}",
            " Compress the map before that, or raise max_bytes.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidMapError("it is not UTF-8 text") from None


def parse(text: str) -> Any:
    """Read JSON; keys that repeat and numbers that are not finite are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidMapError("a key stands twice")
        return found

    def refuse(constant: str) -> Any:
        raise InvalidMapError(f"it holds {constant}")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except ValueError as error:
        raise InvalidMapError(f"it is not JSON ({error})") from None


def scores_to_json(scores: Scores) -> dict[str, Any]:
    """Return scores as JSON types and arrays."""
    if isinstance(scores, Intervals):
        # JSON has no infinity; the largest number stands for it.
        lower, upper = (np.nan_to_num(ends) for ends in scores.rows()[:2])
        kept = {"lower": lower, "upper": upper, "weights": scores.weights}
        return {"kind": scores.kind, "intervals": {**kept, "squares": scores.squares}}
    out: dict[str, Any] = {"kind": scores.kind, "values": scores.values}
    if scores.rounded:
        out["rounded"] = True
    if scores.squares is not None:
        out["squares"] = scores.squares
    if isinstance(scores, Exact):
        out["weights"] = scores.weights
    else:
        lower, upper = scores.cumulative()
        out |= {"lower": lower, "upper": upper, "error": scores.error}
    return out


def preparation_from_json(data: Any) -> Preparation:
    """Check how forecasts are prepared, None if they are not, from JSON types and return it."""
    if data is None:
        return Preparation()
    good = isinstance(data, dict) and set(data) == {"least_width", "atoms"}
    expect(good, "the preparation does not hold least_width and atoms")
    (width,) = numbers([data["least_width"]], "least_width")
    expect(bool(width >= 0), "the least width is below 0")
    expect(bool(width <= _MOST_WIDTH), f"the least width is above {_MOST_WIDTH:g}")
    atoms = data["atoms"]
    if atoms is None:
        return Preparation(float(width))
    expect(isinstance(atoms, dict), "the atoms are not an object")
    cuts = numbers(atoms.get("cuts"), "cuts")
    if set(atoms) == {"values", "cuts"}:
        values = numbers(atoms["values"], "values", len(cuts) + 1)
        expect(bool((np.diff(values) > 0).all()), "the values of atoms do not increase")
        between = (values[:-1] < cuts) & (cuts < values[1:])
        expect(bool(between.all()), "a cut is not between its values")
        return Preparation(float(width), Lattice(values, cuts))
    expect(set(atoms) == {"low", "high", "cuts"}, "the atoms hold unexpected fields")
    ends = [end for end in (atoms["low"], atoms["high"]) if end is not None]
    numbers(ends, "ends", len(cuts))
    low = -np.inf if atoms["low"] is None else float(atoms["low"])
    high = np.inf if atoms["high"] is None else float(atoms["high"])
    made = Ends(low, high, cuts)
    expect(made.is_valid(), "the cuts are not close to the ends of the range")
    return Preparation(float(width), made)


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
    if set(data) == {"kind", "intervals"}:
        return _intervals(kind, data["intervals"])
    values = score_numbers(data.get("values"), "values")
    expect(bool((values[1:] > values[:-1]).all()), "values do not increase")
    rounded = data.get("rounded", False)
    fields = set(data) - {"rounded", "squares"}
    if "rounded" in data:
        expect(rounded is True, "rounded is not true")
        expect(bool((round_scores(values) == values).all()), "its values are not rounded")
    more: dict[str, Any] = {"rounded": rounded}
    if "squares" in data:
        more["squares"] = float(numbers([data["squares"]], "squares")[0])
        expect(more["squares"] >= 0, "squares is below 0")
    if fields == {"kind", "values", "weights"}:
        w = weights_from_json(data["weights"], len(values))
        return Exact(kind, values, w, **more)
    expect(fields == {"kind", "values", "lower", "upper", "error"}, "scores hold unexpected fields")
    lower = numbers(data["lower"], "lower", len(values))
    upper = numbers(data["upper"], "upper", len(values))
    error = numbers([data["error"]], "error")[0]
    steps = np.stack([lower, upper], axis=1).ravel()
    expect(bool(lower[0] > 0 and (np.diff(steps) >= 0).all()), "cumulative weights decrease")
    expect(0 <= error <= 1, "error is not within 0 and 1")
    expect(upper[-1] <= MOST_WEIGHT, "the weights overflow")
    return Compressed(kind, values, lower, upper, float(error), **more)


def _intervals(kind: str, data: Any) -> Intervals:
    good = isinstance(data, dict) and set(data) == {"lower", "upper", "weights", "squares"}
    expect(good, "intervals of scores do not hold lower, upper, weights and squares")
    lower = numbers(data["lower"], "lower")
    upper = numbers(data["upper"], "upper", len(lower))
    w = weights_from_json(data["weights"], len(lower))
    squares = data["squares"]
    if squares is not None:
        (squares,) = numbers([squares], "squares").tolist()
        expect(squares >= 0, "squares is below 0")
    most = np.finfo(np.float64).max
    lower, upper = np.where(lower == -most, -np.inf, lower), np.where(upper == most, np.inf, upper)
    ordered = (lower <= upper) & (lower < most) & (upper > -most)
    expect(bool(ordered.all()), "an interval of scores ends before it begins")
    for ends in (lower, upper):
        _check_scores(ends[np.isfinite(ends)])
    return Intervals.of_rows(kind, lower, upper, w, squares)


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
    good = isinstance(data, list | np.ndarray) and len(data) > 0  # bytes hold arrays, JSON lists
    expect(good, f"{name} are not a list of numbers")
    expect(length is None or len(data) == length, f"{name} and values differ in length")
    if isinstance(data, list):
        expect(all(type(x) in (float, int) for x in data), f"{name} hold what is no number")
    try:
        numbers: FloatArray = np.asarray(data, dtype=np.float64)
    except OverflowError:
        raise InvalidMapError(f"{name} hold a number beyond float64") from None
    expect(bool(np.isfinite(numbers).all()), f"{name} hold a number beyond float64")
    return numbers


def score_numbers(data: Any, name: str, length: int | None = None) -> FloatArray:
    """Check a list or array of scores and return it as an array."""
    scores = numbers(data, name, length)
    _check_scores(scores)
    return scores


def _check_scores(scores: FloatArray) -> None:
    row = first_out_of_range(scores)
    if row is not None:
        raise InvalidMapError(score_fault(float(scores[row])).rstrip("."))


def weights_from_json(data: Any, length: int) -> FloatArray | None:
    """Check weights, which are None if all are 1, and return them."""
    if data is None:
        return None
    w = numbers(data, "weights", length)
    expect(bool((w > 0).all()), "a weight is not above 0")
    with np.errstate(over="ignore"):
        expect(bool(w.sum() <= MOST_WEIGHT), "the weights overflow")
    return w


def expect(holds: bool, otherwise: str) -> None:
    """Raise unless a condition holds; `otherwise` says what is wrong."""
    if not holds:
        raise InvalidMapError(otherwise)
