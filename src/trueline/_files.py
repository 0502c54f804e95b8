"""Files that are written whole or not at all, and errors about files."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trueline._messages import InputError, Option

# The remedy where the reason is none of the usual ones.
_REMEDY = "Name a folder that is there, can be written to and has room"


class FileError(InputError):
    """A file that cannot be read, understood or written.

    The message says what was found, where, and how to fix it.

    Examples
    --------
    >>> from trueline import files
    >>> try:
    ...     files.fit("nowhere.csv")
    ... except files.FileError as error:
    ...     print(error)
    there is no file nowhere.csv.
    """


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the same folder; rename it at the end, remove it if that fails."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            # mkstemp makes files private; give the mode that a plain open would have.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        if error.errno is None:
            raise
        message = f"cannot write {path}: {error.strerror}. {_REMEDY}"
        raise OSError(error.errno, message) from None


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def check_writable(path: Path, *, force: bool) -> None:
    """Raise before any work is done if a file cannot be written."""
    if path.is_dir():
        raise FileError(f"{path} is a folder; expected the name of a file to write.")
    if path.parent.is_dir() and path.exists() and not force:
        raise FileError(
            f"{path} is there already. Replace it with ",
            Option("force", True),
            ", or name another file.",
        )
    check_parent(path)


def check_parent(path: Path) -> None:
    """Raise if nothing can be written to the folder that a path is in."""
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}. Make it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise _not_allowed(path)


def cannot_write(path: Path, error: OSError) -> FileError:
    """Return the error that says why a file could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FileError(
            f"cannot write {path}: the disk is full. Nothing was left behind; make room, or write "
            f"to another disk."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return _not_allowed(path)
    if error.errno is None:
        return FileError(f"cannot write {path}: {str(error).rstrip('.')}.")
    return FileError(f"cannot write {path}: {os.strerror(error.errno)}. {_REMEDY}.")


def _not_allowed(path: Path) -> FileError:
    return FileError(
        f"cannot write {path}: the folder may not be written to. Name another with ",
        Option("out"),
        ".",
    )
