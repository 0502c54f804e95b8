"""Folders of files, read as one: in the order of their names, subfolders included."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import has_magic, iglob
from itertools import takewhile
from pathlib import Path
from typing import TypeGuard
from urllib.parse import unquote

from trueline._files import FileError
from trueline._messages import listed
from trueline.files._formats import open_file
from trueline.files._source import File, Source, known_ending, rows_of_piece

# A path, a pattern or several of them.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Hive's name for a missing value.
_MISSING = "__HIVE_DEFAULT_PARTITION__"


class Folder(Source):
    """Files that are read one after the other.

    Parameters
    ----------
    path : Path
        Their name in messages.
    files : sequence of File
    empty : sequence of File, optional
        Files without rows, which are not read.
    given : sequence of Path, optional
        The folders, patterns and files that the user gave.
    """

    def __init__(
        self,
        path: Path,
        files: Sequence[File],
        empty: Sequence[File] = (),
        given: Sequence[Path] = (),
    ) -> None:
        super().__init__(path)
        self._files = files
        self.empty = empty
        self._given = given
        first = files[0]
        self.names, self.metadata = first.names, first.metadata
        self.typed, self.decimal = first.typed, first.decimal
        rows = [file.n_rows for file in files]
        self.n_rows = None if None in rows else sum(row for row in rows if row is not None)

    @property
    def files(self) -> Sequence[File]:
        return self._files

    def size(self) -> float:
        return sum(file.size() for file in self._files)

    def pieces(self) -> Sequence[Source]:
        found: list[Source] = []
        waiting: list[File] = []
        held, enough = 0.0, rows_of_piece(self.size())
        for piece in (one for file in self._files for part in file.pieces() for one in part.files):
            waiting.append(piece)
            held += piece.size()
            if held >= enough:
                found.append(Folder(self.path, waiting))
                waiting, held = [], 0.0
        if waiting:
            found.append(Folder(self.path, waiting))
        return found

    def reads(self, path: Path) -> bool:
        """Return whether a file that is written there would be read the next time."""
        path = path.resolve()
        for given in (pattern.resolve() for pattern in self._given):
            plain = list(takewhile(lambda part: not has_magic(part), given.parts))
            whole = Path(*plain) if "**" in given.parts else given
            if whole in (path, *path.parents) or path.match(str(given)):
                return True
        return False

    def share(self) -> float:
        return sum(f.share() * f.size() for f in self._files if f.rows) / max(self.size(), 1.0)


def open_source(path: Paths, separator: str | None = None, decimal: str | None = None) -> Source:
    """Open a file, or all files of a folder; headers are read and checked.

    See `trueline.files.fit` for the parameters. Text files may be compressed: ``.csv.gz``,
    ``.bz2``, ``.zst``. Files without rows are not read.
    """
    if isinstance(path, str | os.PathLike):
        several = [path]
    elif isinstance(path, Sequence) and all(isinstance(p, str | os.PathLike) for p in path):
        several = list(path)
    else:
        raise TypeError(
            f"path is {path!r}; expected the name of a file or folder, a pattern or a list of "
            f"these. A recalibrator comes first to apply, and last to fit or evaluate."
        )
    if is_file(path):
        return open_file(Path(path), separator, decimal)
    files: list[File] = []
    for given in several:
        for file, within in _found(Path(given)):
            source = open_file(file, separator, decimal)
            source.within = within
            source.fixed = _fixed(source)
            source.names += tuple(source.fixed)
            files.append(source)
    whole = _name_of(several)
    if not files:
        raise FileError(
            f"{whole} holds no files of forecasts; expected files that end in .parquet, .csv, "
            f".tsv, .arrow or .feather, in it or in its subfolders."
        )
    _check_endings(whole, files)
    read = [file for file in files if file.n_rows != 0] or files[:1]
    empty = [file for file in files if file not in read]
    return Folder(whole, read, empty, [Path(given) for given in several])


def is_file(path: Paths) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether it names one file, rather than a folder, a pattern or several."""
    if not isinstance(path, str | os.PathLike):
        return False
    return not Path(path).is_dir() and (os.path.lexists(path) or not has_magic(os.fspath(path)))


def _found(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of a folder or a pattern, in order, each with its path within it."""
    if path.is_dir():
        for file in _walk(path):
            yield file, file.relative_to(path)
    elif is_file(path):
        yield path, Path(path.name)
    else:
        for name in sorted(iglob(os.fspath(path), recursive=True)):  # noqa: PTH207  # may start at a root
            if not Path(name).is_dir():
                yield Path(name), Path(Path(name).name)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders by name, without hidden ones."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"cannot read {folder}: {error.strerror}.") from None
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield entry


def _fixed(source: Source) -> dict[str, str | None]:
    """Return the columns in the names of a file's folders: region=north/day=1/part.parquet."""
    found: dict[str, str | None] = {}
    for name in source.within.parts[:-1]:
        key, equals, value = name.partition("=")
        if not equals:
            continue
        if key in source.names or key in found:
            raise FileError(
                f"{source.path} has a column {key!r}, which the name of its folder gives as well; "
                f"expected one of them. Drop the column or rename the folder."
            )
        found[key] = None if value == _MISSING else unquote(value)
    return found


def _name_of(several: Sequence[str | os.PathLike[str]]) -> Path:
    """Return a name for all files: the path that was given, or their common folder."""
    if len(several) == 1:
        return Path(several[0])
    if not several:
        raise FileError("no file was given; expected at least one.")
    try:
        return Path(os.path.commonpath([Path(path).parent for path in several]))
    except ValueError:  # on several drives
        return Path(several[0])


def _check_endings(whole: Path, files: Sequence[Source]) -> None:
    first = files[0]
    for file in files:
        if known_ending(file.path)[0] != known_ending(first.path)[0]:
            raise FileError(
                f"{whole} holds files of several formats, such as "
                f"{listed(str(f.within) for f in (first, file))}; expected one. Name those of one "
                f"format with a pattern: '{whole / ('*' + first.path.suffix)}'."
            )
