"""The name ``-``: standard input and output."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any, BinaryIO, cast

from trueline._files import FileError, check_writable
from trueline._messages import printable

_INPUT, _OUTPUT = "standard input", "standard output"


def is_standard(path: Path) -> bool:
    """Return whether a name stands for standard input or output."""
    return str(path) == "-"


def standard_input(example: str) -> BinaryIO:
    """Return standard input; raise if nobody writes to it."""
    if sys.stdin is None or sys.stdin.closed:
        raise FileError(
            f"- is {_INPUT}, which is closed; expected a pipe or a file, as in: ", example
        )
    if sys.stdin.isatty():
        raise FileError(
            f"- is {_INPUT}, which is this terminal; expected a pipe or a file, as in: ", example
        )
    return sys.stdin.buffer


def check_one_input(first: Path | None, second: Path) -> None:
    """Raise if two inputs should come from standard input."""
    if first is not None and is_standard(first) and is_standard(second):
        raise FileError(
            f"- is given twice, but {_INPUT} can be read only once. Name a file for one of them."
        )


def named_input(path: Path) -> str:
    """Return what messages call an input."""
    return _INPUT if is_standard(path) else str(path)


def named_output(path: Path) -> str:
    """Return what messages call an output."""
    return _OUTPUT if is_standard(path) else str(path)


def check_output(out: Path, *, force: bool, json: bool) -> None:
    """Raise before any work is done if a file cannot be written, or standard output is taken."""
    check_json(out, json=json)
    if not is_standard(out):
        check_writable(out, force=force)


def check_json(out: Path, *, json: bool) -> None:
    """Raise if the output and a description of it in JSON would be mixed."""
    if json and is_standard(out):
        raise FileError(
            f"-o - and --json both write to {_OUTPUT}; expected one of them. Name a file with -o, "
            f"or leave out --json."
        )


def standard_output() -> BinaryIO:
    """Return standard output for bytes; on a terminal, what it obeys becomes escape sequences."""
    sys.stdout.flush()
    return cast(BinaryIO, _Terminal()) if sys.stdout.isatty() else sys.stdout.buffer


def write_output(data: bytes) -> None:
    """Write bytes to standard output."""
    stream = standard_output()
    stream.write(data)
    stream.flush()


class _Terminal(io.RawIOBase):
    """Shows lines of UTF-8 on the terminal."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(printable(bytes(data).decode(errors="replace"), lines=True))
        return len(data)

    def flush(self) -> None:
        sys.stdout.flush()
