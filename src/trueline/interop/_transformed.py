"""Monotone functions of a forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution
from trueline.interop._external import External


@dataclass(frozen=True)
class Map:
    """A monotone function, its inverse, the log of its slope, its domain and its image.

    The three functions take the rows' parameters, (n, 1) each, after their first argument.
    """

    forward: Callable[..., FloatArray]
    inverse: Callable[..., FloatArray]
    log_slope: Callable[..., FloatArray]
    domain: tuple[float, float] = (-np.inf, np.inf)
    image: tuple[float, float] = (-np.inf, np.inf)

    def inverted(self) -> Map:
        """Return the inverse."""
        return Map(
            self.inverse,
            self.forward,
            lambda y, *p: -self.log_slope(self.inverse(y, *p), *p),
            self.image,
            self.domain,
        )


AFFINE = Map(
    lambda x, loc, scale: loc + scale * x,
    lambda y, loc, scale: (y - loc) / scale,
    lambda x, _, scale: np.log(np.abs(scale)) + np.zeros_like(x),
)
EXP = Map(np.exp, np.log, lambda x: x, image=(0.0, np.inf))
POWER = Map(
    lambda x, power: x**power,
    lambda y, power: y ** (1.0 / power),
    lambda x, power: np.log(np.abs(power)) + (power - 1.0) * np.log(x),
    (0.0, np.inf),
    (0.0, np.inf),
)
SIGMOID = Map(expit, logit, lambda x: log_expit(x) + log_expit(-x), image=(0.0, 1.0))
TANH = Map(
    np.tanh,
    np.arctanh,
    lambda x: np.log(4.0) + log_expit(2.0 * x) + log_expit(-2.0 * x),
    image=(-1.0, 1.0),
)
SOFTPLUS = Map(
    lambda x: np.logaddexp(0.0, x),
    lambda y: y + np.log(-np.expm1(-y)),
    log_expit,
    image=(0.0, np.inf),
)


def affine(base: Distribution, loc: FloatArray, scale: FloatArray) -> Distribution:
    """Return loc + scale * Y, with loc and scale (n, 1) and scale other than 0."""
    if base._affine_score:
        # The families are symmetric, so that a change of sign changes the centre only.
        centre, width = scale[:, 0] * base._centre(), np.abs(scale[:, 0]) * base._width()
        family = base._with(loc[:, 0] + centre, width)
        if family is not None:
            return family
    return transformed(base, AFFINE, (loc, scale), scale > 0)


def transformed(
    base: Distribution,
    by: Map,
    parameters: tuple[FloatArray, ...] = (),
    rising: NDArray[np.bool_] | bool = True,
) -> Distribution:
    """Return the forecast of a monotone function of the outcome that the base forecasts."""
    low, high = (np.array([[end]]) for end in by.domain)
    outside = base._cdf(low)[:, 0] + base._sf(high)[:, 0]
    if outside.max() > 0:
        i = int(np.argmax(outside > 0))
        raise ValueError(
            f"row {i} of obj takes a function that is defined between {by.domain[0]:g} and "
            f"{by.domain[1]:g} of a forecast with a share of {outside[i]:.3g} outside; expected "
            f"a forecast within. Fix the transform."
        )
    return Transformed(base, by, parameters, rising)


class Transformed(External):
    """A monotone function of another forecast. CDF, quantiles and density are exact.

    Mean and variance are integrated over the score. They are NaN if the tails beyond the last
    panel may contribute.
    """

    _kind: ClassVar[str] = "transformed"

    def __init__(
        self,
        base: Distribution,
        by: Map,
        parameters: tuple[FloatArray, ...],
        rising: NDArray[np.bool_] | bool,
    ) -> None:
        self.base = base
        self.by = by
        self.parameters = parameters
        self.rising = np.broadcast_to(np.asarray(rising, dtype=bool), (len(base), 1))
        self._reach = min(External._reach, base._reach)  # type: ignore[misc]  # differs by base

    def __len__(self) -> int:
        return len(self.base)

    def _select(self, rows: Rows) -> External:
        parameters = tuple(p[rows] for p in self.parameters)
        return Transformed(self.base._take(rows), self.by, parameters, self.rising[rows])

    def _inverse(self, y: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.by.inverse(np.clip(y, *self.by.image), *self.parameters)

    def _forward(self, x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return self.by.forward(x, *self.parameters)

    def _either(self, rising: str, falling: str, x: FloatArray) -> FloatArray:
        """One method of the base in rows where the function rises, another where it falls."""
        if self.rising.all():
            return self._ask(rising, x)
        if not self.rising.any():
            return self._ask(falling, x)
        return np.where(self.rising, self._ask(rising, x), self._ask(falling, x))

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        answer: FloatArray = getattr(self.base, name)(x)
        return answer

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._either("_cdf", "_sf", self._inverse(y))

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._either("_sf", "_cdf", self._inverse(y))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._either("_logcdf", "_logsf", self._inverse(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._either("_logsf", "_logcdf", self._inverse(y))

    def _logpdf(self, y: FloatArray) -> FloatArray:
        low, high = self.by.image
        x = self._inverse(y)
        with np.errstate(all="ignore"):
            log = self.base._logpdf(x) - self.by.log_slope(x, *self.parameters)
        return np.where((y > low) & (y < high) & ~np.isnan(log), log, -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._forward(self._either("_ppf", "_isf", q))

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._forward(self._either("_isf", "_ppf", q))

    def _mean(self) -> FloatArray:
        if self.by is AFFINE:
            return self._forward(self.base._mean()[:, None])[:, 0]
        return self._integrate(lambda y, _: y)

    def _var(self) -> FloatArray:
        if self.by is AFFINE:
            return self.base._var() * self.parameters[1][:, 0] ** 2
        mean = self._mean()[:, None]
        return self._integrate(lambda y, rows: (y - mean[rows]) ** 2)
