"""Limits of files that are read, which are checked before much memory is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueline._files import FileError

# Columns of a file.
MOST_COLUMNS = 100_000
# Characters of the name of a column.
_LONGEST_NAME = 1_000
# Characters of a row of text.
LONGEST_ROW = 1 << 24
# Blank lines of text one after the other.
MOST_BLANK = 1_000_000
# Compressed data may unpack to this number of bytes, and beyond to this multiple of its size.
_SMALL = 1 << 28
_MOST_RATIO = 200


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise if a file has too many columns, a name is too long, or two are the same."""
    if len(names) > MOST_COLUMNS:
        raise too_many_columns(path)
    seen: set[str] = set()
    for name in names:
        if len(name) > _LONGEST_NAME:
            raise FileError(
                f"{path} has a column whose name has {len(name):,} characters, and starts with "
                f"{name[:20]!r}; expected at most {_LONGEST_NAME:,}. Is its first line the names "
                f"of the columns?"
            )
        if name in seen:
            raise FileError(
                f"{path} has two columns named {name!r}; expected every name once. Rename one."
            )
        seen.add(name)


def too_many_columns(path: Path) -> FileError:
    """Return the error that a file has too many columns."""
    return FileError(
        f"{path} has more than {MOST_COLUMNS:,} columns, the limit of files. Keep fewer draws, or "
        f"write quantiles of them."
    )


def check_ratio(path: Path, packed: int, unpacked: int, remedy: str) -> None:
    """Raise if data unpacks to far more than forecasts do.

    Parameters
    ----------
    path : Path
    packed, unpacked : int
        Numbers of bytes, which may be those so far.
    remedy : str
        What the user can do, such as "unpack it first".
    """
    if unpacked > max(_SMALL, _MOST_RATIO * packed):
        raise FileError(
            f"{path} unpacks to more than {_MOST_RATIO} times its size, the limit of compressed "
            f"files. If it is what you expect, {remedy}."
        )
