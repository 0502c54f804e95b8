"""A drift alarm: a test of exchangeability that may be looked at after every row.

The first rows fix the edges of cells. Every later row has a conformal p-value, from the cells of
the rows since then: with n earlier rows, b of them in lower cells and c in the same cell,

    p = (b + U (c + 1)) / (n + 1),

where U is uniform on (0, 1). If rows are exchangeable, so that nothing drifts, these p-values are
independent and uniform, whatever the distribution of the scores (Vovk, Gammerman and Shafer, 2005).

Against that a gambler bets. A bet is a density f on (0, 1), here that of a beta law: U-shaped for a
spread that grows, bell-shaped for one that shrinks, sloped for a shift. A bet of one unit on f pays
f(p). The gambler starts with 1, keeps the share 1 / log2(n + 2) of it after n rows, and spends the
rest evenly on all bets as time goes by; what a bet has won stays in it. The capital M_n of the
gambler is then a martingale with mean 1, and by Ville's inequality

    P(M_n >= 1 / rate for some n) <= rate

if rows are exchangeable: the chance that the alarm ever rings, over a stream of any length. Since a
bet on a change that begins at row n starts with about 1 / (n log(n)^2), the delay of an alarm
grows with the logarithm of the number of rows before the change.

U is computed from the number of the row, so that a stream gives the same result each time. Weights
of rows do not enter.

Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005.
Vovk, Petej, Nouretdinov, Ahlberg, Carlsson and Gammerman, "Retrain or not retrain: conformal test
martingales for change-point detection", 2021, arXiv:2102.10439.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from trueline._validation import FloatArray

#: Number of first rows that the edges are taken from.
FIRST = 100
#: Number of cells, at most.
CELLS = 50
# Parameters of the beta laws: spread up and down, shifted up and down, a little and much each.
_LAWS = [(0.5, 0.5), (0.75, 0.75), (1.5, 1.5), (3.0, 3.0)]
_LAWS += [(1.2, 0.85), (0.85, 1.2), (1.8, 0.65), (0.65, 1.8)]
# The logarithm of a density is the sum of these, times 1, log(p) and log(1 - p).
_TERMS = [(k, -float(betaln(a, b)), a - 1.0, b - 1.0) for k, (a, b) in enumerate(_LAWS)]
#: Number of bets.
BETS = len(_LAWS)
# Constants of the generator "splitmix64", by which row numbers become uniform numbers.
_STEP, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Drift:
    """Result of the drift alarm of `Online`.

    Attributes
    ----------
    alarm : bool
        Whether the last update rang the alarm.
    e_value : float
        Evidence against "nothing drifts": the capital of a gambler who started with 1 when the
        present test began, and who has no advantage if rows are exchangeable. The alarm rings at
        ``1 / alarm_rate``; then a new test begins.
    p_value : float
        1 over the largest e-value of the present test: a p-value that may be looked at after
        every row.
    alarms : int
        Number of alarms so far.
    rows : int
        Number of rows that the present test has judged. The first 100 rows, and the first 100 after
        an alarm, are not judged: they fix the cells in which later rows are counted.
    change : int or None
        Estimated number of the row, counted from 0, with which the change began that rang the last
        alarm; None if there was none.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> R = tl.Online().fit(rng.normal(size=2000), tl.Point(np.zeros(2000)))
    >>> R.update(rng.normal(size=500), tl.Point(np.zeros(500))).drift_.alarm
    False
    >>> drift = R.update(2.0 * rng.normal(size=500), tl.Point(np.zeros(500))).drift_
    >>> drift.alarm, abs(drift.change - 2500) < 50
    (True, True)
    """

    alarm: bool = False
    e_value: float = 1.0
    p_value: float = 1.0
    alarms: int = 0
    rows: int = 0
    change: int | None = None


class Alarm:
    """The test, row by row; after an alarm it begins anew.

    All is done with numbers, because arrays of this size take longer.

    Attributes
    ----------
    waiting : list
        Scores of the first rows, until the edges are fixed.
    edges : list
        Edges of the cells; none while rows wait.
    counts : list
        Number of rows in each cell.
    stakes : list
        Capital in each bet.
    runs, starts : list
        The most that a bet of 1 would have become, over all rows at which it may have been made,
        and the number of that row.
    peak : float
        The largest capital of the present test.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.alarms = 0
        self.change: int | None = None
        self._rang = Drift()  # the result at the last alarm
        self.rings = False  # whether the last update rang it
        self._begin()

    def _begin(self) -> None:
        self.waiting: list[float] = []
        self.edges: list[float] = []
        self.counts: list[int] = []
        self.stakes, self.runs, self.starts = [0.0] * BETS, [1.0] * BETS, [0] * BETS
        self.capital = self.peak = 1.0
        self._tested = 0

    @property
    def drift(self) -> Drift:
        """The result after the last update; that of the test which rang, if one did."""
        if self.rings:
            return self._rang
        best = 1.0 / self.peak
        return Drift(False, self.capital, best, self.alarms, self._tested, self.change)

    def look(self, s: FloatArray, seen: int) -> None:
        """Test rows, the first of which is number `seen`."""
        self.rings = False
        for row, score in enumerate(s.tolist(), start=seen):
            if self.counts:
                self._test(score, row)
            else:
                self._wait(score)

    def restore(self, drift: Drift, test: list[list[float]], counts: list[int]) -> None:
        """Restore a test under way: its edges, stakes, runs, starts, capital and peak."""
        self.alarms, self.change = drift.alarms, drift.change
        self._rang, self.rings = drift, drift.alarm
        self.edges, self.stakes, self.runs = test[0], test[1], test[2]
        self.starts = [int(row) for row in test[3]]
        self.capital, self.peak = test[4]
        self.counts, self._tested = counts, sum(counts)

    def _wait(self, score: float) -> None:
        self.waiting.append(score)
        if len(self.waiting) == FIRST:
            every = FIRST // CELLS
            self.edges = np.unique(self.waiting)[every - 1 :: every].tolist()
            self.counts, self.waiting = [0] * (len(self.edges) + 1), []

    def _p_value(self, score: float, row: int) -> float:
        """Return the p-value of a row, which is counted."""
        cell = bisect_left(self.edges, score)
        counts = self.counts
        p = (sum(counts[:cell]) + uniform(row) * (counts[cell] + 1)) / (self._tested + 1)
        counts[cell] += 1
        return min(p, _BELOW_ONE)

    def _test(self, score: float, row: int) -> None:
        n, p = self._tested, self._p_value(score, row)
        self._tested = n + 1
        # The share of the capital that is not spent yet, and what is spent on each bet at this row.
        capital = kept = 1.0 / math.log2(n + 3)
        spent = (1.0 / math.log2(n + 2) - kept) / BETS
        below, above = math.log(p), math.log1p(-p)
        stakes, runs = self.stakes, self.runs
        for k, constant, a, b in _TERMS:
            pays = math.exp(constant + a * below + b * above)
            stakes[k] = stake = (stakes[k] + spent) * pays
            capital += stake
            if runs[k] <= 1.0:
                runs[k], self.starts[k] = 1.0, row
            runs[k] *= pays
        self.capital, self.peak = capital, max(self.peak, capital)
        if capital >= 1.0 / self.rate:
            self.alarms, self.change = self.alarms + 1, self.starts[runs.index(max(runs))]
            best = 1.0 / self.peak
            self._rang = Drift(True, capital, best, self.alarms, n + 1, self.change)
            self.rings = True
            self._begin()


def uniform(row: int) -> float:
    """Return a number in (0, 1) that depends on the number of the row only."""
    z = ((row + 1) * _STEP) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return (((z ^ (z >> 31)) >> 11) + 0.5) * 2.0**-53
