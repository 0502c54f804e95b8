"""What is wrong with a file, said to the one who made it."""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType


class FileError(ValueError):
    """A file that cannot be read, understood or written.

    The message says what was found, where, and how to mend it.

    Examples
    --------
    >>> from trueline.scale import FileError, fit_file
    >>> try:
    ...     fit_file("nowhere.csv")
    ... except FileError as error:
    ...     print(error)
    there is no file nowhere.csv.
    """


# Options that name columns, which in Python are given together.
_COLUMNS = {"y", "mean", "std", "quantile_columns", "sample_columns"}
_COLUMNS |= {"kind", "group", "weight", "x"}
# One entry while a command is at work, for all of its threads.
_in_shell: list[None] = []


@contextmanager
def shell_words() -> Iterator[None]:
    """Name options in messages as on the command line, rather than as in Python."""
    _in_shell.append(None)
    try:
        yield
    finally:
        _in_shell.pop()


def option(name: str, value: str | bool | None = None) -> str:
    """Return how the one who reads a message gives an option, and this value if there is one.

    Examples
    --------
    >>> from trueline.scale._errors import option, shell_words
    >>> option("y", "net sales"), option("force", True), option("separator")
    ("Columns(y='net sales')", 'force=True', 'separator')
    >>> with shell_words():
    ...     option("y", "net sales"), option("force", True), option("separator")
    ("--y 'net sales'", '--force', '--separator')
    """
    if not _in_shell:
        if name in _COLUMNS:
            return f"Columns({name}={'...' if value is None else repr(value)})"
        return name if value is None else f"{name}={value!r}"
    flag = "-o" if name == "out" else "--" + name.replace("_", "-")
    if not isinstance(value, str):
        return flag
    # A comma needs no quotes, but would be lost in a sentence; a tab has a name.
    shown = {"\t": "tab", ",": "','"}.get(value) or shlex.quote(value)
    return f"{flag} {shown}"


def pyarrow() -> ModuleType:
    """Import pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            'files need pyarrow, which is not installed. Install it with: pip install "pyarrow>=16"'
        ) from None
    module: ModuleType = pyarrow
    return module


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a hint at the known name that is closest, or nothing."""
    names = list(known)
    same = [k for k in names if k.strip().lower() == name.strip().lower()]
    close = same or get_close_matches(name, names, n=1, cutoff=likeness)
    return f" Did you mean {close[0]!r}?" if close else ""


def count(n: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names: Iterable[str], most: int = 10) -> str:
    """Names with commas, the first few of many."""
    shown = list(names)
    rest = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


def cannot_write(path: os.PathLike[str], error: OSError) -> FileError:
    """Say why a file could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FileError(
            f"cannot write {path}: the disk is full. Nothing was left behind; make room, or write "
            f"to another disk."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FileError(
            f"cannot write {path}: the folder may not be written to. Name another with "
            f"{option('out')}."
        )
    said = str(error.strerror or error).rstrip(".")
    start = f"cannot write {path}: "
    return FileError(f"{start}{said.removeprefix(start)}.")


def reason(error: BaseException) -> str:
    """Return the first line of a library's message, without its full stop."""
    text: Any = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
