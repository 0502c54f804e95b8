"""What is wrong with a file, said to the one who made it."""

from __future__ import annotations

import errno
import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType


class FileError(ValueError):
    """A file that cannot be read, understood or written.

    The message says what was found, where, and how to mend it. Where that takes an option it is
    named as on the command line: ``--quantile-columns`` is ``Columns(quantile_columns=...)``.

    Examples
    --------
    >>> from trueline.scale import FileError, fit_file
    >>> try:
    ...     fit_file("nowhere.csv")
    ... except FileError as error:
    ...     print(error)
    there is no file nowhere.csv.
    """


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
            f"cannot write {path}: the folder may not be written to. Name another with -o."
        )
    said = str(error.strerror or error).rstrip(".")
    start = f"cannot write {path}: "
    return FileError(f"{start}{said.removeprefix(start)}.")


def reason(error: BaseException) -> str:
    """Return the first line of a library's message, without its full stop."""
    text: Any = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
