"""Maps as JSON or bytes: exact, checked on the way in, and nothing in them is ever executed."""

from __future__ import annotations

import json
import os
import reprlib
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from trueline._files import whole_file, write_text
from trueline._messages import InputError, Option
from trueline._validation import FloatArray
from trueline.recalibration._abstract import Key, Recalibrator
from trueline.recalibration._binary import MAGIC, decode, encode
from trueline.recalibration._scores import KINDS, Compressed, Exact, Scores, round_scores

FORMAT = "trueline-recalibrator"
VERSION = 1

Classes = dict[str, type[Recalibrator]]


def dump(recalibrator: Recalibrator, path: str | os.PathLike[str] | None) -> str:
    """Write a fitted recalibrator; see `Recalibrator.to_json`."""
    # Python writes the shortest digits that read back as the same float64.
    text = json.dumps(_document(recalibrator), allow_nan=False, default=_listed)
    if path is not None:
        write_text(Path(path), text)
    return text


def dump_bytes(recalibrator: Recalibrator, path: str | os.PathLike[str] | None = None) -> bytes:
    """Write a fitted recalibrator as bytes; see `Recalibrator.to_bytes`."""
    data = encode(_document(recalibrator))
    if path is not None:
        with whole_file(Path(path)) as file:
            file.write(data)
    return data


def _document(recalibrator: Recalibrator) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "recalibrator": describe(recalibrator),
        "state": recalibrator._state(),
    }


def _listed(array: Any) -> Any:
    return array.tolist()


def read(path: str | os.PathLike[str] | bytes, max_bytes: int, classes: Classes) -> Recalibrator:
    """Read a map of one of these classes; see `trueline.load`."""
    if isinstance(path, bytes | bytearray | memoryview):
        name, data, writer = "the input", bytes(path), "to_bytes"
    else:
        name, data = _read(path, max_bytes)
        writer = "to_json"
    try:
        if data.startswith(MAGIC):
            return _restore(decode(data, _parse, _expect, max_bytes), classes)
        if writer == "to_bytes":
            json_text = data.lstrip().startswith(b"{")
            _expect(json_text, "it does not start as such bytes do" if data else "it is empty")
        return _restore(_parse(data), classes)
    except _InvalidMapError as error:
        fault = str(error)
    except RecursionError:
        fault = "it is nested too deeply"
    raise InputError(
        f"{name} is not a valid trueline map: {fault}. Write it again with ", Option(writer), "."
    )


def _read(path: str | os.PathLike[str], max_bytes: int) -> tuple[str, bytes]:
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
        return str(file), stream.read(max_bytes)


class _InvalidMapError(Exception):
    """What is wrong with a document."""


