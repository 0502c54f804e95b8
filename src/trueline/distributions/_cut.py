"""Forecasts with atoms, made from continuous ones by cutting them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions._abstract import Distribution
from trueline.distributions._atoms import Atoms
from trueline.distributions._mixture import Mixture
from trueline.laws import Function, Law, ScoreLaw


class Cut(Distribution):
    """A forecast with atoms: that of T(X), where X has a continuous forecast. See `Support`.

    ``pmf`` gives the mass of an atom. ``pdf`` and ``logpdf`` give that mass at atoms and the
    density elsewhere, so that the log score of discrete outcomes is the usual one. Made by
    ``transform`` of maps whose outcomes have atoms.

    Parameters
    ----------
    base : Distribution
        The forecast of X.
    atoms : Atoms
        The map T.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y, F = rng.poisson(2.0, size=2000), tl.Normal(np.full(2000, 2.0), 1.4)
    >>> G = tl.Isotonic().fit(y, F).transform(F[[0]])
    >>> G
    Normal(1 row) with atoms, recalibrated by Isotonic on 2,000 rows
    >>> G.pmf([[0, 1, 2]]).round(1), G.interval(0.9)
    (array([[0.1, 0.3, 0.3]]), (array([0.]), array([4.])))
    """

    _may_have_atoms = True
    _smooth = False

    def __init__(self, base: Distribution, atoms: Atoms) -> None:
        self.base = base
        self.atoms = atoms
        self.score_kind = base.score_kind  # type: ignore[misc]  # that of the base forecast

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.base)

    def _take(self, rows: Rows) -> Distribution:
        return Cut(self.base._take(rows), self.atoms)

    @property
    def _name(self) -> str:
        return self.base._name

    @property
    def _atoms(self) -> Atoms:
        return self.atoms

    def _uncut(self) -> Distribution:
        return self.base

    @property
    def _supported(self) -> tuple[float, float]:
        return self.base._supported

    @property
    def _n_fit(self) -> float | None:
        return self.base._n_fit

    def _has_atoms(self) -> bool:
        return True

    def _at_finite(self, name: str, x: FloatArray, low: float, high: float) -> FloatArray:
        """Call a method of the base at x; `low` and `high` are its values at the infinities."""
        finite = np.isfinite(x)
        shape = (len(self), x.shape[1])
        found = getattr(self.base, name)(np.where(finite, x, 0.0))
        ends = np.where(x > 0, high, low)
        return np.where(np.broadcast_to(finite, shape), found, np.broadcast_to(ends, shape))

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._at_finite("_cdf", self.atoms.upper(y), 0.0, 1.0)

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        name = "_cdf" if self.atoms.closed_below else "_cdf_left"
        return self._at_finite(name, self.atoms.lower(y), 0.0, 1.0)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._at_finite("_sf", self.atoms.upper(y), 1.0, 0.0)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._at_finite("_logcdf", self.atoms.upper(y), -np.inf, 0.0)

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._at_finite("_logsf", self.atoms.upper(y), 0.0, -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self.atoms.outcome(self.base._ppf(q))

    def _isf(self, q: FloatArray) -> FloatArray:
        return self.atoms.outcome(self.base._isf(q))

    def _expect(self, func: Function) -> FloatArray:
        return self.atoms.expect(self.base, func)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        upper, lower = self.atoms.upper(y), self.atoms.lower(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = np.log(self._cdf(y) - self._cdf_left(y))
            density = self._at_finite("_logpdf", upper, -np.inf, -np.inf)
            density = density + self.atoms.log_slope(y)
        return np.where(np.broadcast_to(upper > lower, mass.shape), mass, density)

    def _mean(self) -> FloatArray:
        return self.atoms.mean(self.base)

    def _var(self) -> FloatArray:
        return self.atoms.var(self.base)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self.atoms.crps(self.base, y)

    def _score(self, y: FloatArray) -> FloatArray:
        return self.base._score(self.atoms.inner(y))

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = self.atoms.lower(y), self.atoms.upper(y)
        low, high = (self._at_finite("_score", x, -np.inf, np.inf) for x in (lower, upper))
        # The base may have atoms of its own, off the atoms and where one of them begins.
        own_low, own_high = self.base._score_bounds(self.atoms.inner(y))
        on_atom = upper > lower
        use_low = on_atom & (np.isinf(lower) | self.atoms.closed_below)
        return np.where(use_low, low, own_low), np.where(on_atom, high, own_high)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.atoms.outer(self.base._unscore(s))

    def _grid(self, z: FloatArray) -> FloatArray:
        inner = self.atoms.outcome(self.base._grid(z))
        values = np.broadcast_to(self.atoms.values, (len(inner), len(self.atoms.values)))
        return np.sort(np.concatenate([inner, values], axis=1), axis=1)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return Cut(self.base._recalibrate(law), self.atoms)

    def _continuous(self) -> Distribution:
        return self.base._continuous()

    def _widened(self, e: float) -> Distribution:
        base = self.base._widened(e)
        return self if base is self.base else Cut(base, self.atoms)

    def _learned_laws(self) -> list[Law]:
        return self.base._learned_laws()


def average(parts: Sequence[Distribution]) -> Distribution:
    """Return the equal mixture of forecasts; forecasts with common atoms keep them.

    Examples
    --------
    >>> from trueline.distributions import Normal, average
    >>> average([Normal([0.0], 1.0), Normal([4.0], 1.0)]).mean()
    array([2.])
    """
    if len(parts) == 1:
        return parts[0]
    atoms = parts[0]._atoms
    if atoms is None or any(part._atoms != atoms for part in parts):
        return Mixture(parts)
    return Cut(Mixture([part._uncut() for part in parts]), atoms)
