"""Read stored maps. Everything in them is checked, and nothing is executed."""

from __future__ import annotations

import os
import reprlib
import textwrap
from pathlib import Path
from typing import Any

from trueline._messages import InputError, Option
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._binary import MAGIC, decode
from trueline.recalibration._document import FORMAT, VERSION, InvalidMapError, expect, parse

Classes = dict[str, type[Recalibrator]]


def read(path: str | os.PathLike[str] | bytes, max_bytes: int, classes: Classes) -> Recalibrator:
    """Read a map of one of these classes; see `trueline.load`."""
    if isinstance(path, bytes | bytearray | memoryview):
        name, data, writer = "the input", bytes(path), "to_bytes"
    else:
        name, data = _read(path, max_bytes)
        writer = "to_json"
    try:
        if data.startswith(MAGIC):
            return _restore(decode(data, parse, expect, max_bytes), classes)
        if writer == "to_bytes":
            json_text = data.lstrip().startswith(b"{")
            expect(json_text, "it does not start as such bytes do" if data else "it is empty")
        return _restore(parse(data), classes)
    except InvalidMapError as error:
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
    expect(set(state) == names, f"its state must hold {sorted(names)}")
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
