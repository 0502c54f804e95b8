"""Weights move a map as repeated rows do, but guarantees count effective rows."""

import numpy as np
import pytest
from scipy.stats import norm

import trueline as tl
from trueline.recalibration import ScoreAccumulator, ScoreRows, _accumulator as accumulator

RNG = np.random.default_rng(0)
Y = RNG.permutation(np.append(RNG.normal(size=40), np.repeat(RNG.normal(size=10), 2)))
W = RNG.integers(1, 6, size=60).astype(float)
POINT = tl.Point(np.zeros(60))
EFFECTIVE = W.sum() ** 2 / (W @ W)


def fit(y, w=None, map_=None, **more):
    return (map_ or tl.Isotonic()).fit(y, tl.Point(np.zeros(len(y))), w, **more)


def grouped(w=W):
    return fit(Y, w, tl.Grouped(), groups=np.arange(60) % 2)


def test_the_effective_number_counts_rows_and_not_values():
    assert len(np.unique(Y)) == 50
    np.testing.assert_allclose(fit(Y, W).n_fit(), EFFECTIVE, rtol=1e-14)
    assert fit(Y).n_fit() == fit(Y, np.full(60, 4.0)).n_fit() == 60.0


def test_weights_below_one_count_as_less_than_a_row():
    """A row in k test sets has k forecasts, each of weight 1 / k."""
    copies = np.repeat(np.arange(60), 3)
    map_ = fit(Y[copies] + RNG.normal(size=180) * 1e-3, np.full(180, 1 / 3))
    np.testing.assert_allclose(map_.n_fit(), 60.0, rtol=1e-14)
    np.testing.assert_allclose(map_.law_.supported, [1 / 61, 60 / 61], rtol=1e-12)


def test_a_common_factor_above_one_changes_nothing():
    z = np.linspace(-5.0, 5.0, 41)
    for one, other in [(fit(Y), fit(Y, np.full(60, 3.0))), (fit(Y, W), fit(Y, 7.0 * W))]:
        np.testing.assert_allclose(one.law_.cdf(z), other.law_.cdf(z), rtol=1e-13)
        np.testing.assert_allclose(one.law_.supported, other.law_.supported, rtol=1e-13)


@pytest.mark.filterwarnings("ignore:187 rows have only:trueline.CalibrationWarning")
def test_a_weight_moves_the_map_as_repeated_rows_do():
    repeated = fit(np.repeat(Y, W.astype(int)))
    z = np.linspace(-3.0, 3.0, 301)
    off = np.abs(fit(Y, W).law_.cdf(z) - repeated.law_.cdf(z)).max()
    # The weight of one effective row is spread, and the tails have the mass of one.
    assert off <= 1.0 / (EFFECTIVE + 1.0)
    assert np.abs(fit(Y).law_.cdf(z) - repeated.law_.cdf(z)).max() > 2.0 * off


def test_the_tails_have_the_mass_of_an_effective_row():
    y, w = RNG.normal(size=400), np.exp(1.5 * RNG.normal(size=400))
    map_ = fit(y, w)
    low, high = map_.law_.supported
    heaviest = w.max() / w.sum()  # the outermost knot lies within one row of the tail
    assert 1.0 / (map_.n_fit() + 1.0) <= low + 1e-12 <= 1.0 / (map_.n_fit() + 1.0) + heaviest
    assert 1.0 / (map_.n_fit() + 1.0) <= 1.0 - high + 1e-12 <= 1.0 / (map_.n_fit() + 1) + heaviest


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_coverage_of_maps_of_importance_weights(sigma):
    """200 rows that count as 79 and 18; the standard error of the mean is 0.0035."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(300):
        w = np.exp(sigma * rng.normal(size=200))
        lower, upper = fit(rng.normal(size=200), w / w.mean()).law_.ppf(np.array([0.05, 0.95]))
        held.append(norm.cdf(upper) - norm.cdf(lower))
    assert 0.88 < np.mean(held) < 0.92


# ---- the effective number stays with the scores --------------------------------------------


def in_parts(map_, w):
    for rows in (slice(0, 7), slice(7, 40), slice(40, 60)):
        map_.partial_fit(Y[rows], tl.Point(np.zeros(len(Y[rows]))), w[rows])
    return map_


def through_bytes(w):
    held = ScoreAccumulator("residual")
    held.add(ScoreRows.of_scores(Y, None, w, "residual"))
    return ScoreAccumulator.from_bytes(held.to_bytes(), 1 << 20).finish(tl.Isotonic())


WAYS = {
    "merge": lambda w: fit(Y[:20], w[:20]).merge(fit(Y[20:], w[20:])),
    "partial_fit": lambda w: in_parts(tl.Isotonic(), w),
    "partial_fit after fit": lambda w: fit(Y[:9], w[:9]).partial_fit(
        Y[9:], tl.Point(np.zeros(51)), w[9:]
    ),
    "compress": lambda w: fit(Y, w).compress(12),
    "merge of compressed": lambda w: fit(Y[:30], w[:30]).compress(9).merge(fit(Y[30:], w[30:])),
    "groups": grouped,
    "stream": lambda w: tl.Online(half_life=np.inf).fit(Y, POINT, w),
    "window": lambda w: tl.Online(window=60).fit(Y, POINT, w),
    "bytes of a worker": through_bytes,
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_same_on_every_way(way, tmp_path):
    map_ = WAYS[way](W)
    assert map_.n_fit() == pytest.approx(EFFECTIVE, rel=1e-12)
    assert map_.law().n_fit == map_.n_fit()
    map_.to_json(tmp_path / "map.json")
    (tmp_path / "map.bin").write_bytes(map_.to_bytes())
    for file in ("map.json", "map.bin"):
        assert tl.load(tmp_path / file).n_fit() == map_.n_fit()


def test_it_is_the_same_in_cells(monkeypatch):
    monkeypatch.setattr(accumulator, "_COUNTED", 8)
    monkeypatch.setattr(accumulator, "_WAITING", 16)
    states = []
    for rows in (slice(0, 20), slice(20, 60)):
        state = accumulator.State("residual", limit=4)
        for start in range(rows.start, rows.stop, 10):
            part = slice(start, start + 10)
            state.add(ScoreRows.points("residual", Y[part].copy(), W[part].copy()))
        assert state._cells is not None
        states.append(state)
    assert states[0].merge(states[1]).scores().effective_rows == pytest.approx(EFFECTIVE)


def test_each_group_has_its_own():
    for group in (0, 1):
        w = W[group::2]
        assert grouped().n_fit(group) == pytest.approx(w.sum() ** 2 / (w @ w))


def test_a_common_weight_does_not_slow_the_fading_of_a_stream():
    plain, heavy = (
        tl.Online(half_life=10.0).fit(Y, POINT, None if w is None else np.full(60, w))
        for w in (None, 5.0)
    )
    assert heavy.n_fit() == pytest.approx(plain.n_fit())
    faded = np.exp2(-np.arange(60) / 10.0)
    assert plain.n_fit() == pytest.approx(faded.sum() ** 2 / (faded @ faded))
    levels = np.array([0.02, 0.3, 0.98])
    np.testing.assert_allclose(heavy.law_.ppf(levels), plain.law_.ppf(levels), rtol=1e-12)
