"""What a batch of predictive distributions can do."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from trueline._validation import (
    CalibrationWarning,
    FloatArray,
    RandomState,
    Rows,
    all_finite,
    as_float,
    check_no_nan,
    generator,
    levels,
)
from trueline.laws import LOG_SQRT_2PI, NormalLaw, ScoreLaw, normal_score, solve_increasing

# Normal scores up to which a probability keeps enough digits to be inverted.
_NEAR = 5.0

# A level this close to one that data support is that one: 1 - coverage is seldom exact.
_ROUNDING = 1.0 - 1e-9


class Distribution(ABC):
    """A batch of n predictive distributions, one a row.

    A subclass gives ``__len__``, ``_take``, ``_cdf``, ``_ppf`` and ``_logpdf``; the rest
    follows from them, by quadrature where there is no closed form, and is overridden
    where there is. Methods that start with an underscore work on checked float64 arrays
    of two dimensions: values y of shape (n, k), levels q of shape (1, m) or (n, m).

    Shapes of the public methods: levels ``q`` scalar give (n,), 1-D of m levels give
    (n, m). Values ``y`` scalar or (n,) give (n,); (n, k) or (1, k) give (n, k).

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 10.0], [1.0, 2.0])
    >>> F.ppf([0.1, 0.5]).round(2)
    array([[-1.28,  0.  ],
           [ 7.44, 10.  ]])
    >>> len(F), len(F[[True, False]])
    (2, 1)
    """

    #: What the score measures. A map fitted on one kind means nothing on another.
    score_kind: ClassVar[str] = "normal score"

    # ---- what a subclass gives -------------------------------------------------------

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _take(self, rows: Rows) -> Distribution:
        """Return the rows at these indices."""

    @abstractmethod
    def _cdf(self, y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _ppf(self, q: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _logpdf(self, y: FloatArray) -> FloatArray: ...

    # ---- what follows ----------------------------------------------------------------

    @property
    def _has_steps(self) -> bool:
        """Whether P(Y < y) may differ from P(Y <= y)."""
        return type(self)._cdf_left is not Distribution._cdf_left

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        """P(Y < y); differs from the CDF at atoms only."""
        return self._cdf(y)

    def _sf(self, y: FloatArray) -> FloatArray:
        return 1.0 - self._cdf(y)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self._cdf(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self._sf(y))

    def _mean(self) -> FloatArray:
        from trueline.distributions._quadrature import Quadrature

        return Quadrature(self, NormalLaw()).mean()

    def _var(self) -> FloatArray:
        from trueline.distributions._quadrature import Quadrature

        return Quadrature(self, NormalLaw()).var()

    def _crps(self, y: FloatArray) -> FloatArray:
        from trueline.distributions._quadrature import Quadrature

        return Quadrature(self, NormalLaw()).crps(y)

    def _judge(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """CDF, CRPS and log density at once, for those that share work."""
        return self._cdf(y), self._crps(y), self._logpdf(y)

    def _sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        u = rng.random((len(self), size))
        # The generator may give 0, whose quantile is minus infinity.
        return self._ppf(np.maximum(u, np.finfo(np.float64).tiny))

    def _score(self, y: FloatArray) -> FloatArray:
        return normal_score(self._logcdf(y), self._logsf(y))

    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray:
        """Log of ds/dy, which is f(y) / phi(s), at values with these scores."""
        return self._logpdf(y) + 0.5 * s * s + LOG_SQRT_2PI

    def _unscore(self, s: FloatArray) -> FloatArray:
        shape = (len(self), s.shape[1])
        target = np.broadcast_to(s, shape)
        y = np.array(np.broadcast_to(self._ppf(ndtr(np.clip(s, -_NEAR, _NEAR))), shape))
        # Further out a probability runs out of digits, so solve for the score itself.
        far = (np.abs(target) > _NEAR) & np.isfinite(target)
        if far.any():
            rows = np.broadcast_to(np.arange(len(self))[:, None], shape)[far]
            step = np.abs(y[far] - self._ppf(np.array([[0.5]]))[rows, 0])
            ends = y[far] + step * (target[far] - np.copysign(_NEAR, target[far]))
            y[far] = solve_increasing(
                self._score_excess,
                np.minimum(y[far], ends),
                np.maximum(y[far], ends),
                args=(target[far], rows),
            )
        return np.where(np.isinf(target), target, y)

    def _score_excess(self, y: FloatArray, target: FloatArray, rows: Rows) -> FloatArray:
        """How far the scores of y, each in its row, exceed the target; all of shape (m,)."""
        part = self._take(rows.astype(np.intp))
        return (part._score(y[:, None]) - target[:, None])[:, 0]

    def _grid(self, z: FloatArray) -> FloatArray:
        """Increasing values a row that resolve the distribution, from normal scores z."""
        return self._ppf(ndtr(z)[None, :])

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        """Return the distribution whose score has this law."""
        from trueline.distributions._recalibrated import RecalibratedScores

        return RecalibratedScores(self, law)

    def _continuous(self) -> Distribution:
        """Return the distribution that the score belongs to; itself unless it has steps."""
        return self

    @property
    def _supported(self) -> tuple[float, float]:
        """Levels that calibration data stand behind."""
        return (0.0, 1.0)

    # ---- the public face -------------------------------------------------------------

    def __repr__(self) -> str:
        """Return the class and the number of rows."""
        return f"{type(self).__name__}({len(self)} rows)"

    def __getitem__(self, rows: Any) -> Distribution:
        """Return some of the rows: an integer, a slice, a mask or an array of indices."""
        try:
            if isinstance(rows, slice):  # which costs what it selects, however many rows there are
                index = np.arange(*rows.indices(len(self)))
            else:
                index = np.arange(len(self))[rows]
        except IndexError as error:
            raise IndexError(f"rows of a {self!r} cannot be selected: {error}.") from None
        if np.ndim(index) > 1 or np.size(index) == 0:
            raise IndexError(
                f"the selection from a {self!r} has shape {np.shape(index)}; "
                f"expected at least one row, in one dimension."
            )
        return self._take(np.atleast_1d(index))

    def _values(self, y: ArrayLike) -> tuple[FloatArray, bool]:
        """Check values; return them with two dimensions, and whether the caller gave fewer."""
        a = as_float(y, "y")
        check_no_nan(a, "y")
        n = len(self)
        if a.ndim == 0:
            a, flat = a[None, None], True
        elif a.ndim == 1:
            if len(a) != n:
                raise ValueError(
                    f"y has {len(a)} values but the forecast has {n} rows; expected one value a "
                    f"row. For several values a row pass shape ({n}, k) or (1, k): y[None, :]."
                )
            a, flat = a[:, None], True
        elif a.ndim == 2 and a.shape[0] in (1, n):
            flat = False
        else:
            raise ValueError(
                f"y has shape {a.shape} but the forecast has {n} rows; "
                f"expected a scalar, ({n},), ({n}, k) or (1, k)."
            )
        if a.size == 0:
            raise ValueError("y is empty; expected at least one value.")
        return a, flat

    def _at(self, name: str, y: ArrayLike, limit: float | None = None) -> FloatArray:
        """Call a method on checked values; `limit` is its value at plus and minus infinity."""
        a, flat = self._values(y)
        endless = None if limit is None or all_finite(a) else np.isinf(a)
        # Squares may overflow far out, where densities are 0.
        with np.errstate(over="ignore"):
            out: FloatArray = getattr(self, name)(a if endless is None else np.where(endless, 0, a))
        if out.shape[0] != len(self):
            out = np.broadcast_to(out, (len(self), out.shape[1])).copy()
        if endless is not None and limit is not None:
            out[np.broadcast_to(endless, out.shape)] = limit
        return out[:, 0] if flat else out

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probability of a value at or below y.

        Parameters
        ----------
        y : array-like, scalar, (n,), (n, k) or (1, k)

        Returns
        -------
        ndarray, (n,) or (n, k)

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 1.0], 1.0).cdf(0.0).round(4)
        array([0.5   , 0.1587])
        """
        return self._at("_cdf", y)

    def sf(self, y: ArrayLike) -> FloatArray:
        """Probability of a value above y, with its own relative precision.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal(0, 1).sf(20.0)
        array([2.75362412e-89])
        """
        return self._at("_sf", y)

    def logcdf(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the CDF, finite far beyond where the CDF is 0 in floating point.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal(0, 1).logcdf(-60.0).round(2)
        array([-1805.01])
        """
        return self._at("_logcdf", y)

    def logsf(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the survival function.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal(0, 1).logsf(60.0).round(2)
        array([-1805.01])
        """
        return self._at("_logsf", y)

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log density.

        Where a distribution has atoms this is the density of its continuous part; the
        class says so.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal(0, 1).logpdf(60.0).round(4)
        array([-1800.9189])
        """
        return self._at("_logpdf", y, limit=-np.inf)

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Density; see `logpdf`.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Laplace(0, 1).pdf([[0.0, 1.0]]).round(3)
        array([[0.5  , 0.184]])
        """
        return np.exp(self.logpdf(y))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile: the smallest y with CDF at least q.

        Parameters
        ----------
        q : scalar or (m,) array-like
            Levels in (0, 1).

        Returns
        -------
        ndarray, (n,) or (n, m)

        Warns
        -----
        CalibrationWarning
            If the forecast was recalibrated on fewer rows than a level needs, so that the
            quantile lies in the extrapolated tail.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Logistic([0.0, 5.0], 1.0).ppf(0.9).round(3)
        array([2.197, 7.197])
        """
        a = levels(q, "q")
        low, high = self._supported
        if a.min() < low * _ROUNDING or 1.0 - a.max() < (1.0 - high) * _ROUNDING:
            worst = float(a.max() if a.max() - high > low - a.min() else a.min())
            warnings.warn(
                # The same words whatever the rows: of a stream they are told once, not at each row.
                f"level {worst:.6g} lies outside those that the calibration rows support: the "
                f"quantile is read off the extrapolated tail. "
                f"Fit on at least {rows_needed(worst)} rows.",
                CalibrationWarning,
                stacklevel=2,
            )
        return self._quantiles(a)

    def _quantiles(self, q: FloatArray) -> FloatArray:
        out = self._ppf(np.atleast_2d(q))
        return out[:, 0] if q.ndim == 0 else out

    def median(self) -> FloatArray:
        """Quantile at one half.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Samples([[1.0, 2.0, 9.0]]).median()
        array([2.])
        """
        return self._quantiles(np.array(0.5))

    def interval(self, coverage: ArrayLike = 0.9) -> tuple[FloatArray, FloatArray]:
        """Central interval that should hold the outcome with this probability.

        Parameters
        ----------
        coverage : scalar or (m,) array-like, default 0.9

        Returns
        -------
        lower, upper : ndarray, (n,) or (n, m)

        Examples
        --------
        >>> import trueline as tl
        >>> lower, upper = tl.Normal([0.0, 10.0], 1.0).interval(0.9)
        >>> lower.round(2), upper.round(2)
        (array([-1.64,  8.36]), array([ 1.64, 11.64]))
        """
        # One interval of a small batch is quicker than checking what was asked for.
        tail, lower, upper = (
            _remembered_levels(coverage) if type(coverage) is float else _central_levels(coverage)
        )
        low, high = self._supported
        if tail < max(low, 1.0 - high) * _ROUNDING:
            warnings.warn(
                f"a {1.0 - 2.0 * tail:.6g} interval needs levels {tail:.6g} to {1.0 - tail:.6g}, "
                f"which the calibration rows do not support: its ends are read off the "
                f"extrapolated tails. Fit on at least {rows_needed(tail)} rows.",
                CalibrationWarning,
                stacklevel=2,
            )
        return self._quantiles(lower), self._quantiles(upper)

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score of each row, lower is better.

        CRPS(F, y) = integral of (F(x) - 1{y <= x})^2 dx (Gneiting and Raftery, 2007,
        doi:10.1198/016214506000001437). It is in the unit of y and is the absolute error
        for a point forecast.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 0.0], 1.0).crps([0.0, 2.0]).round(4)
        array([0.2337, 1.4528])
        """
        return self._at("_crps", y, limit=np.inf)

    def mean(self) -> FloatArray:
        """Mean of each row, (n,).

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Mixture([tl.Normal(0, 1), tl.Normal(4, 1)], weights=[0.25, 0.75]).mean()
        array([3.])
        """
        return self._mean()

    def var(self) -> FloatArray:
        """Variance of each row, (n,).

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Laplace(0, 3.0).var()
        array([18.])
        """
        return self._var()

    def std(self) -> FloatArray:
        """Standard deviation of each row, (n,).

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 1.0], [2.0, 3.0]).std()
        array([2., 3.])
        """
        return np.sqrt(self._var())

    def sample(self, size: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw from every row.

        Parameters
        ----------
        size : int, default 1
        random_state : None, int or numpy.random.Generator

        Returns
        -------
        ndarray, (n, size)

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 100.0], 1.0).sample(3, random_state=0).shape
        (2, 3)
        """
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise ValueError(f"size is {size!r}; expected an integer of 1 or more.")
        return self._sample(int(size), generator(random_state))

    def score(self, y: ArrayLike) -> FloatArray:
        """Increasing function of y that never saturates, and on which maps are fitted.

        It is (y - loc) / scale for location-scale forecasts, y - loc for `Point`, and a
        normal score for the rest; the attribute ``score_kind`` says which.

        Examples
        --------
        >>> import trueline as tl
        >>> F = tl.Normal([10.0], [0.01])
        >>> F.cdf(11.0), F.score(11.0)
        (array([1.]), array([100.]))
        """
        return self._at("_score", y)

    def unscore(self, s: ArrayLike) -> FloatArray:
        """Inverse of `score`.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([10.0], [0.01]).unscore(100.0)
        array([11.])
        """
        return self._at("_unscore", s)


def _central_levels(coverage: ArrayLike) -> tuple[float, FloatArray, FloatArray]:
    """Levels of the ends of central intervals, after the smallest of them."""
    lower = np.asarray(0.5 * (1.0 - levels(coverage, "coverage")))
    return float(lower.min()), lower, np.asarray(1.0 - lower)


_remembered_levels = lru_cache(maxsize=128)(_central_levels)


def rows_needed(level: float) -> int:
    """Return the number of calibration rows with which the finite-sample map reaches a level.

    Examples
    --------
    >>> rows_needed(0.95)
    19
    """
    return int(np.ceil(round(1.0 / min(level, 1.0 - level), 6))) - 1
