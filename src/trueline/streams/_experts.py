"""How fast to forget: a weighted mean over half-lives, by how well each has forecast the stream.

Each half-life h is an expert: its forecast of the next score is the empirical law of all scores
so far, with weight 2^(-age / h). Expert k has a weight v_k, and the forecast that is issued
is the mean of their laws, which is one empirical law with the weight sum_k v_k 2^(-age / h_k) / Z_k
for each row, where Z_k is the sum of the weights of expert k.

The weights are those of Bayes' rule with a fixed share (Herbster and Warmuth, 1998). Four edges,
near the 5%, 25%, 75% and 95% quantiles of the present law, divide the scores into five cells. If
p_k is the probability of expert k for the cell that the next score falls into, then

    v_k <- (1 - a) v_k p_k / sum_j v_j p_j + a / K.

The loss is the logarithmic score of the cells, -log p_k: a proper score of the outer and the middle
interval together. The mean of all experts has the probability sum_k v_k p_k, so that its loss is
the mix loss itself, and the bound of Herbster and Warmuth holds with a learning rate of 1, without
assumptions on the stream: for T rows, cut into any S + 1 stretches with one expert for each,

    loss of the mean <= loss of these experts
                        + log K + S log(K / a) + (T - S - 1) log(1 / (1 - a)).

The proof: v_k before a row is the posterior of a Markov chain of experts that starts uniformly and
moves with probability a to an expert drawn uniformly. The product of the mixed probabilities is
therefore the probability of all cells under that chain, which is at least that of one path of
experts times the probability of the path, K^-1 (a / K)^S (1 - a)^(T - S - 1).

With K = 10 and a = 0.003 a stretch costs 8.1 and a row 0.003 nats. Probabilities of experts are
(counts + 1/2) / (Z_k + 5/2). Edges, share and half-lives were chosen on simulated streams.

Herbster and Warmuth, "Tracking the best expert", Machine Learning 1998,
doi:10.1023/A:1007424614876.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.streams._memory import Memory

#: Half-lives of the experts, in rows; the last remembers everything.
HALF_LIVES = np.array([12.0 * 2.0**i for i in range(9)] + [np.inf])
#: Number of rows that are judged together at most.
TOGETHER = 64
_SHARE = 0.003
_LEVELS = np.array([0.05, 0.25, 0.75, 0.95])
_CELLS = len(_LEVELS) + 1
_PRIOR = 0.5
# Rows before which all experts weigh the same.
_FIRST = 10
_DECAY = np.exp2(-1.0 / HALF_LIVES)[:, None]
_POWERS = _DECAY ** np.arange(TOGETHER + 1)


class Experts:
    """Weights of the half-lives, and what their laws say of each cell.

    Attributes
    ----------
    weights : (K,) array
        The weight of each half-life; they sum to 1.
    edges : (4,) array or None
        Edges of the cells; None before the first rows.
    counts : (K, 5) array
        Faded weight of the rows in each cell.
    renewed : int
        Number of rows when the edges were chosen.
    """

    def __init__(self) -> None:
        self.weights = np.full(len(HALF_LIVES), 1.0 / len(HALF_LIVES))
        self.edges: FloatArray | None = None
        self.counts = np.zeros((len(HALF_LIVES), _CELLS))
        self.renewed = 0
        self._known: FloatArray | None = None  # sums of the counts

    def room(self, memory: Memory) -> int:
        """Return the number of rows until edges are chosen again."""
        if self.edges is None:
            return max(_FIRST - memory.seen, 1)
        return self.renewed + min(max(self.renewed // 8, 1), TOGETHER) - memory.seen

    def mix(self, memory: Memory) -> FloatArray:
        """Return the factors of the weights for each half-life, so that each law sums to v_k."""
        if self.edges is None:
            return self.weights / memory.sums(np.empty(0))[:, 0]
        return self.weights / self._totals()

    def _totals(self) -> FloatArray:
        """Return the sum of the weights of each expert."""
        if self._known is None:
            self._known = self.counts.sum(axis=1)
        return self._known

    def judge(self, s: FloatArray, w: FloatArray | None) -> None:
        """Weigh the experts by rows that are not in the memory yet, and count the rows."""
        if self.edges is None:
            return
        cell = self.edges.searchsorted(s)
        n = len(s)
        if n == 1:
            at, total = self.counts[:, cell[0]], self._totals()
        else:
            at, total = self._before_each(cell, w)
        p = (at + _PRIOR) / (total + _PRIOR * _CELLS)
        if n > 1:
            # The product of many small probabilities could be 0 for all experts.
            p = np.log(p).sum(axis=1)
            p = np.exp(p - p.max())
        v = self.weights * p
        keep = (1.0 - _SHARE) ** n
        v *= keep / float(v.sum())
        v += (1.0 - keep) / len(v)
        counts = self.counts * _POWERS[:, n, None]
        if n == 1:
            counts[:, cell[0]] += 1.0 if w is None else w[0]
        else:
            rows = np.zeros((_CELLS, n))
            rows[cell, np.arange(n)] = 1.0 if w is None else w
            counts += _POWERS[:, n - 1 :: -1] @ rows.T
        self.weights, self.counts, self._known = v, counts, None

    def _before_each(
        self, cell: NDArray[np.intp], w: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weight in the cell of each row, and in all cells, before the row; (K, n)."""
        n = len(cell)
        given = np.ones(n) if w is None else w
        # Weights as of the first row, of the rows up to each.
        rows = np.zeros((len(HALF_LIVES), _CELLS, n))
        rows[:, cell, np.arange(n)] = given / _POWERS[:, 1 : n + 1]
        earlier = np.cumsum(rows, axis=2) - rows + self.counts[:, :, None]
        now = _POWERS[:, :n]
        return earlier[:, cell, np.arange(n)] * now, earlier.sum(axis=1) * now

    def renew(self, memory: Memory, now: bool = False) -> None:
        """Choose the edges anew and count the rows that are kept, when it is time to."""
        wait = memory.seen < _FIRST or (self.edges is not None and self.room(memory) > 0)
        if wait and not now:
            return
        if now:  # rows have been dropped, so that the counts are not theirs
            self.edges = None
        self.edges = memory.sample(self.mix(memory)).at_shares(_LEVELS)
        self.counts, self._known = memory.sums(self.edges), None
        self.renewed = memory.seen
