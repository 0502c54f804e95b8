"""Partial output: hidden files and folders beside the output, until that is complete.

Each is locked by the process that writes it. One that is not locked was left by a run that was
killed, and the next run that writes to the same folder removes it.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import stat
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from trueline._messages import Worded

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# The start of the target's name, a number for the host, and a random number.
_NAME = re.compile(r"\..*\.trueline-([0-9a-f]{8})-[0-9a-f]{16}\.tmp", re.DOTALL)
_LONGEST = 50
# Seconds after which a partial file of another host is taken for a leftover, because locks need not
# reach across hosts.
_OLD = 86_400.0
# Folders that this process has searched for leftovers.
_searched: set[Path] = set()


class LeftoverWarning(Worded, UserWarning):
    """Partial output of a run that was killed has been removed."""


@contextmanager
def partial_file(target: Path, mode: int) -> Iterator[tuple[IO[bytes], Path]]:
    """Open a hidden file beside the target; at the end it is removed, unless it was renamed.

    Parameters
    ----------
    target : Path
    mode : int
        Permissions of the new file, from which the umask takes some away.
    """
    _remove_leftovers(target.parent)
    while True:
        path = _name(target)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags, mode)
        if _lock(handle) is not False and os.fstat(handle).st_nlink:
            break
        os.close(handle)  # another process took it for a leftover before it was locked
    try:
        with os.fdopen(handle, "wb") as file:
            yield file, path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside the target, which is removed at the end.

    A folder in its subfolder ``old`` was moved aside; it goes back if nothing is in its place.
    """
    _remove_leftovers(target.parent)
    while True:
        path = _name(target)
        path.mkdir(mode=0o700)
        # Windows opens no folders, and has no locks either.
        handle = None if fcntl is None else os.open(path, os.O_RDONLY)
        if handle is None or (_lock(handle) is not False and os.fstat(handle).st_nlink):
            break
        os.close(handle)
    try:
        yield path
    finally:
        try:
            _remove_folder(path)
        except KeyboardInterrupt:  # it came meanwhile
            _remove_folder(path)
            raise
        finally:
            if handle is not None:
                os.close(handle)


def _name(target: Path) -> Path:
    start = f".{target.name[:_LONGEST]}.trueline-{_host()}"
    return target.with_name(f"{start}-{secrets.token_hex(8)}.tmp")


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _lock(handle: int) -> bool | None:
    """Lock a file or folder while it is open; return False if it is locked, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed runs left in a folder, and warn; each process searches a folder once."""
    if folder in _searched:
        return
    _searched.add(folder)
    try:
        names = os.listdir(folder)  # noqa: PTH208  # names are enough
    except OSError:  # a folder that may be written to need not be readable
        return
    for name in names:
        known = _NAME.fullmatch(name)
        if known is not None:
            # What another run removes meanwhile, or may not be removed, is left to others.
            with suppress(OSError):
                _remove_if_left(folder / name, same_host=known[1] == _host())


def _remove_if_left(path: Path, *, same_host: bool) -> None:
    # A link, which we do not make, is not followed; a pipe is not waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    try:
        status, locked = os.fstat(handle), _lock(handle)
        old = time.time() - status.st_mtime > _OLD
        if locked is False or not (old or (locked and same_host)):
            return
        if stat.S_ISDIR(status.st_mode):
            for restored in _remove_folder(path):
                _warn(f"{restored} is back in its place: a run that was killed had moved it aside.")
        elif stat.S_ISREG(status.st_mode):
            path.unlink()
        else:
            return
    finally:
        os.close(handle)
    size = f" ({status.st_size / 1e6:,.1f} MB)" if stat.S_ISREG(status.st_mode) else ""
    _warn(f"removed {path}{size}, which a run that was killed had left behind.")


def _warn(text: str) -> None:
    warnings.warn(LeftoverWarning(text), stacklevel=2)


def _remove_folder(path: Path) -> list[Path]:
    """Remove a partial folder; put back and return what it had moved aside."""
    restored: list[Path] = []
    # Where the new folder has left, it is in its place.
    if (path / "new").exists():
        for old in (path / "old").glob("*"):
            home = path.parent / old.name
            if os.path.lexists(home):
                return restored  # nothing is deleted, because neither may be
            old.rename(home)
            restored.append(home)
    shutil.rmtree(path, ignore_errors=True)
    return restored
