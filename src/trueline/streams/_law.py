"""The law of the scores that a stream keeps, of which two quantiles are cheap.

A service asks for an interval after every row, and an interval needs two quantiles. A law with all
its knots, tails and sums takes several times as long to make, so it is made when it is needed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.laws import ScoreLaw
from trueline.scores import Exact, Scores, empirical_law

# Number of weights that are summed at once in the search for a quantile.
_BLOCK = 32
# Where blocks of rows begin; there are never more rows in a sample.
_STARTS = np.arange(0, 1 << 15, _BLOCK)
# Largest number of quantiles that are looked for one by one.
_FEW = 4


class DelayedLaw(ScoreLaw):
    """A law that knows some of its quantiles; the rest is made when it is needed."""

    smooth = False
    made_by = "Online"

    @abstractmethod
    def _known(self, q: FloatArray) -> FloatArray | None:
        """Return the quantiles at these levels, or None if one of them is not known."""

    @abstractmethod
    def _make(self) -> ScoreLaw:
        """Return the whole law."""

    @cached_property
    def whole(self) -> ScoreLaw:
        """The whole law."""
        law = self._make()
        law.n_fit = self.n_fit
        return law

    @property
    def has_atoms(self) -> bool:
        return self.whole.has_atoms

    def ppf(self, q: FloatArray) -> FloatArray:
        found = self._known(q)
        return self.whole.ppf(q) if found is None else found

    def isf(self, q: FloatArray) -> FloatArray:
        return self.whole.isf(q)

    def cdf(self, z: FloatArray) -> FloatArray:
        return self.whole.cdf(z)

    def cdf_left(self, z: FloatArray) -> FloatArray:
        return self.whole.cdf_left(z)

    def sf(self, z: FloatArray) -> FloatArray:
        return self.whole.sf(z)

    def logcdf(self, z: FloatArray) -> FloatArray:
        return self.whole.logcdf(z)

    def logsf(self, z: FloatArray) -> FloatArray:
        return self.whole.logsf(z)

    def logpdf(self, z: FloatArray) -> FloatArray:
        return self.whole.logpdf(z)

    def integral(self, z: FloatArray) -> FloatArray:
        return self.whole.integral(z)

    @property
    def mean(self) -> FloatArray | float:
        return self.whole.mean

    @property
    def var(self) -> FloatArray | float:
        return self.whole.var

    @property
    def dispersion(self) -> FloatArray | float:
        return self.whole.dispersion

    def crps(self, z: FloatArray) -> FloatArray:
        return self.whole.crps(z)

    def cdf_and_crps(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.whole.cdf_and_crps(z)

    def edges(self, z: FloatArray) -> FloatArray:
        return self.whole.edges(z)

    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.whole.moments(z, power)


@dataclass(frozen=True, eq=False)
class Sample:
    """Sorted scores of a stream at one moment, with weights; nothing in it changes later.

    Attributes
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    x : (n,) array
        Scores in increasing order; some may tie.
    w : (n,) array or None
        Their weights; None stands for a weight of one in every row.
    is_faded : bool
        Whether weights have faded. They then sum to Kish's effective number of rows, and rows are
        counted by it; otherwise weights are those of whole rows.
    error : float
        Bound on the rank error.
    """

    kind: str
    x: FloatArray
    w: FloatArray | None
    is_faded: bool
    error: float

    def scores(self) -> Scores:
        """Return the scores for the map of `Isotonic`."""
        if not self.is_faded:
            return Scores.of_sorted(self.kind, self.x, self.w)
        starts, joint = _joined(self.x, self.weights())
        middles = np.concatenate([self._middles(i) for i in range(len(self._sums))])
        if len(starts) == len(middles):
            return Faded(self.kind, self.x, middles, middles, joint, self.total, self.error)
        stops = np.append(starts[1:], len(middles)) - 1
        ends = middles[starts], middles[stops]
        return Faded(self.kind, self.x[starts], *ends, joint, self.total, self.error)

    def rows(self) -> Exact:
        """Return the scores as rows, for maps of which the points are fitted; it can be stored."""
        if not self.is_faded:
            return Scores.of_sorted(self.kind, self.x, self.w)
        starts, joint = _joined(self.x, self.weights())
        return Exact(self.kind, self.x[starts], joint)

    def weights(self) -> FloatArray:
        """Return the weights as an array."""
        return np.ones(len(self.x)) if self.w is None else self.w

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Return the scores at which the weight reaches these shares of the total."""
        upper = np.cumsum(self.weights())
        return self.x[np.minimum(upper.searchsorted(shares * upper[-1]), len(self.x) - 1)]

    @property
    def total(self) -> float:
        """The total weight."""
        return float(len(self.x)) if self.w is None else float(self._sums[-1])

    @cached_property
    def _sums(self) -> FloatArray:
        """Sums of the weights up to the end of each block of rows."""
        blocks = -(-len(self.x) // _BLOCK)
        return np.cumsum(np.add.reduceat(self.weights(), _STARTS[:blocks]))

    def _middles(self, block: int) -> FloatArray:
        """Return the weight up to the middle of each row of a block."""
        w = self.weights()[block * _BLOCK : (block + 1) * _BLOCK]
        middles = np.cumsum(w)
        if block:
            middles += self._sums[block - 1]
        middles -= 0.5 * w
        return middles

    def around(self, wanted: float) -> tuple[int, float, float] | None:
        """Return the first row with a middle of at least `wanted`, that middle, and the one before.

        None stands for a place beyond the first or the last row.
        """
        sums = self._sums
        block = min(int(sums.searchsorted(wanted)), len(sums) - 1)
        base, upper, before = float(sums[block - 1]) if block else 0.0, 0.0, 0.0
        # The same sums as in `_middles`; with numbers the search takes less time.
        for j, w in enumerate(self.weights()[block * _BLOCK : (block + 1) * _BLOCK].tolist()):
            upper += w
            middle = (upper + base) - 0.5 * w
            if middle >= wanted:
                if j == 0:
                    if block == 0:
                        return None
                    before = float(self._middles(block - 1)[-1])
                return block * _BLOCK + j, middle, before
            before = middle
        if block + 1 == len(sums):
            return None
        return (block + 1) * _BLOCK, float(self._middles(block + 1)[0]), before


@dataclass(eq=False, repr=False)
class Faded(Scores):
    """Scores with weights that fade: the cumulative weight up to the middle of each row.

    The weight that counts as one row is sum w^2 / sum w, here scaled to 1, so that there are as
    many rows as Kish's effective number. A row has half its weight on either side of its score.
    """

    kind: str
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    joint: FloatArray
    rows_in_all: float
    error: float
    rounded: bool = field(default=False, init=False)
    squares: float | None = field(default=None, init=False)

    @property
    def total(self) -> float:
        return self.rows_in_all

    def cumulative(self) -> tuple[FloatArray, FloatArray]:
        return self.lower, self.upper

    def slack(self) -> float:
        return 0.5

    def points(self) -> tuple[FloatArray, FloatArray]:
        return self.values, self.joint

    def round(self) -> Scores:
        return Exact(self.kind, self.values, self.joint).round()


def _joined(x: FloatArray, w: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return where each distinct score begins, and the sums of their weights."""
    new = np.empty(len(x), dtype=bool)
    new[0] = True
    np.not_equal(x[1:], x[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    return starts, w if len(starts) == len(x) else np.add.reduceat(w, starts)


class EmpiricalLaw(DelayedLaw):
    """The law of `Isotonic` for a sample."""

    def __init__(self, sample: Sample, finite_sample: bool) -> None:
        self.sample = sample
        self.finite_sample = finite_sample
        self._is_quick = finite_sample and (sample.is_faded or sample.w is None)
        if self._is_quick:
            self.n_fit = max(sample.total, 1.0)
            self._rows = sample.total + 1.0
            least = 1.0 / self._rows
            self.supported = (least, 1.0 - least)
        else:
            self.n_fit = sample.scores().effective_rows
            self.supported = self.whole.supported

    def _make(self) -> ScoreLaw:
        return empirical_law(self.sample.scores(), finite_sample=self.finite_sample)

    def _known(self, q: FloatArray) -> FloatArray | None:
        if q.size > _FEW or not self._is_quick:
            return None
        out = np.empty(q.shape)
        places = out.ravel()  # not a copy
        for i, level in enumerate(q.ravel().tolist()):
            z = self._quantile(level)
            if z is None:
                return None
            places[i] = z
        return out

    def _quantile(self, level: float) -> float | None:
        """Return a quantile, with the same operations as `PiecewiseLaw.ppf`."""
        x, rows = self.sample.x, self._rows
        low, high = self.supported
        if not low <= level <= high:
            return None
        if self.sample.is_faded:
            found = self.sample.around(level * rows - 0.5)
            if found is None:
                return None
            j, after, before = found
            start, stop = (before + 0.5) / rows, (after + 0.5) / rows
        else:
            j = math.ceil(level * rows) - 1
            if not 0 < j < len(x):
                return None
            start, stop = j / rows, (j + 1) / rows
        if not start < level <= stop:
            # Rounding has moved the level past a row.
            return None
        left, right = float(x[j - 1]), float(x[j])
        z = left + (level - start) / (stop - start) * (right - left)
        return min(max(z, left), right)
