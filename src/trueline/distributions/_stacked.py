"""Forecasts whose rows come from several others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions._abstract import Distribution
from trueline.distributions._atoms import Atoms
from trueline.distributions._disagreement import Lines
from trueline.laws import Function, Law, ScoreLaw


def _by_part(name: str) -> Any:
    """Make a method that calls the method of each part on its rows of the arrays, if any."""

    def method(self: Stacked, *arrays: FloatArray) -> FloatArray:
        out = np.empty((len(self), *(arrays[0].shape[1:] if arrays else ())))
        for part, rows in self._parts():
            out[rows] = getattr(part, name)(*(a if len(a) == 1 else a[rows] for a in arrays))
        return out

    return method


def _several_by_part(name: str, count: int) -> Any:
    """Make a method that calls the method of each part on its rows; it returns several arrays."""

    def method(self: Stacked, *arrays: FloatArray) -> tuple[FloatArray, ...]:
        out = np.empty((count, len(self), arrays[0].shape[1]))
        for part, rows in self._parts():
            out[:, rows] = getattr(part, name)(*(a if len(a) == 1 else a[rows] for a in arrays))
        return tuple(out)

    return method


class Stacked(Distribution):
    """Forecasts of different kinds or laws, combined row by row.

    Parameters
    ----------
    parts : sequence of Distribution
    rows : sequence of integer arrays
        The row numbers that each part fills; together these are 0 to n - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.distributions import Normal, Laplace, Stacked
    >>> parts = [Normal([0.0, 2.0], 1.0), Laplace(1.0, 1.0)]
    >>> Stacked(parts, [np.array([0, 2]), np.array([1])]).mean()
    array([0., 1., 2.])
    """

    _kind: ClassVar[str] = "several kinds"

    def __init__(self, parts: Sequence[Distribution], rows: Sequence[Rows]) -> None:
        self.parts = list(parts)
        self.rows = list(rows)
        self._length = sum(len(r) for r in self.rows)
        kinds = {part.score_kind for part in self.parts}
        if len(kinds) > 1:
            raise ValueError(
                f"parts have scores of different kinds ({', '.join(sorted(kinds))}); "
                f"expected one kind."
            )
        self.score_kind = kinds.pop()  # type: ignore[misc]  # that of the parts
        self._closed_crps = all(part._closed_crps for part in self.parts)  # type: ignore[misc]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    def _take(self, rows: Rows) -> Distribution:
        owner = np.empty(len(self), dtype=np.intp)
        place = np.empty(len(self), dtype=np.intp)
        for i, r in enumerate(self.rows):
            owner[r] = i
            place[r] = np.arange(len(r))
        # One sort finds the rows of all parts, however many there are.
        chosen = owner[rows]
        order = np.argsort(chosen, kind="stable")
        used, first = np.unique(chosen[order], return_index=True)
        where = np.split(order, first[1:])
        parts = [self.parts[i]._take(place[rows[w]]) for i, w in zip(used, where, strict=True)]
        return Stacked(parts, where)

    def _parts(self) -> list[tuple[Distribution, Rows]]:
        return list(zip(self.parts, self.rows, strict=True))

    @property
    def _supported(self) -> tuple[float, float]:
        lows, highs = zip(*(part._supported for part in self.parts), strict=True)
        return max(lows), min(highs)

    @property
    def _n_fit(self) -> float | None:
        """Number of rows with the sampling noise of these maps; the sum if all shares agree."""
        noise = 0.0
        for part, rows in self._parts():
            if part._n_fit is None:
                return None
            noise += (len(rows) / len(self)) ** 2 / part._n_fit
        return 1.0 / noise

    @property
    def _name(self) -> str:
        names = {part._name for part in self.parts}
        return names.pop() if len(names) == 1 else type(self).__name__

    @property
    def _atoms(self) -> Atoms | None:
        atoms = self.parts[0]._atoms
        return atoms if all(part._atoms == atoms for part in self.parts) else None

    def _uncut(self) -> Distribution:
        return Stacked([part._uncut() for part in self.parts], self.rows)

    @property
    def _smooth(self) -> bool:
        return all(part._smooth for part in self.parts)

    @property
    def _may_have_atoms(self) -> bool:
        return any(part._may_have_atoms for part in self.parts)

    def _has_atoms(self) -> bool:
        return any(part._has_atoms() for part in self.parts)

    _cdf = _by_part("_cdf")
    _cdf_left = _by_part("_cdf_left")
    _sf = _by_part("_sf")
    _logcdf = _by_part("_logcdf")
    _logsf = _by_part("_logsf")
    _logpdf = _by_part("_logpdf")
    _ppf = _by_part("_ppf")
    _isf = _by_part("_isf")
    _crps = _by_part("_crps")
    _score = _by_part("_score")
    _unscore = _by_part("_unscore")
    _log_slope = _by_part("_log_slope")
    _mean = _by_part("_mean")
    _var = _by_part("_var")
    _expected_distance = _by_part("_expected_distance")
    _atom_mass = _by_part("_atom_mass")
    _cdf_and_slope = _several_by_part("_cdf_and_slope", 2)
    _score_bounds = _several_by_part("_score_bounds", 2)
    _pit_bounds = _several_by_part("_pit_bounds", 2)
    _integrals = _several_by_part("_integrals", 3)

    def _lines(self, edges: FloatArray) -> Lines:
        out = np.empty((3, len(self), edges.shape[1], edges.shape[2] - 1))
        for part, rows in self._parts():
            out[:, rows] = part._lines(edges[rows])
        return Lines(*out)

    def _interval(self, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = np.empty((2, len(self), *coverage.shape))
        for part, rows in self._parts():
            lower[rows], upper[rows] = part._interval(coverage)
        return lower, upper

    def _interval_mass(self, coverage: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
        mass = np.empty(len(self))
        for part, rows in self._parts():
            mass[rows] = part._interval_mass(coverage, lower[rows], upper[rows])
        return mass

    def _expect(self, func: Function) -> FloatArray:
        out = np.empty(len(self))
        for part, rows in self._parts():
            out[rows] = part._expect(func)
        return out

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return Stacked([part._recalibrate(law) for part in self.parts], self.rows)

    def _continuous(self) -> Distribution:
        return Stacked([part._continuous() for part in self.parts], self.rows)

    def _widened(self, e: float) -> Distribution:
        parts = [part._widened(e) for part in self.parts]
        if all(wide is part for wide, part in zip(parts, self.parts, strict=True)):
            return self
        return Stacked(parts, self.rows)

    def _learned_laws(self) -> list[Law]:
        return [law for part in self.parts for law in part._learned_laws()]


def stack(parts: Sequence[Distribution], rows: Sequence[Rows]) -> Distribution:
    """Combine forecasts row by row; parts of one class become that class, which is faster.

    Parameters
    ----------
    parts, rows
        As for `Stacked`.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.distributions import Normal, stack
    >>> stack([Normal([0.0, 2.0], 1.0), Normal(1.0, 1.0)], [np.array([0, 2]), np.array([1])]).loc
    array([0., 1., 2.])
    """
    order = np.argsort(np.concatenate(rows), kind="stable")
    if len(parts) == 1:
        return parts[0]._take(order)
    names = parts[0]._row_parameters
    make: Any = type(parts[0])
    if not names or any(type(part) is not make for part in parts):
        return Stacked(parts, rows)
    columns = [[getattr(part, name) for part in parts] for name in names]
    if len({a.shape[1:] for a in columns[0]}) > 1:  # different numbers of draws
        return Stacked(parts, rows)
    joined: Distribution = make(*(np.concatenate(column) for column in columns))
    return joined._take(order)
