"""What users call on a batch of distributions: checks, shapes and warnings."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import (
    CalibrationWarning,
    FloatArray,
    RandomState,
    all_finite,
    as_float,
    check_count,
    check_no_nan,
    generator,
    levels,
)
from trueline.laws import Function, checked

# Levels within this relative distance of a supported one count as supported: 1 - coverage
# is rounded.
_ROUNDING = 1.0 - 1e-9


class PublicMethods(ABC):
    """The public methods of a `Distribution`: each checks its input and calls a private method."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _ppf(self, q: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _isf(self, q: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _expect(self, func: Function) -> FloatArray: ...

    @abstractmethod
    def _mean(self) -> FloatArray: ...

    @abstractmethod
    def _var(self) -> FloatArray: ...

    def _sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        u = rng.random((len(self), size))
        # The generator may return 0, whose quantile is minus infinity.
        return self._ppf(np.maximum(u, np.finfo(np.float64).tiny))

    @property
    def _supported(self) -> tuple[float, float]:
        """Lowest and highest level that the calibration rows support."""
        return (0.0, 1.0)

    def _values(self, y: ArrayLike) -> tuple[FloatArray, bool]:
        """Check values; return them with two dimensions, and whether they had fewer."""
        a = as_float(y, "y")
        check_no_nan(a, "y")
        n = len(self)
        if a.ndim == 0:
            a, flat = a[None, None], True
        elif a.ndim == 1:
            if len(a) != n:
                raise ValueError(
                    f"y has {len(a)} values but the forecast has {n} rows; expected one value per "
                    f"row. For several values per row pass shape ({n}, k) or (1, k): y[None, :]."
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
        """Call a method on checked values; `limit` is its value at both infinities, if given."""
        a, flat = self._values(y)
        endless = None if limit is None or all_finite(a) else np.isinf(a)
        # The square of a far value may overflow; its density is then 0.
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

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 1.0], 1.0).cdf(0.0).round(4)
        array([0.5   , 0.1587])
        """
        return self._at("_cdf", y)

    def pmf(self, y: ArrayLike) -> FloatArray:
        """Probability of exactly y, which is 0 unless the forecast has an atom there.

        Parameters
        ----------
        y : array-like, scalar, (n,), (n, k) or (1, k)

        Examples
        --------
        >>> import trueline as tl
        >>> rain = tl.Samples([[0.0, 0.0, 0.0, 1.2], [0.0, 0.4, 2.0, 3.1]])
        >>> rain.pmf(0.0)
        array([0.75, 0.25])
        >>> tl.Normal(0, 1).pmf(0.0)
        array([0.])
        """
        return self._at("_pmf", y, limit=0.0)

    def sf(self, y: ArrayLike) -> FloatArray:
        """Probability of a value above y, with its own relative precision.

        Parameters
        ----------
        y : array-like, scalar, (n,), (n, k) or (1, k)

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
        """Logarithm of the survival function, as `logcdf` is that of the CDF."""
        return self._at("_logsf", y)

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log density.

        If a distribution has atoms, this is the density of its continuous part; see its class.

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
        _warn_of_support(a, low, high)
        return self._quantiles(a)

    def isf(self, q: ArrayLike) -> FloatArray:
        """Value that is exceeded with probability q: the smallest y with `sf` at most q.

        It is ``ppf(1 - q)`` with all its digits, also for a q so small that 1 - q is 1 in
        floating point.

        Parameters
        ----------
        q : scalar or (m,) array-like
            Probabilities in (0, 1).

        Warns
        -----
        CalibrationWarning
            As for `ppf`.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 5.0], 1.0).isf(1e-30).round(3)
        array([11.464, 16.464])
        """
        a = levels(q, "q")
        low, high = self._supported
        _warn_of_support(a, 1.0 - high, 1.0 - low)
        out = self._isf(np.atleast_2d(a))
        return out[:, 0] if a.ndim == 0 else out

    def expect(self, func: Callable[[FloatArray], ArrayLike]) -> FloatArray:
        """Expected value of a function of the outcome, E func(Y), for each row, (n,).

        It is exact for draws, points and outcomes that take listed values. Otherwise it is
        found by quadrature, with an error of at most 1e-5 E|func(Y)| for functions that are
        smooth but for a few kinks or jumps; for smooth functions it is below 1e-6. An
        expectation that does not exist is not detected.

        Parameters
        ----------
        func : callable
            Takes an array of outcomes of any shape and returns one number for each of them.

        Examples
        --------
        The cost of having 3 in stock, at 5 for each one missing and 1 for each one left:

        >>> import numpy as np
        >>> import trueline as tl
        >>> demand = tl.Normal([2.0, 4.0], 1.0)
        >>> demand.expect(lambda y: np.where(y > 3.0, 5.0 * (y - 3.0), 3.0 - y)).round(4)
        array([1.4999, 5.4999])
        >>> tl.Samples([[1.0, 2.0, 6.0]]).expect(np.square).round(4)
        array([13.6667])
        """
        if not callable(func):
            raise TypeError(
                f"func is a {type(func).__name__}; expected a function of outcomes, "
                f"such as lambda y: y ** 2."
            )
        return self._expect(checked(func))

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
        """Ends of the central interval that contains the outcome with this probability.

        Parameters
        ----------
        coverage : scalar or (m,) array-like, default 0.9

        Examples
        --------
        >>> import trueline as tl
        >>> lower, upper = tl.Normal([0.0, 10.0], 1.0).interval(0.9)
        >>> lower.round(2), upper.round(2)
        (array([-1.64,  8.36]), array([ 1.64, 11.64]))
        """
        # For a small batch the checks would take longer than the interval.
        tail, shares = _remembered(coverage) if type(coverage) is float else _shares(coverage)
        low, high = self._supported
        if tail < max(low, 1.0 - high) * _ROUNDING:
            warnings.warn(
                f"a {1.0 - 2.0 * tail:.6g} interval needs levels {tail:.6g} to {1.0 - tail:.6g}, "
                f"which the calibration rows do not support: its ends are read off the "
                f"extrapolated tails. Fit on at least {rows_needed(tail)} rows.",
                CalibrationWarning,
                stacklevel=2,
            )
        return self._interval(shares)

    def _interval(self, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of the intervals, for one coverage (0-d) or several (1-d), without checks."""
        tail = np.asarray(0.5 * (1.0 - coverage))
        return self._quantiles(tail), self._quantiles(np.asarray(1.0 - tail))

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
        """Variance of each row, (n,), the square of `std`."""
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
        """Draw from every row; the result is (n, size).

        Parameters
        ----------
        size : int, default 1
        random_state : None, int or numpy.random.Generator

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Normal([0.0, 100.0], 1.0).sample(3, random_state=0).shape
        (2, 3)
        """
        return self._sample(check_count(size, "size"), generator(random_state))

    def score(self, y: ArrayLike) -> FloatArray:
        """Increasing function of y that never saturates; recalibrators are fitted on it.

        It is (y - loc) / scale for location-scale forecasts, y - loc for `Point`, and a
        normal score for all others; the attribute ``score_kind`` names it.

        Examples
        --------
        >>> import trueline as tl
        >>> F = tl.Normal([10.0], [0.01])
        >>> F.cdf(11.0), F.score(11.0), F.unscore(100.0)
        (array([1.]), array([100.]), array([11.]))
        """
        return self._at("_score", y)

    def unscore(self, s: ArrayLike) -> FloatArray:
        """Inverse of `score`."""
        return self._at("_unscore", s)


def _warn_of_support(q: FloatArray, low: float, high: float) -> None:
    """Warn if a level lies outside those from low to high, which the calibration rows support."""
    if q.min() < low * _ROUNDING or 1.0 - q.max() < (1.0 - high) * _ROUNDING:
        worst = float(q.max() if q.max() - high > low - q.min() else q.min())
        warnings.warn(
            # The text does not depend on the rows, so that a stream warns only once.
            f"level {worst:.6g} lies outside those that the calibration rows support: the "
            f"quantile is read off the extrapolated tail. "
            f"Fit on at least {rows_needed(worst)} rows.",
            CalibrationWarning,
            stacklevel=3,
        )


def _shares(coverage: ArrayLike) -> tuple[float, FloatArray]:
    """Return the smallest level that the intervals need, and the checked coverages."""
    shares = levels(coverage, "coverage")
    return float(0.5 * (1.0 - shares.max())), shares


_remembered = lru_cache(maxsize=128)(_shares)


def rows_needed(level: float) -> int:
    """Return the number of calibration rows with which the finite-sample map reaches a level.

    Examples
    --------
    >>> rows_needed(0.95)
    19
    """
    return int(np.ceil(round(1.0 / min(level, 1.0 - level), 6))) - 1
