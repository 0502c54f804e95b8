"""The laws of a fitted map, and their CDF as a formula of plain arithmetic, for ONNX and SQL.

Both languages have the four operations, exp, log and a choice between two values, but not always
an error function.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from trueline._validation import FloatArray
from trueline.distributions import RecalibratedLocationScale
from trueline.laws import (
    BetaLaw,
    ExponentialTail,
    NormalLaw,
    PiecewiseLaw,
    ScoreLaw,
    SplineLaw,
)
from trueline.recalibration import Key, Recalibrator

Operation = Literal["add", "sub", "mul", "div", "into", "less", "where", "neg", "abs", "exp", "log"]

# exp(x^2) erfc(x) (1 + 2 x) is smooth in (x - K) / (x + K) over all x >= 0, so that one
# polynomial gives both tails of the normal law with all their digits (Shepherd and Laframboise,
# 1981). A polynomial of degree 20 is within 4e-15 of it, one of 12 within 6e-9.
_K = 3.75


@dataclass(frozen=True)
class Deployed:
    """The laws of a fitted map.

    Attributes
    ----------
    kind : str
        "standardised" if the forecasts have a scale, otherwise "residual".
    laws : list of ScoreLaw
        One law per group and, last, the pooled law.
    groups : list or None
        Names of the groups.
    least_width : float
        The number that is added to each scale.
    """

    kind: str
    laws: list[ScoreLaw]
    groups: list[Key] | None
    least_width: float = 0.0

    @property
    def scaled(self) -> bool:
        """Whether the forecasts have a scale."""
        return self.kind == "standardised"

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """Return quantiles of the score, (laws, levels), with the warnings of a forecast."""
        zero, one = np.zeros(1), np.ones(1)
        rows = [
            RecalibratedLocationScale(zero, one, law, self.kind).ppf(levels)[0] for law in self.laws
        ]
        return np.stack(rows)

    def thinned(self, max_knots: int) -> tuple[list[ScoreLaw], float]:
        """Return laws of at most this number of knots, and the largest change of a CDF."""
        laws, errors = zip(*(_thinned(law, max_knots) for law in self.laws), strict=True)
        return list(laws), max(errors)


def deployed(recalibrator: Recalibrator, caller: str) -> Deployed:
    """Return the laws of a map; raise if it cannot be exported."""
    if not isinstance(recalibrator, Recalibrator):
        raise TypeError(
            f"recalibrator is a {type(recalibrator).__name__}; expected a fitted recalibrator "
            f"such as Isotonic."
        )
    recalibrator._check_fitted()
    name = type(recalibrator).__name__
    if not recalibrator.is_exportable:
        raise TypeError(
            f"{caller} cannot take {name}; expected Isotonic, Smooth, BetaCalibration, Scaling, "
            f"Auto, Grouped or Online, whose maps need no more than the score. Fit one of these "
            f"instead."
        )
    kind = recalibrator.score_kind_
    if kind not in ("standardised", "residual"):
        raise ValueError(
            f"this {name} was fitted on '{kind}' scores, which need a whole forecast per row; "
            f"{caller} takes maps of location-scale forecasts and of Point. Fit it on "
            f"Normal(mean, std)."
        )
    preparation = recalibrator._preparation
    if preparation.atoms is not None:
        raise ValueError(
            f"this {name} forecasts outcomes with {preparation}, for which {caller} has no "
            f"formula. Fit a map with continuous forecasts to export it: {name}(support=None)."
        )
    laws = list(recalibrator.laws().values())
    found = Deployed(kind, laws, recalibrator.groups_, preparation.least_width)
    for law in found.laws:
        tails = law.tails if isinstance(law, PiecewiseLaw) else ()
        known = all(isinstance(tail, ExponentialTail) for tail in tails)
        if type(law) not in _FORMULAS or not known:
            raise TypeError(f"{caller} has no formula for the {type(law).__name__} of {name}.")
    return found


def _thinned(law: ScoreLaw, max_knots: int) -> tuple[ScoreLaw, float]:
    """Keep knots that are evenly spaced in rank, and both tails; R does not change at them."""
    if not isinstance(law, PiecewiseLaw) or law.knots.size <= max_knots:
        return law, 0.0
    wanted = np.linspace(law.right[0], law.right[-1], max_knots)
    keep = np.unique(np.minimum(np.searchsorted(law.right, wanted), law.knots.size - 1))
    right = law.right[keep]
    left = right if law.left is law.right else law.left[keep]
    coarse = PiecewiseLaw(law.knots[keep], left, right, law.tails)
    # Both are linear between the knots of the finer law, so they differ most at one of these.
    off = np.abs(coarse.cdf(law.knots) - law.right).max()
    off_left = np.abs(coarse.cdf_left(law.knots) - law.left).max()
    return coarse, float(max(off, off_left))


class Term(ABC):
    """An expression with one number per row."""

    @abstractmethod
    def call(self, operation: Operation, *others: Self | float) -> Self:
        """Apply an operation to this term and the others, in this order."""

    def __add__(self, other: Self | float) -> Self:
        return self.call("add", other)

    __radd__ = __add__

    def __sub__(self, other: Self | float) -> Self:
        return self.call("sub", other)

    def __rsub__(self, other: float) -> Self:
        return -self + other

    def __mul__(self, other: Self | float) -> Self:
        return self.call("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Self | float) -> Self:
        return self.call("div", other)

    def __rtruediv__(self, other: float) -> Self:
        return self.call("into", other)

    def __neg__(self) -> Self:
        return self.call("neg")

    def __lt__(self, other: Self | float) -> Self:
        return self.call("less", other)

    def exp(self) -> Self:
        return self.call("exp")

    def log(self) -> Self:
        return self.call("log")

    def where(self, yes: Self | float, no: Self | float) -> Self:
        """Choose by this condition; missing numbers and NaN give `no`."""
        return self.call("where", yes, no)


T = TypeVar("T", bound=Term)


class Language(ABC, Generic[T]):
    """Operations of formulas beyond arithmetic.

    A formula is written for several laws of one kind at a time; each row uses one of them.
    """

    #: Degree of the polynomial for the normal law, which sets its precision.
    degree: int

    @abstractmethod
    def stored(self, a: FloatArray) -> FloatArray:
        """Round numbers as the language does."""

    @abstractmethod
    def each(self, values: Sequence[float], *, divisor: bool = False) -> T:
        """Return the number of the row's law, from one number per law.

        A divisor must not round to 0.
        """

    @abstractmethod
    def piece(
        self,
        z: T,
        knots: Sequence[FloatArray],
        columns: Sequence[Sequence[FloatArray]],
        then: Callable[..., T],
    ) -> T:
        """Call `then` with the entries of the columns at the last knot at or below z.

        Below all knots the entries are those of the first. There is one array per law.
        """

    @abstractmethod
    def polynomial(self, coefficients: FloatArray, w: T) -> T:
        """Return a polynomial by Horner's scheme; the highest power comes first."""

    @abstractmethod
    def bind(self, value: T, then: Callable[[T], T]) -> T:
        """Compute a value once and call `then` with it."""


