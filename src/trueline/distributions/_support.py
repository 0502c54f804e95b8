"""The values that outcomes can take: stated by the user, or learned from outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions._atoms import Atoms, Ends, Lattice

# Outcomes with at most this many values, each of them taken by several rows, have no others; the
# second number is for whole numbers.
_MOST_VALUES = 50
_MOST_WHOLE = 200
_ROWS_PER_VALUE = 5
_FEWEST_ROWS = 30
# Rows that one end of the range must hold to be an atom: a number, a share, and a multiple of the
# rows that an ordinary value holds.
_FEWEST_AT_END = 5
_SHARE_AT_END = 0.01
_TIMES_ORDINARY = 5.0
# Rows of the parts in which the ends of the range are counted.
_PART = 4096
# Rows from which a value is so common that those between it and another one would occur as well.
_COMMON = 10
# More values than this are hardly different from a continuum.
_MOST_LISTED = 1000
# Values that may occur beyond those seen, in units of the range seen. One range on either side is
# needed, so that the range of a lattice that is listed is below the second number.
_BEYOND = 3.0
_MOST_RANGE = _MOST_LISTED / 3.0
_ROUNDING = 1e-9
# Significant digits of a step that is written with few digits, such as 0.1, and by how many of the
# last digits of float64 its multiples may be off. A power of ten beyond the third number overflows.
_DIGITS = 12
_LAST_DIGITS = 4.0
_MOST_DECIMALS = 300


@dataclass(frozen=True)
class Support:
    """The values that outcomes can take, for the parameter ``support`` of recalibrators.

    Forecasts then have atoms there, quantiles are values that can occur, and nothing lies outside
    the range. A lattice is listed in the range of the outcomes and beyond. If that takes more than
    1,000 values, such as for counts above 500, outcomes are treated as continuous between the ends.

    Parameters
    ----------
    low, high : float, optional
        Ends of the range. Without `step` and `values` outcomes are continuous between them and
        pile up at these ends, as rain does at 0.
    step : float, optional
        Outcomes are whole multiples of `step`, counted from `low`, or else from `high`, or else
        from 0. Counts have a step of 1 and a `low` of 0.
    values : sequence of float, optional
        Outcomes take these values only, such as ratings.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.Support(step=1, low=0)  # counts
    Support(low=0.0, step=1.0)
    >>> tl.Support(values=[1, 2, 3, 4, 5])  # ratings
    Support(values=(1.0, 2.0, 3.0, 4.0, 5.0))
    >>> R = tl.Isotonic(support=tl.Support(low=0)).fit([0, 0, 2.5], tl.Point([1.0, 1.0, 1.0]))
    >>> R.transform(tl.Point([0.2])).interval(0.3)[0]
    array([0.])
    """

    low: float | None = None
    high: float | None = None
    step: float | None = None
    values: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _number(getattr(self, name), name))
        if self.step is not None and self.step <= 0:
            raise ValueError(f"step is {self.step}; expected a number above 0.")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low} and high is {self.high}; expected low < high.")
        if self.values is not None:
            if self.step is not None or self.low is not None or self.high is not None:
                raise ValueError(
                    "values is given with low, high or step; expected one or the other."
                )
            if not isinstance(self.values, Iterable):
                raise ValueError(f"values is {self.values!r}; expected a sequence of numbers.")
            found = sorted({_number(v, "values") for v in self.values})
            if len(found) < 2:
                raise ValueError(
                    f"values holds {len(found)} different numbers; expected 2 or more."
                )
            object.__setattr__(self, "values", tuple(found))
        elif self.step is None and self.low is None and self.high is None:
            raise ValueError("a Support needs low, high, step or values; expected one of them.")

    def __repr__(self) -> str:
        """Return the constructor call, without what is not given."""
        given = {k: v for k, v in self.to_json().items() if v is not None}
        return f"Support({', '.join(f'{k}={v!r}' for k, v in given.items())})"

    def to_json(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in ("low", "high", "step", "values")}

    def check(self, y: FloatArray) -> None:
        """Raise unless all outcomes are possible; the error names the rows.

        Examples
        --------
        >>> import numpy as np
        >>> import trueline as tl
        >>> tl.Support(step=1, low=0).check(np.array([0.0, 3.0]))
        """
        bad, wanted = self._excluded(y)
        if bad.any():
            rows = np.flatnonzero(bad)
            some = ", ".join(str(i) for i in rows[:5]) + (", ..." if len(rows) > 5 else "")
            raise ValueError(
                f"y holds {y[rows[0]]:g} in row {rows[0]}, which the support {self!r} excludes "
                f"({len(rows)} of {len(y)} rows: {some}); expected {wanted}. Fix the rows, or "
                f"state another support; support=None allows every number."
            )

    def _excluded(self, y: FloatArray) -> tuple[NDArray[np.bool_], str]:
        """Return whether each outcome is impossible, and what is expected instead."""
        bad = np.zeros(len(y), dtype=bool)
        wanted = ""
        if self.values is not None:
            bad = ~np.isin(y, self.values)
            wanted = f"one of {', '.join(f'{v:g}' for v in self.values[:10])}"
            wanted += ", ..." if len(self.values) > 10 else ""
        if self.step is not None:
            places = (y - self._origin) / self.step
            bad |= np.abs(places - np.round(places)) > _ROUNDING * np.maximum(np.abs(places), 1.0)
            wanted = f"a multiple of {self.step:g} from {self._origin:g}"
        if self.low is not None:
            bad |= y < self.low
            wanted += f"{' and ' if wanted else ''}a number of {self.low:g} or more"
        if self.high is not None:
            bad |= y > self.high
            wanted += f"{' and ' if wanted else ''}a number of {self.high:g} or less"
        return bad, wanted

    @property
    def _origin(self) -> float:
        ends = [end for end in (self.low, self.high) if end is not None]
        return ends[0] if ends else 0.0

    def atoms(self, y: FloatArray) -> Atoms | None:
        """Return the atoms, with cuts halfway between values, given outcomes that show the range.

        The result is None if the values are too many to differ from a continuum.
        """
        if self.values is not None:
            return _lattice(np.asarray(self.values))
        if self.step is not None:
            first, last = ((end - self._origin) / self.step for end in (y.min(), y.max()))
            low = first if self.low is None else (self.low - self._origin) / self.step
            high = last if self.high is None else (self.high - self._origin) / self.step
            open_low, open_high = self.low is None, self.high is None
            room = np.floor((_MOST_LISTED - 1 - (high - low)) / max(open_low + open_high, 1))
            if room >= (last - first if open_low or open_high else 0.0):
                reach = min(np.ceil(max(_BEYOND * (last - first), 10.0)), room)
                low, high = low - reach * open_low, high + reach * open_high
                places = np.arange(np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING) + 1.0)
                multiples = self._origin + self.step * places
                largest = np.maximum(np.abs(multiples), self.step)
                return _lattice(_decimal(multiples, self.step, largest))
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        ends = np.array([end for end in (low, high) if np.isfinite(end)])
        return Ends(low, high, ends) if len(ends) else None


def _lattice(values: FloatArray) -> Lattice:
    return Lattice(values, 0.5 * (values[1:] + values[:-1]))


def _decimal(values: FloatArray, step: float, largest: FloatArray | float) -> FloatArray:
    """Return numbers with few digits where values differ from them by rounding, such as 3 * 0.1.

    The rounding error is that of numbers of the magnitude `largest`.
    """
    decimals = _DIGITS - 1 - int(np.floor(np.log10(step)))
    if abs(decimals) > _MOST_DECIMALS:
        return values
    near = np.round(values, decimals)
    return np.where(np.abs(near - values) <= _LAST_DIGITS * np.spacing(largest), near, values)


def _number(value: Any, name: str) -> float:
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer may be beyond float64
            if np.isfinite(float(value)):
                return float(value)
    raise ValueError(f"{name} holds {value!r}; expected finite numbers.")


def learn_support(y: FloatArray) -> Support | None:
    """Return the support of outcomes that have atoms; None if they have none.

    At least 30 outcomes are needed. They have atoms if they take at most 50 values, or 200 whole
    numbers, with five rows or more for each on average (counts and ratings), or if one end of their
    range holds at least 1% of the rows, and far more than other values do.

    Values between and beyond those seen are possible if the values are evenly spaced, as counts
    are. They are not if so many rows are beside them that some would have been there.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.distributions import learn_support
    >>> rng = np.random.default_rng(0)
    >>> learn_support(rng.poisson(1.0, size=500).astype(float))
    Support(low=0.0, step=1.0)
    >>> learn_support(np.maximum(rng.normal(size=500), 0.0))
    Support(low=0.0)
    >>> learn_support(rng.normal(size=500)) is None
    True
    """
    if is_continuous(y):
        return None
    n = len(y)
    least = max(_FEWEST_AT_END, _SHARE_AT_END * n)
    values, counts = np.unique(y, return_counts=True)
    if len(values) < 2:
        return None
    whole = values[-1] - values[0] < _MOST_RANGE and (values == np.floor(values)).all()
    most = _MOST_WHOLE if whole else _MOST_VALUES
    if len(values) <= most and n >= _ROWS_PER_VALUE * len(values):
        return _discrete(values, counts)
    least = max(least, _TIMES_ORDINARY * float(np.median(counts)))
    low = float(values[0]) if counts[0] >= least else None
    high = float(values[-1]) if counts[-1] >= least else None
    return None if low is None and high is None else Support(low=low, high=high)


def is_continuous(y: FloatArray) -> bool:
    """Whether `learn_support` finds at once, without sorting, that outcomes have no atoms.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.distributions import is_continuous
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> is_continuous(y), is_continuous(np.maximum(y, 0.0))
    (True, False)
    """
    n = len(y)
    if n < _FEWEST_ROWS:
        return True
    if len(set(y[: _MOST_VALUES + 1].tolist())) <= _MOST_VALUES:
        return False
    least = max(_FEWEST_AT_END, _SHARE_AT_END * n)
    starts = np.arange(0, n, _PART)
    for extreme, of_parts in ((np.minimum, min), (np.maximum, max)):
        ends = extreme.reduceat(y, starts).tolist()
        end = of_parts(ends)
        # Few parts of continuous outcomes reach the end, so that few rows are compared with it.
        reaching = (_PART * i for i, at in enumerate(ends) if at == end)
        if sum(np.count_nonzero(y[i : i + _PART] == end) for i in reaching) >= least:
            return False
    return True


def _discrete(values: FloatArray, counts: Any) -> Support:
    """Return the support of outcomes that take few values."""
    places = (values - values[0]) / np.diff(values).min()
    # The whole range gives the step with the smallest rounding error.
    step = (values[-1] - values[0]) / max(np.round(places[-1]), 1.0)
    step = float(_decimal(step, float(step), float(np.abs(values).max())))
    regular = np.abs(places - np.round(places)).max() <= _ROUNDING * max(places[-1], 1.0)
    # No row takes a value between two that many rows take, so such values are impossible.
    common = counts >= _COMMON
    regular &= not ((np.diff(places) > 1.5) & common[1:] & common[:-1]).any()
    if not regular or places[-1] >= _MOST_RANGE:
        return Support(values=values.tolist())
    low = float(values[0]) if _is_bound(int(counts[0]), int(counts[1]), float(places[1])) else None
    last = int(counts[-1]), int(counts[-2]), float(places[-1] - places[-2])
    high = float(values[-1]) if _is_bound(*last) else None
    # Outcomes that are never negative, such as counts, stay so.
    through_zero = abs(values[0] / step - round(values[0] / step)) <= _ROUNDING
    if low is None and values[0] >= 0 and through_zero:
        low = 0.0
    if low is None and high is None and not through_zero:
        return Support(values=values.tolist())
    return Support(low=low, high=high, step=step)


def _is_bound(at_end: int, beside: int, distance: float) -> bool:
    """Whether outcomes end at a value, given the rows there and at the next, in `distance` steps.

    If they went on, as the tail of counts does, they would fall at least as fast as between the
    two. So many rows that some would be expected beyond the value show that nothing is there.
    """
    fall = min(at_end / beside, 1.0) if distance < 1.5 else 1.0
    return at_end * fall >= _FEWEST_AT_END
