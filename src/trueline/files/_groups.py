"""Groups as numbers: a column of names is never held as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._arrow import to_numpy
from trueline._files import FileError
from trueline.recalibration import Key

# More groups than this are rather the rows' own names.
MOST_GROUPS = 10_000

Codes = NDArray[np.int32]


class GroupCodes:
    """Gives each group a number, in the order in which they come.

    Parameters
    ----------
    names : sequence, optional
        Groups that are known already.
    """

    def __init__(self, names: Sequence[Key] = ()) -> None:
        self.names: list[Key] = list(names)
        self._code = {name: i for i, name in enumerate(self.names)}
        # A file may call a group "3" that another calls 3.
        self._as_text = bool(names) and all(isinstance(name, str) for name in names)
        self._as_number = bool(names) and not any(isinstance(name, str) for name in names)

    def encode(self, column: Any, where: str) -> Codes:
        """Return the number of each row's group; `where` names the column in a message."""
        encoded = column.dictionary_encode()
        return self.add(encoded.dictionary.to_pylist(), where)[to_numpy(encoded.indices)]

    def add(self, names: Sequence[Any], where: str) -> Codes:
        """Return the number of each group, which is a new one where it is not known."""
        codes = [self._code_of(self.alike(name)) for name in names]
        if len(self.names) > MOST_GROUPS:
            raise FileError(
                f"{where} holds more than {MOST_GROUPS:,} groups; expected fewer. Is it a name of "
                f"each row rather than of a group?"
            )
        return np.asarray(codes, dtype=np.int32)

    def _code_of(self, name: Key) -> int:
        code = self._code.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def alike(self, name: Any) -> Any:
        """Return a name as the known ones are written."""
        if self._as_text and not isinstance(name, str):
            return str(int(name)) if float(name).is_integer() else str(name)
        if self._as_number and isinstance(name, str):
            try:
                number = float(name)
            except ValueError:
                return name
            return int(number) if number.is_integer() else number
        return name
