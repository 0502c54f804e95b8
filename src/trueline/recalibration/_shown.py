"""How recalibrators are shown: as text, and as a table in a notebook."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any

from trueline._html import table, tag
from trueline._messages import count


def constructor_call(made: object) -> str:
    """Return the constructor call, with the parameters that are not at their defaults."""
    shown = [
        f"{name}={getattr(made, name)!r}"
        for name, parameter in inspect.signature(type(made)).parameters.items()
        if repr(getattr(made, name)) != repr(parameter.default)
    ]
    return f"{type(made).__name__}({', '.join(shown)})"


def fit_in_words(rows: float | None, groups: int | None = None) -> str:
    """Return what a map was fitted on, as far as it is known.

    >>> from trueline.recalibration._shown import fit_in_words
    >>> fit_in_words(1000.0, 2)
    'fitted on 1,000 rows in 2 groups'
    """
    if rows is None:
        return "fitted"
    where = "" if groups is None else f" in {count(groups, 'group')}"
    return f"fitted on {count(round(rows), 'row')}{where}"


class Shown(ABC):
    """How a recalibrator is shown; before ``fit`` as scikit-learn shows its estimators."""

    @abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""

    @abstractmethod
    def _is_fitted(self) -> bool: ...

    def _rows_learned(self) -> float | None:
        """Return the number of rows of the fit without computing anything, None if not known."""
        return None

    def _fit_in_words(self) -> str:
        """Return what the map was fitted on, as far as it is known."""
        return fit_in_words(self._rows_learned())

    def _call(self) -> str:
        """Return the constructor call, as text."""
        return constructor_call(self)

    def __repr__(self) -> str:
        call = self._call()
        return f"{call}, {self._fit_in_words()}" if self._is_fitted() else call

    def _repr_html_(self) -> str:
        """Return the parameters and what the map was fitted on, for notebooks."""
        cells = [(name, repr(value)) for name, value in self.get_params(deep=False).items()]
        state = self._fit_in_words() if self._is_fitted() else "not fitted"
        shown = table(["parameter", "value"], cells, type(self).__name__)
        return tag("div", shown, tag("p", state))
