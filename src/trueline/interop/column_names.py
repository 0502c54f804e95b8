"""The meaning of column names, for frames here and for `trueline.files`.

Files use exact names: ``q0.05``, ``lower_0.9``, ``sample_0``, ``mean``, ``std``. Frames in memory
come from packages with other conventions, so that `column_levels` reads more: ``0.05``,
``quantile_0.05``, ``5%``, ``p95``. Ambiguous names such as ``q1``, a percentage or a rank, are
refused.

>>> levels_after(["q0.05", "q0.95", "mean"], "q"), percents_after(["p5"], "p")
({'q0.05': 0.05, 'q0.95': 0.95}, {'p5': 0.05})
>>> interval_levels(["lower_0.9", "upper_0.9"])
{'lower_0.9': 0.04999999999999999, 'upper_0.9': 0.95}
>>> numbered_after(["sample_10", "sample_2"], "sample_")
['sample_2', 'sample_10']
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import NamedTuple, NoReturn

__all__ = [
    "CENTRES",
    "LOGARITHMS",
    "SPREADS",
    "VARIANCES",
    "column_levels",
    "interval_levels",
    "levels_after",
    "looks_like_percents",
    "numbered_after",
    "percents_after",
]

#: Names of means, standard deviations, variances, and logarithms of the last two.
CENTRES = ("mean", "loc", "mu", "prediction")
SPREADS = ("std", "scale", "sigma", "sd", "stdev", "stddev", "std_dev")
VARIANCES = ("var", "variance", "sigma2", "sigma_squared")
LOGARITHMS = {
    **dict.fromkeys(("log_std", "logstd", "log_sigma", "log_scale", "logscale", "log_sd"), "std"),
    **dict.fromkeys(("log_var", "logvar", "log_variance"), "var"),
}

_LEVEL = r"(0?\.\d+)"
_PERCENT = r"(\d{1,2}(?:\.\d+)?)%?"
_COLUMN = re.compile(
    r"(?P<prefix>q|quantile|p|pct|percentile)?[ _-]*(?P<number>\d*\.?\d+)\s*(?P<sign>%)?"
)
# The decimal point distinguishes a level after a name, as in sales_q0.1, from a rank.
_NAMED = re.compile(r"(.+)[ _-](?:q|quantile)[ _-]*" + _LEVEL)


# ---- exact names ---------------------------------------------------------------------


def levels_after(names: Iterable[str], prefix: str) -> dict[str, float]:
    """Return the names that are the prefix and a level, with the levels."""
    matches = ((name, re.fullmatch(re.escape(prefix) + _LEVEL, name)) for name in names)
    levels = {name: float(match[1]) for name, match in matches if match}
    return {name: level for name, level in levels.items() if level > 0}


def percents_after(names: Iterable[str], prefix: str) -> dict[str, float]:
    """Return the names that are the prefix and a percentage, with their levels."""
    matches = ((name, re.fullmatch(re.escape(prefix) + _PERCENT, name)) for name in names)
    percents = {name: float(match[1]) for name, match in matches if match}
    return {name: percent / 100 for name, percent in percents.items() if 0 < percent < 100}


def interval_levels(names: Sequence[str]) -> dict[str, float]:
    """Return the columns of interval ends, with their quantile levels."""
    lower, upper = levels_after(names, "lower_"), levels_after(names, "upper_")
    ends = {name: 0.5 * (1.0 - coverage) for name, coverage in lower.items()}
    return ends | {name: 1.0 - 0.5 * (1.0 - coverage) for name, coverage in upper.items()}


def numbered_after(names: Iterable[str], prefix: str) -> list[str]:
    """Return the names that are the prefix and a whole number, in the order of the numbers."""
    numbers = {
        name: int(name.removeprefix(prefix))
        for name in names
        if re.fullmatch(re.escape(prefix) + r"\d+", name, flags=re.ASCII)
    }
    return sorted(numbers, key=numbers.__getitem__)


# ---- names of other packages ---------------------------------------------------------


class _Read(NamedTuple):
    """A number in a name, its unit ("level", "percent" or "bare") and the prefix before it.

    ``of`` is the variable before the prefix, such as sales in sales_q0.1.
    """

    number: float
    unit: str
    prefix: str
    of: str = ""


def _read(name: Hashable) -> _Read | None:
    if isinstance(name, Real) and not isinstance(name, bool):
        number = float(name)
        return _Read(number, "level" if 0 < number < 1 else "bare", "")
    if not isinstance(name, str):
        return None
    text = name.strip().lower()
    match = _COLUMN.fullmatch(text)
    if match is None:
        named = _NAMED.fullmatch(text)
        return _Read(float(named[2]), "level", "q", named[1]) if named else None
    number, prefix = float(match["number"]), match["prefix"] or ""
    if match["sign"] or prefix in ("pct", "percentile"):
        return _Read(number, "percent", prefix)
    if 0 < number < 1:
        return _Read(number, "level", prefix)
    return _Read(number, "percent" if prefix == "p" else "bare", prefix)


def column_levels(names: Sequence[Hashable], *, sure: bool = False) -> dict[Hashable, float]:
    """Return the columns that hold quantiles, with their levels.

    Parameters
    ----------
    names : sequence
    sure : bool, default False
        Whether there are quantiles for sure: then the columns 10, 50 and 90 are percentages,
        which otherwise may be draws.

    Raises
    ------
    ValueError
        If a number may be a level, a percentage or a rank.
    """
    read = {name: number for name in names if (number := _read(name)) is not None}
    _check_variables({name: r.of for name, r in read.items()})
    levels = {name: r.number for name, r in read.items() if r.unit == "level"}
    percents = {name: r.number for name, r in read.items() if r.unit == "percent"}
    bare = {
        name: r.number for name, r in read.items() if r.unit == "bare" and (sure or r.prefix == "q")
    }
    if any(read[name].prefix == "p" for name in levels) and percents:
        _refuse_mixed(levels, percents)
    if bare:
        if levels:
            _refuse_mixed(levels, bare)
        if not _surely_percents(list(bare.values())):
            first = f"{', '.join(map(repr, list(bare)[:3]))}{', ...' if len(bare) > 3 else ''}"
            raise ValueError(
                f"columns {first} look like quantiles in percent, or like ranks such as quartiles; "
                f"expected unambiguous levels. Rename them to levels, such as q0.05 and q0.95."
            )
        percents |= bare
    for name, percent in percents.items():
        if not 0 < percent < 100:
            raise ValueError(
                f"column {name!r} names a quantile at {percent:g}%; expected one between 0% and "
                f"100%. Leave out the ends of a forecast."
            )
    return levels | {name: round(percent / 100, 12) for name, percent in percents.items()}


def _check_variables(of: dict[Hashable, str]) -> None:
    """Raise if quantiles are of logarithms or of several variables."""
    for name, variable in of.items():
        if re.match(r"(?:log|ln)(?:10|2|1p)?(?:[ _-]|$)", variable):
            raise ValueError(
                f"column {name!r} looks like a quantile of a logarithm; expected quantiles of the "
                f"outcome. Undo it, such as np.exp(obj), which maps quantiles to quantiles, and "
                f"rename the columns."
            )
    variables = list(dict.fromkeys(of.values()))
    if len(variables) > 1 and any(variables):
        first, second = (next(n for n, v in of.items() if v == one) for one in variables[:2])
        raise ValueError(
            f"columns {first!r} and {second!r} look like quantiles of two variables; expected one. "
            f"Choose the columns of one of them."
        )


def looks_like_percents(names: Sequence[Hashable]) -> bool:
    """Whether columns without a prefix look like percentages, such as 10, 50 and 90."""
    read = [_read(name) for name in names]
    numbers = [r.number for r in read if r is not None and r.unit == "bare" and not r.prefix]
    return len(numbers) == len(names) > 1 and _surely_percents(numbers)


def _surely_percents(numbers: list[float]) -> bool:
    """Whether the numbers cannot be ranks, which count from 0 or 1."""
    ordered = sorted(numbers)
    counted = ordered in (list(range(len(ordered))), list(range(1, len(ordered) + 1)))
    hundredths = ordered == list(range(1, 100))
    return ordered[0] > 0 and ordered[-1] < 100 and (hundredths or not counted)


def _refuse_mixed(levels: dict[Hashable, float], percents: dict[Hashable, float]) -> NoReturn:
    level, percent = next(iter(levels)), next(iter(percents))
    raise ValueError(
        f"column {level!r} names a level but column {percent!r} looks like a percentage; expected "
        f"one or the other. Rename them all to levels, such as q{percents[percent] / 100:.10g}."
    )
