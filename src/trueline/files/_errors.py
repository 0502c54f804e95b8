"""What is wrong with a file, said to the one who made it."""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


class FileError(ValueError):
    """A file that cannot be read, understood or written.

    The message says what was found, where, and how to mend it.

    Examples
    --------
    >>> from trueline import files
    >>> try:
    ...     files.fit("nowhere.csv")
    ... except files.FileError as error:
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
    >>> from trueline.files._errors import option, shell_words
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
