"""Hard cases for a mixture: heavy tails, and gaps in which its CDF is flat."""

import warnings

import numpy as np
import pytest

import trueline as tl

MAPS = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()]


@pytest.mark.parametrize("scale", [0.3, 1e-6])
@pytest.mark.parametrize("recalibrator", MAPS, ids=repr)
def test_heavy_tails_of_an_over_confident_mixture(recalibrator, scale, rng):
    loc = rng.normal(size=300)
    y = rng.normal(loc, 1.0)
    F = tl.Mixture([tl.StudentT(loc, scale, 3.0), tl.Normal(loc, scale)])
    G = recalibrator.fit(y, F).transform(F[:20])
    crps = G.crps(y[:20])
    assert ((crps > 0) & (crps < 5.0)).all()
    np.testing.assert_allclose(G.mean(), loc[:20], atol=0.6)
    assert ((G.std() > 0.5) & (G.std() < 6.0)).all()


def test_outcomes_in_a_gap_between_components_keep_scores_of_their_own(rng):
    loc = rng.normal(size=400)
    y = rng.normal(loc + 1.5, 1.0)
    F = tl.Mixture([tl.Normal(loc, 0.1), tl.Normal(loc + 3.0, 0.1)])
    R = tl.Isotonic().fit(y, F)
    assert len(R.scores_.values) == 400
    G = R.transform(F)
    for coverage in (0.2, 0.5, 0.9):
        assert abs(tl.coverage(y, G, coverage) - coverage) < 0.01


def test_the_score_of_one_normal_is_its_own():
    F = tl.Normal([1.0, 5.0], [0.1, 3.0])
    y = [[-3.0, 0.0, 9.0]]
    np.testing.assert_allclose(tl.Mixture([F]).score(y), F.score(y), rtol=1e-9)


def test_a_mixture_solves_for_all_rows_and_levels_at_once(monkeypatch):
    F = tl.Mixture([tl.Normal(np.linspace(-3, 3, 1000), 1.0), tl.Laplace(np.zeros(1000), 2.0)])
    values = []
    original = tl.Mixture._cdf
    monkeypatch.setattr(
        tl.Mixture, "_cdf", lambda self, y: values.append(y.size) or original(self, y)
    )
    q = np.array([1e-300, 0.01, 0.5])
    y = F.ppf(q)
    assert len(values) < 100
    assert sum(values) < 30 * 3000  # 3000 roots, a third of them far outside the table
    np.testing.assert_allclose(F.logcdf(y), np.broadcast_to(np.log(q), y.shape), rtol=1e-12)


def isotonic(rng, rows=200, ties=False):
    y = 1.5 * rng.normal(size=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        return tl.Isotonic().fit(np.round(y) if ties else y, tl.Normal(np.zeros(rows), 1.0))


def hard_cases():
    """Mixtures of 4 rows, by name."""
    rng = np.random.default_rng(7)
    loc = rng.normal(size=4)
    maps = [isotonic(rng) for _ in range(3)]
    tied = [isotonic(rng, ties=True) for _ in range(2)]
    base = [tl.Normal(loc + 0.3 * i, 1.0 + 0.1 * i) for i in range(3)]
    kinks = [R.transform(F) for R, F in zip(maps, base, strict=True)]
    values = np.sort(np.round(rng.normal(size=(4, 19)), 1), axis=1)
    return {
        "kinks": tl.Mixture(kinks),
        "unequal weights": tl.Mixture(kinks, [1e-9, 0.3, 0.7]),
        "a weight of 0": tl.Mixture(kinks, [0.0, 0.4, 0.6]),
        "weights by row": tl.Mixture(kinks, rng.dirichlet(np.ones(3), size=4)),
        "far apart": tl.Mixture([tl.Normal(loc, 1.0), tl.Normal(loc + 1e4, 1e-3)], [0.3, 0.7]),
        "far from 0": tl.Mixture([tl.Normal(loc + 1e6, 1e-2), tl.Laplace(loc + 1e6, 1e-2)]),
        "heavy tails": tl.Mixture([tl.StudentT(loc, 1.0, 1.5), tl.Normal(loc, 0.1)]),
        "atoms of maps": tl.Mixture([R.transform(base[0]) for R in tied]),
        "atoms and kinks": tl.Mixture([tied[0].transform(base[0]), kinks[1]]),
        "quantiles with ties": tl.Mixture(
            [
                tl.Quantiles(np.arange(1, 20) / 20, values),
                tl.Quantiles([0.1, 0.9], values[:, [3, 9]]),
            ]
        ),
        "draws": tl.Mixture([tl.Samples(values), tl.Samples(values[:, ::2] + 0.05)]),
    }


LEVELS = np.array([1e-30, 1e-12, 1e-9, 0.003, 0.05, 0.31, 0.5, 0.77, 0.95, 1 - 1e-9, 1 - 1e-12])


def bisected(F, q):
    """Smallest float with CDF of at least q, one row, by bisection to neighbouring floats."""
    # The survival function has the digits of levels close to 1.
    reached = (lambda y: F.cdf(y)[0] >= q) if q <= 0.5 else (lambda y: F.sf(y)[0] <= 1.0 - q)
    low, high = -1.0, 1.0
    while reached(low):
        low *= 2.0
    while not reached(high):
        high *= 2.0
    while low < (middle := 0.5 * (low + high)) < high and high - low > 1e-25:
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


@pytest.mark.parametrize("case", hard_cases())
def test_quantiles_against_bisection(case):
    F = hard_cases()[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        y = F.ppf(LEVELS)
    for row in (0, 3):
        part = F[[row]]
        for q, value in zip(LEVELS, y[row], strict=True):
            exact = bisected(part, q)
            if abs(value - exact) > 1e-12 * abs(exact) + 1e-18:
                # On a flat piece of the CDF rounding decides; the level must be met anyway.
                tail = part.cdf if q <= 0.5 else part.sf
                np.testing.assert_allclose(tail(value)[0], min(q, 1.0 - q), rtol=1e-12)


@pytest.mark.parametrize("case", ["kinks", "heavy tails", "atoms and kinks"])
def test_quantiles_do_not_depend_on_the_other_rows_and_levels(case):
    F = hard_cases()[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        many = F[np.tile(np.arange(4), 500)].ppf(LEVELS)
        one = np.stack([F[[2]].ppf(float(q))[0] for q in LEVELS])
    np.testing.assert_allclose(many[1002], one, rtol=1e-12, atol=1e-14)


def test_a_single_component_keeps_its_quantiles():
    F = tl.StudentT([0.0, 3.0], [1.0, 0.2], 4.0)
    np.testing.assert_allclose(tl.Mixture([F]).ppf(LEVELS), F.ppf(LEVELS), rtol=1e-12, atol=1e-15)