def cdf(language: Language[T], laws: Sequence[ScoreLaw], z: T) -> T:
    """Return R(z) for laws of one kind."""
    formula: Callable[[Language[T], Any, T], T] = _FORMULAS[type(laws[0])]
    return formula(language, laws, z)


def _piecewise(p: Language[T], laws: Sequence[PiecewiseLaw], z: T) -> T:
    knots = [p.stored(law.knots) for law in laws]
    base = [p.stored(law.right) for law in laws]
    rise = [_padded(p.stored(law.left)[1:] - b[:-1]) for law, b in zip(laws, base, strict=True)]

    def linear(start: T, width: T, low: T, step: T) -> T:
        return low + step * ((z - start) / width)

    inside = p.piece(z, knots, [knots, _widths(knots), base, rise], linear)
    first, last = (p.each([float(k[end]) for k in knots]) for end in (0, -1))
    masses = zip(*((law.left[0], 1.0 - law.right[-1]) for law in laws), strict=True)
    lower, upper = (p.each([float(m) for m in side]) for side in masses)
    scales = zip(*((law.tails[0].excess, law.tails[1].excess) for law in laws), strict=True)
    below, above = (p.each(side, divisor=True) for side in scales)
    beyond = 1.0 - upper * ((last - z) / above).exp()
    return (z < first).where(lower * ((z - first) / below).exp(), (z < last).where(inside, beyond))