def _parse(data: bytes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise _InvalidMapError("a key stands twice")
        return found

    def refuse(constant: str) -> Any:
        raise _InvalidMapError(f"it holds {constant}")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except UnicodeDecodeError:
        raise _InvalidMapError("it is not UTF-8 text") from None
    except ValueError as error:
        raise _InvalidMapError(f"it is not JSON ({error})") from None


def _restore(document: Any, classes: Classes) -> Recalibrator:
    _expect(isinstance(document, dict), "the outermost value is not an object")
    _expect(document.get("format") == FORMAT, f"its format is not {FORMAT!r}")
    version = document.get("version")
    _expect(
        type(version) is int and version == VERSION,
        f"its version is {reprlib.repr(version)} and this release reads {VERSION}",
    )
    _expect(
        set(document) == {"format", "version", "recalibrator", "state"},
        "it must hold format, version, recalibrator and state, and nothing else",
    )
    recalibrator = _build(document["recalibrator"], classes)
    state = document["state"]
    _expect(isinstance(state, dict), "it has no state")
    names = recalibrator._state_fields
    _expect(set(state) == names, f"its state must hold {sorted(names)}")
    recalibrator._set_state(state)
    return recalibrator


def describe(recalibrator: Recalibrator) -> dict[str, Any]:
    """Class and parameters, nested recalibrators included."""

    def plain(value: Any) -> Any:
        if isinstance(value, Recalibrator):
            return describe(value)
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    params = recalibrator.get_params(deep=False)
    return {
        "class": type(recalibrator).__name__,
        "params": {name: plain(value) for name, value in params.items()},
    }


def _build(description: Any, classes: Classes, depth: int = 0) -> Recalibrator:
    """Make an unfitted recalibrator from its checked description."""
    _expect(
        isinstance(description, dict) and set(description) == {"class", "params"} and depth < 4,
        "a recalibrator is not described by its class and params",
    )
    name, params = description["class"], description["params"]
    _expect(
        isinstance(name, str) and name in classes,
        f"its class is {reprlib.repr(name)}, expected one of {sorted(classes)}",
    )
    cls = classes[name]
    _expect(
        isinstance(params, dict) and set(params) == set(cls._param_names()),
        f"the params of {name} must be {cls._param_names()}",
    )

    def rich(value: Any) -> Any:
        if isinstance(value, dict):
            return _build(value, classes, depth + 1)
        if isinstance(value, list):
            return [rich(item) for item in value]
        return value

    recalibrator = cls(**{key: rich(value) for key, value in params.items()})
    try:
        recalibrator._check_params()
    except (TypeError, ValueError) as error:
        raise _InvalidMapError(textwrap.shorten(str(error).rstrip("."), 200)) from None
    return recalibrator


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
    _expect(
        isinstance(kind, str) and kind in KINDS,
        f"the kind of score is {reprlib.repr(kind)}, not one of {tuple(KINDS)}",
    )
    return str(kind)


def scores_from_json(data: Any) -> Scores:
    """Check scores from JSON types, wholly, and return them."""
    _expect(isinstance(data, dict), "scores are not an object")
    kind = check_kind_of_score(data.get("kind"))
    values = _numbers(data.get("values"), "values")
    _expect(bool((np.diff(values) > 0).all()), "values do not increase")
    rounded = data.get("rounded", False)
    fields = set(data) - {"rounded"}
    if "rounded" in data:
        _expect(rounded is True, "rounded is not true")
        _expect(bool((round_scores(values) == values).all()), "its values are not rounded")
    if fields == {"kind", "values", "weights"}:
        if data["weights"] is None:
            return Exact(kind, values, None, rounded=rounded)
        w = _numbers(data["weights"], "weights", len(values))
        _expect(bool((w > 0).all()), "a weight is not above 0")
        with np.errstate(over="ignore"):
            _expect(bool(np.isfinite(w.sum())), "the weights overflow")
        return Exact(kind, values, w, rounded=rounded)
    _expect(
        fields == {"kind", "values", "lower", "upper", "error"}, "scores hold unexpected fields"
    )
    lower = _numbers(data["lower"], "lower", len(values))
    upper = _numbers(data["upper"], "upper", len(values))
    error = _numbers([data["error"]], "error")[0]
    steps = np.stack([lower, upper], axis=1).ravel()
    _expect(bool(lower[0] > 0 and (np.diff(steps) >= 0).all()), "cumulative weights decrease")
    _expect(0 <= error <= 1, "error is not within 0 and 1")
    return Compressed(kind, values, lower, upper, float(error), rounded=rounded)


def groups_from_json(data: Any, kind: str) -> dict[Key, Scores]:
    """Check the scores of groups, all of this kind, from JSON types and return them."""
    _expect(isinstance(data, list) and len(data) > 0, "groups are not a list")
    found: dict[Key, Scores] = {}
    for pair in data:
        _expect(isinstance(pair, list) and len(pair) == 2, "a group is not a name and its scores")
        key = pair[0]
        _expect(
            isinstance(key, str | int) or (isinstance(key, float) and bool(np.isfinite(key))),
            f"the name of a group is {reprlib.repr(key)}",
        )
        _expect(key not in found, f"group {reprlib.repr(key)} stands twice")
        scores = scores_from_json(pair[1])
        _expect(scores.kind == kind, "the kind of score differs between groups")
        found[key] = scores
    return found


def _numbers(data: Any, name: str, length: int | None = None) -> FloatArray:
    if isinstance(data, np.ndarray):  # from bytes
        _expect(len(data) > 0, f"{name} are not a list of numbers")
        _expect(length is None or len(data) == length, f"{name} and values differ in length")
        _expect(bool(np.isfinite(data).all()), f"{name} hold a number beyond float64")
        return data
    _expect(isinstance(data, list) and len(data) > 0, f"{name} are not a list of numbers")
    _expect(length is None or len(data) == length, f"{name} and values differ in length")
    _expect(all(type(x) is float or type(x) is int for x in data), f"{name} hold what is no number")
    try:
        numbers = np.array(data, dtype=np.float64)
    except OverflowError:
        raise _InvalidMapError(f"{name} hold a number beyond float64") from None
    _expect(bool(np.isfinite(numbers).all()), f"{name} hold a number beyond float64")
    return numbers


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _InvalidMapError(otherwise)
