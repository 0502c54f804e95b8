"""How forecasts are shown: on one line, and as a table of their first rows in a notebook."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from trueline._html import table, tag
from trueline._messages import count
from trueline._validation import FloatArray, Rows
from trueline.laws import Law

_FIRST = 5
_COVERAGE = np.array(0.9)
# What a method of a user's own class may raise for an unusual row.
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class Forecast(Protocol):
    """What is shown of a forecast."""

    _labels: Any

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Forecast: ...
    def _mean(self) -> FloatArray: ...
    def _var(self) -> FloatArray: ...
    def _ppf(self, q: FloatArray) -> FloatArray: ...
    def _interval(self, coverage: FloatArray) -> tuple[FloatArray, FloatArray]: ...
    def _learned_laws(self) -> list[Law]: ...
    @property
    def _name(self) -> str: ...
    @property
    def _atoms(self) -> object: ...


def described(forecast: Forecast) -> str:
    """Return the kind of forecast, its number of rows, and what it was recalibrated by."""
    atoms = "" if forecast._atoms is None else " with atoms"
    shown = f"{forecast._name}({count(len(forecast), 'row')}){atoms}"
    laws = forecast._learned_laws()
    if not laws:
        return shown
    law, *others = laws
    by = law.made_by and f" by {law.made_by}"
    # Rows of several maps, such as those of groups, are not one number.
    known = law.n_fit if not others else None
    on = "" if known is None else f" on {count(round(known), 'row')}"
    return f"{shown}, recalibrated{by}{on}"


def as_html(forecast: Forecast) -> str:
    """Return a table of the first rows: mean, median, standard deviation and 90% interval."""
    n = len(forecast)
    first = np.arange(min(n, _FIRST))
    part = forecast._take(first)
    found: dict[str, Callable[[], FloatArray]] = {
        "mean": part._mean,
        "median": lambda: part._ppf(np.array([[0.5]]))[:, 0],
        "std": lambda: np.sqrt(part._var()),
        "lower end of 90%": lambda: part._interval(_COVERAGE)[0],
        "upper end of 90%": lambda: part._interval(_COVERAGE)[1],
    }
    columns = [_texts(values, len(first)) for values in found.values()]
    labels = forecast._labels
    names = first if labels is None or len(labels) != n else labels[: len(first)]
    cells = list(zip(names, *columns, strict=True))
    shown = table(["row", *found], cells, described(forecast))
    more = n - len(first)
    rest = [tag("p", f"and {count(more, 'more row')}")] if more else []
    return tag("div", shown, *rest, style="overflow-x: auto")


def _texts(values: Callable[[], FloatArray], n: int) -> list[str]:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [f"{value:.4g}" for value in values()]
    except _FAILURES:
        return ["?"] * n
