"""Folders that are written whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueline._files import (
    FileError,
    cannot_write,
    check_parent,
    followed,
    keep_status,
    sync,
    taken_meanwhile,
)
from trueline._messages import Option
from trueline._partial import partial_folder
from trueline.files._source import is_known

# For Linux's renameat2: paths are relative to the working folder, and both change places.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def whole_folder(path: Path, names: Collection[Path], *, force: bool) -> Iterator[Path]:
    """Make a folder of these files, which appears whole, at the end, or not at all.

    A folder or files that are replaced pass on their mode, and their owner where permitted. At any
    moment the name leads to the old or to the new folder on Linux; elsewhere there is a moment
    without either, and the next run puts the old one back if this one is killed there.
    """
    _check_folder(path, path, names, force=force)
    try:
        target = followed(path)
        with partial_folder(target) as temporary:
            new = temporary / "new"
            new.mkdir()
            yield new
            if target.is_dir():
                _check_folder(target, path, names, force=force)
                for name in (Path(), *names):
                    if (target / name).exists():
                        keep_status(new / name, (target / name).stat())
            for folder, _, _ in os.walk(new):
                sync(Path(folder))
            if target.is_dir():
                old = _swap(target, new, temporary / "old" / target.name)
                try:
                    # Others may have written to it until now, and cannot any longer.
                    _check_folder(old, path, names, force=force)
                except FileError:
                    _swap(target, old, temporary / "done")
                    raise
            else:
                _place(new, target, path)
            sync(target.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


def _place(new: Path, target: Path, shown: Path) -> None:
    """Give a folder its name; raise if the name is taken by a file or a folder with files."""
    try:
        new.rename(target)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        raise taken_meanwhile(shown, "folder") from None


def _swap(target: Path, new: Path, old: Path) -> Path:
    """Put a new folder in the place of another; return where that is now, ``new`` or ``old``."""
    if _exchanged(target, new):
        return new
    # `partial_folder` puts the old one back if the process fails or is killed between the steps.
    old.parent.mkdir(exist_ok=True)
    target.rename(old)
    new.rename(target)
    return old


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return whether the system can."""
    if sys.platform != "linux":
        return False
    try:
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an old C library
        return False
    names = os.fsencode(one), os.fsencode(other)
    if exchange(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):  # the file system cannot
        return False
    raise OSError(code, os.strerror(code))


def _check_folder(folder: Path, shown: Path, names: Collection[Path], *, force: bool) -> None:
    """Raise if a folder cannot be replaced by one of these files; messages call it ``shown``."""
    if folder.is_dir():
        for file in sorted(folder.rglob("*")):
            if file.is_symlink() or not file.is_dir():
                _check_file(file, file.relative_to(folder), shown, names, force=force)
    elif folder.exists() or is_known(folder):
        raise FileError(
            f"{shown} is the name of a file, but several files are written to a folder. Name a "
            f"folder with ",
            Option("out"),
            ".",
        )
    check_parent(folder)


def _check_file(
    file: Path, name: Path, shown: Path, names: Collection[Path], *, force: bool
) -> None:
    """Raise if a file may not be replaced."""
    if not force:
        raise FileError(
            f"{shown} is there already. Replace it with ",
            Option("force", True),
            ", or name another folder.",
        )
    if name not in names:
        raise FileError(
            f"{shown} holds {name}, which would be deleted; expected nothing but files that are "
            f"written anew. Delete it yourself, or name another folder."
        )
    if file.is_symlink():
        raise FileError(
            f"{shown} holds {name}, a link that a file would replace. Delete it yourself, or name "
            f"another folder."
        )
