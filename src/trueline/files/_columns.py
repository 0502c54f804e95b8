"""Find the columns of the outcomes, the forecast, the groups and the weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, get_args

from trueline._files import FileError
from trueline._messages import Option, Part, did_you_mean, joined, listed
from trueline._validation import level as check_level
from trueline.files._layout import USUAL_COVERAGE, Kind, Layout
from trueline.interop.column_names import (
    interval_levels,
    levels_after,
    numbered_after,
    percents_after,
)

if TYPE_CHECKING:
    from trueline.files._source import Source

# Other names of standard deviations.
_SPREADS = ("sd", "sigma", "stdev", "stddev", "std_dev", "scale", "se")

_CENTRES = ("mean", "prediction")
# Prophet's names of the ends and the middle of an interval, and its default coverage.
_PROPHET = ("yhat_lower", "yhat_upper", "yhat")
_PROPHETS_COVERAGE = 0.8
_OUTCOMES = ("target", "actual", "observed", "outcome", "y_true", "truth", "label", "value")


@dataclass(frozen=True)
class Columns:
    """Names of columns; others are found by convention.

    The outcomes are ``y``. The forecast is one of: ``mean`` (or ``prediction``) and ``std``;
    quantiles ``q0.05``, ``q0.5``, ...; intervals ``lower_0.9`` and ``upper_0.9``; draws
    ``sample_0``, ``sample_1``, ...; or a ``mean`` alone, a point forecast. A ``mean`` beside
    quantiles, intervals or draws is ignored. Prophet's ``yhat_lower``, ``yhat_upper`` and ``yhat``
    are known as well, but their `coverage` must be stated.

    Parameters
    ----------
    y : str, optional
        Column of the outcomes.
    mean, std : str, optional
        Columns of the mean and the standard deviation. With `lower` and `upper`, `mean` is the
        middle of the interval, which is taken for the median.
    quantile_columns, sample_columns : str, optional
        Start of the names of the quantiles, before the level, or of the draws, before the number.
    kind : {"normal", "point", "quantiles", "intervals", "samples"}, optional
        Kind of forecast to use if a file holds several.
    lower, upper : str, optional
        Columns of the ends of an interval, whose names do not say its coverage.
    coverage : float, optional
        Coverage of that interval, between 0 and 1. It is also the coverage of the intervals that
        are evaluated or written, unless another is asked for; by default that is 0.9.
    group, weight : str, optional
        Columns of the group and the weight of each row; none by default.
    x : tuple of str, optional
        Columns of features, for a report, and for where intervals do not hold.

    Examples
    --------
    >>> from trueline.files import Columns
    >>> Columns().find(["day", "y", "q0.1", "q0.9"]).describe()
    'quantile forecasts (q0.1, q0.9)'
    >>> Columns(y="sales", mean="forecast").find(["sales", "forecast"]).describe()
    'point forecasts (forecast)'
    >>> Columns(lower="low", upper="high", coverage=0.8).find(["y", "low", "high"]).describe()
    '80% interval forecasts (low, high)'
    """

    y: str | None = None
    mean: str | None = None
    std: str | None = None
    quantile_columns: str | None = None
    sample_columns: str | None = None
    kind: Kind | None = None
    lower: str | None = None
    upper: str | None = None
    coverage: float | None = None
    group: str | None = None
    weight: str | None = None
    x: tuple[str, ...] = ()

    @staticmethod
    def given(columns: Columns | None) -> Columns:
        """Return the columns to look for; None stands for those of the conventions."""
        if columns is None:
            return Columns()
        if not isinstance(columns, Columns):
            raise TypeError(
                f"columns is {columns!r}; expected Columns, such as "
                f"trueline.files.Columns(y='sales')."
            )
        return columns

    def find(self, names: Sequence[str], *, file: object = "the file", y: bool = True) -> Layout:
        """Find the columns among the names in a file.

        Parameters
        ----------
        names : sequence of str
        file : object
            Name of the file in messages.
        y : bool, default True
            Whether the outcomes are needed.
        """
        return _Search(self, tuple(names), file).layout(y)


@dataclass(frozen=True)
class _Search:
    """A search for columns: those that were asked for, among those of a file."""

    wanted: Columns
    names: tuple[str, ...]
    file: object

    def layout(self, need_y: bool) -> Layout:
        wanted = self.wanted
        if wanted.kind is not None and wanted.kind not in get_args(Kind):
            raise FileError(
                f"the kind of forecast is {wanted.kind!r}; expected one of "
                f"{', '.join(get_args(Kind))}.{did_you_mean(wanted.kind, get_args(Kind))}"
            )
        # Outcomes that are not needed may be missing, because they are not known yet.
        y = (wanted.y or "y") if need_y else None
        if y is not None and y not in self.names:
            self._raise_no_outcomes(y)
        searched = [(name, "x") for name in wanted.x]
        for name, role in ((wanted.group, "group"), (wanted.weight, "weight"), *searched):
            if name is not None:
                self._require(name, role)
        coverage = (
            USUAL_COVERAGE if wanted.coverage is None else check_level(wanted.coverage, "coverage")
        )
        forecast, levels = self._columns_of(kind := self._kind())
        doubt = self._unused_spread() if kind == "point" and self._implied() is None else ()
        features = tuple(wanted.x)
        return Layout(
            kind, forecast, levels, coverage, y, wanted.group, wanted.weight, features, doubt
        )

    # ---- kind of forecast ------------------------------------------------------------

    def _kind(self) -> Kind:
        implied = self._implied()
        if implied:
            return implied
        there = self._there()
        spreads = [kind for kind in there if kind != "point"]
        if len(spreads) > 1:
            found = "; ".join(f"{kind} ({listed(there[kind], most=3)})" for kind in spreads)
            raise FileError(
                f"{self.file} holds forecasts of several kinds: {found}. Choose one: ",
                joined([Option("kind", kind) for kind in spreads], " or "),
                ".",
            )
        if spreads:
            return spreads[0]
        if there:
            return "point"
        raise FileError(
            f"{self.file} has no columns that look like a forecast; expected mean and std, or "
            f"q0.05, q0.5, ..., or lower_0.9 and upper_0.9, or sample_0, sample_1, ..., or mean "
            f"alone. Its columns are {listed(self.names)}. Name them with ",
            (Option("mean"), " and ", Option("std"), ", ", Option("quantile_columns"), " or "),
            (Option("sample_columns"), "."),
            self._percent_hint("q"),
        )

    def _unused_spread(self) -> tuple[Part, ...]:
        """Return a warning if an unused column may hold the spread of a point forecast."""
        others = (self.wanted.group, self.wanted.weight, *self.wanted.x)
        names = [name for name in self.names if name not in others]
        meant = get_close_matches("std", names, n=1, cutoff=0.65)
        meant = meant or [name for name in names if name.lower() in _SPREADS]
        if not meant:
            return ()
        unused = f"these are point forecasts, and column {meant[0]!r} is not used."
        return (unused, " If it holds standard deviations: ", Option("std", meant[0]), ".")

    def _implied(self) -> Kind | None:
        """Return the kind that the options imply, if any."""
        wanted = self.wanted
        options: dict[str, Kind] = {}
        if wanted.std is not None:
            options["std"] = "normal"
        for end in ("lower", "upper"):
            if getattr(wanted, end) is not None:
                options[end] = "intervals"
        if wanted.mean is not None and wanted.kind is None and not options:
            options["mean"] = "normal" if "std" in self.names else "point"
        if wanted.quantile_columns is not None:
            options["quantile_columns"] = "quantiles"
        if wanted.sample_columns is not None:
            options["sample_columns"] = "samples"
        if wanted.kind is not None:
            options["kind"] = wanted.kind
        if len(set(options.values())) > 1:
            implied = [(Option(name), f": {kind}") for name, kind in options.items()]
            raise FileError(
                "the options name forecasts of several kinds (",
                joined(implied, ", "),
                "); expected one.",
            )
        return next(iter(options.values()), None)

    def _there(self) -> dict[Kind, list[str]]:
        """Return the kinds of forecast that follow the conventions, with their columns."""
        centre = self._centre()
        found: dict[Kind, list[str]] = {}
        if "std" in self.names:
            found["normal"] = [*([centre] if centre else []), "std"]
        elif centre:
            found["point"] = [centre]
        found["quantiles"] = list(levels_after(self.names, "q"))
        found["intervals"] = list(interval_levels(self.names)) or list(self._stated_interval())
        found["samples"] = numbered_after(self.names, "sample_")
        return {kind: columns for kind, columns in found.items() if columns}

    # ---- columns of the forecast -----------------------------------------------------

    def _columns_of(self, kind: Kind) -> tuple[tuple[str, ...], tuple[float, ...]]:
        if kind == "normal":
            return (self._mean(), self._require(self.wanted.std or "std", "std")), ()
        if kind == "point":
            return (self._mean(),), ()
        if kind == "samples":
            prefix = self.wanted.sample_columns or "sample_"
            draws = numbered_after(self.names, prefix)
            self._at_least_two(draws, "draw", f"{prefix}0, {prefix}1, ...")
            return tuple(draws), ()
        if kind == "intervals" and self._stated_interval():
            levels = self._levels_of(self._stated_interval())
        elif kind == "intervals":
            levels = interval_levels(self.names)
            self._check_pairs(levels)
            hint = self._percent_hint()
            self._at_least_two(list(levels), "end of an interval", "lower_0.9 and upper_0.9", hint)
        else:
            prefix = self.wanted.quantile_columns or "q"
            levels = levels_after(self.names, prefix)
            such_as, hint = f"{prefix}0.05, {prefix}0.5, ...", self._percent_hint(prefix)
            self._at_least_two(list(levels), "quantile", such_as, hint)
        ordered = sorted(levels, key=levels.__getitem__)
        for first, second in pairwise(ordered):
            if levels[first] == levels[second]:
                raise FileError(
                    f"{self.file} has two columns for the level {levels[first]:g}: {first} and "
                    f"{second}; expected one. Rename or drop the other."
                )
        return tuple(ordered), tuple(levels[name] for name in ordered)

    def _stated_interval(self) -> tuple[str, ...]:
        """Return the ends of an interval whose coverage is stated, and its middle if it has one."""
        wanted = self.wanted
        if wanted.lower is None and wanted.upper is None:
            there = tuple(name for name in _PROPHET if name in self.names)
            return () if interval_levels(self.names) or there[:2] != _PROPHET[:2] else there
        for given, other in (("lower", "upper"), ("upper", "lower")):
            if getattr(wanted, other) is None:
                raise FileError(
                    Option(given, getattr(wanted, given)),
                    " is one end of an interval; expected both. Name the column of the other with ",
                    Option(other),
                    ".",
                )
        columns = [(wanted.lower, "lower"), (wanted.upper, "upper"), (wanted.mean, "mean")]
        names = [self._require(name, role) for name, role in columns if name is not None]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise FileError(
                    f"column {name!r} is named twice as a part of the interval, by ",
                    joined([Option(role) for n, role in columns if n == name], " and "),
                    "; expected different columns.",
                )
        return tuple(names)

    def _levels_of(self, columns: tuple[str, ...]) -> dict[str, float]:
        """Return the levels of an interval whose coverage the user states."""
        coverage = self.wanted.coverage
        if coverage is None:
            prophets = columns[:2] == _PROPHET[:2]
            raise FileError(
                f"{self.file} does not say which share of the outcomes the interval from "
                f"{columns[0]!r} to {columns[1]!r} should hold. State it, as in ",
                Option("coverage", _PROPHETS_COVERAGE),
                ", the default of Prophet." if prophets else ".",
            )
        tail = 0.5 * (1.0 - coverage)
        return dict(zip(columns, (tail, 1.0 - tail, 0.5), strict=False))

    def _mean(self) -> str:
        return self._require(self._centre() or "mean", "mean")

    def _centre(self) -> str | None:
        if self.wanted.mean is not None:
            return self.wanted.mean
        return next((name for name in _CENTRES if name in self.names), None)

    def _check_pairs(self, levels: dict[str, float]) -> None:
        for name in levels:
            ends = ("lower_", "upper_") if name.startswith("lower_") else ("upper_", "lower_")
            other = name.replace(*ends)
            if other not in self.names:
                raise FileError(
                    f"{self.file} has a column {name} but no {other}; expected both ends of an "
                    f"interval."
                )

    def _percent_hint(self, *prefixes: str) -> str:
        """Return a hint at columns such as q5 and lower_90, which name percentages."""
        found = {}
        for prefix in (*prefixes, "lower_", "upper_"):
            for name, level in percents_after(self.names, prefix).items():
                found[name] = f"{prefix}{level:.10g}"
        if not found:
            return ""
        old, new = (listed(names, most=3) for names in (found, found.values()))
        noun = "a percentage" if len(found) == 1 else "percentages"
        return f" {old} look{'s' if len(found) == 1 else ''} like {noun}; rename to {new}."

    def _at_least_two(self, columns: list[str], noun: str, such_as: str, hint: str = "") -> None:
        if not columns:
            raise FileError(
                f"{self.file} has no columns such as {such_as}; its columns are "
                f"{listed(self.names)}.{hint}"
            )
        if len(columns) < 2:
            raise FileError(
                f"{self.file} has one {noun}, {columns[0]}; expected at least two, because one "
                f"says nothing about the spread. A point forecast is ",
                Option("mean", columns[0]),
                ".",
            )

    def _require(self, name: str, role: str) -> str:
        if name not in self.names:
            raise FileError(
                f"{self.file} has no column {name!r}; its columns are {listed(self.names)}. "
                f"Name one with ",
                Option(role),
                f".{did_you_mean(name, self.names)}",
            )
        return name

    def _raise_no_outcomes(self, name: str) -> NoReturn:
        hint: Part = did_you_mean(name, self.names)
        usual = next((n for n in self.names if n.strip().lower() in (name, *_OUTCOMES)), None)
        if usual is not None and self.wanted.y is None:
            hint = (" Did you mean ", Option("y", usual), "?")
        raise FileError(
            f"{self.file} has no column {name!r} with the outcomes; its columns are "
            f"{listed(self.names)}. Name one with ",
            (Option("y"), ".", hint),
        )


def find_in(source: Source, columns: Columns | None, *, y: bool = True) -> Layout:
    """Find the columns of a file, or those that all files of a folder share."""
    first, *rest = source.files
    columns = Columns.given(columns)
    layout = columns.find(first.names, file=first.path, y=y)
    known = {(first.names, _types(first, layout))}
    for file in rest:
        if (file.names, _types(file, layout)) in known:
            continue
        for name in layout.used:
            if name not in file.names:
                raise FileError(
                    f"{file.path} has no column {name!r}, which {first.path} has; expected the "
                    f"same columns in every file. Write it again, or leave it out."
                )
        found = columns.find(file.names, file=file.path, y=y)
        for name in found.used:
            if name not in layout.used:
                raise FileError(
                    f"{file.path} has a column {name!r} to use, which {first.path} does not have; "
                    f"expected the same columns in every file. Choose the forecast with ",
                    Option("kind"),
                    ".",
                )
        for name, mine, theirs in zip(
            layout.used, _types(first, layout), _types(file, layout), strict=True
        ):
            if _family(mine) != _family(theirs) and "null" not in (mine, theirs):
                raise FileError(
                    f"{file.path}, column {name!r} is of type {theirs}, but of type {mine} in "
                    f"{first.path}; expected the same type in every file. Convert it first."
                )
        known.add((file.names, _types(file, layout)))
    return layout


def _types(source: Source, layout: Layout) -> tuple[str, ...]:
    """Return the types of the columns that are used."""
    return tuple(source.types.get(name, "") for name in layout.used)


def _family(kind: str) -> str:
    """Return the family of a type: numbers, text, or the type itself."""
    kind = re.sub(r"^dictionary<values=(\w+),.*", r"\1", kind)
    if re.match(r"u?int\d|float|double|halffloat|decimal", kind):
        return "numbers"
    return "text" if kind in ("string", "large_string", "string_view") else kind
