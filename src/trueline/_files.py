"""Files that are written whole or not at all, and errors about files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import IO

from trueline._messages import InputError, Option, printable
from trueline._partial import partial_file

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
def whole_file(path: Path, *, force: bool = True) -> Iterator[IO[bytes]]:
    """Open a file that appears whole, at the end, or not at all.

    A link stays a link, and its target is written. A file that is replaced passes on its mode, and
    its owner where that is permitted. A device or a pipe is written to directly.

    Parameters
    ----------
    path : Path
    force : bool, default True
        Whether to replace a file that is there at the end.
    """
    try:
        target = followed(path)
        status = _status(target)
        if status is not None and not (S_ISREG(status.st_mode) or S_ISDIR(status.st_mode)):
            with target.open("wb") as file:
                yield file
            return
        with partial_file(target, 0o666 if status is None else 0o600) as (file, temporary):
            yield file
            file.flush()
            replaced = _status(target)
            if replaced is not None:
                keep_status(file.fileno(), replaced)
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # Windows does not rename open files
            if force:
                temporary.replace(target)
            else:
                _place(temporary, target, path)
            sync(target.parent)
    except OSError as error:
        if error.errno is None:
            raise
        message = f"cannot write {printable(path)}: {error.strerror}. {_REMEDY}"
        raise OSError(error.errno, message) from None


def _place(temporary: Path, target: Path, shown: Path) -> None:
    """Give a file its name; raise if the name is taken."""
    try:
        try:
            target.hardlink_to(temporary)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            temporary.replace(target)
    except FileExistsError:
        raise taken_meanwhile(shown, "file") from None


def taken_meanwhile(path: Path, noun: str) -> FileError:
    """Return the error that a name was free when the work began, and is not at its end."""
    return FileError(
        f"{path} was written by something else meanwhile, and is left as it is. Replace it with ",
        Option("force", True),
        f", or name another {noun}.",
    )


def followed(path: Path) -> Path:
    """Return the path that a link leads to, or the path itself."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def keep_status(file: int | Path, status: os.stat_result) -> None:
    """Give a file or folder the mode of another, and the owner and group where permitted."""
    mode = S_IMODE(status.st_mode) & 0o777
    if hasattr(os, "chown"):  # Windows has none
        try:
            os.chown(file, status.st_uid, status.st_gid)
        except OSError:
            try:
                os.chown(file, -1, status.st_gid)
            except OSError:  # the bits of a group that it does not belong to must not open it
                mode &= ~0o070 | mode << 3
    os.chmod(file, mode)  # noqa: PTH101  # it may be the number of an open file


def sync(folder: Path) -> None:
    """Write a folder to the disk, so that the names in it survive a loss of power."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and a folder may be closed to readers
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def write_text(path: Path, text: str, *, force: bool = True) -> None:
    """Write a text, whole or not at all; see `whole_file`."""
    write_bytes(path, text.encode("utf-8"), force=force)


def write_bytes(path: Path, data: bytes, *, force: bool = True) -> None:
    """Write bytes, whole or not at all; see `whole_file`."""
    with whole_file(path, force=force) as file:
        file.write(data)


def check_writable(path: Path, *, force: bool) -> None:
    """Raise before any work is done if a file cannot be written."""
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; expected the name of a file to write.")
        if path.exists() and not force:
            raise FileError(
                f"{path} is there already. Replace it with ",
                Option("force", True),
                ", or name another file.",
            )
        check_parent(path)
    except OSError as error:
        raise cannot_write(path, error) from None


def check_parent(path: Path) -> None:
    """Raise if nothing can be written to the folder that a path, or what it links to, is in."""
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {folder}. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
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
