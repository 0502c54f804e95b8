"""Forecasts as frozen distributions of scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, RandomState, as_float, generator
from trueline.distributions import Distribution, Laplace, Logistic, Normal, StudentT
from trueline.interop._as_distribution import as_distribution
from trueline.interop._trailing import ends, quantiles_at, upper_quantiles_at, values_at


class ScipyDistribution:
    """A forecast with the methods of a frozen distribution of ``scipy.stats``.

    It is made by `to_scipy`. Each method uses the forecast's own formulas with scipy's shapes: the
    rows are the last axis, and NaN or a level outside [0, 1] gives NaN. `as_distribution` returns
    the ``forecast``.
    """

    def __init__(self, forecast: Distribution) -> None:
        self.forecast = forecast

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.forecast)

    def __repr__(self) -> str:
        """Return the class and the forecast."""
        return f"{type(self).__name__}({self.forecast!r})"

    def pdf(self, x: ArrayLike) -> FloatArray:
        """Density at x."""
        return values_at(self.forecast, "pdf", as_float(x, "x"))

    def logpdf(self, x: ArrayLike) -> FloatArray:
        """Log density at x."""
        return values_at(self.forecast, "logpdf", as_float(x, "x"))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability of a value at or below x."""
        return values_at(self.forecast, "cdf", as_float(x, "x"))

    def sf(self, x: ArrayLike) -> FloatArray:
        """Probability of a value above x, with its own relative precision."""
        return values_at(self.forecast, "sf", as_float(x, "x"))

    def logcdf(self, x: ArrayLike) -> FloatArray:
        """Log of `cdf`."""
        return values_at(self.forecast, "logcdf", as_float(x, "x"))

    def logsf(self, x: ArrayLike) -> FloatArray:
        """Log of `sf`."""
        return values_at(self.forecast, "logsf", as_float(x, "x"))

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Quantile at level q."""
        return quantiles_at(self.forecast, as_float(q, "q"))

    def isf(self, q: ArrayLike) -> FloatArray:
        """Value that is exceeded with probability q, exact where 1 - q would be 1."""
        return upper_quantiles_at(self.forecast, as_float(q, "q"))

    def mean(self) -> FloatArray:
        """Means, (n,)."""
        return self.forecast.mean()

    def median(self) -> FloatArray:
        """Medians, (n,)."""
        return self.forecast.median()

    def var(self) -> FloatArray:
        """Variances, (n,)."""
        return self.forecast.var()

    def std(self) -> FloatArray:
        """Standard deviations, (n,)."""
        return self.forecast.std()

    def stats(self, moments: str = "mv") -> FloatArray | tuple[FloatArray, ...]:
        """Mean ("m") and variance ("v"), in the order of scipy: one of them, or a tuple."""
        if not moments or set(moments) - set("mv"):
            raise ValueError(
                f"moments is {moments!r}; expected 'm', 'v' or 'mv', because a forecast has mean "
                f"and variance. Skewness and kurtosis can be had from draws: "
                f"scipy.stats.skew(dist.rvs((1000, {len(self)})))."
            )
        found = [ask() for key, ask in (("m", self.mean), ("v", self.var)) if key in moments]
        return found[0] if len(found) == 1 else tuple(found)

    def interval(self, confidence: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the central interval with this probability, as in scipy.

        ``forecast.interval`` gives the shortest one where outcomes have atoms.
        """
        tail = np.asarray(0.5 * (1.0 - as_float(confidence, "confidence")))
        return self.ppf(tail), self.ppf(1.0 - tail)

    def support(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the support, (n,) each."""
        return ends(self.forecast)

    def rvs(
        self, size: int | tuple[int, ...] | None = None, random_state: RandomState = None
    ) -> FloatArray:
        """Draws of shape ``size``, whose last axis is the rows; None is one draw per row.

        They do not depend on numpy's global state.
        """
        n = len(self)
        rng = generator(random_state)
        shape = (n,) if size is None else tuple(np.atleast_1d(np.asarray(size)).tolist())
        whole = all(isinstance(k, int) and k >= 0 for k in shape)
        if not whole or not shape or (n > 1 and shape[-1] != n):
            raise ValueError(
                f"size is {size!r} but the forecast has {n} rows; expected None, {n}, or a shape "
                f"whose last axis is the rows, such as (1000, {n})."
            )
        count = int(np.prod(shape)) // n
        if not count:
            return np.empty(shape)
        return self.forecast._sample(count, rng).T.reshape(shape)


def to_scipy(F: Any) -> Any:
    """Convert a forecast to a frozen distribution of scipy, or to an object with its methods.

    `Normal`, `StudentT`, `Laplace` and `Logistic` become ``norm``, ``t``, ``laplace`` and
    ``logistic`` of ``scipy.stats``, frozen. Every other forecast becomes a `ScipyDistribution`
    with ``pdf``, ``logpdf``, ``cdf``, ``sf``, ``logcdf``, ``logsf``, ``ppf``, ``isf``, ``rvs``,
    ``mean``, ``median``, ``var``, ``std``, ``stats``, ``interval`` and ``support``, as exact as
    the forecast's own, far into both tails. It has no ``entropy``, ``moment`` and ``expect``.

    Shapes are those of scipy with parameters of shape (n,): a scalar or (n,) gives (n,), and
    (k, n) or (k, 1) gives (k, n). trueline's own methods have the rows first: ``F.cdf(y)`` with y
    of shape (n, k) is ``to_scipy(F).cdf(y.T).T``.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.

    Returns
    -------
    scipy.stats frozen distribution or ScipyDistribution
        `as_distribution` returns the forecast from either.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Mixture([tl.Normal([0.0, 10.0], 1.0), tl.Normal([4.0, 10.0], 2.0)])
    >>> frozen = tl.interop.to_scipy(F)
    >>> frozen.mean(), frozen.cdf([2.0, 10.0]).round(3)
    (array([ 2., 10.]), array([0.568, 0.5  ]))
    >>> frozen.ppf([[0.1], [0.5], [0.9]]).shape
    (3, 2)
    >>> tl.interop.to_scipy(tl.Normal([0.0, 1.0], 2.0)).dist.name
    'norm'
    """
    forecast = as_distribution(F)
    from scipy import stats

    native = _NATIVE.get(type(forecast))
    if native is not None:
        name, parameters = native
        return getattr(stats, name)(*(getattr(forecast, p) for p in parameters))
    return ScipyDistribution(forecast)


#: Forecasts for which scipy has a class of its own, with the order of its parameters.
_NATIVE: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    Normal: ("norm", ("loc", "scale")),
    StudentT: ("t", ("df", "loc", "scale")),
    Laplace: ("laplace", ("loc", "scale")),
    Logistic: ("logistic", ("loc", "scale")),
}
