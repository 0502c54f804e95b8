"""Groups as integer codes, so that a column of names is never held as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._arrow import to_numpy
from trueline._files import FileError
from trueline.recalibration import Key

# A column with more groups than this probably names rows.
MOST_GROUPS = 10_000

Codes = NDArray[np.int32]


class GroupCodes:
    """Gives each group an integer code, in the order in which they come.

    Parameters
    ----------
    names : sequence, optional
        Groups that are known already.
    where : str, default "the column of groups"
        What messages call the column.

    Examples
    --------
    >>> from trueline.files import GroupCodes
    >>> codes = GroupCodes(["north"])
    >>> codes.add(["south", "north"]), codes.names
    (array([1, 0], dtype=int32), ['north', 'south'])
    """

    def __init__(self, names: Sequence[Key] = (), where: str = "the column of groups") -> None:
        self.where = where
        self.names: list[Key] = list(names)
        self._code = {name: i for i, name in enumerate(self.names)}
        # A file may call a group "3" that another calls 3.
        self._as_text = bool(names) and all(isinstance(name, str) for name in names)
        self._as_number = bool(names) and not any(isinstance(name, str) for name in names)

    def encode(self, column: Any) -> Codes:
        """Return the code of each row's group, from an Arrow array of names."""
        encoded = column.dictionary_encode()
        return self.add(encoded.dictionary.to_pylist())[to_numpy(encoded.indices)]

    def add(self, names: Sequence[Any]) -> Codes:
        """Return the code of each group; an unknown group gets a new code."""
        codes = [self._code_of(self.alike(name)) for name in names]
        if len(self.names) > MOST_GROUPS:
            raise FileError(
                f"{self.where} holds more than {MOST_GROUPS:,} groups; expected fewer. Is it a "
                f"name of each row rather than of a group?"
            )
        return np.asarray(codes, dtype=np.int32)

    def _code_of(self, name: Key) -> int:
        code = self._code.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def alike(self, name: Any) -> Any:
        """Return a name in the type of the known names."""
        if self._as_text and not isinstance(name, str):
            return str(int(name)) if float(name).is_integer() else str(name)
        if self._as_number and isinstance(name, str):
            try:
                number = float(name)
            except ValueError:
                return name
            return int(number) if number.is_integer() else number
        return name
