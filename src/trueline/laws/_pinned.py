"""A piecewise law some of whose quantiles are known to the last bit."""

from __future__ import annotations

from collections.abc import Mapping

from trueline._validation import FloatArray
from trueline.laws._piecewise import PiecewiseLaw
from trueline.laws._tails import Tail


class PinnedLaw(PiecewiseLaw):
    """R is linear between knots, and at some levels its quantiles are exactly what was asked.

    A knot has the level that was asked for, but the way there from the knot before may round.
    Whoever promises an interval is judged by its ends, so they must not.

    Parameters
    ----------
    knots, left, right, tails
        As for `PiecewiseLaw`.
    pins : mapping
        Level -> quantile; each is also a knot.
    """

    def __init__(
        self,
        knots: FloatArray,
        left: FloatArray,
        right: FloatArray,
        tails: tuple[Tail, Tail],
        pins: Mapping[float, float],
    ) -> None:
        super().__init__(knots, left, right, tails)
        self.pins = dict(pins)

    def _ppf(self, q: FloatArray) -> FloatArray:
        z = super()._ppf(q)
        for level, value in self.pins.items():
            z[q == level] = value
        return z