def _spline(p: Language[T], laws: Sequence[SplineLaw], z: T) -> T:
    knots = [p.stored(law.knots) for law in laws]
    # The unit is the width of the piece, so that no coefficient is very large or small.
    powers = [
        [_padded(law._spline.c[k] * np.diff(law.knots) ** (3 - k)) for law in laws]
        for k in range(4)
    ]

    def cubic(start: T, width: T, *coefficients: T) -> T:
        share = (z - start) / width
        height, *rest = coefficients
        for coefficient in rest:
            height = height * share + coefficient
        return height

    inside = p.piece(z, knots, [knots, _widths(knots), *powers], cubic)
    ends = []
    for end in (0, -1):
        knot = p.each([float(k[end]) for k in knots])
        height = p.each([float(law.scores[end]) for law in laws])
        ends.append((knot, height + p.each([float(law._ends[end]) for law in laws]) * (z - knot)))
    (first, below), (last, above) = ends
    return _phi(p, (z < first).where(below, (z < last).where(inside, above)))


def _normal(p: Language[T], laws: Sequence[NormalLaw], z: T) -> T:
    return _phi(p, _standard(p, laws, z))


def _beta(p: Language[T], laws: Sequence[BetaLaw], z: T) -> T:
    a, b, c = (p.each([getattr(law, name) for law in laws]) for name in "abc")

    def given(t: T) -> T:
        x: T = t.call("abs") * math.sqrt(0.5)
        # log Phi(-abs(t)) as a difference of logs: at infinity the quotient is 0, for which some
        # languages have no log.
        small = _scaled_erfcx(p, x).log() - (2.0 + 4.0 * x).log() - x * x
        return p.bind(small, lambda log_tail: logistic(t, log_tail))

    def logistic(t: T, small: T) -> T:
        large = (1.0 - small.exp()).log()  # log Phi(abs(t))
        logit = c + (t < 0.0).where(a * small - b * large, a * large - b * small)
        return 1.0 / (1.0 + (-logit).exp())

    return p.bind(_standard(p, laws, z), given)


_FORMULAS: dict[type[ScoreLaw], Any] = {
    PiecewiseLaw: _piecewise,
    SplineLaw: _spline,
    NormalLaw: _normal,
    BetaLaw: _beta,
}


def _standard(p: Language[T], laws: Sequence[NormalLaw | BetaLaw], z: T) -> T:
    shift = p.each([law.shift for law in laws])
    return (z - shift) / p.each([law.scale for law in laws], divisor=True)


def _phi(p: Language[T], t: T) -> T:
    """Return the normal CDF from the tail on the side of t, which keeps its digits."""

    def given(t: T) -> T:
        x: T = t.call("abs") * math.sqrt(0.5)
        tail = _scaled_erfcx(p, x) / (2.0 + 4.0 * x) * (-(x * x)).exp()
        return (t < 0.0).where(tail, 1.0 - tail)

    return p.bind(t, given)


def _scaled_erfcx(p: Language[T], x: T) -> T:
    """Return (1 + 2 x) exp(x^2) erfc(x) for x >= 0."""
    # 1 - 2 K / (x + K) rather than (x - K) / (x + K), which is NaN at infinity.
    return p.polynomial(normal_tail(p.degree), 1.0 - 2.0 * _K / (x + _K))


def normal_tail(degree: int) -> FloatArray:
    """Return coefficients of (1 + 2 x) exp(x^2) erfc(x) in (x - K) / (x + K), highest first."""
    w = chebyshev.chebpts1(degree + 1)
    x = _K * (1.0 + w) / (1.0 - w)
    series = chebyshev.chebfit(w, (1.0 + 2.0 * x) * erfcx(x), degree)
    return np.asarray(chebyshev.cheb2poly(series)[::-1], np.float64)


def _widths(knots: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the width of each piece; pieces that rounding made empty are never looked up."""
    return [_padded(np.where(w > 0, w, 1.0)) for w in map(np.diff, knots)]


def _padded(a: FloatArray) -> FloatArray:
    """Add an entry for the last knot, above which is the tail."""
    return np.append(a, 1.0)
