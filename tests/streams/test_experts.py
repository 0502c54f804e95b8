"""Half-lives that are weighed by their past: the regret bound, and what it is worth."""

import math
from itertools import pairwise

import numpy as np
import pytest

import trueline as tl
from trueline.streams._experts import _PRIOR, _SHARE, HALF_LIVES, TOGETHER, Experts
from trueline.streams._memory import Memory

ZERO = tl.Point(0.0)


def begun(y, w=None):
    """Experts and a memory that have seen these rows."""
    experts, memory = Experts(), Memory("residual", HALF_LIVES, math.inf)
    start = 0
    while start < len(y):
        stop = start + experts.room(memory)
        rows = slice(start, stop)
        experts.judge(y[rows], None if w is None else w[rows])
        memory.add(y[rows], None if w is None else w[rows])
        experts.renew(memory)
        start = stop
    return experts, memory


@pytest.mark.parametrize("weighted", [False, True])
def test_the_map_is_the_mean_of_the_laws_of_the_half_lives(weighted):
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=900), rng.uniform(0.5, 2.0, 900) if weighted else np.ones(900)
    experts, memory = begun(y, w if weighted else None)
    sample = memory.sample(experts.mix(memory))
    age = np.arange(899, -1, -1)
    expected = 0.0
    for v, h in zip(experts.weights, HALF_LIVES, strict=True):
        law = w * 0.5 ** (age / h)
        expected = expected + v * law / law.sum()
    order = np.argsort(y)
    np.testing.assert_array_equal(sample.x, y[order])
    found = sample.weights()
    np.testing.assert_allclose(found / found.sum(), expected[order], rtol=1e-9)
    if not weighted:  # rows are counted by Kish's effective number
        assert found.sum() == pytest.approx(found.sum() ** 2 / (found @ found))


def test_the_loss_of_the_mean_is_within_the_bound():
    # Against the best half-life, and the best for each part of a stream that changes.
    rng = np.random.default_rng(1)
    changes = np.repeat([1.0, 8.0, 0.5], 400)
    streams = [
        rng.normal(size=1200),
        rng.normal(size=1200) * changes,
        np.cumsum(rng.normal(size=1200)),
    ]
    for y in streams:
        experts, memory = begun(y[:50])
        losses, mixed = [], []
        for s in y[50:, None]:
            at = experts.counts[:, experts.edges.searchsorted(s)[0]]
            p = (at + _PRIOR) / (experts.counts.sum(axis=1) + 5 * _PRIOR)
            losses.append(-np.log(p))
            mixed.append(-np.log(experts.weights @ p))
            experts.judge(s, None)
            memory.add(s, None)
            experts.renew(memory)
        losses, rows = np.array(losses), len(mixed)
        # Weights before the first of these rows are not uniform any more: their cost is that of
        # the one that begins.
        for cuts in ([0, rows], [0, 350, rows], [0, 350, 750, rows]):
            parts = [losses[a:b].sum(axis=0) for a, b in pairwise(cuts)]
            path = sum(part.min() for part in parts)
            extra = math.log(len(HALF_LIVES) / _SHARE) * len(parts)
            assert sum(mixed) <= path + extra + rows * -math.log1p(-_SHARE)
    # The bound says something: the worst half-life is far beyond it in the last stream.
    assert losses.sum(axis=0).max() > sum(mixed) + 100.0


@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_is_judged_row_by_row(weighted):
    rng = np.random.default_rng(2)
    y = rng.normal(size=300 + TOGETHER)
    w = rng.uniform(0.5, 2.0, TOGETHER) if weighted else None
    block, single = begun(y[:300])[0], begun(y[:300])[0]
    cell = block.edges.searchsorted(y[300:])
    at, total = block._before_each(cell, w)
    block.judge(y[300:], w)
    for i, s in enumerate(y[300:, None]):
        np.testing.assert_allclose(at[:, i], single.counts[:, cell[i]], rtol=1e-12)
        np.testing.assert_allclose(total[:, i], single.counts.sum(axis=1), rtol=1e-12)
        single.judge(s, None if w is None else w[i : i + 1])
    np.testing.assert_allclose(block.counts, single.counts, rtol=1e-12)
    np.testing.assert_allclose(block.weights, single.weights, atol=0.02)


def test_a_stationary_stream_loses_next_to_nothing():
    rng = np.random.default_rng(3)
    y = rng.normal(size=6000)
    dist = tl.Point(np.zeros(6000))
    adaptive, never = (
        tl.Online(half_life=h).fit(y, dist).transform(tl.Point(np.zeros(1)))
        for h in (None, math.inf)
    )
    # The expected CRPS of a forecast is that of the truth plus the squared distance of the CDFs.
    x = np.linspace(-6.0, 6.0, 4001)[None, :]
    truth = tl.Normal(0.0, 1.0)
    loss = [np.square(f.cdf(x) - truth.cdf(x)).sum() * 0.003 for f in (adaptive, never)]
    assert loss[0] - loss[1] < 0.01 * 0.5642  # 1% of the CRPS of the truth
    online = tl.Online().fit(y, dist)
    assert sum(v for h, v in online.half_lives_.items() if h < 100) < 0.15


def test_after_the_standard_deviation_triples_intervals_hold_what_they_should():
    held = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=1500) * np.repeat([1.0, 3.0], [1000, 500])
        online = tl.Online().fit(y[:1000], tl.Point(np.zeros(1000)))
        for row in range(1000, 1500):
            if row >= 1300:
                lower, upper = online.transform(ZERO).interval(0.9)
                held.append(lower[0] <= y[row] <= upper[0])
            online.update(y[row], ZERO)
    # 1,600 rows; their standard error is 0.75%, and that of the maps adds a few tenths.
    assert 0.87 <= np.mean(held) <= 0.93
