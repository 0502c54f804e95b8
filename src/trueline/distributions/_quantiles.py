"""Forecasts given by their values at common levels."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from trueline._labels import labels_of
from trueline._validation import CalibrationWarning, FloatArray, Rows, increasing_levels, matrix
from trueline.distributions._abstract import Distribution, ThroughLaw
from trueline.laws import Function, Law, NormalLaw, ScoreLaw, count_in_rows, expected

# Number of levels of an outermost value from which it counts as a bound of the outcomes.
_LEVELS_OF_A_BOUND = 3


class _Pieces(NamedTuple):
    """Integrals of the law over each linear piece of the score; the tails are first and last.

    With v the distance of the score from the anchor of the piece, these are its mass and the
    integrals of v and v^2 against the law, of R, and of R (1 - R).
    """

    mass: FloatArray
    first: FloatArray
    second: FloatArray
    area: FloatArray
    dispersion: FloatArray


# Number of kinks up to which quadrature resolves each of them.
_FEW_KINKS = 32


class Interpolated(ThroughLaw):
    """The score is piecewise linear in y, through common nodes.

    ``values[i, j]`` has score ``nodes[j]`` in row i. Between nodes the score is linear. Outside
    it continues along the chord from the centre node to the end, because the last spacing
    alone may be almost 0. Equal neighbours are atoms. The subclass gives the law of the score.
    """

    values: FloatArray
    nodes: FloatArray
    law: ScoreLaw
    _closed_crps: ClassVar[bool] = True
    _exact_integrals: ClassVar[bool] = True
    _may_have_atoms = True

    @property
    def _smooth(self) -> bool:
        # Panels are divided at a few kinks; many are like noise.
        return self.values.shape[1] <= _FEW_KINKS

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    @cached_property
    def _ends(self) -> FloatArray:
        """Rise of y per unit of score outside the nodes, (n, 2), above 0."""
        v, s = self.values, self.nodes
        middle = min(max(int(np.searchsorted(s, 0.0)), 1), len(s) - 2) if len(s) > 2 else 0
        low = (v[:, middle] - v[:, 0]) / (s[middle] - s[0]) if middle else None
        high = (v[:, -1] - v[:, middle]) / (s[-1] - s[middle])
        rise = np.stack([high if low is None else low, high], axis=1)
        # A side without spread, up to rounding, takes that of the other side; a row without any
        # gets one just large enough to keep its scores finite.
        widest = rise.max(axis=1, keepdims=True)
        rise = np.where(rise > 1e-8 * widest, rise, widest)
        least = 1e-9 * np.abs(v[:, [middle, middle]])
        return np.where(rise > 0, rise, np.where(least > 1e-100, least, 1e-9))

    @cached_property
    def _rises(self) -> FloatArray:
        """Rise of y per unit of score on each piece, (n, m + 1)."""
        inner = np.diff(self.values, axis=1) / np.diff(self.nodes)
        return np.concatenate([self._ends[:, :1], inner, self._ends[:, 1:]], axis=1)

    @cached_property
    def _pieces(self) -> _Pieces:
        law, s = self.law, self.nodes
        cdf = law.cdf(s)
        area, moment, _ = law.moments(s, 1)
        square = law.moments(s, 2)[0]
        # Integrals below each node of (s - node) and (s - node)^2 against the law.
        first, second = -area, -2.0 * (moment - s * area)
        step = np.diff(s)
        above = law.mean - s[-1] - first[-1]
        spread = law.var + (law.mean - s[-1]) ** 2 - second[-1]
        d_area = np.diff(area)
        rest = law.dispersion - (area[-1] - square[-1])
        return _Pieces(
            mass=np.concatenate([cdf[:1], np.diff(cdf), law.sf(s[-1:])]),
            first=np.concatenate([first[:1], step * cdf[1:] - d_area, [above]]),
            second=np.concatenate(
                [
                    second[:1],
                    step**2 * cdf[1:] - 2.0 * (np.diff(moment) - s[:-1] * d_area),
                    [spread],
                ]
            ),
            area=np.concatenate([area[:1], d_area]),
            dispersion=np.concatenate([area[:1] - square[:1], d_area - np.diff(square), [rest]]),
        )

    def _locate(self, y: FloatArray, *, strict: bool = False) -> Rows:
        """Index of the last value at (or, if strict, below) y in each row; -1 if none."""
        return count_in_rows(self.values, y, strict=strict) - 1

    def _score_at(self, y: FloatArray, j: Rows) -> FloatArray:
        return self._score_and_rise(y, j)[0]

    def _score_and_rise(self, y: FloatArray, j: Rows) -> tuple[FloatArray, FloatArray]:
        """Score, and rise of y per unit of score, of values in these pieces."""
        anchor = np.maximum(j, 0)
        offset = y - _columns(self.values, anchor)
        rise = _columns(self._rises, j + 1)
        # At an atom the rise is 0, and so is the offset.
        with np.errstate(divide="ignore", invalid="ignore"):
            s = self.nodes[anchor] + np.where(offset == 0.0, 0.0, offset / rise)
        # Rounding must not carry a value past the score of the next one.
        return np.minimum(s, np.append(self.nodes, np.inf)[j + 1]), rise

    def _score(self, y: FloatArray) -> FloatArray:
        return self._score_at(y, self._locate(y))

    def _unscore(self, s: FloatArray) -> FloatArray:
        j = np.searchsorted(self.nodes, s, side="right")
        anchor = np.maximum(j - 1, 0)
        offset = s - self.nodes[anchor]
        if s.shape[0] == 1:
            return self.values[:, anchor[0]] + self._rises[:, j[0]] * offset
        start = np.take_along_axis(self.values, anchor, axis=1)
        return start + np.take_along_axis(self._rises, j, axis=1) * offset

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self.law.cdf_left(self._score_at(y, self._locate(y, strict=True)))

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        # As in `_pit_bounds`, with the levels of the nodes themselves.
        first, last = self._locate(y, strict=True) + 1, self._locate(y)
        s = self._score_at(y, last)
        on_value = last >= first
        if on_value.any():
            on_value &= (np.diff(self.values, axis=1) == 0).any(axis=1, keepdims=True)
        if not on_value.any():
            return s, s
        levels = np.concatenate([[0.0], ndtr(self.nodes), [1.0]])
        middles = np.asarray(ndtri(0.5 * (levels[1:] + levels[:-1])))
        return np.where(on_value, middles[first], s), np.where(on_value, middles[last + 1], s)

    def _pit_bounds(self, y: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._step_at(y, cdf)

    def _atom_mass(self, y: FloatArray) -> FloatArray:
        # The true step ends somewhere between two levels, on average in the middle.
        lower, upper = self._step_at(y, self._cdf(y), halve_atoms=True)
        return upper - lower

    def _step_at(
        self, y: FloatArray, cdf: FloatArray, *, halve_atoms: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Ends of the step of the CDF at y; beside a continuous part atoms need not be halved."""
        first, last = self._locate(y, strict=True) + 1, self._locate(y)
        lower = self._cdf_left(y) if self.law.has_atoms or (last > first).any() else cdf
        if not (last >= first).any():
            return lower, cdf
        # In a discrete forecast the mass between the levels of two neighbouring values belongs to
        # both, half to each. Level j of the nodes is at position j + 1.
        right = np.concatenate([[0.0], self.law.cdf(self.nodes), [1.0]])
        left = np.concatenate([[0.0], self.law.cdf_left(self.nodes), [1.0]])
        halved = (last >= first) & self._is_discrete()[:, None]
        halved |= halve_atoms & (last > first)
        lower = np.where(halved, 0.5 * (right[first] + left[first + 1]), lower)
        upper = np.where(halved, 0.5 * (right[last + 1] + left[last + 2]), cdf)
        # An outermost value with several levels is a bound, such as 0 for rain and for counts,
        # because a tail beyond it would hold more than one level.
        bound = last - first >= _LEVELS_OF_A_BOUND - 1
        lower = np.where(bound & (first == 0), 0.0, lower)
        return lower, np.where(bound & (last == len(self.nodes) - 1), 1.0, upper)

    def _is_discrete(self) -> NDArray[np.bool_]:
        """Whether two atoms without a value between them show that a row has nothing but atoms.

        A single atom, such as the 0 of rain, may lie beside a continuous part.
        """
        same = np.diff(self.values, axis=1) == 0
        # An atom, a step to another value, and an atom there: equal, different, equal.
        return (same[:, :-2] & ~same[:, 1:-1] & same[:, 2:]).any(axis=1)

    def _interval_mass(self, coverage: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
        if not self._has_atoms():
            return np.full(len(self), coverage)
        low, high = lower[:, None], upper[:, None]
        below = self._pit_bounds(low, self._cdf(low))[0]
        return (self._pit_bounds(high, self._cdf(high))[1] - below)[:, 0]

    def _has_atoms(self) -> bool:
        return bool((np.diff(self.values, axis=1) == 0).any()) or self.law.has_atoms

    def _logpdf(self, y: FloatArray) -> FloatArray:
        s, rise = self._score_and_rise(y, self._locate(y))
        return self.law.logpdf(s) - np.log(rise)

    def _cdf_and_slope(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        s, rise = self._score_and_rise(y, self._locate(y))
        cdf, slope = self.law.cdf_and_slope(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope /= rise
        return cdf, slope

    def _grid(self, z: FloatArray) -> FloatArray:
        smooth = self._unscore(self.law.edges(z))
        return np.sort(np.concatenate([smooth, self.values], axis=1), axis=1)

    def _offset(self) -> FloatArray:
        """Mean less the first value, (n,), from differences only, so that it keeps its digits."""
        # The rise of a piece counts in full for the mass above it and in part for its own mass.
        pieces = self._pieces
        above = np.cumsum(pieces.mass[::-1])[::-1]
        weights = pieces.first.copy()
        weights[1:-1] += np.diff(self.nodes) * above[2:]
        return self._rises @ weights

    def _mean(self) -> FloatArray:
        return self.values[:, 0] + self._offset()

    def _var(self) -> FloatArray:
        # The anchor of the lower tail is the first node, that of any other piece the node below.
        pieces = self._pieces
        w = (self.values - self.values[:, :1]) - self._offset()[:, None]
        w = np.concatenate([w[:, :1], w], axis=1)
        k = self._rises
        var = (w * w) @ pieces.mass + 2.0 * (w * k) @ pieces.first + (k * k) @ pieces.second
        return np.maximum(var, 0.0)

    def _crps(self, y: FloatArray) -> FloatArray:
        # 2 (integral of G below y) - y + mean - (integral of G (1 - G)).
        pieces = self._pieces
        j = self._locate(y)
        t, rise = self._score_and_rise(y, j)
        below = np.zeros_like(self._rises)
        np.cumsum(self._rises[:, :-1] * pieces.area, axis=1, out=below[:, 1:])
        start = np.concatenate([[0.0], np.cumsum(pieces.area)])
        area = _columns(below, j + 1)
        area += rise * (self.law.integral(t) - start[j + 1])
        rest = self._offset() - self._rises @ pieces.dispersion
        return 2.0 * area + ((self.values[:, :1] - y) + rest[:, None])

    def _expected_distance(self) -> FloatArray:
        return 2.0 * (self._rises @ self._pieces.dispersion)

    def _integrals(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Each integral up to the node below x, from sums over the pieces, and the rest by the law.
        law, s = self.law, self.nodes
        area, square, double = law.double_integrals(s)
        j = self._locate(x)
        t = self._score_at(x, j)
        inner_area, inner_square, inner_double = law.double_integrals(t)
        step = np.diff(s)
        # The double integral over a piece from its first node on.
        pieces = np.diff(double) - step * area[:-1]
        rises, anchor = self._rises[:, :-1], np.maximum(j, 0)
        sums = [np.cumsum(rises * np.diff(whole, prepend=0.0), axis=1) for whole in (area, square)]
        wide = np.diff(self.values, axis=1)
        first = rises[:, :1] ** 2 * double[0]
        steps = sums[0][:, :-1] * wide + rises[:, 1:] ** 2 * pieces
        doubles = np.cumsum(np.concatenate([first, steps], axis=1), axis=1)
        rise = np.take_along_axis(self._rises, j + 1, axis=1)
        at = [np.take_along_axis(whole, anchor, axis=1) for whole in (*sums, doubles)]
        rest = [
            rise * (inner_area - area[anchor]),
            rise * (inner_square - square[anchor]),
            rise * at[0] * (t - s[anchor])
            + rise**2 * (inner_double - double[anchor] - (t - s[anchor]) * area[anchor]),
        ]
        found = tuple(a + b for a, b in zip(at, rest, strict=True))
        return found[0], found[1], found[2]

    def _expect(self, func: Function) -> FloatArray:
        return expected(self, self.law, func)

    def _from_score(self, s: FloatArray) -> FloatArray:
        return self._unscore(s)

    def _share_rises(self, taken: Interpolated, rows: Rows) -> Interpolated:
        """Copy the rises of some rows if they are known, because they take longer to compute."""
        if "_rises" in self.__dict__:
            taken.__dict__["_rises"] = self._rises[rows]
        return taken

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return RecalibratedQuantiles(self.values, self.nodes, law)


def _columns(a: FloatArray, j: Rows) -> FloatArray:
    """Elements of each row of a contiguous array at its own columns j, (n, k)."""
    start = np.arange(len(a)) * a.shape[1]
    return a.ravel().take(j + start[:, None])


class RecalibratedQuantiles(Interpolated):
    """A recalibrated `Quantiles` or `Samples` forecast. Made by ``transform``.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])
    >>> tl.Scaling().fit([1.0, 7.0], F).transform(F)
    Quantiles(2 rows), recalibrated by Scaling on 2 rows
    """

    def __init__(self, values: FloatArray, nodes: FloatArray, law: ScoreLaw) -> None:
        self.values = values
        self.nodes = nodes
        self.law = law

    def _take(self, rows: Rows) -> Distribution:
        taken = RecalibratedQuantiles(self.values[rows], self.nodes, self.law)
        return self._share_rises(taken, rows)

    @property
    def _name(self) -> str:
        return "Quantiles"

    def _learned_laws(self) -> list[Law]:
        return [self.law]

    def _widened(self, e: float) -> Distribution:
        if e == 0.0:
            return self
        return RecalibratedQuantiles(self.values + e * self.nodes, self.nodes, self.law)


class Quantiles(Interpolated):
    """Forecasts given by quantiles at common levels.

    Between two levels, and outside the outermost, the normal score of the CDF is linear in
    y; quantiles of a normal forecast therefore reproduce that forecast exactly.

    Parameters
    ----------
    levels : (m,) array-like
        At least two, strictly increasing, in (0, 1).
    values : (n, m) array-like
        Quantiles. Rows where they cross are sorted, with a warning. Equal neighbours are
        an atom: the mass between their levels is at that value and has no density.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])
    >>> F.cdf([2.0, 3.0]).round(4)
    array([0.5   , 0.3041])
    >>> F.ppf(0.9)
    array([4., 6.])
    """

    _kind: ClassVar[str] = "quantiles"
    law = NormalLaw()

    def __init__(self, levels: ArrayLike, values: ArrayLike) -> None:
        self.levels = increasing_levels(levels, "levels")
        v = matrix(values, "values", "m")
        self._labels = labels_of(values)
        if len(self.levels) < 2:
            raise ValueError(
                "levels holds 1 level; expected at least 2, because one quantile says nothing "
                "about the spread. Use Point for a single value."
            )
        if v.shape[1] != len(self.levels):
            raise ValueError(
                f"values has {v.shape[1]} columns but levels has {len(self.levels)}; "
                f"expected one column per level."
            )
        crossing = (v[:, 1:] < v[:, :-1]).any(axis=1)
        if crossing.any():
            warnings.warn(
                f"quantiles cross in {int(crossing.sum())} of {len(v)} rows; "
                f"those rows are sorted.",
                CalibrationWarning,
                stacklevel=2,
            )
            v = np.sort(v, axis=1)
        self.values = v
        self.nodes = np.asarray(ndtri(self.levels))

    def _take(self, rows: Rows) -> Distribution:
        return Quantiles(self.levels, self.values[rows])

    def _widened(self, e: float) -> Distribution:
        return self if e == 0.0 else Quantiles(self.levels, self.values + e * self.nodes)
