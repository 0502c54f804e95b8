"""A fitted map as one SQL expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from trueline._validation import FloatArray, check_max_knots, level as checked_level
from trueline._warnings import each_warning_once
from trueline.export._formulas import Deployed, Language, Operation, Term, cdf, deployed
from trueline.recalibration import Key, Recalibrator

Name = str | tuple[str, ...]

_TEXT: dict[Operation, str] = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "div": "({} / {})",
    "into": "({1} / {0})",
    "less": "({} < {})",
    "where": "(CASE WHEN {} THEN {} ELSE {} END)",
    "neg": "(-{})",
    "abs": "abs({})",
    "exp": "exp({})",
    "log": "ln({})",
}


def to_sql(
    recalibrator: Recalibrator,
    *,
    level: float | None = None,
    y: Name | float | None = None,
    loc: Name = "mean",
    scale: Name = "std",
    group: Name = "group",
    max_knots: int = 1000,
    dialect: str = "duckdb",
) -> str:
    """Write a fitted map as one SQL expression over the columns of a table of forecasts.

    With `level`, the expression is that quantile of the recalibrated forecast: ``loc + scale *
    constant``, with the map's ``least_width_`` added to the scale. A 90% interval takes two of
    them, at levels 0.05 and 0.95. With `y`, it is the recalibrated CDF at y. Numbers read back
    exactly, names are quoted, and the database needs no further definitions.

    The CDF searches the knots by bisection, and continues beyond them with the tails of the map.
    The normal CDF, which SQL lacks, is a polynomial that is exact to 1e-14.

    Parameters
    ----------
    recalibrator : Recalibrator
        A fitted map; see `to_onnx` for the kinds.
    level : float, optional
        Level of a quantile, in (0, 1).
    y : str, tuple of str or float, optional
        Column of outcomes, or a number, at which to take the CDF. Give either this or `level`.
    loc : str or tuple of str, default "mean"
        Column with the location. A tuple is a qualified name: ``("forecasts", "mean")``.
    scale : str or tuple of str, default "std"
        Column with the scale; ignored for a map of Point forecasts.
    group : str or tuple of str, default "group"
        Column with the group, for Grouped only. Each row takes one comparison per group. A group
        that was not there at ``fit`` gets the pooled map.
    max_knots : int, default 1000
        Most knots of an Isotonic map, per group, in a CDF, evenly spaced in rank. A comment at the
        front of the expression, which is 130 kB long for 1000 knots, gives the largest change.
        Quantiles are always those of the whole map.
    dialect : {"duckdb"}
        DuckDB 1.3 or later.

    Returns
    -------
    str
        NULL where a column is NULL or the scale is not above 0; NaN where a column is NaN.

    Warns
    -----
    CalibrationWarning
        If the level lies outside those that the calibration rows support.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.export import to_sql
    >>> R = tl.Scaling().fit([1.0, 3.0], tl.Point([0.0, 0.0]))
    >>> to_sql(R, level=0.5)
    '(CAST("mean" AS DOUBLE) + 2.0e0)'
    >>> R = tl.Isotonic().fit([1.0, 3.0, 4.0], tl.Normal([0.0, 0.0, 0.0], 2.0))
    >>> to_sql(R, level=0.5, loc="mu", scale='s"d')
    '(CASE WHEN (0.0e0 < CAST("s""d" AS DOUBLE)) THEN (CAST("mu" AS DOUBLE) +
    (CAST("s""d" AS DOUBLE) * 1.5e0)) ELSE NULL END)'
    """
    if dialect != "duckdb":
        raise ValueError(f"dialect is {dialect!r}; expected 'duckdb'.")
    if (level is None) == (y is None):
        given = "neither" if level is None else "both"
        raise ValueError(
            f"{given} of level and y given; expected level for a quantile or y for the CDF at y."
        )
    check_max_knots(max_knots)
    found = deployed(recalibrator, "to_sql")
    columns = [loc, *([scale] if found.scaled else []), *([] if found.groups is None else [group])]
    centre = _column(loc, "loc")
    width = _column(scale, "scale") if found.scaled else None
    spread = width + found.least_width if width is not None and found.least_width else width
    by_group = _by_group(found, group)
    if level is not None:
        with each_warning_once():
            scores = found.quantiles(np.array([checked_level(level, "level")]))[:, 0]
        score = by_group([_Sql(_number(float(s), "quantile")) for s in scores])
        return _guarded(centre + (score if spread is None else spread * score), width).text
    if isinstance(y, str | tuple):
        outcome = _column(y, "y")
        columns.append(y)
    else:
        outcome = _Sql(_number(y, "y"))
    z = outcome - centre if spread is None else (outcome - centre) / spread
    laws, error = found.thinned(max_knots)
    language = _DuckDB(columns)
    expression = _guarded(by_group([cdf(language, [law], z) for law in laws]), width)
    comment = f"/* at most {max_knots} knots: within {error:.2g} of the map */ " if error else ""
    return comment + expression.text


class _Sql(Term):
    """An expression with its brackets."""

    def __init__(self, text: str) -> None:
        self.text = text

    def call(self, operation: Operation, *others: Self | float) -> Self:
        texts = [_number(o, "x") if isinstance(o, int | float) else o.text for o in others]
        return type(self)(_TEXT[operation].format(self.text, *texts))


class _DuckDB(Language[_Sql]):
    """DuckDB: lists, and lambdas that bind a value."""

    degree = 20

    def __init__(self, columns: Sequence[Name]) -> None:
        # A lambda's variable would hide a column of the same name.
        self._taken = {
            part.lower()
            for name in columns
            for part in (name if isinstance(name, tuple) else (name,))
        }
        self._count = 0

    def _variable(self, letter: str) -> str:
        """Return a new name that is not the name of a column."""
        name = ""
        while not name or name in self._taken:
            self._count += 1
            name = f"{letter}{self._count}"
        return name

    def stored(self, a: FloatArray) -> FloatArray:
        return a

    def each(self, values: Sequence[float], *, divisor: bool = False) -> _Sql:
        (value,) = values
        return _Sql(_number(value, "x"))

    def piece(
        self,
        z: _Sql,
        knots: Sequence[FloatArray],
        columns: Sequence[Sequence[FloatArray]],
        then: Callable[..., _Sql],
    ) -> _Sql:
        # Bisection from the first knot; an index beyond the list gives NULL, which is not reached.
        steps = [1, *(1 << k for k in reversed(range((knots[0].size - 1).bit_length())))]
        at, step = self._variable("i"), self._variable("s")
        found = (
            f"list_reduce({steps}, lambda {at}, {step}: CASE WHEN "
            f"{_list(knots[0])}[{at} + {step}] <= {z.text} THEN {at} + {step} ELSE {at} END)"
        )
        lists = [_list(column) for (column,) in columns]
        return self.bind(
            _Sql(found), lambda i: then(*(_Sql(f"{values}[{i.text}]") for values in lists))
        )

    def polynomial(self, coefficients: FloatArray, w: _Sql) -> _Sql:
        total, term = self._variable("p"), self._variable("c")
        return _Sql(
            f"list_reduce({_list(coefficients)}, lambda {total}, {term}: "
            f"{total} * {w.text} + {term})"
        )

    def bind(self, value: _Sql, then: Callable[[_Sql], _Sql]) -> _Sql:
        name = self._variable("t")
        return _Sql(f"list_transform([{value.text}], lambda {name}: {then(_Sql(name)).text})[1]")


def _by_group(found: Deployed, group: Name) -> Callable[[list[_Sql]], _Sql]:
    """Return a function that chooses among expressions: one per group, then the pooled one."""
    if found.groups is None:
        return lambda expressions: expressions[0]
    name = _identifier(group, "group")
    keys = [_key(key) for key in found.groups]

    def choose(expressions: list[_Sql]) -> _Sql:
        *own, pooled = (e.text for e in expressions)
        cases = " ".join(f"WHEN {name} = {k} THEN {e}" for k, e in zip(keys, own, strict=True))
        return _Sql(f"(CASE WHEN {name} IS NULL THEN NULL {cases} ELSE {pooled} END)")

    return choose


def _guarded(expression: _Sql, spread: _Sql | None) -> _Sql:
    """Return NULL if the scale is not above 0, where Python raises."""
    if spread is None:
        return expression
    return _Sql(f"(CASE WHEN (0.0e0 < {spread.text}) THEN {expression.text} ELSE NULL END)")


def _column(name: Name, parameter: str) -> _Sql:
    # float64 as in Python, whatever the type of the column.
    return _Sql(f"CAST({_identifier(name, parameter)} AS DOUBLE)")


def _identifier(name: Name, parameter: str) -> str:
    parts = name if isinstance(name, tuple) else (name,)
    if not parts or not all(isinstance(p, str) and p and "\0" not in p for p in parts):
        raise ValueError(
            f"{parameter} is {name!r}; expected the name of a column, or a tuple of names such as "
            f"('table', 'column')."
        )
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _number(value: float | None, name: str) -> str:
    """Return a DOUBLE that reads back exactly; without an exponent it would be a DECIMAL."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} is {value!r}; expected the name of a column or a number.")
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; expected a finite number.")
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text  # two minus signs begin a comment


def _list(values: FloatArray) -> str:
    return f"[{', '.join(_number(v, 'x') for v in values.tolist())}]"


def _key(key: Key) -> str:
    if isinstance(key, bool):
        return str(key).upper()
    if isinstance(key, int):
        return f"({key})"
    if isinstance(key, float):
        return _number(key, "a group")
    if "\0" in key:
        raise ValueError(f"group {key!r} holds a null character, which SQL text cannot; rename it.")
    return "'" + key.replace("'", "''") + "'"
