"""Forecasts in named columns: dicts, and frames of pandas, polars and pyarrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from trueline._validation import FloatArray, as_float
from trueline.distributions import Distribution, Point, Samples, StudentT
from trueline.interop._numbers import (
    check_labels,
    from_array,
    from_levels,
    normal,
    plain,
    row_numbers,
)
from trueline.interop._refusals import refuse, shown
from trueline.interop.column_names import (
    CENTRES,
    LOGARITHMS,
    SPREADS,
    VARIANCES,
    column_levels,
    interval_levels,
    looks_like_percents,
    numbered_after,
)

_DEGREES = ("df", "nu", "dof")
# The factor that makes a logarithm that of a standard deviation, and what it is the logarithm of.
_LOG_OF = {"std": ("", "standard deviation"), "var": ("0.5 * ", "variance")}
_DRAW = re.compile(r"(.*?)[ _-]*(\d+)")


@dataclass(frozen=True)
class Table:
    """Names of columns, a function that returns a column by its position, and the kind of table.

    In a `strict` table, a dict, every name must be known; a frame may hold other columns.
    """

    names: list[Hashable]
    column: Callable[[int], Any]
    what: str
    strict: bool = False

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __getitem__(self, name: Hashable) -> FloatArray:
        return row_numbers(self.column(self._places[name]), f"obj[{name!r}]")

    def stack(self, names: Sequence[Hashable]) -> FloatArray:
        """Return columns side by side, (n, m)."""
        columns = [self[name] for name in names]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            raise ValueError(
                f"obj holds columns of {sorted(lengths)} rows; expected the same number at each "
                f"level."
            )
        return np.stack(columns, axis=1)

    def called(self, *known: Sequence[str]) -> list[Hashable]:
        """Return the columns with one of these names, in any case."""
        words = [word for group in known for word in group]
        return [n for n in self.names if isinstance(n, str) and n.strip().lower() in words]


# ---- where tables come from ----------------------------------------------------------


def from_mapping(obj: Mapping[Any, Any], kind: str | None) -> Distribution:
    """Convert a dict: of levels and values, of levels, or of named columns."""
    if set(obj) == {"levels", "values"}:
        if kind not in (None, "quantiles"):
            raise TypeError(
                f"kind is {kind!r}, but obj is a dict of levels and values. Leave kind out."
            )
        levels, values = (as_float(plain(obj[key]), key) for key in ("levels", "values"))
        _expect_order(obj["values"], levels)
        return from_levels(levels, values, "values")
    keys = list(obj)
    check_labels(*obj.values())
    return _from_table(Table(keys, lambda i: obj[keys[i]], "dict", strict=True), kind)


def from_named(obj: tuple[Any, ...], kind: str | None) -> Distribution | None:
    """Convert a named tuple by its names; return None if they are not known."""
    fields = getattr(obj, "_fields", ())
    known = (*CENTRES, *SPREADS, *VARIANCES, *LOGARITHMS, "levels")
    if not any(isinstance(name, str) and name.lower() in known for name in fields):
        return None
    return from_mapping(dict(zip(fields, obj, strict=True)), kind)


def from_pandas(obj: Any, kind: str | None) -> Distribution:
    """Convert a Series, or a DataFrame by the names of its columns."""
    if np.ndim(obj) != 2:
        if kind is None and hasattr(obj, "index"):
            _expect_no_row(list(obj.index))
        return from_array(obj, kind)
    names = _one_variable(list(obj.columns))
    return _from_table(Table(names, lambda i: obj.iloc[:, i], "DataFrame"), kind)


def from_polars(obj: Any, kind: str | None) -> Distribution:
    """Convert a Series, or a DataFrame by the names of its columns."""
    if type(obj).__name__ == "LazyFrame":
        raise TypeError("obj is a LazyFrame, which is not computed; expected obj.collect().")
    if not hasattr(obj, "columns"):
        return from_array(obj, kind) if hasattr(obj, "__array__") else refuse(obj)
    columns = obj.get_columns()
    return _from_table(Table(list(obj.columns), lambda i: columns[i], "DataFrame"), kind)


def from_pyarrow(obj: Any, kind: str | None) -> Distribution:
    """Convert an Array, or a Table or RecordBatch by the names of its columns."""
    if not hasattr(obj, "column_names"):
        return from_array(obj, kind) if hasattr(obj, "__array__") else refuse(obj)
    names = list(obj.column_names)
    return _from_table(Table(names, obj.column, type(obj).__name__), kind)


def _one_variable(names: list[Any]) -> list[Hashable]:
    """Return names of two or three levels, as sktime and skpro give them, without the variable."""
    if not names or not all(isinstance(name, tuple) and len(name) > 1 for name in names):
        return names
    variables = list(dict.fromkeys(name[0] for name in names))
    if len(variables) > 1:
        raise TypeError(
            f"obj is a DataFrame of several variables, {shown(variables)}; expected one. "
            f"Choose: obj[[{variables[0]!r}]]."
        )
    # sktime's intervals are named (variable, coverage, "lower").
    return [n[1] if len(n) == 2 else f"{n[-1]}_{n[1]}" for n in names]


# ---- the meaning of the names --------------------------------------------------------


def _from_table(table: Table, kind: str | None) -> Distribution:
    if not table.names:
        _refuse_names(table)
    if len(table._places) < len(table.names):
        twice = next(name for name in table.names if table.names.count(name) > 1)
        raise ValueError(
            f"obj has two columns called {twice!r}; expected one. Rename or drop the other."
        )
    if table.called(("r_hat", "ess_bulk")):
        raise TypeError(
            f"obj is a {table.what} with columns {shown(table.names)}, so it looks like a summary "
            f"of a sampler by arviz, one row per parameter; expected a forecast. Pass the draws of "
            f"outcomes: the InferenceData with its posterior_predictive."
        )
    if kind == "samples":
        return _draws(table)
    if kind == "point":
        return _points(table)
    found = _found(table, kind)
    if kind is not None:
        wanted = {name: read for name, read in found.items() if name in _NAMED_KINDS[kind]}
        if not wanted and len(table.names) == 2 and kind != "quantiles" and not found:
            return from_array(table.stack(table.names), kind)
        if not wanted:
            _refuse_other(table, kind, found)
        found = wanted
    if len(found) > 1:
        raise TypeError(
            f"obj is a {table.what} with {' and '.join(found)} (columns {shown(table.names)}); "
            f"expected one kind of forecast. Drop the columns of the other"
            f"{', or say kind=...' if kind is None else ''}."
        )
    if found:
        return next(iter(found.values()))()
    if len(table.names) == 1 == len(table.called(CENTRES)):
        return Point(table[table.names[0]])
    return _refuse_names(table)


def _found(table: Table, kind: str | None) -> dict[str, Callable[[], Distribution]]:
    """Return the kinds of forecast that the names suggest, and how to read them."""
    found: dict[str, Callable[[], Distribution]] = {}
    spreads = table.called(SPREADS, VARIANCES, tuple(LOGARITHMS))
    if spreads and kind != "quantiles":
        found[_spread_kind(spreads)] = lambda: _mean_and_spread(table, spreads)
        if kind is not None:
            return found
    strings = [name for name in table.names if isinstance(name, str)]
    ends = interval_levels(strings)
    try:
        levels = column_levels(table.names, sure=kind == "quantiles")
    except ValueError:
        if found:  # a column q1 beside a mean and a standard deviation is not of the forecast
            return found
        raise
    if len(levels) > 1 or (levels and kind == "quantiles"):
        found["quantiles"] = lambda: _quantiles(table, levels)
    if ends:
        found["intervals"] = lambda: _intervals(table, ends)
    draws = numbered_after(strings, "sample_")
    if len(draws) > 1 and kind is None:
        found["draws"] = lambda: Samples(table.stack(draws))
    return found


_NAMED_KINDS = {
    "quantiles": ("quantiles", "intervals"),
    "mean_std": ("a mean and a standard deviation",),
    "mean_var": ("a mean and a variance",),
}


def _spread_kind(spreads: list[Hashable]) -> str:
    word = str(spreads[0]).strip().lower()
    if word in SPREADS:
        return "a mean and a standard deviation"
    return "a mean and a variance" if word in VARIANCES else "the logarithm of a spread"


def _mean_and_spread(table: Table, spreads: list[Hashable]) -> Distribution:
    centres = table.called(CENTRES)
    for names, noun in ((centres, "mean"), (spreads, "spread")):
        if len(names) != 1:
            found = shown(names) if names else "none"
            raise TypeError(
                f"obj is a {table.what} with columns {shown(table.names)}, of which {found} may "
                f"hold the {noun}; expected one. Rename to mean and std (or var), and drop others."
            )
    spread = spreads[0]
    word = str(spread).strip().lower()
    if word in LOGARITHMS:
        half, noun = _LOG_OF[LOGARITHMS[word]]
        raise TypeError(
            f"column {spread!r} looks like the logarithm of a {noun}; expected a standard "
            f"deviation or a variance. Pass (mean, np.exp({half}obj[{spread!r}]))."
        )
    degrees = table.called(_DEGREES)
    _expect_no_more(table, [*centres, spread, *degrees])
    mean, width = table[centres[0]], table[spread]
    if degrees and word == "scale":
        return StudentT(mean, width, table[degrees[0]])
    if degrees:
        raise TypeError(
            f"obj is a {table.what} with columns {shown(table.names)}; {degrees[0]!r} makes it a "
            f"Student t, whose scale is not its {spread!r}. Build it: StudentT(loc, scale, df)."
        )
    return normal(mean, width, f"obj[{spread!r}]", variance=word in VARIANCES)


def _quantiles(table: Table, levels: Mapping[Any, float]) -> Distribution:
    # A mean beside quantiles adds nothing.
    _expect_no_more(table, [*levels, *table.called(CENTRES)])
    ordered = sorted(levels, key=levels.__getitem__)
    for first, second in pairwise(ordered):
        if levels[first] == levels[second]:
            raise ValueError(
                f"obj has two columns for the level {levels[first]:g}: {first!r} and {second!r}; "
                f"expected one. Rename or drop the other."
            )
    return from_levels(np.array([levels[name] for name in ordered]), table.stack(ordered), "obj")


def _intervals(table: Table, ends: dict[str, float]) -> Distribution:
    for name in ends:
        side, _, coverage = name.partition("_")
        other = f"{'upper' if side == 'lower' else 'lower'}_{coverage}"
        if other not in ends:
            raise TypeError(
                f"obj has a column {name} but no {other}; expected both ends of an interval."
            )
    return _quantiles(table, ends)


def _draws(table: Table) -> Distribution:
    """Read all columns as draws, if their names allow it."""
    names = [name for name in table.names if isinstance(name, str)]
    draws: list[Hashable] = list(numbered_after(names, "sample_"))
    if not draws:
        draws = table.names
        matches = [_DRAW.fullmatch(str(name)) for name in draws]
        prefixes = {match[1] if match else None for match in matches}
        odd = [name for name, match in zip(draws, matches, strict=True) if match is None]
        if odd or len(prefixes) > 1:
            raise TypeError(
                f"obj is a {table.what} with columns {shown(table.names)}; expected draws in "
                f"columns that are numbered, such as 0, 1, ... or sample_0, sample_1, ..., "
                f"for kind='samples'. Drop the others{f', such as {odd[0]!r}' if odd else ''}, or "
                f"pass Samples(obj.to_numpy())."
            )
    return Samples(table.stack(draws))


def _points(table: Table) -> Distribution:
    names = table.names if len(table.names) == 1 else table.called(CENTRES)
    if len(names) == 1:
        return Point(table[names[0]])
    raise TypeError(
        f"obj is a {table.what} with columns {shown(table.names)}; expected one column for "
        f"kind='point', or one named mean. Choose: obj['...']."
    )


# ---- errors --------------------------------------------------------------------------


def _expect_no_row(labels: list[Any]) -> None:
    """Refuse a Series that is one row of a table."""
    row = Table(labels, lambda _: None, "Series")
    spread = row.called(CENTRES) and row.called(SPREADS, VARIANCES, tuple(LOGARITHMS))
    try:
        levels = len(labels) > 1 and len(column_levels(labels)) == len(labels)
    except ValueError:
        levels = True
    if spread or levels:
        raise TypeError(
            f"obj is a Series with the labels {shown(labels)}, so it looks like one row of a "
            f"table; expected one number per row. Pass the row as a table, obj.to_frame().T, or if "
            f"these are rows obj.to_numpy()."
        )


def _expect_order(values: Any, levels: FloatArray) -> None:
    """Refuse values whose own labels contradict the order of the levels."""
    if hasattr(values, "dims"):
        raise TypeError(
            f"values is an array with the dims ({', '.join(map(str, values.dims))}), which may "
            f"come in any order; expected plain numbers, (rows, levels). Pass the array itself, "
            f"with the levels as coordinates of a dim called quantile."
        )
    if not (hasattr(values, "columns") and hasattr(values, "iloc")):
        return
    named = column_levels(list(values.columns))
    if named and not (len(named) == levels.size and np.allclose(list(named.values()), levels)):
        raise ValueError(
            f"values is a DataFrame with the columns {shown(list(values.columns))}, but levels are "
            f"{shown(levels.tolist())}; expected the same, in the same order. Pass the DataFrame "
            f"alone: its columns say the levels."
        )


def _expect_no_more(table: Table, used: Sequence[Hashable]) -> None:
    more = [name for name in table.names if name not in used]
    if table.strict and more:
        raise TypeError(
            f"obj is a dict whose key {more[0]!r} is not known beside {shown(list(used))}; "
            f"expected no other keys. Drop it, or build the distribution yourself."
        )


def _refuse_other(
    table: Table, kind: str, found: Mapping[str, Callable[[], Distribution]]
) -> NoReturn:
    names = f"columns {shown(table.names)}"
    holds = f"whose names say that it holds {' and '.join(found)}" if found else f"with {names}"
    expected = {
        "quantiles": "levels as names, such as q0.1 and q0.9",
        "mean_std": "columns mean and std",
        "mean_var": "columns mean and var",
    }[kind]
    raise TypeError(
        f"kind is {kind!r}, but obj is a {table.what} {holds}; expected {expected}. "
        f"{'Leave kind out, or rename the columns.' if found else 'Rename the columns.'}"
    )


def _refuse_names(table: Table) -> NoReturn:
    percents = looks_like_percents(table.names)
    hint = ' They look like quantiles in percent: if so, say kind="quantiles", or write 5% as 0.05.'
    names = f"columns {shown(table.names)}" if table.names else "no columns"
    raise TypeError(
        f"obj is a {table.what} with {names}; expected levels as names, such as 0.1, q0.1 or 10%, "
        f"or mean and std (or var), or sample_0, sample_1, ..., because a table may hold draws or "
        f'quantiles. Say kind="samples" for draws, or pass {{"levels": levels, "values": '
        f"values}}.{hint if percents else ''}"
    )
